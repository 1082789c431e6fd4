//! State shared by the driver and its users: the sans-I/O endpoint behind a mutex, and the waiting tasks.
//!
//! A mutex, not channels: a command is a call of the core, which takes some ten nanoseconds, and its answer is known at once. So a
//! future holds nothing but its place among the waiting tasks, and one that is dropped has either done nothing or all.

use std::collections::VecDeque;
use std::future::Future;
use std::net::SocketAddr;
use std::ops::Range;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use anabranch_base::{Duration, Instant, TraceRecord};
use anabranch_sctp::{Association, AssociationId, CloseReason, EndpointEvent, Event, Incoming};

use crate::clock::Clock;
use crate::observe::{TimedEvent, Totals, spans};
use crate::raw::Ports;
use crate::slot::Slot;
use crate::waiters::{WaitReason, Waiters};

#[derive(Debug)]
pub(crate) struct Shared {
    state: Mutex<State>,
    pub(crate) clock: Clock,
    pub(crate) linger: Duration,
    /// Right on IP: its SCTP ports, which no other process of the host may have.
    pub(crate) ports: Option<Ports>,
}

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) endpoint: anabranch_sctp::Endpoint,
    /// The driver's state of each association, by [`AssociationId::index`].
    slots: Vec<Option<Box<Slot>>>,
    /// Peers' requests for associations that were not shown to the user yet.
    pub(crate) asking: VecDeque<Incoming>,
    pub(crate) acceptors: Waiters,
    /// Tasks that wait until every association has ended.
    pub(crate) drainers: Waiters,
    /// Tasks that wait for a change that no event tells.
    pub(crate) activity: Waiters,
    /// Every association has ended; tasks that wait for this are woken when the last packets have left, too.
    drains: bool,
    pub(crate) drained: bool,
    /// The driver has gone: nothing happens any more.
    pub(crate) ended: bool,
    /// Numbers of handles: of the endpoint, and of associations.
    pub(crate) holders: usize,
    pub(crate) held: usize,
    /// Closed associations without a handle: to be released when their last packet has left.
    forgotten: Vec<AssociationId>,
    /// Events of associations since the driver's observers last looked; `None` without such observers.
    pub(crate) told: Option<Vec<TimedEvent>>,
    /// The counters of associations that are gone; `None` without metrics.
    pub(crate) totals: Option<Box<Totals>>,
    pub(crate) span: tracing::Span,
    driver: Option<Waker>,
    /// Packets that were for another shard.
    pub(crate) passed_on: u64,
    /// The driver was woken, and has not looked since.
    woken: bool,
}

/// The event that a future waits for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Queue {
    Readers(AssociationId),
    Writers(AssociationId),
    Watchers(AssociationId),
    Acceptors,
    Drainers,
    /// Until packets have come, or a timer has run.
    Activity,
}

impl Queue {
    fn reason(self) -> WaitReason {
        match self {
            Self::Readers(_) => WaitReason::Readable,
            Self::Writers(_) => WaitReason::Writable,
            Self::Watchers(_) | Self::Acceptors | Self::Drainers | Self::Activity => WaitReason::Other,
        }
    }
}

impl Shared {
    pub(crate) fn new(
        endpoint: anabranch_sctp::Endpoint,
        linger: std::time::Duration,
        ports: Option<Ports>,
    ) -> Arc<Self> {
        let linger = Duration::from_nanos(u64::try_from(linger.as_nanos()).unwrap_or(u64::MAX));
        let state = State {
            endpoint,
            slots: Vec::new(),
            asking: VecDeque::new(),
            acceptors: Waiters::default(),
            drainers: Waiters::default(),
            activity: Waiters::default(),
            drains: false,
            drained: false,
            ended: false,
            holders: 1,
            held: 0,
            forgotten: Vec::new(),
            told: None,
            totals: None,
            span: tracing::Span::none(),
            driver: None,
            passed_on: 0,
            woken: false,
        };
        Arc::new(Self { state: Mutex::new(state), clock: Clock::new(), linger, ports })
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        // The core does not panic; if a user's waker does, the state is whole all the same.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at something. Nothing is to be sent because of it.
    pub(crate) fn look<R>(&self, look: impl FnOnce(&mut State) -> R) -> R {
        look(&mut self.lock())
    }

    /// Does something after which there may be something to send, and wakes the driver if so.
    pub(crate) fn command<R>(&self, command: impl FnOnce(&mut State, Instant) -> R) -> R {
        let now = self.clock.now();
        let mut state = self.lock();
        let answer = command(&mut state, now);
        let waker = state.driver_to_wake();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
        answer
    }

    /// Waits in `queue` until `attempt` has an answer. It gets the clock, not the time: an attempt that only reads need
    /// not ask for the time, and there are some hundred thousand attempts a second.
    pub(crate) fn wait<R, F>(&self, queue: Queue, attempt: F) -> Wait<'_, F>
    where
        F: FnMut(&mut State, &Clock) -> Poll<R>,
    {
        Wait { shared: self, queue, number: None, attempt }
    }
}

impl State {
    pub(crate) fn slot(&mut self, id: AssociationId) -> Option<&mut Slot> {
        let slot = self.slots.get_mut(id.index() as usize)?.as_deref_mut();
        slot.filter(|slot| slot.id == id)
    }

