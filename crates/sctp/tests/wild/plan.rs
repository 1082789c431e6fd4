//! Draws of a life.

use anabranch_base::{Dscp, Duration, Instant, Rng};
use anabranch_sctp::config::{
    Coupling, EcnMode, ErrorDetection, LossDetection, StreamScheduling, SubflowLevel, SubflowScheduler,
};
use anabranch_sctp::{Config, SubflowSpec};

/// Settings of a life: faults of the network, and habits of the users.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) config: Config,
    pub(crate) loss: f64,
    pub(crate) duplicate: f64,
    pub(crate) reorder: f64,
    /// By how much at most.
    pub(crate) late: Duration,
    /// Packets of the whole past, those of earlier incarnations included.
    pub(crate) replay: f64,
    /// Strangers at addresses of their own, who may say that they are the peer.
    pub(crate) strangers: f64,
    /// Bytes changed on the way, the checksum made right again.
    pub(crate) corrupt: f64,
    /// Times in which the network carries nothing towards a side.
    pub(crate) cuts: Vec<(Instant, Instant, usize)>,
    /// Probability that the clock of an endpoint jumps, forwards, or a little backwards.
    pub(crate) jumps: f64,
    /// Nobody who knows the tags interferes, and nobody forgets: everything must arrive.
    pub(crate) honest: bool,
    /// When an endpoint forgets everything: time, side, whether it connects again.
    pub(crate) restarts: Vec<(Instant, usize, bool)>,
    pub(crate) both_connect: bool,
    pub(crate) messages: u64,
    pub(crate) largest: u64,
    pub(crate) streams: u16,
    pub(crate) heals_at: Instant,
    pub(crate) closes_early: bool,
    pub(crate) aborts: bool,
    pub(crate) resets: f64,
    pub(crate) changes: f64,
    /// Share of the messages that may be given up (RFC 3758).
    pub(crate) partial: f64,
    /// Settings that came to these lives last, drawn from a stream of their own so that older lives stay as they
    /// were.
    pub(crate) more: Option<More>,
    /// Settings that came after that.
    pub(crate) boxes: Option<Boxes>,
}

/// Boxes on the way that understand a part of the packets they pass on.
#[derive(Clone, Debug)]
pub(crate) struct Boxes {
    pub(crate) rng: Rng,
    /// Takes the list of supported extensions out of an INIT.
    pub(crate) strips: f64,
    /// Both ends speak SCTP in UDP, and side A is behind a NAT, from which its packets have this port at the moment.
    pub(crate) port: Option<u16>,
    /// Probability that the NAT forgets, and packets have another port from then on.
    pub(crate) moves: f64,
    /// Messages that are sent at once.
    pub(crate) burst: u64,
}

/// Routers that mark packets and send ICMP errors, and users who change every option that may be changed.
#[derive(Clone, Debug)]
pub(crate) struct More {
    pub(crate) rng: Rng,
    /// Packets that can be marked, and are.
    pub(crate) marks: f64,
    /// ICMP errors that quote a packet of ours, or pretend to.
    pub(crate) icmp: f64,
    /// Values that are changed, MTUs that are set, code points that messages choose.
    pub(crate) settings: f64,
}

impl Plan {
    /// The same life, in which routers say more than packets, and users want other values all the time.
    pub(crate) fn with_more(mut self, seed: u64) -> Self {
        let mut rng = Rng::stream(seed, "more", "wild");
        self.config.extensions.ecn = one_of(&mut rng, &[EcnMode::Off, EcnMode::Classic, EcnMode::L4s]);
        if self.config.validate().is_err() {
            self.config.extensions.ecn = EcnMode::Off;
        }
        let mut gaps = Rng::stream(seed, "gaps", "wild");
        self.config.extensions.selected_gap_blocks = one_of(&mut gaps, &[0, 3, 5, 8]);
        let (marks, icmp) = (sometimes(&mut rng, 0.7, 0.3), sometimes(&mut rng, 0.7, 0.1));
        let settings = sometimes(&mut rng, 0.8, 0.1);
        self.more = Some(More { rng, marks, icmp, settings });
        self
    }

    /// The same life over boxes on the way: a NAT whose ports change, and one that takes lists of extensions away.
    pub(crate) fn with_boxes(mut self, seed: u64) -> Self {
        let mut rng = Rng::stream(seed, "boxes", "wild");
        // Where both call, each may have heard something else of the other, and nothing tells: docs/explanation/faults.md, "Lists of extensions that differ".
        let strips = if self.both_connect { 0.0 } else { sometimes(&mut rng, 0.5, 1.0) };
        let port = rng.chance(0.7).then_some(40_000);
        let moves = sometimes(&mut rng, 0.8, 0.02);
        let mut burst = 1;
        if self.largest <= 10 && rng.chance(0.5) {
            // Many of the smallest: the bookkeeping of each is more than its payload.
            (burst, self.messages) = (40, self.messages * 20);
            self.config.limits.receive_window = one_of(&mut rng, &[4000, 40_000, 100_000]);
        }
        if matches!(self.config.subflows.coupling, Coupling::FccN | Coupling::FccN2) {
            let phi = 1.0 + 4.0 * rng.f64();
            self.config.subflows.coupling = one_of(&mut rng, &[Coupling::Fcc2N2, Coupling::Fcc(phi)]);
        }
        self.boxes = Some(Boxes { rng, strips, port, moves, burst });
        self
    }

    /// The same life, in which messages may be given up, and the user asks what became of each. Every second one has no checksums
    /// (RFC 9653).
    pub(crate) fn with_partial_reliability(mut self, rng: &mut Rng) -> Self {
        self.config.extensions.partial_reliability = true;
        self.partial = one_of(rng, &[0.1, 0.5, 1.0]);
        self.config.extensions.zero_checksum = rng.chance(0.5).then_some(ErrorDetection::Dtls);
        self
    }
}

