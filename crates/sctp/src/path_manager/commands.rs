//! Commands and questions of the user about paths (RFC 9260, 11.1).

use std::net::{IpAddr, SocketAddr};

use anabranch_base::{Duration, Instant};

use super::PathManager;
use crate::error::PathError;

impl PathManager<'_> {
    /// SETPRIMARY (11.1.6): "use the specified destination transport address as the primary path for sending packets".
    pub(crate) fn set_primary(&mut self, now: Instant, address: IpAddr) -> Result<(), PathError> {
        let id = self.scope.cx.paths.confirmed(address)?;
        self.scope.cx.env.set_now(now);
        let before = self.scope.cx.paths.set_primary(id);
        self.scope.sender.change_primary(self.scope.cx, before, id);
        Ok(())
    }

    /// CHANGEHEARTBEAT (11.1.9).
    pub(crate) fn change_heartbeat(
        &mut self,
        now: Instant,
        address: IpAddr,
        on: bool,
        interval: Option<Duration>,
    ) -> Result<(), PathError> {
        let id = self.scope.cx.paths.confirmed(address)?;
        self.scope.cx.env.set_now(now);
        if let Some(interval) = interval {
            self.scope.cx.env.change_values(|config| config.timers.heartbeat_interval = interval);
        }
        if let Some(path) = self.scope.cx.paths.get_mut(id) {
            path.heartbeat_mut().switch(on);
        }
        // "This value, if present, affects all destinations."
        self.arm_heartbeats();
        Ok(())
    }

    /// A new period begins on every path that has heartbeats; on the others none runs.
    pub(crate) fn arm_heartbeats(&mut self) {
        if !self.scope.cx.env.state().sends_data() {
            return;
        }
        let now = self.scope.cx.env.now();
        for path in self.scope.cx.paths.rows_mut().iter_mut().filter(|path| path.is_confirmed()) {
            path.arm_heartbeat(now, self.scope.cx.env.config(), &mut self.scope.cx.rng);
        }
    }

    /// REQUESTHEARTBEAT (11.1.10).
    pub(crate) fn request_heartbeat(&mut self, now: Instant, address: IpAddr) -> Result<(), PathError> {
        let id = self.scope.cx.paths.known(address)?;
        self.scope.cx.env.set_now(now);
        if !self.scope.cx.env.state().sends_data() {
            return Err(PathError::NotUp);
        }
        if let Some(path) = self.scope.cx.paths.get_mut(id) {
            path.heartbeat_mut().request();
        }
        Ok(())
    }

    /// SETFAILURETHRESHOLD (11.1.12).
    pub(crate) fn set_failure_threshold(&mut self, address: IpAddr, threshold: u32) -> Result<(), PathError> {
        self.scope.cx.paths.known(address)?;
        self.scope.cx.env.change_values(|config| config.limits.path_max_retrans = threshold);
        Ok(())
    }

    /// The UDP port of an address (RFC 6951, 6.1).
    pub(crate) fn set_encapsulation_port(&mut self, address: SocketAddr) -> Result<(), PathError> {
        let id = self.scope.cx.paths.known(address.ip())?;
        let config = self.scope.cx.env.config();
        if let Some(path) = self.scope.cx.paths.get_mut(id) {
            path.move_port(config, address.port());
        }
        Ok(())
    }
}
