//! The application, which follows the plan.

use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::stack::{Event, Outgoing, Stack};
use crate::{Ending, Plan, Report, Role, Tally, report};

/// Makes the messages of a plan: the number of the message in little-endian order, as far as it goes, then a pattern.
#[derive(Clone, Debug)]
pub struct Source {
    template: Vec<u8>,
    /// Without digests the contents do not matter: one message, sent again and again.
    same: Option<Bytes>,
}

impl Source {
    /// Messages of the plan's size.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        let template: Vec<u8> = (0..plan.size).map(|at| (at * 31 + 7) as u8).collect();
        let same = plan.no_digest.then(|| template.clone().into());
        Self { template, same }
    }

    /// The message of that number.
    #[must_use]
    pub fn message(&self, number: u64) -> Bytes {
        if let Some(same) = &self.same {
            return same.clone();
        }
        let mut message = self.template.clone();
        let digits = message.len().min(8);
        message[..digits].copy_from_slice(&number.to_le_bytes()[..digits]);
        message.into()
    }
}

/// Half of the messages before a reset, the rest behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reset {
    No,
    Wanted,
    Asked,
}

/// The application above one association at a time.
#[derive(Debug)]
pub struct App {
    plan: Plan,
    source: Source,
    sent: Tally,
    received: Tally,
    /// In this association.
    sent_here: u64,
    received_here: u64,
    up: Option<Instant>,
    ending: bool,
    reset: Reset,
    ended: u64,
    report: Report,
    first_up: Option<Instant>,
    last: Option<Instant>,
    cpu_at_start: u64,
}

impl App {
    /// An application of that stack.
    #[must_use]
    pub fn new(stack: &str, plan: Plan) -> Self {
        Self {
            source: Source::new(&plan),
            sent: Tally::new(plan.no_digest),
            received: Tally::new(plan.no_digest),
            sent_here: 0,
            received_here: 0,
            up: None,
            ending: false,
            reset: if plan.reset { Reset::Wanted } else { Reset::No },
            ended: 0,
            report: Report { stack: stack.into(), ..Report::default() },
            first_up: None,
            last: None,
            cpu_at_start: report::usage().0,
            plan,
        }
    }

    /// Whether all associations have ended.
    #[must_use]
    pub fn is_done(&self) -> bool {
        (self.plan.until_up && self.report.established > 0) || self.ended >= self.plan.associations
    }

    /// When it wants to be called even if nothing happens.
    #[must_use]
    pub fn due(&self) -> Option<Instant> {
        let until = self.up? + Duration::from_millis(self.plan.pause);
        (self.plan.pause > 0).then_some(until)
    }

    fn is_paused(&self, now: Instant) -> bool {
        self.plan.pause > 0 && self.due().is_some_and(|until| now < until)
    }

    /// Reads, handles events and sends. False when there was nothing to do.
    pub fn work(&mut self, now: Instant, stack: &mut dyn Stack) -> bool {
        let mut moved = false;
        // Received messages are read before the end is told: some stacks forget them then.
        moved |= self.read(now, stack);
        while let Some(event) = stack.event() {
            moved = true;
            self.last = Some(now);
            self.happened(now, event, stack);
            moved |= self.read(now, stack);
        }
        moved |= self.send(now, stack);
        self.end(now, stack);
        moved
    }

    fn read(&mut self, now: Instant, stack: &mut dyn Stack) -> bool {
        if self.is_paused(now) {
            return false;
        }
        let before = self.received.messages;
        while stack.read(&mut self.received) {}
        let news = self.received.messages - before;
        self.received_here += news;
        if news > 0 {
            self.last = Some(now);
        }
        news > 0
    }

    fn happened(&mut self, now: Instant, event: Event, stack: &mut dyn Stack) {
        match event {
            Event::Up => {
                self.report.established += 1;
                self.up = Some(now);
                self.first_up.get_or_insert(now);
                self.begin();
            }
            Event::Restarted => {
                self.report.restarts += 1;
                self.sent = Tally::new(self.plan.no_digest);
                self.received = Tally::new(self.plan.no_digest);
                self.received_here = 0;
                self.begin();
            }
            Event::ResetDone => {
                self.report.resets += 1;
                self.reset = Reset::No;
            }
            Event::PeerReset => self.report.resets += 1,
            Event::Graceful => {
                self.report.graceful += 1;
                self.over(now, stack);
            }
            Event::Aborted => {
                self.report.aborted += 1;
                self.over(now, stack);
            }
            Event::Lost(why) => {
                self.report.lost += 1;
                self.note(why);
                self.over(now, stack);
            }
            Event::Note(what) => self.note(what),
        }
    }

    fn note(&mut self, what: String) {
        if self.report.notes.len() < 20 {
            self.report.notes.push(what);
        }
    }

    /// Messages in the last packet of the handshake may have been read before the association is known to be up: they count.
    fn begin(&mut self) {
        (self.sent_here, self.ending) = (0, false);
        self.reset = if self.plan.reset { Reset::Wanted } else { Reset::No };
    }

    fn over(&mut self, now: Instant, stack: &mut dyn Stack) {
        // Messages that are unread at the end are read at once, without the pauses of the plan: no peer waits any more.
        self.up = None;
        self.read(now, stack);
        self.received_here = 0;
        self.ended += 1;
        if self.plan.role == Role::Connect && !self.is_done() {
            stack.open(now);
        }
    }

    fn send(&mut self, now: Instant, stack: &mut dyn Stack) -> bool {
        if self.up.is_none() || self.ending {
            return false;
        }
        let mut moved = false;
        while self.sent_here < self.plan.send {
            if self.sent_here * 2 >= self.plan.send && self.reset != Reset::No {
                if self.reset == Reset::Wanted {
                    self.reset = Reset::Asked;
                    stack.reset(now, self.plan.streams);
                    moved = true;
                }
                break;
            }
            let message = Outgoing {
                stream: (self.sent_here % u64::from(self.plan.streams)) as u16,
                unordered: self.plan.unordered,
                rtx: self.plan.rtx,
                payload: self.source.message(self.sent_here),
            };
            if stack.send(now, &message).is_err() {
                break;
            }
            self.sent.message(message.stream, &message.payload);
            self.sent_here += 1;
            self.last = Some(now);
            moved = true;
        }
        moved
    }

    fn end(&mut self, now: Instant, stack: &mut dyn Stack) {
        let done = self.sent_here >= self.plan.send && self.received_here >= self.plan.expect;
        if self.up.is_none() || self.ending || !done || self.plan.end == Ending::Wait {
            return;
        }
        let waits = self.plan.end == Ending::Shutdown && !self.plan.at_once;
        if waits && !stack.is_flushed() {
            return;
        }
        self.ending = true;
        match self.plan.end {
            Ending::Shutdown => stack.shutdown(now),
            Ending::Abort => stack.abort(now),
            Ending::Wait => {}
        }
    }

    /// The report, with all counts.
    #[must_use]
    pub fn report(mut self, deadline: bool) -> Report {
        let (cpu, rss) = report::usage();
        self.report.deadline = deadline;
        self.report.sent = self.sent.count();
        self.report.received = self.received.count();
        self.report.cpu_ns = cpu - self.cpu_at_start;
        self.report.max_rss_kib = rss;
        if let (Some(first), Some(last)) = (self.first_up, self.last) {
            self.report.elapsed_ns = last.duration_since(first).as_nanos() as u64;
        }
        self.report
    }
}
