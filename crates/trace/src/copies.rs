//! Packets that were recorded more than once: on two interfaces at a time (`tcpdump -i any`), by a switch that mirrors received and
//! sent packets, before and behind the host that routes them.
//!
//! Equal bytes alone do not make a copy: a sender may send the same bytes again, with the identification 0 of IPv4 where fragments are
//! forbidden, and three duplicate acknowledgements are equal. They are copies where a capture repeats most packets of a
//! way. So each way from an address to another is looked at as a whole: how many of its packets come again, at which
//! place (interface, hops left, addresses and VLANs of the link, tunnels), and how soon. That gives a bound, and each
//! packet may have so many copies within it as its way has.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::network::Datagram;

/// A packet with the properties that tell copies. Lists are in the order of the recording.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen<'a> {
    pub(crate) interface: u32,
    pub(crate) time_ns: i64,
    pub(crate) datagram: &'a Datagram<'a>,
}

/// At one place copies are no further apart, and sooner than any retransmission timer.
const SAME_PLACE_NS: i64 = 50_000_000;
/// Between places there may be a queue.
const OTHER_PLACE_NS: i64 = 1_000_000_000;
/// The precision to which clocks of captures are trusted, nanoseconds.
const LEAST_NS: i64 = 1_000_000;
/// So many packets before one are looked at for its original.
const DEEPEST: usize = 64;
/// A way with fewer different packets is judged together with the way back, and by its data.
const FEW: usize = 4;
/// No capture holds a packet more often from one place.
const MOST: usize = 4;

/// The place at which a packet was recorded: interface, link and tunnels, hops left.
type Spot = (u32, u64, u8);
/// From where to where.
type Way = (IpAddr, IpAddr);
/// The key that equal packets share: the ends, protocol and number, part and length, and the bytes without the
/// checksum, which may have been filled in between two places. TTL, code point and ECN change on the way.
type Key<'a> = (Way, (u8, u16), (u32, bool, u32), u32, &'a [u8], &'a [u8]);

fn key<'a>(datagram: &Datagram<'a>) -> Option<Key<'a>> {
    let way = (datagram.source, datagram.destination);
    let part = datagram.fragment.map_or((0, false, 0), |part| (part.offset, part.more, part.id));
    let bytes = datagram.payload;
    // The place of the checksum, and the bytes that must have been kept for two packets to be told apart.
    let (sum, least) = match (datagram.protocol, part.0) {
        (_, 1..) => (0..0, 8),
        (6, _) => (16..18, 20),
        (132, _) => (8..12, 28),
        // Around SCTP.
        (17, _) => (16..20, 36),
        _ => return None,
    };
    if bytes.len() < least.min(datagram.payload_length as usize) {
        return None;
    }
    let head = bytes.get(..sum.start).unwrap_or(bytes);
    let tail = bytes.get(sum.end..).unwrap_or_default();
    Some((way, (datagram.protocol, datagram.id), part, datagram.payload_length, head, tail))
}

/// A segment of TCP that only acknowledges, or a packet of SCTP that begins with an acknowledgement: it may come again with the same bytes at any time.
fn only_acknowledges(datagram: &Datagram<'_>) -> bool {
    let bytes = datagram.payload;
    match datagram.protocol {
        6 => {
            let at = |at: usize| bytes.get(at).copied().unwrap_or(0);
            let empty = datagram.payload_length <= u32::from(at(12) >> 4) * 4;
            empty && at(13) & 0x07 == 0
        }
        132 => bytes.get(12).is_some_and(|&kind| matches!(kind, 3 | 16)),
        _ => false,
    }
}

/// How often equal packets were recorded at one place, each time within [`SAME_PLACE_NS`] of the one before.
#[derive(Clone, Debug, Default)]
struct Runs {
    lengths: Vec<usize>,
    /// Lengths of the runs whose packets do not only acknowledge.
    telling: Vec<usize>,
    gaps: BTreeMap<usize, Vec<i64>>,
}

impl Runs {
    fn add(&mut self, times: &[i64], telling: bool) {
        let mut length = 0;
        let mut last: Option<i64> = None;
        for &time in times {
            match last.map(|last| time.saturating_sub(last)) {
                Some(gap) if (0..=SAME_PLACE_NS).contains(&gap) => {
                    // Between copies, as far as there are so many of each.
                    for often in 2..=MOST {
                        if length % often != 0 {
                            self.gaps.entry(often).or_default().push(gap);
                        }
                    }
                    length += 1;
                }
                Some(_) => {
                    self.end(length, telling);
                    length = 1;
                }
                None => length = 1,
            }
            last = Some(time);
        }
        self.end(length, telling);
    }

    fn end(&mut self, length: usize, telling: bool) {
        if length > 0 {
            self.lengths.push(length);
            if telling {
                self.telling.push(length);
            }
        }
    }

    /// How often each packet was recorded, if three quarters of these say so.
    fn often(lengths: &[usize]) -> Option<usize> {
        (2..=MOST).rev().find(|often| {
            let fitting = lengths.iter().filter(|&&length| length % often == 0).count();
            fitting > 0 && 4 * fitting >= 3 * lengths.len()
        })
    }

    /// How often each packet was recorded, and how far apart. `both` are the runs of the way and of the way back at the interface.
    fn judge(&self, both: &Runs) -> (usize, i64) {
        const NONE: (usize, i64) = (1, 0);
        let few = self.lengths.len() < FEW;
        let often = if few { Self::often(&self.telling) } else { Self::often(&self.lengths) };
        let Some(often) = often else { return NONE };
        let gaps = self.gaps.get(&often).map_or(&[][..], Vec::as_slice);
        let bound = usual(gaps, SAME_PLACE_NS);
        if few && (Self::often(&both.lengths) != Some(often) || gaps.iter().any(|&gap| gap > LEAST_NS)) {
            return NONE;
        }
        (often, bound)
    }
}

