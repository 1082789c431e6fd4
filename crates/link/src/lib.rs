//! One direction of a link, without any input or output of its own: rate, propagation delay, a queue in front, and
//! losses. The simulator drives it in virtual time, an emulator in real time.
//!
//! The way of a frame:
//!
//! ```text
//! handle_frame -> [conditioners] -> [loss at entry] -> queue -> transmitter -> [loss at exit] -> [patterns] -> propagation line -> poll_delivery
//! ```
//!
//! A link knows frames (bytes, size on the wire, code point, ECN, colour), never protocols. It is evaluated lazily:
//! every call first brings the transmitter up to date, frame by frame, each at its exact time. So a driver is woken
//! once for each frame, when it arrives at the far end, and not a second time when it has left the queue.
//!
//! ```
//! use anabranch_base::{Duration, Instant, Rng};
//! use anabranch_link::{Frame, Link, LinkConfig, LinkFacts, Loss, LossAt, QueueConfig, Rate};
//!
//! // 1 Mbit/s, 10 ms, and a queue of two packets, the one being sent included.
//! let delay = Duration::from_millis(10);
//! let facts = LinkFacts { rate: Some(1_000_000), delay };
//! let queue = QueueConfig::DropTail { packets: Some(2), bytes: None };
//! let mut link = Link::new(LinkConfig {
//!     rate: Rate::BitsPerSecond(1_000_000),
//!     delay,
//!     queue: queue.build(facts, Rng::stream(1, "link", "queue")),
//!     loss: Loss::None,
//!     loss_at: LossAt::Exit,
//! });
//! for _ in 0..3 {
//!     link.handle_frame(Instant::ZERO, Frame { size: 1250, ..Frame::default() });
//! }
//! // 1250 bytes take 10 ms to send, and 10 ms to arrive. The third packet found no room.
//! assert_eq!(link.poll_timeout(), Some(Instant::ZERO + Duration::from_millis(20)));
//! assert!(link.poll_dropped().is_some());
//! assert!(link.poll_delivery(Instant::ZERO + Duration::from_millis(20)).is_some());
//! ```
#![forbid(unsafe_code)]

mod conditioner;
mod frame;
mod impairments;
mod link;
mod loss;
pub mod pattern;
mod queue;
mod stats;
mod tally;
mod transmitter;

pub use conditioner::{Action, Conditioner, ConditionerConfig, Conditioning, Meter, MeterConfig};
pub use frame::{Colour, DropReason, Dropped, DscpSet, Frame};
pub use link::{Link, LinkConfig, LossAt, Rate};
pub use loss::{Applies, Bernoulli, BitErrors, BurstParameters, GilbertElliott, Loss, LossModel, Positions};
pub use pattern::Pattern;
pub use queue::{
    AdaptiveRed, ClassConfig, Classes, ClassesConfig, CoDel, CoDelConfig, Counts, DropTail, FqCoDel,
    FqCoDelConfig, LinkFacts, Measure, Queue, QueueConfig, QueueDiscipline, Red, RedConfig, Scheduler,
    Victim, VirtualClass, VirtualConfig, VirtualMode, VirtualQuirks, VirtualRed, Weight,
};
pub use stats::{AverageStats, ClassStats, LinkStats};
