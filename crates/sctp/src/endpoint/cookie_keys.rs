//! The keys that sign State Cookies: a new one from time to time (RFC 9260, 5.1.3: "the secret key ... SHOULD be changed
//! reasonably frequently").

use anabranch_base::{Duration, Instant, SecretRng};

use crate::config::Config;
use crate::cookie::{Cookie, CookieKey, KeyNumber};

/// Keys that open cookies, the one that signs among them. Each has a number of its own in the cookies that it signs, so a forged one costs one MAC.
const MOST_KEYS: usize = KeyNumber::COUNT;

/// Limit of a key's use beyond the life of its cookies, however long the configuration has peers repeat a COOKIE
/// ECHO.
const LONGEST_PATIENCE: Duration = Duration::from_secs(3600);

/// The current key, and earlier ones whose cookies may still come back. A key is replaced when an INIT is answered
/// and the key is older than its life; so an endpoint that is not asked needs no timer. It verifies cookies for as
/// long as a peer may repeat them: beyond its life a cookie is answered with a COOKIE ACK, if it made the association
/// that exists (5.2.4 D), or else with a Stale Cookie error (5.1.5), and not with silence.
#[derive(Debug)]
pub(super) struct CookieKeys {
    current: CookieKey,
    number: KeyNumber,
    /// Time at which the current key was first used; `None` before.
    since: Option<Instant>,
    /// Time after which no cookie under the current key comes back.
    good_until: Instant,
    /// Earlier keys, the oldest first; empty, and without memory, until a key is replaced.
    older: Vec<Older>,
}

#[derive(Debug)]
struct Older {
    key: CookieKey,
    number: KeyNumber,
    good_until: Instant,
}

impl CookieKeys {
    // rfc9260:5.1.3-4 rfc9260:14.1-1
    pub(super) fn new(rng: &mut SecretRng) -> Self {
        let current = CookieKey::new(rng.key());
        Self { current, number: KeyNumber::FIRST, since: None, good_until: Instant::ZERO, older: Vec::new() }
    }

    /// Signs a cookie and fills it up to `size`; with a new key, if the last one is older than `life`. The peer may
    /// repeat the cookie for `patience`.
    // rfc9260:5.1.3-5
    pub(super) fn seal(
        &mut self,
        now: Instant,
        life: Duration,
        patience: Duration,
        rng: &mut SecretRng,
        cookie: &Cookie,
        size: u16,
    ) -> Vec<u8> {
        let since = *self.since.get_or_insert(now);
        if now - since >= life {
            self.replace(now, rng);
        }
        self.good_until = self.good_until.max(cookie.created + cookie.life + patience);
        self.current.seal(self.number, cookie, size)
    }

    /// However short its life is: the oldest must have had its time before there is one more.
    #[cold]
    fn replace(&mut self, now: Instant, rng: &mut SecretRng) {
        self.prune(now);
        if self.older.len() + 1 >= MOST_KEYS {
            return;
        }
        let key = std::mem::replace(&mut self.current, CookieKey::new(rng.key()));
        self.older.push(Older { key, number: self.number, good_until: self.good_until });
        // There are more numbers than keys so far, so some number is free.
        while self.older.iter().any(|older| older.number == self.number) {
            self.number = self.number.next();
        }
        self.since = Some(now);
        self.good_until = now;
    }

    /// Forgets keys whose cookies are all stale.
    fn prune(&mut self, now: Instant) {
        self.older.retain(|older| older.good_until >= now);
    }

    /// The contents of a cookie, if the key that it names signed it, and is one of those that are kept. "The timestamp in the State Cookie MAY
    /// be used to determine which secret key to use" (5.1.5): a clock may go back, so the cookie names its key. The number is
    /// believed for nothing else, and the MAC is over it, too.
    // rfc9260:5.1.5-1
    pub(super) fn open(&mut self, now: Instant, sealed: &[u8]) -> Option<Cookie> {
        if !self.older.is_empty() {
            self.prune(now);
        }
        let number = KeyNumber::of(sealed)?;
        if number == self.number {
            return self.current.open(sealed);
        }
        self.older.iter().find(|older| older.number == number)?.key.open(sealed)
    }
}

