use proptest::prelude::{any, prop, prop_assert, prop_assert_eq, proptest};

use anabranch_wire::Mid;
use anabranch_wire::chunk::sack::GapBlock;
use bytes::Bytes;

use anabranch_base::Instant;

use super::*;

pub(in crate::sender) fn chunk() -> SentChunk {
    SentChunk {
        fragment: Fragment {
            payload: Bytes::from_static(&[0; 84]),
            stream: 0,
            mid: Mid::new(0),
            number: 0,
            ppid: 0,
            unordered: false,
            beginning: true,
            ending: true,
            immediate: false,
            ticket: 0,
        },
        sent_at: Instant::ZERO,
        state: ChunkState::InFlight,
        lane: LaneId::FIRST,
        subflow: SubflowId::FIRST,
        missing: 0,
        transmissions: 1,
        fast_retransmitted: false,
        lost_by_timeout: false,
        overhead: 16,
        immediate: false,
        probe: false,
        too_long: false,
        acked_at: 0,
    }
}

pub(in crate::sender) fn flight_of(n: u64) -> Flight {
    let mut flight = Flight::default();
    for _ in 0..n {
        flight.push(chunk());
    }
    flight
}

fn report(loss: &mut crate::sender::lane::loss::Loss, flight: &mut Flight, out: &AckOutcome) {
    if let Some(limit) = out.lanes[0].highest_newly_acked {
        loss.report(flight, limit, |_, _| {});
    }
}

/// Gap blocks of a set of received sequence numbers above `next`.
pub(in crate::sender) fn blocks(next: u64, received: impl IntoIterator<Item = u64>) -> Vec<GapBlock> {
    let mut out: Vec<GapBlock> = Vec::new();
    for seq in received {
        let offset = (seq + 1 - next) as u16;
        match out.last_mut() {
            Some(last) if last.end + 1 == offset => last.end = offset,
            _ => out.push(GapBlock { start: offset, end: offset }),
        }
    }
    out
}

proptest! {
    /// SACKs of a receiver that gains and reneges at will: the ring and its accounts agree with a plain model.
    #[test]
    fn agrees_with_a_plain_model(sacks in prop::collection::vec((0_u64..6, prop::collection::btree_set(0_u64..30, 0..12)), 1..30)) {
        const N: u64 = 40;
        let mut flight = flight_of(N);
        let mut acked = [false; N as usize];
        let mut next = 0_u64;
        let mut in_flight = N;
        let mut ever = [false; N as usize];
        let mut out = AckOutcome::default();
        for (step, above) in sacks {
            next = (next + step).min(N);
            let received: Vec<u64> = above.iter().map(|o| next + 1 + o).filter(|s| *s < N).collect();
            flight.acknowledge(next, blocks(next, received.iter().copied()).into_iter(), 1, &mut out).unwrap();
            let (mut new, mut fresh, mut back, mut highest) = (0, 0, 0, None);
            for seq in 0..N {
                let now = seq < next || received.contains(&seq);
                let before = acked[seq as usize];
                if now && !before {
                    new += 1;
                    fresh += u64::from(!std::mem::replace(&mut ever[seq as usize], true));
                    highest = Some(seq);
                }
                if before && !now {
                    back += 1;
                }
                acked[seq as usize] = now;
            }
            in_flight = in_flight + back - new;
            let lane = out.lanes[0];
            prop_assert_eq!(u64::from(lane.acked_chunks), new);
            // Windows grow once by each byte.
            prop_assert_eq!((lane.cumulative + lane.gap, lane.delivered()), (fresh * 100, new * 100));
            prop_assert_eq!(u64::from(lane.reneged_chunks), back);
            prop_assert_eq!(out.payload, new * 84);
            prop_assert_eq!(out.lanes[0].highest_newly_acked, highest);
            prop_assert_eq!(flight.first(), next);
            let counted = (0..N).filter_map(|s| flight.get(s)).filter(|c| c.state == ChunkState::InFlight).count() as u64;
            prop_assert_eq!(counted, in_flight);
        }
    }

    /// Any SACK at all: refused or applied, never a panic, never more acknowledged than was sent.
    #[test]
    fn lies_are_refused(next in any::<u64>(), list in prop::collection::vec((any::<u16>(), any::<u16>()), 0..20)) {
        let mut flight = flight_of(20);
        let gaps = list.iter().map(|(start, end)| GapBlock { start: *start, end: *end });
        let mut out = AckOutcome::default();
        if flight.acknowledge(next % 64, gaps, 1, &mut out).is_ok() {
            prop_assert!(next % 64 <= 20);
            prop_assert!(out.payload <= 20 * 84);
        }
    }
}

