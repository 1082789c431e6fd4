//! What an endpoint tells its user, and what a user hands in.

use std::net::SocketAddr;

use anabranch_base::{Dscp, Duration, Instant};
use bytes::Bytes;

use crate::ids::SpaceId;
use crate::options::{MessageId, MessageOptions, Reliability};

/// One association of an endpoint. The generation makes the id of a released association stay unknown for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AssociationId {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

impl AssociationId {
    /// The slot number, as trace records carry it.
    #[must_use]
    pub fn index(self) -> u32 {
        self.index
    }
}

/// Why an association ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// SHUTDOWN COMPLETE was sent or received: everything was delivered.
    Graceful,
    /// We aborted.
    AbortedLocally,
    /// The peer aborted; its error causes in the order of the chunk, as raw codes.
    AbortedByPeer {
        /// Cause codes (RFC 9260, 3.3.10).
        causes: Vec<u16>,
        /// What its user said, if it was its user who aborted and gave a reason.
        reason: Option<Box<AbortReason>>,
    },
    /// Nothing came back: a retransmission limit was exceeded.
    Unreachable {
        /// Which limit, as the RFC names it.
        limit: &'static str,
    },
    /// The peer broke the protocol; we aborted.
    ProtocolViolation {
        /// What it did.
        what: &'static str,
    },
    /// T5-shutdown-guard expired.
    ShutdownGuard,
    /// It had not ended when our user wanted it to: [`AssociationHandle::shutdown_within`](crate::AssociationHandle::shutdown_within).
    ShutdownDeadline,
}

/// What the peer's user said of an abort: "Upper Layer Abort Reason" (RFC 9260, 3.3.10.12), the first 1,024 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AbortReason(pub Vec<u8>);

/// Whose streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Ours.
    Outgoing,
    /// The peer's.
    Incoming,
    /// Ours and the peer's.
    Both,
}

/// What became of a re-configuration (RFC 6525, table 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reconfigured {
    /// It was done.
    Performed,
    /// There was nothing to do.
    Nothing,
    /// The peer does not want it.
    Denied,
    /// It failed.
    Failed {
        /// The peer's result code: 3 wrong stream, 4 another request is in progress, 5 bad sequence number.
        result: u32,
    },
}

impl Reconfigured {
    pub(crate) fn from_result(result: u32) -> Self {
        match result {
            0 => Self::Nothing,
            1 => Self::Performed,
            2 => Self::Denied,
            result => Self::Failed { result },
        }
    }
}

