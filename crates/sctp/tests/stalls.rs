//! Senders that stop although something could leave: each was found with a peer that is written
//! down packet by packet.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

mod common;

use std::collections::BTreeSet;

use anabranch_base::{Dscp, Duration};
use anabranch_sctp::{Config, State, SubflowSpec};
use common::Side;
use common::script::Script;

const WINDOW: u32 = 100_000;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn spec(code: u8) -> SubflowSpec {
    SubflowSpec { streams: vec![u16::from(code)], ..SubflowSpec::new(Dscp::new(code).unwrap()) }
}

/// So many subflows at level 0, stream `i` on subflow `i`.
fn subflows(count: u8, config: Config) -> Config {
    Config { subflows: (0..count).map(spec).collect(), ..config }
}

/// A subflow is drained when everything is acknowledged cumulatively: "The data sender ... SHOULD NOT remove [gap acknowledged]
/// data from its transmit queue" (6.2.1), for the peer may take that back. A SACK that is only late looks the same.
#[test]
fn a_place_is_free_when_nothing_can_be_taken_back() {
    for taken_back_first in [true, false] {
        let mut script = Script::established(&subflows(2, Config::rfc9260()));
        let a = script.a;
        for stream in [0, 1, 1] {
            script.pair.send(Side::A, a, stream, &[1; 1000]);
        }
        script.pair.pump();
        assert_eq!(script.left(), [0, 1, 2]);
        script.pair.run_for(ms(100));
        // All of subflow 1 has arrived, and what subflow 0 sent before it has not.
        script.sack(0, WINDOW, &[(2, 3)]);
        script.pair.a.remove_subflow(script.pair.now, a, 1, 0).unwrap();
        if taken_back_first {
            script.sack(0, WINDOW, &[]);
        }
        script.pair.a.add_subflow(script.pair.now, a, &spec(1)).unwrap();
        script.sack(0, WINDOW, &[]);
        script.pair.log.clear();
        script.pair.a.shutdown(script.pair.now, a);
        let mut got = BTreeSet::new();
        script.be_honest(Duration::from_secs(60), WINDOW, &mut got);
        assert_eq!(got.len(), 3, "{taken_back_first}: {got:?}");
        script.has_sent_all();
        assert_eq!(script.state(), State::ShutdownSent);
    }
}
