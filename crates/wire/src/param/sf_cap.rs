//! SF-CAP: the subflow capabilities of the sender of an INIT or INIT ACK (extension SF, level 1).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------------------------------+-------------------------------+
//! |         type = 0xB05F         |      length = 16 + 4 * n      |
//! +---------------+-------+-+-+-+-+---------------+---------------+
//! |  version = 1  |  res  |T|C|W|A|  OF: outbound | MIF: most in  |
//! +---------------+-------+-+-+-+-+---------------+---------------+
//! |     initial receive credit of a subflow (a_fwnd), bytes       |
//! +---------------------------------------------------------------+
//! |     least credit that a subflow always keeps, bytes           |
//! +---------------+---------------+-------------------------------+
//! |      FID      |   DSCP hint   |            weight             |  x n: subflows open from the start
//! +---------------+---------------+-------------------------------+
//! ```

use core::iter::FusedIterator;
use core::slice::ChunksExact;

use super::RawParam;
use crate::emit;
use crate::error::TlvError;
use crate::sf::CodePoints;

/// Capabilities of the sender besides carrying data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SfCapFlags {
    /// T: it can put timestamps into SF-SACKs.
    pub timestamps: bool,
    /// C: it can put ECN counters into SF-SACKs.
    pub ecn_counters: bool,
    /// W: it enforces the windows of subflows.
    pub windows_enforced: bool,
    /// A: it wants the chunks covered by AUTH or by DTLS.
    pub authenticated: bool,
}

impl SfCapFlags {
    /// From the flags byte.
    #[must_use]
    pub const fn from_bits(bits: u8) -> Self {
        Self {
            timestamps: bits & 8 != 0,
            ecn_counters: bits & 4 != 0,
            windows_enforced: bits & 2 != 0,
            authenticated: bits & 1 != 0,
        }
    }

    /// As the flags byte.
    #[must_use]
    pub const fn bits(self) -> u8 {
        (self.timestamps as u8) << 3
            | (self.ecn_counters as u8) << 2
            | (self.windows_enforced as u8) << 1
            | self.authenticated as u8
    }
}

/// A subflow that its sender opens with the association.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SfOpen {
    /// Subflow identifier.
    pub fid: u8,
    /// The code point its packets will have; a hint, not checked.
    pub dscp: u8,
    /// Its share where shares matter.
    pub weight: u16,
}

/// The fields of an SF-CAP besides its list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SfCapHead {
    /// Version of the extension: 1 ([`SfCap::VERSION`]).
    pub version: u8,
    /// T, C, W and A.
    pub flags: SfCapFlags,
    /// Subflows that the sender wants to send on, subflow 0 included.
    pub outbound: u8,
    /// Subflows that it accepts at most, subflow 0 included; 0 means that it wants none of this.
    pub max_inbound: u8,
    /// Receive credit of each subflow at the start, bytes.
    pub credit: u32,
    /// Credit that each open subflow always keeps, bytes.
    pub floor: u32,
}

/// An SF-CAP parameter: a view over the received bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SfCap<'a> {
    /// The fixed fields.
    pub head: SfCapHead,
    opens: &'a [u8],
}

impl<'a> SfCap<'a> {
    /// The version that this module writes. Another version has another layout after its first byte.
    pub const VERSION: u8 = 1;
    /// Bytes before the list, parameter header included.
    pub const HEADER: usize = 16;
    /// The most subflows a list can hold: there are no more FIDs.
    pub const MAX_OPENS: usize = 255;

    /// Reads the parameter.
    ///
    /// # Errors
    /// Shorter than its fixed fields, or the list is no whole number of entries.
    pub fn parse(raw: RawParam<'a>) -> Result<Self, TlvError> {
        let (&[version, flags, outbound, max_inbound, c0, c1, c2, c3, f0, f1, f2, f3], opens) =
            raw.at_least::<12>()?;
        let over = opens.len() % 4;
        if over != 0 {
            return Err(raw.wrong_length(raw.bytes.len() - over));
        }
        let head = SfCapHead {
            version,
            flags: SfCapFlags::from_bits(flags),
            outbound,
            max_inbound,
            credit: u32::from_be_bytes([c0, c1, c2, c3]),
            floor: u32::from_be_bytes([f0, f1, f2, f3]),
        };
        Ok(Self { head, opens })
    }