/// More gaps than fit a packet: chunks for which the SACK had no room have not been reneged.
#[test]
fn a_sack_cut_to_the_packet_takes_nothing_back() {
    let mut flight = flight_of(1000);
    let mut out = AckOutcome::default();
    let odd: Vec<u64> = (0..250).map(|i| 2 * i + 1).collect();
    flight.acknowledge(0, blocks(0, odd.iter().copied()).into_iter(), 1, &mut out).unwrap();
    assert_eq!(out.lanes[0].acked_chunks, 250);
    for shown in [200, 120, 150] {
        let some = blocks(0, odd.iter().copied().take(shown));
        flight.acknowledge(0, some.into_iter(), 1, &mut out).unwrap();
        assert_eq!((out.lanes[0].acked_chunks, out.lanes[0].reneged_chunks), (0, 0), "{shown} blocks shown");
    }
    // A list of few blocks was not cut: the other chunks are taken back.
    flight.acknowledge(0, blocks(0, odd.iter().copied().take(50)).into_iter(), 1, &mut out).unwrap();
    assert_eq!(out.lanes[0].reneged_chunks, 200);
}

/// A chunk whose acknowledgement was taken back counts again once it has left again: else a window that T3-rtx has
/// closed would not open while it is sent. A chunk that has not left again does not count again, however often it is
/// acknowledged.
#[test]
fn what_left_again_counts_again() {
    for left_again in [false, true] {
        let (mut flight, mut out) = (flight_of(4), AckOutcome::default());
        let all = blocks(0, 1..4);
        flight.acknowledge(0, all.clone().into_iter(), 1, &mut out).unwrap();
        assert_eq!(out.lanes[0].gap, 300);
        // The list has no blocks any more, and the point has moved right below the first block that it had.
        flight.acknowledge(1, [].into_iter(), 1, &mut out).unwrap();
        assert_eq!((out.lanes[0].cumulative, out.lanes[0].reneged, out.not_there), (100, 300, NotThere::All));
        if left_again {
            flight.iter_mut().for_each(|(_, chunk)| chunk.transmissions += 1);
        }
        flight.acknowledge(1, blocks(1, 2..4).into_iter(), 1, &mut out).unwrap();
        assert_eq!(out.lanes[0].gap, if left_again { 200 } else { 0 });
        flight.acknowledge(2, blocks(2, 2..4).into_iter(), 1, &mut out).unwrap();
        assert_eq!(out.lanes[0].cumulative, if left_again { 100 } else { 0 });
    }
}

/// The number behind a point that has moved is not received, whatever the blocks say; a SHUTDOWN takes back
/// all chunks then, and none otherwise.
// rfc9260:3.3.8-2
#[test]
fn the_number_behind_the_point_is_taken_back() {
    let odd: Vec<u64> = (0..250).map(|i| 2 * i + 1).collect();
    let held = || {
        let (mut flight, mut out) = (flight_of(600), AckOutcome::default());
        flight.acknowledge(0, blocks(0, odd.iter().copied()).into_iter(), 1, &mut out).unwrap();
        assert_eq!(out.lanes[0].acked_chunks, 250);
        (flight, out)
    };
    let back = |flight: &Flight, out: &AckOutcome| {
        assert_eq!(out.lanes[0].reneged, u64::from(out.lanes[0].reneged_chunks) * 100);
        assert_eq!(flight.taken_back(LaneId::FIRST, true).count(), out.lanes[0].reneged_chunks as usize);
        (out.not_there, out.lanes[0].reneged_chunks)
    };
    // Numbers 1, 3, 5 and so on had been received, and 0 has come: the point moves over 1, or stops below it.
    for (next, selected, said) in [
        (2, false, (NotThere::Nothing, 0)),
        (1, false, (NotThere::First, 1)),
        (1, true, (NotThere::First, 1)),
    ] {
        let (mut flight, mut out) = held();
        let shown = blocks(next, odd.iter().copied().filter(|seq| *seq >= next).take(150));
        let gaps = GapList { blocks: shown.into_iter(), selected };
        flight.acknowledge_listed(next, gaps, 1, &mut out).unwrap();
        assert_eq!(back(&flight, &out), said, "{next} {selected}");
    }
    for (next, said) in [(0, (NotThere::Nothing, 0)), (2, (NotThere::Nothing, 0)), (1, (NotThere::All, 250))]
    {
        let (mut flight, mut out) = held();
        flight.acknowledge_up_to(next, 1, &mut out).unwrap();
        assert_eq!(back(&flight, &out), said, "{next}");
        flight.acknowledge_up_to(next, 1, &mut out).unwrap();
        assert_eq!(out.not_there, NotThere::Nothing, "said once more");
    }
}

