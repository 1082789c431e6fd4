//! One socket: what it was told, what belongs to it, what waits for its user.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use anabranch_sctp::{AssociationId, Config};

use crate::network::Port;
use crate::value::Value;

/// A notification, or a part of a message that did not fit.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    /// What a script compares with.
    pub(crate) content: Value,
    pub(crate) len: usize,
}

/// An association of a socket.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(crate) port: Port,
    pub(crate) id: AssociationId,
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
    /// What the layer above the peer has said.
    pub(crate) adaptation: Option<u32>,
    /// What a read has left of a message or a part of one: its length, its description, and whether the message ends with it.
    pub(crate) rest: Option<(usize, Value, bool)>,
}

impl Link {
    pub(crate) fn new(port: Port, id: AssociationId) -> Self {
        Self {
            port,
            id,
            established: false,
            told: false,
            streams: (0, 0),
            ended: false,
            error: None,
            closed: false,
            shut: false,
            rest: None,
            adaptation: None,
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
    /// What SO_ERROR tells once.
    pub(crate) error: Option<&'static str>,
    pub(crate) subscribed: BTreeSet<i64>,
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

    /// The association of a one-to-one socket; the last of a one-to-many socket.
    pub(crate) fn link(&self) -> Option<&Link> {
        self.links.last()
    }

    pub(crate) fn link_mut(&mut self) -> Option<&mut Link> {
        self.links.last_mut()
    }
}
