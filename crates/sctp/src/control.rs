//! Control chunks that must leave, each with the path that it leaves on.

use std::collections::VecDeque;

use crate::ids::PathId;

/// Chunks that may wait (HEARTBEAT ACK, ERROR): a flood of requests must not grow a queue.
const MAX_WAITING: usize = 8;

/// Chunks of which one waits at most, in the order in which they leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Init,
    ShutdownComplete,
    CookieEcho,
    CookieAck,
    Cwr,
    Shutdown,
    ShutdownAck,
}

impl Kind {
    const ALL: [Self; 7] = [
        Self::Init,
        Self::ShutdownComplete,
        Self::CookieEcho,
        Self::CookieAck,
        Self::Cwr,
        Self::Shutdown,
        Self::ShutdownAck,
    ];

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// At most one of each kind waits, but for answers, which are few.
#[derive(Debug)]
pub(crate) struct Control {
    /// A bit for each kind that must leave, and its path.
    due: u8,
    paths: [PathId; Kind::ALL.len()],
    rare: Option<Box<Rare>>,
}

/// Chunks that hardly any association ever sends.
#[derive(Debug, Default)]
struct Rare {
    /// Error causes of the ABORT, encoded.
    abort: Option<(PathId, Vec<u8>)>,
    /// Parameters of HEARTBEATs to return, encoded.
    heartbeat_acks: VecDeque<(PathId, Vec<u8>)>,
    /// Error causes to report, encoded: one ERROR chunk each.
    errors: VecDeque<(PathId, Vec<u8>)>,
}

impl Control {
    /// Nothing must leave; `path` fills the places of chunks that never did.
    pub(crate) fn new(path: PathId) -> Self {
        Self { due: 0, paths: [path; Kind::ALL.len()], rare: None }
    }

    /// Nothing must leave any more.
    pub(crate) fn clear(&mut self) {
        (self.due, self.rare) = (0, None);
    }

    /// True if any chunk must leave.
    #[inline]
    pub(crate) fn any(&self) -> bool {
        self.due != 0 || self.rare.is_some()
    }

    /// A chunk must leave on a path.
    pub(crate) fn ask(&mut self, kind: Kind, path: PathId) {
        self.due |= kind.bit();
        self.paths[kind as usize] = path;
    }

    /// A chunk that was asked for need not leave any more.
    pub(crate) fn cancel(&mut self, kind: Kind) {
        self.due &= !kind.bit();
    }

    /// True if a chunk of this kind must leave, on any path.
    #[inline]
    pub(crate) fn is_due(&self, kind: Kind) -> bool {
        self.due & kind.bit() != 0
    }

    /// Takes the chunk of this kind out of the queue if it must leave on `path`; true if it must.
    pub(crate) fn take(&mut self, kind: Kind, path: PathId) -> bool {
        let leaves = self.is_due(kind) && self.paths[kind as usize] == path;
        if leaves {
            self.cancel(kind);
        }
        leaves
    }

    /// The path of the chunk that goes first.
    pub(crate) fn first_path(&self) -> Option<PathId> {
        let first = |kinds: &[Kind]| {
            let due = kinds.iter().find(|kind| self.is_due(**kind));
            due.map(|kind| self.paths[*kind as usize])
        };
        let rare = self.rare.as_ref();
        let of = |queue: &VecDeque<(PathId, Vec<u8>)>| queue.front().map(|(path, _)| *path);
        first(&[Kind::Init])
            .or_else(|| rare.and_then(|rare| rare.abort.as_ref()).map(|(path, _)| *path))
            .or_else(|| first(&[Kind::ShutdownComplete, Kind::CookieEcho, Kind::CookieAck]))
            .or_else(|| rare.and_then(|rare| of(&rare.errors)))
            .or_else(|| rare.and_then(|rare| of(&rare.heartbeat_acks)))
            .or_else(|| first(&[Kind::Cwr, Kind::Shutdown, Kind::ShutdownAck]))
    }

    fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    fn tidy(&mut self) {
        let empty = |rare: &mut Box<Rare>| {
            rare.abort.is_none() && rare.heartbeat_acks.is_empty() && rare.errors.is_empty()
        };
        self.rare.take_if(empty);
    }

