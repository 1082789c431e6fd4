//! The keys that sign State Cookies: a new one from time to time (RFC 9260, 5.1.3: "the secret key ... SHOULD be changed
//! reasonably frequently").

use anabranch_base::{Duration, Instant, SecretRng};

use crate::cookie::{Cookie, CookieKey};

/// The key of the moment and the one before. A key is replaced when an INIT is answered and the key is older than its life; so an
/// endpoint that is not asked needs no timer. The one before opens cookies as long as one of them is not stale.
#[derive(Debug)]
pub(super) struct CookieKeys {
    current: CookieKey,
    /// When the key of the moment was first used; `None` before.
    since: Option<Instant>,
    /// When the last cookie under the key of the moment becomes stale.
    good_until: Instant,
    previous: Option<Box<Previous>>,
}

#[derive(Debug)]
struct Previous {
    key: CookieKey,
    good_until: Instant,
}

impl CookieKeys {
    // rfc9260:5.1.3-4 rfc9260:14.1-1
    pub(super) fn new(rng: &mut SecretRng) -> Self {
        Self { current: CookieKey::new(rng.key()), since: None, good_until: Instant::ZERO, previous: None }
    }

    /// Signs a cookie and fills it up to `size`; with a new key, if the last one is older than `life`.
    // rfc9260:5.1.3-5
    pub(super) fn seal(
        &mut self,
        now: Instant,
        life: Duration,
        rng: &mut SecretRng,
        cookie: &Cookie,
        size: u16,
    ) -> Vec<u8> {
        let since = *self.since.get_or_insert(now);
        // However short its life is: the one before must have had its time.
        let free = self.previous.as_ref().is_none_or(|previous| previous.good_until < now);
        if now - since >= life && free {
            let key = std::mem::replace(&mut self.current, CookieKey::new(rng.key()));
            self.previous = Some(Box::new(Previous { key, good_until: self.good_until }));
            self.since = Some(now);
            self.good_until = now;
        }
        self.good_until = self.good_until.max(cookie.created + cookie.life);
        self.current.seal(cookie, size)
    }

    /// The contents of a cookie, if one of the keys that are still good signed it.
    // rfc9260:5.1.5-1
    pub(super) fn open(&mut self, now: Instant, sealed: &[u8]) -> Option<Cookie> {
        if self.previous.as_ref().is_some_and(|previous| previous.good_until < now) {
            self.previous = None;
        }
        self.current.open(sealed).or_else(|| self.previous.as_ref()?.key.open(sealed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cookie::tests::cookie;

    // rfc9260:5.1.3-5
    #[test]
    fn a_key_is_replaced_and_opens_what_is_not_stale() {
        let mut rng = SecretRng::from_seed([1; 32]);
        let mut keys = CookieKeys::new(&mut rng);
        let at = |s: u64| Instant::ZERO + Duration::from_secs(s);
        let life = Duration::from_secs(600);
        let made = |s| Cookie { created: at(s), life: Duration::from_secs(60), ..cookie() };
        let mut seal = |keys: &mut CookieKeys, s| keys.seal(at(s), life, &mut rng, &made(s), 0);
        let first = seal(&mut keys, 100);
        let last = seal(&mut keys, 699);
        assert!(keys.previous.is_none());
        let next = seal(&mut keys, 700);
        for sealed in [&first, &last, &next] {
            assert!(keys.open(at(759), sealed).is_some());
        }
        // The last cookie of the first key is stale: the key is gone.
        assert_eq!(keys.open(at(760), &last), None);
        assert!(keys.open(at(760), &next).is_some());
        // With a short life: none is replaced while cookies under the one before are good.
        let short = Duration::from_secs(1);
        let mut keys = CookieKeys::new(&mut rng);
        let sealed: Vec<_> = (0..50).map(|s| keys.seal(at(s), short, &mut rng, &made(s), 0)).collect();
        assert!(sealed.iter().all(|sealed| keys.open(at(50), sealed).is_some()));
    }

    // rfc9260:5.1.5-1
    #[test]
    fn a_key_that_nobody_needed_for_long_is_replaced() {
        let mut rng = SecretRng::from_seed([2; 32]);
        let mut keys = CookieKeys::new(&mut rng);
        let at = |s: u64| Instant::ZERO + Duration::from_secs(s);
        let life = Duration::from_secs(600);
        let mut seal = |keys: &mut CookieKeys, s| {
            let made = Cookie { created: at(s), life: Duration::from_secs(60), ..cookie() };
            keys.seal(at(s), life, &mut rng, &made, 0)
        };
        let next = seal(&mut keys, 700);
        // Nobody asked for a day: the next INIT makes a new key.
        let late = seal(&mut keys, 90_000);
        assert!(keys.open(at(90_000), &late).is_some());
        assert_eq!(keys.open(at(90_000), &next), None);
    }
}
