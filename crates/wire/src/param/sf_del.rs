//! SF-DEL: a request in RE-CONFIG to close a subflow (extension SF, level 1).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------------------------------+-------------------------------+
//! |         type = 0x4060         |          length = 16          |
//! +-------------------------------+-------------------------------+
//! |            re-configuration request sequence number           |
//! +---------------+---------------+-------------------------------+
//! |      FID      |     epoch     |           reserved            |
//! +---------------+---------------+-------------------------------+
//! |          last STSN: nothing after it was or will be sent       |
//! +---------------------------------------------------------------+
//! ```

use super::RawParam;
use crate::emit;
use crate::error::TlvError;
use crate::serial::Tsn;
use crate::sf::CodePoints;

/// An SF-DEL request. It is complete when the cumulative STSN of the receiver is `last_stsn`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SfDel {
    /// Number of the request: the next of its sender.
    pub request: u32,
    /// Subflow identifier, 1 to 255.
    pub fid: u8,
    /// Incarnation that ends.
    pub epoch: u8,
    /// STSN of the last chunk; one before the initial STSN if there was none.
    pub last_stsn: Tsn,
}

impl SfDel {
    /// Bytes of the parameter.
    pub const LEN: usize = 16;

    /// Reads the parameter.
    ///
    /// # Errors
    /// A length other than [`SfDel::LEN`].
    pub fn parse(raw: RawParam<'_>) -> Result<Self, TlvError> {
        let &[r0, r1, r2, r3, fid, epoch, _, _, t0, t1, t2, t3] = raw.exactly::<12>()?;
        Ok(Self {
            request: u32::from_be_bytes([r0, r1, r2, r3]),
            fid,
            epoch,
            last_stsn: Tsn::new(u32::from_be_bytes([t0, t1, t2, t3])),
        })
    }

    /// Appends the parameter.
    pub fn emit(&self, out: &mut Vec<u8>) {
        self.emit_as(CodePoints::DEFAULT.delete, out);
    }

    /// Appends the parameter under another type ([`CodePoints::delete`]).
    pub fn emit_as(&self, kind: u16, out: &mut Vec<u8>) {
        let start = emit::begin_tlv(out, kind);
        out.extend_from_slice(&self.request.to_be_bytes());
        out.extend_from_slice(&[self.fid, self.epoch, 0, 0]);
        out.extend_from_slice(&self.last_stsn.get().to_be_bytes());
        emit::end(out, start, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::tests::{layout, length_cases, raw};

    #[test]
    fn bytes_on_the_wire() {
        let bytes = [0x40, 0x60, 0, 16, 1, 2, 3, 4, 5, 6, 0, 0, 7, 8, 9, 10];
        let del = SfDel { request: 0x0102_0304, fid: 5, epoch: 6, last_stsn: Tsn::new(0x0708_090A) };
        layout(&del, SfDel::emit, SfDel::parse, &bytes);
    }

    #[test]
    fn lengths() {
        for (length, bytes) in length_cases(0x4060, SfDel::LEN) {
            assert_eq!(SfDel::parse(raw(&bytes)).is_ok(), length == SfDel::LEN, "length {length}");
        }
    }
}
