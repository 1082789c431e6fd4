//! The search for the MTU of a path by probes: the state machine of RFC 8899, section 5, and section 6.2 for SCTP.
//!
//! Sizes are those of IP packets, so low that an SCTP packet of a multiple of four bytes fills them. A probe is a HEARTBEAT with a PAD
//! chunk behind it; its answer says that the size fits. A probe that is lost says nothing of congestion or of the path: it "is
//! discounted (assumed to be a result of choosing too large a PLPMTU)" (RFC 8899, 6.2.1.2).
//!
//! The order of sizes: first the largest, which most paths carry, or the size that ICMP named; then always the middle between the
//! largest that fits and the smallest that does not, until nothing lies between them.

use anabranch_base::{Duration, Instant};

use crate::config::PathMtuConfig;

/// Steps of the search, bytes: SCTP packets are multiples of four.
const STEP: u16 = 4;
/// In the state Error a probe leaves so often: "SHOULD be larger than 15 seconds" (RFC 8899, 5.1.1).
const ERROR_INTERVAL: Duration = Duration::from_secs(15);

/// The state of the search (RFC 8899, 5.2), without Disabled: a path that is not connected has no search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SearchState {
    /// No search: the user has set the MTU of the path.
    Fixed,
    /// No probes: ICMP has lowered the MTU, which is raised again after PMTU_RAISE_TIMER (RFC 1191, 6.3).
    Lowered,
    /// A probe of BASE_PLPMTU is not answered yet.
    Base,
    /// A larger size is looked for.
    Searching,
    /// The size is known; PMTU_RAISE_TIMER runs.
    Complete,
    /// BASE_PLPMTU does not fit.
    Error,
}

/// Sizes between which the search goes on, bytes of IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// MIN_PLPMTU.
    pub(crate) min: u16,
    /// BASE_PLPMTU.
    pub(crate) base: u16,
    /// MAX_PLPMTU.
    pub(crate) max: u16,
}

/// The search for the MTU of one path.
#[derive(Debug)]
pub(crate) struct Search {
    state: SearchState,
    sizes: Sizes,
    /// PLPMTU: the size that is used.
    mtu: u16,
    /// The largest size that is not known to be too large: no sum of sizes, which the largest of all would carry past 16 bits.
    most: u16,
    /// The size to be tried first, if it still lies between the two.
    first: Option<u16>,
    /// PROBED_SIZE.
    probed: u16,
    /// PROBE_COUNT.
    count: u8,
    /// Nonce of the probe without an answer, and when it left.
    awaiting: Option<(u64, Instant)>,
    /// PROBE_TIMER or PMTU_RAISE_TIMER.
    timer: Option<Instant>,
    /// Set while the path is suspected to be a black hole, because packets were lost again and again: the longest SCTP packet that is known to have arrived since, bytes; 0: none.
    suspected: Option<u16>,
}

impl Search {
    /// The path is connected: BASE_PLPMTU is used, and is to be confirmed.
    pub(crate) fn new(sizes: Sizes) -> Self {
        let mut new = Self {
            state: SearchState::Base,
            sizes,
            mtu: sizes.base,
            most: sizes.max,
            first: None,
            probed: 0,
            count: 0,
            awaiting: None,
            timer: None,
            suspected: None,
        };
        new.begin_base(None);
        new
    }

    /// ICMP has lowered the MTU of a path that is not probed.
    pub(crate) fn lowered(sizes: Sizes, mtu: u16, now: Instant, raise: Duration) -> Self {
        Self { state: SearchState::Lowered, mtu, probed: 0, timer: Some(now + raise), ..Self::new(sizes) }
    }

    /// The user sets the MTU of the path.
    pub(crate) fn fixed(sizes: Sizes, mtu: u16) -> Self {
        Self { state: SearchState::Fixed, mtu, probed: 0, ..Self::new(sizes) }
    }

    pub(crate) fn state(&self) -> SearchState {
        self.state
    }

    /// The size that is used, bytes.
    pub(crate) fn mtu(&self) -> u16 {
        self.mtu
    }

    /// PROBE_TIMER or PMTU_RAISE_TIMER.
    #[inline]
    pub(crate) fn timer(&self) -> Option<Instant> {
        self.timer
    }

    /// The size of a probe that must leave now, bytes.
    pub(crate) fn due(&self) -> Option<u16> {
        (self.probed > 0 && self.awaiting.is_none() && self.timer.is_none()).then_some(self.probed)
    }

    /// A probe leaves.
    pub(crate) fn sent(&mut self, now: Instant, nonce: u64, wait: Duration) {
        self.awaiting = Some((nonce, now));
        self.timer = Some(now + wait);
    }