/// What happened to an association.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A peer has set up an association with us. [`Event::Established`] follows.
    Accepted {
        /// Where the peer is; the port is the UDP port (RFC 6951), or 0.
        address: SocketAddr,
        /// Streams we may send on: ids 0 to this - 1.
        outbound_streams: u16,
        /// Streams the peer may send on.
        inbound_streams: u16,
    },
    /// The association we asked for is up.
    Established {
        /// Streams we may send on: ids 0 to this - 1.
        outbound_streams: u16,
        /// Streams the peer may send on.
        inbound_streams: u16,
    },
    /// What the layer above the peer said in the handshake: Adaptation Layer Indication (RFC 5061, 4.2.6). It comes right behind
    /// [`Event::Established`].
    AdaptationIndication {
        /// The adaptation code point.
        code_point: u32,
    },
    /// These many messages cannot be delivered (SEND FAILURE, RFC 9260, 11.2.2): the association ends, or the peer has restarted.
    /// They can be taken back until it is released: [`AssociationHandle::receive_unsent`] and
    /// [`AssociationHandle::receive_unacknowledged`].
    ///
    /// [`AssociationHandle::receive_unsent`]: crate::AssociationHandle::receive_unsent
    /// [`AssociationHandle::receive_unacknowledged`]: crate::AssociationHandle::receive_unacknowledged
    SendFailed {
        /// Of which nothing was sent.
        unsent: usize,
        /// Of which at least a part was sent.
        unacknowledged: usize,
    },
    /// Every byte of a message whose fate was asked for has been acknowledged for good: the peer has it. Whether its user has read it,
    /// nobody says.
    Delivered {
        /// Which.
        message: MessageId,
        /// Its context.
        context: u32,
    },
    /// A message whose fate was asked for was given up, as its options or its stream have it ([`Reliability`]).
    Abandoned {
        /// Which.
        message: MessageId,
        /// Its context.
        context: u32,
        /// Whether a part of it was sent: then the peer may have it all the same.
        sent: bool,
    },
    /// A message whose fate was asked for cannot be delivered any more: the association has ended, the peer has restarted, or it does
    /// not have the stream or the reliability asked for. The message is among those that can be taken back.
    Failed {
        /// Which.
        message: MessageId,
        /// Its context.
        context: u32,
        /// Whether a part of it was sent: then the peer may have it all the same.
        sent: bool,
    },
    /// Nothing waits to be sent or acknowledged any more (RFC 6458, 6.1.9), where
    /// [`AssociationHandle::tell_when_dry`](crate::AssociationHandle::tell_when_dry) has asked for it.
    SenderDry,
    /// The peer granted fewer streams than messages were queued on: those messages are handed back as unsent
    /// ([`AssociationHandle::receive_unsent`](crate::AssociationHandle::receive_unsent)).
    StreamsReduced {
        /// How many.
        messages_dropped: usize,
    },
    /// A message can be received where there was none: of the association, or, once the user has read a stream alone
    /// ([`AssociationHandle::receive_from`]), of the stream.
    ///
    /// [`AssociationHandle::receive_from`]: crate::AssociationHandle::receive_from
    Readable {
        /// Stream id of the first message that can be received.
        stream: u16,
    },
    /// `send` takes messages again after it said [`SendError::Full`](crate::SendError::Full), or, of one stream,
    /// [`SendError::StreamFull`](crate::SendError::StreamFull).
    Writable {
        /// Which stream; `None`: the association.
        stream: Option<u16>,
    },
    /// What is buffered has fallen to the threshold that the user has set, or below
    /// ([`AssociationHandle::set_low_threshold`](crate::AssociationHandle::set_low_threshold)).
    BufferedLow {
        /// Which stream; `None`: all of them together.
        stream: Option<u16>,
    },
    /// The peer restarted: sequence spaces began anew (RFC 9260, 5.2.4 A). Messages that it had not acknowledged are handed back, with
    /// [`Event::SendFailed`].
    Restarted {
        /// Messages handed back of which nothing was sent.
        unsent: usize,
        /// Messages handed back of which at least a part was sent: the peer may have got them before.
        unacknowledged: usize,
        /// Bytes of the peer's messages that had arrived and will never be readable: parts of messages, and messages that waited for
        /// others.
        received_bytes_lost: u64,
    },
    /// The peer wants to end: no new messages are taken.
    PeerShutdown,
    /// A path stopped answering.
    PathDown {
        /// Which.
        path: u8,
    },
    /// A path answers again.
    PathUp {
        /// Which.
        path: u8,
    },
    /// ICMP says that a path leads nowhere (RFC 9260, ICMP9). It may be wrong or pass: nothing else has changed.
    Unreachable {
        /// Which.
        path: u8,
        /// The code of "Destination Unreachable" (ICMP or ICMPv6).
        code: u8,
    },
    /// The MTU of a path has changed.
    PathMtu {
        /// Which.
        path: u8,
        /// Largest IP packet, bytes.
        mtu: u16,
    },
    /// The peer reported an error (RFC 9260, 3.3.10); the association goes on.
    PeerError {
        /// Cause code.
        cause: u16,
    },
    /// Streams began anew, or a request for it has ended otherwise (RFC 6525, 6.1.1). Of incoming streams: messages received
    /// later are numbered anew.
    StreamsReset {
        /// Whose streams; never both at once.
        direction: Direction,
        /// Which; none listed: all.
        streams: Vec<u16>,
        /// What became of it.
        outcome: Reconfigured,
    },
    /// All streams and TSNs of both sides began anew, or our request for it has ended otherwise (RFC 6525, 6.1.2).
    AssociationReset {
        /// What became of it.
        outcome: Reconfigured,
    },
    /// Streams were added, or a request of ours for more has ended otherwise (RFC 6525, 6.1.3).
    StreamsAdded {
        /// Streams that we may send on now.
        outbound_streams: u16,
        /// Streams that the peer may send on now.
        inbound_streams: u16,
        /// What became of it.
        outcome: Reconfigured,
    },
    /// A message whose first parts were handed over will never end: the peer gave it up, reset its stream or the association,
    /// or restarted (RFC 6458, 6.1.7). Parts that are not read yet stay readable.
    PartialDeliveryAborted {
        /// Stream id.
        stream: u16,
        /// Whether it was sent unordered.
        unordered: bool,
        /// Which message: [`Part::message`].
        message: u32,
    },
    /// The end. What was received stays readable until the association is released.
    Closed(CloseReason),
}