    /// The subflows to open at once.
    #[must_use]
    pub fn opens(&self) -> SfOpens<'a> {
        SfOpens(self.opens.chunks_exact(4))
    }

    /// Appends the parameter.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let start = emit::begin_tlv(out, CodePoints::DEFAULT.capability);
        fixed(out, &self.head);
        out.extend_from_slice(self.opens);
        emit::end(out, start, 0);
    }
}

fn fixed(out: &mut Vec<u8>, head: &SfCapHead) {
    out.extend_from_slice(&[head.version, head.flags.bits(), head.outbound, head.max_inbound]);
    out.extend_from_slice(&head.credit.to_be_bytes());
    out.extend_from_slice(&head.floor.to_be_bytes());
}

/// The value of an SF-CAP, for a writer that has the type from a table ([`CodePoints::capability`]). Entries beyond
/// [`SfCap::MAX_OPENS`] are left out.
#[must_use]
pub fn value(head: &SfCapHead, opens: &[SfOpen]) -> Vec<u8> {
    let mut out = Vec::with_capacity(12 + 4 * opens.len());
    fixed(&mut out, head);
    for open in opens.iter().take(SfCap::MAX_OPENS) {
        let [w0, w1] = open.weight.to_be_bytes();
        out.extend_from_slice(&[open.fid, open.dscp, w0, w1]);
    }
    out
}

/// Iterator over subflows to open.
#[derive(Clone, Debug)]
pub struct SfOpens<'a>(ChunksExact<'a, u8>);

impl Iterator for SfOpens<'_> {
    type Item = SfOpen;

    fn next(&mut self) -> Option<SfOpen> {
        match self.0.next() {
            Some(&[fid, dscp, w0, w1]) => Some(SfOpen { fid, dscp, weight: u16::from_be_bytes([w0, w1]) }),
            _ => None,
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl ExactSizeIterator for SfOpens<'_> {}
impl FusedIterator for SfOpens<'_> {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::tests::{length_cases, raw};

    const HEAD: SfCapHead = SfCapHead {
        version: 1,
        flags: SfCapFlags {
            timestamps: true,
            ecn_counters: false,
            windows_enforced: true,
            authenticated: false,
        },
        outbound: 4,
        max_inbound: 16,
        credit: 0x0001_0000,
        floor: 0x0000_0BB8,
    };

    #[test]
    fn bytes_on_the_wire() {
        let opens = [SfOpen { fid: 1, dscp: 46, weight: 0x0102 }, SfOpen { fid: 2, dscp: 10, weight: 1 }];
        let bytes = [0xB0, 0x5F, 0, 24, 1, 10, 4, 16, 0, 1, 0, 0, 0, 0, 0x0B, 0xB8, 1, 46, 1, 2, 2, 10, 0, 1];
        assert_eq!(value(&HEAD, &opens), bytes[4..]);
        let cap = SfCap::parse(raw(&bytes)).unwrap();
        assert_eq!(cap.head, HEAD);
        assert!(cap.opens().eq(opens));
        let mut out = Vec::new();
        cap.emit(&mut out);
        assert_eq!(out, bytes);
    }

    #[test]
    fn flag_bits() {
        for bits in 0..=255 {
            assert_eq!(SfCapFlags::from_bits(bits).bits(), bits & 15);
        }
        assert!(SfCapFlags::from_bits(8).timestamps && SfCapFlags::from_bits(4).ecn_counters);
        assert!(SfCapFlags::from_bits(2).windows_enforced && SfCapFlags::from_bits(1).authenticated);
    }

    #[test]
    fn lengths() {
        for (length, bytes) in length_cases(0xB05F, 40) {
            let good = length >= 16 && length % 4 == 0;
            assert_eq!(SfCap::parse(raw(&bytes)).is_ok(), good, "length {length}");
        }
    }
}
