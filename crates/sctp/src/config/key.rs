//! Values by their names.

use std::sync::LazyLock;

use anabranch_base::Dscp;

use super::Config;
use super::groups::entry::{About, Entry, entry};
use super::groups::{
    CongestionConfig, EmulationConfig, ExtensionConfig, LimitConfig, PacingConfig, PathMtuConfig, Quirks,
    SackConfig, StreamConfig, SubflowConfig, TimerConfig,
};
use super::values::Checksums;
use super::values::kinds::{CHECKSUMS, CODE_POINT, PACKET_SIZE, count};

/// One settable value.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// Type of the value: "switch", "number", "size", "time", "choice" or "list".
    pub kind: &'static str,
    /// Unit of a bare number, such as "B" or "PMDCS"; empty where it has none, or the text has units.
    pub unit: &'static str,
    /// Allowed values: the range of a number, the words of a choice.
    pub expected: &'static str,
    /// True if it can be changed while an association lives.
    pub changeable: bool,
    /// True if the handshake tells the peer the value, or something that follows from it.
    pub promised: bool,
    /// Its effect, in one sentence.
    pub doc: &'static str,
    /// Its source: a section of an RFC, a stack that behaves so, a study, or this project.
    pub source: &'static str,
    place: Place,
}

/// The values that belong to no group.
const TOP: &[Entry<Config>] = &[
    entry!(Config, checksums, Checksums, {
        checksums: CHECKSUMS, [promised]
        "whether CRC32c is computed and verified" ("RFC 9260, 6.8")
    }),
    entry!(Config, dscp, Dscp, {
        dscp: CODE_POINT, [live]
        "code point of the association's packets" ("RFC 7657")
    }),
    entry!(Config, ip_overhead, u16, {
        ip_overhead: count(), []
        "bytes of IPv4 header in front of SCTP; IPv6 adds 20, UDP 8" ("anabranch")
    }),
    entry!(Config, mtu, u16, {
        mtu: PACKET_SIZE, []
        "largest IP packet of the path, bytes" ("RFC 9260, 7.3")
    }),
];

macro_rules! places {
    ($($group:ident: $type:ty = $($field:ident).+;)+) => {
        /// The group that a value belongs to, and its entry there.
        #[derive(Clone, Copy)]
        enum Place {
            Top(&'static Entry<Config>),
            $( $group(&'static Entry<$type>), )+
        }

        impl Place {
            fn set(self, config: &mut Config, text: &str) -> Option<()> {
                match self {
                    Self::Top(entry) => (entry.set)(config, text),
                    $( Self::$group(entry) => (entry.set)(&mut config.$($field).+, text), )+
                }
            }

            fn get(self, config: &Config) -> String {
                match self {
                    Self::Top(entry) => (entry.get)(config),
                    $( Self::$group(entry) => (entry.get)(&config.$($field).+), )+
                }
            }
        }

        /// All of them, sorted by name.
        pub(super) static KEYS: LazyLock<Vec<Key>> = LazyLock::new(|| {
            let top = TOP.iter().map(|entry| Key::new(entry.about, Place::Top(entry)));
            let mut keys: Vec<Key> = top.collect();
            $( keys.extend(<$type>::ENTRIES.iter().map(|entry| Key::new(entry.about, Place::$group(entry)))); )+
            keys.sort_by_key(|key| key.name);
            keys
        });
    };
}

places! {
    Streams: StreamConfig = streams;
    Limits: LimitConfig = limits;
    Timers: TimerConfig = timers;
    Sack: SackConfig = sack;
    Congestion: CongestionConfig = congestion;
    Pacing: PacingConfig = pacing;
    Subflows: SubflowConfig = subflows;
    PathMtu: PathMtuConfig = path_mtu;
    Extensions: ExtensionConfig = extensions;
    Emulation: EmulationConfig = emulation;
    OfQuirks: Quirks = emulation.quirks;
}

impl std::fmt::Debug for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Place")
    }
}

impl Key {
    fn new(about: About, place: Place) -> Self {
        Self {
            name: about.name,
            kind: about.kind,
            unit: about.unit,
            expected: about.allowed,
            changeable: about.live,
            promised: about.promised,
            doc: about.sentence,
            source: about.source,
            place,
        }
    }

    /// The key of that name.
    pub(super) fn find(name: &str) -> Option<&'static Self> {
        let at = KEYS.binary_search_by_key(&name, |key| key.name).ok()?;
        KEYS.get(at)
    }

    /// Its value in the profile `rfc9260`, as text.
    #[must_use]
    pub fn default(&self) -> String {
        self.value(&Config::rfc9260())
    }

    /// The value as text.
    pub(super) fn value(&self, config: &Config) -> String {
        self.place.get(config)
    }

    /// Sets the value from text; `None` when it does not fit.
    pub(super) fn set(&self, config: &mut Config, text: &str) -> Option<()> {
        self.place.set(config, text)
    }

    /// Sets the value as another configuration has it; `None` when that is not allowed.
    pub(super) fn copy(&self, config: &mut Config, from: &Config) -> Option<()> {
        self.set(config, &self.value(from))
    }
}
