//! Datagrams that came in parts (RFC 791 section 3.2, RFC 8200 section 4.5), put together.
//!
//! Parts stay where they are, in the file; a whole datagram is copied once. How many may be open at a time is bounded, and how long.
//! Parts that overlap are refused with all of their datagram, as RFC 5722 asks of hosts: which of them counts cannot be known. A part
//! that came twice with the same bytes is one part.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

use crate::network::{Datagram, Fragment};

/// Datagrams that may be open at a time; the oldest is given up for a new one.
const MOST_OPEN: usize = 4096;
/// Linux waits so long for the parts of a datagram. RFC 8200 has 60 s, but there are 2^16 numbers of IPv4 only.
const LONGEST_NS: u64 = 30_000_000_000;
/// No datagram is longer.
const MOST_BYTES: u32 = 65_535;

/// The fields that the parts of one datagram share, and the interface at which they were seen.
type Key = (u32, IpAddr, IpAddr, u8, u32);

/// A part, by the place of its packet in the list of all packets.
#[derive(Clone, Copy, Debug)]
struct Part<'a> {
    index: usize,
    datagram: Datagram<'a>,
    fragment: Fragment,
}

#[derive(Clone, Debug)]
struct Open<'a> {
    time_ns: i64,
    /// The parts that came, by their offsets.
    parts: BTreeMap<u32, Part<'a>>,
    /// Bytes of them, and of the whole if the last part came.
    received: u32,
    length: Option<u32>,
    overlap: bool,
    done: bool,
}

/// A datagram, whole or not.
#[derive(Clone, Debug)]
pub(crate) struct Joined<'a> {
    /// The packets that its parts came in, by their place in the list of all packets.
    pub(crate) indices: Vec<usize>,
    /// Its first part, or the first of those that came.
    pub(crate) first: Datagram<'a>,
    /// Whether the first part came.
    pub(crate) begins: bool,
    /// Bytes of the whole payload, if the last part came.
    pub(crate) length: Option<u32>,
    /// The bytes that the file has of the payload, up to the first that is missing. Empty where parts are missing.
    pub(crate) payload: Vec<u8>,
    /// ECN: a mark on any part marks the datagram (RFC 3168, section 5.3).
    pub(crate) ecn: u8,
}

/// The effect of a part on its datagram.
pub(crate) enum Outcome<'a> {
    /// Other parts are missing, or this one is not needed.
    Waits,
    /// The part was the last missing one.
    Whole(Joined<'a>),
}

/// Collects parts.
#[derive(Default)]
pub(crate) struct Reassembly<'a> {
    open: BTreeMap<Key, Open<'a>>,
    /// In the order in which they began; some may be gone from `open`, or began anew.
    order: VecDeque<(i64, Key)>,
    incomplete: Vec<Joined<'a>>,
    /// Datagrams whose parts overlap.
    pub(crate) overlapping: u64,
}

impl<'a> Reassembly<'a> {
    /// Takes a part.
    pub(crate) fn take(
        &mut self,
        index: usize,
        interface: u32,
        time_ns: i64,
        datagram: Datagram<'a>,
        fragment: Fragment,
    ) -> Outcome<'a> {
        let key = (interface, datagram.source, datagram.destination, datagram.protocol, fragment.id);
        if self.open.get(&key).is_some_and(|open| open.time_ns.abs_diff(time_ns) > LONGEST_NS) {
            self.close(key);
        }
        let part = Part { index, datagram, fragment };
        match self.open.get(&key) {
            // The number is used again for another datagram, or a part was recorded twice.
            Some(open) if open.done => {
                if open.same(&part) {
                    return Outcome::Waits;
                }
                self.close(key);
            }
            _ => {}
        }
        if !self.open.contains_key(&key) {
            while self.order.len() >= MOST_OPEN {
                let Some((began, oldest)) = self.order.pop_front() else { break };
                if self.open.get(&oldest).is_some_and(|open| open.time_ns == began) {
                    self.close(oldest);
                }
            }
            self.order.push_back((time_ns, key));
        }
        let new = || Open {
            time_ns,
            parts: BTreeMap::new(),
            received: 0,
            length: None,
            overlap: false,
            done: false,
        };
        let open = self.open.entry(key).or_insert_with(new);
        if open.same(&part) {
            return Outcome::Waits;
        }
        if open.overlaps(&part) && !open.overlap {
            open.overlap = true;
            self.overlapping += 1;
        }
        if open.overlap {
            return Outcome::Waits;
        }
        open.received = open.received.saturating_add(datagram.payload_length);
        if !fragment.more {
            open.length = Some(part.end());
        }
        open.parts.insert(fragment.offset, part);
        // Without overlaps so many bytes leave no hole.
        if open.length != Some(open.received) {
            return Outcome::Waits;
        }
        open.done = true;
        open.joined().map_or(Outcome::Waits, Outcome::Whole)
    }

    /// The datagrams that never became whole, in the order in which they were given up, and the number of those with
    /// overlapping parts.
    pub(crate) fn finish(mut self) -> (Vec<Joined<'a>>, u64) {
        let keys: Vec<Key> = self.open.keys().copied().collect();
        for key in keys {
            self.close(key);
        }
        (self.incomplete, self.overlapping)
    }

    fn close(&mut self, key: Key) {
        let Some(open) = self.open.remove(&key) else { return };
        if !open.done && !open.overlap {
            self.incomplete.extend(open.joined());
        }
    }
}

impl<'a> Part<'a> {
    fn end(&self) -> u32 {
        self.fragment.offset.saturating_add(self.datagram.payload_length)
    }
}