/// A message on its way out.
///
/// ```
/// # mod two { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/two.rs")); }
/// # use two::*;
/// # let mut two = Two::up(Config::for_networks());
/// let now = two.now;
/// let urgent = Message { ppid: 51, unordered: true, immediate: true, ..Message::new(4, "hello".into()) };
/// two.a().send(now, urgent.lifetime(Duration::from_secs(1)).context(7))?;
/// // A user who sends many alike keeps one, and clones it.
/// let kept = Message::new(2, "x".into()).max_retransmissions(1);
/// for word in ["one", "two"] {
///     two.a().send(now, Message { payload: word.into(), ..kept.clone() })?;
/// }
/// two.exchange();
/// let heard: Vec<_> = std::iter::from_fn(|| two.z().receive()).map(|message| message.stream).collect();
/// assert_eq!(heard, [4, 2, 2]);
/// # Ok::<(), SendError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Message {
    /// Stream id.
    pub stream: u16,
    /// Payload protocol identifier: opaque to SCTP.
    pub ppid: u32,
    /// Whether it may overtake others of its stream.
    pub unordered: bool,
    /// Asks the peer to acknowledge at once (I bit).
    pub immediate: bool,
    /// User data; at least one byte. Kept, not copied, until it is acknowledged.
    pub payload: Bytes,
    /// What few messages have.
    pub options: Option<Box<MessageOptions>>,
}

impl Message {
    /// An ordered message.
    #[must_use]
    pub fn new(stream: u16, payload: Bytes) -> Self {
        Self { stream, ppid: 0, unordered: false, immediate: false, payload, options: None }
    }

    /// It is given up when it has not been sent, or needs to be sent again, later than so long after `send`
    /// ([`Reliability::Lifetime`]).
    ///
    /// ```
    /// # mod two { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/two.rs")); }
    /// # use two::*;
    /// # let mut two = Two::up(Config::for_networks());
    /// let now = two.now;
    /// let where_i_am = Message::new(0, "here".into()).lifetime(Duration::from_millis(100)).tell_fate();
    /// let message = two.a().send(now, where_i_am)?;
    /// two.now += Duration::from_millis(200); // nothing could be sent meanwhile
    /// two.exchange();
    /// assert_eq!(two.told_a(), [Event::Abandoned { message, context: 0, sent: false }]);
    /// assert!(two.z().receive().is_none());
    /// # Ok::<(), SendError>(())
    /// ```
    #[must_use]
    pub fn lifetime(self, lifetime: Duration) -> Self {
        self.reliability(Reliability::Lifetime(lifetime))
    }

