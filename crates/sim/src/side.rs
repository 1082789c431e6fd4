//! One end of a flow: a transport and the application above it, on a host.

use std::net::IpAddr;

use anabranch_base::driver::{self, Surroundings, Transport};
use anabranch_base::{Duration, Instant, Meta, Transmit, cold_path};
use anabranch_link::Frame;
use anabranch_sctp::SubflowStats;

use crate::app::{App, Progress};
use crate::engine::{Counts, Engine, HeldBack};
use crate::event_queue::Entity;
use crate::network::Network;

/// One end of a flow.
#[derive(Debug)]
pub(crate) struct Side {
    pub(crate) entity: Entity,
    /// Its number in the trace.
    pub(crate) name: u16,
    pub(crate) flow: u32,
    pub(crate) node: u32,
    pub(crate) peer: u32,
    pub(crate) engine: Engine,
    pub(crate) app: App,
    /// Addresses of arriving packets.
    pub(crate) meta: Meta,
    /// Bytes of the IP header.
    pub(crate) ip_header: u32,
    /// Bytes of all its packets so far, IP headers included.
    pub(crate) bytes_sent: u64,
    /// When it opens the flow, until it has; `None` for the end that listens.
    pub(crate) opens_at: Option<Instant>,
    pub(crate) opened_at: Option<Instant>,
    pub(crate) failed: Option<String>,
    /// The page that the connection belongs to.
    pub(crate) page: Option<u32>,
    pub(crate) tracing: bool,
    /// Counters at the end of the warm-up.
    pub(crate) base: Counts,
    /// Counters of each subflow at the end of the warm-up.
    pub(crate) subflow_base: Vec<SubflowStats>,
    pub(crate) watch: Watch,
    /// When the last datagram came; transports leave that to their applications.
    pub(crate) last_datagram_at: Option<Instant>,
}

/// Observations of a sender at each acknowledgement, since the end of the warm-up.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Watch {
    pub(crate) cwnd_peak: u64,
    srtt_sum_ns: u128,
    srtt_samples: u64,
    /// When user data left for the first time.
    pub(crate) data_from: Option<Instant>,
    /// The present limit on the sender besides congestion control, and its beginning.
    held: HeldBack,
    held_since: Instant,
    held_by_receiver: Duration,
    held_by_application: Duration,
}

impl Watch {
    /// Notes the limit on the sender that holds from now on.
    #[inline]
    fn hold(&mut self, now: Instant, held: HeldBack) {
        if self.held == held {
            return;
        }
        match self.held {
            HeldBack::No => {}
            HeldBack::Receiver => self.held_by_receiver += now.saturating_since(self.held_since),
            HeldBack::Application => self.held_by_application += now.saturating_since(self.held_since),
        }
        (self.held, self.held_since) = (held, now);
    }

    /// How long the receiver's window and the application have held the sender back up to this time.
    pub(crate) fn held_until(mut self, now: Instant) -> (Duration, Duration) {
        self.hold(now, HeldBack::No);
        (self.held_by_receiver, self.held_by_application)
    }

    /// The smoothed round-trip time, averaged over the acknowledgements, in seconds.
    pub(crate) fn srtt_mean_s(&self) -> Option<f64> {
        (self.srtt_samples > 0).then(|| self.srtt_sum_ns as f64 / self.srtt_samples as f64 / 1e9)
    }
}

impl Side {
    /// Whether this end sends user data.
    pub(crate) const fn is_sender(&self) -> bool {
        matches!(self.app, App::Source(_) | App::Server(_) | App::Generator(_))
    }

    /// A packet has arrived.
    #[inline]
    pub(crate) fn handle_frame(&mut self, now: Instant, frame: Frame, net: &mut Network) {
        if let Engine::Datagrams(end) = &mut self.engine {
            if !frame.icmp {
                end.handle_frame(now, &frame);
                self.last_datagram_at = Some(now);
            }
            net.recycle(frame.bytes);
            self.drain_trace(net);
            return;
        }
        if frame.icmp {
            self.engine.handle_icmp(now, &frame.bytes);
        } else {
            let meta = Meta { dscp: frame.dscp, ecn: frame.ecn, ..self.meta };
            self.engine.handle_datagram(now, meta, &frame.bytes);
        }
        net.recycle(frame.bytes);
        let is_sender = self.is_sender();
        if is_sender {
            self.look();
        }
        // A timer that moved to later is looked at when the earlier time has come: most never fire.
        let due = self.run(now, net);
        if is_sender {
            self.hold(now);
        }
        if let Some(due) = due {
            if net.queue.at(self.entity).is_none_or(|at| due < at) {
                net.queue.set(self.entity, Some(due));
            }
        }
    }