impl<'a> Open<'a> {
    /// Whether this part is there already, byte by byte.
    fn same(&self, part: &Part<'a>) -> bool {
        self.parts.get(&part.fragment.offset).is_some_and(|known| {
            known.fragment == part.fragment
                && known.datagram.payload_length == part.datagram.payload_length
                && known.datagram.payload == part.datagram.payload
        })
    }

    fn overlaps(&self, part: &Part<'a>) -> bool {
        let (start, end) = (part.fragment.offset, part.end());
        let before = self.parts.range(..=start).next_back().is_some_and(|(_, known)| known.end() > start);
        let behind = self.parts.range(start..).next().is_some_and(|(&known, _)| known < end);
        // Behind the last part there is nothing.
        let beyond = match self.length {
            Some(length) => end > length || !part.fragment.more,
            None => {
                !part.fragment.more && self.parts.values().next_back().is_some_and(|known| known.end() > end)
            }
        };
        before || behind || beyond || end > MOST_BYTES
    }

    fn joined(&self) -> Option<Joined<'a>> {
        let first = self.parts.values().next()?;
        let mut payload = Vec::new();
        if self.done {
            for part in self.parts.values() {
                payload.extend_from_slice(part.datagram.payload);
                // Bytes that were cut from a part cannot be restored.
                if (part.datagram.payload.len() as u64) < u64::from(part.datagram.payload_length) {
                    break;
                }
            }
        }
        Some(Joined {
            indices: self.parts.values().map(|part| part.index).collect(),
            first: first.datagram,
            begins: first.fragment.offset == 0,
            length: self.length,
            payload,
            ecn: if self.parts.values().any(|part| part.datagram.ecn == 3) { 3 } else { first.datagram.ecn },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part<'a>(offset: u32, more: bool, payload: &'a [u8]) -> (Datagram<'a>, Fragment) {
        let end = IpAddr::from([10, 0, 0, 1]);
        let fragment = Fragment { offset, more, id: 7 };
        let datagram = Datagram {
            source: end,
            destination: end,
            protocol: 132,
            length: 20 + payload.len() as u32,
            payload,
            payload_length: payload.len() as u32,
            fragment: Some(fragment),
            ecn: 0,
            id: 7,
            hops: 64,
            around: 0,
        };
        (datagram, fragment)
    }

    /// Takes parts one after the other; returns the datagrams that became whole.
    fn all(parts: &[(u32, bool, &'static [u8])]) -> (Vec<Vec<u8>>, usize, u64) {
        let mut reassembly = Reassembly::default();
        let mut whole = Vec::new();
        for (index, &(offset, more, payload)) in parts.iter().enumerate() {
            let (datagram, fragment) = part(offset, more, payload);
            if let Outcome::Whole(joined) = reassembly.take(index, 0, 0, datagram, fragment) {
                assert_eq!(joined.length, Some(joined.payload.len() as u32));
                whole.push(joined.payload);
            }
        }
        let (incomplete, overlapping) = reassembly.finish();
        (whole, incomplete.len(), overlapping)
    }

    #[test]
    fn in_any_order_and_twice() {
        let (a, b, c) = ((0, true, &b"aaaaaaaa"[..]), (8, true, &b"bbbbbbbb"[..]), (16, false, &b"cc"[..]));
        let expected = (vec![b"aaaaaaaabbbbbbbbcc".to_vec()], 0, 0);
        for order in [[a, b, c], [c, b, a], [b, a, c], [a, c, b]] {
            assert_eq!(all(&order), expected);
        }
        // Every part recorded twice; the last copies come when all is done.
        assert_eq!(all(&[a, a, b, b, c, c]), expected);
        // The number is used again.
        assert_eq!(all(&[a, b, c, (0, true, b"dddddddd"), (8, false, b"e")]).0.len(), 2);
        assert_eq!(all(&[a, c]), (vec![], 1, 0));
    }

    #[test]
    fn overlaps_are_refused_with_all_of_their_datagram() {
        let (a, c) = ((0, true, &b"aaaaaaaa"[..]), (16, false, &b"cc"[..]));
        for wrong in [
            (8, true, &b"bbbbbbbbbbbbbbbb"[..]), // into the last
            (0, true, &b"xxxxxxxx"[..]),         // other bytes at the same place
            (16, true, &b"xxxxxxxx"[..]),        // behind the last
            (8, false, &b"b"[..]),               // another last part
        ] {
            let (whole, incomplete, overlapping) = all(&[a, c, wrong, (8, true, b"bbbbbbbb")]);
            assert_eq!((whole.len(), incomplete, overlapping), (0, 0, 1), "{wrong:?}");
        }
        assert_eq!(all(&[(65_528, false, b"eight bytes")]).2, 1, "longer than any datagram");
    }

    #[test]
    fn what_is_open_is_bounded_in_number_and_time() {
        let mut reassembly = Reassembly::default();
        for index in 0..3 * MOST_OPEN {
            let (datagram, mut fragment) = part(0, true, b"aaaaaaaa");
            fragment.id = index as u32;
            assert!(matches!(reassembly.take(index, 0, 0, datagram, fragment), Outcome::Waits));
            assert!(reassembly.open.len() <= MOST_OPEN && reassembly.order.len() <= MOST_OPEN);
        }
        assert_eq!(reassembly.finish().0.len(), 3 * MOST_OPEN);
        let mut reassembly = Reassembly::default();
        let (datagram, fragment) = part(0, true, b"aaaaaaaa");
        reassembly.take(0, 0, 0, datagram, fragment);
        let (datagram, fragment) = part(8, false, b"b");
        assert!(matches!(reassembly.take(1, 0, 40_000_000_000, datagram, fragment), Outcome::Waits));
        assert_eq!(reassembly.finish().0.len(), 2);
    }
}
