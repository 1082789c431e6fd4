//! Control chunks of one direction, and which of them were sent again.

use std::collections::BTreeMap;

use crate::packet::Packet;
use crate::space::Reason;

/// A control chunk sent again.
#[derive(Clone, Debug)]
pub(crate) struct ControlAgain {
    pub(crate) frame: u64,
    pub(crate) time_ns: i64,
    pub(crate) name: &'static str,
    pub(crate) before: u32,
    /// `None` where times go back in between.
    pub(crate) after_ns: Option<i64>,
    pub(crate) bytes: u32,
    pub(crate) reason: Reason,
}

/// A control chunk of a packet.
pub(super) struct Control {
    pub(super) name: &'static str,
    /// Chunk type, and the number by which two chunks of that type are the same.
    pub(super) what: (u8, u32),
    pub(super) bytes: u32,
}

/// The control chunks of one direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Controls {
    again: Vec<ControlAgain>,
    /// How often each was sent, and in which stretch of time and when last.
    sent: BTreeMap<(u8, u32), (u32, u32, i64)>,
}

impl Controls {
    /// The control chunks that were sent again.
    pub(crate) fn again(&self) -> &[ControlAgain] {
        &self.again
    }

    /// One was sent, whose timer is so long.
    pub(super) fn sent(&mut self, packet: &Packet<'_>, control: &Control, timer_ns: i64) {
        match self.sent.get_mut(&control.what) {
            None => {
                self.sent.insert(control.what, (1, packet.stretch, packet.time_ns));
            }
            Some((before, stretch, last)) => {
                let after_ns = (*stretch == packet.stretch).then(|| packet.time_ns.saturating_sub(*last));
                let reason = match after_ns {
                    Some(after) if after >= timer_ns => Reason::Timeout,
                    Some(_) => Reason::EarlyNotExplained,
                    None => Reason::Unknown,
                };
                self.again.push(ControlAgain {
                    frame: packet.number,
                    time_ns: packet.time_ns,
                    name: control.name,
                    before: *before,
                    after_ns,
                    bytes: control.bytes,
                    reason,
                });
                *before += 1;
                (*stretch, *last) = (packet.stretch, packet.time_ns);
            }
        }
    }
}
