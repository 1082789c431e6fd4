//! One numbering of data in one direction: transmissions, retransmissions with their reasons, acknowledgements.
//!
//! TCP has one for its bytes, SCTP one for its TSNs, and every subflow one of its own. Numbers are counted on from the
//! wrap, relative to the first that was seen. Transmissions and acknowledgements are taken in the order of the capture,
//! so a reason is one that can be known at the place of the capture.

use std::collections::BTreeMap;

use anabranch_transport::ranges::RangeSet;
use serde::Serialize;

/// The reason for a retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// Three duplicate acknowledgements, or three reports of something later: RFC 5681 section 3.2, RFC 9260
    /// section 7.2.4.
    FastRetransmit,
    /// During such a recovery: the next hole, told by a partial acknowledgement or by SACK.
    Recovery,
    /// One or two reports were enough: early retransmit (RFC 5827) or a reordering timer (RFC 8985).
    Early,
    /// The timer ran out: the earliest outstanding data, after a silence.
    Timeout,
    /// After a timeout: other data that was outstanding then.
    AfterTimeout,
    /// The last data again, sooner than a timeout: a tail loss probe (RFC 8985 section 7).
    TailProbe,
    /// One byte into a closed window.
    WindowProbe,
    /// One byte that was acknowledged, to see whether the peer is there.
    KeepAlive,
    /// The data had been acknowledged before.
    Unneeded,
    /// Below the highest number sent before, but seen for the first time: reordered, or the original was lost before the place
    /// of the capture.
    OriginalNotSeen,
    /// Sooner than any known timer, and nothing in the capture explains it.
    EarlyNotExplained,
    /// Nothing in the capture says why.
    Unknown,
}

/// The evidence that a retransmission was spurious: the original had arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    /// The data had been acknowledged before it was sent again.
    AcknowledgedBefore,
    /// The receiver reported a duplicate: D-SACK (RFC 2883), or a duplicate TSN in a SACK.
    DuplicateReported,
    /// The acknowledgement echoes a time stamp older than the retransmission (RFC 3522).
    TimestampEcho,
    /// The acknowledgement came within half the smallest round trip.
    TooSoon,
}

/// Data sent again.
#[derive(Clone, Debug)]
pub(crate) struct Again {
    pub(crate) frame: u64,
    pub(crate) time_ns: i64,
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) bytes: u32,
    pub(crate) reason: Reason,
    pub(crate) spurious: Option<Evidence>,
    /// How often it had been sent before.
    pub(crate) before: u32,
    /// Since it was sent the last time.
    pub(crate) after_ns: Option<i64>,
    /// Time stamp option of the segment.
    stamp: Option<u32>,
}

/// Data seen, for plots.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) time_ns: i64,
    pub(crate) start: i64,
    pub(crate) end: i64,
    /// Index into [`Space::again`].
    pub(crate) again: Option<usize>,
}

/// An acknowledgement seen, for plots.
#[derive(Clone, Debug)]
pub(crate) struct Acked {
    pub(crate) time_ns: i64,
    pub(crate) next: i64,
    /// Bytes that the receiver has room for.
    pub(crate) window: u64,
    pub(crate) blocks: Vec<(i64, i64)>,
}

/// An acknowledgement, in the numbers of the space.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ack {
    pub(crate) time_ns: i64,
    /// Which stretch of time it belongs to.
    pub(crate) stretch: u32,
    /// The number expected next.
    pub(crate) next: i64,
    /// Received out of order, half-open.
    pub(crate) blocks: Vec<(i64, i64)>,
    /// Reported as received twice, half-open.
    pub(crate) twice: Vec<(i64, i64)>,
    pub(crate) window: u64,
    /// Carries data or changes the window, so it is no duplicate.
    pub(crate) more: bool,
    /// The time stamp it echoes.
    pub(crate) echo: Option<u32>,
}

