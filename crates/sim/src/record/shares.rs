//! Counts of each flow's packets at a link: offered, and dropped or lost there.

use anabranch_base::Instant;
use anabranch_link::{DropReason, Dropped, Frame};

/// Counts of one flow at one link.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Share {
    pub(crate) arrivals: u64,
    pub(crate) arrival_bytes: u64,
    pub(crate) drops_queue: u64,
    pub(crate) drops_policed: u64,
    /// Bytes of packets that did not reach the transmitter.
    pub(crate) dropped_bytes: u64,
    pub(crate) drops_error: u64,
}

/// Counts of every flow at one link, from the end of the warm-up on.
#[derive(Debug)]
pub(crate) struct Shares {
    pub(crate) flows: Vec<Share>,
    pub(crate) from: Instant,
    pub(crate) until: Instant,
}

impl Shares {
    #[inline]
    pub(crate) fn arrival(&mut self, now: Instant, frame: &Frame) {
        if let Some(share) = self.at(now, frame) {
            share.arrivals += 1;
            share.arrival_bytes += u64::from(frame.size);
        }
    }

    pub(crate) fn dropped(&mut self, dropped: &Dropped) {
        let Some(share) = self.at(dropped.at, &dropped.frame) else { return };
        let count = match dropped.reason {
            DropReason::Error => {
                share.drops_error += 1;
                return;
            }
            DropReason::Policed => &mut share.drops_policed,
            _ => &mut share.drops_queue,
        };
        *count += 1;
        share.dropped_bytes += u64::from(dropped.frame.size);
    }

    #[inline]
    fn at(&mut self, now: Instant, frame: &Frame) -> Option<&mut Share> {
        if now < self.from || now >= self.until {
            return None;
        }
        self.flows.get_mut(frame.flow as usize)
    }
}
