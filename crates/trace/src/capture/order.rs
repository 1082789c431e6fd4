//! The byte order of a file, or of a section of one.

/// Numbers in the byte order of the program that wrote them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Little,
    Big,
}

impl Order {
    pub(super) fn u16(self, bytes: &[u8], at: usize) -> Option<u16> {
        let bytes = *bytes.get(at..)?.first_chunk::<2>()?;
        Some(if self == Self::Little { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) })
    }

    pub(super) fn u32(self, bytes: &[u8], at: usize) -> Option<u32> {
        let bytes = *bytes.get(at..)?.first_chunk::<4>()?;
        Some(if self == Self::Little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) })
    }

    pub(super) fn i64(self, bytes: &[u8]) -> Option<i64> {
        let bytes = *bytes.first_chunk::<8>()?;
        Some(if self == Self::Little { i64::from_le_bytes(bytes) } else { i64::from_be_bytes(bytes) })
    }
}
