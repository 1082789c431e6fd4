//! What the user may ask for and change while the association lives (RFC 9260, 11.1).

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use anabranch_base::{Duration, Instant};

use super::Association;
use crate::budget::Budget;
use crate::config::{ChangeError, Config};
use crate::error::{PathError, SendError};
use crate::ids::PathId;
use crate::path::Path;
use crate::state::State;
use crate::status::{PathStatus, Status};

impl Association {
    /// What all associations of the endpoint have together.
    pub(crate) fn set_budget(&mut self, budget: &Arc<Budget>) {
        self.cx.budget = Some(Arc::clone(budget));
    }

    /// STATUS (11.1.8).
    #[must_use]
    pub fn status(&self) -> Status {
        let paths = self.cx.paths.iter().map(|(id, path)| self.path_status(id, path)).collect();
        Status {
            state: self.cx.state,
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
            heartbeats: path.heartbeat().is_on(&self.cx.config),
            cwnd: self.sender.window_on(id),
            srtt: path.rtt().srtt(),
            rto: path.rtt().rto(),
            mtu: path.mtu(),
        }
    }

    /// Whether something can be read.
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
        let path = self.find_path(address)?;
        Ok(self.cx.paths.get(path).and_then(|path| path.rtt().srtt()))
    }

    /// What it was told, with the changes since.
    #[must_use]
    pub fn configuration(&self) -> &Arc<Config> {
        &self.cx.config
    }

    fn find_path(&self, address: IpAddr) -> Result<PathId, PathError> {
        self.cx.paths.find(address).ok_or_else(|| {
            let known = self.cx.paths.rows().iter().map(|path| path.remote().ip()).collect();
            PathError::Unknown { address, known }
        })
    }

    /// A path that is the peer's for sure.
    fn find_confirmed(&self, address: IpAddr) -> Result<PathId, PathError> {
        let id = self.find_path(address)?;
        let confirmed = self.cx.paths.get(id).is_some_and(Path::is_confirmed);
        if confirmed { Ok(id) } else { Err(PathError::NotConfirmed(address)) }
    }

    /// SETPRIMARY (11.1.6).
    pub(crate) fn set_primary(&self, address: IpAddr) -> Result<(), PathError> {
        match self.find_confirmed(address)? {
            id if self.cx.paths.is_primary(id) => Ok(()),
            _ => Err(PathError::NotUsed(address)),
        }
    }

    /// CHANGEHEARTBEAT (11.1.9).
    pub(crate) fn change_heartbeat(
        &mut self,
        now: Instant,
        address: IpAddr,
        on: bool,
        interval: Option<Duration>,
    ) -> Result<(), PathError> {
        let id = self.find_confirmed(address)?;
        self.cx.set_now(now);
        if let Some(interval) = interval {
            Arc::make_mut(&mut self.cx.config).timers.heartbeat_interval = interval;
        }
        if let Some(path) = self.cx.paths.get_mut(id) {
            path.heartbeat_mut().switch(on);
        }
        // "This value, if present, affects all destinations."
        self.arm_heartbeats();
        Ok(())
    }

    /// A new period begins on every path that has heartbeats; on the others none runs.
    fn arm_heartbeats(&mut self) {
        if !self.cx.state.sends_data() {
            return;
        }
        let now = self.cx.now;
        for path in self.cx.paths.rows_mut().iter_mut().filter(|path| path.is_confirmed()) {
            path.arm_heartbeat(now, &self.cx.config, &mut self.cx.rng);
        }
    }

    /// REQUESTHEARTBEAT (11.1.10).
    pub(crate) fn request_heartbeat(&mut self, now: Instant, address: IpAddr) -> Result<(), PathError> {
        let id = self.find_path(address)?;
        self.cx.set_now(now);
        if !self.cx.state.sends_data() {
            return Err(PathError::NotUp);
        }
        if let Some(path) = self.cx.paths.get_mut(id) {
            path.heartbeat_mut().request();
        }
        Ok(())
    }

    /// SETFAILURETHRESHOLD (11.1.12).
    pub(crate) fn set_failure_threshold(&mut self, address: IpAddr, threshold: u32) -> Result<(), PathError> {
        self.find_path(address)?;
        Arc::make_mut(&mut self.cx.config).limits.path_max_retrans = threshold;
        Ok(())
    }

    /// The UDP port of an address of the peer, 0 for none; `None` where the peer has no such address.
    pub(crate) fn encapsulation_port(&self, address: IpAddr) -> Option<u16> {
        let path = self.cx.paths.find(address).and_then(|id| self.cx.paths.get(id));
        path.map(|path| path.remote().port())
    }

    /// The UDP port of an address (RFC 6951, 6.1).
    pub(crate) fn set_encapsulation_port(&mut self, address: SocketAddr) -> Result<(), PathError> {
        let id = self.find_path(address.ip())?;
        let config = &self.cx.config;
        if let Some(path) = self.cx.paths.get_mut(id) {
            path.move_port(config, address.port());
        }
        Ok(())
    }

    /// SETPROTOCOLPARAMETERS (11.1.13): takes other values, if every one that differs from those of
    /// [`Association::announced`] can be changed now.
    pub(crate) fn change(&mut self, now: Instant, changed: Config) -> Result<(), ChangeError> {
        if self.cx.state == State::Closed {
            return Err(ChangeError::Closed);
        }
        self.cx.config.check_change(&changed)?;
        let resized = changed.limits.receive_window != self.receiver.window().size();
        if resized && self.receiver.arrivals().has_floors() {
            return Err(self.cx.config.settled_window());
        }
        self.cx.set_now(now);
        let (latest, bounds) = (self.cx.latest(), self.bounds());
        self.watch.change(latest, bounds);
        let mut changed = changed;
        if resized {
            // What the user chose while the association lives stays.
            changed.limits.max_receive_window = 0;
        } else {
            changed.limits.receive_window = self.cx.config.limits.receive_window;
        }
        let before = std::mem::replace(&mut self.cx.config, Arc::new(changed));
        let config = Arc::clone(&self.cx.config);
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
            self.change_discovery();
        }
        if config.timers.heartbeat_interval != before.timers.heartbeat_interval {
            self.arm_heartbeats();
        }
        self.sender.tell_writable(&mut self.cx);
        Ok(())
    }

    /// When the user is to be told that what is buffered is low.
    pub(crate) fn set_low_threshold(
        &mut self,
        stream: Option<u16>,
        bytes: Option<usize>,
    ) -> Result<(), SendError> {
        self.sender.set_low_threshold(&self.cx, stream, bytes)
    }
}