    /// It is given up when a chunk of it would have to be sent again more often ([`Reliability::Retransmissions`]).
    ///
    /// ```
    /// # mod two { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/two.rs")); }
    /// # use two::*;
    /// # let mut two = Two::up(Config::for_networks());
    /// let now = two.now;
    /// let message = two.a().send(now, Message::new(0, "here".into()).max_retransmissions(0).tell_fate())?;
    /// two.lose();
    /// two.send(0, 10)?;
    /// two.exchange();
    /// assert!(two.told_a().contains(&Event::Abandoned { message, context: 0, sent: true }));
    /// // The peer does not wait for it: the next message of the stream is there.
    /// assert_eq!(two.z().receive().map(|message| message.len()), Some(10));
    /// # Ok::<(), SendError>(())
    /// ```
    #[must_use]
    pub fn max_retransmissions(self, most: u16) -> Self {
        self.reliability(Reliability::Retransmissions(most))
    }

    /// It is given up before it has begun to leave when the send buffer is full and something with a smaller value comes
    /// ([`Reliability::Priority`]).
    ///
    /// ```
    /// # mod two { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/two.rs")); }
    /// # use two::*;
    /// let config = Config::for_networks().with(|c| c.limits.send_buffer = 20_000);
    /// # let mut two = Two::up(config);
    /// let now = two.now;
    /// let a_film = Message::new(0, vec![7; 20_000].into()).priority(9).tell_fate();
    /// let message = two.a().send(now, a_film)?;
    /// // The send buffer is full, and still takes what counts for more.
    /// two.a().send(now, Message::new(1, "a call".into()).priority(1))?;
    /// two.exchange();
    /// assert!(two.told_a().contains(&Event::Abandoned { message, context: 0, sent: false }));
    /// assert_eq!(two.z().receive().map(|message| message.stream), Some(1));
    /// # Ok::<(), SendError>(())
    /// ```
    #[must_use]
    pub fn priority(self, value: u32) -> Self {
        self.reliability(Reliability::Priority(value))
    }

    /// How long it is worth sending, whatever its stream says.
    #[must_use]
    pub fn reliability(mut self, reliability: Reliability) -> Self {
        self.options.get_or_insert_default().reliability = Some(reliability);
        self
    }

    /// It is sent reliably where the peer does not skip what is given up (RFC 3758). Without this `send` refuses it there.
    ///
    /// ```
    /// # mod two { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/two.rs")); }
    /// # use two::*;
    /// # let mut two = Two::up(Config::rfc9260()); // without `partial_reliability`
    /// let now = two.now;
    /// let once = Message::new(0, "here".into()).max_retransmissions(0);
    /// assert!(matches!(two.a().send(now, once.clone()), Err(SendError::Reliable { .. })));
    /// two.a().send(now, once.or_reliable())?;
    /// # Ok::<(), SendError>(())
    /// ```
    #[must_use]
    pub fn or_reliable(mut self) -> Self {
        self.options.get_or_insert_default().or_reliable = true;
        self
    }

    /// The user's own mark, given back with whatever is told of the message.
    #[must_use]
    pub fn context(mut self, context: u32) -> Self {
        self.options.get_or_insert_default().context = context;
        self
    }

    /// Its fate is told: [`MessageOptions::fate`].
    ///
    /// ```
    /// # mod two { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/two.rs")); }
    /// # use two::*;
    /// # let mut two = Two::up(Config::rfc9260());
    /// let now = two.now;
    /// let message = two.a().send(now, Message::new(0, "hello".into()).context(51).tell_fate())?;
    /// two.exchange();
    /// assert!(two.told_a().contains(&Event::Delivered { message, context: 51 }));
    /// two.send(0, 10)?; // nobody asks what becomes of this one
    /// let late = two.a().send(now, Message::new(0, "too late".into()).tell_fate())?;
    /// let now = two.now;
    /// two.a().abort(now, b"enough");
    /// two.exchange();
    /// assert!(two.told_a().contains(&Event::Failed { message: late, context: 0, sent: false }));
    /// # Ok::<(), SendError>(())
    /// ```
    #[must_use]
    pub fn tell_fate(mut self) -> Self {
        self.options.get_or_insert_default().fate = Some(true);
        self
    }

