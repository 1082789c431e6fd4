//! Analysis of captures with SCTP and TCP.
//!
//! # How a file is processed
//!
//! [`Capture::read`] takes a file apart into frames. [`network::datagram`] finds the IP datagram in a frame, through
//! tunnels; copies are marked, fragments put together, and the content of each [`Packet`] is read. [`Flows::of`] sorts
//! packets into connections and associations. A [`Trace`] does all of this, and answers: one line a packet, the flows,
//! the retransmissions and their reasons, the queue of a bottleneck of a given rate, a time-sequence plot.
//!
//! # Modules
//!
//! | file | question |
//! |---|---|
//! | `capture/` | which bytes were seen when, at which interface? |
//! | `network.rs` | which IP datagram is it? |
//! | `clock.rs` | do its times go back? |
//! | `copies.rs` | was a packet recorded twice? |
//! | `reassembly.rs` | which datagrams do the fragments give? |
//! | `icmp.rs` | which packets were refused, and why? |
//! | `packet.rs` | which packet of which transport? |
//! | `reader.rs` | all packets of a capture, and notes on them |
//! | `flow.rs` | which packets belong together? |
//! | `analysis/` | what does a packet mean for its flow? |
//! | `space.rs` | which data was sent again, and why? |
//! | `bottleneck.rs` | when would a link of this rate have been idle, and how full its queue? |
//! | `plot.rs` | what does it look like? |
//! | `report.rs` | results, as JSON has them |
//! | `write/` | how does a capture become a file? |
//! | `qlog.rs` | the events at an end, as qlog has them |
//!
//! # Guarantees
//!
//! No bytes make it panic or allocate more than a small multiple of their number. Damage ends the reading and is
//! told in [`Capture::notes`].
//!
//! # Example
//!
//! ```
//! use anabranch_base::{Dscp, Ecn, Instant};
//! use anabranch_trace::{Assumptions, Capture, Filter, Reading, Trace, write};
//!
//! // A capture with one packet: an SCTP common header and a COOKIE ACK. Any program's capture will do.
//! let interface = write::Interface { name: "a".to_owned(), speed: None, from: 0, to: 1 };
//! let mut file = write::Capture::new(vec![interface], None, None);
//! let bytes = [0x13, 0x88, 0x13, 0x88, 0, 0, 0, 1, 0, 0, 0, 0, 11, 0, 0, 4];
//! let [source, destination] = [[10, 0, 0, 1].into(), [10, 0, 0, 2].into()];
//! let packet = write::Packet {
//!     source, destination, protocol: 132, dscp: Dscp::default(), ecn: Ecn::NotEct, id: 0, way: None, bytes: &bytes,
//! };
//! file.packet(Instant::ZERO, 0, &packet);
//! let file = file.finish()?.expect("it was made in memory");
//!
//! let capture = Capture::read(&file)?;
//! let trace = Trace::new(capture, &Reading::default(), &Filter::default(), &Assumptions::default());
//! assert_eq!(trace.flow_count(), 1);
//! assert_eq!(trace.flows()[0].protocol, "SCTP");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

pub mod bottleneck;
pub mod capture;
pub mod flow;
pub mod network;
pub mod packet;
pub mod qlog;
pub mod report;
pub mod write;

mod analysis;
mod clock;
mod copies;
mod icmp;
mod plot;
mod reader;
mod reassembly;
mod space;
mod trace;

pub use analysis::{Assumptions, Ending, Purposes};
pub use bottleneck::Bottleneck;
pub use capture::{Capture, CaptureError};
pub use flow::Flows;
pub use icmp::Refusal;
pub use packet::{Packet, Reading};
pub use space::{Evidence, Reason};
pub use trace::{Direction, Filter, Protocol, Trace};
