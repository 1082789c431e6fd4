//! The connection as a sending application knows it, and the timed changes of its subflows.

use std::collections::VecDeque;

use anabranch_base::{Instant, cold_path};

use crate::engine::{Engine, Notice};
use crate::scenario::{Flow, TimedChange};

/// The connection of a sending application.
#[derive(Debug)]
pub(crate) struct Sending {
    /// The time after which no new data is sent; `None`: never.
    stop: Option<Instant>,
    /// Changes of the subflows, next first.
    changes: VecDeque<TimedChange>,
    /// Data may be handed over, from the opening on.
    open: bool,
    /// The handshake is over: only then is there something to close.
    connected: bool,
    closing: bool,
    /// When it was told that there is a connection.
    pub(crate) connected_at: Option<Instant>,
    pub(crate) closed_at: Option<Instant>,
    pub(crate) failed: Option<String>,
}

/// The effect of the engine's notices.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Notices {
    /// Whether there were any.
    pub(super) any: bool,
    /// Whether there is room for data again, or for the first time.
    pub(super) room: bool,
}

impl Sending {
    pub(super) fn new(flow: &Flow) -> Self {
        Self {
            stop: flow.stop.map(|after| Instant::ZERO + after),
            changes: flow.events.iter().cloned().collect(),
            open: false,
            connected: false,
            closing: false,
            connected_at: None,
            closed_at: None,
            failed: None,
        }
    }

    /// The flow has been opened. Data may be queued at once: it can ride with the handshake.
    pub(super) fn opened(&mut self) {
        self.open = true;
    }

    /// Reads the reports of the engine, and makes the changes whose time has come.
    #[inline]
    pub(super) fn hear(&mut self, now: Instant, engine: &mut Engine) -> Notices {
        let mut told = Notices::default();
        while let Some(notice) = engine.poll_notice() {
            told.any = true;
            match notice {
                Notice::Connected => {
                    cold_path();
                    // A sender that has not opened the flow can send from here on.
                    (self.open, self.connected, told.room) = (true, true, true);
                    self.connected_at.get_or_insert(now);
                }
                Notice::Writable => told.room = true,
                // A receiver of a source sends no data; if data come all the same, they are thrown away.
                Notice::Readable => {
                    cold_path();
                    engine.take_all(now, |_, _| ());
                }
                Notice::PeerClosed => {}
                Notice::Closed => {
                    cold_path();
                    self.open = false;
                    self.closed_at.get_or_insert(now);
                }
                Notice::Failed(why) => {
                    cold_path();
                    self.open = false;
                    self.failed.get_or_insert(why);
                }
            }
        }
        if !self.changes.is_empty() {
            self.change(now, engine);
        }
        told
    }

    /// Changes whose time has come, once there is a flow to change.
    fn change(&mut self, now: Instant, engine: &mut Engine) {
        while self.open && self.changes.front().is_some_and(|next| Instant::ZERO + next.at <= now) {
            let Some(TimedChange { at, change }) = self.changes.pop_front() else { return };
            if let Err(error) = engine.change(now, &change) {
                let message = format!("the event at {} s: {error}", at.as_secs_f64());
                self.failed.get_or_insert(message);
            }
        }
    }

    /// Data may be handed over.
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.open && !self.closing
    }

    /// Everything was handed over.
    #[inline]
    pub(crate) fn is_closing(&self) -> bool {
        self.closing
    }

    /// The time to stop has come.
    #[inline]
    pub(super) fn is_stopped(&self, now: Instant) -> bool {
        self.stop.is_some_and(|stop| stop <= now)
    }

    /// The time after which no new data is sent; `None`: never.
    pub(super) fn stop(&self) -> Option<Instant> {
        self.stop
    }

    /// Everything was handed over: the flow is closed, once there is one.
    pub(super) fn done(&mut self, now: Instant, engine: &mut Engine) {
        if self.connected {
            cold_path();
            self.closing = true;
            engine.close(now);
        }
    }

    /// When it has to be woken: to stop, or to change something.
    #[inline]
    pub(super) fn wakes_at(&self, now: Instant) -> Option<Instant> {
        if self.stop.is_none() && self.changes.is_empty() {
            return None;
        }
        let change = self.changes.front().map(|next| Instant::ZERO + next.at).filter(|_| self.open);
        let stop = self.stop.filter(|stop| *stop > now);
        stop.into_iter().chain(change).min()
    }
}
