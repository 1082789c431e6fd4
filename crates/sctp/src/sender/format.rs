//! How data is framed, and what a packet has room for beside that.

use anabranch_wire::{CommonHeader, padded};

use crate::context::Context;
use crate::encoding::Encoding;
use crate::ids::PathId;

/// The encoding in which data travels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Format {
    encoding: Encoding,
    /// Bytes of a chunk that must ride with every packet of data.
    beside_data: u16,
}

impl Format {
    /// As RFC 9260 has it.
    pub(super) const PLAIN: Self = Self { encoding: Encoding::Rfc9260, beside_data: 0 };

    /// The encoding in use.
    #[inline]
    pub(super) fn encoding(self) -> Encoding {
        self.encoding
    }

    /// Bytes of header of a chunk.
    #[inline]
    pub(super) fn header_len(self) -> usize {
        self.encoding.header_len()
    }

    /// Both sides speak this from now on.
    pub(super) fn speak(&mut self, encoding: Encoding) {
        self.encoding = encoding;
    }

    /// So many bytes of a chunk must ride with every packet of data.
    pub(super) fn keep_room_beside_data(&mut self, bytes: u16) {
        self.beside_data = bytes;
    }

    /// The packet of one chunk with so many bytes of payload, common header included, bytes.
    pub(super) fn packet_of(self, payload: usize) -> usize {
        CommonHeader::LEN + padded(self.header_len() + payload)
    }

    /// Most user data that one chunk of a subflow carries, bytes.
    // rfc9260:6-9 rfc9260:6.9-7
    #[inline]
    pub(super) fn max_payload(self, cx: &Context, path: PathId) -> usize {
        cx.config.limits.most_payload(self.packet_room(cx, path))
    }

    /// Room of a packet of a path for the payload of one chunk, bytes.
    #[inline]
    pub(super) fn packet_room(self, cx: &Context, path: PathId) -> usize {
        let pmdcs = cx.paths.get(path).map_or(0, |path| path.pmdcs() as usize);
        pmdcs.saturating_sub(self.header_len() + usize::from(self.beside_data))
    }
}