/// Time for which a peer repeats its COOKIE ECHO before it gives up, if it is configured as we are: T1-cookie with
/// its back-off, and one expiry more than Max.Init.Retransmits (5.1.4, 6.3.3). With the defaults 243 s, the last
/// COOKIE ECHO after 183 s.
pub(super) fn patience(config: &Config) -> Duration {
    let longest = config.timers.longest_init_rto();
    let mut rto = config.timers.rto_initial.min(longest);
    let mut sum = rto;
    for expiry in 0..config.limits.max_init_retransmits {
        rto = (rto * 2).min(longest);
        if rto == longest {
            sum += rto * u64::from(config.limits.max_init_retransmits - expiry);
            break;
        }
        sum += rto;
    }
    sum.min(LONGEST_PATIENCE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cookie::tests::cookie;

    const LIFE: Duration = Duration::from_secs(600);
    const PATIENCE: Duration = Duration::from_secs(243);

    fn at(s: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(s)
    }

    fn made(s: u64) -> Cookie {
        Cookie { created: at(s), life: Duration::from_secs(60), ..cookie() }
    }

    // rfc9260:5.1.3-5
    #[test]
    fn a_key_is_replaced_and_opens_what_somebody_may_come_back_with() {
        let mut rng = SecretRng::from_seed([1; 32]);
        let mut keys = CookieKeys::new(&mut rng);
        let mut seal = |keys: &mut CookieKeys, s| keys.seal(at(s), LIFE, PATIENCE, &mut rng, &made(s), 0);
        let first = seal(&mut keys, 100);
        let last = seal(&mut keys, 699);
        assert_eq!(keys.older.capacity(), 0);
        let next = seal(&mut keys, 700);
        for sealed in [&first, &last, &next] {
            assert!(keys.open(at(699 + 60 + 243), sealed).is_some());
        }
        // The last cookie of the first key cannot be repeated any more: the key is gone.
        assert_eq!(keys.open(at(700 + 60 + 243), &last), None);
        assert!(keys.older.is_empty());
        assert!(keys.open(at(700 + 60 + 243), &next).is_some());
    }

    /// With a key for each cookie: as many as there are numbers, and none goes before its time.
    // rfc9260:5.1.3-5
    #[test]
    fn keys_are_few_and_none_goes_before_its_time() {
        let mut rng = SecretRng::from_seed([3; 32]);
        for life in [0, 1, 7, 60, 100, 600] {
            let mut keys = CookieKeys::new(&mut rng);
            let (mut sealed, mut numbers) = (Vec::new(), 0);
            for s in 0..3000 {
                let before = keys.number;
                sealed.push(keys.seal(at(s), Duration::from_secs(life), PATIENCE, &mut rng, &made(s), 0));
                numbers += u32::from(keys.number != before);
                assert!(keys.older.len() < MOST_KEYS && keys.older.capacity() <= MOST_KEYS);
                for age in [0, 59, 60, 150, 303] {
                    let Some(made) = s.checked_sub(age) else { continue };
                    assert!(keys.open(at(s), &sealed[made as usize]).is_some(), "{life}: {made} at {s}");
                }
            }
            // However long they are kept, keys change: no key signs for longer than its life, or than the oldest is kept.
            assert!(numbers >= 3000 / (life.max(304) + 1) as u32, "{numbers} keys in 3000 s, life {life} s");
            // No key is kept for ever.
            assert_eq!(keys.open(at(2999 + 304), &sealed[0]), None);
        }
    }

    /// A number that no key has costs no MAC and opens nothing; the number of another key opens nothing either.
    // rfc9260:5.1.5-1
    #[test]
    fn a_cookie_is_asked_of_the_key_that_it_names() {
        let mut rng = SecretRng::from_seed([4; 32]);
        let mut keys = CookieKeys::new(&mut rng);
        let mut seal = |keys: &mut CookieKeys, s| keys.seal(at(s), LIFE, PATIENCE, &mut rng, &made(s), 0);
        seal(&mut keys, 0);
        // The last of the first key, and the first of the next.
        let cookies = [seal(&mut keys, 599), seal(&mut keys, 600)];
        for sealed in &cookies {
            assert_eq!(keys.open(at(601), sealed).map(|cookie| cookie.local_tag), Some(1));
            let own = KeyNumber::of(sealed);
            for number in 0..KeyNumber::COUNT as u8 {
                let mut forged = sealed.clone();
                KeyNumber::test(number).write(&mut forged);
                let opens = keys.open(at(601), &forged).is_some();
                assert_eq!(opens, own == Some(KeyNumber::test(number)), "{number}");
            }
        }
        for len in 0..cookies[0].len() {
            assert_eq!(keys.open(at(601), &cookies[0][..len]), None, "{len}");
        }
    }

    // rfc9260:5.1.5-1
    #[test]
    fn a_key_that_nobody_needed_for_long_is_replaced() {
        let mut rng = SecretRng::from_seed([2; 32]);
        let mut keys = CookieKeys::new(&mut rng);
        let mut seal = |keys: &mut CookieKeys, s| keys.seal(at(s), LIFE, PATIENCE, &mut rng, &made(s), 0);
        let next = seal(&mut keys, 700);
        // No INIT came for a day: the next one makes a new key.
        let late = seal(&mut keys, 90_000);
        assert!(keys.open(at(90_000), &late).is_some());
        assert_eq!(keys.open(at(90_000), &next), None);
    }

    #[test]
    fn a_caller_repeats_as_long_as_its_configuration_says() {
        let of = |retransmits, initial_s, longest_s, init_s| {
            let config = Config::rfc9260().with(|c| {
                c.limits.max_init_retransmits = retransmits;
                c.timers.rto_initial = Duration::from_secs(initial_s);
                c.timers.rto_max = Duration::from_secs(longest_s);
                c.timers.rto_max_init = Duration::from_secs(init_s);
            });
            patience(&config).as_nanos() / 1_000_000_000
        };
        assert_eq!(of(8, 1, 60, 0), 1 + 2 + 4 + 8 + 16 + 32 + 60 + 60 + 60);
        assert_eq!(of(8, 3, 60, 0), 3 + 6 + 12 + 24 + 48 + 4 * 60);
        assert_eq!(of(0, 3, 60, 0), 3);
        assert_eq!(of(3, 1, 60, 2), 1 + 2 + 2 + 2);
        assert_eq!(of(3, 1, 60, 8), 1 + 2 + 4 + 8);
        assert_eq!(of(3, 90, 60, 0), 4 * 60);
        // A key that is kept for ever is never changed.
        assert_eq!(of(u32::MAX, 1, 60, 0), 3600);
    }
}
