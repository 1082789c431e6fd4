//! The phase of an association, with the handshake or the shutdown that exists only in it.

use anabranch_base::Instant;

use super::handshake::Handshake;
use super::shutdown::Shutdown;
use crate::state::State;

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

    /// Time at which the INIT ACK came whose cookie was echoed, as long as T1-cookie has not expired.
    pub(super) fn awaits_cookie_ack_since(&self) -> Option<Instant> {
        match self {
            Self::CookieEchoed(handshake) => handshake.answered(),
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

    /// The shutdown that is under way, to go on with it.
    pub(super) fn shutdown_mut(&mut self) -> Option<&mut Shutdown> {
        match self {
            Self::Ending(shutdown) => Some(shutdown),
            _ => None,
        }
    }
}
