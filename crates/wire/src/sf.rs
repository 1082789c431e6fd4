//! Code points of the subflow extension SF (level 1), all in one table.
//!
//! None of them is assigned by IANA. The numbers were chosen so that a peer which has never heard of them does the
//! right thing: the two highest bits of a type prescribe it (RFC 9260 sections 3.2 and 3.2.1). Where one of these
//! numbers is assigned to another use, both sides replace the table; [`CodePoints::check`] says whether the new ones
//! keep those bits and stay clear of everything known.

use crate::unknown::{self, UnknownAction};

/// Numbers of the chunks, parameters and causes of the extension; both sides need the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CodePoints {
    /// Chunk SF-DATA. Action bits 01: data must never be lost silently, so a peer that does not know it says so.
    pub data: u8,
    /// Chunk SF-SACK. Action bits 10: skipped, and later chunks of the packet survive.
    pub sack: u8,
    /// Chunk SF-FORWARD. Action bits 11: skipped and reported, as I-FORWARD-TSN is.
    pub forward: u8,
    /// Parameter SF-CAP of INIT and INIT ACK. Action bits 10: skipped without a word; plain SCTP results.
    pub capability: u16,
    /// Request SF-ADD of RE-CONFIG. Action bits 01.
    pub add: u16,
    /// Request SF-DEL of RE-CONFIG. Action bits 01.
    pub delete: u16,
    /// Error cause SF-Violation.
    pub violation: u16,
}

/// Why a table of code points cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodePointError {
    /// The two highest bits of a type tell peers that do not know it what to do.
    #[error("code point {name} = {value:#06x}: its two highest bits must be {bits:02b}")]
    ActionBits {
        /// Name of the entry in the table.
        name: &'static str,
        /// Its value.
        value: u16,
        /// The required value of the bits.
        bits: u8,
    },
    /// The number means something else already.
    #[error("code point {name} = {value:#06x} is taken by {by}")]
    Taken {
        /// Name of the entry in the table.
        name: &'static str,
        /// Its value.
        value: u16,
        /// The use that the number is assigned to.
        by: &'static str,
    },
}

/// Chunk types with action bits 01, 10 or 11 that have a meaning, and whose.
const CHUNKS: [(u8, &str); 12] = [
    (0x40, "I-DATA (RFC 8260)"),
    (0x41, "the DTLS chunk (draft)"),
    (0x7F, "an IETF extension of chunk types"),
    (0x80, "ASCONF-ACK (RFC 5061)"),
    (0x81, "PKTDROP (in use, not assigned)"),
    (0x82, "RE-CONFIG (RFC 6525)"),
    (0x84, "PAD (RFC 4820)"),
    (0xBF, "an IETF extension of chunk types"),
    (0xC0, "FORWARD-TSN (RFC 3758)"),
    (0xC1, "ASCONF (RFC 5061)"),
    (0xC2, "I-FORWARD-TSN (RFC 8260)"),
    (0xFF, "an IETF extension of chunk types"),
];

/// Parameter types 0x8000 up to this one have a meaning or are asked for by drafts; none with action bits 01 has.
const LAST_PARAMETER_TAKEN: u16 = 0x80FF;

/// The parameter Selected Gap Blocks (docs/reference/extensions.md), chosen in the same way: action bits 10.
pub(crate) const SELECTED_GAP_BLOCKS: u16 = 0xB15A;

impl CodePoints {
    /// The numbers this project uses.
    pub const DEFAULT: Self = Self {
        data: 0x5F,
        sack: 0x9F,
        forward: 0xDF,
        capability: 0xB05F,
        add: 0x405F,
        delete: 0x4060,
        violation: 0x5F01,
    };

