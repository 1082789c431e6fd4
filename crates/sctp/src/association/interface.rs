//! Questions and changes of the user while the association lives (RFC 9260, 11.1).

use std::net::IpAddr;
use std::sync::Arc;

use anabranch_base::{Duration, Instant};

use super::Association;
use crate::budget::Budget;
use crate::config::{ChangeError, Config};
use crate::error::PathError;
use crate::ids::PathId;
use crate::options::{Abandonments, Policy};
use crate::path::{Path, SearchState};
use crate::state::State;
use crate::status::{PathStatus, Status};

impl Association {
    /// The memory that all associations of the endpoint share.
    pub(crate) fn set_budget(&mut self, budget: &Arc<Budget>) {
        self.cx.budget = Some(Arc::clone(budget));
    }

    /// STATUS (11.1.8).
    #[must_use]
    pub fn status(&self) -> Status {
        let paths = self.cx.paths.iter().map(|(id, path)| self.path_status(id, path)).collect();
        Status {
            state: self.cx.env.state(),
            paths,
            peer_window: self.sender.peer_window(),
            receive_window: self.receiver.advertised_window(&self.cx),
            unacknowledged: self.sender.unacknowledged_chunks(),
            pending: self.receiver.pending(),
            queued_bytes: self.sender.queued_bytes(),
            streams: (self.sender.stream_map().streams(), self.receiver.streams()),
        }
    }

    fn path_status(&self, id: PathId, path: &Path) -> PathStatus {
        PathStatus {
            address: path.remote(),
            primary: self.cx.paths.is_primary(id),
            active: path.reachability().is_active(),
            confirmed: path.is_confirmed(),
            heartbeats: path.heartbeat().is_on(self.cx.env.config()),
            cwnd: self.sender.window_on(id),
            srtt: path.rtt().srtt(),
            rto: path.rtt().rto(),
            mtu: path.mtu(),
        }
    }

    /// True if something can be read.
    #[must_use]
    #[inline]
    pub fn has_unread(&self) -> bool {
        self.receiver.pending() > 0
    }

    /// GETSRTTREPORT (11.1.11): SRTT of an address; `None` before the first sample.
    ///
    /// # Errors
    /// When the peer has no such address.
    pub fn srtt(&self, address: IpAddr) -> Result<Option<Duration>, PathError> {
        let path = self.cx.paths.known(address)?;
        Ok(self.cx.paths.get(path).and_then(|path| path.rtt().srtt()))
    }

    /// Largest IP packet of the path in use, bytes, as far as is known.
    #[must_use]
    pub fn path_mtu(&self) -> u16 {
        self.cx.paths.primary().map_or(0, crate::path::Path::mtu)
    }

    /// True if probes are looking for the MTU of the path in use, or will once data leaves on it, and have not ended
    /// (RFC 8899: the states Base, Searching, Error).
    #[must_use]
    pub fn is_searching_path_mtu(&self) -> bool {
        let state = self.cx.paths.primary().and_then(|path| path.size().search_state());
        matches!(state, Some(SearchState::Base | SearchState::Searching | SearchState::Error))
    }

    /// The largest message that leaves in one chunk on the path in use, bytes of user data (RFC 8899: MPS). Longer ones are fragmented.
    // rfc8899:4.4-1 rfc8899:5-2
    #[must_use]
    pub fn max_unfragmented(&self) -> usize {
        self.sender.max_unfragmented(&self.cx)
    }

    /// The configuration that it was given, with the changes since. A receive window that has grown by itself is in [`Association::status`].
    #[must_use]
    pub fn configuration(&self) -> &Arc<Config> {
        self.cx.env.config()
    }

    /// Messages that were given up (RFC 7496, 4.3 and 4.4): under one policy or any, on one stream or any.
    ///
    /// ```
    /// # mod two { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/two.rs")); }
    /// # use two::*;
    /// use anabranch_sctp::Policy;
    /// # let mut two = Two::up(Config::for_networks());
    /// let now = two.now;
    /// two.a().send(now, Message::new(4, "here").max_retransmissions(0))?;
    /// two.lose();
    /// two.exchange();
    /// assert_eq!(two.a().abandoned(Some(4), Some(Policy::Retransmissions)).sent, 1);
    /// assert_eq!(two.a().abandoned(None, Some(Policy::Lifetime)).sent, 0);
    /// # Ok::<(), SendError>(())
    /// ```
    #[must_use]
    pub fn abandoned(&self, stream: Option<u16>, policy: Option<Policy>) -> Abandonments {
        self.sender.special().abandoned(stream, policy)
    }

    /// The UDP port of an address of the peer, 0 for none; `None` where the peer has no such address.
    pub(crate) fn encapsulation_port(&self, address: IpAddr) -> Option<u16> {
        let path = self.cx.paths.find(address).and_then(|id| self.cx.paths.get(id));
        path.map(|path| path.remote().port())
    }

    /// SETPROTOCOLPARAMETERS (11.1.13): takes other values, if every one that differs from those of
    /// [`Association::announced`] can be changed now.
    pub(crate) fn change(&mut self, now: Instant, changed: Config) -> Result<(), ChangeError> {
        if self.cx.env.state() == State::Closed {
            return Err(ChangeError::Closed);
        }
        self.cx.env.config().check_change(&changed)?;
        let resized = changed.limits.receive_window != self.receiver.window().size();
        if resized && self.receiver.arrivals().has_floors() {
            return Err(self.cx.env.config().settled_window());
        }
        self.cx.env.set_now(now);
        let (latest, bounds) = (self.cx.env.latest(), self.bounds());
        self.life.watch_mut().change(latest, bounds);
        let mut changed = changed;
        if resized {
            // The size that the user chose while the association lives stays.
            changed.limits.max_receive_window = 0;
        } else {
            changed.limits.receive_window = self.cx.env.config().limits.receive_window;
        }
        let before = self.cx.env.change_config(Arc::new(changed));
        let config = Arc::clone(self.cx.env.config());
        let bounds = (config.timers.rto_min, config.timers.rto_max);
        if bounds != (before.timers.rto_min, before.timers.rto_max) {
            for path in self.cx.paths.rows_mut() {
                path.set_rto_bounds(bounds.0, bounds.1);
            }
        }
        self.sender.follow(&self.cx, &before);
        if resized {
            self.receiver.change_window(&self.cx, config.limits.receive_window);
        }
        if config.path_mtu.discovery != before.path_mtu.discovery {
            self.path_manager().change_discovery();
        }
        if config.timers.heartbeat_interval != before.timers.heartbeat_interval {
            self.path_manager().arm_heartbeats();
        }
        self.sender.messages().tell_writable(&mut self.cx);
        Ok(())
    }
}
