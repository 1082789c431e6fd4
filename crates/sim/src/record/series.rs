//! Samples at fixed times: what every end and every link did since the last one, and where they stand.

use anabranch_base::{Duration, Instant};
use anabranch_link::Link;

use super::columns::{Reason, Row};
use super::{Columns, Recorder};
use crate::scenario::{EventKind, Record, Scenario};
use crate::side::Side;

/// The times at which samples are taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticks {
    next: Instant,
    every: Duration,
    until: Instant,
}

impl Ticks {
    /// `None` when nothing is sampled.
    pub(crate) fn new(record: &Record, scenario: &Scenario) -> Option<Self> {
        let every = record.sample.filter(|every| *every > Duration::ZERO)?;
        Some(Self {
            next: Instant::ZERO + record.sample_from,
            every,
            until: Instant::ZERO + record.sample_until.unwrap_or(scenario.duration).min(scenario.duration),
        })
    }

    /// The next one that has come at `now`; it is over then.
    #[inline]
    fn due(&mut self, now: Instant) -> Option<Instant> {
        let tick = self.next().filter(|tick| *tick <= now)?;
        self.next = tick + self.every;
        Some(tick)
    }

    /// The next one.
    pub(crate) fn next(&self) -> Option<Instant> {
        Some(self.next).filter(|next| *next <= self.until)
    }
}

/// Samples of the ends of the flows.
#[derive(Debug)]
pub(crate) struct EndSeries {
    pub(crate) ticks: Ticks,
    /// What the last sample saw, end by end and subflow by subflow; nothing before the first, which is not recorded.
    before: Option<Vec<Vec<(u64, u64)>>>,
}

impl EndSeries {
    pub(crate) const fn new(ticks: Ticks) -> Self {
        Self { ticks, before: None }
    }

    /// Takes the sample that is due, if any.
    pub(crate) fn take(&mut self, now: Instant, sides: &[Side], recorder: &mut Recorder) {
        let Some(tick) = self.ticks.due(now) else { return };
        let first = self.before.is_none();
        let all = self.before.get_or_insert_with(|| vec![Vec::new(); sides.len()]);
        for (side, before) in sides.iter().zip(all) {
            side.sample(|subflow, packets, bytes, values| {
                let place = usize::from(subflow);
                if before.len() <= place {
                    before.resize(place + 1, (0, 0));
                }
                let Some(last) = before.get_mut(place) else { return };
                let (old_packets, old_bytes) = std::mem::replace(last, (packets, bytes));
                if !first {
                    // A subflow that takes the place of one that was closed counts anew.
                    let new = (packets.saturating_sub(old_packets), bytes.saturating_sub(old_bytes));
                    recorder.sample(tick, (side.name, side.flow, subflow), new, values);
                }
            });
        }
    }
}

/// Samples of one link. A link may be told of packets before their time, so it has a clock of its own: a sample is taken before
/// anything later is told to it.
#[derive(Debug)]
pub(crate) struct LinkSeries {
    ticks: Ticks,
    started: bool,
    /// Since the last sample.
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
    pub(crate) drops: u64,
}

impl LinkSeries {
    pub(crate) const fn new(ticks: Ticks) -> Self {
        Self { ticks, started: false, packets: 0, bytes: 0, drops: 0 }
    }

    /// Whether a sample has to be taken before `now`.
    #[inline]
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.ticks.next <= now && self.ticks.next <= self.ticks.until
    }

    /// Takes the sample that is due.
    pub(crate) fn take(&mut self, now: Instant, entity: u16, link: &mut Link, recorder: &mut Recorder) {
        let Some(tick) = self.ticks.due(now) else { return };
        let values = [link.queue_len(tick) as u64, link.queue_bytes(tick), self.drops];
        if self.started {
            recorder.sample(tick, (entity, Columns::NO_FLOW, 0), (self.packets, self.bytes), values);
        }
        self.started = true;
        (self.packets, self.bytes, self.drops) = (0, 0, 0);
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
