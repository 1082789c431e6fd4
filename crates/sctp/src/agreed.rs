//! The agreement of both sides, as every packet needs it: the encoding of data, and the room that a packet has for it.

use anabranch_wire::{CommonHeader, padded};

use crate::config::Config;
use crate::encoding::Encoding;
use crate::negotiation::offer::Extensions;

/// Kept once, for the association and both its halves. It begins as RFC 9260 has it and has three transitions: both sides agree
/// ([`Agreed::adopt`]), a new peer has to be asked anew ([`Agreed::forget`]), the peer turns out not to know SF-DATA
/// ([`Agreed::downgrade`]). The association alone takes them; how much room is kept beside data is said by RE-CONFIG.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Agreed {
    encoding: Encoding,
    /// Bytes of a chunk that must ride with every packet of data.
    beside_data: u16,
    /// RE-CONFIG may be sent: so old acknowledgements may come, of before an SSN/TSN reset.
    resettable: bool,
    /// The peer may send packets with a checksum of zero: we have announced an error detection method in its place
    /// (RFC 9653, 5.3).
    takes_zero_checksum: bool,
    /// SACKs leave gap blocks out.
    selects_gaps: bool,
}

impl Agreed {
    /// No agreement yet; a checksum of zero is taken as soon as it is offered.
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            encoding: Encoding::Rfc9260,
            beside_data: 0,
            resettable: false,
            takes_zero_checksum: config.extensions.zero_checksum.is_some(),
            selects_gaps: false,
        }
    }

    /// Both sides use these extensions from now on.
    pub(crate) fn adopt(&mut self, agreed: &Extensions) {
        *self = Self {
            encoding: Encoding::of(agreed),
            beside_data: 0,
            resettable: agreed.reconfiguration,
            takes_zero_checksum: agreed.takes_zero_checksum,
            selects_gaps: agreed.selected_gaps,
        };
    }

    /// Back to RFC 9260: a peer that has restarted announces its extensions anew.
    pub(crate) fn forget(&mut self) {
        let takes_zero_checksum = self.takes_zero_checksum;
        *self = Self {
            encoding: Encoding::Rfc9260,
            beside_data: 0,
            resettable: false,
            takes_zero_checksum,
            selects_gaps: false,
        };
    }

    /// SF-DATA is off from now on; messages are interleaved as before.
    pub(crate) fn downgrade(&mut self) {
        self.encoding = Encoding::Interleaved;
    }

    /// So many bytes of a chunk must ride with every packet of data.
    pub(crate) fn keep_room_beside_data(&mut self, bytes: u16) {
        self.beside_data = bytes;
    }

    /// The encoding of data and acknowledgements.
    #[inline]
    pub(crate) fn encoding(self) -> Encoding {
        self.encoding
    }

    /// Whether numbers of the association may begin anew.
    #[inline]
    pub(crate) fn is_resettable(self) -> bool {
        self.resettable
    }

    /// Whether the peer may leave checksums out (RFC 9653, 5.3).
    #[inline]
    pub(crate) fn takes_zero_checksum(self) -> bool {
        self.takes_zero_checksum
    }

    /// True if SACKs leave gap blocks out.
    #[inline]
    pub(crate) fn selects_gaps(self) -> bool {
        self.selects_gaps
    }

    /// Bytes of header of a chunk of data.
    #[inline]
    pub(crate) fn header_len(self) -> usize {
        self.encoding.header_len()
    }

    /// Bytes of a packet that the payload of its only chunk does not have, behind the common header.
    #[inline]
    pub(crate) fn beside_payload(self) -> usize {
        self.header_len() + usize::from(self.beside_data)
    }

    /// The packet of one chunk with so many bytes of payload, common header included, bytes.
    pub(crate) fn packet_of(self, payload: usize) -> usize {
        CommonHeader::LEN + padded(self.header_len() + payload)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_begins_as_rfc_9260_has_it_and_ends_there_when_it_is_forgotten() {
        let mut agreed = Agreed::new(&Config::rfc9260());
        let plain = agreed.beside_payload();
        assert_eq!((agreed.encoding(), agreed.is_resettable()), (Encoding::Rfc9260, false));
        agreed.adopt(&Extensions { interleaving: true, reconfiguration: true, ..Extensions::default() });
        assert_eq!((agreed.encoding(), agreed.is_resettable()), (Encoding::Interleaved, true));
        assert_eq!(agreed.beside_payload(), Encoding::Interleaved.header_len());
        agreed.keep_room_beside_data(16);
        assert_eq!(agreed.beside_payload(), Encoding::Interleaved.header_len() + 16);
        agreed.forget();
        assert_eq!((agreed.encoding(), agreed.is_resettable()), (Encoding::Rfc9260, false));
        assert_eq!(agreed.beside_payload(), plain);
    }
}
