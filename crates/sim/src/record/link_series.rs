//! Samples of a link: counts since the last sample, and the length of its queue.

use anabranch_base::Instant;
use anabranch_link::Link;

use super::columns::Columns;
use super::recorder::Recorder;
use super::ticks::Ticks;

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
        self.ticks.next().is_some_and(|tick| tick <= now)
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
