//! Which packets a loss or a pattern counts.

use super::error::Problem;
use super::keys::Keys;

/// The packets that a loss model or a pattern applies to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Applies {
    /// Every packet.
    #[default]
    All,
    /// Packets that carry user data: an SCTP packet with a DATA chunk, a TCP segment with payload.
    Data,
}

/// Reads `applies`.
pub(super) fn read(keys: &Keys<'_>) -> Result<Applies, Problem> {
    match keys.optional("applies") {
        None => Ok(Applies::All),
        Some(field) => field.choice("kind of packets", &[("all", Applies::All), ("data", Applies::Data)]),
    }
}
