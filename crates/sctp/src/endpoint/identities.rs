//! Verification tags, first TSNs and random streams that an endpoint gives to its associations.

use anabranch_base::SecretRng;
use anabranch_wire::Tsn;

use super::registry::Registry;
use crate::association::{fresh_identity, random_tag};
use crate::shard::Shard;

/// Draws the tags and numbers that only an association and its peer know.
#[derive(Debug)]
pub(super) struct Identities {
    rng: SecretRng,
    /// Number of this endpoint among several with the same addresses: the tags carry it.
    shard: Shard,
}

impl Identities {
    pub(super) fn new(rng: SecretRng, shard: Shard) -> Self {
        Self { rng, shard }
    }

    /// Tag and first TSN for a peer that has asked.
    pub(super) fn fresh(&mut self) -> (u32, Tsn) {
        let (tag, tsn) = fresh_identity(&mut self.rng);
        (self.shard.tag(tag), tsn)
    }

    /// A tag that no association has.
    // rfc9260:5.3.1-3
    pub(super) fn unused_tag(&mut self, registry: &Registry) -> u32 {
        loop {
            let tag = self.shard.tag(random_tag(&mut self.rng));
            if registry.by_tag(tag).is_none() {
                return tag;
            }
        }
    }

    /// A tag that no association has and a stream of random numbers, for an association of our own: one draw in place of two.
    pub(super) fn for_caller(&mut self, registry: &Registry) -> (u32, SecretRng) {
        let (number, stream) = self.rng.u32_and_fork();
        let tag = self.shard.tag(number);
        let usable = number != 0 && registry.by_tag(tag).is_none();
        (if usable { tag } else { self.unused_tag(registry) }, stream)
    }

    /// A stream of its own for an association, so that the draws of one change no other.
    pub(super) fn fork(&mut self) -> SecretRng {
        self.rng.fork()
    }

    /// The endpoint's own stream, for the keys of cookies.
    pub(super) fn rng(&mut self) -> &mut SecretRng {
        &mut self.rng
    }
}
