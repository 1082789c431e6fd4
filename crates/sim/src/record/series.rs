//! Samples at fixed times: what every end and every link did since the last one, and where they stand.

use anabranch_base::{Duration, Instant};

use super::columns::{Reason, Row};
use super::{Columns, Recorder};
use crate::network::Network;
use crate::scenario::{EventKind, Record, Scenario};
use crate::side::Side;

/// When samples are taken, and what the last one saw.
#[derive(Debug)]
pub(crate) struct Series {
    every: Duration,
    /// The next sample; the first sets the zero and is not recorded.
    pub(crate) next: Instant,
    until: Instant,
    started: bool,
    ends: Vec<Vec<(u64, u64)>>,
    links: Vec<Passed>,
}

/// What a link was offered and what it dropped, since the start of the run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Passed {
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
    pub(crate) drops: u64,
}

impl Series {
    pub(crate) fn new(record: &Record, scenario: &Scenario) -> Option<Self> {
        let every = record.sample.filter(|every| *every > Duration::ZERO)?;
        Some(Self {
            every,
            next: Instant::ZERO + record.sample_from,
            until: Instant::ZERO + record.sample_until.unwrap_or(scenario.duration).min(scenario.duration),
            started: false,
            ends: vec![Vec::new(); 2 * scenario.flows.len()],
            links: vec![Passed::default(); scenario.links.len()],
        })
    }

    /// Whether a sample is due, `now` being as late as the end of the run.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.next <= now && self.next <= self.until
    }

    /// When it wants to be woken.
    pub(crate) fn wakes_at(&self) -> Option<Instant> {
        Some(self.next).filter(|next| *next <= self.until)
    }

    /// Takes one sample.
    pub(crate) fn take(&mut self, now: Instant, sides: &mut [Side], net: &mut Network) {
        self.next += self.every;
        let record = std::mem::replace(&mut self.started, true);
        for (index, (wire, before)) in net.wires.iter_mut().zip(&mut self.links).enumerate() {
            let passed = std::mem::replace(before, wire.passed);
            if record {
                let waiting = [wire.link.queue_len(now) as u64, wire.link.queue_bytes(now)];
                let drops = wire.passed.drops - passed.drops;
                net.recorder.sample(
                    now,
                    (index as u16, Columns::NO_FLOW, 0),
                    (wire.passed.packets - passed.packets, wire.passed.bytes - passed.bytes),
                    [waiting[0], waiting[1], drops],
                );
            }
        }
        for (side, before) in sides.iter_mut().zip(&mut self.ends) {
            let at = (side.name, side.flow);
            let recorder = &mut net.recorder;
            side.sample(|subflow, packets, bytes, values| {
                let place = usize::from(subflow);
                if before.len() <= place {
                    before.resize(place + 1, (0, 0));
                }
                let Some(last) = before.get_mut(place) else { return };
                let (old_packets, old_bytes) = std::mem::replace(last, (packets, bytes));
                if record {
                    recorder.sample(
                        now,
                        (at.0, at.1, subflow),
                        (packets.saturating_sub(old_packets), bytes.saturating_sub(old_bytes)),
                        values,
                    );
                }
            });
        }
    }
}

impl Recorder {
    /// One row of a sample.
    fn sample(
        &mut self,
        now: Instant,
        (entity, flow, subflow): (u16, u32, u8),
        (packets, bytes): (u64, u64),
        values: [u64; 3],
    ) {
        self.push(&Row {
            time_ns: now.as_nanos(),
            entity,
            kind: EventKind::Sample,
            flow,
            subflow,
            path: 0,
            reason: Reason::None,
            seq: packets,
            size: u32::try_from(bytes).unwrap_or(u32::MAX),
            values,
        });
    }
}
