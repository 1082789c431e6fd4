//! ECNE and CWR: reserved for explicit congestion notification (RFC 9260 section 3.2, table 1). RFC 9260 gives
//! them no format; RFC 2960 appendix A did, and stacks that send them still follow it:
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------+---------------+-------------------------------+
//! | type = 12, 13 |     flags     |          length = 8           |
//! +---------------+---------------+-------------------------------+
//! |                      lowest TSN concerned                     |
//! +---------------------------------------------------------------+
//! ```
//!
//! FreeBSD and usrsctp append the number of marked packets since the last CWR to ECNE (draft-stewart-tsvwg-sctpecn), 32 bits; therefore more
//! bytes may follow the TSN. They are kept.

use super::kind;
use super::raw::RawChunk;
use crate::emit::{begin_chunk, end};
use crate::error::ChunkError;
use crate::serial::Tsn;

macro_rules! reserved {
    ($(#[$doc:meta])* $name:ident, $kind:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name<'a> {
            /// ECNE: the lowest TSN that came in a marked packet. CWR: the TSN of the ECNE answered.
            pub tsn: Tsn,
            /// Bytes after the known fields.
            pub rest: &'a [u8],
        }

        impl<'a> $name<'a> {
            /// Reads the chunk.
            ///
            /// # Errors
            /// Shorter than 8 bytes.
            pub fn parse(raw: RawChunk<'a>) -> Result<Self, ChunkError> {
                let (tsn, rest) = raw.at_least::<4>()?;
                Ok(Self { tsn: Tsn::new(u32::from_be_bytes(*tsn)), rest })
            }

            /// Appends the chunk, padded.
            pub fn emit(&self, out: &mut Vec<u8>) {
                let start = begin_chunk(out, $kind, 0);
                out.extend_from_slice(&self.tsn.get().to_be_bytes());
                out.extend_from_slice(self.rest);
                end(out, start, 0);
            }
        }
    };
}

reserved!(
    /// Explicit Congestion Notification Echo.
    Ecne, kind::ECNE
);
reserved!(
    /// Congestion Window Reduced.
    Cwr, kind::CWR
);

impl Ecne<'_> {
    /// Bytes of a chunk with the number of marked packets.
    pub const COUNTED_LEN: usize = 12;

    /// Appends an ECNE with the number of packets that came marked since the last CWR.
    pub fn emit_counted(out: &mut Vec<u8>, tsn: Tsn, marked: u32) {
        Ecne { tsn, rest: &marked.to_be_bytes() }.emit(out);
    }

    /// Whether the chunk has that number.
    #[must_use]
    pub fn is_counted(&self) -> bool {
        self.rest.len() >= 4
    }

    /// Packets that came marked since the last CWR: one, where the chunk has no number (draft-stewart-tsvwg-sctpecn).
    #[must_use]
    pub fn marked(&self) -> u32 {
        self.rest.first_chunk::<4>().map_or(1, |count| u32::from_be_bytes(*count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::tests::{Mutated, length_cases, raw};

    #[test]
    fn layout() {
        let mut out = Vec::new();
        Ecne { tsn: Tsn::new(0x0102_0304), rest: &[] }.emit(&mut out);
        Cwr { tsn: Tsn::new(5), rest: &[6] }.emit(&mut out);
        assert_eq!(out, [12, 0, 0, 8, 1, 2, 3, 4, 13, 0, 0, 9, 0, 0, 0, 5, 6, 0, 0, 0]);
        assert_eq!(Ecne::parse(raw(&out)).unwrap().tsn, Tsn::new(0x0102_0304));
        assert_eq!(Cwr::parse(raw(&out[8..])).unwrap().rest, [6]);
    }

    /// With the number, as FreeBSD has it, and without; a shorter field is none.
    #[test]
    fn the_number_of_marked_packets() {
        let mut out = Vec::new();
        Ecne::emit_counted(&mut out, Tsn::new(7), 300);
        assert_eq!(out, [12, 0, 0, 12, 0, 0, 0, 7, 0, 0, 1, 44]);
        assert_eq!(out.len(), Ecne::COUNTED_LEN);
        assert_eq!(Ecne::parse(raw(&out)).unwrap().marked(), 300);
        for rest in [&[][..], &[9], &[9, 9, 9]] {
            assert_eq!(Ecne { tsn: Tsn::new(7), rest }.marked(), 1);
        }
        assert_eq!(Ecne { tsn: Tsn::new(7), rest: &[0, 0, 0, 2, 9] }.marked(), 2);
    }

    #[test]
    fn lengths_around_the_header() {
        for kind in [kind::ECNE, kind::CWR] {
            for Mutated { length, bytes } in length_cases(kind, 8) {
                assert_eq!(Ecne::parse(raw(&bytes)).is_ok(), length >= 8, "length {length}");
                assert_eq!(Cwr::parse(raw(&bytes)).is_ok(), length >= 8, "length {length}");
            }
        }
    }
}
