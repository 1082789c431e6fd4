//! What decides, beside the tables, whether a chunk may leave.

use super::format::Format;
use super::peer_window::PeerWindow;
use crate::stream::numbering::Numbering;

/// The peer's window, the numbers of messages, and how data is framed.
#[derive(Clone, Copy)]
pub(super) struct Basis<'a> {
    pub(super) peer: &'a PeerWindow,
    pub(super) numbering: &'a Numbering,
    pub(super) format: Format,
}
