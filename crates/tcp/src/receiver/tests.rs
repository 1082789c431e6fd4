use super::*;
use proptest::prelude::*;

fn open(buffer: u64) -> Receiver {
    let mut r = Receiver::new(buffer);
    r.advertise(0, 100);
    r
}

fn blocks(r: &Receiver, most: usize) -> Vec<(u64, u64)> {
    let mut all = Vec::new();
    r.sack_blocks(most, |a, b| all.push((a, b)));
    all
}

#[test]
fn the_first_block_holds_the_segment_that_triggered_the_ack() {
    let mut r = open(60_000);
    let segment = [0_u8; 100];
    for i in [2, 4, 6, 8, 3] {
        r.data(1 + i * 100, &segment);
    }
    assert_eq!(blocks(&r, 3), [(201, 501), (801, 901), (601, 701)]);
    assert_eq!(blocks(&r, 1), [(201, 501)]);
    r.data(1, &[0; 200]);
    assert_eq!(r.next(), 501);
    assert_eq!(blocks(&r, 4), [(801, 901), (601, 701)]);
}

#[test]
fn a_window_never_shrinks_and_opens_in_steps() {
    let mut r = open(1000);
    assert_eq!(r.edge(), 1001);
    r.data(1, &[0; 1000]);
    assert_eq!(r.advertise(0, 100), 0);
    // Nothing beyond the edge is taken.
    assert_eq!(r.data(1001, &[0; 1]).new, 0);
    assert!(!r.window_reopened(100));
    while r.read().is_some() {}
    assert!(r.window_reopened(100));
    assert_eq!(r.advertise(0, 100), 1000);
}

#[test]
fn tiny_pieces_cannot_eat_the_memory() {
    let mut r = open(65535);
    for i in 0..30_000 {
        r.data(3 + 2 * i, &[0]);
    }
    assert!(r.pieces.len() <= 64 + 65535 / 128);
}

proptest! {
    /// Any order, any overlap: the output is the stream, once.
    #[test]
    fn delivers_the_stream_exactly(parts in prop::collection::vec((0_usize..900, 1_usize..120), 1..80)) {
        let stream: Vec<u8> = (0..1000_u32).map(|i| (i * 7 % 251) as u8).collect();
        let mut r = open(4000);
        let (mut out, mut new) = (Vec::new(), 0);
        let all = (0..20).map(|i| (i * 50, 50));
        for (at, len) in parts.into_iter().chain(all) {
            let end = (at + len).min(stream.len());
            new += r.data(1 + at as u64, &stream[at..end]).new;
            if len % 2 == 0 {
                out.extend(std::iter::from_fn(|| r.read()).flatten());
            }
        }
        out.extend(std::iter::from_fn(|| r.read()).flatten());
        prop_assert_eq!(new, 1000);
        prop_assert_eq!(out, stream);
        prop_assert!(!r.has_holes());
    }
}