    /// It must leave with this code point: where its stream belongs to a subflow with another, `send` refuses it. (Two code
    /// points for one stream would let its messages overtake each other, and each wait for the other.)
    ///
    /// ```
    /// # mod two { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/two.rs")); }
    /// # use two::*;
    /// # use anabranch_sctp::Dscp;
    /// # let mut two = Two::up(Config::rfc9260());
    /// let now = two.now;
    /// let voice = Dscp::new(46).expect("a code point");
    /// two.a().set_stream_dscp(now, 5, voice).expect("a subflow more is allowed"); // stream 5 has a subflow of its own
    /// two.a().send(now, Message::new(5, "hello".into()).dscp(voice))?;
    /// let refused = two.a().send(now, Message::new(0, "hello".into()).dscp(voice));
    /// assert_eq!(refused, Err(SendError::OtherSubflow { stream: 0, dscp: 0, asked: 46 }));
    /// # Ok::<(), SendError>(())
    /// ```
    #[must_use]
    pub fn dscp(mut self, dscp: Dscp) -> Self {
        self.options.get_or_insert_default().dscp = Some(dscp);
        self
    }
}

/// Which part of a message, where it is handed over before its end has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Part {
    /// Tells apart messages that are handed over in parts at the same time, of one stream even where they are unordered.
    pub message: u32,
    /// Whether more of it follows; if it never does, [`Event::PartialDeliveryAborted`] says so.
    pub more: bool,
}

/// A message that arrived, or a part of one that is too long for the receive buffer.
///
/// ```
/// # mod two { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/two.rs")); }
/// # use two::*;
/// # let mut two = Two::up(Config::rfc9260());
/// let now = two.now;
/// two.a().send(now, Message { ppid: 51, unordered: true, ..Message::new(4, "hello".into()) })?;
/// two.exchange();
/// let message = two.z().receive().expect("it is there");
/// assert_eq!((message.stream, message.ppid, message.unordered, message.immediate), (4, 51, true, false));
/// assert_eq!((message.at, message.path), (now, 0));
/// let of_the_next = message.tsn.wrapping_add(1);
/// assert_eq!(message.into_bytes(), "hello");
/// two.send(4, 10)?;
/// two.exchange();
/// assert_eq!(two.z().receive().map(|next| (next.number, next.tsn)), Some((0, of_the_next)));
/// # Ok::<(), SendError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// Stream id.
    pub stream: u16,
    /// Payload protocol identifier.
    pub ppid: u32,
    /// Whether it was sent unordered.
    pub unordered: bool,
    /// Whether the peer has asked for a SACK at once with one of its chunks (I bit, RFC 7053).
    pub immediate: bool,
    /// Path that its last chunk came on, of what is handed over here.
    pub path: u8,
    /// Its number in its stream, as the wire has it: the stream sequence number of DATA (it means nothing where the message is
    /// unordered), the message identifier of I-DATA.
    pub number: u32,
    /// TSN of its first chunk; under a FID of its own (level 1, sf2007) the subflow's number.
    pub tsn: u32,
    /// When its last chunk came, of what is handed over here.
    pub at: Instant,
    /// `None`: the message is whole, as it is unless it is longer than `partial_delivery_bytes`, or messages in the making fill
    /// `partial_delivery_point` percent of the receive window. Parts of an ordered message come one after the other among
    /// those of its stream.
    pub part: Option<Part>,
    /// Sequence space that is charged for it until it is read.
    pub(crate) space: SpaceId,
    pub(crate) first: Bytes,
    pub(crate) rest: Option<Box<Rest>>,
}

/// Further pieces of a message: there are none as a rule, and then they take little room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rest(pub(crate) Vec<Bytes>);

