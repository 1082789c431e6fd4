//! The state that all owners inside an association share while they work: the time, the configuration, the paths, and
//! the receivers of counters, trace records and events.

use std::collections::VecDeque;
use std::sync::Arc;

use anabranch_base::{Ecn, Instant, SecretRng, Trace, TraceEvent, TraceRecord};

use crate::agreed::Agreed;
use crate::budget::Budget;
use crate::config::Config;
use crate::event::Event;
use crate::ids::{PathId, SubflowId};
use crate::path::{Path, Paths};
use crate::room;
use crate::state::State;
use crate::stats::{Counters, StreamTable};

/// Number of events beyond which actions of the peer are not told: the user is not reading.
const MAX_WAITING_EVENTS: usize = 256;

/// One argument of every call from the association to its sender, its receiver and its paths.
#[derive(Debug)]
pub(crate) struct Context {
    /// Time of the call that is being served: set where it enters the association, with [`Context::set_now`].
    pub(crate) now: Instant,
    /// The latest time that it has been: timers that run may have been set then, if the clock was set back since.
    #[cfg(any(debug_assertions, feature = "watched"))]
    latest: Instant,
    pub(crate) config: Arc<Config>,
    /// State of the association (RFC 9260, 4); the association alone changes it.
    pub(crate) state: State,
    /// What both sides speak; the association alone changes it.
    pub(crate) agreed: Agreed,
    pub(crate) paths: Paths,
    pub(crate) stats: Counters,
    /// Counters of streams, where they are asked for.
    pub(crate) streams: Option<Box<StreamTable>>,
    pub(crate) events: VecDeque<Event>,
    pub(crate) trace: Trace,
    pub(crate) rng: SecretRng,
    /// Budget from which windows grow, one for all associations of the endpoint.
    pub(crate) budget: Option<Arc<Budget>>,
    /// ECN codepoint of packets with new data; Not-ECT unless both sides are ECN capable.
    pub(crate) ect: Ecn,
    /// Number of the association, as trace records carry it.
    pub(crate) association: u32,
}

impl Context {
    pub(crate) fn new(association: u32, config: Arc<Config>, path: Path, rng: SecretRng) -> Self {
        Self {
            now: Instant::ZERO,
            #[cfg(any(debug_assertions, feature = "watched"))]
            latest: Instant::ZERO,
            streams: config.streams.statistics.then(Box::default),
            agreed: Agreed::new(&config),
            config,
            state: State::CookieWait,
            paths: Paths::new(path),
            stats: Counters::default(),
            events: VecDeque::new(),
            trace: Trace::default(),
            rng,
            budget: None,
            ect: Ecn::NotEct,
            association,
        }
    }

    /// A call enters the association.
    #[inline]
    pub(crate) fn set_now(&mut self, now: Instant) {
        self.now = now;
        #[cfg(any(debug_assertions, feature = "watched"))]
        {
            self.latest = self.latest.max(now);
        }
    }

    /// The latest time that it has been; in builds that do not check themselves, the present time.
    pub(crate) fn latest(&self) -> Instant {
        #[cfg(any(debug_assertions, feature = "watched"))]
        let latest = self.latest.max(self.now);
        #[cfg(not(any(debug_assertions, feature = "watched")))]
        let latest = self.now;
        latest
    }

    #[inline]
    pub(crate) fn record(&mut self, subflow: SubflowId, path: PathId, event: TraceEvent) {
        let (at, association) = (self.now, self.association);
        self.trace.record(|| TraceRecord {
            at,
            association,
            subflow: subflow.get(),
            path: path.get(),
            event,
        });
    }

    /// Most user data that one chunk on a path carries, bytes.
    // rfc9260:6-9 rfc9260:6.9-7
    #[inline]
    pub(crate) fn max_payload(&self, path: PathId) -> usize {
        self.config.limits.most_payload(self.packet_room(path))
    }

    /// Room of a packet of a path for the payload of one chunk, bytes.
    #[inline]
    pub(crate) fn packet_room(&self, path: PathId) -> usize {
        let pmdcs = self.paths.get(path).map_or(0, |path| path.pmdcs() as usize);
        pmdcs.saturating_sub(self.agreed.beside_payload())
    }

    /// An event that the user must learn of: there are few.
    pub(crate) fn tell(&mut self, event: Event) {
        room::push(&mut self.events, event);
    }

    /// Takes a restart back that the user has not heard of, with the events of the association that it began: another one has
    /// followed, and one event tells of both. Its counts.
    #[cold]
    pub(crate) fn take_unheard_restart(&mut self) -> (usize, usize, u64) {
        let found = self.events.iter().enumerate().rev().find_map(|(at, event)| match event {
            Event::Restarted { unsent, unacknowledged, received_bytes_lost } => {
                Some((at, (*unsent, *unacknowledged, *received_bytes_lost)))
            }
            _ => None,
        });
        let Some((at, counts)) = found else { return (0, 0, 0) };
        let behind = self.events.split_off(at);
        let is_over = |event: &Event| {
            use Event::{AdaptationIndication, Established, PeerShutdown, Restarted};
            matches!(
                event,
                Restarted { .. } | Established { .. } | AdaptationIndication { .. } | PeerShutdown
            )
        };
        self.events.extend(behind.into_iter().filter(|event| !is_over(event)));
        counts
    }

    /// An event that a peer can cause at will: not queued any more when the user is not reading.
    pub(crate) fn tell_if_read(&mut self, event: Event) {
        if self.events.len() < MAX_WAITING_EVENTS {
            self.events.push_back(event);
        }
    }
}
