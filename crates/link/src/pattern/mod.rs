//! Patterns: effects on the packets of a link, position by position.
//!
//! A pattern has one kind (loss, bit errors, delay, bandwidth, order, copies, signals) and is driven by data (a position
//! is a packet) or by time (a position is a millisecond). The semantics are those of KauNet: the same pattern does the
//! same to the same packets, every time. The text format is our own (`docs/reference/patterns.md`).

pub mod convert;
pub mod generate;
pub(crate) mod player;
mod text;

use std::fmt;

use anabranch_base::{Duration, Instant};

/// Nanoseconds of a position that is driven by time.
pub(crate) const POSITION_NANOS: u64 = 1_000_000;

/// The property of the link or of its packets that a pattern changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Packets are lost.
    Loss,
    /// Bits of packets are flipped.
    BitError,
    /// The propagation delay, from a position on.
    Delay,
    /// The rate, from a position on.
    Bandwidth,
    /// Packets are overtaken by others.
    Reorder,
    /// Packets arrive more than once.
    Duplicate,
    /// A number is reported to the driver of the link.
    Trigger,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 7] = [
        Self::Loss,
        Self::BitError,
        Self::Delay,
        Self::Bandwidth,
        Self::Reorder,
        Self::Duplicate,
        Self::Trigger,
    ];

    /// As the text format writes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Loss => "loss",
            Self::BitError => "bit-error",
            Self::Delay => "delay",
            Self::Bandwidth => "bandwidth",
            Self::Reorder => "reorder",
            Self::Duplicate => "duplicate",
            Self::Trigger => "trigger",
        }
    }

    /// Whether an entry holds from its position on, not at its position only.
    #[must_use]
    pub const fn is_state(self) -> bool {
        matches!(self, Self::Delay | Self::Bandwidth)
    }
}

/// The unit of a pattern's positions: packets or time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Driven {
    /// A packet, counted from 1.
    #[default]
    Data,
    /// A millisecond: position 1 is the first one of the run.
    Time,
}

impl Driven {
    /// As the text format writes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Time => "time",
        }
    }
}

/// The change that takes place at a position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// The packet is lost.
    Lost,
    /// These bits are flipped, counted from 0 at the first bit of the transport header. A bit beyond the packet's end
    /// changes nothing.
    Bits(Vec<u32>),
    /// The propagation delay from here on.
    Delay(Duration),
    /// Bits per second from here on; 0 stops the link.
    Rate(u64),
    /// So many later packets pass this one.
    Behind(u32),
    /// So many copies follow it.
    Copies(u32),
    /// This number is reported.
    Signal(u32),
}

impl Value {
    /// The kind of pattern that it belongs into.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Lost => Kind::Loss,
            Self::Bits(_) => Kind::BitError,
            Self::Delay(_) => Kind::Delay,
            Self::Rate(_) => Kind::Bandwidth,
            Self::Behind(_) => Kind::Reorder,
            Self::Copies(_) => Kind::Duplicate,
            Self::Signal(_) => Kind::Trigger,
        }
    }
}

/// One value at a range of positions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The first position, from 1.
    pub first: u64,
    /// The last one; not below `first`. Kinds that are a state have single positions.
    pub last: u64,
    /// The change that takes place there.
    pub value: Value,
}

/// How long a packet waits for others to pass it, when the pattern does not say.
pub const HOLD_LIMIT: Duration = Duration::from_secs(1);

/// A pattern. [`Pattern::new`] and reading its text make only sound ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    kind: Kind,
    driven: Driven,
    length: Option<u64>,
    repeat: bool,
    hold: Duration,
    entries: Vec<Entry>,
}

/// A pattern that makes no sense: one sentence with the fault, its place and the allowed values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternError(pub(crate) String);

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PatternError {}

impl Pattern {
    /// A pattern from its entries.
    ///
    /// # Errors
    ///
    /// When an entry is of another kind, when positions start below 1, fall or overlap, lie beyond `length`, when a
    /// state is given for a range, or when a pattern without a length shall repeat.
    pub fn new(
        kind: Kind,
        driven: Driven,
        length: Option<u64>,
        repeat: bool,
        entries: Vec<Entry>,
    ) -> Result<Self, PatternError> {
        let problem = |text: String| Err(PatternError(text));
        if length == Some(0) {
            return problem("a pattern has at least 1 position".to_owned());
        }
        if repeat && length.is_none() {
            return problem("a pattern that repeats needs a length".to_owned());
        }
        let mut end = 0;
        for Entry { first, last, value } in &entries {
            if value.kind() != kind {
                return problem(format!(
                    "position {first}: a value of kind {} in a pattern of kind {}",
                    value.kind().name(),
                    kind.name()
                ));
            }
            if *first <= end {
                return problem(format!("position {first} is out of order; positions rise from 1"));
            }
            if last < first {
                return problem(format!("positions {first}-{last} end before they start"));
            }
            if kind.is_state() && last != first {
                return problem(format!(
                    "positions {first}-{last}: a {} holds until the next entry; allowed: a single position",
                    kind.name()
                ));
            }
            if length.is_some_and(|length| *last > length) {
                return problem(format!(
                    "position {last} lies beyond the length {}",
                    length.unwrap_or_default()
                ));
            }
            end = *last;
        }
        Ok(Self { kind, driven, length, repeat, hold: HOLD_LIMIT, entries })
    }

    /// This pattern, but a packet that no other passes waits `hold` at most (kind reorder).
    #[must_use]
    pub fn holding(self, hold: Duration) -> Self {
        Self { hold, ..self }
    }

    /// The property that it changes.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// The unit of its positions.
    #[must_use]
    pub const fn driven(&self) -> Driven {
        self.driven
    }

    /// Number of positions, if it has an end.
    #[must_use]
    pub const fn length(&self) -> Option<u64> {
        self.length
    }

    /// Whether it begins anew after its last position.
    #[must_use]
    pub const fn repeats(&self) -> bool {
        self.repeat
    }

    /// How long a packet waits for others to pass it.
    #[must_use]
    pub const fn hold(&self) -> Duration {
        self.hold
    }

    /// The entries, in order.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Positions that an entry names.
    #[must_use]
    pub fn marked(&self) -> u64 {
        self.entries.iter().map(|entry| entry.last - entry.first + 1).sum()
    }
}

/// A number that a pattern of kind trigger reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signal {
    /// When the packet that set it off had been sent.
    pub at: Instant,
    /// The number.
    pub value: u32,
}

#[cfg(test)]
mod tests;
