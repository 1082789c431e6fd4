//! Order within streams and memory that is accounted for.

use super::*;
use crate::config::Config;
use crate::receiver::arrivals::Arrivals;
use crate::receiver::inbound::partial_message::Aborted;
use crate::receiver::window::ReceiveWindow;
use std::sync::LazyLock;

fn limits() -> Limits<'static> {
    static CONFIG: LazyLock<Config> = LazyLock::new(Config::default);
    static WINDOW: LazyLock<ReceiveWindow> =
        LazyLock::new(|| ReceiveWindow::new(CONFIG.limits.receive_window));
    static ARRIVALS: LazyLock<Arrivals> = LazyLock::new(Arrivals::default);
    Limits { config: &CONFIG, window: &WINDOW, arrivals: &ARRIVALS }
}

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
        inbound.add(&message(seq, seq as u16), limits).unwrap();
        if seq == lost + 70_000 {
            // More than 65,536 messages behind the hole: SSNs alone could not tell them apart.
            while inbound.pop().is_some() {
                delivered += 1;
            }
            assert_eq!(delivered, lost);
            inbound.add(&message(lost, lost as u16), limits).unwrap();
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
    assert!(!inbound.add(&message(1, 1), limits).unwrap());
    assert!(inbound.add(&Arrived { unordered: true, ..message(2, 0) }, limits).unwrap());
    assert!(inbound.pop().unwrap().unordered);
    assert!(inbound.add(&message(0, 0), limits).unwrap());
    assert_eq!(inbound.buffered_bytes(), 2);
    assert!(inbound.pop().is_some() && inbound.pop().is_some() && inbound.pop().is_none());
}

/// A fragment of a message.
fn fragment(seq: u64, ssn: u16, beginning: bool, ending: bool) -> Arrived<'static> {
    Arrived { beginning, ending, before: false, ..message(seq, ssn) }
}

struct Forwarded {
    inbound: Inbound,
    aborted: Vec<Aborted>,
}

impl Forwarded {
    fn of(chunks: &[Arrived<'static>]) -> Self {
        let mut new = Self { inbound: Inbound::default(), aborted: Vec::new() };
        chunks.iter().for_each(|chunk| new.add(chunk));
        new
    }

    fn add(&mut self, chunk: &Arrived<'static>) {
        self.inbound.add(chunk, limits).unwrap();
        self.inbound.audit().unwrap();
    }

    /// FORWARD-TSN: everything before `floor`, and messages of stream 0 up to `ssn`.
    fn forward(&mut self, floor: u64, ssn: Option<u16>) {
        let lists = |stream, of: u16| stream == 0 && ssn.is_some_and(|ssn| ssn.wrapping_sub(of) < 1 << 15);
        self.inbound.give_up_before(floor, lists, &mut self.aborted);
        if let Some(ssn) = ssn {
            self.inbound.skip_ssn(0, ssn);
        }
        self.inbound.audit().unwrap();
    }

    fn lengths(&mut self) -> Vec<usize> {
        std::iter::from_fn(|| self.inbound.pop()).map(|message| message.len()).collect()
    }
}

// rfc3758:3.6-10
#[test]
fn what_misses_a_number_before_the_floor_goes_and_nothing_else() {
    // Without its end, without its middle, without its beginning.
    for chunks in [
        vec![fragment(0, 0, true, false), fragment(1, 0, false, false)],
        vec![fragment(0, 0, true, false), fragment(2, 0, false, true)],
        vec![fragment(1, 0, false, false), fragment(2, 0, false, true)],
    ] {
        let mut all = Forwarded::of(&chunks);
        all.add(&message(3, 1));
        all.forward(3, Some(0));
        assert_eq!(all.lengths(), [1]);
        assert_eq!(all.inbound.memory(), 0);
    }
    // A message that misses nothing before the floor, and whose rest comes.
    let mut all = Forwarded::of(&[fragment(1, 1, true, false), fragment(2, 1, false, false)]);
    for floor in 1..=3 {
        all.forward(floor, Some(0));
    }
    all.add(&fragment(3, 1, false, true));
    assert_eq!(all.lengths(), [3]);
    // Behind the floor nothing is touched.
    let mut all = Forwarded::of(&[fragment(5, 1, true, false), fragment(8, 2, false, true)]);
    all.forward(3, Some(0));
    for seq in [6, 7] {
        all.add(&fragment(seq, if seq == 6 { 1 } else { 2 }, seq == 7, seq == 6));
    }
    assert_eq!(all.lengths(), [2, 2]);
}

/// RFC 3758, 3.5 C4, lets a sender end its FORWARD-TSN in the middle of a message, whose rest may be on its way.
#[test]
fn the_tail_of_a_message_that_was_given_up_is_dropped() {
    // In order, out of order, before and after the FORWARD-TSN; with and without fragments below the floor.
    for early in [vec![], vec![3], vec![4], vec![3, 4], vec![0, 4], vec![0, 1, 3]] {
        let mut all = Forwarded::of(&[]);
        for seq in &early {
            all.add(&fragment(*seq, 0, *seq == 0, *seq == 4));
        }
        all.forward(3, Some(0));
        for seq in (3..5).rev().filter(|seq| !early.contains(seq)) {
            all.add(&Arrived { before: seq == 3, ..fragment(seq, 0, false, seq == 4) });
        }
        all.add(&Arrived { before: true, ..fragment(5, 1, true, false) });
        all.add(&Arrived { before: true, ..fragment(6, 1, false, true) });
        assert_eq!((all.lengths(), all.inbound.memory()), (vec![2], 0), "{early:?}");
    }
    // All before the floor is here, but the message is listed.
    let mut all = Forwarded::of(&[fragment(0, 0, true, false), fragment(1, 0, false, false)]);
    all.forward(2, Some(0));
    assert_eq!(all.inbound.memory(), 0);
    all.add(&Arrived { before: true, ..fragment(2, 0, false, true) });
    all.add(&Arrived { before: true, ..message(3, 1) });
    assert_eq!(all.lengths(), [1]);
}

// rfc3758:3.6-7
#[test]
fn a_skipped_number_frees_what_waits_for_it() {
    let mut all = Forwarded::of(&[message(2, 2), message(4, 4), message(5, 5), message(8, 8)]);
    all.forward(2, Some(1));
    assert_eq!(all.lengths().len(), 1);
    all.forward(4, Some(3));
    assert_eq!(all.lengths().len(), 2);
    // Once more, and backwards: nothing.
    for old in [3, 0, 5, 0xFFFF, 0x8006] {
        all.forward(4, Some(old));
        assert_eq!(all.lengths().len(), 0, "{old}");
    }
    all.forward(20, Some(19));
    assert_eq!(all.lengths().len(), 1);
    all.add(&message(20, 20));
    assert_eq!(all.lengths().len(), 1);
}

#[test]
fn skipped_numbers_wrap() {
    let mut all = Forwarded::of(&[]);
    let mut next = 0_u16;
    let mut seq = 0;
    for step in [1, 30_000, 2, 32_768, 9, 32_768, 7] {
        let skipped = next.wrapping_add(step - 1);
        // One in the middle, and the one behind.
        let middle = next.wrapping_add(step / 2);
        all.add(&message(seq + u64::from(step / 2), middle));
        all.add(&message(seq + u64::from(step), skipped.wrapping_add(1)));
        all.forward(seq + u64::from(step), Some(skipped));
        next = skipped.wrapping_add(2);
        seq += u64::from(step) + 1;
        // With a step of one, the middle is the first.
        assert_eq!(all.lengths().len(), 2, "{step}");
    }
    assert_eq!(all.inbound.memory(), 0);
}
