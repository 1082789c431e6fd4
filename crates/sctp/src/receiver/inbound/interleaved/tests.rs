use proptest::prelude::*;

use super::*;
use crate::receiver::inbound::delivery_order::DeliveryOrder;

fn piece(mid: u32, fragment: u32, ending: bool, payload: &[u8]) -> Piece<'_> {
    Piece {
        space: SpaceId::FIRST,
        seq: 0,
        tsn: Tsn::default(),
        stream: 1,
        mid: Mid::new(mid),
        fragment,
        ppid: 7,
        unordered: false,
        immediate: false,
        beginning: fragment == 0,
        ending,
        payload,
    }
}

fn add(all: &mut Interleaved, p: &Piece<'_>) -> Result<Added, Inconsistent> {
    let number = all.number(p.stream, p.unordered, p.mid).unwrap();
    all.add(p, number, false, 1 << 20)
}

proptest! {
    /// Messages in fragments, interleaved, repeated and in any order, come out whole, each once.
    // rfc8260:2.2.3-1 rfc8260:2.2.3-2
    #[test]
    fn any_order_of_arrival(
        sizes in prop::collection::vec(1_usize..6, 1..20),
        order: u64,
        start in prop_oneof![Just(0_u32), Just(u32::MAX - 3)],
    ) {
        let mut all = Interleaved::default();
        all.near(1).ordered = u64::from(start);
        let mut pieces = Vec::new();
        for (m, n) in sizes.iter().enumerate() {
            for i in 0..*n {
                let payload = vec![m as u8; i + 1];
                pieces.push((start.wrapping_add(m as u32), i as u32, i + 1 == *n, payload));
            }
        }
        pieces.extend(pieces.clone().into_iter().step_by(2));
        let mut rng = anabranch_base::Rng::stream(order, "test", "shuffle");
        for i in (1..pieces.len()).rev() {
            pieces.swap(i, rng.below(i as u64 + 1) as usize);
        }
        let mut seen = BTreeMap::new();
        let mut done = std::collections::BTreeSet::new();
        for (mid, fragment, ending, payload) in &pieces {
            let p = piece(*mid, *fragment, *ending, payload);
            if done.contains(mid) {
                continue; // identifiers of finished messages are `DeliveryOrder`'s business
            }
            if let Added::Whole(whole) = add(&mut all, &p).unwrap() {
                done.insert(*mid);
                let bytes = whole.message.into_bytes();
                let m = bytes[0];
                prop_assert!(bytes.iter().all(|x| *x == m));
                prop_assert!(seen.insert(m, bytes.len()).is_none());
            }
        }
        for (m, n) in sizes.iter().enumerate() {
            prop_assert_eq!(seen.get(&(m as u8)).copied(), Some(n * (n + 1) / 2));
        }
        prop_assert!(all.assemblies.is_empty());
    }

    /// Any input: no panic, and no message longer than its fragments.
    #[test]
    fn any_pieces(
        pieces in prop::collection::vec(
            (0_u32..4, 0_u32..5, any::<bool>(), any::<bool>(), any::<bool>(), 1_usize..9), 0..60),
    ) {
        let mut all = Interleaved::default();
        let mut came = 0;
        for (mid, fragment, unordered, beginning, ending, len) in pieces {
            let payload = vec![0; len];
            came += len;
            let p = Piece { unordered, beginning, ..piece(mid, fragment, ending, &payload) };
            match add(&mut all, &p) {
                Ok(Added::Whole(whole)) => prop_assert!(whole.message.len() <= came),
                Ok(_) => {}
                Err(_) => return Ok(()),
            }
        }
    }
}

#[test]
fn contradictions_are_errors() {
    let fresh = || {
        let mut all = Interleaved::default();
        assert!(matches!(add(&mut all, &piece(0, 2, true, b"c")), Ok(Added::Waits(..))));
        all
    };
    assert!(add(&mut fresh(), &piece(0, 3, false, b"d")).is_err(), "after the end");
    assert!(add(&mut fresh(), &piece(0, 1, true, b"b")).is_err(), "two ends");
    assert!(add(&mut fresh(), &piece(0, 0, true, b"a")).is_err(), "whole, and in fragments");
    let unnumbered = Piece { beginning: false, ..piece(0, 0, false, b"a") };
    assert!(add(&mut fresh(), &unnumbered).is_err());
    let mut all = fresh();
    assert!(matches!(add(&mut all, &piece(0, 2, true, b"c")), Ok(Added::Duplicate)));
}

#[test]
fn order_is_kept_and_doubles_are_known() {
    let mut order = DeliveryOrder::default();
    let mut all = Interleaved::default();
    let mut delivered = Vec::new();
    for mid in [2, 0, 3, 1] {
        let payload = [mid as u8];
        let Ok(Added::Whole(whole)) = add(&mut all, &piece(mid, 0, true, &payload)) else {
            panic!("not whole")
        };
        assert!(!order.knows(1, u64::from(mid)));
        order.add(u64::from(mid), whole.message, whole.numbers, |message| {
            delivered.push(message.into_bytes()[0]);
        });
        assert!(order.knows(1, u64::from(mid)));
    }
    assert_eq!((delivered, order.next(1)), (vec![0, 1, 2, 3], 4));
}