/// Data on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outgoing {
    pub(crate) frame: u64,
    pub(crate) time_ns: i64,
    /// Which stretch of time it belongs to.
    pub(crate) stretch: u32,
    pub(crate) start: i64,
    pub(crate) end: i64,
    /// User bytes in it.
    pub(crate) bytes: u32,
    pub(crate) stamp: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    end: i64,
    bytes: u32,
    sent: u32,
    last_ns: i64,
    stretch: u32,
    /// [`Space::reports`] when it was last sent.
    reports: u64,
    /// Index into [`Space::again`] of its last retransmission.
    again: Option<usize>,
}

/// Round-trip times as data and acknowledgements show them (RFC 6298, Karn's rule).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rtt {
    pub(crate) samples: u64,
    pub(crate) sum_ns: i128,
    pub(crate) min_ns: i64,
    pub(crate) max_ns: i64,
    smoothed_ns: i64,
    variation_ns: i64,
}

impl Rtt {
    fn sample(&mut self, rtt: i64) {
        if rtt < 0 {
            return;
        }
        if self.samples == 0 {
            (self.min_ns, self.max_ns) = (rtt, rtt);
            (self.smoothed_ns, self.variation_ns) = (rtt, rtt / 2);
        } else {
            self.min_ns = self.min_ns.min(rtt);
            self.max_ns = self.max_ns.max(rtt);
            self.variation_ns += (self.smoothed_ns.abs_diff(rtt) as i64 - self.variation_ns) / 4;
            self.smoothed_ns += (rtt - self.smoothed_ns) / 8;
        }
        self.samples += 1;
        self.sum_ns += i128::from(rtt);
    }

    /// A timer cannot have run out much sooner than this.
    fn timeout_ns(&self, least: i64) -> i64 {
        if self.samples == 0 {
            // "Until a round-trip time measurement has been made ... the sender SHOULD set RTO <- 1 second".
            return 1_000_000_000;
        }
        least.max(self.smoothed_ns.saturating_add(self.variation_ns.saturating_mul(4)))
    }
}

/// A numbering, its data and its acknowledgements.
#[derive(Clone, Debug)]
pub(crate) struct Space {
    /// The first number that was seen, as it stands on the wire.
    pub(crate) base: u32,
    bits: u32,
    /// No retransmission timer is shorter.
    least_timeout_ns: i64,
    pieces: BTreeMap<i64, Piece>,
    /// Behind the highest number sent.
    pub(crate) highest: i64,
    /// Expected next by the receiver; `None` before the first acknowledgement.
    pub(crate) next: Option<i64>,
    sacked: RangeSet<i64>,
    /// Acknowledgements that told of something new above a hole.
    reports: u64,
    duplicates: u32,
    window: Option<u64>,
    last_ack_ns: i64,
    last_sent_ns: i64,
    /// The retransmission timer was started, as far as can be seen.
    timer_ns: i64,
    recovery: Option<i64>,
    timeout: Option<(i64, i64)>,
    pub(crate) rtt: Rtt,
    pub(crate) sent: Vec<Sent>,
    pub(crate) acked: Vec<Acked>,
    pub(crate) again: Vec<Again>,
    pub(crate) duplicate_acks: u64,
}

impl Space {
    /// A numbering of so many bits whose first number is `base`.
    pub(crate) fn new(base: u32, bits: u32, least_timeout_ns: i64) -> Self {
        Self {
            base,
            bits,
            least_timeout_ns,
            pieces: BTreeMap::new(),
            highest: 0,
            next: None,
            sacked: RangeSet::default(),
            reports: 0,
            duplicates: 0,
            window: None,
            last_ack_ns: i64::MIN,
            last_sent_ns: i64::MIN,
            timer_ns: i64::MIN,
            recovery: None,
            timeout: None,
            rtt: Rtt::default(),
            sent: Vec::new(),
            acked: Vec::new(),
            again: Vec::new(),
            duplicate_acks: 0,
        }
    }

    /// A number of the wire, counted on from the base: the one that is nearest to the highest number sent.
    pub(crate) fn widen(&self, number: u32) -> i64 {
        let near = self.base.wrapping_add(self.highest as u32);
        let shift = 32 - self.bits;
        let distance = (number.wrapping_sub(near) << shift) as i32 >> shift;
        self.highest + i64::from(distance)
    }

