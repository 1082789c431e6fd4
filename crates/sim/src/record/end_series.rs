//! Samples of the ends of flows: counts since the last sample, and the state of each.

use anabranch_base::Instant;

use super::recorder::Recorder;
use super::ticks::Ticks;
use crate::side::Side;

/// Samples of the ends of the flows.
#[derive(Debug)]
pub(crate) struct EndSeries {
    pub(crate) ticks: Ticks,
    /// The counts at the last sample, end by end and subflow by subflow; `None` before the first, which is not
    /// recorded.
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
