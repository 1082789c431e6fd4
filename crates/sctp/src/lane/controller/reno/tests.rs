use super::*;

const PMDCS: u64 = 1468;

fn reno(change: impl FnOnce(&mut Config)) -> Reno {
    let mut config = Config::rfc9260();
    change(&mut config);
    Reno::new(&config, false, 65_536)
}

fn full(c: &Reno, cumulative: u64) -> Acked {
    Acked { cumulative, flight_before: c.window(), cumulative_advanced: true, ..Acked::default() }
}

#[test]
fn initial_windows() {
    assert_eq!(reno(|_| {}).window(), 4404, "min(4 x 1468, max(2 x 1468, 4404))");
    assert_eq!(Reno::new(&Config::rfc9260(), true, 0).window(), 4344);
    assert_eq!(reno(|c| c.mtu = 9000).window(), 2 * 8968);
    assert_eq!(reno(|c| c.mtu = 600).window(), 4 * 568);
    assert_eq!(Reno::new(&Config::rfc2960(), false, 65_536).window(), 2 * PMDCS);
    assert_eq!(Reno::new(&Config::rfc2960(), false, 65_536).ssthresh(), 65_536, "the peer's rwnd");
}

#[test]
fn slow_start_grows_by_what_was_acked_but_at_most_one_pmdcs() {
    let mut c = reno(|_| {});
    let acked = full(&c, 100);
    c.on_ack(&acked);
    assert_eq!(c.window(), 4504, "100 bytes acknowledged: ACK splitting gains nothing");
    let acked = full(&c, 5000);
    c.on_ack(&acked);
    assert_eq!(c.window(), 4504 + PMDCS);
    let before = c.window();
    c.on_ack(&Acked { flight_before: before - 1, ..full(&c, 1468) });
    c.on_ack(&Acked { in_recovery: true, ..full(&c, 1468) });
    c.on_ack(&Acked { cumulative_advanced: false, gap: 1468, cumulative: 0, ..full(&c, 0) });
    assert_eq!(c.window(), before, "window not full, in recovery, or cumulative point at rest: no growth");
}

#[test]
fn congestion_avoidance_adds_one_pmdcs_for_a_window_of_bytes() {
    let mut c = reno(|c| c.initial_ssthresh = Some(4404));
    let acked = full(&c, 1468);
    c.on_ack(&acked);
    assert_eq!(c.window(), 4404 + PMDCS, "cwnd = ssthresh is slow start");
    for _ in 0..3 {
        let acked = full(&c, 1468);
        c.on_ack(&acked);
        assert_eq!(c.window(), 4404 + PMDCS);
    }
    let acked = full(&c, 1468);
    c.on_ack(&acked);
    assert_eq!(c.window(), 4404 + 2 * PMDCS, "4 x 1468 = cwnd bytes acknowledged");
    assert_eq!(c.partial_bytes_acked, 0);
}

#[test]
fn partial_bytes_acked_is_held_at_cwnd_while_the_window_is_not_full() {
    let mut c = reno(|c| c.initial_ssthresh = Some(1000));
    c.on_ack(&Acked { cumulative: 10_000, flight_before: 10, cumulative_advanced: true, ..Acked::default() });
    assert_eq!((c.window(), c.partial_bytes_acked), (4404, 4404));
    c.on_ack(&Acked { all_acked: true, ..full(&c, 10) });
    assert_eq!(c.partial_bytes_acked, 0, "all acknowledged");
}

#[test]
fn ns2_counts_cumulative_bytes_only_while_full_and_the_old_module_counts_gaps_twice() {
    let mut c = Reno::new(&Config::ns2_2_35(), false, 65_536);
    c.ssthresh = 1000;
    c.on_ack(&Acked { cumulative: 1468, flight_before: 10, cumulative_advanced: true, ..Acked::default() });
    assert_eq!(c.partial_bytes_acked, 0);
    c.on_ack(&Acked { gap: 500, earlier_gap: 700, cumulative_advanced: true, ..Acked::default() });
    assert_eq!(c.partial_bytes_acked, 500);
    let mut old = Reno::new(&Config::ns2_2_28(), false, 65_536);
    old.ssthresh = 1000;
    old.on_ack(&Acked { gap: 500, earlier_gap: 700, cumulative_advanced: true, ..Acked::default() });
    assert_eq!(old.partial_bytes_acked, 1200);
}

#[test]
fn the_two_cuts_and_their_floors() {
    let mut c = reno(|_| {});
    c.cwnd = 100_000;
    c.on_congestion(Congestion::FastRetransmit);
    assert_eq!((c.window(), c.ssthresh()), (50_000, 50_000));
    c.on_congestion(Congestion::Timeout);
    assert_eq!((c.window(), c.ssthresh()), (PMDCS, 25_000));
    c.on_congestion(Congestion::Timeout);
    assert_eq!(
        (c.window(), c.ssthresh()),
        (PMDCS, 4 * PMDCS),
        "7.2.3 makes no exception for the next expiry"
    );
    let mut ns = Reno::new(&Config::ns2_2_35(), false, 65_536);
    ns.cwnd = 100_000;
    ns.on_congestion(Congestion::Timeout);
    ns.on_congestion(Congestion::Timeout);
    assert_eq!((ns.window(), ns.ssthresh()), (PMDCS, 50_000), "ns-2 keeps it");
    c.cwnd = 2 * PMDCS;
    c.on_congestion(Congestion::FastRetransmit);
    assert_eq!(c.window(), 4 * PMDCS, "RFC 9260: floor 4");
    let mut old = Reno::new(&Config::rfc2960(), false, 65_536);
    old.on_congestion(Congestion::FastRetransmit);
    assert_eq!(old.window(), 2 * PMDCS, "RFC 2960: floor 2");
}

#[test]
fn an_idle_lane_decays_to_its_floor_and_never_grows() {
    let mut c = reno(|_| {});
    c.cwnd = 20 * PMDCS;
    c.ssthresh = 5000;
    c.on_idle();
    assert_eq!((c.window(), c.ssthresh()), (10 * PMDCS, 20 * PMDCS));
    for _ in 0..5 {
        c.on_idle();
    }
    assert_eq!(c.window(), 4 * PMDCS);
    c.cwnd = PMDCS;
    c.on_idle();
    assert_eq!(c.window(), PMDCS);
}
