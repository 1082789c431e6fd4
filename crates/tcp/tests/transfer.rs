//! Whole transfers: the data sent arrives, whatever the network does.

use crate::common::{Fate, Pair, ms, payload};
use anabranch_base::Rng;
use anabranch_tcp::header::Flags;
use anabranch_tcp::{Config, Event, PROFILES, State};

fn check(pair: &Pair, data: &[u8], what: &str) {
    assert!(pair.server.received == data, "{what}: {} of {} bytes", pair.server.received.len(), data.len());
    assert!(pair.server.events.contains(&Event::PeerClosed), "{what}: {:?}", pair.server.events);
    assert!(pair.server.events.contains(&Event::Closed), "{what}: {:?}", pair.server.events);
    assert!(pair.client.events.contains(&Event::Closed), "{what}: {:?}", pair.client.events);
    assert_eq!((pair.client_state(), pair.server_state()), (State::Closed, State::Closed), "{what}");
    let (sent, got) = (pair.client_stats(), pair.server_stats());
    assert_eq!(sent.payload_bytes_unique, data.len() as u64, "{what}");
    assert_eq!(sent.packets_sent, sent.packets_sent_unique + sent.retransmissions, "{what}");
    assert_eq!(got.payload_bytes_received_new, data.len() as u64, "{what}");
    assert_eq!(got.payload_bytes_delivered, data.len() as u64, "{what}");
    assert_eq!((sent.flight, got.bad_acks, sent.bad_acks), (0, 0, 0), "{what}");
}

#[test]
fn clean_transfer_with_every_profile() {
    let data = payload(300_000);
    for (name, _) in PROFILES {
        let mut pair = Pair::same(&Config::named(name).unwrap()).upload(&data);
        pair.finish();
        check(&pair, &data, name);
        let stats = pair.client_stats();
        assert_eq!((stats.retransmissions, stats.timeouts), (0, 0), "{name}");
        assert_eq!(
            stats.packets_sent,
            300_000_u64.div_ceil(match *name {
                "sack" => 1460,
                "linux-2.4" => 1400,
                _ => 1448,
            }),
            "{name}"
        );
    }
}

#[test]
fn lossy_reordering_duplicating_network() {
    let data = payload(700_000);
    for (name, _) in PROFILES {
        for seed in 1..=5 {
            for loss in [0.01, 0.1] {
                let mut rng = Rng::stream(seed, "test", "network");
                let mut pair = Pair::same(&Config::named(name).unwrap()).upload(&data).with_rule(move |_| {
                    match rng.f64() {
                        x if x < loss => Fate::Drop,
                        x if x < loss + 0.01 => Fate::Twice,
                        x if x < loss + 0.03 => Fate::Delay(ms(rng.below(15))),
                        _ => Fate::Pass,
                    }
                });
                pair.finish();
                println!("{name} seed {seed} loss {loss}: {:?}", pair.client_stats());
                check(&pair, &data, &format!("{name}, seed {seed}, loss {loss}"));
            }
        }
    }
}

/// Both send at once, both lose.
#[test]
fn two_way_transfer() {
    let (up, down) = (payload(200_000), payload(150_000));
    for (name, _) in PROFILES {
        let mut rng = Rng::stream(9, "test", "network");
        let mut pair = Pair::same(&Config::named(name).unwrap())
            .upload(&up)
            .with_rule(move |_| if rng.chance(0.03) { Fate::Drop } else { Fate::Pass });
        pair.server.offer = down.clone();
        pair.server.close_in_turn = false;
        pair.server.close_after_offer = true;
        pair.finish();
        assert!(pair.server.received == up, "{name}");
        assert!(pair.client.received == down, "{name}");
        assert_eq!((pair.client_state(), pair.server_state()), (State::Closed, State::Closed), "{name}");
    }
}

/// One packet lost, at every position of each direction, handshake and close included.
#[test]
fn one_loss_at_every_position() {
    let data = payload(20 * 1448);
    for (name, _) in PROFILES {
        let config = Config::named(name).unwrap();
        let mut clean = Pair::same(&config).upload(&data);
        clean.finish();
        for from_client in [true, false] {
            let packets = clean.log.iter().filter(|p| p.from_client == from_client).count() as u64;
            for k in 1..=packets {
                let mut pair = Pair::same(&config).upload(&data).with_rule(move |p| {
                    if p.from_client == from_client && p.number == k { Fate::Drop } else { Fate::Pass }
                });
                pair.finish();
                check(&pair, &data, &format!("{name}, packet {k}, from client {from_client}"));
            }
        }
    }
}

/// The same, the first two copies lost.
#[test]
fn lost_handshakes_and_fins_twice() {
    let data = payload(5 * 1448);
    for flag in [Flags::SYN, Flags::FIN] {
        for from_client in [true, false] {
            let mut seen = 0;
            let mut pair = Pair::same(&Config::default()).upload(&data).with_rule(move |p| {
                let hit = p.from_client == from_client && p.has(flag);
                seen += u32::from(hit);
                if hit && seen <= 2 { Fate::Drop } else { Fate::Pass }
            });
            pair.finish();
            check(&pair, &data, &format!("{flag:?} from client {from_client}"));
        }
    }
}

/// A window beyond 64 KB needs scaling, and gets it.
#[test]
fn scaled_windows_fill_a_long_fat_pipe() {
    let data = payload(4_000_000);
    let time = |config: &Config| {
        let mut pair = Pair::same(config).upload(&data);
        pair.delay = ms(100);
        pair.finish();
        check(&pair, &data, "scaling");
        pair.log.iter().filter(|p| p.is_data()).map(|p| p.at).max().unwrap()
    };
    let scaled = time(&Config::default());
    let unscaled = time(&Config { window_scaling: false, ..Config::default() });
    // 4 MB in windows of 64 KB is 61 round trips of 200 ms.
    assert!(unscaled.as_secs_f64() > 12.0 && scaled.as_secs_f64() < 3.0, "{unscaled} {scaled}");
}

/// Sequence numbers that pass 2^32 during the transfer.
#[test]
fn sequence_numbers_wrap() {
    // The first draw of a stack's stream is its initial sequence number: a seed that puts it 1 MB before the wrap.
    let stream = |seed| Rng::stream(seed, "host", "iss");
    let seed = (0..1 << 20).find(|seed| stream(*seed).u32() > 0xfff0_0000).unwrap();
    let data = payload(3_000_000);
    for (name, _) in PROFILES {
        let config = Config::named(name).unwrap();
        let mut pair = Pair::idle(config.clone()).upload(&data);
        pair.client.stack = anabranch_tcp::Stack::new(([10, 0, 0, 1], 0).into(), stream(seed));
        pair.call(config);
        let mut rng = Rng::stream(4, "test", "network");
        pair.rule = Box::new(move |_| if rng.chance(0.02) { Fate::Drop } else { Fate::Pass });
        pair.finish();
        check(&pair, &data, name);
        let seqs: Vec<u32> =
            pair.log.iter().filter(|p| p.from_client && p.is_data()).map(|p| p.header.seq).collect();
        assert!(seqs[0] > 0xfff0_0000 && *seqs.last().unwrap() < 0x8000_0000, "it did wrap");
    }
}
