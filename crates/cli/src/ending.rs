//! The end of an established association in words, with advice to the user.

use anabranch_live::CloseReason;

/// The reason in the abort that Ctrl-C sends to the peer.
pub(crate) const INTERRUPTED: &[u8] = b"interrupted";

/// An end that is not in order.
pub(crate) fn in_words(reason: &CloseReason) -> String {
    let what = match reason {
        CloseReason::AbortedByPeer { reason: Some(said), .. } if said.0 == INTERRUPTED => {
            "the peer was interrupted: what has come may be a part, so begin again".to_owned()
        }
        CloseReason::AbortedByPeer { .. } => {
            format!("{reason}; what has come may be a part: look what the peer says, and begin again")
        }
        CloseReason::Unreachable { .. } | CloseReason::PortUnreachable | CloseReason::ProtocolUnreachable => {
            format!(
                "{reason}; what has come may be a part: see whether `anabranch ping` finds the peer, and begin again"
            )
        }
        CloseReason::ShutdownGuard | CloseReason::ShutdownDeadline => {
            format!("{reason}; what was sent last may not have arrived")
        }
        _ => reason.to_string(),
    };
    format!("the association has ended: {what}")
}
