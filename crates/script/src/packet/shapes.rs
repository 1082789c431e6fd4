//! The layout of chunks, parameters and causes: names, numbers, fields. Both ways, building and reading, go by these
//! tables: a script must be able to write malformed chunks.

/// A number at a fixed place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fixed {
    /// Its name in scripts; empty: reserved, zero.
    pub(crate) key: &'static str,
    /// Bytes.
    pub(crate) size: usize,
    /// The number that is sent where a script gives none.
    pub(crate) default: u32,
    /// Whether it may be missing.
    pub(crate) optional: bool,
}

/// The variable part after the fixed numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tail {
    Nothing,
    /// `val`: bytes.
    Value,
    /// User data, which scripts do not show; `len` says how much.
    Payload,
    /// Parameters.
    Params,
    /// Error causes.
    Causes,
    /// Gap blocks and duplicates.
    Gaps,
    /// Gap blocks and duplicates, and the blocks that are not renegable (two counts and a reserved field more).
    NrGaps,
    /// Streams of FORWARD-TSN: `ids`.
    Ids,
    /// Streams of I-FORWARD-TSN: `ids`.
    MessageIds,
    /// A list of 16-bit numbers under this key.
    Words(&'static str),
    /// A count of 32 bits and so many 16-bit numbers, under this key.
    CountedWords(&'static str),
    /// A list of bytes that are chunk types, under this key.
    Types(&'static str),
    /// `addr`, four bytes.
    Ipv4,
    /// `addr`, sixteen bytes.
    Ipv6,
    /// `addr`, a name that a zero ends.
    Host,
    /// A list of parameters under this key.
    ParamList(&'static str),
    /// One chunk under this key.
    Chunk(&'static str),
    /// Text or bytes under this key.
    Info(&'static str),
}

/// A chunk, a parameter or a cause.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    pub(crate) code: u16,
    pub(crate) fixed: &'static [Fixed],
    pub(crate) tail: Tail,
}

/// The three tables of layouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    Chunk,
    Param,
    Cause,
}

impl Family {
    pub(crate) fn shapes(self) -> &'static [Shape] {
        match self {
            Self::Chunk => CHUNKS,
            Self::Param => PARAMS,
            Self::Cause => CAUSES,
        }
    }

    /// The name that stands for any of them, by number.
    pub(crate) fn generic(self) -> &'static str {
        match self {
            Self::Chunk => "CHUNK",
            Self::Param => "PARAMETER",
            Self::Cause => "CAUSE",
        }
    }

    /// The key of the number in the fields of [`Family::generic`].
    pub(crate) fn code_key(self) -> &'static str {
        match self {
            Self::Cause => "code",
            _ => "type",
        }
    }

    /// The key of the bytes in the fields of [`Family::generic`].
    pub(crate) fn value_key(self) -> &'static str {
        match self {
            Self::Cause => "info",
            _ => "val",
        }
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Chunk => "chunk",
            Self::Param => "parameter",
            Self::Cause => "cause",
        }
    }

    pub(crate) fn by_name(self, name: &str) -> Option<&'static Shape> {
        self.shapes().iter().find(|shape| shape.name == name)
    }

    pub(crate) fn by_code(self, code: u16) -> Option<&'static Shape> {
        self.shapes().iter().find(|shape| shape.code == code)
    }
}

impl Shape {
    /// Bytes of the fixed numbers that are always there.
    pub(crate) fn fixed_len(&self) -> usize {
        self.fixed.iter().filter(|fixed| !fixed.optional).map(|fixed| fixed.size).sum()
    }

    /// Every key that a script may give.
    pub(crate) fn keys(&self, family: Family) -> Vec<&'static str> {
        let mut keys = if family == Family::Chunk { vec!["flgs", "len"] } else { vec!["len"] };
        keys.extend(self.fixed.iter().map(|fixed| fixed.key).filter(|key| !key.is_empty()));
        match self.tail {
            Tail::Value => keys.push("val"),
            Tail::Gaps => keys.extend(["gaps", "dups"]),
            Tail::NrGaps => keys.extend(["gaps", "nr_gaps", "dups"]),
            Tail::Ids | Tail::MessageIds => keys.push("ids"),
            Tail::Ipv4 | Tail::Ipv6 | Tail::Host => keys.push("addr"),
            Tail::Words(key)
            | Tail::CountedWords(key)
            | Tail::Types(key)
            | Tail::ParamList(key)
            | Tail::Chunk(key)
            | Tail::Info(key) => keys.push(key),
            Tail::Nothing | Tail::Payload | Tail::Params | Tail::Causes => {}
        }
        if self.name == "I_DATA" {
            keys.push("fsn");
        }
        keys
    }
}

const fn word(key: &'static str, default: u32) -> Fixed {
    Fixed { key, size: 4, default, optional: false }
}

const fn half(key: &'static str, default: u32) -> Fixed {
    Fixed { key, size: 2, default, optional: false }
}

const fn maybe(key: &'static str) -> Fixed {
    Fixed { key, size: 4, default: 0, optional: true }
}

const fn shape(name: &'static str, code: u16, fixed: &'static [Fixed], tail: Tail) -> Shape {
    Shape { name, code, fixed, tail }
}

/// The window that a script's peer announces unless it says so.
const WINDOW: u32 = 65_536;

static INIT: [Fixed; 5] =
    [word("tag", 2), word("a_rwnd", WINDOW), half("os", 10), half("is", 10), word("tsn", 1)];
static TSN: [Fixed; 1] = [word("cum_tsn", 0)];
static LOWEST: [Fixed; 1] = [word("lowest_tsn", 0)];