impl Received {
    /// Joins the next part of the same message. Nothing is copied.
    ///
    /// ```
    /// # mod two { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/two.rs")); }
    /// # use two::*;
    /// let config = Config::rfc9260().with(|c| c.limits.partial_delivery_bytes = 10_000);
    /// # let mut two = Two::up(config);
    /// two.send(0, 50_000)?;
    /// two.exchange();
    /// let mut message = two.z().receive().expect("the first part");
    /// assert!(message.len() > 10_000 && message.part.is_some_and(|part| part.more));
    /// while !message.is_end() {
    ///     let next = two.z().receive().expect("another part");
    ///     message.join(next).expect("of the same message");
    /// }
    /// assert_eq!(message.len(), 50_000);
    /// # Ok::<(), SendError>(())
    /// ```
    ///
    /// # Errors
    /// Gives back what is not the next part of this message.
    pub fn join(&mut self, next: Self) -> Result<(), Self> {
        match (self.part, next.part) {
            (Some(ours), Some(theirs)) if ours.more && ours.message == theirs.message => {}
            _ => return Err(next),
        }
        self.part = next.part;
        (self.at, self.path) = (next.at, next.path);
        self.immediate |= next.immediate;
        let rest = &mut self.rest.get_or_insert_with(|| Box::new(Rest(Vec::new()))).0;
        rest.push(next.first);
        rest.extend(next.rest.into_iter().flat_map(|next| next.0));
        Ok(())
    }

    /// Whether nothing follows: a whole message, or the last part of one.
    #[must_use]
    pub fn is_end(&self) -> bool {
        self.part.is_none_or(|part| !part.more)
    }

    /// User data in order. More than one piece only when fragments arrived out of order or the message grew past
    /// what its stream had sent before: pieces are never joined by copying.
    pub fn pieces(&self) -> impl Iterator<Item = &Bytes> + '_ {
        std::iter::once(&self.first).chain(self.rest.iter().flat_map(|rest| &rest.0))
    }

    /// How many pieces there are.
    pub(crate) fn count(&self) -> usize {
        1 + self.rest.as_ref().map_or(0, |rest| rest.0.len())
    }

    /// Bytes of user data.
    #[must_use]
    pub fn len(&self) -> usize {
        let rest = self.rest.as_ref().map_or(0, |rest| rest.0.iter().map(Bytes::len).sum());
        self.first.len() + rest
    }

    /// Never true for a message from the network.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The user data in one piece: free for a message of one piece, a copy otherwise.
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        if self.rest.is_none() {
            return self.first;
        }
        let mut whole = Vec::with_capacity(self.len());
        for piece in self.pieces() {
            whole.extend_from_slice(piece);
        }
        whole.into()
    }
}

/// Why a timer runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// Waiting for INIT ACK.
    T1Init,
    /// Waiting for COOKIE ACK.
    T1Cookie,
    /// Waiting for SHUTDOWN ACK or SHUTDOWN COMPLETE.
    T2Shutdown,
    /// Waiting for a SACK.
    T3Rtx,
    /// A probe of the tail is due, or what may only be late is lost by then.
    Lane,
    /// Bound on the whole shutdown.
    T5ShutdownGuard,
    /// The shutdown takes longer than the user wants to wait.
    ShutdownDeadline,
    /// A delayed SACK is due.
    Sack,
    /// A HEARTBEAT is due, or its answer overdue.
    Heartbeat,
    /// A closed window is due for a probe.
    WindowProbe,
    /// The pacer lets the next packet of a lane leave.
    Pacer,
    /// Waiting for the answer to a RE-CONFIG request.
    Reconfiguration,
    /// The cookie of somebody who waits for the user becomes stale.
    Incoming,
    /// Waiting for the answer to a probe of a path's MTU, or a larger one is to be looked for.
    PathMtu,
    /// The lifetime of a message ends.
    Lifetime,
}
