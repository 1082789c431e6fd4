//! Lives that chance hardly brings: restarts, nobody listening, strangers, readers who never read, cookies that are
//! too old.

use std::collections::BTreeMap;
use std::sync::Arc;

use anabranch_base::{Duration, Ecn, Rng};
use anabranch_sctp::{Config, Endpoint, EndpointConfig, SubflowLevel};

use crate::Recorded;
use crate::common::{PORT, Pair, Side, address, subflow_config};
use crate::life::Sent;

type Script = fn() -> Recorded;

/// Every script by its name.
pub(crate) const ALL: &[(&str, Script)] = &[
    ("script/aborted", || aborted(SubflowLevel::Zero)),
    ("script/aborted-level1", || aborted(SubflowLevel::One)),
    ("script/nobody-listens", nobody_listens),
    ("script/reader-pauses", || reader_pauses(SubflowLevel::Zero)),
    ("script/reader-pauses-level1", || reader_pauses(SubflowLevel::One)),
    ("script/reader-pauses-sf2007", || reader_pauses(SubflowLevel::Sf2007)),
    ("script/restart", || restart(SubflowLevel::Zero)),
    ("script/restart-level1", || restart(SubflowLevel::One)),
    ("script/restart-sf2007", || restart(SubflowLevel::Sf2007)),
    ("script/stale-cookie", stale_cookie),
    ("script/unknown-chunks", unknown_chunks),
];

fn config(level: SubflowLevel) -> Config {
    let base = if level == SubflowLevel::Sf2007 { Config::sf2007() } else { Config::rfc9260() };
    base.with(|c| {
        c.subflows.open = subflow_config(level, 3).subflows.open;
        c.subflows.level = level;
    })
}

/// Packets and events of a pair; the times of the events are not kept.
fn told(mut pair: Pair) -> Recorded {
    let trace = [(Side::A, &mut pair.a), (Side::Z, &mut pair.z)]
        .into_iter()
        .flat_map(|(side, end)| end.drain_trace().map(move |record| (side, record)).collect::<Vec<_>>())
        .collect();
    let ids: BTreeMap<_, _> =
        pair.events.iter().map(|(side, id, _)| ((*side as usize, id.index()), (*side, *id))).collect();
    let counters = ids.into_values().filter_map(|(side, id)| {
        let end = if side == Side::A { &pair.a } else { &pair.z };
        Some((side, id.index() as usize, end.view(id)?.snapshot()))
    });
    let counters = counters.collect();
    let packets = pair.log.into_iter().map(|logged| Sent {
        at: logged.at,
        from: logged.from,
        destination: address(logged.from.other()),
        dscp: logged.dscp,
        ecn: Ecn::NotEct,
        bytes: logged.bytes,
    });
    let packets = packets.collect();
    let event = |(side, id, event): (Side, anabranch_sctp::AssociationId, _)| {
        (anabranch_base::Instant::ZERO, side, format!("{} {event:?}", id.index()))
    };
    Recorded { packets, events: pair.events.into_iter().map(event).collect(), trace, counters }
}

/// From now on both ends keep trace records.
fn record(pair: &mut Pair) {
    pair.a.set_trace(true);
    pair.z.set_trace(true);
}

/// A has forgotten everything, and calls again.
fn restart(level: SubflowLevel) -> Recorded {
    let config = config(level);
    let (mut pair, a, z) = Pair::between(1, &config, &config);
    record(&mut pair);
    pair.send_all(Side::A, a, 3, 20, 2000);
    pair.send_all(Side::Z, z, 3, 20, 700);
    pair.run_for(Duration::from_millis(35));
    let restarted = EndpointConfig {
        allow_private_encodings: true,
        ..EndpointConfig::new(address(Side::A), PORT).keeping_closed()
    };
    pair.a = Endpoint::new(restarted, Rng::stream(1, "a", "restarted").secret());
    record(&mut pair);
    pair.events.clear();
    let a = pair.a.connect(pair.now, address(Side::Z), PORT, Arc::new(config)).unwrap();
    pair.run_for(Duration::from_millis(500));
    pair.send_all(Side::A, a, 3, 10, 900);
    pair.run_for(Duration::from_secs(5));
    pair.a.association(a).unwrap().shutdown(pair.now);
    pair.run_for(Duration::from_secs(5));
    told(pair)
}

fn aborted(level: SubflowLevel) -> Recorded {
    let config = config(level);
    let (mut pair, a, z) = Pair::between(2, &config, &config);
    record(&mut pair);
    pair.send_all(Side::A, a, 3, 20, 2000);
    pair.run_for(Duration::from_millis(45));
    pair.z.association(z).unwrap().abort(pair.now, b"enough");
    pair.run_for(Duration::from_secs(5));
    told(pair)
}

/// The endpoint knows nobody: ABORT.
fn nobody_listens() -> Recorded {
    let mut pair = Pair::new(3);
    record(&mut pair);
    pair.a.connect(pair.now, address(Side::Z), PORT, Arc::new(Config::rfc9260())).unwrap();
    pair.run_for(Duration::from_secs(10));
    told(pair)
}

/// A closed window, probes, and the window that opens again.
fn reader_pauses(level: SubflowLevel) -> Recorded {
    let config = config(level).with(|c| c.limits.receive_window = 20_000);
    let (mut pair, a, _) = Pair::between(4, &config, &config);
    record(&mut pair);
    pair.reads[1] = false;
    pair.send_all(Side::A, a, 3, 30, 1400);
    pair.run_for(Duration::from_secs(20));
    pair.reads[1] = true;
    pair.run_for(Duration::from_secs(20));
    pair.a.association(a).unwrap().shutdown(pair.now);
    pair.run_for(Duration::from_secs(5));
    told(pair)
}

/// The cookie has expired when it comes back: a new INIT asks for a longer life.
fn stale_cookie() -> Recorded {
    let config = Config::rfc9260().with(|c| c.timers.valid_cookie_life = Duration::from_millis(15));
    let (mut pair, a) = Pair::connecting(5, &config);
    record(&mut pair);
    pair.send(Side::A, a, 0, b"hello");
    pair.run_for(Duration::from_secs(10));
    told(pair)
}

/// Somebody puts chunks in front that nobody knows, of each of the four kinds: the upper bits say what to do.
fn unknown_chunks() -> Recorded {
    let (mut pair, a, _) = Pair::established(6, &Config::rfc9260());
    record(&mut pair);
    for kind in [0x3e, 0x7e, 0xbe, 0xfe] {
        pair.send(Side::A, a, 0, &[kind; 100]);
        let mut changed = false;
        pair.tamper(move |from, bytes| {
            if from == Side::A && !std::mem::replace(&mut changed, true) {
                bytes.splice(12..12, [kind, 0, 0, 8, 1, 2, 3, 4]);
            }
        });
        pair.run_for(Duration::from_secs(3));
    }
    told(pair)
}
