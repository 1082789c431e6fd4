//! Options of a message besides its delivery, and reports of its fate.

use anabranch_base::{Dscp, Duration};

/// A message of an association: its number among those that the association has accepted, from 0 on. `send` answers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId(pub u64);

/// Limit of a message's lifetime or retransmissions (RFC 3758, 4; RFC 7496, 3 and 4.1). Giving a message up needs a
/// peer that skips it: option `partial_reliability`.
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

/// Options of a message beyond stream, order and payload. Most messages have none, and pay nothing for them.
///
/// ```
/// use anabranch_base::{Duration, Instant, Rng};
/// use anabranch_sctp::{Config, Endpoint, EndpointConfig, Event, Message, MessageId};
///
/// let mut ends = ["10.0.0.1:0", "10.0.0.2:0"].map(|address| {
///     let config = EndpointConfig::new(address.parse().unwrap(), 5000);
///     Endpoint::new(config, Rng::stream(1, address, "endpoint").secret())
/// });
/// let config = std::sync::Arc::new(Config::for_networks());
/// ends[1].listen(std::sync::Arc::clone(&config)).unwrap();
/// let mut now = Instant::ZERO;
/// let id = ends[0].connect(now, "10.0.0.2:0".parse().unwrap(), 5000, config).unwrap();
/// // Worth sending for 100 ms, or twice; told what became of it.
/// let mut association = ends[0].association(id).unwrap();
/// let position = Message::new(1, "here").lifetime(Duration::from_millis(100)).context(7).tell_fate();
/// let message = association.send(now, position).unwrap();
/// let chat = Message::new(2, "hello").max_retransmissions(1).tell_fate();
/// association.send(now, chat).unwrap();
/// drop(association);
///
/// // The network: a packet takes 10 ms.
/// let mut delivered: Vec<(MessageId, u32)> = Vec::new();
/// let mut buffer = Vec::new();
/// for _ in 0..100 {
///     for from in 0..2 {
///         let source = if from == 0 { "10.0.0.1:0" } else { "10.0.0.2:0" };
///         while let Some(transmit) = ends[from].poll_transmit(now, 1, &mut buffer) {
///             let meta = anabranch_base::Meta {
///                 source: source.parse().unwrap(),
///                 destination: transmit.destination,
///                 dscp: transmit.dscp,
///                 ecn: transmit.ecn,
///             };
///             ends[1 - from].handle_datagram(now, meta, &buffer);
///             buffer.clear();
///         }
///     }
///     now = now + Duration::from_millis(10);
///     for end in &mut ends {
///         end.handle_timeout(now);
///         while let Some((_, event)) = end.poll_event() {
///             if let Event::Delivered { message, context } = event {
///                 delivered.push((message, context));
///             }
///         }
///     }
/// }
/// assert_eq!(delivered[0], (message, 7));
/// assert_eq!(delivered.len(), 2);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageOptions {
    /// Limit of its lifetime or retransmissions; `None`: as its stream has it.
    pub reliability: Option<Reliability>,
    /// True if the message is sent reliably where the peer does not skip messages that are given up; otherwise `send`
    /// refuses it there.
    pub or_reliable: bool,
    /// The user's own mark, given back with every event about the message (RFC 6458, 5.3.2: `sinfo_context`).
    pub context: u32,
    /// True if its fate is reported: exactly one of [`Event::Delivered`], [`Event::Abandoned`] and [`Event::Failed`].
    /// `None`: as [`AssociationHandle::tell_fates`] has it.
    ///
    /// [`Event::Delivered`]: crate::Event::Delivered
    /// [`Event::Abandoned`]: crate::Event::Abandoned
    /// [`Event::Failed`]: crate::Event::Failed
    /// [`AssociationHandle::tell_fates`]: crate::AssociationHandle::tell_fates
    pub fate: Option<bool>,
    /// The code point that it leaves with: its stream goes to the subflow that has it ([`Message::dscp`](crate::Message::dscp)).
    pub dscp: Option<Dscp>,
}
