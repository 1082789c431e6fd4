use super::*;

fn at(n: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(n)
}

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn delivered(sent: u64, end: u64, sends: u32) -> Delivered {
    Delivered { sent_at: at(sent), end, sends }
}

/// RACK_update: the segment sent last, ties broken by sequence number.
#[test]
fn the_newest_is_the_one_sent_last() {
    let mut rack = Rack::new();
    rack.update(&[delivered(10, 2, 1), delivered(10, 3, 1)], at(30), None, None);
    assert_eq!((rack.core.newest(), rack.core.rtt()), (Some((at(10), 3)), ms(20)));
    // An older one arrives late: the newest stays, the round-trip time is that of this acknowledgement.
    rack.update(&[delivered(5, 1, 1)], at(31), None, None);
    assert_eq!((rack.core.newest(), rack.core.rtt()), (Some((at(10), 3)), ms(26)));
}

/// "ignore a segment ... if any of its sequence range has been retransmitted before and" it may be the original.
#[test]
fn what_may_be_the_original_of_a_retransmission_is_ignored() {
    let repeated = [delivered(50, 4, 2)];
    let ignored = |now, echo: Option<u64>, min_rtt: u64| {
        let mut rack = Rack::new();
        rack.update(&repeated, at(now), echo.map(|echo| ms(now - echo)), Some(ms(min_rtt)));
        rack.core.newest().is_none()
    };
    assert!(ignored(60, None, 20), "sooner than the smallest round-trip time");
    assert!(!ignored(70, None, 20));
    assert!(ignored(70, Some(49), 20), "the timestamp is older than the retransmission");
    assert!(!ignored(70, Some(50), 20));
}

#[test]
fn reordering_is_an_original_below_what_has_arrived() {
    let mut rack = Rack::new();
    rack.detect_reordering(&[delivered(0, 5, 1), delivered(0, 6, 1)]);
    assert!(!rack.core.reordering_seen());
    rack.detect_reordering(&[delivered(0, 3, 2)]);
    assert!(!rack.core.reordering_seen(), "a retransmission may come when it likes");
    rack.detect_reordering(&[delivered(0, 4, 1)]);
    assert!(rack.core.reordering_seen());
}
