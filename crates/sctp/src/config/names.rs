//! Profiles by their names.

use super::Config;

impl Config {
    /// Names that [`Config::named`] knows, sorted.
    pub const PROFILES: [&'static str; 14] = [
        "kame-2006",
        "kame-2006-bugs",
        "linux-6.1",
        "lksctp-2006",
        "lksctp-2006-bugs",
        "modern",
        "ns2-2.28",
        "ns2-2.35",
        "rfc2960",
        "rfc9260",
        "rfc9260-rack",
        "sctplib-2001",
        "sf2007",
        "webrtc",
    ];

    /// The profile of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "rfc9260" => Some(Self::rfc9260()),
            "modern" => Some(Self::modern()),
            "rfc2960" => Some(Self::rfc2960()),
            "ns2-2.28" => Some(Self::ns2_2_28()),
            "ns2-2.35" => Some(Self::ns2_2_35()),
            "sf2007" => Some(Self::sf2007()),
            "rfc9260-rack" => Some(Self::rfc9260_rack()),
            "linux-6.1" => Some(Self::linux_6_1()),
            "kame-2006" => Some(Self::kame_2006()),
            "kame-2006-bugs" => Some(Self::kame_2006_bugs()),
            "lksctp-2006" => Some(Self::lksctp_2006()),
            "lksctp-2006-bugs" => Some(Self::lksctp_2006_bugs()),
            "webrtc" => Some(Self::webrtc()),
            "sctplib-2001" => Some(Self::sctplib_2001()),
            _ => None,
        }
    }
}