fn one_of<T: Clone>(rng: &mut Rng, values: &[T]) -> T {
    values[rng.below(values.len() as u64) as usize].clone()
}

fn sometimes(rng: &mut Rng, p: f64, most: f64) -> f64 {
    if rng.chance(p) { rng.f64() * most } else { 0.0 }
}

fn config(rng: &mut Rng, honest: bool) -> Config {
    // Younger than most lives: those that have found something stay as they were.
    let older: Vec<&str> = Config::PROFILES.into_iter().filter(|name| *name != "modern").collect();
    let mut profile = one_of(rng, &older);
    if rng.clone().chance(0.1) {
        profile = "modern";
    }
    let mut config = Config::named(profile).unwrap();
    // Of the lives with partial reliability some have it.
    config.extensions.zero_checksum = None;
    if config.subflows.level != SubflowLevel::Sf2007 {
        config.subflows.level = one_of(rng, &[SubflowLevel::Zero, SubflowLevel::Zero, SubflowLevel::One]);
        config.extensions.interleaving = rng.chance(0.4);
        config.extensions.reconfiguration = rng.chance(0.5);
        config.extensions.peer_resets_association = rng.chance(0.5);
    }
    let couplings = [
        Coupling::Independent,
        Coupling::Independent,
        Coupling::Shared,
        Coupling::FccN,
        Coupling::FccN2,
        Coupling::Lia,
        Coupling::Olia,
        Coupling::Adaptive,
    ];
    config.subflows.coupling = one_of(rng, &couplings);
    crate::common::uncouple(&mut config);
    let spec = |i: u8| SubflowSpec { weight: 1 + u16::from(i), ..SubflowSpec::new(Dscp::new(i).unwrap()) };
    config.subflows.open = (0..rng.below(5) as u8).map(spec).collect();
    let schedulers = [
        SubflowScheduler::Fcfs,
        SubflowScheduler::WeightedRoundRobin,
        SubflowScheduler::WeightedFair,
        SubflowScheduler::Priority,
    ];
    config.subflows.scheduler = one_of(rng, &schedulers);
    config.streams.scheduling = one_of(rng, &StreamScheduling::ALL);
    config.streams.outbound = 16;
    config.streams.max_outbound = 20;
    config.mtu = one_of(rng, &[576, 600, 1280, 1500, 9000]);
    config.limits.receive_window = one_of(rng, &[1500, 4000, 30_000, 1 << 20]);
    config.limits.send_buffer = one_of(rng, &[600, 5_000, 256 << 10]);
    config.timers.rto_max = Duration::from_secs(5);
    config.timers.rto_min = Duration::from_millis(one_of(rng, &[10, 200, 1000]));
    config.sack.delay = Duration::from_millis(one_of(rng, &[0, 20, 200]));
    config.timers.heartbeat_interval = Duration::from_secs(one_of(rng, &[0, 1, 30]));
    config.emulation.data_with_cookie = rng.chance(0.5);
    config.pacing.enabled = rng.chance(0.25);
    if rng.chance(0.25) {
        config.congestion.loss_detection = LossDetection::Rack;
        config.congestion.tail_loss_probe = true;
    }
    if honest {
        config.limits.association_max_retrans = 1000;
        config.limits.max_init_retransmits = 1000;
        config.timers.shutdown_guard_rto_max = 0;
    }
    config
}

pub(crate) fn draw(rng: &mut Rng) -> Plan {
    let kind = rng.below(10);
    let (restarting, corrupt) = (kind == 7 || kind == 9, if kind >= 8 { rng.f64() * 0.1 } else { 0.0 });
    let honest = !restarting && corrupt == 0.0;
    let config = config(rng, honest);
    let heals_at = Instant::ZERO + Duration::from_secs(40);
    let mut when = || Duration::from_millis(10_000 + rng.below(20_000));
    let times = [when(), when(), when(), when()];
    let mut restarts: Vec<_> = times
        .iter()
        .take(if restarting { 1 + rng.below(4) as usize } else { 0 })
        .map(|at| (Instant::ZERO + *at, rng.below(2) as usize, rng.chance(0.7)))
        .collect();
    restarts.sort_unstable();
    let cuts = (0..rng.below(3))
        .map(|_| {
            let from = Instant::ZERO + Duration::from_millis(10_000 + rng.below(20_000));
            (from, from + Duration::from_millis(rng.below(8000)), rng.below(2) as usize)
        })
        .collect();
    let reconfigures = config.extensions.reconfiguration || config.subflows.level == SubflowLevel::One;
    Plan {
        loss: sometimes(rng, 0.7, 0.4),
        duplicate: sometimes(rng, 0.5, 0.3),
        reorder: sometimes(rng, 0.5, 0.5),
        late: Duration::from_millis(one_of(rng, &[60, 60, 5000])),
        replay: sometimes(rng, 0.5, 0.2),
        strangers: sometimes(rng, 0.4, 0.05),
        corrupt,
        cuts,
        jumps: sometimes(rng, 0.2, 0.02),
        honest,
        restarts,
        both_connect: rng.chance(0.3),
        messages: rng.below(120),
        largest: one_of(rng, &[1, 10, 2000, 20_000]),
        streams: 1 + rng.below(16) as u16,
        heals_at,
        closes_early: rng.chance(0.3),
        aborts: rng.chance(0.05),
        resets: if reconfigures && rng.chance(0.6) { 0.02 } else { 0.0 },
        changes: if rng.chance(0.4) { 0.03 } else { 0.0 },
        partial: 0.0,
        more: None,
        boxes: None,
        config,
    }
}