    /// Whether peers that do not know these numbers would treat them as they must, and no other extension uses them.
    ///
    /// # Errors
    /// The first entry with the wrong action bits or a number that is taken, also by another entry.
    pub fn check(&self) -> Result<(), CodePointError> {
        let chunks = [("data", self.data, 0b01), ("sack", self.sack, 0b10), ("forward", self.forward, 0b11)];
        for (name, kind, bits) in chunks {
            let value = u16::from(kind);
            if kind >> 6 != bits {
                return Err(CodePointError::ActionBits { name, value, bits });
            }
            if let Some(&(_, by)) = CHUNKS.iter().find(|&&(taken, _)| taken == kind) {
                return Err(CodePointError::Taken { name, value, by });
            }
        }
        let params =
            [("capability", self.capability, 0b10), ("add", self.add, 0b01), ("delete", self.delete, 0b01)];
        for (name, value, bits) in params {
            if (value >> 14) as u8 != bits {
                return Err(CodePointError::ActionBits { name, value, bits });
            }
            if (0x8000..=LAST_PARAMETER_TAKEN).contains(&value) {
                let by = "a parameter of RFC 4895, 4820, 5061, 9653 or a draft";
                return Err(CodePointError::Taken { name, value, by });
            }
            if value == SELECTED_GAP_BLOCKS {
                return Err(CodePointError::Taken { name, value, by: "Selected Gap Blocks" });
            }
        }
        if self.add == self.delete {
            return Err(CodePointError::Taken { name: "delete", value: self.delete, by: "add" });
        }
        // Assigned causes are 1 to 13 and 0xA0 to 0xA8, 0x100 to 0x105 (RFC 5061, 4895).
        if self.violation < 0x0200 {
            let by = "a cause of RFC 9260, 4895 or 5061";
            return Err(CodePointError::Taken { name: "violation", value: self.violation, by });
        }
        Ok(())
    }

    /// The chunk types that an endpoint with the extension lists in Supported Extensions, besides those of RFC 8260
    /// and RFC 6525.
    #[must_use]
    pub const fn chunk_types(&self) -> [u8; 3] {
        [self.data, self.sack, self.forward]
    }

    /// The treatment of SF-DATA by a peer that does not know it: it stops and reports.
    #[must_use]
    pub const fn data_unknown(&self) -> UnknownAction {
        unknown::chunk_action(self.data)
    }
}

impl Default for CodePoints {
    fn default() -> Self {
        Self::DEFAULT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_table_is_good() {
        assert_eq!(CodePoints::DEFAULT.check(), Ok(()));
        assert_eq!(CodePoints::DEFAULT.data_unknown(), UnknownAction::StopReport);
        assert_eq!(crate::chunk::unknown_action(CodePoints::DEFAULT.sack), UnknownAction::Skip);
        assert_eq!(crate::chunk::unknown_action(CodePoints::DEFAULT.forward), UnknownAction::SkipReport);
        assert_eq!(crate::param::unknown_action(CodePoints::DEFAULT.capability), UnknownAction::Skip);
        assert_eq!(crate::param::unknown_action(CodePoints::DEFAULT.add), UnknownAction::StopReport);
        assert_eq!(crate::param::unknown_action(CodePoints::DEFAULT.delete), UnknownAction::StopReport);
    }

    #[test]
    fn tables_that_cannot_be_used() {
        let ok = CodePoints::DEFAULT;
        assert_eq!(CodePoints { data: 0x5E, sack: 0x9E, forward: 0xDE, ..ok }.check(), Ok(()));
        for (table, name) in [
            (CodePoints { data: 0x1F, ..ok }, "data"),
            (CodePoints { sack: 0x5F, ..ok }, "sack"),
            (CodePoints { forward: 0x9F, ..ok }, "forward"),
            (CodePoints { capability: 0x305F, ..ok }, "capability"),
            (CodePoints { add: 0x805F, ..ok }, "add"),
            (CodePoints { delete: 0xC05F, ..ok }, "delete"),
        ] {
            assert!(
                matches!(table.check(), Err(CodePointError::ActionBits { name: n, .. }) if n == name),
                "{name}"
            );
        }
        for (table, name) in [
            (CodePoints { data: 0x40, ..ok }, "data"),
            (CodePoints { data: 0x41, ..ok }, "data"),
            (CodePoints { sack: 0x82, ..ok }, "sack"),
            (CodePoints { forward: 0xC2, ..ok }, "forward"),
            (CodePoints { capability: 0x8002, ..ok }, "capability"),
            (CodePoints { capability: 0xB15A, ..ok }, "capability"),
            (CodePoints { delete: ok.add, ..ok }, "delete"),
            (CodePoints { violation: 13, ..ok }, "violation"),
        ] {
            assert!(
                matches!(table.check(), Err(CodePointError::Taken { name: n, .. }) if n == name),
                "{name}"
            );
        }
    }
}
