//! What a user may ask for a message besides its delivery, and what is told of its fate.

use anabranch_base::{Dscp, Duration};

/// A message of an association: its number among those that the association has accepted, from 0 on. `send` answers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId(pub u64);

/// How long a message is worth sending (RFC 3758, 4; RFC 7496, 3 and 4.1). What is given up needs a peer that skips it: option
/// `partial_reliability`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reliability {
    /// Until it is acknowledged.
    #[default]
    Full,
    /// Timed reliability (RFC 3758, 4.1): it is neither begun nor sent again later than so long after `send`. With a
    /// lifetime of zero it leaves at once or never.
    Lifetime(Duration),
    /// Limited retransmissions (RFC 7496, 3.1): each of its chunks is sent again so often at most.
    Retransmissions(u16),
    /// Priority (RFC 7496, 3.2): where the send buffer is full, those with the largest value that have not begun to leave make room
    /// for messages with a smaller one, and for messages of any other policy.
    Priority(u32),
}

/// The policies of RFC 7496 under which a message is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Policy {
    /// `SCTP_PR_SCTP_TTL`.
    Lifetime,
    /// `SCTP_PR_SCTP_RTX`.
    Retransmissions,
    /// `SCTP_PR_SCTP_PRIO`.
    Priority,
}

/// Messages that were given up (RFC 7496, 4.3 and 4.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Abandonments {
    /// Before any part of them was sent.
    pub unsent: u64,
    /// After a part of them, or all, had been sent.
    pub sent: u64,
}

/// What a message is given beyond stream, order and payload. Most have none of it, and pay nothing for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageOptions {
    /// How long it is worth sending; `None`: as its stream has it.
    pub reliability: Option<Reliability>,
    /// It is sent reliably where the peer does not skip what is given up; otherwise `send` refuses it there.
    pub or_reliable: bool,
    /// The user's own mark, given back with whatever is told of the message (RFC 6458, 5.3.2: `sinfo_context`).
    pub context: u32,
    /// Whether its fate is told: exactly one of [`Event::Delivered`], [`Event::Abandoned`] and [`Event::Failed`].
    /// `None`: as [`AssociationHandle::tell_fates`] has it.
    ///
    /// [`Event::Delivered`]: crate::Event::Delivered
    /// [`Event::Abandoned`]: crate::Event::Abandoned
    /// [`Event::Failed`]: crate::Event::Failed
    /// [`AssociationHandle::tell_fates`]: crate::AssociationHandle::tell_fates
    pub fate: Option<bool>,
    /// The code point that it must leave with: that of the subflow of its stream, or `send` refuses it.
    pub dscp: Option<Dscp>,
}
