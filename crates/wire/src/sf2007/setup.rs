//! The additions of the thesis to the handshake (Figs 3.3 to 3.5).
//!
//! ```text
//! INIT, INIT ACK:                     type = 0x8002 | length = 6 | OF (8) | MIS (8) | padding (16)
//! COOKIE ECHO, COOKIE ACK, each FID:  type = 0x8F01 | length = 8 | FID (8) | a_fwnd (24)
//!                                     type = 0x8F02 | length = 8 | FID (8) | initial FSN (24)
//! ```

use super::Fsn;
use crate::emit;
use crate::error::TlvError;
use crate::tlv::{RawTlv, Tlvs};

/// Parameter type of Fig. 3.3. RFC 4895, later, gave the number to RANDOM.
pub const SUBFLOW_CAPABLE: u16 = 0x8002;
/// Parameter type of Fig. 3.4; the number is ours.
pub const A_FWND: u16 = 0x8F01;
/// Parameter type of Fig. 3.5; the number is ours.
pub const INITIAL_FSN: u16 = 0x8F02;

/// The subflow-capable parameter (Fig. 3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SubflowCapable {
    /// OF: subflows that the sender wants to send on.
    pub outbound: u8,
    /// MIS: subflows that it accepts at most.
    pub max_inbound: u8,
}

impl SubflowCapable {
    /// Length of the parameter without its padding.
    pub const LEN: usize = 6;

    /// Reads the parameter.
    ///
    /// # Errors
    /// A length other than 6: the type 0x8002 with another length is another parameter.
    pub fn parse(raw: RawTlv<'_>) -> Result<Self, TlvError> {
        let &[outbound, max_inbound] = raw.exactly::<2>()?;
        Ok(Self { outbound, max_inbound })
    }

    /// Appends the parameter, padded.
    pub fn emit(&self, out: &mut Vec<u8>) {
        emit::tlv(out, SUBFLOW_CAPABLE, &self.value());
    }

    /// The value, for a writer of parameters.
    #[must_use]
    pub const fn value(&self) -> [u8; 2] {
        [self.outbound, self.max_inbound]
    }
}

/// Window and first number of one subflow (Figs 3.4 and 3.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Setup {
    /// Initial window that the sender grants to this FID of the other direction, bytes; the largest is 2^24 - 1.
    pub a_fwnd: u32,
    /// FSN of the sender's first chunk on this FID.
    pub initial_fsn: Fsn,
}

impl Setup {
    /// Bytes of the two parameters.
    pub const LEN: usize = 16;
    /// The largest window that 24 bits hold.
    pub const LARGEST_WINDOW: u32 = 0x00FF_FFFF;

    /// Appends the two parameters of subflow `fid`. A window above [`Setup::LARGEST_WINDOW`] is written as that.
    pub fn emit(&self, fid: u8, out: &mut Vec<u8>) {
        for (kind, value) in
            [(A_FWND, self.a_fwnd.min(Self::LARGEST_WINDOW)), (INITIAL_FSN, self.initial_fsn.get())]
        {
            let [_, v0, v1, v2] = value.to_be_bytes();
            emit::tlv(out, kind, &[fid, v0, v1, v2]);
        }
    }
}

/// The parameters behind a cookie or in a COOKIE ACK, "from the lowest to the highest FID".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetupParams<'a>(&'a [u8]);

impl<'a> SetupParams<'a> {
    /// The parameters in `region`.
    #[must_use]
    pub const fn new(region: &'a [u8]) -> Self {
        Self(region)
    }

    /// The bytes they stand in.
    #[must_use]
    pub const fn bytes(&self) -> &'a [u8] {
        self.0
    }

    /// Windows and first numbers of subflows 0, 1, ...; `None` if they are not complete pairs in this order.
    #[must_use]
    pub fn read(&self) -> Option<Vec<Setup>> {
        let mut all = Vec::new();
        let mut params = Tlvs::new(self.0);
        loop {
            let Some(window) = params.next() else { return Some(all) };
            let first = params.next()?;
            let fid = all.len();
            let a_fwnd = field(window.ok()?, A_FWND, fid)?;
            let initial_fsn = Fsn::new(field(first.ok()?, INITIAL_FSN, fid)?);
            all.push(Setup { a_fwnd, initial_fsn });
        }
    }
}

