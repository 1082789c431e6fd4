//! Tie-Tags (RFC 9260, 5.2.2): a nonce by which a cookie names the association that existed when its INIT came.

use hmac::{Hmac, Mac};
use sha2::Sha256;

/// The secret from which the Tie-Tags of every association of an endpoint follow. Any host that sees the INIT ACK can
/// read the cookie, so Tie-Tags must reveal nothing of the verification tags; made of both tags and a secret, they
/// need no memory in an association, and a restarted one has new ones.
#[derive(Clone)]
pub(crate) struct TieSecret([u8; 32]);

impl std::fmt::Debug for TieSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TieSecret(..)")
    }
}

impl TieSecret {
    pub(crate) fn new(secret: [u8; 32]) -> Self {
        Self(secret)
    }

    /// Local and Peer's Tie-Tag of the association with these tags, ours first: "a random value other than 0" (5.2.2).
    // rfc9260:5.1.3-6 rfc9260:5.2.2-5
    pub(crate) fn tie_tags(&self, (local_tag, peer_tag): (u32, u32)) -> (u32, u32) {
        let mut first = [0; 4];
        let mut second = [0; 4];
        // A key of 32 bytes is never refused.
        if let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.0) {
            mac.update(&local_tag.to_be_bytes());
            mac.update(&peer_tag.to_be_bytes());
            let digest = mac.finalize().into_bytes();
            first.copy_from_slice(&digest[..4]);
            second.copy_from_slice(&digest[4..8]);
        }
        (u32::from_be_bytes(first).max(1), u32::from_be_bytes(second).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_tags_or_another_secret_give_others() {
        let one = TieSecret::new([1; 32]);
        let of = one.tie_tags((5, 6));
        assert_eq!(of, one.clone().tie_tags((5, 6)));
        for other in [one.tie_tags((6, 5)), one.tie_tags((5, 7)), TieSecret::new([2; 32]).tie_tags((5, 6))] {
            assert!(other.0 != of.0 && other.1 != of.1);
        }
    }
}
