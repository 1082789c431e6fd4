//! When data is acknowledged (RFC 9260, 6.2).

use anabranch_base::Duration;

use super::entry::group;
use crate::config::values::ImmediateBit;
use crate::config::values::kinds::{FROM_ONE, IMMEDIATE_BIT, SACK_DELAY, SWITCH};

group! {
    /// When data is acknowledged (RFC 9260, 6.2).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct SackConfig {
        /// SACK.Delay: at most 500 ms.
        delay: Duration = Duration::from_millis(200) => {
            sack_delay: SACK_DELAY, [live]
            "SACK.Delay" ("RFC 9260, 16")
        };
        /// A SACK for every this many packets with DATA.
        every: u16 = 2 => {
            sack_every: FROM_ONE, [live]
            "a SACK for every this many packets" ("RFC 9260, 6.2")
        };
        /// True if the first DATA of an association is acknowledged at once (RFC 9260, 5.1).
        first_at_once: bool = true => {
            sack_first_at_once: SWITCH, []
            "the first DATA of an association is acknowledged at once" ("RFC 9260, 5.1")
        };
        /// DATA chunks that ask for a SACK at once.
        immediate_bit: ImmediateBit = ImmediateBit::Shutdown => {
            immediate_bit: IMMEDIATE_BIT, [live]
            "which DATA chunks ask for a SACK at once" ("RFC 7053")
        };
        /// True if a DATA chunk may ask for a SACK at once (RFC 7053).
        immediate_bit_obeyed: bool = true => {
            immediate_bit_obeyed: SWITCH, [live]
            "a DATA chunk may ask for a SACK at once (RFC 7053)" ("RFC 7053")
        };
    }
}
