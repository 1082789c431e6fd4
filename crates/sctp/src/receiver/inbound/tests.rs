//! Order within streams and memory that is accounted for.

use super::*;
use crate::config::Config;

fn message(seq: u64, ssn: u16) -> Arrived<'static> {
    Arrived {
        seq,
        tsn: anabranch_wire::Tsn::new(seq as u32),
        stream: 0,
        ssn,
        ppid: 0,
        unordered: false,
        immediate: false,
        beginning: true,
        ending: true,
        before: seq > 0,
        after: false,
        payload: b"m",
    }
}

#[test]
fn a_hole_near_the_wrap_of_the_ssn_stalls_nothing_after_it_is_filled() {
    let mut inbound = Inbound::default();
    let mut delivered = 0_u64;
    let lost = 65_530_u64;
    for seq in 0..140_000_u64 {
        if seq == lost {
            continue;
        }
        inbound
            .add(&message(seq, seq as u16), &Limits { config: &Config::default(), several: false })
            .unwrap();
        if seq == lost + 70_000 {
            // More than 65,536 messages behind the hole: SSNs alone could not tell them apart.
            while inbound.pop().is_some() {
                delivered += 1;
            }
            assert_eq!(delivered, lost);
            inbound
                .add(&message(lost, lost as u16), &Limits { config: &Config::default(), several: false })
                .unwrap();
        }
        while inbound.pop().is_some() {
            delivered += 1;
        }
    }
    assert_eq!(delivered, 140_000);
    assert_eq!((inbound.buffered_bytes(), inbound.memory()), (0, 0));
}

// rfc9260:3.3.1-3
#[test]
fn unordered_messages_do_not_wait() {
    let mut inbound = Inbound::default();
    assert!(!inbound.add(&message(1, 1), &Limits { config: &Config::default(), several: false }).unwrap());
    assert!(
        inbound
            .add(
                &Arrived { unordered: true, ..message(2, 0) },
                &Limits { config: &Config::default(), several: false }
            )
            .unwrap()
    );
    assert!(inbound.pop().unwrap().unordered);
    assert!(inbound.add(&message(0, 0), &Limits { config: &Config::default(), several: false }).unwrap());
    assert_eq!(inbound.buffered_bytes(), 2);
    assert!(inbound.pop().is_some() && inbound.pop().is_some() && inbound.pop().is_none());
}