    /// Notes the limit on the sender, now that it has sent as much as it may.
    #[inline]
    fn hold(&mut self, now: Instant) {
        if self.watch.data_from.is_none() && self.engine.counts().payload_bytes_unique > 0 {
            self.watch.data_from = Some(now);
        }
        // At the end of a transfer no limit counts.
        let held = if self.watch.data_from.is_none() || self.app.has_handed_all() {
            HeldBack::No
        } else {
            self.engine.held_back()
        };
        self.watch.hold(now, held);
    }

    /// Wakes this end at a time that it asked for.
    pub(crate) fn wake(&mut self, now: Instant, net: &mut Network) {
        if self.opens_at.is_some_and(|at| at <= now) {
            self.opens_at = None;
            self.opened_at = Some(now);
            self.failed = self.engine.open(now).err();
            match &mut self.app {
                App::Source(source) => source.opened(),
                App::Generator(generator) => generator.opened(now),
                _ => {}
            }
            // Others may be opened together with it.
            if let Some(page) = self.page {
                net.progress.push((page, Progress::default()));
            }
        }
        if let Engine::Datagrams(end) = &mut self.engine {
            while let Some(mut frame) = end.poll_frame(now, self.flow, self.node, self.peer) {
                if net.recorder.capture.is_some() {
                    end.write(frame.id, &mut frame.bytes);
                }
                self.bytes_sent += u64::from(frame.size);
                self.watch.data_from.get_or_insert(now);
                net.forward(now, self.node, frame);
            }
            net.queue.set(self.entity, earlier(end.poll_timeout(), self.opens_at));
            self.drain_trace(net);
            return;
        }
        if self.engine.poll_timeout().is_some_and(|at| at <= now) {
            self.engine.handle_timeout(now);
        }
        let due = self.run(now, net);
        if self.is_sender() {
            self.hold(now);
        }
        net.queue.set(self.entity, due);
    }

    /// Tells the end that every object that its client fetches is there.
    pub(crate) fn end_of_page(&mut self, now: Instant, net: &mut Network) {
        if let App::Client(client) = &mut self.app {
            client.end(now, &mut self.engine);
            let due = self.run(now, net);
            net.queue.set(self.entity, due);
        }
    }

    /// Begins to count, at the end of the warm-up.
    pub(crate) fn start_counting(&mut self, now: Instant) {
        match &mut self.app {
            App::Generator(generator) => generator.start_counting(),
            App::Collector(collector) => collector.start_counting(now),
            _ => {}
        }
        self.base = self.engine.counts();
        self.subflow_base = self.engine.subflows();
        self.engine.reset_peaks();
        let Watch { data_from, held, .. } = self.watch;
        let cwnd_peak = self.engine.gauges().cwnd;
        self.watch = Watch { cwnd_peak, data_from, held, held_since: now, ..Watch::default() };
    }

    /// Gives `sink` the values for a sample of this end, subflow by subflow: packets and bytes since the start, and the
    /// state of a sender (congestion window, slow-start threshold, smoothed round-trip time in nanoseconds).
    pub(crate) fn sample(&self, mut sink: impl FnMut(u8, u64, u64, [u64; 3])) {
        let (header, counts) = (u64::from(self.ip_header), self.engine.counts());
        if !self.is_sender() {
            let packets = counts.packets_received_new;
            sink(0, packets, counts.packet_bytes_received_new + packets * header, [0; 3]);
            return;
        }
        let subflows = self.engine.subflows();
        if subflows.len() > 1 {
            for (index, stats) in subflows.iter().enumerate() {
                let bytes = stats.packet_bytes_sent() + stats.packets_sent * header;
                let values = [stats.cwnd, stats.ssthresh, stats.srtt.map_or(0, Duration::as_nanos)];
                sink(index as u8, stats.packets_sent, bytes, values);
            }
            return;
        }
        let gauges = self.engine.gauges();
        let values = [gauges.cwnd, self.engine.ssthresh(), gauges.srtt.map_or(0, Duration::as_nanos)];
        sink(0, counts.packets_sent, self.bytes_sent, values);
    }

