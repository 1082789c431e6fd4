//! SACKs that list a selection of the gap blocks, where both sides have agreed on it (docs/reference/extensions.md, "Selected gap blocks").
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use crate::common;

use std::sync::Arc;

use anabranch_base::{Duration, Instant, Rng};
use anabranch_sctp::config::{InitialWindow, MaxBurst, SubflowLevel};
use anabranch_sctp::{Config, Message};
use anabranch_wire::chunk::sack::{self, GapBlock};
use anabranch_wire::chunk::{Chunk, Data, DataFlags, SfSack, kind};
use anabranch_wire::param::{Param, SelectedGapBlocks};
use anabranch_wire::sf::CodePoints;
use anabranch_wire::{Checksum, Packet, Ssn, Tsn};
use bytes::Bytes;
use common::script::{Script, TSN_Z, data, packet};
use common::{Logged, PORT, Pair, Side, address, subflow_config};

const AGREES: &[Param<'_>] = &[Param::SelectedGapBlocks(SelectedGapBlocks)];
const BEFORE: u32 = TSN_Z - 1;

fn config(most: u16) -> Config {
    Config::rfc9260().with(|c| c.extensions.selected_gap_blocks = most)
}

/// Cumulative TSN, whether it is a selection, and gap blocks.
type Said = (u32, bool, Vec<(u16, u16)>);

/// The SACKs that a side has sent.
fn sacks(log: &[Logged], side: Side) -> Vec<Said> {
    let mut all = Vec::new();
    for logged in log.iter().filter(|p| p.from == side) {
        let packet = Packet::parse(&logged.bytes, Checksum::Verify).unwrap();
        for raw in packet.chunks() {
            if let Chunk::Sack(sack) = Chunk::parse(raw.unwrap()).unwrap() {
                let gaps = sack.gaps().map(|g| (g.start, g.end)).collect();
                all.push((sack.cumulative.get(), sack.selected, gaps));
            }
        }
    }
    all
}

fn last(script: &Script) -> Said {
    sacks(&script.pair.log, Side::A).pop().unwrap()
}

fn arrives(script: &mut Script, offset: u32) {
    script.send(|out| data(TSN_Z + offset - 1, 0, &[7; 10]).emit(out));
}

/// A receiver with more gaps than the list may have says so, and the peer learns of all in turn; one with no more
/// lists them all, as ever.
#[test]
fn a_receiver_lists_the_newest_and_others_in_turn() {
    let mut script = Script::established_with(&config(4), AGREES);
    for offset in [2, 4, 6, 8] {
        arrives(&mut script, offset);
    }
    assert_eq!(last(&script), (BEFORE, true, vec![(2, 2), (4, 4), (6, 6), (8, 8)]));
    arrives(&mut script, 10);
    assert_eq!(last(&script), (BEFORE, true, vec![(2, 2), (4, 4), (8, 8), (10, 10)]));
    arrives(&mut script, 12);
    assert_eq!(last(&script), (BEFORE, true, vec![(6, 6), (8, 8), (10, 10), (12, 12)]));
    // A hole in the middle is filled: only that is new.
    arrives(&mut script, 5);
    assert_eq!(last(&script), (BEFORE, true, vec![(2, 2), (4, 6), (10, 10), (12, 12)]));
    arrives(&mut script, 3);
    assert_eq!(last(&script), (BEFORE, true, vec![(2, 6), (8, 8), (10, 10), (12, 12)]));
    arrives(&mut script, 1);
    assert_eq!(last(&script), (BEFORE + 6, true, vec![(2, 2), (4, 4), (6, 6)]));
    // Nothing is missing, and still nothing is taken back.
    for offset in [7, 9, 11] {
        arrives(&mut script, offset);
    }
    assert_eq!(last(&script), (BEFORE + 12, true, vec![]));
}

/// Without the agreement nothing is left out, whichever side lacks it.
#[test]
fn nothing_is_left_out_where_one_side_has_not_agreed() {
    for (config, params) in [(config(4), &[][..]), (config(0), AGREES)] {
        let mut script = Script::established_with(&config, params);
        for n in 1..=20 {
            arrives(&mut script, 2 * n);
        }
        let all: Vec<(u16, u16)> = (1..=20).map(|n| (2 * n, 2 * n)).collect();
        assert_eq!(last(&script), (BEFORE, false, all));
        let said = script.pair.a.view(script.a).unwrap().stats().retransmissions;
        assert_eq!(said, 0);
    }
}

/// A receiver that drops again what it has acknowledged (RFC 9260, 6.2) can only say so by a list of all.
#[test]
fn what_is_dropped_again_is_told_by_whole_lists_until_it_has_come() {
    let config = config(3).with(|c| c.limits.receive_window = 8000);
    let mut script = Script::established_with(&config, AGREES);
    let fragment = |script: &mut Script, offset: u32, beginning: bool| {
        let flags = DataFlags { beginning, ending: false, ..DataFlags::WHOLE };
        let payload = [7; 1000];
        let tsn = Tsn::new(TSN_Z + offset - 1);
        let chunk = Data { flags, tsn, stream: 0, ssn: Ssn::new(1), ppid: 0, payload: &payload };
        script.send(|out| chunk.emit(out));
    };
    for offset in [3, 5, 7, 9, 11, 13, 15, 17] {
        fragment(&mut script, offset, false);
    }
    let (_, selected, listed) = last(&script);
    assert!(selected && listed.len() == 3, "{listed:?}");
    fragment(&mut script, 4, false);
    let (_, selected, listed) = last(&script);
    assert!(!selected, "{listed:?}");
    let highest = listed.last().unwrap().1;
    assert!(highest < 17 && listed.len() > 3, "{listed:?}");
    // Blocks that come next may not be left out either, until the cumulative TSN has passed the dropped chunk.
    fragment(&mut script, 6, false);
    assert!(!last(&script).1);
}

fn calling(config: &Config, params: &[Param<'_>], chunks: u32) -> Script {
    let mut script = Script::established_with(config, params);
    let a = script.a;
    script.pair.send_all(Side::A, a, 1, chunks, 1000);
    script.pair.pump();
    script
}

fn selected(script: &mut Script, acknowledged: u32, gaps: &[(u16, u16)]) {
    let cumulative = Tsn::new(script.tsn_a.wrapping_add(acknowledged).wrapping_sub(1));
    let gaps: Vec<GapBlock> = gaps.iter().map(|&(start, end)| GapBlock { start, end }).collect();
    script.send(|out| sack::emit_selected(out, cumulative, 100_000, &gaps, &[]));
}

fn flight(script: &Script) -> u64 {
    script.pair.a.view(script.a).unwrap().stats().flight
}

/// A sender takes nothing back because a selection leaves it out; because a whole list does, it does. And the flag means nothing to who has
/// not offered to read it.
#[test]
fn a_sender_keeps_what_a_selection_leaves_out() {
    let ten = |c: Config| {
        c.with(|c| {
            c.congestion.initial_window = InitialWindow::Packets(10);
            c.congestion.max_burst = MaxBurst::Acknowledged(20);
        })
    };
    for (most, params, offered) in [(4, AGREES, true), (4, &[][..], true), (0, AGREES, false)] {
        let mut script = calling(&ten(config(most)), params, 10);
        let whole = flight(&script);
        script.sack(0, 100_000, &[(3, 4)]);
        let less_two = flight(&script);
        assert!(less_two < whole);
        selected(&mut script, 0, &[(6, 6)]);
        let now = flight(&script);
        assert_eq!(now < less_two, offered, "{now} {less_two}");
        // The list is whole now: of the first two nothing has arrived.
        script.sack(0, 100_000, &[(6, 6)]);
        assert_eq!(flight(&script), less_two + (whole - less_two) / 2, "offered: {offered}");
        // Blocks in any order, twice, and inside each other.
        selected(&mut script, 0, &[(8, 9), (3, 4), (3, 3), (9, 9)]);
        script.sack(10, 100_000, &[]);
        assert_eq!(flight(&script), 0);
        script.has_sent_all();
    }
}

/// The endpoint gets another configuration between INIT ACK and cookie: the agreement stays, and blocks are listed.
#[test]
fn a_cookie_outlives_the_configuration() {
    let config = |most| Arc::new(config(most));
    let mut pair = Pair::new(3);
    pair.z.listen(config(8)).unwrap();
    let now = pair.now;
    let a = pair.a.connect(now, address(Side::Z), PORT, config(8)).unwrap();
    pair.run_for(Duration::from_millis(15));
    pair.z.listen(config(0)).unwrap();
    pair.run_for(Duration::from_millis(200));
    pair.log.clear();
    let mut n = 0;
    pair.drop_if(move |p| {
        n += u32::from(p.from == Side::A);
        p.from == Side::A && n == 1
    });
    pair.send_all(Side::A, a, 1, 4, 1000);
    pair.run_for(Duration::from_millis(50));
    let all = sacks(&pair.log, Side::Z);
    assert!(all.iter().any(|(_, _, gaps)| !gaps.is_empty()), "{all:?}");
    // And what the peer selects is read: a list that leaves out what one before it had takes nothing back.
    let z = pair.id_of(Side::Z);
    pair.drop_if(|p| p.from == Side::Z);
    pair.send_all(Side::Z, z, 1, 4, 1000);
    pair.pump();
    let first =
        pair.log.iter().filter(|p| p.from == Side::Z).flat_map(Logged::data).map(|d| d.tsn.get()).min();
    let cumulative = Tsn::new(first.unwrap().wrapping_sub(1));
    let tag = pair.log.iter().find(|p| p.from == Side::A).map(|p| p.bytes[4..8].try_into().unwrap());
    let tag = u32::from_be_bytes(tag.unwrap());
    let left = |pair: &Pair| pair.z.view(z).unwrap().stats().flight;
    for gaps in [&[GapBlock { start: 2, end: 2 }][..], &[]] {
        let bytes = packet(tag, |out| sack::emit_selected(out, cumulative, 100_000, gaps, &[]));
        pair.inject(Side::A, &bytes);
        pair.pump();
        assert!(left(&pair) > 0 && left(&pair) < 3500, "{gaps:?}: {}", left(&pair));
    }
}

fn many_at_once(most: u16) -> Config {
    config(most).with(|c| {
        c.congestion.initial_window = InitialWindow::Packets(100);
        c.congestion.max_burst = MaxBurst::Acknowledged(100);
    })
}

/// A SACK of before there were so many gaps comes late: nothing is taken back because of it, nor sent again.
#[test]
fn an_overtaken_list_takes_nothing_back() {
    let config = many_at_once(4);
    let mut receiver = Script::established_with(&config, AGREES);
    for n in 1..=10 {
        arrives(&mut receiver, 2 * n);
    }
    let said = sacks(&receiver.pair.log, Side::A);
    for late in 0..said.len() {
        let mut sender = calling(&config, AGREES, 20);
        let say = |sender: &mut Script, sack: &Said| {
            if sack.1 { selected(sender, 0, &sack.2) } else { sender.sack(0, 100_000, &sack.2) }
        };
        for (_, sack) in said.iter().enumerate().filter(|(n, _)| *n != late) {
            say(&mut sender, sack);
        }
        let before = flight(&sender);
        say(&mut sender, &said[late]);
        assert!(flight(&sender) <= before, "{:?}", said[late]);
    }
}

/// A chunk that comes twice is in a block of the SACK that answers it: its sender does not know.
#[test]
fn a_duplicate_is_answered_with_its_block() {
    let mut script = Script::established_with(&config(4), AGREES);
    for n in 1..=40 {
        arrives(&mut script, 2 * n);
    }
    for _ in 0..5 {
        arrives(&mut script, 60);
        let (_, _, gaps) = last(&script);
        assert!(gaps.iter().any(|(start, end)| *start <= 60 && 60 <= *end), "{gaps:?}");
    }
}

/// The window of a selection that was overtaken is of before newer blocks arrived: with these counted as free it would be too large.
#[test]
fn the_window_of_an_overtaken_selection_does_not_count() {
    for params in [&[][..], AGREES] {
        let mut script = Script::established_with(&many_at_once(4), params);
        let a = script.a;
        script.pair.send_all(Side::A, a, 1, 40, 1000);
        script.pair.pump();
        let old = [(2, 2), (4, 4), (6, 6), (8, 8), (10, 10)];
        let new = [(2, 2), (4, 4), (6, 6), (8, 8), (10, 10), (12, 12), (14, 14), (16, 30)];
        let cumulative = Tsn::new(script.tsn_a.wrapping_sub(1));
        let mut say = |gaps: &[(u16, u16)], window: u32| {
            let gaps: Vec<GapBlock> = gaps.iter().map(|&(start, end)| GapBlock { start, end }).collect();
            let emit = if params.is_empty() { sack::emit } else { sack::emit_selected };
            script.send(|out| emit(out, cumulative, window, &gaps, &[]));
        };
        // A buffer of 40,000 bytes: full with the data under way.
        say(&new, 40_000 - 22_000);
        say(&old, 40_000 - 5000);
        script.pair.log.clear();
        script.pair.send_all(Side::A, a, 1, 40, 1000);
        script.pair.pump();
        let left = script.left();
        assert!(left.iter().all(|n| *n < 40), "{left:?}");
    }
}

/// Lists of any length, in any order, say the same as one block after the other.
#[test]
fn a_long_selection_says_what_short_ones_say() {
    let config = many_at_once(8).with(|c| c.limits.send_buffer = 4 << 20);
    let blocks: Vec<(u16, u16)> = (1..=33).rev().map(|n| (3 * n - 1, 3 * n)).collect();
    let [mut long, mut short] = [0, 1].map(|_| calling(&config, AGREES, 100));
    selected(&mut long, 0, &[(50, 50), (2, 2)]);
    selected(&mut long, 0, &blocks);
    for block in &blocks {
        selected(&mut short, 0, &[*block]);
    }
    assert_eq!(flight(&long), flight(&short));
    assert_eq!(flight(&long) % 34, 0, "a third is missing, and the last one");
}

/// A box on the way takes the parameter out of one of the two chunks: one side selects where the other does not know of it, or neither does.
#[test]
fn a_parameter_that_is_lost_on_the_way_loses_no_news() {
    for lost in [kind::INIT, kind::INIT_ACK] {
        let config = Config::modern().with(|c| {
            c.limits.send_buffer = 4 << 20;
            c.congestion.initial_window = InitialWindow::Packets(200);
        });
        let mut pair = Pair::sealed(3);
        pair.tamper(move |_, bytes| {
            if bytes.get(12) == Some(&lost) {
                let at = bytes.windows(4).position(|w| w == [0xB1, 0x5A, 0, 4]).unwrap();
                bytes[at] = 0xB7;
            }
        });
        pair.z.listen(Arc::new(config.clone())).unwrap();
        let now = pair.now;
        let a = pair.a.connect(now, address(Side::Z), PORT, Arc::new(config)).unwrap();
        pair.run_for(Duration::from_millis(200));
        let mut rng = Rng::stream(3, "gaps", "selected");
        pair.drop_if(move |p| p.from == Side::A && p.has("DATA") && rng.chance(0.3));
        pair.send_all(Side::A, a, 1, 400, 1000);
        pair.run_for(Duration::from_secs(300));
        pair.check_all(Side::Z, 1, 400);
        let selects = sacks(&pair.log, Side::Z).iter().any(|(_, selected, _)| *selected);
        assert_eq!(selects, lost == kind::INIT_ACK);
        let again = pair.z.view(pair.id_of(Side::Z)).unwrap().stats().duplicates_received;
        assert!(again < 20, "{again} chunks came twice");
    }
}

/// A selection may not name chunks that were never sent either.
#[test]
fn a_selection_of_what_was_never_sent_ends_the_association() {
    let mut script = calling(&config(4), AGREES, 2);
    selected(&mut script, 0, &[(2, 500)]);
    assert!(script.closed().is_some());
    assert!(script.pair.log.iter().any(|p| p.has("ABORT")));
}

/// A peer that selects and never says anything new is asked again by T3-rtx, as one that says nothing.
#[test]
fn a_peer_that_leaves_everything_out_gets_everything_again() {
    let mut script = calling(&config(4), AGREES, 3);
    for _ in 0..100 {
        selected(&mut script, 0, &[]);
    }
    script.pair.log.clear();
    script.pair.run_for(Duration::from_secs(4));
    assert!(!script.left().is_empty());
}

/// Thousands of gaps, SACKs lost by half and in disorder, both directions, levels 0 and 1: all arrives, in order, and no SACK has more
/// blocks than it may.
#[test]
fn everything_arrives_whatever_sacks_are_lost() {
    for seed in 0..12 {
        let mut config = Config::modern().with(|c| {
            c.extensions.selected_gap_blocks = [3, 5, 8, 40][seed as usize % 4];
            c.congestion.initial_window = InitialWindow::Packets(200);
            c.limits.send_buffer = 4 << 20;
            c.limits.association_max_retrans = 1000;
            c.limits.path_max_retrans = 1000;
        });
        if seed % 3 == 2 {
            let two = subflow_config(SubflowLevel::One, 2);
            config.subflows = two.subflows;
        }
        let most = usize::from(config.extensions.selected_gap_blocks);
        let (mut pair, a, _) = Pair::established(seed, &config);
        let mut rng = Rng::stream(seed, "gaps", "selected");
        pair.delay_by(|p| Duration::from_micros(10_000 + u64::from(p.bytes.len() as u32 * 37 % 5000)));
        pair.drop_if(move |p| {
            // The first windows are full of holes.
            let early = p.at < Instant::ZERO + Duration::from_secs(2);
            let lost = if p.from == Side::Z {
                0.5
            } else if early {
                0.3
            } else {
                0.02
            };
            rng.chance(lost)
        });
        let now = pair.now;
        for n in 0..1200_u32 {
            let payload = Bytes::from(n.to_be_bytes().repeat(250));
            pair.a.association(a).unwrap().send(now, Message::new((n % 2) as u16, payload)).unwrap();
        }
        pair.pump();
        pair.run_for(Duration::from_secs(900));
        let count = |stream| pair.received.iter().filter(|(_, m)| m.stream == stream).count();
        assert_eq!((count(0), count(1)), (600, 600), "seed {seed}");
        let all = sacks(&pair.log, Side::Z);
        assert!(all.iter().any(|(_, _, gaps)| gaps.len() == most) || most == 40, "seed {seed}");
        assert!(all.iter().all(|(_, _, gaps)| gaps.len() <= most), "seed {seed}");
        let sf = pair.log.iter().flat_map(sf_sacks);
        assert!(sf.into_iter().all(|gaps| gaps <= most), "seed {seed}");
    }
}

/// Numbers of gap blocks of the SF-SACKs in a packet.
fn sf_sacks(logged: &Logged) -> Vec<usize> {
    let packet = Packet::parse(&logged.bytes, Checksum::Ignore).unwrap();
    let sacks = packet.chunks().filter_map(|raw| {
        let raw = raw.unwrap();
        let sack = (raw.kind == CodePoints::DEFAULT.sack).then(|| SfSack::parse(raw).unwrap());
        sack.map(|sack| sack.gaps().count())
    });
    sacks.collect()
}
