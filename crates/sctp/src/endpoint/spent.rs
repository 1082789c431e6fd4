//! State Cookies whose association has ended already.

use std::collections::{BTreeSet, VecDeque};

use anabranch_base::Instant;

/// Cookies remembered; when more associations than this end within the life of a cookie, the oldest are forgotten.
const MOST: usize = 1 << 16;

/// A COOKIE ECHO that arrives once more, late or replayed, after its association has ended would set the association
/// up again: the DATA that rode with it would be delivered twice, and what the ghost says would carry tags that the
/// peer still knows. So a tag is remembered until the cookie it came in is stale.
#[derive(Debug, Default)]
pub(super) struct SpentCookies {
    tags: BTreeSet<u32>,
    /// When each may be forgotten, in the order of their ends (not quite that of their expiries, which does not
    /// matter: a few stay a little longer).
    order: VecDeque<(Instant, u32)>,
}

impl SpentCookies {
    /// The association with our tag `tag` has ended; its cookie is good until `expires`.
    pub(super) fn add(&mut self, now: Instant, tag: u32, expires: Instant) {
        self.prune(now);
        if expires > now && self.tags.insert(tag) {
            self.order.push_back((expires, tag));
        }
    }

    /// Whether the cookie with that tag of ours made an association that has ended.
    pub(super) fn contains(&mut self, now: Instant, tag: u32) -> bool {
        self.prune(now);
        self.tags.contains(&tag)
    }

    fn prune(&mut self, now: Instant) {
        while let Some(&(expires, tag)) = self.order.front() {
            if expires > now && self.order.len() < MOST {
                break;
            }
            self.order.pop_front();
            self.tags.remove(&tag);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_base::Duration;

    #[test]
    fn remembered_until_stale_and_never_more_than_so_many() {
        let mut spent = SpentCookies::default();
        let at = |s| Instant::ZERO + Duration::from_secs(s);
        spent.add(at(0), 1, at(60));
        spent.add(at(0), 2, at(0));
        assert!(spent.contains(at(59), 1) && !spent.contains(at(59), 2));
        assert!(!spent.contains(at(60), 1));
        for tag in 0..200_000 {
            spent.add(at(0), tag, at(60));
        }
        assert!(spent.tags.len() <= MOST && spent.order.len() == spent.tags.len());
        assert!(spent.contains(at(1), 199_999) && !spent.contains(at(1), 0));
    }
}
