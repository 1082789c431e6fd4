//! Two ends, a link each way, and virtual time.

use std::net::SocketAddr;
use std::time::Duration as Span;

use anabranch_base::{Duration, Instant};
use anabranch_link::{Frame, Link};
use bytes::Bytes;
use peer::{Event, Outgoing, Plan, Stack, Tally};
use serde::Serialize;

use crate::row::{Row, SECONDS};

/// IPv4 and UDP headers, bytes.
const HEADERS: u32 = 28;
/// User data of a message, bytes.
pub const MESSAGE: usize = 16_384;
/// A transfer that takes longer has not ended, seconds.
const PATIENCE: f64 = 120.0;
/// A timer that says again and again that it is due is asked no sooner than after this, ns.
const TICK: u64 = 10_000;

/// The results of one run.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Run {
    /// Payload that the receiver's application had, Mbit/s over the whole time.
    pub goodput: f64,
    /// Time until everything was there, s, where so many bytes were to be sent; nothing: it did not end.
    pub seconds: Option<f64>,
    /// Waiting time at the bottleneck, the mean over time, ms.
    pub queue: f64,
    /// Packets that the queue dropped.
    pub drops: u64,
}

struct End {
    stack: Box<dyn Stack>,
    address: SocketAddr,
    link: Link,
    /// A timer that was run is not run again before.
    not_before: u64,
}

/// Two ends of one stack, and the path between them.
pub struct Network {
    row: Row,
    epoch: std::time::Instant,
    ends: [End; 2],
    message: Outgoing,
    up: bool,
    sent: u64,
    tally: Tally,
}

impl Network {
    /// `ends`: the side that connects and sends, and the one that listens; each as the plan of the same index says.
    #[must_use]
    pub fn new(row: Row, seed: u64, plans: &[Plan; 2], ends: [Box<dyn Stack>; 2]) -> Self {
        let [sender, receiver] = ends;
        let end = |stack, plan: &Plan, data| End {
            stack,
            address: plan.local,
            link: row.link(seed, data),
            not_before: 0,
        };
        Self {
            row,
            epoch: plans[0].epoch,
            ends: [end(sender, &plans[0], true), end(receiver, &plans[1], false)],
            message: Outgoing {
                stream: 0,
                unordered: false,
                rtx: None,
                payload: Bytes::from(vec![7; MESSAGE]),
            },
            up: false,
            sent: 0,
            tally: Tally::new(true),
        }
    }

    /// Runs from `start` on, ns.
    #[must_use]
    pub fn run(mut self, start: u64) -> Run {
        let limit = if self.row.bytes.is_some() { PATIENCE } else { SECONDS };
        let end = start + (limit * 1e9) as u64;
        let mut now = start;
        self.ends[0].stack.open(self.real(now));
        self.turn(0, now);
        let mut done = None;
        while let Some(next) = self.next(now).filter(|&next| next <= end) {
            now = next;
            for from in 0..2 {
                let to = 1 - from;
                while self.ends[from].link.poll_timeout().is_some_and(|at| at.as_nanos() <= now) {
                    let at = Instant::from_nanos(now);
                    let Some(frame) = self.ends[from].link.poll_delivery(at) else { break };
                    let source = self.ends[from].address;
                    let real = self.real(now);
                    self.ends[to].stack.receive(real, source, &frame.bytes);
                    self.turn(to, now);
                }
            }
            for one in 0..2 {
                let real = self.real(now);
                let end = &mut self.ends[one];
                if end.not_before <= now && end.stack.due().is_some_and(|due| due <= real) {
                    end.not_before = now + TICK;
                    end.stack.timeout(real);
                    self.turn(one, now);
                }
            }
            if self.row.bytes.is_some_and(|bytes| self.tally.bytes >= bytes) {
                done = Some((now - start) as f64 / 1e9);
                break;
            }
        }
        let time = if done.is_some() { now } else { end };
        let stats = self.ends[0].link.stats(Instant::from_nanos(time));
        let mean = stats.sent_bytes as f64 / stats.sent.max(1) as f64;
        Run {
            goodput: self.tally.bytes as f64 * 8.0 / ((time - start) as f64 / 1e9) / 1e6,
            seconds: done,
            queue: stats.queue_mean * mean * 8.0 / self.row.rate as f64 * 1e3,
            drops: stats.drops_queue,
        }
    }

    fn real(&self, now: u64) -> std::time::Instant {
        self.epoch + Span::from_nanos(now)
    }

    /// When something happens next, ns.
    fn next(&mut self, now: u64) -> Option<u64> {
        let epoch = self.epoch;
        self.ends
            .iter_mut()
            .flat_map(|end| {
                let timer = end.stack.due().map(|due| {
                    let due = due.saturating_duration_since(epoch).as_nanos() as u64;
                    due.max(end.not_before).max(now)
                });
                [timer, end.link.poll_timeout().map(Instant::as_nanos)]
            })
            .flatten()
            .min()
    }

    /// Runs the application of an end, and takes the packets that its stack sends.
    fn turn(&mut self, one: usize, now: u64) {
        let real = self.real(now);
        while let Some(event) = self.ends[one].stack.event() {
            self.up |= one == 0 && event == Event::Up;
        }
        let end = &mut self.ends[one];
        if one == 1 {
            while end.stack.read(&mut self.tally) {}
        } else if self.up {
            while self.row.bytes.is_none_or(|bytes| self.sent < bytes)
                && end.stack.send(real, &self.message).is_ok()
            {
                self.sent += MESSAGE as u64;
            }
        }
        let link = &mut end.link;
        end.stack.transmit(real, &mut |packet| {
            let size = packet.bytes.len() as u32 + HEADERS;
            link.handle_frame(
                Instant::from_nanos(now),
                Frame { bytes: packet.bytes.to_vec(), size, data: one == 0, ..Frame::default() },
            );
        });
        while link.poll_dropped().is_some() {}
    }
}

/// A round-trip time as the links have it.
#[must_use]
pub fn rtt(row: &Row) -> Duration {
    Duration::from_millis(row.rtt)
}