    /// A new association with a handle.
    pub(crate) fn adopt(&mut self, id: AssociationId) {
        let index = id.index() as usize;
        if self.slots.len() <= index {
            self.slots.resize_with(index + 1, || None);
        }
        if let Some(slot) = self.slots.get_mut(index) {
            *slot = Some(Box::new(Slot::new(id)));
        }
        if !self.span.is_disabled() {
            let peer = self.peer(id);
            let span = spans::association(&self.span, peer);
            if let Some(slot) = self.slot(id) {
                slot.span = span;
            }
        }
        self.held += 1;
    }

    /// The last handle of an association is dropped: sent messages are delivered, and it ends. If received messages are unread, it is
    /// aborted, so that the peer does not take them for read.
    pub(crate) fn orphan(&mut self, now: Instant, id: AssociationId, linger: Duration) {
        self.held -= 1;
        let Some(slot) = self.slot(id) else { return };
        slot.orphan = true;
        slot.events = None;
        let (closed, up) = (slot.closed.is_some(), slot.up);
        if closed {
            self.forgotten.push(id);
            return;
        }
        let Some(mut association) = self.endpoint.association(id) else { return };
        if !up {
            association.abort(now, b"");
        } else if association.status().pending > 0 {
            association.abort(now, b"nobody reads");
        } else {
            association.shutdown_within(now, linger);
        }
    }

    /// Takes the core's events; tasks that are to look again are moved to `woken`.
    pub(crate) fn take_events(&mut self, now: Instant, woken: &mut Vec<Waker>) {
        while let Some((id, event)) = self.endpoint.poll_event() {
            let Some(slot) = self.slot(id) else { continue };
            slot.note(event.clone(), woken);
            if let Some(span) = &slot.span {
                spans::tell(span, &event);
            }
            if slot.orphan {
                self.orphan_hears(now, id, &event);
            }
            if self.told.is_some() {
                let peer = self.peer(id);
                if let Some(told) = &mut self.told {
                    told.push(TimedEvent { at: now, peer, event });
                }
            }
        }
        while let Some(event) = self.endpoint.poll_endpoint_event() {
            match event {
                EndpointEvent::Incoming(incoming) => {
                    self.asking.push_back(incoming);
                    self.acceptors.wake_all(woken);
                }
                EndpointEvent::IncomingWithdrawn { id, .. } => {
                    self.asking.retain(|incoming| incoming.id != id);
                }
                // The association's own event has told of them, and its handle is gone.
                EndpointEvent::ClosedForgotten { .. } => {}
                EndpointEvent::Drained => self.drains = true,
            }
        }
    }

    /// Whether tasks that wait for the end are to be woken, once the last packets have left.
    pub(crate) fn owes_drained(&self) -> bool {
        self.drains && !self.drained
    }

    /// Every association has ended, and the last packets (an ABORT, SHUTDOWN COMPLETE) are with the system: a program that has waited for
    /// this may end.
    pub(crate) fn tell_drained(&mut self, woken: &mut Vec<Waker>) {
        self.drained = true;
        self.drainers.wake_all(woken);
        self.acceptors.wake_all(woken);
    }

    fn orphan_hears(&mut self, now: Instant, id: AssociationId, event: &Event) {
        match event {
            Event::Readable { .. } => {
                if let Some(mut association) = self.endpoint.association(id) {
                    association.abort(now, b"nobody reads");
                }
            }
            Event::Closed(_) => self.forgotten.push(id),
            _ => {}
        }
    }

    /// Frees associations without a handle whose last packet has left.
    pub(crate) fn release_forgotten(&mut self) {
        if self.forgotten.is_empty() {
            return;
        }
        let forgotten = std::mem::take(&mut self.forgotten);
        for id in forgotten {
            let last = self.totals.as_ref().and_then(|_| self.endpoint.view(id).map(Association::snapshot));
            if !self.endpoint.release(id) && self.endpoint.view(id).is_some() {
                self.forgotten.push(id);
                continue;
            }
            if let (Some(totals), Some(last)) = (&mut self.totals, last) {
                totals.add(&last);
            }
            if self.slot(id).is_some() {
                if let Some(slot) = self.slots.get_mut(id.index() as usize) {
                    *slot = None;
                }
            }
        }
    }

