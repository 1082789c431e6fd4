//! The watch of the formal properties raises no false alarm: not where bounds become shorter in mid-life, while timers run that were set
//! under longer ones, and not where a clock is set back or forward. (Whether it sees what is broken: the tests of `properties`.)

use crate::common;

use std::cell::Cell;
use std::rc::Rc;

use anabranch_base::{Duration, Instant};
use anabranch_sctp::{AssociationId, Config, Event, State};
use common::{Pair, Side};

const SECOND: Duration = Duration::from_secs(1);

/// The network loses everything while the switch is on.
fn switch(pair: &mut Pair) -> Rc<Cell<bool>> {
    let silent = Rc::new(Cell::new(false));
    let lost = Rc::clone(&silent);
    pair.drop_if(move |_| lost.get());
    silent
}

fn set(pair: &mut Pair, id: AssociationId, key: &str, value: &str) {
    let now = pair.now;
    pair.a.association(id).unwrap().set(now, key, value).unwrap();
}

fn patient() -> Config {
    Config::rfc9260().with(|c| {
        c.limits.association_max_retrans = 100;
        c.limits.max_init_retransmits = 100;
    })
}

/// Somebody asks the endpoint, so that it looks at itself.
fn look(pair: &mut Pair, id: AssociationId) {
    let now = pair.now;
    pair.a.association(id).unwrap().request_heartbeat(now, common::address(Side::Z).ip()).unwrap();
    pair.pump();
}

#[test]
fn rto_max_is_lowered_while_t3_runs() {
    let (mut pair, a, _) = Pair::established(1, &patient());
    let silent = switch(&mut pair);
    silent.set(true);
    pair.send_numbered(Side::A, a, 0, 0, 100);
    pair.run_for(SECOND * 70);
    set(&mut pair, a, "rto_max", "2 s");
    look(&mut pair, a);
    silent.set(false);
    pair.run_for(SECOND * 70);
    pair.check_all(Side::Z, 1, 1);
    // From now on the new bound counts.
    silent.set(true);
    pair.send_numbered(Side::A, a, 0, 1, 100);
    let from = pair.log.len();
    pair.run_for(SECOND * 21);
    assert!(pair.log[from..].iter().filter(|p| p.has("DATA")).count() >= 10, "every two seconds");
}

#[test]
fn rto_max_is_lowered_while_t1_runs() {
    for cookie in [false, true] {
        let (mut pair, a) = Pair::connecting(2, &patient());
        let silent = switch(&mut pair);
        if cookie {
            pair.pump();
            let lost = Rc::clone(&silent);
            pair.drop_if(move |p| lost.get() || p.has("COOKIE-ECHO"));
        } else {
            silent.set(true);
        }
        pair.run_for(SECOND * 70);
        let state = pair.a.view(a).unwrap().state();
        assert_eq!(state, if cookie { State::CookieEchoed } else { State::CookieWait });
        set(&mut pair, a, "rto_max", "2 s");
        set(&mut pair, a, "max_init_retransmits", "8");
        pair.run_for(Duration::from_millis(1));
        let now = pair.now;
        // A packet of nobody's makes it look at itself.
        pair.a.handle_timeout(now);
        pair.run_for(SECOND * 200);
        assert!(pair.saw(Side::A, |e| matches!(e, Event::Closed(_))), "it ends as the new values have it");
    }
}

#[test]
fn rto_max_and_the_guard_change_in_a_shutdown() {
    for (key, value) in [("rto_max", "2 s"), ("shutdown_guard_rto_max", "1"), ("shutdown_guard_rto_max", "0")]
    {
        for acknowledged in [false, true] {
            let (mut pair, a, _) = Pair::established(3, &patient());
            let silent = switch(&mut pair);
            if !acknowledged {
                silent.set(true);
                pair.send_numbered(Side::A, a, 0, 0, 100);
            }
            let now = pair.now;
            pair.a.association(a).unwrap().shutdown(now);
            silent.set(true);
            pair.run_for(SECOND * 70);
            set(&mut pair, a, key, value);
            pair.run_for(SECOND * 150);
            silent.set(false);
            pair.run_for(SECOND * 200);
            assert!(pair.saw(Side::A, |e| matches!(e, Event::Closed(_))), "{key} {value} {acknowledged}");
        }
    }
}