/// Four times the gap that nine of ten do not exceed, within limits.
fn usual(gaps: &[i64], most: i64) -> i64 {
    let mut sorted = gaps.to_vec();
    sorted.sort_unstable();
    let usual = sorted.get(sorted.len() * 9 / 10).or(sorted.last()).copied().unwrap_or(0);
    usual.saturating_mul(4).clamp(LEAST_NS, most)
}

/// A packet that is no copy, while its copies are looked for.
struct Original {
    index: usize,
    spot: Spot,
    time_ns: i64,
    /// How often it was recorded at each place.
    at: Vec<(Spot, usize)>,
}

impl Original {
    fn often(&self, spot: Spot) -> usize {
        self.at.iter().find(|&&(known, _)| known == spot).map_or(0, |&(_, often)| often)
    }

    fn again(&mut self, spot: Spot) {
        match self.at.iter_mut().find(|(known, _)| *known == spot) {
            Some((_, often)) => *often += 1,
            None => self.at.push((spot, 1)),
        }
    }
}

/// A packet does not get more hops on its way.
fn onward(from: Spot, to: Spot) -> bool {
    to.2 <= from.2
}

/// For each packet the one that it is a copy of, by its place in the list.
pub(crate) fn find(seen: &[Option<Seen<'_>>]) -> Vec<Option<usize>> {
    let mut equal: BTreeMap<Key<'_>, Vec<(usize, Spot, i64)>> = BTreeMap::new();
    for (index, one) in seen.iter().enumerate() {
        let Some(one) = one else { continue };
        let Some(key) = key(one.datagram) else { continue };
        let spot = (one.interface, one.datagram.around, one.datagram.hops);
        equal.entry(key).or_default().push((index, spot, one.time_ns));
    }
    let mut copies = vec![None; seen.len()];
    if equal.values().all(|list| list.len() < 2) {
        return copies;
    }
    let telling = |index: usize| {
        seen.get(index).and_then(Option::as_ref).is_some_and(|one| !only_acknowledges(one.datagram))
    };
    let mut runs: BTreeMap<(Way, Spot), Runs> = BTreeMap::new();
    let mut both: BTreeMap<(Way, u32), Runs> = BTreeMap::new();
    let mut counts: BTreeMap<(Way, Spot), u64> = BTreeMap::new();
    let mut between: BTreeMap<(Way, Spot, Spot), Vec<i64>> = BTreeMap::new();
    for (key, list) in &equal {
        let way = key.0;
        let mut times: BTreeMap<Spot, Vec<i64>> = BTreeMap::new();
        for &(_, spot, time_ns) in list {
            times.entry(spot).or_default().push(time_ns);
            *counts.entry((way, spot)).or_insert(0) += 1;
        }
        let telling = list.first().is_some_and(|&(index, ..)| telling(index));
        for (spot, times) in times {
            runs.entry((way, spot)).or_default().add(&times, telling);
            let ends = (way.0.min(way.1), way.0.max(way.1));
            both.entry((ends, spot.0)).or_default().add(&times, telling);
        }
        // Each packet at another place than one before it, one to one.
        assign(list, |original, spot, gap| {
            let fits = onward(original.spot, spot) && original.often(spot) == 0 && gap <= OTHER_PLACE_NS;
            if fits {
                between.entry((way, original.spot, spot)).or_default().push(gap);
            }
            fits
        });
    }
    let often: BTreeMap<(Way, Spot), (usize, i64)> = runs
        .iter()
        .map(|(&(way, spot), runs)| {
            let ends = (way.0.min(way.1), way.0.max(way.1));
            let both = both.get(&(ends, spot.0)).unwrap_or(runs);
            ((way, spot), runs.judge(both))
        })
        .collect();
    let between: BTreeMap<(Way, Spot, Spot), i64> = between
        .into_iter()
        .filter(|((way, from, to), gaps)| {
            let count = |spot: &Spot| counts.get(&(*way, *spot)).copied().unwrap_or(0);
            2 * gaps.len() as u64 >= count(from).max(count(to))
        })
        .map(|(places, gaps)| (places, usual(&gaps, OTHER_PLACE_NS)))
        .collect();
    for (key, list) in &equal {
        let way = key.0;
        let found = assign(list, |original, spot, gap| {
            let (most, same) = often.get(&(way, spot)).copied().unwrap_or((1, 0));
            let bound = if original.spot == spot {
                (most > 1).then_some(same)
            } else {
                between.get(&(way, original.spot, spot)).copied()
            };
            bound.is_some_and(|bound| gap <= bound) && original.often(spot) < most
        });
        for (index, original) in found {
            if let Some(slot) = copies.get_mut(index) {
                *slot = Some(original);
            }
        }
    }
    copies
}

/// Goes through equal packets in their order. One that `fits` to an original before it is its copy, of the latest of these; any other is
/// an original. Pairs of copy and original.
fn assign(
    list: &[(usize, Spot, i64)],
    mut fits: impl FnMut(&Original, Spot, i64) -> bool,
) -> Vec<(usize, usize)> {
    let mut originals: Vec<Original> = Vec::new();
    let mut found = Vec::new();
    for &(index, spot, time_ns) in list {
        let original = originals.iter_mut().rev().take(DEEPEST).find(|original| {
            let gap = time_ns.saturating_sub(original.time_ns);
            gap >= 0 && fits(original, spot, gap)
        });
        match original {
            Some(original) => {
                original.again(spot);
                found.push((index, original.index));
            }
            None => originals.push(Original { index, spot, time_ns, at: vec![(spot, 1)] }),
        }
    }
    found
}
