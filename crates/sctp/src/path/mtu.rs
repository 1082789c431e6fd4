//! The size of packets that a path carries, and how it becomes known.

use std::net::SocketAddr;

use anabranch_base::{Duration, Instant, SecretRng};
use anabranch_wire::CommonHeader;

use super::info::{HEARTBEAT_INFO_LEN, heartbeat_info};
use super::search::{Search, SearchState};
use super::size::{Under, aligned, first_mtu, least, max_packet, sizes};
use crate::config::{Config, MtuDiscovery, WindowUnit};
use crate::ids::PathId;

/// Packets of which size a path carries, as far as is known.
#[derive(Debug)]
pub(crate) struct PathMtu {
    /// Largest IP packet, bytes.
    mtu: u16,
    under: Under,
    /// Largest SCTP packet, common header included, bytes.
    max_packet: u32,
    /// The search for the MTU, or the state that ICMP or the user has set; `None` while nothing is known.
    search: Option<Box<Search>>,
    /// A probe must leave.
    probe_due: bool,
    /// A probe would be due, but no data has left on the path yet: an end that sends none has no use for the result.
    probe_waits: bool,
    /// True if packets of the size in use have not been seen to arrive yet, or are suspected not to.
    awaits_packets: bool,
}

impl PathMtu {
    /// The state at the beginning of a path.
    pub(super) fn new(config: &Config, remote: SocketAddr) -> Self {
        let under = Under::of(remote);
        let mtu = first_mtu(config, under);
        Self {
            mtu,
            under,
            max_packet: max_packet(config, under, mtu),
            search: None,
            probe_due: false,
            probe_waits: false,
            awaits_packets: false,
        }
    }

    /// The peer is at another address now, or at another port: other headers may lie in front of SCTP.
    pub(super) fn follow(&mut self, config: &Config, remote: SocketAddr) {
        self.under = Under::of(remote);
        self.max_packet = max_packet(config, self.under, self.mtu);
    }

    /// True if the search waits for reports of the packets that arrive.
    #[inline]
    pub(super) fn waits_for_packets(&self) -> bool {
        self.awaits_packets
    }

    /// A probe must leave.
    #[inline]
    pub(crate) fn wants_probe(&self) -> bool {
        self.probe_due
    }

    /// Largest IP packet, bytes.
    #[inline]
    pub(crate) fn mtu(&self) -> u16 {
        self.mtu
    }

    /// Largest SCTP packet, common header included, bytes.
    // rfc9260:7.3-2
    #[inline]
    pub(crate) fn max_packet(&self) -> usize {
        self.max_packet as usize
    }

    /// Path Maximum DATA Chunk Size: the room for one DATA chunk, header included, in a packet without other
    /// chunks (RFC 9260, 2.3). Rounded down to the 4-byte boundary that padding needs.
    #[inline]
    pub(crate) fn pmdcs(&self) -> u32 {
        // Both are multiples of 4.
        self.max_packet - CommonHeader::LEN as u32
    }

    /// The unit of windows, bytes.
    pub(crate) fn window_unit(&self, config: &Config) -> u32 {
        match config.emulation.window_unit {
            WindowUnit::Pmdcs => self.pmdcs(),
            WindowUnit::Mtu => u32::from(self.mtu),
        }
    }

    /// The path carries IP packets of so many bytes from now on. True when packets have another size.
    pub(crate) fn set(&mut self, config: &Config, mtu: u16) -> bool {
        let max_packet = max_packet(config, self.under, mtu);
        self.mtu = mtu;
        std::mem::replace(&mut self.max_packet, max_packet) != max_packet
    }

    /// The user has set the MTU of the path: its packets may be fragmented.
    pub(crate) fn is_fixed(&self) -> bool {
        self.search.as_ref().is_some_and(|search| search.state() == SearchState::Fixed)
    }

