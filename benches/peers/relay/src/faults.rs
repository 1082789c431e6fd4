//! Faults that the relay makes, and the fate of each packet.

use std::time::{Duration, Instant};

use clap::Args;

/// The faults of the relay. Chances are of 0 to 1, and of each packet for itself.
#[derive(Debug, Default, Args)]
pub(crate) struct Faults {
    /// Seed of all chances.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Chance of loss.
    #[arg(long, default_value_t = 0.0)]
    drop: f64,
    /// Chance that one bit is turned.
    #[arg(long, default_value_t = 0.0)]
    corrupt: f64,
    /// Chance that a packet arrives twice.
    #[arg(long, default_value_t = 0.0)]
    duplicate: f64,
    /// Chance that a packet is held back for 5 ms, so that others overtake it.
    #[arg(long, default_value_t = 0.0)]
    reorder: f64,
    /// One-way delay, ms.
    #[arg(long, default_value_t = 0)]
    delay: u64,
    /// Passes for so many ms, then loses everything for so many, ON:OFF, again and again.
    #[arg(long, value_parser = phases)]
    blackout: Option<(u64, u64)>,
    /// Loses everything after so many packets.
    #[arg(long)]
    dead_after: Option<u64>,
    /// Packets longer than this are lost.
    #[arg(long)]
    longest: Option<usize>,
    /// The limit on the length begins after so many packets.
    #[arg(long, default_value_t = 0)]
    longest_after: u64,
    /// It begins after so many ms.
    #[arg(long, default_value_t = 0)]
    longest_from: u64,
    /// Packets that are too long and may be fragmented by IP go on: as a router would do. Needs the right to open a raw socket.
    #[arg(long)]
    pub(crate) fragments: bool,
    #[arg(skip)]
    chance: Option<fastrand::Rng>,
    #[arg(skip)]
    first: Option<Instant>,
    #[arg(skip)]
    seen: u64,
}

/// The fate of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Goes on after this time.
    Pass(Duration),
    /// Goes on after this time, later than others.
    HoldBack(Duration),
    /// Goes on after this time, too long for one packet of IP.
    Fragment(Duration),
    /// Goes on with this bit turned.
    Corrupt(Duration, usize),
    /// Goes on twice.
    Twice(Duration),
    /// Lost, and why.
    Drop(&'static str),
    /// Lost as it is too long.
    TooLong,
}

impl Fate {
    /// The comment in the capture.
    pub(crate) fn comment(self) -> Option<&'static str> {
        match self {
            Self::Pass(_) => None,
            Self::HoldBack(_) => Some("held back"),
            Self::Fragment(_) => Some("fragmented"),
            Self::Corrupt(..) => Some("corrupted"),
            Self::Twice(_) => Some("duplicated"),
            Self::Drop(why) => Some(why),
            Self::TooLong => Some("dropped: too long"),
        }
    }
}

const HELD_BACK: Duration = Duration::from_millis(5);

fn phases(text: &str) -> Result<(u64, u64), String> {
    let parsed = text.split_once(':').and_then(|(on, off)| Some((on.parse().ok()?, off.parse().ok()?)));
    match parsed {
        Some((on, off)) if on + off > 0 => Ok((on, off)),
        _ => Err("ON:OFF in ms is expected, such as 5000:2000".into()),
    }
}

impl Faults {
    /// `whole`: IP must not fragment it.
    pub(crate) fn judge(&mut self, now: Instant, packet: &[u8], whole: bool) -> Fate {
        self.seen += 1;
        let first = *self.first.get_or_insert(now);
        let chance = self.chance.get_or_insert_with(|| fastrand::Rng::with_seed(self.seed));
        // The same draws for each packet, so that one fault does not change the draws of another.
        let draws = [chance.f64(), chance.f64(), chance.f64(), chance.f64()];
        let bit = chance.usize(0..packet.len().max(1) * 8);
        if self.dead_after.is_some_and(|limit| self.seen > limit) {
            return Fate::Drop("dropped: dead");
        }
        if self.is_dark(now.duration_since(first)) {
            return Fate::Drop("dropped: blackout");
        }
        let narrow = self.seen > self.longest_after
            && now.duration_since(first).as_millis() as u64 >= self.longest_from;
        let too_long = narrow && self.longest.is_some_and(|longest| packet.len() > longest);
        if too_long && whole {
            return Fate::TooLong;
        }
        if draws[0] < self.drop {
            return Fate::Drop("dropped");
        }
        let mut delay = Duration::from_millis(self.delay);
        if draws[3] < self.reorder {
            delay += HELD_BACK;
        }
        if draws[1] < self.corrupt {
            return Fate::Corrupt(delay, bit);
        }
        if draws[2] < self.duplicate {
            return Fate::Twice(delay);
        }
        if too_long {
            return Fate::Fragment(delay);
        }
        if draws[3] < self.reorder { Fate::HoldBack(delay) } else { Fate::Pass(delay) }
    }

    fn is_dark(&self, since: Duration) -> bool {
        self.blackout.is_some_and(|(on, off)| since.as_millis() as u64 % (on + off) >= on)
    }
}

#[cfg(test)]
mod tests {
    use super::{Duration, Fate, Faults, Instant};

    #[test]
    fn the_same_seed_makes_the_same_losses() {
        let run = |seed| {
            let mut faults = Faults { seed, drop: 0.3, corrupt: 0.1, ..Faults::default() };
            let now = Instant::now();
            (0..1000).map(|_| faults.judge(now, &[0; 100], true)).collect::<Vec<_>>()
        };
        assert_eq!(run(7), run(7));
        assert_ne!(run(7), run(8));
        let lost = run(7).iter().filter(|fate| matches!(fate, Fate::Drop(_))).count();
        assert!((250..350).contains(&lost), "{lost}");
    }

    #[test]
    fn a_blackout_comes_and_goes() {
        let mut faults = Faults { blackout: Some((50, 20)), ..Faults::default() };
        let start = Instant::now();
        let mut at = |ms| faults.judge(start + Duration::from_millis(ms), &[0; 20], true);
        assert_eq!(at(0), Fate::Pass(Duration::ZERO));
        assert_eq!(at(60), Fate::Drop("dropped: blackout"));
        assert_eq!(at(75), Fate::Pass(Duration::ZERO));
        assert_eq!(at(121), Fate::Drop("dropped: blackout"));
    }

    #[test]
    fn long_packets_are_lost_once_the_path_is_narrow() {
        let mut faults = Faults { longest: Some(1000), longest_after: 1, ..Faults::default() };
        let now = Instant::now();
        assert_eq!(faults.judge(now, &[0; 1200], true), Fate::Pass(Duration::ZERO));
        assert_eq!(faults.judge(now, &[0; 1200], true), Fate::TooLong);
        assert_eq!(faults.judge(now, &[0; 1200], false), Fate::Fragment(Duration::ZERO));
        assert_eq!(faults.judge(now, &[0; 1000], true), Fate::Pass(Duration::ZERO));
        let mut faults = Faults { longest: Some(1000), longest_from: 5, ..Faults::default() };
        assert_eq!(faults.judge(now, &[0; 1200], true), Fate::Pass(Duration::ZERO));
        assert_eq!(faults.judge(now + Duration::from_millis(5), &[0; 1200], true), Fate::TooLong);
    }
}