/// The 24-bit value of a parameter of this type for this FID.
fn field(raw: RawTlv<'_>, kind: u16, fid: usize) -> Option<u32> {
    let &[id, v0, v1, v2] = raw.exactly::<4>().ok()?;
    (raw.kind == kind && usize::from(id) == fid).then(|| u32::from_be_bytes([0, v0, v1, v2]))
}

/// The cookie of a COOKIE ECHO, and the parameters behind it.
///
/// The chunk has one length, so parameters are found from the end: pairs of eight bytes each with the right types
/// and lengths. A cookie that ends in such bytes by chance (2^-64 with a MAC at its end) would lose them and fail
/// its check.
#[must_use]
pub fn split_cookie(value: &[u8]) -> (&[u8], SetupParams<'_>) {
    let mut at = value.len();
    while let Some(start) = at.checked_sub(Setup::LEN) {
        match value.get(start..at) {
            Some(&[0x8F, 0x01, 0, 8, _, _, _, _, 0x8F, 0x02, 0, 8, _, _, _, _]) => at = start,
            _ => break,
        }
    }
    let (cookie, params) = value.split_at_checked(at).unwrap_or((value, &[]));
    (cookie, SetupParams(params))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::tests::{layout, length_cases, raw};

    #[test]
    fn layout_of_figure_3_3() {
        let bytes = [0x80, 0x02, 0, 6, 4, 16, 0, 0];
        layout(
            &SubflowCapable { outbound: 4, max_inbound: 16 },
            SubflowCapable::emit,
            SubflowCapable::parse,
            &bytes,
        );
        for (length, bytes) in length_cases(0x8002, 36) {
            assert_eq!(SubflowCapable::parse(raw(&bytes)).is_ok(), length == 6, "length {length}");
        }
    }

    #[test]
    fn layout_of_figures_3_4_and_3_5() {
        let mut out = Vec::new();
        Setup { a_fwnd: 0x0001_0203, initial_fsn: Fsn::new(0x0004_0506) }.emit(0, &mut out);
        assert_eq!(out, [0x8F, 1, 0, 8, 0, 1, 2, 3, 0x8F, 2, 0, 8, 0, 4, 5, 6]);
        Setup { a_fwnd: u32::MAX, initial_fsn: Fsn::new(7) }.emit(1, &mut out);
        let read = SetupParams::new(&out).read().unwrap();
        assert_eq!(read[0], Setup { a_fwnd: 0x0001_0203, initial_fsn: Fsn::new(0x0004_0506) });
        assert_eq!(read[1], Setup { a_fwnd: Setup::LARGEST_WINDOW, initial_fsn: Fsn::new(7) });
    }

    #[test]
    fn order_and_completeness() {
        let setup = Setup { a_fwnd: 9, initial_fsn: Fsn::new(9) };
        let mut good = Vec::new();
        setup.emit(0, &mut good);
        setup.emit(1, &mut good);
        assert_eq!(SetupParams::new(&[]).read(), Some(vec![]));
        assert_eq!(SetupParams::new(&good).read().map(|all| all.len()), Some(2));
        for cut in 1..good.len() {
            let complete = cut == 16;
            assert_eq!(SetupParams::new(&good[..cut]).read().is_some(), complete, "{cut} bytes");
        }
        let mut out_of_order = Vec::new();
        setup.emit(1, &mut out_of_order);
        assert_eq!(SetupParams::new(&out_of_order).read(), None);
    }

    #[test]
    fn cookies_and_what_stands_behind_them() {
        let mut value = vec![1, 2, 3, 4, 5];
        assert_eq!(split_cookie(&value), (&[1, 2, 3, 4, 5][..], SetupParams::new(&[])));
        Setup::default().emit(0, &mut value);
        Setup::default().emit(1, &mut value);
        let (cookie, params) = split_cookie(&value);
        assert_eq!(cookie, [1, 2, 3, 4, 5]);
        assert_eq!(params.read().unwrap().len(), 2);
        assert_eq!(split_cookie(&[]), (&[][..], SetupParams::new(&[])));
    }
}