    /// Takes an answer to a probe; true if it answers the probe that was sent last, whose size fits then.
    pub(crate) fn answered(
        &mut self,
        now: Instant,
        nonce: u64,
        sent: Instant,
        rules: &PathMtuConfig,
    ) -> bool {
        if self.awaiting != Some((nonce, sent)) {
            return false;
        }
        self.awaiting = None;
        self.timer = None;
        self.count = 0;
        self.mtu = self.probed;
        if matches!(self.state, SearchState::Base | SearchState::Error) {
            self.state = SearchState::Searching;
        }
        self.go_on(now, rules);
        true
    }

    /// Data that filled a packet of BASE_PLPMTU was acknowledged, which says as much as the answer to a probe: "Probing using
    /// application data" (RFC 8899, 4.1). Peers that answer no HEARTBEAT with a PAD chunk behind it would leave us at MIN_PLPMTU otherwise.
    pub(crate) fn base_arrived(&mut self, now: Instant, rules: &PathMtuConfig) {
        if self.state == SearchState::Base {
            self.awaiting = None;
            self.timer = None;
            self.count = 0;
            self.state = SearchState::Searching;
            self.go_on(now, rules);
        }
    }

    /// PROBE_TIMER or PMTU_RAISE_TIMER has expired.
    // rfc8899:3-7 rfc8899:3-12 rfc8899:3-13 rfc8899:3-18 rfc8899:3-22 rfc8899:8-1
    pub(crate) fn expired(&mut self, now: Instant, rules: &PathMtuConfig) {
        self.timer = None;
        if self.awaiting.take().is_some() {
            self.count += 1;
            // "Each time the PROBE_TIMER expires, the PROBE_COUNT is incremented, ... and a new probe of the same size or any other
            // size (determined by the search algorithm) can be sent" (RFC 8899, 5.3.1).
            if self.count >= rules.max_probes {
                self.count = 0;
                self.give_up_size(now, rules);
            }
            return;
        }
        match self.state {
            SearchState::Complete => {
                self.state = SearchState::Searching;
                self.most = self.sizes.max;
                self.first = Some(self.sizes.max);
                self.go_on(now, rules);
            }
            SearchState::Lowered => {
                self.mtu = self.sizes.max;
            }
            _ => {}
        }
    }

    /// MAX_PROBES probes of a size were lost.
    fn give_up_size(&mut self, now: Instant, rules: &PathMtuConfig) {
        match self.state {
            SearchState::Base => self.begin_error(None),
            // The size that ICMP named did not fit either.
            SearchState::Error if self.probed > self.sizes.min => self.probed = self.sizes.min,
            SearchState::Error => {
                // Nothing arrives: an outage, after which the base and more may fit.
                self.begin_error(None);
                self.timer = Some(now + ERROR_INTERVAL);
            }
            SearchState::Searching => {
                self.most = self.probed.saturating_sub(STEP);
                self.go_on(now, rules);
            }
            SearchState::Complete | SearchState::Lowered | SearchState::Fixed => {}
        }
    }

    /// True if reports of the packets that arrive are of use.
    pub(crate) fn waits_for_packets(&self) -> bool {
        self.state == SearchState::Base || self.suspected.is_some()
    }

    /// An SCTP packet of `len` bytes has arrived that was not fragmented; the largest in use has `most`.
    pub(crate) fn arrived(&mut self, len: usize, most: usize) {
        if len >= most {
            self.suspected = None;
        } else if let (Some(longest), Ok(len)) = (&mut self.suspected, u16::try_from(len)) {
            *longest = len.max(*longest);
        }
    }

    /// A packet of `len` bytes was lost again; 0: none longer than every path carries. If no packet of its size has
    /// arrived since the last such report, the path is suspected not to carry it. Packets that are smaller, on
    /// any lane, do not refute that.
    pub(crate) fn lost_again(&mut self, len: usize) {
        if !matches!(self.state, SearchState::Searching | SearchState::Complete) {
            return;
        }
        match self.suspected {
            None => self.suspected = Some(0),
            Some(_) if len == 0 => {}
            Some(arrived) if usize::from(arrived) >= len => self.suspected = Some(0),
            Some(_) => self.black_hole(),
        }
    }