#[test]
fn shapes_that_no_receiver_makes() {
    let gap = |start, end| GapBlock { start, end };
    for (next, gaps) in [(21, vec![]), (0, vec![gap(2, 21)]), (0, vec![gap(0, 3)]), (0, vec![gap(5, 4)])] {
        let mut flight = flight_of(20);
        assert!(
            flight.acknowledge(next, gaps.clone().into_iter(), 1, &mut AckOutcome::default()).is_err(),
            "{gaps:?}"
        );
        assert_eq!((flight.first(), flight.next()), (0, 20), "a refused SACK changes nothing");
    }
    // Out of order and overlapping, but true: taken as one set.
    let mut flight = flight_of(20);
    let mut out = AckOutcome::default();
    flight.acknowledge(1, vec![gap(8, 9), gap(2, 4), gap(4, 5)].into_iter(), 1, &mut out).unwrap();
    assert_eq!(out.lanes[0].acked_chunks, 1 + 4 + 2);
}

/// The work for a SACK does not grow with the window: with one loss in a window of n chunks, every SACK that
/// follows touches only its newly acknowledged chunks.
#[test]
fn work_per_sack_is_constant_at_any_window() {
    let mut per_packet = Vec::new();
    for window in [10_u64, 1_000, 100_000] {
        let mut flight = flight_of(window);
        let mut loss = crate::sender::lane::loss::Loss::new(3, false);
        let mut out = AckOutcome::default();
        flight.visited = 0;
        // Chunk 0 is lost; everything else arrives one by one, each with a SACK (up to the 16-bit offsets).
        let reach = window.min(65_535);
        for last in 1..reach {
            let gap = GapBlock { start: 2, end: (last + 1) as u16 };
            flight.acknowledge(0, std::iter::once(gap), 1, &mut out).unwrap();
            report(&mut loss, &mut flight, &out);
        }
        flight.acknowledge(window, std::iter::empty(), 1, &mut out).unwrap();
        report(&mut loss, &mut flight, &out);
        per_packet.push(flight.visited as f64 / window as f64);
    }
    assert!(
        per_packet.iter().all(|v| *v < 4.0),
        "chunks visited per packet at windows of 10, 1,000 and 100,000: {per_packet:?}"
    );
}

/// The work for a SACK is constant with many losses, too: every fiftieth chunk of the window is missing.
#[test]
fn work_per_sack_is_constant_with_many_losses() {
    let mut per_packet = Vec::new();
    for window in [100_u64, 1_000, 50_000] {
        let mut flight = flight_of(window);
        let mut loss = crate::sender::lane::loss::Loss::new(3, false);
        let mut out = AckOutcome::default();
        flight.visited = 0;
        let mut gaps: Vec<GapBlock> = Vec::new();
        for seq in 0..window {
            if seq % 50 == 0 {
                gaps.push(GapBlock { start: (seq + 2) as u16, end: (seq + 1) as u16 });
                continue;
            }
            gaps.last_mut().unwrap().end = (seq + 1) as u16;
            flight.acknowledge(0, gaps.iter().copied(), 1, &mut out).unwrap();
            report(&mut loss, &mut flight, &out);
        }
        per_packet.push(flight.visited as f64 / window as f64);
    }
    assert!(per_packet.iter().all(|v| *v < 4.0), "{per_packet:?}");
}

/// Bytes that a SACK up to `next` credits, of ten chunks of 100 bytes, two of which were given up; FORWARD-TSNs have
/// named `forwarded`.
fn credited(forwarded: &[u64], gap_acked: bool, next: u64) -> (u64, u64) {
    let mut flight = flight_of(10);
    let mut out = AckOutcome::default();
    if gap_acked {
        flight.acknowledge(0, blocks(0, [2, 3]).into_iter(), 1, &mut out).unwrap();
    }
    for seq in [2, 3] {
        flight.abandon(seq);
    }
    for end in forwarded {
        flight.forwarded_to(*end);
    }
    flight.acknowledge(next, std::iter::empty(), 1, &mut out).unwrap();
    (out.lanes[0].cumulative, u64::from(out.lanes[0].given_up))
}

/// Chunks that were given up never count as acknowledged (RFC 3758, 3.5, A2); for slow start they do where they have arrived: the
/// cumulative point has passed them, and no FORWARD-TSN up to there skips them.
#[test]
fn what_was_given_up_and_has_arrived() {
    assert_eq!(credited(&[], false, 5), (300, 200), "nothing was forwarded: they are there");
    assert_eq!(credited(&[4], false, 4), (200, 0), "skipped, or arrived: nobody knows");
    assert_eq!(credited(&[4], false, 3), (200, 100), "short of what was forwarded: the first is there");
    assert_eq!(credited(&[3, 4], false, 3), (200, 0), "as far as the first FORWARD-TSN goes");
    assert_eq!(
        credited(&[3, 9], false, 4),
        (200, 100),
        "beyond it: the second has arrived, the first may have been skipped"
    );
    assert_eq!(credited(&[], true, 5), (300, 0), "gap blocks have brought it already");
}
