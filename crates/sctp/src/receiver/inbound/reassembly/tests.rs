use super::*;
use proptest::prelude::*;

fn chunk(seq: u64, payload: &[u8], beginning: bool, ending: bool) -> Arrived<'_> {
    Arrived {
        seq,
        tsn: Tsn::new(seq as u32),
        stream: 1,
        ssn: 9,
        ppid: 7,
        unordered: false,
        immediate: false,
        beginning,
        ending,
        before: false,
        after: false,
        payload,
    }
}

proptest! {
    /// Messages of 1 to 6 fragments, arriving in any order, come out whole, each once.
    #[test]
    fn any_order_of_arrival(sizes in prop::collection::vec(1_usize..6, 1..20), order in any::<u64>()) {
        let mut chunks = Vec::new();
        for (m, n) in sizes.iter().enumerate() {
            for i in 0..*n {
                chunks.push((chunks.len() as u64, vec![m as u8; i + 1], i == 0, i + 1 == *n));
            }
        }
        let mut rng = anabranch_base::Rng::stream(order, "test", "shuffle");
        for i in (1..chunks.len()).rev() {
            chunks.swap(i, rng.below(i as u64 + 1) as usize);
        }
        let mut reassembly = Reassembly::default();
        let mut seen = std::collections::BTreeMap::new();
        for (seq, payload, b, e) in &chunks {
            if let Joined::Whole(whole) = reassembly.add(&chunk(*seq, payload, *b, *e), false, 1 << 20).unwrap() {
                let bytes = whole.message.into_bytes();
                let m = bytes[0];
                prop_assert!(bytes.iter().all(|x| *x == m));
                                    prop_assert!(seen.insert(m, bytes.len()).is_none());
            }
        }
        for (m, n) in sizes.iter().enumerate() {
            prop_assert_eq!(seen.get(&(m as u8)).copied(), Some(n * (n + 1) / 2));
        }
        prop_assert!(reassembly.orphans.is_empty() && reassembly.waiting.is_empty() && reassembly.current.is_none());
    }
}

#[test]
fn a_repeated_size_needs_one_piece() {
    let mut r = Reassembly::default();
    let part = [0_u8; 1000];
    for message in 0..3_u64 {
        for i in 0..16_u64 {
            let whole = r.add(&chunk(message * 16 + i, &part, i == 0, i == 15), false, 1 << 20).unwrap();
            if let Joined::Whole(whole) = whole {
                assert_eq!(whole.message.len(), 16_000);
                assert!(message == 0 || whole.message.rest.is_none());
            }
        }
    }
}

#[test]
fn contradictions_are_errors() {
    let mut r = Reassembly::default();
    assert!(matches!(r.add(&chunk(5, b"a", true, false), false, 1 << 20), Ok(Joined::Waits)));
    assert!(r.add(&Arrived { stream: 2, ..chunk(6, b"b", false, true) }, false, 1 << 20).is_err());
    let mut r = Reassembly::default();
    let other = Arrived { ssn: 8, ..chunk(6, b"b", false, true) };
    assert!(matches!(r.add(&other, false, 1 << 20), Ok(Joined::Waits)));
    assert!(r.add(&chunk(5, b"a", true, false), false, 1 << 20).is_err());
}

#[test]
fn memory_that_a_peer_can_pin() {
    // A hundred messages begun after a large one: no room is reserved for their ends.
    let mut r = Reassembly::default();
    let part = [0_u8; 32_000];
    for i in 0..2 {
        r.add(&chunk(i, &part, i == 0, i == 1), false, 1 << 20).unwrap();
    }
    for i in 0..100 {
        r.add(&chunk(10 + 2 * i, b"x", true, false), false, 1 << 20).unwrap();
    }
    let reserved: usize = r.waiting.values().map(|run| run.partial.capacity()).sum();
    assert!(reserved <= 64_000 + 99 * 8, "{reserved}");
    // A message that waits shares its block with no other.
    let mut r = Reassembly::default();
    let mut waiting = Vec::new();
    for i in 0..10 {
        let Joined::Whole(whole) = r.add(&chunk(2 * i, b"w", true, true), true, 1 << 20).unwrap() else {
            panic!("not whole")
        };
        waiting.push(whole.message.first);
        r.add(&chunk(2 * i + 1, &part, true, true), false, 1 << 20).unwrap();
    }
    assert!(waiting.iter().all(Bytes::is_unique));
}
