//! The profile `modern` where a network or a peer means no good: no collapse below what the rules of RFC 9260 reach, no burst above the
//! pacer's, nothing that panics.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use crate::common;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use anabranch_base::{Duration, Instant, Rng};
use anabranch_sctp::{AssociationId, Config, Endpoint, EndpointConfig, Message, State, Stats, SubflowLevel};
use anabranch_wire::Tsn;
use anabranch_wire::chunk::sack;
use common::script::Script;
use common::{Logged, PORT, Pair, Side, address, subflow_config};

const MESSAGE: usize = 1400;

fn modern() -> Config {
    Config::named("modern").unwrap()
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A user at A who always has something to send.
struct Greedy {
    pair: Pair,
    id: AssociationId,
    /// Bytes that wait.
    waits: usize,
}

/// A link of `rate` bit/s and `delay` each way from now on, before which `queue` bytes may wait; `lost`: what it loses besides.
fn bottleneck(
    pair: &mut Pair,
    rate: u64,
    delay: Duration,
    queue: u64,
    mut lost: impl FnMut(&Logged) -> bool + 'static,
) {
    let free = Rc::new([Cell::new(Instant::ZERO), Cell::new(Instant::ZERO)]);
    let of_delay = Rc::clone(&free);
    pair.drop_if(move |p| {
        let waits = free[p.from as usize].get().saturating_since(p.at).as_nanos() / 1000 * rate / 8_000_000;
        waits > queue || lost(p)
    });
    pair.delay_by(move |p| {
        let free = &of_delay[p.from as usize];
        let bits = 8 * (p.bytes.len() as u64 + 20);
        let sent = free.get().max(p.at) + Duration::from_nanos(bits * 1_000_000_000 / rate);
        free.set(sent);
        sent + delay - p.at
    });
}

/// Of the link there is before anything happens: a round trip.
const QUEUE: u64 = 25_000;
const RATE: u64 = 5_000_000;

impl Greedy {
    /// Over a link of so many bit/s and a delay each way.
    fn new(config: &Config, rate: u64, delay: Duration) -> Self {
        let (mut pair, id, _) = Pair::established(3, config);
        bottleneck(&mut pair, rate, delay, QUEUE, |_| false);
        Self { pair, id, waits: (config.limits.send_buffer - 10 * MESSAGE).min(50 * MESSAGE) }
    }

    fn stats(&self) -> Stats {
        self.pair.a.view(self.id).unwrap().stats()
    }

    fn run(&mut self, time: Duration) {
        let end = self.pair.now + time;
        while self.pair.now < end {
            while self.pair.a.view(self.id).is_some_and(|a| a.status().queued_bytes < self.waits) {
                self.pair.send(Side::A, self.id, 0, &[1; MESSAGE]);
            }
            self.pair.run_for(ms(20).min(end - self.pair.now));
        }
        let z = self.pair.id_of(Side::Z);
        self.pair.z.view(z).unwrap().audit().unwrap();
        self.pair.a.view(self.id).unwrap().audit().unwrap();
    }

    /// MB that Z has.
    fn delivered(&self) -> f64 {
        (self.pair.received.len() * MESSAGE) as f64 / 1e6
    }

    /// Most packets with data that left at one instant.
    fn burst(&self) -> usize {
        let mut times: Vec<_> =
            self.pair.log.iter().filter(|p| p.from == Side::A && p.has("DATA")).map(|p| p.at).collect();
        times.sort_unstable();
        times.chunk_by(|a, b| a == b).map(<[_]>::len).max().unwrap_or(0)
    }
}

/// Data delivered with `modern` and with the rules of RFC 9260, MB, when `harm` comes after three seconds.
fn both(seconds: u64, harm: impl Fn(&mut Pair)) -> (f64, f64, Greedy) {
    against_reno(&modern(), seconds, harm)
}

/// The same with another configuration than that of `modern`.
fn against_reno(ours: &Config, seconds: u64, harm: impl Fn(&mut Pair)) -> (f64, f64, Greedy) {
    let (reno, _) = harmed(&Config::rfc9260(), seconds, &harm);
    let (ours, life) = harmed(ours, seconds, &harm);
    (ours, reno, life)
}

/// Data delivered with one configuration, MB, in so many seconds after `harm`.
fn harmed(config: &Config, seconds: u64, harm: impl Fn(&mut Pair)) -> (f64, Greedy) {
    let mut life = Greedy::new(config, RATE, ms(20));
    life.run(Duration::from_secs(3));
    life.pair.log.clear();
    harm(&mut life.pair);
    let before = life.delivered();
    life.run(Duration::from_secs(seconds));
    (life.delivered() - before, life)
}

/// More than a millisecond of the rate at twice the gain, and the bucket, never leaves at once.
const MOST_AT_ONCE: usize = 16;

/// Fifty packets in two minutes: which of them is the last to arrive in time is chance, so it is asked of ten rates together.
fn about_a_thousandth_of_the_rate(config: &Config) {
    let (mut ours, mut reno) = (0.0, 0.0);
    for part in [600, 700, 800, 900, 1000, 1100, 1200, 1300, 1500, 1700] {
        let harm = |pair: &mut Pair| bottleneck(pair, RATE / part, ms(20), QUEUE, |_| false);
        let (mine, its, life) = against_reno(config, 120, harm);
        (ours, reno) = (ours + mine, reno + its);
        assert!(life.burst() <= MOST_AT_ONCE, "a rate {part} times lower: {}", life.burst());
        let state = life.pair.a.view(life.id).unwrap().status().state;
        assert_eq!(state, State::Established, "a rate {part} times lower");
        assert!(mine >= 0.75 * its, "a rate {part} times lower: {mine} MB, Reno {its}");
    }
    assert!(ours >= 0.9 * reno, "{ours} MB, Reno {reno}");
}

#[test]
fn a_rate_that_falls_a_thousandfold() {
    about_a_thousandth_of_the_rate(&modern());
}

#[test]
fn a_round_trip_that_jumps_by_ten_seconds() {
    let (ours, reno, life) = both(90, |pair| {
        bottleneck(pair, RATE, Duration::from_secs(5), QUEUE, |_| false);
    });
    assert!(ours >= 0.9 * reno, "{ours} MB, Reno {reno}");
    assert!(life.burst() <= MOST_AT_ONCE, "{}", life.burst());
    // And back.
    let (ours, reno, _) = both(60, |pair| {
        let start = pair.now;
        pair.delay_by(
            move |p| if p.at < start + Duration::from_secs(5) { Duration::from_secs(5) } else { ms(20) },
        );
    });
    assert!(ours >= 0.9 * reno, "{ours} MB, Reno {reno}");
}

/// An end that only receives measures no round trip by data: HEARTBEATs tell that it has grown, and the window
/// follows. The yardstick is a window that is large enough from the start; and there are no more HEARTBEATs than one
/// a second.
#[test]
fn a_receive_window_follows_a_round_trip_that_grows() {
    let of = |receive_window, max_receive_window| {
        let config = modern().with(|c| {
            (c.limits.receive_window, c.limits.max_receive_window) = (receive_window, max_receive_window);
        });
        let longer = |pair: &mut Pair| bottleneck(pair, RATE, ms(320), 400_000, |_| false);
        let (delivered, life) = harmed(&config, 60, longer);
        let asked = life.pair.log.iter().filter(|p| p.from == Side::Z && p.has("HEARTBEAT")).count();
        (delivered, asked)
    };
    let ((fixed, _), (grows, asked)) = (of(1_000_000, 0), of(50_000, 1_000_000));
    assert!(grows >= 0.85 * fixed, "{grows} MB, with a window of 1 MB from the start {fixed}");
    assert!((5..=62).contains(&asked), "{asked} HEARTBEATs");
    // A window that does not grow has no use for it.
    assert!(of(50_000, 0).1 <= 3, "HEARTBEAT.Interval");
}

/// Also beside RACK with a window that is cut at once: in proportion, four packets are one when a retransmission is lost, too.
#[test]
fn twenty_and_forty_percent_of_all_packets_lost() {
    // Ten timeouts in a row are no end of it.
    let patient = |config: Config| {
        config.with(|c| (c.limits.association_max_retrans, c.limits.path_max_retrans) = (1000, 1000))
    };
    for percent in [20, 40] {
        let of = |config: Config| -> f64 {
            let of_seed = |seed| {
                let (delivered, life) = harmed(&patient(config.clone()), 100, |pair| {
                    let mut dice = Rng::stream(seed, "loss", "rate");
                    bottleneck(pair, RATE, ms(20), QUEUE, move |_| dice.below(100) < percent);
                });
                assert!(life.burst() <= MOST_AT_ONCE, "{}", life.burst());
                delivered
            };
            (1..=6).map(of_seed).sum()
        };
        let (ours, reno, rack) = (of(modern()), of(Config::rfc9260()), of(Config::rfc9260_rack()));
        assert!(ours >= 0.9 * reno.max(rack), "{percent} %: {ours} MB, Reno {reno}, with RACK {rack}");
    }
}

#[test]
fn a_clock_that_steps() {
    for step in [ms(300), Duration::from_secs(3600), Duration::from_secs(4_000_000)] {
        let (ours, reno, life) = both(30, |pair| {
            // Nothing is under way when it steps, or it would come before it was sent.
            pair.drop_if(|_| true);
            pair.run_for(ms(100));
            pair.now += step;
            let now = pair.now;
            pair.a.handle_timeout(now);
            pair.z.handle_timeout(now);
            bottleneck(pair, RATE, ms(20), QUEUE, |_| false);
        });
        assert!(ours >= 0.9 * reno, "{step}: {ours} MB, Reno {reno}");
        assert!(life.burst() <= MOST_AT_ONCE, "{step}: {}", life.burst());
    }
}

/// BBR where a network means no good: no less than Reno, no burst, and the association lives.
#[test]
fn bbr_falls_behind_reno_nowhere() {
    type Harm = Box<dyn Fn(&mut Pair)>;
    let mut bbr = modern();
    bbr.set("congestion_control", "bbr").unwrap();
    let harms: [(&str, u64, Harm); 4] = [
        ("a round trip that jumps by ten seconds", 90, {
            Box::new(|pair| bottleneck(pair, RATE, Duration::from_secs(5), QUEUE, |_| false))
        }),
        ("forty percent lost", 200, {
            Box::new(|pair| {
                let mut dice = Rng::stream(5, "loss", "rate");
                bottleneck(pair, RATE, ms(20), QUEUE, move |_| dice.below(100) < 40);
            })
        }),
        ("silence of three seconds", 20, {
            Box::new(|pair| {
                let until = pair.now + Duration::from_secs(3);
                bottleneck(pair, RATE, ms(20), QUEUE, move |p| p.at < until);
            })
        }),
        ("a clock that steps by an hour", 30, {
            Box::new(|pair| {
                pair.drop_if(|_| true);
                pair.run_for(ms(100));
                pair.now += Duration::from_secs(3600);
                let now = pair.now;
                pair.a.handle_timeout(now);
                pair.z.handle_timeout(now);
                bottleneck(pair, RATE, ms(20), QUEUE, |_| false);
            })
        }),
    ];
    about_a_thousandth_of_the_rate(&bbr);
    for (what, seconds, harm) in harms {
        let (ours, reno, life) = against_reno(&bbr, seconds, harm);
        assert!(ours >= 0.9 * reno, "{what}: {ours} MB, Reno {reno}");
        assert!(life.burst() <= MOST_AT_ONCE, "{what}: {}", life.burst());
        assert_eq!(life.pair.a.view(life.id).unwrap().status().state, State::Established, "{what}");
    }
}

/// Nothing arrives for three seconds: the window that was under way is lost. It is one loss, whatever is found out when.
#[test]
fn a_window_that_is_lost_whole_cuts_once() {
    let (ours, reno, life) = both(20, |pair| {
        let until = pair.now + Duration::from_secs(3);
        bottleneck(pair, RATE, ms(20), QUEUE, move |p| p.at < until);
    });
    let stats = life.stats();
    assert!(stats.timeouts >= 1, "{stats:?}");
    assert!(ours >= 0.95 * reno, "{ours} MB, Reno {reno}");
}

/// A route changes and everything under way comes 60 ms late, behind what follows: RACK takes it for lost. When the duplicates are told
/// the window comes back (RFC 3708; RFC 9438, 4.9.2).
#[test]
fn a_cut_that_was_needless_is_taken_back() {
    let windows = |undo: bool| {
        let config = modern().with(|c| {
            c.congestion.undo = undo;
            // A path without a queue: the window stops at what the user has.
            c.limits.receive_window = 100_000;
            c.limits.max_receive_window = 0;
        });
        let mut life = Greedy::new(&config, 1_000_000_000, ms(20));
        life.run(Duration::from_secs(2));
        let before = life.stats();
        assert_eq!(before.retransmissions, 0);
        let start = life.pair.now;
        life.pair.delay_by(move |p| {
            let late = p.from == Side::A && p.at < start + ms(8);
            if late { ms(80) } else { ms(20) }
        });
        life.run(ms(600));
        let after = life.stats();
        assert!(after.congestion_events > before.congestion_events, "RACK was fooled");
        assert!(after.retransmissions_spurious > 0);
        (before.cwnd, before.ssthresh, after.cwnd, after.ssthresh)
    };
    let (cwnd, ssthresh, cwnd_after, ssthresh_after) = windows(true);
    assert!(
        cwnd_after >= cwnd && ssthresh_after >= ssthresh,
        "{cwnd} {cwnd_after} {ssthresh} {ssthresh_after}"
    );
    let (_, ssthresh, _, ssthresh_after) = windows(false);
    assert!(ssthresh_after < ssthresh);
}

/// A peer that acknowledges once for a batch, as one behind an operating system that hands over 64 packets: no Max.Burst keeps the rest
/// back, and no burst leaves.
#[test]
fn a_peer_that_acknowledges_once_a_batch() {
    let config = modern().with(|c| {
        c.sack.every = 64;
        c.sack.delay = ms(20);
    });
    let mut life = Greedy::new(&config, RATE, ms(20));
    life.run(Duration::from_secs(10));
    assert!(life.delivered() > 0.85 * RATE as f64 / 8e6 * 10.0, "{} MB", life.delivered());
    assert!(life.burst() <= 2 * MOST_AT_ONCE, "{}", life.burst());
}

/// ACK splitting (Savage and others, 1999): as many acknowledgements as there are chunks open the window no further than one.
#[test]
fn split_acknowledgements_gain_nothing() {
    let window = |every: u32| {
        let mut script = Script::established(&modern());
        let (a, first) = (script.a, script.tsn_a);
        for _ in 0..400 {
            script.pair.send(Side::A, a, 0, &[1; 100]);
        }
        script.pair.run_for(ms(50));
        let last =
            script.pair.log.iter().flat_map(|p| p.data().into_iter().map(|d| d.tsn.get())).max().unwrap();
        let count = last.wrapping_sub(first) + 1;
        assert!(count > 60, "{count} chunks have left");
        for n in (0..count).filter(|n| (n + 1) % every == 0 || n + 1 == count) {
            script.send(|out| sack::emit(out, Tsn::new(first.wrapping_add(n)), 1 << 20, &[], &[]));
        }
        script.pair.a.view(a).unwrap().stats().cwnd
    };
    let (one, split) = (window(u32::MAX), window(1));
    assert!(split <= one, "{split} with a SACK for each chunk, {one} with one");
}

/// Optimistic acknowledgements of what never left end the association; those of what has left open the window no faster than honest ones.
#[test]
fn acknowledgements_of_what_was_never_sent() {
    let mut script = Script::established(&modern());
    let (a, first) = (script.a, script.tsn_a);
    script.pair.send(Side::A, a, 0, &[1; 1000]);
    script.pair.pump();
    script.send(|out| sack::emit(out, Tsn::new(first.wrapping_add(100)), 1 << 20, &[], &[]));
    assert!(script.closed().is_some());
}

/// A peer that tells of a huge window and never of the first chunk: what is kept for it is bounded by our buffers (docs/explanation/engines.md), those that
/// they may grow to.
#[test]
fn a_peer_that_lies_about_its_window() {
    let config = modern().with(|c| {
        c.limits.receive_window = 100_000;
        c.limits.max_receive_window = 400_000;
        c.limits.send_buffer = 50_000;
        c.limits.max_send_buffer = 200_000;
        c.limits.association_max_retrans = 1000;
    });
    let mut life = Greedy::new(&config, 1_000_000_000, ms(5));
    life.pair.tamper(|from, bytes| {
        // A SACK in front: type 3, its a_rwnd 8 bytes behind the chunk header's beginning.
        if from == Side::Z && bytes.get(12) == Some(&3) {
            bytes[20..24].copy_from_slice(&u32::MAX.to_be_bytes());
        }
    });
    let mut first = None;
    life.pair.drop_if(move |p| {
        let tsns: Vec<u32> =
            if p.from == Side::A { p.data().iter().map(|d| d.tsn.get()).collect() } else { vec![] };
        let first = *first.get_or_insert_with(|| tsns.first().copied().unwrap_or_default());
        !tsns.is_empty() && tsns.contains(&first)
    });
    let mut most = 0;
    for _ in 0..100 {
        life.run(ms(20));
        most = most.max(life.stats().flight);
    }
    assert!(most <= 600_000 + 1500, "{most} bytes");
}

/// The budget by which windows of an endpoint may grow together is small: a window takes no more than there is, and
/// gives back the part that it does not need.
#[test]
fn a_window_shrinks_where_an_endpoint_has_little_left() {
    // The largest a_rwnd at full rate, and the last one after half a minute at a twentieth of it.
    let windows = |window_budget| {
        let config = Arc::new(modern().with(|c| {
            (c.limits.receive_window, c.limits.max_receive_window) = (50_000, 1_000_000);
        }));
        let mut pair = Pair::new(3);
        let endpoint =
            EndpointConfig { window_budget, ..EndpointConfig::new(address(Side::Z), PORT).keeping_closed() };
        pair.z = Endpoint::new(endpoint, Rng::stream(3, "z", "endpoint").secret());
        pair.z.listen(Arc::clone(&config)).unwrap();
        let id = pair.a.connect(pair.now, address(Side::Z), PORT, config).unwrap();
        pair.run_for(ms(200));
        let mut life = Greedy { pair, id, waits: 50 * MESSAGE };
        let offered = |life: &mut Greedy, rate, queue, seconds| {
            bottleneck(&mut life.pair, rate, ms(150), queue, |_| false);
            life.pair.log.clear();
            life.run(Duration::from_secs(seconds));
            let sacks = life.pair.log.iter().filter(|p| p.from == Side::Z && p.bytes.get(12) == Some(&3));
            let windows = sacks.map(|p| u32::from_be_bytes(p.bytes[20..24].try_into().unwrap()));
            windows.collect::<Vec<_>>()
        };
        let most = offered(&mut life, RATE, 200_000, 15).into_iter().max().unwrap();
        (most, *offered(&mut life, RATE / 20, 10_000, 30).last().unwrap())
    };
    let (most, last) = windows(100_000);
    assert!((140_000..=150_000).contains(&most) && last < 100_000, "{most}, then {last}");
    let (most, last) = windows(1 << 20);
    assert!(most > 300_000 && last > 300_000, "where there is enough it stays: {most}, then {last}");
}

/// A window that has grown by itself is no choice of the user: another option changes, and the window stays and may grow on. One that is
/// chosen after that holds, and grows no more.
#[test]
fn another_option_leaves_a_window_that_has_grown() {
    let config = Arc::new(modern().with(|c| {
        (c.limits.receive_window, c.limits.max_receive_window) = (50_000, 1_000_000);
    }));
    let mut pair = Pair::new(3);
    pair.z.listen(Arc::clone(&config)).unwrap();
    let id = pair.a.connect(pair.now, address(Side::Z), PORT, config).unwrap();
    pair.run_for(ms(200));
    let mut life = Greedy { pair, id, waits: 50 * MESSAGE };
    bottleneck(&mut life.pair, RATE, ms(150), 200_000, |_| false);
    life.run(Duration::from_secs(10));
    let z = life.pair.id_of(Side::Z);
    let status = |life: &Greedy| life.pair.z.view(z).unwrap().status().receive_window;
    let now = life.pair.now;
    let grown = status(&life);
    assert!(grown > 200_000, "{grown}");
    life.pair.z.association(z).unwrap().set(now, "rto_min", "500 ms").unwrap();
    assert_eq!(status(&life), grown);
    assert_eq!(life.pair.z.view(z).unwrap().configuration().limits.receive_window, 50_000);
    life.run(Duration::from_secs(5));
    // Bytes that have come and were not read yet are not offered.
    assert!(status(&life) > 200_000, "{} after {grown}", status(&life));
    let now = life.pair.now;
    life.pair.z.association(z).unwrap().set(now, "receive_window", "60 kB").unwrap();
    life.run(Duration::from_secs(10));
    assert!((1..=60_000).contains(&status(&life)), "{}", status(&life));
}

/// A window that opens and shuts as the peer pleases.
#[test]
fn a_window_that_flaps() {
    let mut life = Greedy::new(&modern(), RATE, ms(10));
    let mut dice = Rng::stream(9, "windows", "rate");
    life.pair.tamper(move |from, bytes| {
        if from == Side::Z && bytes.get(12) == Some(&3) {
            let window = [0, 1, 1500, 1 << 16, u32::MAX][dice.below(5) as usize];
            bytes[20..24].copy_from_slice(&window.to_be_bytes());
        }
    });
    life.run(Duration::from_secs(10));
    assert!(life.delivered() > 0.3, "{}", life.delivered());
    assert!(life.burst() <= MOST_AT_ONCE, "{}", life.burst());
}

/// Both halves of A at once: a user who never reads and always has more to send, and a peer that acknowledges all but
/// the first of A's chunks of each sequence space and takes no notice of A's window. The memory that A holds stays
/// within the bound for both, and all of it is freed once the peer is honest and the user awake.
#[test]
fn a_reader_that_sleeps_and_a_peer_that_withholds() {
    // A large window beside a small send buffer is where two halves that do not know of each other hold most: S + W and 2 W. The peer
    // begins at once, or when the sender has filled its half, and found that there is room.
    let buffers = [(100_000, 100_000, 0), (20_000, 200_000, 0), (20_000, 200_000, 60)];
    for level in [SubflowLevel::Zero, SubflowLevel::One] {
        for len in [1, 20, 200, MESSAGE, 20_000] {
            for (send_buffer, receive_window, begins) in buffers {
                let config =
                    subflow_config(level, if level == SubflowLevel::One { 3 } else { 1 }).with(|c| {
                        c.limits.send_buffer = send_buffer;
                        c.limits.receive_window = receive_window;
                        c.limits.association_max_retrans = 1000;
                    });
                withheld_and_not_read(&config, len, begins);
            }
        }
    }
}

/// Messages of `len` bytes both ways; Z's begin in that round.
fn withheld_and_not_read(config: &Config, len: usize, begins: u32) {
    let (mut pair, a, z) = Pair::established(7, config);
    pair.reads[Side::A as usize] = false;
    let open = Rc::new(Cell::new(true));
    let lies = Rc::clone(&open);
    pair.tamper(move |_, bytes| {
        // A SACK in front: type 3, its a_rwnd 8 bytes behind the chunk header's beginning.
        if lies.get() && bytes.get(12) == Some(&3) {
            bytes[20..24].copy_from_slice(&u32::MAX.to_be_bytes());
        }
    });
    let (mut first, withheld, mut dice) =
        (BTreeMap::new(), Rc::clone(&open), Rng::stream(9, "losses", "memory"));
    pair.drop_if(move |p| {
        let of_data = p.data().first().map(|d| (0, d.tsn.get()));
        let Some((fid, number)) = of_data.or_else(|| p.fids().first().copied()).filter(|_| withheld.get())
        else {
            return false;
        };
        // Chunks that fill a hole are taken beyond the window, so Z's data comes with holes.
        if p.from == Side::A { number == *first.entry(fid).or_insert(number) } else { dice.below(3) == 0 }
    });
    let (mut most, mut bound, mut sent) = (0, 0, [0_usize; 2]);
    let payload = bytes::Bytes::from(vec![1; len]);
    let streams = config.subflows.open.len().max(1) as u16;
    for round in 0..260 {
        for (side, id) in [(Side::A, a), (Side::Z, z)] {
            let now = pair.now;
            let mut association = pair.endpoint(side).association(id).unwrap();
            for stream in (0..streams).filter(|_| side == Side::A || round >= begins) {
                while association.send(now, Message::new(stream, payload.clone())).is_ok() {
                    sent[side as usize] += 1;
                }
            }
        }
        pair.run_for(ms(50));
        let held;
        (held, bound) = pair.a.view(a).unwrap().holdings();
        most = most.max(held);
    }
    let beyond = u64::from(streams) * (u64::from(config.mtu) + len as u64);
    assert!(most <= bound + beyond, "{most} bytes of {bound}, messages of {len}");
    assert!(most > bound / 3, "{most} bytes of {bound}, messages of {len}: nothing was tried");
    open.set(false);
    pair.reads[Side::A as usize] = true;
    pair.run_for(Duration::from_secs(600));
    for (side, sent) in [(Side::Z, sent[0]), (Side::A, sent[1])] {
        let received = pair.received.iter().filter(|(at, _)| *at == side).count();
        assert_eq!(received, sent, "messages of {len} at {side:?}");
    }
}
