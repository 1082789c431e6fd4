//! Virtual time: a scenario describes a network and its hosts, the world runs it.
//!
//! The way of a packet through the simulator:
//!
//! 1. An application (`app`) offers data to its transport (`engine`), which fills a buffer taken from a pool (`side`).
//! 2. The buffer becomes a frame and enters the first link on the way to its destination (`network`).
//! 3. The link (crate `anabranch-link`) says when the frame will be at its far end. That is the only event a frame costs
//!    on a link (`event_queue`).
//! 4. At the far end the frame enters the next link at once, or reaches its host (`world`), whose transport takes it;
//!    the buffer goes back into the pool.
//!
//! Nothing here reads a clock or draws a number that does not come from the seed: [`run`] gives the same output for the
//! same scenario and seed, always. Every entity has random streams of its own, so adding one changes no other's draws.
//!
//! ```
//! use anabranch_sim::scenario::{Record, Scenario};
//!
//! let scenario = Scenario::from_toml(
//!     r#"
//!     duration = "10 s"
//!
//!     [[link]]
//!     name = "path"
//!     from = "a"
//!     to = "b"
//!     rate = "10 Mbit/s"
//!     delay = "20 ms"
//!     loss = { kind = "bernoulli", p = 0.01 }
//!     both = true
//!
//!     [[flow]]
//!     name = "upload"
//!     from = "a"
//!     to = "b"
//!     protocol = "sctp"
//!     engine = "rfc9260"
//!     traffic = { kind = "greedy", message = "1452 B" }
//!     "#,
//!     "example",
//!     &[],
//! )?;
//! let output = anabranch_sim::run(&scenario, 1, &Record::default())?;
//! assert!(output.summary.flows[0].measures.goodput_payload_bps > 1e6);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

pub mod scenario;

mod app;
mod assemble;
mod content;
mod engine;
mod error;
mod event_queue;
mod mtu;
mod network;
mod page;
mod record;
mod run;
mod side;
mod snapshot;
mod summary;
mod world;

pub use error::RunError;
pub use record::{CaptureFile, CaptureFormat, Columns};
pub use run::{Attached, RunOutput, check, run, run_attached};
pub use snapshot::{
    AssociationSummary, ControlSummary, EndSummary, Named, NegotiatedSummary, PathSummary, StreamSummary,
    SubflowSnapshot,
};
pub use summary::{
    ClassSummary, FlowSummary, GroupSummary, LinkSummary, Measures, Note, ObjectSummary, ShareSummary,
    SourceSummary, SubflowSummary, Summary,
};
