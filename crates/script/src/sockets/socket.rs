//! One socket: its options, its associations, and the data and notifications that wait for its user.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use anabranch_sctp::{Association, AssociationId, Config};

use crate::network::{Network, Port};
use crate::value::Value;

/// A notification, or a part of a message that did not fit.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    /// The value that a script compares with.
    pub(crate) content: Value,
    pub(crate) len: usize,
}

/// A message or a part of one that was taken out of the core, or the rest after a read.
#[derive(Clone, Debug)]
pub(crate) struct TakenMessage {
    pub(crate) stream: u16,
    pub(crate) ppid: u32,
    pub(crate) unordered: bool,
    pub(crate) len: usize,
    /// Whether the message ends with it.
    pub(crate) end: bool,
}

/// An association of a socket.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(crate) port: Port,
    pub(crate) id: AssociationId,
    /// The id that the user knows it by: `snd_assoc_id` and so on.
    pub(crate) number: i64,
    pub(crate) established: bool,
    /// The user was told that it is up.
    pub(crate) told: bool,
    pub(crate) streams: (u16, u16),
    /// The peer sends nothing more.
    pub(crate) ended: bool,
    /// Why it has ended, if not gracefully.
    pub(crate) error: Option<&'static str>,
    pub(crate) closed: bool,
    /// Our user has called shutdown.
    pub(crate) shut: bool,
    /// The adaptation code point that the peer has announced (RFC 5061, 4.2.6).
    pub(crate) adaptation: Option<u32>,
    /// Our user has called shutdown for reading.
    pub(crate) deaf: bool,
    /// Messages that were taken out of the core and not read yet.
    pub(crate) waiting: VecDeque<TakenMessage>,
    /// A message was read in part, and more of it is to come.
    pub(crate) in_parts: bool,
    /// The user knows that everything is acknowledged.
    pub(crate) dry: bool,
}

impl Link {
    pub(crate) fn new(port: Port, id: AssociationId) -> Self {
        Self {
            port,
            id,
            number: 0,
            established: false,
            told: false,
            streams: (0, 0),
            ended: false,
            error: None,
            closed: false,
            shut: false,
            adaptation: None,
            deaf: false,
            waiting: VecDeque::new(),
            in_parts: false,
            dry: false,
        }
    }
}

/// Values that the core does not have or that only a socket has, by option and field.
pub(crate) type Kept = BTreeMap<&'static str, Value>;

/// A socket.
#[derive(Clone, Debug)]
pub(crate) struct Socket {
    /// One-to-many.
    pub(crate) many: bool,
    pub(crate) nonblocking: bool,
    pub(crate) config: Config,
    pub(crate) bound: Option<u16>,
    pub(crate) port: Option<Port>,
    pub(crate) listening: bool,
    pub(crate) links: Vec<Link>,
    pub(crate) backlog: VecDeque<Link>,
    /// The pending error that SO_ERROR returns once.
    pub(crate) error: Option<&'static str>,
    pub(crate) subscribed: BTreeSet<i64>,
    /// `sctp_data_io_event`: recvmsg describes messages in sctp_sndrcvinfo.
    pub(crate) data_io: bool,
    /// Notifications that come before data, and those that come after.
    pub(crate) early: VecDeque<Waiting>,
    pub(crate) late: VecDeque<Waiting>,
    pub(crate) linger: Option<i64>,
    pub(crate) kept: Kept,
}

impl Socket {
    pub(crate) fn new(many: bool, config: Config) -> Self {
        Self {
            many,
            nonblocking: false,
            config,
            bound: None,
            port: None,
            listening: false,
            links: Vec::new(),
            backlog: VecDeque::new(),
            error: None,
            subscribed: BTreeSet::new(),
            data_io: false,
            early: VecDeque::new(),
            late: VecDeque::new(),
            linger: None,
            kept: Kept::new(),
        }
    }

    /// A socket for an association of this one.
    pub(crate) fn accepted(&self, link: Link) -> Self {
        Self {
            many: false,
            nonblocking: false,
            port: Some(link.port),
            links: vec![link],
            listening: false,
            backlog: VecDeque::new(),
            early: VecDeque::new(),
            late: VecDeque::new(),
            error: None,
            ..self.clone()
        }
    }

    /// Whether an option that is a switch is on.
    pub(crate) fn switch(&self, option: &str) -> bool {
        let number = |value: &Value| value.number().or_else(|| value.number_of("assoc_value"));
        self.kept.get(option).and_then(number).is_some_and(|number| number != 0)
    }

    /// The value of SCTP_CONTEXT, for messages that are received (RFC 6458, 8.1.25).
    pub(crate) fn context(&self) -> i64 {
        self.kept.get("SCTP_CONTEXT").and_then(|value| value.number_of("assoc_value")).unwrap_or(0)
    }

    /// Whether a read tells about the message that comes next.
    pub(crate) fn wants_next(&self) -> bool {
        self.switch("SCTP_RECVNXTINFO") || (self.data_io && self.switch("SCTP_USE_EXT_RCVINFO"))
    }

    /// The association of a one-to-one socket; the last of a one-to-many socket.
    pub(crate) fn link(&self) -> Option<&Link> {
        self.links.last()
    }

    /// The core's read-only view of the association of [`Socket::link`].
    pub(crate) fn view<'a>(&self, network: &'a Network) -> Option<&'a Association> {
        let link = self.link()?;
        network.view(link.port)?.view(link.id)
    }

    /// The place of an association by the id that the user knows.
    pub(crate) fn at(&self, number: Option<i64>) -> Option<usize> {
        self.links.iter().position(|link| Some(link.number) == number)
    }

    pub(crate) fn link_mut(&mut self) -> Option<&mut Link> {
        self.links.last_mut()
    }
}
