//! Messages: one that a user hands in, and one that has arrived.

use anabranch_base::{Dscp, Duration, Instant, cold_path};
use bytes::{Bytes, BytesMut};

use crate::ids::SpaceId;
use crate::options::{MessageOptions, Reliability};

/// Payload of a message: bytes or text, owned or borrowed. Borrowed data is copied; [`Bytes::from_static`] is not.
///
/// ```
/// use anabranch_sctp::Message;
/// let (text, bytes) = ("hello".to_owned(), [1, 2, 3, 4]);
/// let made = [Message::new(0, &text), Message::new(0, &text[1..]), Message::new(0, &bytes), Message::new(0, &bytes[..2])];
/// let taken = [Message::new(0, text), Message::new(0, bytes.to_vec()), Message::new(0, bytes::Bytes::from_static(b"fixed"))];
/// # assert_eq!(made.map(|message| message.payload.len()), [5, 4, 4, 2]);
/// # assert_eq!(taken.map(|message| message.payload.len()), [5, 4, 5]);
/// ```
pub trait IntoPayload {
    /// The bytes.
    fn into_payload(self) -> Bytes;
}

/// Payload types that give their memory away.
macro_rules! taken {
    ($($owned:ty),*) => {
        $(impl IntoPayload for $owned {
            fn into_payload(self) -> Bytes {
                self.into()
            }
        })*
    };
}
taken!(Bytes, BytesMut, Vec<u8>, Box<[u8]>, String);

/// Payload types that keep their memory: the bytes are copied.
macro_rules! copied {
    ($($borrowed:ty),*) => {
        $(impl IntoPayload for &$borrowed {
            fn into_payload(self) -> Bytes {
                Bytes::copy_from_slice(self.as_ref())
            }
        })*
    };
}
copied!([u8], Vec<u8>, str, String);

impl<const N: usize> IntoPayload for &[u8; N] {
    fn into_payload(self) -> Bytes {
        Bytes::copy_from_slice(self)
    }
}

impl<const N: usize> IntoPayload for [u8; N] {
    fn into_payload(self) -> Bytes {
        Bytes::copy_from_slice(&self)
    }
}

/// A message on its way out.
///
/// ```
/// # mod two { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/two.rs")); }
/// # use two::*;
/// # let mut two = Two::up(Config::for_networks());
/// let now = two.now;
/// let urgent = Message { ppid: 51, unordered: true, immediate: true, ..Message::new(4, "hello") };
/// two.a().send(now, urgent.lifetime(Duration::from_secs(1)).context(7))?;
/// // A user who sends many alike keeps one, and clones it.
/// let kept = Message::new(2, "x").max_retransmissions(1);
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
    /// True if it may overtake others of its stream.
    pub unordered: bool,
    /// Asks the peer to acknowledge at once (I bit).
    pub immediate: bool,
    /// User data; at least one byte. Kept, not copied, until it is acknowledged.
    pub payload: Bytes,
    /// Options that few messages have.
    pub options: Option<Box<MessageOptions>>,
}

impl Message {
    /// An ordered message.
    #[must_use]
    pub fn new(stream: u16, payload: impl IntoPayload) -> Self {
        let payload = payload.into_payload();
        Self { stream, ppid: 0, unordered: false, immediate: false, payload, options: None }
    }

    /// The message is given up when it has not been sent, or needs to be sent again, later than so long after `send`
    /// ([`Reliability::Lifetime`]).
    ///
    /// ```
    /// # mod two { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/two.rs")); }
    /// # use two::*;
    /// # let mut two = Two::up(Config::for_networks());
    /// let now = two.now;
    /// let where_i_am = Message::new(0, "here").lifetime(Duration::from_millis(100)).tell_fate();
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

    /// The message is given up when a chunk of it would have to be sent again more often ([`Reliability::Retransmissions`]).
    ///
    /// ```
    /// # mod two { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/two.rs")); }
    /// # use two::*;
    /// # let mut two = Two::up(Config::for_networks());
    /// let now = two.now;
    /// let message = two.a().send(now, Message::new(0, "here").max_retransmissions(0).tell_fate())?;
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

    /// The message is given up before it has begun to leave when the send buffer is full and something with a smaller value comes
    /// ([`Reliability::Priority`]).
    ///
    /// ```
    /// # mod two { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/two.rs")); }
    /// # use two::*;
    /// let config = Config::for_networks().with(|c| c.limits.send_buffer = 20_000);
    /// # let mut two = Two::up(config);
    /// let now = two.now;
    /// let a_film = Message::new(0, vec![7; 20_000]).priority(9).tell_fate();
    /// let message = two.a().send(now, a_film)?;
    /// // The send buffer is full, and still takes messages that count for more.
    /// two.a().send(now, Message::new(1, "a call").priority(1))?;
    /// two.exchange();
    /// assert!(two.told_a().contains(&Event::Abandoned { message, context: 0, sent: false }));
    /// assert_eq!(two.z().receive().map(|message| message.stream), Some(1));
    /// # Ok::<(), SendError>(())
    /// ```
    #[must_use]
    pub fn priority(self, value: u32) -> Self {
        self.reliability(Reliability::Priority(value))
    }

    /// Limit of its lifetime or retransmissions, in place of the one of its stream.
    #[must_use]
    pub fn reliability(mut self, reliability: Reliability) -> Self {
        self.options.get_or_insert_default().reliability = Some(reliability);
        self
    }