    fn peer(&self, id: AssociationId) -> Option<SocketAddr> {
        self.endpoint.view(id).and_then(Association::remote)
    }

    /// Takes the core's trace records, with the peer of each; if `spans`, the spans of the associations get them, too.
    pub(crate) fn take_records(&mut self, spans: bool, records: &mut Vec<(TraceRecord, Option<SocketAddr>)>) {
        let first = records.len();
        records.extend(self.endpoint.drain_trace().map(|record| (record, None)));
        for (record, peer) in records.get_mut(first..).unwrap_or_default() {
            let slot = self.slots.get(record.association as usize).and_then(Option::as_deref);
            let Some(slot) = slot else { continue };
            *peer = self.peer(slot.id);
            if let (true, Some(span)) = (spans, &slot.span) {
                spans::record(span, record);
            }
        }
    }

    /// Adds the counts of the live associations in `range` of all slots. False when there are no more.
    pub(crate) fn add_counted(&self, range: Range<usize>, totals: &mut Totals) -> bool {
        let Some(slots) = self.slots.get(range.start..range.end.min(self.slots.len())) else { return false };
        for slot in slots.iter().flatten() {
            if let Some(association) = self.endpoint.view(slot.id) {
                totals.add(&association.snapshot());
            }
        }
        range.end < self.slots.len()
    }

    /// No handle and no association is left, so nothing is left to do.
    pub(crate) fn is_over(&self) -> bool {
        self.holders == 0 && self.held == 0 && self.endpoint.associations() == 0
    }

    /// The driver is here: it looks at everything, and will be woken with `waker`.
    pub(crate) fn driver_looks(&mut self, waker: &Waker) {
        self.woken = false;
        if !self.driver.as_ref().is_some_and(|known| known.will_wake(waker)) {
            self.driver = Some(waker.clone());
        }
    }

    /// The driver, if it has to be woken.
    pub(crate) fn driver_to_wake(&mut self) -> Option<Waker> {
        if self.woken {
            return None;
        }
        self.woken = true;
        self.driver.clone()
    }

    /// The driver has gone: wakes all waiting tasks.
    pub(crate) fn end(&mut self, woken: &mut Vec<Waker>) {
        self.ended = true;
        self.asking.clear();
        for slot in self.slots.iter_mut().flatten() {
            slot.closed.get_or_insert_with(|| Box::new(CloseReason::AbortedLocally));
            slot.waiters.wake_all(woken);
        }
        self.acceptors.wake_all(woken);
        self.drainers.wake_all(woken);
        self.activity.wake_all(woken);
    }

    fn waiters(&mut self, queue: Queue) -> Option<&mut Waiters> {
        match queue {
            Queue::Readers(id) | Queue::Writers(id) | Queue::Watchers(id) => {
                self.slot(id).map(|slot| &mut slot.waiters)
            }
            Queue::Acceptors => Some(&mut self.acceptors),
            Queue::Drainers => Some(&mut self.drainers),
            Queue::Activity => Some(&mut self.activity),
        }
    }
}

/// Tries again each time something has happened that it waits for. Dropped, it waits no more, and has done nothing.
#[must_use = "futures do nothing unless they are awaited"]
#[derive(Debug)]
pub(crate) struct Wait<'a, F> {
    shared: &'a Shared,
    queue: Queue,
    number: Option<u32>,
    attempt: F,
}

/// No field is pinned by its address.
impl<F> Unpin for Wait<'_, F> {}

impl<R, F> Future for Wait<'_, F>
where
    F: FnMut(&mut State, &Clock) -> Poll<R>,
{
    type Output = R;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<R> {
        // A loop that always finds room, or a message, would keep its thread for itself: then no timer of other tasks is on time.
        let budget = std::task::ready!(tokio::task::coop::poll_proceed(cx));
        let this = &mut *self;
        let mut state = this.shared.lock();
        let answer = (this.attempt)(&mut state, &this.shared.clock);
        match &answer {
            Poll::Ready(_) => {
                budget.made_progress();
                if let Some(number) = this.number.take() {
                    if let Some(waiters) = state.waiters(this.queue) {
                        waiters.remove(number);
                    }
                }
            }
            Poll::Pending => {
                let number = this.number;
                this.number = state
                    .waiters(this.queue)
                    .map(|waiters| waiters.wait(number, this.queue.reason(), cx.waker()));
            }
        }
        let waker = if state.endpoint.has_ready() { state.driver_to_wake() } else { None };
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
        answer
    }
}

impl<F> Drop for Wait<'_, F> {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            let mut state = self.shared.lock();
            if let Some(waiters) = state.waiters(self.queue) {
                waiters.remove(number);
            }
        }
    }
}