static CHUNKS: &[Shape] = &[
    shape("DATA", 0, &[word("tsn", 1), half("sid", 0), half("ssn", 0), word("ppid", 0)], Tail::Payload),
    shape("INIT", 1, &INIT, Tail::Params),
    shape("INIT_ACK", 2, &INIT, Tail::Params),
    shape("SACK", 3, &[word("cum_tsn", 0), word("a_rwnd", WINDOW)], Tail::Gaps),
    shape("HEARTBEAT", 4, &[], Tail::Params),
    shape("HEARTBEAT_ACK", 5, &[], Tail::Params),
    shape("ABORT", 6, &[], Tail::Causes),
    shape("SHUTDOWN", 7, &TSN, Tail::Nothing),
    shape("SHUTDOWN_ACK", 8, &[], Tail::Nothing),
    shape("ERROR", 9, &[], Tail::Causes),
    shape("COOKIE_ECHO", 10, &[], Tail::Value),
    shape("COOKIE_ACK", 11, &[], Tail::Nothing),
    shape("ECNE", 12, &LOWEST, Tail::Nothing),
    shape("CWR", 13, &LOWEST, Tail::Nothing),
    shape("SHUTDOWN_COMPLETE", 14, &[], Tail::Nothing),
    shape("NR_SACK", 0x10, &[word("cum_tsn", 0), word("a_rwnd", WINDOW)], Tail::NrGaps),
    shape(
        "I_DATA",
        0x40,
        &[word("tsn", 1), half("sid", 0), half("", 0), word("mid", 0), word("ppid", 0)],
        Tail::Payload,
    ),
    shape("RECONFIG", 0x82, &[], Tail::Params),
    shape("PAD", 0x84, &[], Tail::Value),
    shape("FORWARD_TSN", 0xc0, &TSN, Tail::Ids),
    shape("I_FORWARD_TSN", 0xc2, &TSN, Tail::MessageIds),
];

static ADD: [Fixed; 3] = [word("req_sn", 0), half("number_of_new_streams", 1), half("", 0)];

static PARAMS: &[Shape] = &[
    shape("HEARTBEAT_INFORMATION", 1, &[], Tail::Value),
    shape("IPV4_ADDRESS", 5, &[], Tail::Ipv4),
    shape("IPV6_ADDRESS", 6, &[], Tail::Ipv6),
    shape("STATE_COOKIE", 7, &[], Tail::Value),
    shape("UNRECOGNIZED_PARAMETER", 8, &[], Tail::ParamList("params")),
    shape("COOKIE_PRESERVATIVE", 9, &[word("incr", 0)], Tail::Nothing),
    shape("HOSTNAME_ADDRESS", 11, &[], Tail::Host),
    shape("SUPPORTED_ADDRESS_TYPES", 12, &[], Tail::Words("types")),
    shape(
        "OUTGOING_SSN_RESET",
        13,
        &[word("req_sn", 0), word("resp_sn", 0), word("last_tsn", 0)],
        Tail::Words("sids"),
    ),
    shape("INCOMING_SSN_RESET", 14, &[word("req_sn", 0)], Tail::Words("sids")),
    shape("SSN_TSN_RESET", 15, &[word("req_sn", 0)], Tail::Nothing),
    shape(
        "RECONFIG_RESPONSE",
        16,
        &[word("resp_sn", 0), word("result", 1), maybe("sender_next_tsn"), maybe("receiver_next_tsn")],
        Tail::Nothing,
    ),
    shape("ADD_OUTGOING_STREAMS", 17, &ADD, Tail::Nothing),
    shape("ADD_INCOMING_STREAMS", 18, &ADD, Tail::Nothing),
    shape("ECN_CAPABLE", 0x8000, &[], Tail::Nothing),
    shape("ZERO_CHECKSUM_ACCEPTABLE", 0x8001, &[word("edmid", 1)], Tail::Nothing),
    shape("SUPPORTED_EXTENSIONS", 0x8008, &[], Tail::Types("types")),
    shape("FORWARD_TSN_SUPPORTED", 0xc000, &[], Tail::Nothing),
    shape("ADAPTATION_INDICATION", 0xc006, &[word("adaptation_code_point", 0)], Tail::Nothing),
];

static CAUSES: &[Shape] = &[
    shape("INVALID_STREAM_IDENTIFIER", 1, &[half("sid", 0), half("", 0)], Tail::Nothing),
    shape("MISSING_MANDATORY_PARAMETER", 2, &[], Tail::CountedWords("types")),
    shape("STALE_COOKIE_ERROR", 3, &[word("staleness", 0)], Tail::Nothing),
    shape("OUT_OF_RESOURCE", 4, &[], Tail::Nothing),
    shape("UNRESOLVABLE_ADDRESS", 5, &[], Tail::ParamList("param")),
    shape("UNRECOGNIZED_CHUNK_TYPE", 6, &[], Tail::Chunk("chk")),
    shape("INVALID_MANDATORY_PARAMETER", 7, &[], Tail::Nothing),
    shape("UNRECOGNIZED_PARAMETERS", 8, &[], Tail::ParamList("params")),
    shape("NO_USER_DATA", 9, &[word("tsn", 0)], Tail::Nothing),
    shape("COOKIE_RECEIVED_WHILE_SHUTDOWN", 10, &[], Tail::Nothing),
    shape("RESTART_WITH_NEW_ADDRESSES", 11, &[], Tail::ParamList("params")),
    shape("USER_INITIATED_ABORT", 12, &[], Tail::Info("info")),
    shape("PROTOCOL_VIOLATION", 13, &[], Tail::Info("info")),
    shape(
        "RESTART_WITH_NEW_ENCAPSULATION_PORT",
        14,
        &[half("current_port", 0), half("new_port", 0)],
        Tail::Nothing,
    ),
];
