use super::{Mid, Ssn, Tsn};
use proptest::prelude::*;

const HALF: u32 = 1 << 31;

// rfc9260:1.6-1
#[test]
fn wraps() {
    assert_eq!(Tsn::new(u32::MAX).next(), Tsn::new(0));
    assert_eq!(Ssn::new(u16::MAX).next(), Ssn::new(0));
    assert_eq!(Mid::new(3).sub(5), Mid::new(u32::MAX - 1));
    assert_eq!(Tsn::new(u32::MAX - 1).add(5), Tsn::new(3));
    assert_eq!(Tsn::new(3).distance_from(Tsn::new(u32::MAX - 1)), 5);
    assert_eq!(Tsn::new(3).signed_distance_from(Tsn::new(u32::MAX - 1)), 5);
    assert_eq!(Tsn::new(u32::MAX - 1).signed_distance_from(Tsn::new(3)), -5);
}

// rfc9260:1.6-2
#[test]
fn order_across_the_wrap() {
    assert!(Tsn::new(10).is_after(Tsn::new(u32::MAX - 5)));
    assert!(Tsn::new(u32::MAX - 5).is_before(Tsn::new(10)));
    assert!(Ssn::new(0).is_after(Ssn::new(65_535)));
    assert!(!Ssn::new(65_535).is_after(Ssn::new(0)));
}

#[test]
fn a_number_is_neither_before_nor_after_itself() {
    for raw in [0, 1, HALF - 1, HALF, u32::MAX] {
        assert!(!Tsn::new(raw).is_after(Tsn::new(raw)));
        assert!(!Tsn::new(raw).is_before(Tsn::new(raw)));
    }
}

#[test]
fn half_the_space_apart_is_undefined() {
    for raw in [0, 1, 12345, HALF, u32::MAX] {
        let (a, b) = (Tsn::new(raw), Tsn::new(raw).add(HALF));
        assert!(!a.is_after(b) && !a.is_before(b) && !b.is_after(a) && !b.is_before(a));
        assert_eq!(a.signed_distance_from(b), i32::MIN);
        assert!(a.add(HALF - 1).is_after(a));
        assert!(a.add(HALF + 1).is_before(a));
    }
    let (a, b) = (Ssn::new(7), Ssn::new(7 + 0x8000));
    assert!(!a.is_after(b) && !a.is_before(b));
}

// rfc9260:1.6-5
#[test]
fn every_pair_of_one_ssn_is_ordered_once() {
    let base = Ssn::new(0xFFF0);
    for n in 1..=u16::MAX {
        let other = base.add(n);
        let orders = u8::from(other.is_after(base)) + u8::from(other.is_before(base));
        assert_eq!(orders, u8::from(n != 0x8000), "{n} places apart");
    }
}

proptest! {
    #[test]
    fn add_then_sub_is_identity(raw: u32, n: u32) {
        let tsn = Tsn::new(raw);
        prop_assert_eq!(tsn.add(n).sub(n), tsn);
        prop_assert_eq!(tsn.add(n).distance_from(tsn), n);
    }

    #[test]
    fn after_agrees_with_signed_distance(a: u32, b: u32) {
        let (a, b) = (Tsn::new(a), Tsn::new(b));
        prop_assert_eq!(a.is_after(b), a.signed_distance_from(b) > 0);
        prop_assert_eq!(a.is_before(b), b.is_after(a));
    }
}

// The arithmetic at a width of 8 bits, where all pairs and all triples can be tried.
#[allow(dead_code, unreachable_pub, reason = "the macro makes what the public numbers have")]
mod tiny {
    serial!(
        /// A number of 8 bits.
        Tiny, u8, i8
    );
}
use tiny::Tiny;

/// "i1 < i2 and i2 - i1 < 2^(SERIAL_BITS - 1), or i1 > i2 and i1 - i2 > 2^(SERIAL_BITS - 1)" (RFC 1982, 3.2), in plain numbers.
fn is_less(a: u32, b: u32, bits: u32) -> bool {
    let half = 1 << (bits - 1);
    (a < b && b - a < half) || (a > b && a - b > half)
}

#[test]
fn every_law_holds_for_all_numbers_of_8_bits() {
    for a in 0..=u8::MAX {
        for b in 0..=u8::MAX {
            let (x, y) = (Tiny::new(a), Tiny::new(b));
            let less = is_less(a.into(), b.into(), 8);
            assert_eq!((x.is_before(y), y.is_after(x)), (less, less), "{a} {b}");
            // Of two numbers one is before the other, or they are equal, or half the space apart.
            let kinds = [x == y, x.is_before(y), x.is_after(y), a.wrapping_sub(b) == 128];
            assert_eq!(kinds.iter().filter(|kind| **kind).count(), 1, "{a} {b}");
            assert_eq!(x.add(y.distance_from(x)), y);
            assert_eq!(x.add(b).sub(b), x);
            let signed = x.signed_distance_from(y);
            assert_eq!((signed > 0, signed < 0 && signed != i8::MIN), (x.is_after(y), x.is_before(y)));
            // "a sequence number plus at most 2^(SERIAL_BITS - 1) - 1" is later (RFC 1982, 3.1).
            assert_eq!(x.add(b).is_after(x), (1..128).contains(&b));
            for c in 0..=u8::MAX {
                // Where two numbers stand on the circle makes no difference.
                assert_eq!(x.add(c).is_before(y.add(c)), less);
                assert_eq!(x.add(c).distance_from(y.add(c)), x.distance_from(y));
                let z = Tiny::new(c);
                // Transitive within half the space.
                let near = u32::from(y.distance_from(x)) + u32::from(z.distance_from(y)) < 128;
                assert!(!near || !x.is_before(y) || !y.is_before(z) || x.is_before(z));
            }
        }
    }
}

fn pair_of_16_bits(a: u16, b: u16) {
    let (x, y) = (Ssn::new(a), Ssn::new(b));
    let less = is_less(a.into(), b.into(), 16);
    assert!(x.is_before(y) == less && y.is_after(x) == less, "{a} {b}");
    assert!(x.add(y.distance_from(x)) == y && x.add(b).sub(b) == x, "{a} {b}");
}

/// All numbers of 16 bits beside those near each other, near half the space and near the wrap.
#[test]
fn order_of_16_bits_at_the_edges() {
    for a in 0..=u16::MAX {
        for d in (0..70).chain(32_700..32_840).chain(65_470..=65_535) {
            pair_of_16_bits(a, a.wrapping_add(d));
        }
    }
}

#[test]
#[ignore = "2^32 pairs: make exhaustive"]
fn order_of_16_bits_for_all_pairs() {
    for a in 0..=u16::MAX {
        for b in 0..=u16::MAX {
            pair_of_16_bits(a, b);
        }
    }
}