    /// "This could be an indication of a black hole" (RFC 8899, 4.6.2), or data of the size in use is lost again and
    /// again (RFC 8899, 4.3): BASE_PLPMTU is used until more is known, and is probed again where it was in use
    /// itself: figure 5 leads from Search and Search Complete to Base, and from there, if its probes are lost, to
    /// Error. Below the base there is Error alone. The size used before is tried again later: it may have been an
    /// outage.
    fn black_hole(&mut self) {
        self.suspected = None;
        let used = self.mtu;
        if used > self.sizes.base {
            self.most = used;
            self.begin_base(Some(used));
        } else if used == self.sizes.base {
            self.begin_base(self.first);
        } else {
            self.most = used;
            self.begin_error(Some(used));
        }
    }

    /// A PTB message that was validated (RFC 8899, 4.6.2). False when it is ignored. The PLPMTU never becomes smaller than BASE_PLPMTU
    /// "solely in response to receiving a PTB message" (RFC 8899, 8), unless the probe of that size has been called too big as well.
    // rfc8899:3-10 rfc8899:3-11 rfc8899:4.6.2-1 rfc8899:6.2.1.4-2
    pub(crate) fn too_big(&mut self, now: Instant, size: u16, rules: &PathMtuConfig) -> bool {
        // "PL_PTB_SIZE >= PROBED_SIZE: Inconsistent network signal."
        let largest = if self.awaiting.is_some() { self.probed.max(self.mtu) } else { self.mtu };
        if size < self.sizes.min || size >= largest {
            return false;
        }
        self.most = size;
        if self.state == SearchState::Base {
            // "PTB: PL_PTB_SIZE < BASE_PLPMTU" leads to Error (figure 5); before the probe has left, the message is about a data packet.
            match self.awaiting {
                Some(_) => self.begin_error(Some(size)),
                None => self.first = Some(size),
            }
        } else if size < self.mtu {
            // "The PLPMTU SHOULD be set to BASE_PLPMTU", and the size "can be used to initialize a search algorithm".
            self.begin_base(Some(size));
        } else {
            // "The PL can use the reported PL_PTB_SIZE from the PTB message as the next search point".
            self.awaiting = None;
            self.timer = None;
            self.count = 0;
            self.first = Some(size);
            if self.state == SearchState::Error {
                self.probed = size;
            } else {
                self.go_on(now, rules);
            }
        }
        true
    }

    fn begin_base(&mut self, first: Option<u16>) {
        self.state = SearchState::Base;
        self.mtu = self.sizes.base;
        self.probed = self.sizes.base;
        self.first = first.or(Some(self.sizes.max));
        self.count = 0;
        self.awaiting = None;
        self.timer = None;
    }

    fn begin_error(&mut self, named: Option<u16>) {
        self.state = SearchState::Error;
        self.mtu = self.sizes.min;
        self.probed = named.unwrap_or(self.sizes.min);
        if named.is_none() {
            // No ICMP message has said that the base is too large: it may have been an outage, and is tried first when something arrives.
            self.most = self.sizes.max;
        }
        self.first = named.or(Some(self.sizes.base));
        self.count = 0;
        self.awaiting = None;
        self.timer = None;
    }

