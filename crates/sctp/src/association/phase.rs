//! Where an association stands, with what exists only there: the handshake, a shutdown.

use anabranch_base::{Duration, Instant};

use super::shutdown::Shutdown;
use crate::negotiation::offer::Extensions;
use crate::state::State;

/// What exists only until the association is up.
#[derive(Debug, Default)]
pub(super) struct Handshake {
    /// T1-init or T1-cookie.
    pub(super) t1: Option<Instant>,
    pub(super) rto: Duration,
    pub(super) retransmits: u32,
    /// With which of the subflows' code points it goes: with the next one at each expiry of T1.
    pub(super) code_point: u32,
    /// Stale Cookie errors so far: each begins the handshake anew, and that must end, too.
    pub(super) stale: u32,
    /// The next INIT begins another attempt, and has no tag of its own yet.
    pub(super) wants_tag: bool,
    /// When the INIT ACK came.
    pub(super) answered: Option<Instant>,
    /// When the COOKIE ECHO is sent once more.
    pub(super) probe: Option<Instant>,
    /// The State Cookie to echo.
    pub(super) cookie: Vec<u8>,
    /// "Suggested Cookie Life-Span Increment" to ask for after a Stale Cookie error, ms.
    pub(super) preservative: Option<u32>,
    /// The user has asked for a shutdown.
    pub(super) shutdown_wanted: bool,
    /// Packets leave with a checksum of zero once the association is up (RFC 9653).
    pub(super) sends_zero_checksum: bool,
    /// What the layer above the peer has said (RFC 5061).
    pub(super) adaptation: Option<u32>,
}

impl Handshake {
    /// What takes effect when the association is up.
    pub(super) fn note(&mut self, agreed: &Extensions) {
        self.sends_zero_checksum = agreed.sends_zero_checksum;
        self.adaptation = agreed.adaptation;
    }
}

/// RFC 9260, section 4.
#[derive(Debug)]
pub(super) enum Phase {
    /// INIT sent.
    CookieWait(Box<Handshake>),
    /// COOKIE ECHO sent.
    CookieEchoed(Box<Handshake>),
    /// Up.
    Established,
    /// SHUTDOWN of either side is under way.
    Ending(Box<Shutdown>),
    /// Gone.
    Closed,
}

impl Phase {
    pub(super) fn state(&self) -> State {
        match self {
            Self::CookieWait(_) => State::CookieWait,
            Self::CookieEchoed(_) => State::CookieEchoed,
            Self::Established => State::Established,
            Self::Ending(shutdown) => shutdown.state(),
            Self::Closed => State::Closed,
        }
    }

    pub(super) fn handshake(&self) -> Option<&Handshake> {
        match self {
            Self::CookieWait(handshake) | Self::CookieEchoed(handshake) => Some(handshake),
            _ => None,
        }
    }

    /// When the INIT ACK came whose cookie was echoed, as long as T1-cookie has not expired.
    pub(super) fn awaits_cookie_ack_since(&self) -> Option<Instant> {
        match self {
            Self::CookieEchoed(handshake) if handshake.retransmits == 0 => handshake.answered,
            _ => None,
        }
    }

    pub(super) fn handshake_mut(&mut self) -> Option<&mut Handshake> {
        match self {
            Self::CookieWait(handshake) | Self::CookieEchoed(handshake) => Some(handshake),
            _ => None,
        }
    }

    /// The shutdown that is under way.
    pub(super) fn shutdown(&self) -> Option<&Shutdown> {
        match self {
            Self::Ending(shutdown) => Some(shutdown),
            _ => None,
        }
    }

    /// The same, to go on with it.
    pub(super) fn shutdown_mut(&mut self) -> Option<&mut Shutdown> {
        match self {
            Self::Ending(shutdown) => Some(shutdown),
            _ => None,
        }
    }
}