    /// An ABORT must leave, with encoded causes.
    pub(crate) fn abort(&mut self, path: PathId, causes: Vec<u8>) {
        self.rare().abort = Some((path, causes));
    }

    /// The ABORT that must leave on a path.
    pub(crate) fn take_abort(&mut self, path: PathId) -> Option<Vec<u8>> {
        let (_, causes) = self.rare.as_mut()?.abort.take_if(|(on, _)| *on == path)?;
        self.tidy();
        Some(causes)
    }

    /// An error is to be reported, with its encoded cause.
    pub(crate) fn report(&mut self, path: PathId, cause: Vec<u8>) {
        let errors = &mut self.rare().errors;
        if errors.len() < MAX_WAITING {
            errors.push_back((path, cause));
        }
    }

    /// The next error to report on a path, if `fits` says so of its length.
    pub(crate) fn next_error(&mut self, path: PathId, fits: impl FnOnce(usize) -> bool) -> Next {
        let Some(rare) = &mut self.rare else { return Next::None };
        let next = take_next(&mut rare.errors, path, fits);
        self.tidy();
        next
    }

    /// The parameters of a HEARTBEAT are to be returned.
    pub(crate) fn answer_heartbeat(&mut self, path: PathId, value: &[u8]) {
        let answers = &mut self.rare().heartbeat_acks;
        if answers.len() < MAX_WAITING {
            answers.push_back((path, value.to_vec()));
        }
    }

    /// The next heartbeat to answer on a path, if `fits` says so of the length of its parameters.
    pub(crate) fn next_heartbeat_ack(&mut self, path: PathId, fits: impl FnOnce(usize) -> bool) -> Next {
        let Some(rare) = &mut self.rare else { return Next::None };
        let next = take_next(&mut rare.heartbeat_acks, path, fits);
        self.tidy();
        next
    }

    /// Numbers of answers that wait: errors to report, heartbeats to answer.
    #[inline]
    pub(crate) fn answers(&self) -> (usize, usize) {
        self.rare.as_ref().map_or((0, 0), |rare| (rare.errors.len(), rare.heartbeat_acks.len()))
    }

    /// A packet has been read, and made some answers wait beside the `earlier` ones. Those stay that fit one packet with `room`
    /// for chunks, the first in any case: the sender "MUST NOT send more than one packet containing chunks other than DATA chunks",
    /// which "protects the network for triggering a packet burst in response to a single packet" (12.4).
    // rfc9260:12.4-2
    #[inline(never)]
    pub(crate) fn keep_one_packet(&mut self, earlier: (usize, usize), room: usize) {
        let Some(rare) = &mut self.rare else { return };
        let mut used = 0;
        for (queue, earlier) in [(&mut rare.errors, earlier.0), (&mut rare.heartbeat_acks, earlier.1)] {
            let mut place = 0;
            queue.retain(|(_, value)| {
                place += 1;
                if place <= earlier {
                    return true;
                }
                let len = 4 + value.len().next_multiple_of(4);
                let stays = used == 0 || used + len <= room;
                used += if stays { len } else { 0 };
                stays
            });
        }
    }

    /// The association has ended: only the last word may still leave.
    pub(crate) fn close(&mut self) {
        let abort = self.rare.as_mut().and_then(|rare| rare.abort.take());
        *self = Self { due: self.due & Kind::ShutdownComplete.bit(), paths: self.paths, rare: None };
        if let Some((path, causes)) = abort {
            self.abort(path, causes);
        }
    }
}

/// The head of a queue.
pub(crate) enum Next {
    /// Nothing, for this path.
    None,
    /// Something that does not fit.
    Full,
    /// This, and it is taken out.
    Ready(Vec<u8>),
}

fn take_next(
    queue: &mut VecDeque<(PathId, Vec<u8>)>,
    path: PathId,
    fits: impl FnOnce(usize) -> bool,
) -> Next {
    let Some(index) = queue.iter().position(|(on, _)| *on == path) else { return Next::None };
    if !queue.get(index).is_some_and(|(_, bytes)| fits(bytes.len())) {
        return Next::Full;
    }
    queue.remove(index).map_or(Next::None, |(_, bytes)| Next::Ready(bytes))
}