    /// The user sets the MTU of the path.
    pub(crate) fn fix(&mut self, config: &Config, mtu: u16) {
        let sizes = sizes(config, self.under);
        self.search = Some(Box::new(Search::fixed(sizes, mtu)));
        (self.probe_due, self.probe_waits, self.awaits_packets) = (false, false, false);
    }

    /// State of the search, where there is one.
    pub(crate) fn search_state(&self) -> Option<SearchState> {
        self.search.as_ref().map(|search| search.state())
    }

    /// The path is connected: where probes look for its MTU they begin. The size that is used now, if it is another.
    pub(crate) fn begin_search(&mut self, config: &Config) -> Option<u16> {
        if config.path_mtu.discovery != MtuDiscovery::Probes || self.is_fixed() {
            return None;
        }
        self.search = Some(Box::new(Search::new(sizes(config, self.under))));
        self.probe_waits = config.path_mtu.waits_for_data;
        self.with_search(|_| ())
    }

    /// New data leaves.
    #[inline]
    pub(super) fn mark_used(&mut self) {
        if self.probe_waits {
            self.let_probes_go();
        }
    }

    /// Data leaves on the path: the results of probes are of use from now on. An association that is only set up and ended, or only receives,
    /// sends none.
    #[cold]
    fn let_probes_go(&mut self) {
        self.probe_waits = false;
        self.with_search(|_| ());
    }

    /// The user does not fix the MTU any more: it is looked for again. The size that is used now, if it is another.
    pub(crate) fn free(&mut self, config: &Config, connected: bool) -> Option<u16> {
        if !self.is_fixed() {
            return None;
        }
        self.search = None;
        match config.path_mtu.discovery {
            MtuDiscovery::Probes if connected => self.begin_search(config),
            MtuDiscovery::Probes => Some(first_mtu(config, self.under)),
            MtuDiscovery::Off | MtuDiscovery::Icmp => Some(config.mtu),
        }
    }

    /// The user wants the MTU to become known in another way. The size that is used now, if it is another.
    pub(crate) fn change_discovery(&mut self, now: Instant, config: &Config, connected: bool) -> Option<u16> {
        if self.is_fixed() {
            return None;
        }
        self.end_search();
        match config.path_mtu.discovery {
            MtuDiscovery::Probes if connected => self.begin_search(config),
            // The size found is kept, and may be too small by now.
            MtuDiscovery::Icmp if self.mtu < config.mtu => {
                let (sizes, raise) = (sizes(config, self.under), config.path_mtu.raise_timer);
                self.search = Some(Box::new(Search::lowered(sizes, self.mtu, now, raise)));
                None
            }
            // Probes begin when the path is connected.
            MtuDiscovery::Probes | MtuDiscovery::Icmp | MtuDiscovery::Off => None,
        }
    }

    /// No more probes.
    pub(crate) fn end_search(&mut self) {
        (self.probe_due, self.probe_waits, self.awaits_packets) = (false, false, false);
        if !self.is_fixed() {
            self.search = None;
        }
    }

    /// Runs something on the search; the size that is used then, if it is another.
    fn with_search<T>(&mut self, run: impl FnOnce(&mut Search) -> T) -> Option<u16> {
        let search = self.search.as_mut()?;
        run(search);
        self.probe_due = !self.probe_waits && search.due().is_some();
        self.awaits_packets = search.waits_for_packets();
        Some(search.mtu()).filter(|mtu| *mtu != self.mtu)
    }

    /// PROBE_TIMER or PMTU_RAISE_TIMER.
    #[inline]
    pub(crate) fn search_timer(&self) -> Option<Instant> {
        self.search.as_ref().and_then(|search| search.timer())
    }

    /// PROBE_TIMER or PMTU_RAISE_TIMER has expired. The size that is used now, if it is another.
    pub(crate) fn search_expired(&mut self, now: Instant, config: &Config) -> Option<u16> {
        self.with_search(|search| search.expired(now, &config.path_mtu))
    }