/// T5 is set when a shutdown begins: a guard that is turned on later has none for this one.
#[test]
fn a_guard_that_is_turned_on_in_a_shutdown() {
    let config = patient().with(|c| c.timers.shutdown_guard_rto_max = 0);
    let (mut pair, a, _) = Pair::established(4, &config);
    let silent = switch(&mut pair);
    silent.set(true);
    pair.send_numbered(Side::A, a, 0, 0, 100);
    let now = pair.now;
    pair.a.association(a).unwrap().shutdown(now);
    pair.run_for(SECOND * 10);
    set(&mut pair, a, "shutdown_guard_rto_max", "5");
    pair.run_for(SECOND * 100);
    silent.set(false);
    pair.run_for(SECOND * 100);
    pair.check_all(Side::Z, 1, 1);
    assert!(pair.saw(Side::A, |e| matches!(e, Event::Closed(_))));
}

/// Life of the association whose clock is set back by half an hour, or forward.
#[derive(Clone, Copy, Debug)]
enum Life {
    CookieWait,
    CookieEchoed,
    DataWaits,
    ShutdownPending,
    ShutdownSent,
}

#[test]
fn a_clock_that_is_set_back_or_forward_is_no_alarm() {
    let hour = SECOND * 3600;
    for life in
        [Life::CookieWait, Life::CookieEchoed, Life::DataWaits, Life::ShutdownPending, Life::ShutdownSent]
    {
        for forward in [false, true] {
            let mut pair = Pair::sealed(6);
            pair.now = Instant::ZERO + hour;
            let silent = switch(&mut pair);
            let config = std::sync::Arc::new(patient());
            pair.z.listen(std::sync::Arc::clone(&config)).unwrap();
            let now = pair.now;
            let a = pair.a.connect(now, common::address(Side::Z), common::PORT, config).unwrap();
            match life {
                Life::CookieWait => silent.set(true),
                Life::CookieEchoed => {
                    let lost = Rc::clone(&silent);
                    pair.drop_if(move |p| {
                        lost.get() || (p.has("COOKIE-ECHO") && p.at < Instant::ZERO + hour + SECOND * 9)
                    });
                }
                _ => {}
            }
            pair.run_for(SECOND * 5);
            let now = pair.now;
            match life {
                Life::DataWaits | Life::ShutdownPending => {
                    silent.set(true);
                    pair.send_numbered(Side::A, a, 0, 0, 100);
                    if matches!(life, Life::ShutdownPending) {
                        pair.a.association(a).unwrap().shutdown(now);
                    }
                }
                Life::ShutdownSent => {
                    silent.set(true);
                    pair.a.association(a).unwrap().shutdown(now);
                }
                _ => {}
            }
            pair.run_for(SECOND * 3);
            let ahead = pair.now;
            // Every call has the other time: packets, timers, commands.
            pair.now = if forward { ahead + hour * 100 } else { ahead - hour / 2 };
            let now = pair.now;
            pair.a.handle_timeout(now);
            if forward {
                pair.z.handle_timeout(now);
            }
            let heartbeat = common::address(Side::Z).ip();
            let _ = pair.a.association(a).unwrap().request_heartbeat(now, heartbeat);
            pair.pump();
            silent.set(false);
            let mut steps = 0;
            while pair.now < ahead + SECOND && steps < 3 {
                // Time goes on, and somebody looks now and then before the timers expire.
                pair.run_for(SECOND * 700);
                let now = pair.now;
                let _ = pair.a.association(a).unwrap().request_heartbeat(now, heartbeat);
                pair.pump();
                steps += 1;
            }
            pair.run_for(SECOND * 200);
            let over = matches!(life, Life::ShutdownPending | Life::ShutdownSent);
            let ended = pair.saw(Side::A, |e| matches!(e, Event::Closed(_)));
            assert_eq!(ended, over, "{life:?}, {forward}: {:?}", pair.events);
            // T5 has expired where it stood before the time that was leapt over.
            let guarded = forward && matches!(life, Life::ShutdownPending);
            if matches!(life, Life::DataWaits | Life::ShutdownPending) && !guarded {
                pair.check_all(Side::Z, 1, 1);
            }
        }
    }
}
