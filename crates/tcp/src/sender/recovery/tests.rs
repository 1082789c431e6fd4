use super::*;
use crate::config::Config;
use std::sync::Arc;

fn terms(recovery: LossRecovery) -> Terms {
    let mut terms = Terms::new(Arc::new(Config { recovery, ..Config::default() }));
    terms.agree(1000, true);
    terms
}

/// RFC 5681, section 3.2, steps 3 and 4: "plus 3*SMSS", then one more for each further duplicate.
#[test]
fn duplicates_inflate_the_window_and_partial_acknowledgements_deflate_it() {
    let terms = terms(LossRecovery::NewReno);
    let mut recovery = Recovery::new();
    for _ in 0..3 {
        assert!(recovery.duplicate(&terms));
    }
    recovery.enter_fast(&terms, 10_001, 10);
    assert_eq!(recovery.inflated(5000), 8000);
    assert!(!recovery.duplicate(&terms), "it goes on already");
    assert_eq!(recovery.inflated(5000), 9000);
    recovery.partial_ack(&terms, 3000);
    assert_eq!((recovery.inflated(5000), recovery.is_first_partial()), (7000, true));
    assert!(!recovery.is_finished_by(10_000));
    assert!(recovery.is_finished_by(10_001));
    recovery.end();
    assert_eq!((recovery.inflated(5000), recovery.duplicates(), recovery.is_open()), (5000, 0, true));
}

/// RFC 6582, section 3.2, step 2: duplicates of data sent before the timeout's point begin nothing.
#[test]
fn after_a_timeout_its_point_guards_against_a_second_reduction() {
    let terms = terms(LossRecovery::NewReno);
    let mut recovery = Recovery::new();
    assert!(recovery.may_retransmit_fast(&terms, 1));
    assert!(!recovery.on_timeout(5001));
    assert!(!recovery.duplicate(&terms), "nothing was acknowledged since");
    recovery.new_ack();
    assert!(recovery.duplicate(&terms));
    recovery.end_loss();
    assert!(!recovery.may_retransmit_fast(&terms, 5001));
    assert!(recovery.may_retransmit_fast(&terms, 5002));
}

#[test]
fn limited_transmit_is_counted_until_something_new_is_acknowledged() {
    let terms = terms(LossRecovery::NewReno);
    let mut recovery = Recovery::new();
    recovery.new_data_left(1000);
    assert_eq!(recovery.limited(), 0, "no duplicate has come");
    recovery.duplicate(&terms);
    recovery.new_data_left(1000);
    assert_eq!((recovery.limited(), recovery.beyond_window()), (1000, 1));
    recovery.new_ack();
    assert_eq!((recovery.limited(), recovery.beyond_window()), (0, 0));
}

#[test]
fn ns2_counts_packets_and_sends_once_on_the_duplicate_that_begins() {
    let terms = terms(LossRecovery::Ns2Sack1);
    let mut recovery = Recovery::new();
    for _ in 0..3 {
        recovery.duplicate(&terms);
    }
    recovery.enter_fast(&terms, 10_001, 10);
    assert_eq!((recovery.ns2_pipe(), recovery.ns2_has_room(20)), (7, false));
    recovery.ack_comes();
    recovery.packet_left_network();
    assert_eq!((recovery.ns2_pipe(), recovery.ns2_has_room(7), recovery.ns2_has_room(6)), (6, true, false));
    recovery.resent();
    recovery.new_data_left(1000);
    assert_eq!(recovery.ns2_pipe(), 8);
}