    fn look(&mut self) {
        let gauges = self.engine.gauges();
        self.watch.cwnd_peak = self.watch.cwnd_peak.max(gauges.cwnd);
        if let Some(srtt) = gauges.srtt {
            self.watch.srtt_sum_ns += u128::from(srtt.as_nanos());
            self.watch.srtt_samples += 1;
        }
    }

    /// Lets the application and the transport work until neither has anything more to do now. Answers when this end wants to
    /// be woken.
    fn run(&mut self, now: Instant, net: &mut Network) -> Option<Instant> {
        let mut host = Host {
            app: &mut self.app,
            net,
            bytes_sent: &mut self.bytes_sent,
            peer_address: self.meta.source.ip(),
            flow: self.flow,
            node: self.node,
            peer: self.peer,
            ip_header: self.ip_header,
        };
        let timeout = driver::run(now, &mut self.engine, &mut host);
        if let (App::Client(client), Some(page)) = (&mut self.app, self.page) {
            cold_path();
            net.progress.extend(client.take_progress().map(|progress| (page, progress)));
        }
        self.drain_trace(net);
        match &self.app {
            App::Source(source) => earlier(earlier(timeout, self.opens_at), source.wakes_at(now)),
            App::Generator(generator) => earlier(earlier(timeout, self.opens_at), generator.wakes_at(now)),
            _ => earlier(timeout, self.opens_at),
        }
    }

    fn drain_trace(&mut self, net: &mut Network) {
        if self.tracing {
            cold_path();
            let (name, flow) = (self.name, self.flow);
            self.engine.drain_trace(|record| net.recorder.engine(name, flow, &record));
        }
    }
}

/// The surroundings of the transport at an end: its application and the network.
struct Host<'a> {
    app: &'a mut App,
    net: &'a mut Network,
    bytes_sent: &'a mut u64,
    peer_address: IpAddr,
    flow: u32,
    node: u32,
    peer: u32,
    ip_header: u32,
}

impl Surroundings<Engine> for Host<'_> {
    /// A link takes one packet after the other.
    const MAX_PACKETS: usize = 1;

    #[inline]
    fn run_application(&mut self, now: Instant, engine: &mut Engine) -> bool {
        // A receiver has nothing to do of its own, and most calls have nothing to tell it.
        if self.app.only_receives() && !engine.may_have_notices() {
            return false;
        }
        self.app.run(now, engine)
    }

    #[inline]
    fn has_news(&self, engine: &Engine) -> bool {
        self.app.works_in_steps() || engine.may_have_notices()
    }

    #[inline]
    fn buffer(&mut self) -> Vec<u8> {
        self.net.buffer()
    }

    #[inline]
    fn transmit(&mut self, now: Instant, engine: &Engine, transmit: Transmit, bytes: Vec<u8>) {
        // The flow has two ends, and no others.
        if transmit.destination.ip() != self.peer_address {
            cold_path();
            self.net.recycle(bytes);
            return;
        }
        let frame = Frame {
            size: bytes.len() as u32 + self.ip_header,
            source: self.node,
            destination: self.peer,
            flow: self.flow,
            id: self.net.new_id(),
            dscp: transmit.dscp,
            ecn: transmit.ecn,
            dont_fragment: transmit.dont_fragment,
            data: self.net.marks_data && engine.carries_data(&bytes),
            bytes,
            ..Frame::default()
        };
        *self.bytes_sent += u64::from(frame.size);
        self.net.forward(now, self.node, frame);
    }

    #[inline]
    fn recycle(&mut self, buffer: Vec<u8>) {
        self.net.recycle(buffer);
    }
}

/// The earlier of two times; `None` is never.
#[inline]
fn earlier(a: Option<Instant>, b: Option<Instant>) -> Option<Instant> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