    /// The number as it stands on the wire.
    pub(crate) fn narrow(&self, number: i64) -> u32 {
        let wire = self.base.wrapping_add(number as u32);
        if self.bits == 32 { wire } else { wire & ((1 << self.bits) - 1) }
    }

    fn next(&self) -> i64 {
        self.next.unwrap_or_else(|| self.pieces.keys().next().copied().unwrap_or(0))
    }

    /// Takes sent data; returns how many bytes of it had been sent before.
    pub(crate) fn send(&mut self, out: Outgoing) -> u32 {
        if out.start >= out.end {
            return 0;
        }
        if out.end > self.highest && out.start < self.highest {
            // In part new, as when a sender makes larger segments of old and new data.
            let old = (self.highest - out.start) as u32;
            let old_bytes = out.bytes.min(old);
            let middle = self.highest;
            let again = self.send(Outgoing { end: middle, bytes: old_bytes, ..out });
            self.send(Outgoing { start: middle, bytes: out.bytes - old_bytes, ..out });
            return again;
        }
        let fresh = out.start >= self.highest;
        let mut again = None;
        if fresh {
            self.highest = out.end;
            if self.pieces.is_empty() || self.next.is_some_and(|next| next == out.start) {
                self.timer_ns = out.time_ns;
            }
        } else {
            again = Some(self.again.len());
            let reason = self.reason(&out);
            let (before, last) = self.overlap(&out);
            let spurious = (reason == Reason::Unneeded).then_some(Evidence::AcknowledgedBefore);
            self.again.push(Again {
                frame: out.frame,
                time_ns: out.time_ns,
                start: out.start,
                end: out.end,
                bytes: out.bytes,
                reason,
                spurious,
                before,
                after_ns: last.map(|last| out.time_ns.saturating_sub(last)).filter(|&after| after >= 0),
                stamp: out.stamp,
            });
            match reason {
                Reason::FastRetransmit | Reason::Early => self.recovery = Some(self.highest),
                Reason::Timeout => {
                    self.timeout = Some((self.highest, out.time_ns));
                    self.recovery = None;
                    self.duplicates = 0;
                }
                _ => {}
            }
            if out.start <= self.next() {
                self.timer_ns = out.time_ns;
            }
        }
        self.sent.push(Sent { time_ns: out.time_ns, start: out.start, end: out.end, again });
        self.last_sent_ns = out.time_ns;
        let reports = self.reports;
        let mut covered = RangeSet::default();
        if let Some((&start, piece)) = self.pieces.range(..out.start).next_back() {
            if piece.end > out.start {
                covered.insert_range(start, piece.end, |_, _| {});
            }
        }
        for (&start, piece) in self.pieces.range(out.start..out.end) {
            covered.insert_range(start, piece.end, |_, _| {});
        }
        let seen_before = covered.covers(out.start, out.end);
        let from = self.pieces.range(..=out.start).next_back().map_or(out.start, |(&start, _)| start);
        for (_, piece) in self.pieces.range_mut(from..out.end) {
            if piece.end > out.start {
                piece.sent = piece.sent.saturating_add(1);
                piece.last_ns = out.time_ns;
                piece.stretch = out.stretch;
                piece.reports = reports;
                piece.again = again;
            }
        }
        if !seen_before {
            let (last_ns, stretch) = (out.time_ns, out.stretch);
            let piece = Piece { end: out.end, bytes: out.bytes, sent: 1, last_ns, stretch, reports, again };
            // A hole is filled; a piece that begins at the same number and has another end stays as it is.
            self.pieces.entry(out.start).or_insert(piece);
        }
        if again.is_some() && seen_before { out.bytes } else { 0 }
    }

    /// How often the beginning of this had been sent before, and when last.
    fn overlap(&self, out: &Outgoing) -> (u32, Option<i64>) {
        let piece = self.piece(out.start, out.end);
        let same = piece.filter(|piece| piece.stretch == out.stretch);
        (piece.map_or(0, |piece| piece.sent), same.map(|piece| piece.last_ns))
    }

