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
