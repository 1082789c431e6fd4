//! SF-ADD: a request in RE-CONFIG to open a subflow (extension SF, level 1). It is reliable, numbered and answered
//! as any request of RFC 6525 section 4 is.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------------------------------+-------------------------------+
//! |         type = 0x405F         |          length = 24          |
//! +-------------------------------+-------------------------------+
//! |            re-configuration request sequence number           |
//! +---------------+---------------+---------------+---------------+
//! |      FID      |     epoch     |   DSCP hint   |   reserved    |
//! +---------------+---------------+---------------+---------------+
//! |                         initial STSN                          |
//! +-------------------------------+-------------------------------+
//! |            weight             |           reserved            |
//! +-------------------------------+-------------------------------+
//! |   a_fwnd: credit of the other direction's subflow, bytes      |
//! +---------------------------------------------------------------+
//! ```

use super::RawParam;
use crate::emit;
use crate::error::TlvError;
use crate::serial::Tsn;
use crate::sf::CodePoints;

/// An SF-ADD request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SfAdd {
    /// Number of the request: the next of its sender.
    pub request: u32,
    /// Subflow identifier, 1 to 255.
    pub fid: u8,
    /// Incarnation: one more than the last that this FID had.
    pub epoch: u8,
    /// The code point its packets will have; a hint.
    pub dscp: u8,
    /// Its share where shares matter.
    pub weight: u16,
    /// STSN of the first chunk.
    pub initial_stsn: Tsn,
    /// Receive credit that the sender grants if the peer opens the same FID towards it, bytes.
    pub a_fwnd: u32,
}

impl SfAdd {
    /// Bytes of the parameter.
    pub const LEN: usize = 24;

    /// Reads the parameter.
    ///
    /// # Errors
    /// A length other than [`SfAdd::LEN`].
    pub fn parse(raw: RawParam<'_>) -> Result<Self, TlvError> {
        let &[r0, r1, r2, r3, fid, epoch, dscp, _, t0, t1, t2, t3, w0, w1, _, _, a0, a1, a2, a3] =
            raw.exactly::<20>()?;
        Ok(Self {
            request: u32::from_be_bytes([r0, r1, r2, r3]),
            fid,
            epoch,
            dscp,
            weight: u16::from_be_bytes([w0, w1]),
            initial_stsn: Tsn::new(u32::from_be_bytes([t0, t1, t2, t3])),
            a_fwnd: u32::from_be_bytes([a0, a1, a2, a3]),
        })
    }

    /// Appends the parameter.
    pub fn emit(&self, out: &mut Vec<u8>) {
        self.emit_as(CodePoints::DEFAULT.add, out);
    }

    /// Appends the parameter under another type ([`CodePoints::add`]).
    pub fn emit_as(&self, kind: u16, out: &mut Vec<u8>) {
        let start = emit::begin_tlv(out, kind);
        out.extend_from_slice(&self.request.to_be_bytes());
        out.extend_from_slice(&[self.fid, self.epoch, self.dscp, 0]);
        out.extend_from_slice(&self.initial_stsn.get().to_be_bytes());
        out.extend_from_slice(&self.weight.to_be_bytes());
        out.extend_from_slice(&[0, 0]);
        out.extend_from_slice(&self.a_fwnd.to_be_bytes());
        emit::end(out, start, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::tests::{layout, length_cases, raw};

    #[test]
    fn bytes_on_the_wire() {
        let bytes = [0x40, 0x5F, 0, 24, 1, 2, 3, 4, 5, 6, 7, 0, 8, 9, 10, 11, 12, 13, 0, 0, 14, 15, 16, 17];
        let add = SfAdd {
            request: 0x0102_0304,
            fid: 5,
            epoch: 6,
            dscp: 7,
            weight: 0x0C0D,
            initial_stsn: Tsn::new(0x0809_0A0B),
            a_fwnd: 0x0E0F_1011,
        };
        layout(&add, SfAdd::emit, SfAdd::parse, &bytes);
    }

    #[test]
    fn lengths() {
        for (length, bytes) in length_cases(0x405F, SfAdd::LEN) {
            assert_eq!(SfAdd::parse(raw(&bytes)).is_ok(), length == SfAdd::LEN, "length {length}");
        }
    }
}