    fn piece(&self, start: i64, end: i64) -> Option<&Piece> {
        let before = self.pieces.range(..=start).next_back().filter(|(_, piece)| piece.end > start);
        before.or_else(|| self.pieces.range(start..end).next()).map(|(_, piece)| piece)
    }

    /// Why is this sent again, as far as can be known at its time?
    fn reason(&self, out: &Outgoing) -> Reason {
        let Some(piece) = self.piece(out.start, out.end) else { return Reason::OriginalNotSeen };
        let next = self.next();
        let acknowledged = self.next.is_some() && out.end <= next || self.sacked.covers(out.start, out.end);
        if acknowledged {
            let keep_alive = out.bytes == 1 && out.end == next && next == self.highest;
            return if keep_alive { Reason::KeepAlive } else { Reason::Unneeded };
        }
        let first = out.start <= next;
        if first && self.window == Some(0) && out.bytes <= 1 {
            return Reason::WindowProbe;
        }
        let now = out.time_ns;
        let timeout_ns = self.least_wait_ns();
        // Across a clock that went back nothing is measured.
        let measured = piece.stretch == out.stretch;
        let waited = if measured { now.saturating_sub(self.timer_ns.max(piece.last_ns)) } else { 0 };
        let silence = now.saturating_sub(self.last_ack_ns.max(self.last_sent_ns));
        let ran_out = first && waited >= timeout_ns && silence > 0;
        let below = self.sacked.end().is_some_and(|highest| highest > out.start);
        let reports = if below { self.reports - piece.reports } else { 0 };
        let duplicates = if first { u64::from(self.duplicates) } else { 0 };
        let told = reports.max(duplicates);
        if let Some((until, at)) = self.timeout {
            if out.start < until && piece.last_ns < at {
                return Reason::AfterTimeout;
            }
        }
        if ran_out && silence >= timeout_ns {
            return Reason::Timeout;
        }
        // Missing in three reports. After a first retransmission only later reports count.
        if told >= 3 {
            return Reason::FastRetransmit;
        }
        if self.recovery.is_some_and(|until| out.start < until) && (first || below) && piece.sent == 1 {
            return Reason::Recovery;
        }
        if ran_out {
            return Reason::Timeout;
        }
        if told >= 1 {
            return Reason::Early;
        }
        // RFC 8985, section 7.2: a probe follows two round trips after the last data or acknowledgement, or when a timer would run out.
        let last = out.end == self.highest && piece.sent == 1 && self.timeout.is_none();
        let quiet = now.saturating_sub(self.last_ack_ns.max(self.last_sent_ns));
        let probe_ns = self.rtt.smoothed_ns.saturating_mul(2).min(timeout_ns) / 10 * 9;
        if last && self.rtt.samples > 0 && quiet >= probe_ns {
            return Reason::TailProbe;
        }
        if measured && waited < timeout_ns { Reason::EarlyNotExplained } else { Reason::Unknown }
    }

    /// How long a retransmission timer runs at least. Timers have a tick, and the estimate is ours.
    pub(crate) fn least_wait_ns(&self) -> i64 {
        self.rtt.timeout_ns(self.least_timeout_ns) / 10 * 9
    }

    /// Notes that `start..end` has arrived; the parts of it that are news, in order.
    fn newly_sacked(&mut self, start: i64, end: i64) -> Vec<(i64, i64)> {
        let mut fresh = Vec::new();
        self.sacked.insert_range(start, end, |start, end| fresh.push((start, end)));
        fresh
    }

