//! Control chunks by type.

use anabranch_wire::RawChunk;
use anabranch_wire::chunk::kind;

/// Control chunks that an association has sent and received, by type. Its INIT ACK, and the INIT that it answers, belong to the
/// endpoint, which keeps no state for them ([`EndpointStats::inits_answered`](crate::EndpointStats::inits_answered)); SACKs are in
/// [`Stats`](crate::Stats).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ControlStats {
    /// Sent, those that were sent again included.
    pub sent: ControlChunks,
    /// Received, copies included.
    pub received: ControlChunks,
}

/// Numbers of chunks by type. Those of the handshake and of the end stop at 255, others at 2^32 - 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is the type that its name says")]
pub struct ControlChunks {
    pub init: u32,
    pub init_ack: u32,
    pub cookie_echo: u32,
    pub cookie_ack: u32,
    pub heartbeat: u32,
    pub heartbeat_ack: u32,
    pub error: u32,
    pub abort: u32,
    pub shutdown: u32,
    pub shutdown_ack: u32,
    pub shutdown_complete: u32,
    /// RE-CONFIG (RFC 6525).
    pub re_config: u32,
    /// FORWARD-TSN (RFC 3758), and I-FORWARD-TSN (RFC 8260).
    pub forward_tsn: u32,
    /// PAD (RFC 4820): it fills probes of the path MTU.
    pub pad: u32,
    /// ECN-Echo (RFC 4960, appendix A).
    pub ecne: u32,
    /// Congestion Window Reduced (RFC 4960, appendix A).
    pub cwr: u32,
    /// SF-SACK (level 1).
    pub sf_sack: u32,
    /// SF-FORWARD (level 1).
    pub sf_forward: u32,
    /// Any other control chunk.
    pub other: u32,
}

/// Types, or groups of them, that most associations never see; those without a name are the last.
const RARE: usize = 9;
const OTHER: usize = RARE - 1;

/// Place of the counter of a type.
enum Place {
    /// Types that only few chunks of an association have, whatever the peer does.
    Few(usize),
    /// Types of an idle association.
    Idle(usize),
    /// In [`Rare`], which most associations never allocate.
    Rare(usize),
    /// Not counted here.
    None,
}

fn place(of: u8) -> Place {
    match of {
        kind::INIT => Place::Few(0),
        kind::INIT_ACK => Place::Few(1),
        kind::COOKIE_ECHO => Place::Few(2),
        kind::COOKIE_ACK => Place::Few(3),
        kind::ABORT => Place::Few(4),
        kind::SHUTDOWN => Place::Few(5),
        kind::SHUTDOWN_ACK => Place::Few(6),
        kind::SHUTDOWN_COMPLETE => Place::Few(7),
        kind::HEARTBEAT => Place::Idle(0),
        kind::HEARTBEAT_ACK => Place::Idle(1),
        kind::ERROR => Place::Rare(0),
        kind::RE_CONFIG => Place::Rare(1),
        kind::FORWARD_TSN | kind::I_FORWARD_TSN => Place::Rare(2),
        kind::PAD => Place::Rare(3),
        kind::ECNE => Place::Rare(4),
        kind::CWR => Place::Rare(5),
        kind::SF_SACK => Place::Rare(6),
        kind::SF_FORWARD => Place::Rare(7),
        kind::DATA | kind::I_DATA | kind::SACK | kind::SF_DATA => Place::None,
        _ => Place::Rare(OTHER),
    }
}

/// Counts of one direction.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    few: [u8; 8],
    idle: [u32; 2],
}

/// The counters of an association.
#[derive(Clone, Debug, Default)]
pub(crate) struct ControlCounters {
    sent: Tally,
    received: Tally,
    rare: Option<Box<Rare>>,
}

/// Counters that most associations never need.
#[derive(Clone, Copy, Debug, Default)]
struct Rare {
    /// Chunks that were sent and received.
    chunks: [[u32; RARE]; 2],
    /// Packets that came with a router's mark, and windows that were cut because of such.
    marked: u32,
    reductions: u32,
}

impl ControlCounters {
    /// Counts `chunks`, the control chunks of a packet that leaves.
    pub(crate) fn leave(&mut self, mut chunks: &[u8]) {
        while let Ok((raw, rest)) = RawChunk::split(chunks) {
            self.count(raw.kind, true);
            chunks = rest;
        }
    }

    /// A chunk has arrived.
    pub(crate) fn arrives(&mut self, raw: RawChunk<'_>) {
        self.count(raw.kind, false);
    }

    /// A chunk of this type leaves that stands among acknowledgements.
    pub(crate) fn count_sent(&mut self, kind: u8) {
        self.count(kind, true);
    }

    /// A chunk of this type has arrived.
    pub(crate) fn count_received(&mut self, kind: u8) {
        self.count(kind, false);
    }

    fn count(&mut self, kind: u8, leaves: bool) {
        let tally = if leaves { &mut self.sent } else { &mut self.received };
        match place(kind) {
            Place::None => {}
            Place::Few(at) => {
                if let Some(counter) = tally.few.get_mut(at) {
                    *counter = counter.saturating_add(1);
                }
            }
            Place::Idle(at) => add(tally.idle.get_mut(at)),
            Place::Rare(at) => {
                let [sent, received] = &mut self.rare.get_or_insert_default().chunks;
                add(if leaves { sent.get_mut(at) } else { received.get_mut(at) });
            }
        }
    }

    /// A packet has come with a router's mark.
    pub(crate) fn count_marked(&mut self) {
        add(Some(&mut self.rare.get_or_insert_default().marked));
    }

    /// A window was cut because of marks.
    pub(crate) fn count_reduction(&mut self) {
        add(Some(&mut self.rare.get_or_insert_default().reductions));
    }

    /// Numbers of marked packets, and of windows cut because of marks.
    pub(crate) fn marks(&self) -> (u64, u64) {
        self.rare.as_ref().map_or((0, 0), |rare| (rare.marked.into(), rare.reductions.into()))
    }

    pub(crate) fn stats(&self) -> ControlStats {
        let [sent, received] = self.rare.as_deref().copied().unwrap_or_default().chunks;
        ControlStats { sent: self.sent.chunks(sent), received: self.received.chunks(received) }
    }
}

fn add(counter: Option<&mut u32>) {
    if let Some(counter) = counter {
        *counter = counter.saturating_add(1);
    }
}

impl Tally {
    fn chunks(&self, rare: [u32; RARE]) -> ControlChunks {
        let [error, re_config, forward_tsn, pad, ecne, cwr, sf_sack, sf_forward, other] = rare;
        let [init, init_ack, cookie_echo, cookie_ack, abort, shutdown, shutdown_ack, shutdown_complete] =
            self.few.map(u32::from);
        let [heartbeat, heartbeat_ack] = self.idle;
        ControlChunks {
            init,
            init_ack,
            cookie_echo,
            cookie_ack,
            heartbeat,
            heartbeat_ack,
            error,
            abort,
            shutdown,
            shutdown_ack,
            shutdown_complete,
            re_config,
            forward_tsn,
            pad,
            ecne,
            cwr,
            sf_sack,
            sf_forward,
            other,
        }
    }
}
