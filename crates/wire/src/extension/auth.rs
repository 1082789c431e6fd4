//! AUTH: a keyed hash over the chunks behind it (RFC 4895 section 5.1), and the identifiers of hashes.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------+---------------+-------------------------------+
//! |  type = 0x0F  |     flags     |            length             |
//! +---------------+---------------+-------------------------------+
//! |     shared key identifier     |        HMAC identifier        |
//! +-------------------------------+-------------------------------+
//! |                         HMAC, padded                          |
//! +---------------------------------------------------------------+
//! ```

use crate::chunk::kind;
use crate::chunk::raw::RawChunk;
use crate::error::ChunkError;

/// An AUTH chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Auth<'a> {
    /// Identifier of the shared key of the endpoints.
    pub key: u16,
    /// Identifier of the hash function: see [`hash_name`].
    pub hash: u16,
    /// The keyed hash.
    pub hmac: &'a [u8],
}

impl<'a> Auth<'a> {
    /// Chunk type.
    pub const KIND: u8 = kind::AUTH;

    /// Reads the chunk.
    ///
    /// # Errors
    /// Shorter than its fixed fields.
    pub fn parse(raw: RawChunk<'a>) -> Result<Self, ChunkError> {
        let (&[k0, k1, h0, h1], hmac) = raw.at_least::<4>()?;
        Ok(Self { key: u16::from_be_bytes([k0, k1]), hash: u16::from_be_bytes([h0, h1]), hmac })
    }
}

/// The hash behind an HMAC identifier (RFC 4895, table 2).
#[must_use]
pub const fn hash_name(identifier: u16) -> Option<&'static str> {
    match identifier {
        1 => Some("SHA-1"),
        3 => Some("SHA-256"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::tests::raw;

    #[test]
    fn layout() {
        let bytes = [15, 0, 0, 12, 0, 2, 0, 3, 9, 8, 7, 6];
        let chunk = Auth::parse(raw(&bytes)).unwrap();
        assert_eq!(chunk, Auth { key: 2, hash: 3, hmac: &[9, 8, 7, 6] });
        assert_eq!(hash_name(chunk.hash), Some("SHA-256"));
        assert!(Auth::parse(raw(&[15, 0, 0, 6, 0, 2, 0, 0])).is_err());
    }
}