    /// A probe must leave: its info, and the bytes of its SCTP packet. It is remembered.
    pub(crate) fn probe_info(
        &mut self,
        id: PathId,
        now: Instant,
        config: &Config,
        rto: Duration,
        rng: &mut SecretRng,
    ) -> Option<([u8; HEARTBEAT_INFO_LEN], usize)> {
        let wait = rto.max(config.path_mtu.probe_timer).max(Duration::from_secs(1));
        let size = self.search.as_ref()?.due()?;
        let nonce = rng.u64();
        self.with_search(|search| search.sent(now, nonce, wait));
        let len = max_packet(config, self.under, size) as usize;
        Some((heartbeat_info(id, nonce, now), len))
    }

    /// HEARTBEAT ACK: whether it answers the probe that was sent last, and the size that is used now, if it is another.
    pub(crate) fn probe_answered(
        &mut self,
        now: Instant,
        info: &[u8; HEARTBEAT_INFO_LEN],
        config: &Config,
    ) -> Option<Option<u16>> {
        let [_, nonce @ .., _, _, _, _, _, _, _, _] = info;
        let [.., a, b, c, d, e, f, g, h] = *info;
        let sent = Instant::from_nanos(u64::from_be_bytes([a, b, c, d, e, f, g, h]));
        let mut answers = false;
        let changed = self.with_search(|search| {
            answers = search.answered(now, u64::from_be_bytes(*nonce), sent, &config.path_mtu);
        });
        answers.then_some(changed)
    }

    /// Data was acknowledged: the longest packets of one chunk that carried it, bytes: of data sent `once`, and of data that was
    /// retransmitted. One that fills a packet shows that the size in use arrives, whether or not the peer answers probes.
    #[cold]
    pub(crate) fn packets_arrived(&mut self, now: Instant, config: &Config, once: usize, resent: usize) {
        let most = self.max_packet();
        self.with_search(|search| {
            // A longer packet may have been fragmented by IP.
            if once == most {
                search.base_arrived(now, &config.path_mtu);
            }
            let longest = [once, resent].into_iter().filter(|len| *len <= most).max();
            search.arrived(longest.unwrap_or(0), most);
        });
    }

    // rfc9260:7.3-1 rfc8899:3-21 rfc8899:4.3-1 rfc8899:8-4 rfc6951:5.6-3
    /// A packet of `len` bytes was lost again: those of its size may not arrive at all (RFC 8899, 4.3). The size that is used now, if it
    /// is another.
    pub(crate) fn packet_lost_again(&mut self, config: &Config, len: usize) -> Option<u16> {
        let least = max_packet(config, self.under, sizes(config, self.under).min) as usize;
        let too_long = len > least && len <= self.max_packet();
        self.with_search(|search| search.lost_again(if too_long { len } else { 0 }))
    }

    /// True if probes look for its MTU, or have found it.
    pub(crate) fn is_searched(&self) -> bool {
        self.search.is_some()
    }

    /// ICMP says that a packet was too big for a link that carries `mtu` bytes: whether it may be true, and the size that is used now,
    /// if it is another.
    pub(crate) fn too_big(&mut self, now: Instant, config: &Config, mtu: u32) -> Option<Option<u16>> {
        let sizes = sizes(config, self.under);
        let mtu = u16::try_from(mtu).ok().filter(|mtu| *mtu >= least(self.under))?;
        let mtu = aligned(config, self.under, mtu);
        if self.is_fixed() {
            return None;
        }
        match config.path_mtu.discovery {
            MtuDiscovery::Off => None,
            MtuDiscovery::Icmp => {
                if mtu >= self.mtu {
                    return None;
                }
                self.search = Some(Box::new(Search::lowered(sizes, mtu, now, config.path_mtu.raise_timer)));
                Some(Some(mtu))
            }
            MtuDiscovery::Probes => {
                let mut used = false;
                let changed = self.with_search(|search| used = search.too_big(now, mtu, &config.path_mtu));
                used.then_some(changed)
            }
        }
    }
}