    /// Takes an acknowledgement.
    pub(crate) fn acknowledge(&mut self, ack: Ack) {
        let before = self.next;
        let old = self.next();
        let advanced = ack.next > old || before.is_none();
        // From before the capture, or nonsense.
        if ack.next > self.highest || ack.next < old.min(0) {
            self.window = Some(ack.window);
            return;
        }
        for &(start, end) in &ack.twice {
            self.spurious(start, end, Evidence::DuplicateReported);
        }
        let mut told = false;
        for &(start, end) in &ack.blocks {
            let end = end.min(self.highest);
            for (start, end) in self.newly_sacked(start.max(ack.next), end) {
                told = true;
                self.arrived(start, end, &ack);
            }
        }
        self.reports += u64::from(told);
        if ack.next > old {
            for (start, end) in self.newly_sacked(old, ack.next) {
                self.arrived(start, end, &ack);
            }
            self.measure(old, &ack);
            self.next = Some(ack.next);
            self.timer_ns = ack.time_ns;
            self.duplicates = 0;
            self.recovery = self.recovery.filter(|&until| ack.next < until);
            self.timeout = self.timeout.filter(|&(until, _)| ack.next < until);
        } else if ack.next == old {
            self.next = Some(ack.next);
            let closed = self.window == Some(0) || ack.window == 0;
            if !advanced && !ack.more && self.highest > ack.next && !closed {
                self.duplicates = self.duplicates.saturating_add(1);
                self.duplicate_acks += 1;
            }
        }
        self.window = Some(ack.window);
        self.last_ack_ns = ack.time_ns;
        self.acked.push(Acked {
            time_ns: ack.time_ns,
            next: ack.next.max(old),
            window: ack.window,
            blocks: ack.blocks,
        });
    }

    /// Data was reported as received for the first time: was the original enough?
    fn arrived(&mut self, start: i64, end: i64, ack: &Ack) {
        let least = self.rtt.min_ns / 2;
        let known = self.rtt.samples > 0;
        let found: Vec<(usize, i64)> = self
            .pieces
            .range(start..end)
            .filter(|(_, piece)| piece.sent > 1 && piece.end <= end)
            .filter_map(|(_, piece)| Some((piece.again?, piece.last_ns)))
            .collect();
        for (again, last_ns) in found {
            let Some(again) = self.again.get_mut(again).filter(|again| again.spurious.is_none()) else {
                continue;
            };
            let older = match (ack.echo, again.stamp) {
                (Some(echo), Some(stamp)) => (echo.wrapping_sub(stamp) as i32) < 0,
                _ => false,
            };
            // An acknowledgement of more than this data echoes the stamp of the segment that filled the hole.
            if older && ack.next > again.start && again.start >= start {
                again.spurious = Some(Evidence::TimestampEcho);
            } else if known && ack.time_ns >= last_ns && ack.time_ns.saturating_sub(last_ns) < least {
                again.spurious = Some(Evidence::TooSoon);
            }
        }
    }

    /// Karn's rule: measures the last newly acknowledged data, if it was sent once.
    fn measure(&mut self, old: i64, ack: &Ack) {
        let last = self.pieces.range(old..ack.next).next_back();
        if let Some((_, piece)) = last.filter(|(_, piece)| piece.sent == 1 && piece.end <= ack.next) {
            // Data that waited behind a hole gives no round-trip time.
            let hole = self.pieces.range(old..ack.next).any(|(_, piece)| piece.sent > 1);
            if !hole && piece.stretch == ack.stretch {
                self.rtt.sample(ack.time_ns.saturating_sub(piece.last_ns));
            }
        }
    }

    fn spurious(&mut self, start: i64, end: i64, evidence: Evidence) {
        // A block from the network may be the wrong way round.
        if start >= end {
            return;
        }
        let found: Vec<usize> = self.pieces.range(start..end).filter_map(|(_, piece)| piece.again).collect();
        for again in found {
            if let Some(again) = self.again.get_mut(again) {
                again.spurious.get_or_insert(evidence);
            }
        }
    }

    /// User bytes in front of each number: they turn TSNs into bytes. Sorted pairs of number and bytes.
    pub(crate) fn offsets(&self) -> Vec<(i64, u64)> {
        let mut offsets = Vec::with_capacity(self.pieces.len() + 1);
        let mut bytes = 0;
        for (&start, piece) in &self.pieces {
            offsets.push((start, bytes));
            bytes += u64::from(piece.bytes);
        }
        offsets.push((self.highest, bytes));
        offsets
    }
}
