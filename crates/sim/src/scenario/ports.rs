//! The ports of the flows.

use super::error::Problem;
use super::keys::Field;

/// The ports of the ends of flows. They have no influence on a run; only readers of captures depend on them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ports {
    /// Ports of the sender and the receiver of the first flow; each further flow has the next ones.
    pub first: Option<(u16, u16)>,
}

impl Ports {
    /// Wireshark 4.0 hands no port of 50000 to 54327 and of 60002 to 65535 to a dissector, be it SCTP, TCP or UDP: where
    /// it does (10001 is V5UA's), it finds our payload malformed.
    const SENDER: u16 = 50_000;
    const RECEIVER: u16 = 61_000;
    /// So many flows have ports of their own at both ends; of more, the pairs differ.
    const MANY: usize = 4096;

    /// Ports of the sender and of the receiver of the flow at `index`.
    #[must_use]
    pub const fn of(&self, index: usize) -> (u16, u16) {
        match self.first {
            Some((sender, receiver)) => {
                (sender.wrapping_add(index as u16), receiver.wrapping_add(index as u16))
            }
            None => {
                let (place, round) = ((index % Self::MANY) as u16, (index / Self::MANY) as u16);
                (Self::SENDER + place, Self::RECEIVER + place + round)
            }
        }
    }
}

/// Reads `ports = [50000, 61000]` of a scenario with so many flows.
pub(super) fn read(field: &Field<'_>, flows: usize) -> Result<Ports, Problem> {
    let what = "the ports of the first flow's sender and receiver, such as [50000, 61000]";
    let ports = field.items(what)?.map(|item| item.integer(1, 65_535)).collect::<Result<Vec<_>, _>>()?;
    let &[sender, receiver] = ports.as_slice() else {
        return Err(field.problem(format!("expected {what}, found a list of {}", ports.len())));
    };
    let last = sender.max(receiver) + flows.saturating_sub(1) as u64;
    if last > 65_535 {
        return Err(
            field.problem(format!("with {flows} flows the ports would go on to {last}; they end at 65535"))
        );
    }
    Ok(Ports { first: Some((sender as u16, receiver as u16)) })
}