    /// The message is sent reliably where the peer does not skip messages that are given up (RFC 3758). Without this `send` refuses it there.
    ///
    /// ```
    /// # mod two { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/two.rs")); }
    /// # use two::*;
    /// # let mut two = Two::up(Config::rfc9260()); // without `partial_reliability`
    /// let now = two.now;
    /// let once = Message::new(0, "here").max_retransmissions(0);
    /// assert!(matches!(two.a().send(now, once.clone()), Err(SendError::Reliable { .. })));
    /// two.a().send(now, once.or_reliable())?;
    /// # Ok::<(), SendError>(())
    /// ```
    #[must_use]
    pub fn or_reliable(mut self) -> Self {
        self.options.get_or_insert_default().or_reliable = true;
        self
    }

    /// The user's own mark, given back with every event about the message.
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
    /// let message = two.a().send(now, Message::new(0, "hello").context(51).tell_fate())?;
    /// two.exchange();
    /// assert!(two.told_a().contains(&Event::Delivered { message, context: 51 }));
    /// two.send(0, 10)?; // nobody asks what becomes of this one
    /// let late = two.a().send(now, Message::new(0, "too late").tell_fate())?;
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

    /// The message leaves with this code point: its stream goes to the subflow that has it, which is opened if there is none, and stays
    /// there. While others of that stream are under way with another one `send` refuses it: two code points would let messages of a stream
    /// overtake each other, and each wait for the other; [`Event::Writable`](crate::Event::Writable) tells when none is. Messages that do
    /// not ask are taken meanwhile, and put that off. A subflow that was opened so stays open until it is removed, and begins with a
    /// congestion window of its own; after a restart of the peer streams belong to the subflows of the configuration again. Where the
    /// send buffer, or the share of its stream, is full the stream has moved all the same.
    ///
    /// ```
    /// # mod two { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/two.rs")); }
    /// # use two::*;
    /// # use anabranch_sctp::Dscp;
    /// # let mut two = Two::up(Config::rfc9260());
    /// let now = two.now;
    /// let voice = Dscp::new(46).expect("a code point");
    /// two.a().send(now, Message::new(5, "hello").dscp(voice))?; // stream 5 has a subflow of its own from here on
    /// assert_eq!(two.a().subflow_stats(1).map(|subflow| subflow.dscp), Some(voice));
    /// two.send(0, 10)?;
    /// let other = Message::new(0, "hello").dscp(voice);
    /// let refused = two.a().send(now, other.clone());
    /// assert_eq!(refused, Err(SendError::OtherSubflow { stream: 0, dscp: 0, asked: 46 }));
    /// two.exchange(); // the first message of stream 0 is there
    /// let now = two.now;
    /// two.a().send(now, other)?;
    /// # Ok::<(), SendError>(())
    /// ```
    #[must_use]
    pub fn dscp(mut self, dscp: Dscp) -> Self {
        self.options.get_or_insert_default().dscp = Some(dscp);
        self
    }
}

/// Position of a part in a message that is handed over before its end has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Part {
    /// Tells apart messages that are handed over in parts at the same time, of one stream even where they are unordered.
    pub message: u32,
    /// True if more of it follows; if it never does,
    /// [`Event::PartialDeliveryAborted`](crate::Event::PartialDeliveryAborted) says so.
    pub more: bool,
}

/// A message that arrived, or a part of one that is too long for the receive buffer.
///
/// ```
/// # mod two { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/two.rs")); }
/// # use two::*;
/// # let mut two = Two::up(Config::rfc9260());
/// let now = two.now;
/// two.a().send(now, Message { ppid: 51, unordered: true, ..Message::new(4, "hello") })?;
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
    /// True if it was sent unordered.
    pub unordered: bool,
    /// True if the peer has asked for a SACK at once with one of its chunks (I bit, RFC 7053).
    pub immediate: bool,
    /// Path that its last chunk came on; of a part, that of the part.
    pub path: u8,
    /// Its number in its stream, as the wire has it: the stream sequence number of DATA (it means nothing where the message is
    /// unordered), the message identifier of I-DATA.
    pub number: u32,
    /// TSN of its first chunk; under a FID of its own (level 1, sf2007) the subflow's number.
    pub tsn: u32,
    /// Time at which its last chunk came; of a part, that of the part.
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
    /// Gives back a message that is not the next part of this one.
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

    /// True if nothing follows: a whole message, or the last part of one.
    #[must_use]
    pub fn is_end(&self) -> bool {
        self.part.is_none_or(|part| !part.more)
    }

    /// User data in order. More than one piece only when fragments arrived out of order or the message outgrew
    /// its buffer: pieces are never joined by copying.
    pub fn pieces(&self) -> impl Iterator<Item = &Bytes> + '_ {
        std::iter::once(&self.first).chain(self.rest.iter().flat_map(|rest| &rest.0))
    }

    /// Number of pieces.
    pub(crate) fn count(&self) -> usize {
        1 + self.rest.as_ref().map_or(0, |rest| rest.0.len())
    }

    /// Bytes of user data.
    #[must_use]
    pub fn len(&self) -> usize {
        let sum = |rest: &Rest| {
            cold_path();
            rest.0.iter().map(Bytes::len).sum()
        };
        let rest = self.rest.as_deref().map_or(0, sum);
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
