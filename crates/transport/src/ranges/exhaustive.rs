//! Every operation on every set of small numbers, beside a bit set. A set has one representation only, which is checked, so one step
//! from each set stands for all sequences of operations of any length.

use super::*;

/// Numbers below this are in the sets.
const SIZE: u32 = 11;

fn set_of(bits: u32) -> RangeSet<u32> {
    let mut list: Vec<(u32, u32)> = Vec::new();
    for n in (0..SIZE).filter(|n| bits >> n & 1 == 1) {
        match list.last_mut() {
            Some(last) if last.1 == n => last.1 = n + 1,
            _ => list.push((n, n + 1)),
        }
    }
    let mut set = RangeSet::default();
    set.assign(&list);
    set
}

fn span(start: u32, end: u32) -> u32 {
    (start..end).fold(0, |bits, n| bits | 1 << n)
}

#[track_caller]
fn same(set: &RangeSet<u32>, bits: u32, what: &str) {
    let (got, expected): (Vec<_>, Vec<_>) = (set.iter().collect(), set_of(bits).iter().collect());
    assert_eq!(got, expected, "{what}");
}

#[test]
fn every_operation_on_every_set() {
    for bits in 0..1_u32 << SIZE {
        for at in 0..=SIZE {
            let mut set = set_of(bits);
            set.remove_below(at);
            same(&set, bits & !span(0, at), &format!("{bits:b} from {at}"));
        }
        for at in 0..SIZE {
            let mut set = set_of(bits);
            assert_eq!(set.insert(at), bits >> at & 1 == 0, "{bits:b} and {at}");
            same(&set, bits | 1 << at, &format!("{bits:b} and {at}"));
        }
        for start in 0..SIZE {
            for end in start..=SIZE {
                let (mut set, mut fresh) = (set_of(bits), Vec::new());
                let holder = set.insert_range(start, end, |a, b| fresh.push((a, b)));
                let what = format!("{bits:b} and {start}..{end}");
                same(&set, bits | span(start, end), &what);
                let new = span(start, end) & !bits;
                assert_eq!(fresh, set_of(new).iter().collect::<Vec<_>>(), "{what}");
                let holds = set.containing(start).filter(|_| start < end).unwrap_or((start, start));
                assert_eq!(holder, holds, "{what}");
                let mut set = set_of(bits);
                set.remove_range(start, end);
                same(&set, bits & !span(start, end), &format!("{bits:b} without {start}..{end}"));
            }
        }
        questions(bits);
    }
}

fn questions(bits: u32) {
    let set = set_of(bits);
    assert_eq!(set.is_empty(), bits == 0);
    assert_eq!(set.end(), (bits > 0).then(|| bits.ilog2() + 1));
    assert_eq!(set.first(), set.iter().next());
    for at in 0..SIZE {
        assert_eq!(set.contains(at), bits >> at & 1 == 1);
        let holder = set.iter().find(|(start, end)| (*start..*end).contains(&at));
        assert_eq!(set.containing(at), holder);
        for end in at + 1..=SIZE {
            assert_eq!(set.covers(at, end), bits & span(at, end) == span(at, end), "{bits:b} {at}..{end}");
        }
    }
}
