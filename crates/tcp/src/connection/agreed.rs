//! Terms negotiated by the SYNs of both ends: segment sizes, window scaling, SACK.

use crate::config::Config;
use crate::header::Options;

/// Options that both ends support.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Agreed {
    peer_mss: u64,
    /// Shift of the peer's window field, and of ours; `None` when not in use.
    scales: Option<(u8, u8)>,
    sack: bool,
}

impl Agreed {
    /// The options of the peer's SYN.
    pub(super) fn new(config: &Config, options: &Options, is_ipv4: bool) -> Self {
        // RFC 9293, section 3.7.1: without the option 536 (IPv4) or 1220 (IPv6).
        let default = if is_ipv4 { 536 } else { 1220 };
        Self {
            peer_mss: u64::from(options.mss.unwrap_or(default)).max(64),
            scales: match options.window_scale {
                // RFC 7323, section 2.3: more than 14 counts as 14.
                Some(theirs) if config.window_scaling => Some((theirs.min(14), own_scale(config))),
                _ => None,
            },
            sack: config.sack && options.sack_permitted,
        }
    }

    /// Payload of a full segment beside so many bytes of options.
    pub(super) fn mss(&self, config: &Config, options: u64) -> u64 {
        u64::from(config.mss).min(self.peer_mss).saturating_sub(options).max(1)
    }

    #[inline]
    pub(super) fn sack(&self) -> bool {
        self.sack
    }

    /// Shift of the peer's window field, bits.
    #[inline]
    pub(super) fn peer_shift(&self) -> u8 {
        self.scales.map_or(0, |s| s.0)
    }

    /// Shift of our window field, bits.
    #[inline]
    pub(super) fn own_shift(&self) -> u8 {
        self.scales.map_or(0, |s| s.1)
    }

    /// The window scale option of our SYN-ACK; `None` where it has none.
    pub(super) fn answered_scale(&self) -> Option<u8> {
        self.scales.map(|s| s.1)
    }
}

/// The shift that our receive buffer needs. Linux takes the shift for a buffer of twice the largest window, half of which it
/// gives to its own bookkeeping.
pub(super) fn own_scale(config: &Config) -> u8 {
    if config.receive_buffer_limit > config.receive_buffer {
        let twice = config.receive_buffer_limit.saturating_mul(2);
        return (twice.ilog2().saturating_sub(15)).min(14) as u8;
    }
    (0..14).find(|shift| config.receive_buffer >> shift <= 0xffff).unwrap_or(14)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_syn_without_options_means_the_least() {
        let config = Config { sack: true, window_scaling: true, mss: 1460, ..Config::default() };
        let agreed = Agreed::new(&config, &Options::default(), true);
        assert_eq!((agreed.mss(&config, 0), agreed.sack(), agreed.own_shift()), (536, false, 0));
        assert_eq!(agreed.answered_scale(), None);
        assert_eq!(Agreed::new(&config, &Options::default(), false).mss(&config, 12), 1208);
    }

    #[test]
    fn shifts_are_limited_and_only_used_when_both_ask() {
        let config = Config { window_scaling: true, receive_buffer: 1 << 20, ..Config::default() };
        let asks = Options { window_scale: Some(20), ..Options::default() };
        let agreed = Agreed::new(&config, &asks, true);
        assert_eq!((agreed.peer_shift(), agreed.own_shift()), (14, 5));
        let alone = Config { window_scaling: false, ..config };
        assert_eq!(Agreed::new(&alone, &asks, true).peer_shift(), 0);
    }
}