    /// The next size, or the end of the search.
    // rfc8899:3-8 rfc8899:3-24 rfc8899:5.2-1 rfc8899:5.3.2-1
    fn go_on(&mut self, now: Instant, rules: &PathMtuConfig) {
        let between = |size: &u16| *size > self.mtu && *size <= self.most;
        if let Some(first) = self.first.take().filter(between) {
            self.probed = first;
            return;
        }
        // Halfway to the smallest that does not fit, a step above `most`.
        let middle = self.mtu + (self.most.saturating_sub(self.mtu) / 2 + STEP / 2) / STEP * STEP;
        if middle > self.mtu {
            self.probed = middle;
        } else {
            self.state = SearchState::Complete;
            self.probed = 0;
            // At the largest size nothing is looked for later, however short PMTU_RAISE_TIMER is.
            self.timer = (self.mtu < self.sizes.max).then(|| now + rules.raise_timer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: PathMtuConfig = PathMtuConfig::DEFAULT;
    const SIZES: Sizes = Sizes { min: 576, base: 1200, max: 1500 };

    /// Lets a search run on a path that carries so much; returns its result, and the number of probes.
    fn find(search: &mut Search, now: &mut Instant, carries: u16) -> (u16, u32) {
        let mut probes = 0;
        while let Some(size) = search.due() {
            probes += 1;
            search.sent(*now, u64::from(probes), Duration::from_secs(1));
            if size <= carries {
                assert!(search.answered(*now, u64::from(probes), *now, &RULES));
            } else {
                *now += Duration::from_secs(1);
                search.expired(*now, &RULES);
            }
            assert!(probes < 100, "no end at {size}");
        }
        (search.mtu(), probes)
    }

    #[test]
    fn every_size_is_found() {
        for carries in (576..=1504).step_by(4) {
            let (mut search, mut now) = (Search::new(SIZES), Instant::ZERO);
            let (found, probes) = find(&mut search, &mut now, carries);
            // Below 1200 the search begins at 576.
            assert_eq!(found, carries.min(1500), "after {probes} probes");
            assert!(probes <= 3 * 10 + 3, "{probes} probes for {carries}");
            assert_eq!(search.state(), SearchState::Complete);
            let raise = (found < 1500).then(|| now + RULES.raise_timer);
            assert_eq!(search.timer(), raise, "{found}");
        }
        let (mut search, mut now) = (Search::new(SIZES), Instant::ZERO);
        assert_eq!(find(&mut search, &mut now, 1500), (1500, 2), "the common case: base and the largest");
    }

    #[test]
    fn a_path_that_carries_nothing_ends_in_error_and_goes_on_asking() {
        let (mut search, mut now) = (Search::new(SIZES), Instant::ZERO);
        assert_eq!(find(&mut search, &mut now, 0), (576, 6));
        assert_eq!(search.state(), SearchState::Error);
        let asks = search.timer().unwrap();
        assert_eq!(asks, now + ERROR_INTERVAL);
        search.expired(asks, &RULES);
        assert_eq!(search.due(), Some(576));
        now = asks;
        // "until a consistent view of the path can be discovered".
        assert_eq!(find(&mut search, &mut now, 1500).0, 1500, "it was an outage");
    }

    #[test]
    fn the_largest_sizes_of_16_bits() {
        for max in [65_528, 65_532] {
            for carries in (65_500..=max).step_by(4).chain([1200, 9000]) {
                let sizes = Sizes { min: 576, base: 1200, max };
                let (mut search, mut now) = (Search::new(sizes), Instant::ZERO);
                assert_eq!(find(&mut search, &mut now, carries).0, carries);
                search.black_hole();
                assert_eq!(find(&mut search, &mut now, carries).0, carries);
                if let Some(raise) = search.timer() {
                    search.expired(raise, &RULES);
                    assert_eq!(find(&mut search, &mut now, carries).0, carries);
                }
            }
        }
    }

    #[test]
    fn a_single_loss_is_no_verdict() {
        let mut search = Search::new(SIZES);
        for lost in 0..2 {
            assert_eq!(search.due(), Some(1200), "{lost} lost");
            search.sent(Instant::ZERO, 7, Duration::from_secs(1));
            assert_eq!(search.due(), None, "one at a time");
            search.expired(Instant::ZERO, &RULES);
        }
        search.sent(Instant::ZERO, 8, Duration::from_secs(1));
        assert!(
            !search.answered(Instant::ZERO, 7, Instant::ZERO, &RULES),
            "a late answer to an earlier probe"
        );
        assert!(search.answered(Instant::ZERO, 8, Instant::ZERO, &RULES));
        assert_eq!((search.state(), search.due()), (SearchState::Searching, Some(1500)));
    }

    fn complete(carries: u16) -> (Search, Instant) {
        let (mut search, mut now) = (Search::new(SIZES), Instant::ZERO);
        find(&mut search, &mut now, carries);
        (search, now)
    }

    #[test]
    fn a_black_hole_is_left_by_the_base() {
        let (mut search, mut now) = complete(1500);
        search.black_hole();
        assert_eq!((search.state(), search.mtu()), (SearchState::Base, 1200));
        assert_eq!(find(&mut search, &mut now, 1300).0, 1300);
        search.black_hole();
        assert_eq!(find(&mut search, &mut now, 1300).0, 1300, "an outage: the size is found again");
    }

    #[test]
    fn a_black_hole_at_the_base_is_left_by_the_least() {
        let (mut search, mut now) = complete(1200);
        search.black_hole();
        assert_eq!((search.state(), search.mtu(), search.due()), (SearchState::Base, 1200, Some(1200)));
        assert_eq!(
            find(&mut search, &mut now, 1200),
            (1200, 1),
            "an outage: what is larger is not asked again"
        );
        search.black_hole();
        assert_eq!(find(&mut search, &mut now, 1000).0, 1000);
        // And again below the base.
        search.black_hole();
        assert_eq!((search.state(), search.mtu(), search.due()), (SearchState::Error, 576, Some(1000)));
        assert_eq!(find(&mut search, &mut now, 800).0, 800);
        search.black_hole();
        assert_eq!(find(&mut search, &mut now, 800).0, 800, "an outage");
    }

    #[test]
    fn only_a_packet_that_is_as_long_takes_the_doubt_away() {
        let lost = |search: &mut Search, len| {
            search.lost_again(len);
            search.state() == SearchState::Base
        };
        let (mut search, _) = complete(1500);
        assert!(!search.waits_for_packets());
        assert!(!lost(&mut search, 0) && search.waits_for_packets());
        search.arrived(200, 1480);
        assert!(!lost(&mut search, 0), "nothing that is longer than the least was lost");
        assert!(lost(&mut search, 1400));
        let (mut search, _) = complete(1500);
        assert!(!lost(&mut search, 0));
        search.arrived(1400, 1480);
        assert!(!lost(&mut search, 1400), "one of that size has arrived since");
        assert!(lost(&mut search, 1400));
        let (mut search, _) = complete(1500);
        assert!(!lost(&mut search, 0));
        search.arrived(1480, 1480);
        assert!(!search.waits_for_packets() && !lost(&mut search, 1480));
    }

    #[test]
    fn data_confirms_the_base_where_no_probe_is_answered() {
        let (mut search, mut now) = (Search::new(SIZES), Instant::ZERO);
        search.sent(now, 1, Duration::from_secs(1));
        search.base_arrived(now, &RULES);
        assert_eq!((search.state(), search.mtu(), search.due()), (SearchState::Searching, 1200, Some(1500)));
        assert!(!search.answered(now, 1, now, &RULES), "the answer to the probe of the base comes late");
        assert_eq!(find(&mut search, &mut now, 0).0, 1200, "no probe is answered");
        assert_eq!(search.state(), SearchState::Complete);
        // A base that arrives says nothing of other sizes.
        search.base_arrived(now, &RULES);
        assert_eq!(search.state(), SearchState::Complete);
    }

    #[test]
    fn what_icmp_says_is_a_hint() {
        // While the largest is probed: "the next search point".
        let mut search = Search::new(SIZES);
        search.sent(Instant::ZERO, 1, Duration::from_secs(1));
        search.answered(Instant::ZERO, 1, Instant::ZERO, &RULES);
        search.sent(Instant::ZERO, 2, Duration::from_secs(1));
        for nonsense in [0, 68, 575, 1500, 1501, 65_535] {
            assert!(!search.too_big(Instant::ZERO, nonsense, &RULES), "{nonsense}");
        }
        assert!(search.too_big(Instant::ZERO, 1492, &RULES));
        assert_eq!((search.mtu(), search.due()), (1200, Some(1492)));
        let mut now = Instant::ZERO;
        assert_eq!(find(&mut search, &mut now, 1492), (1492, 1), "nothing lies between");
        // A message about a data packet: "MUST NOT be used directly to set the PLPMTU".
        assert!(!search.too_big(now, 1492, &RULES) && !search.too_big(now, 1496, &RULES));
        assert!(search.too_big(now, 1400, &RULES));
        assert_eq!((search.state(), search.mtu(), search.due()), (SearchState::Base, 1200, Some(1200)));
        assert_eq!(find(&mut search, &mut now, 1400), (1400, 2));
        // Below the base: first the base is asked, then, when that is too big, the size in the ICMP message.
        assert!(search.too_big(now, 1000, &RULES));
        assert_eq!((search.state(), search.mtu()), (SearchState::Base, 1200), "never below the base at once");
        search.sent(now, 9, Duration::from_secs(1));
        assert!(search.too_big(now, 1000, &RULES));
        assert_eq!((search.state(), search.mtu(), search.due()), (SearchState::Error, 576, Some(1000)));
        assert_eq!(find(&mut search, &mut now, 1000), (1000, 1));
        assert_eq!(search.state(), SearchState::Complete);
    }

    #[test]
    fn a_lie_costs_little() {
        let (mut search, mut now) = complete(1500);
        assert!(search.too_big(now, 600, &RULES));
        assert_eq!(
            find(&mut search, &mut now, 1500).0,
            1200,
            "no more than the lie, but for the base that was confirmed"
        );
        search.expired(search.timer().unwrap(), &RULES);
        assert_eq!(find(&mut search, &mut now, 1500).0, 1500);
    }

    #[test]
    fn lowered_by_icmp_and_raised_again() {
        let now = Instant::ZERO;
        let mut search = Search::lowered(SIZES, 1300, now, RULES.raise_timer);
        assert_eq!((search.mtu(), search.due(), search.timer()), (1300, None, Some(now + RULES.raise_timer)));
        search.expired(now + RULES.raise_timer, &RULES);
        assert_eq!((search.mtu(), search.timer()), (1500, None));
    }
}
