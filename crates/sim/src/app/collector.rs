//! The application that takes messages of several sources, and notes how long each was on its way.

use std::collections::BTreeMap;

use anabranch_base::{Duration, Instant};

use super::envelope::{Envelope, Opened, Opener};
use super::received::{Received, Receiving};
use crate::engine::Engine;
use crate::scenario::{Flow, MessageSource, Traffic};

/// Counts of the messages delivered from one source.
#[derive(Debug)]
pub(crate) struct Deliveries {
    /// Latencies of the messages made since the counting began: from making to taking, nanoseconds, in the order of their arrival.
    pub(crate) latencies_ns: Vec<u64>,
    /// Bytes of these.
    pub(crate) bytes: u64,
    /// Of these, within the deadline; all of them without one.
    pub(crate) in_time: u64,
    deadline: Option<Duration>,
    ordered: bool,
    /// Number of the next message of an ordered source, at least.
    next: u64,
}

/// Takes everything at once.
#[derive(Debug)]
pub(crate) struct Collector {
    sources: Vec<Deliveries>,
    /// Messages that come whole or, with TCP, one behind the other.
    opener: Opener,
    /// Messages that come in parts, several at a time.
    parts: BTreeMap<u32, Opener>,
    counting_from: Instant,
    /// Whether every message was well-formed and had the right bytes, and none of an ordered source came twice or
    /// before an earlier one.
    pub(crate) intact: bool,
    pub(crate) received: Received,
    pub(crate) failed: Option<String>,
}

impl Collector {
    pub(crate) fn new(flow: &Flow) -> Self {
        let sources = match &flow.traffic {
            Traffic::Messages(sources) => sources.as_slice(),
            _ => &[],
        };
        let deliveries = |source: &MessageSource| Deliveries {
            latencies_ns: Vec::new(),
            bytes: 0,
            in_time: 0,
            deadline: source.deadline,
            ordered: !source.unordered && !flow.unordered,
            next: 0,
        };
        Self {
            sources: sources.iter().map(deliveries).collect(),
            opener: Opener::default(),
            parts: BTreeMap::new(),
            counting_from: Instant::ZERO,
            intact: true,
            received: Received::default(),
            failed: None,
        }
    }

    /// Begins to count, at the end of the warm-up.
    pub(crate) fn start_counting(&mut self, now: Instant) {
        self.counting_from = now;
        for source in &mut self.sources {
            (source.bytes, source.in_time) = (0, 0);
            source.latencies_ns.clear();
        }
    }

    /// The counts of each source.
    pub(crate) fn sources(&self) -> &[Deliveries] {
        &self.sources
    }
}

impl Receiving for Collector {
    fn notes(&mut self) -> (&mut Received, &mut Option<String>) {
        (&mut self.received, &mut self.failed)
    }

    fn take(&mut self, now: Instant, engine: &mut Engine) {
        let Self { sources, opener, parts, intact, counting_from, received, .. } = self;
        engine.take_parts(now, |part, mut bytes| {
            received.first_byte_at.get_or_insert(now);
            received.last_byte_at = Some(now);
            let opener = match part {
                None => &mut *opener,
                Some(part) => parts.entry(part).or_default(),
            };
            while !bytes.is_empty() {
                let (opened, rest) = opener.take(bytes);
                bytes = rest;
                match opened {
                    Opened::Waits => {}
                    Opened::Wrong => *intact = false,
                    Opened::Whole(envelope, right) => {
                        *intact &= right;
                        match sources.get_mut(usize::from(envelope.source)) {
                            Some(source) => *intact &= source.note(now, &envelope, *counting_from),
                            None => *intact = false,
                        }
                    }
                }
            }
        });
        parts.retain(|_, opener| !opener.is_between());
    }
}

impl Deliveries {
    /// Notes a message. False when it came twice, or out of order.
    fn note(&mut self, now: Instant, envelope: &Envelope, from: Instant) -> bool {
        if envelope.born >= from {
            let latency = now - envelope.born;
            self.latencies_ns.push(latency.as_nanos());
            self.bytes += u64::from(envelope.size);
            self.in_time += u64::from(self.deadline.is_none_or(|deadline| latency <= deadline));
        }
        if !self.ordered {
            return true;
        }
        let right = envelope.number >= self.next;
        self.next = self.next.max(envelope.number + 1);
        right
    }
}
