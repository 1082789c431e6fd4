use super::*;
use anabranch_base::Duration;

#[test]
fn every_profile_exists_and_every_value_reads_back_as_written() {
    for (name, _) in PROFILES {
        let profile = Config::named(name).unwrap();
        let mut copy = Config::default();
        for key in Config::keys() {
            let text = profile.get(key.name).unwrap();
            copy.set(key.name, &text).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert!(!key.doc.is_empty() && !key.allowed.is_empty());
        }
        assert_eq!(copy, profile, "{name}");
    }
    assert!(Config::named("tahoe-1988").is_none());
}

#[test]
fn values_are_written_with_units() {
    let mut c = Config::default();
    c.set("rto_min", "200 ms").unwrap();
    c.set("rto_max", "1 min").unwrap();
    c.set("receive_buffer", "64 KiB").unwrap();
    c.set("mss", "1448 B").unwrap();
    c.set("initial_window", "3 segments").unwrap();
    c.set("initial_ssthresh", "unlimited").unwrap();
    c.set("recovery", "newreno").unwrap();
    c.set("delayed_ack", "false").unwrap();
    assert_eq!((c.rto_min, c.rto_max), (Duration::from_millis(200), Duration::from_secs(60)));
    assert_eq!((c.receive_buffer, c.mss, c.initial_ssthresh), (65536, 1448, None));
    assert_eq!((c.recovery, c.delayed_ack), (LossRecovery::NewReno, false));
    assert_eq!(c.initial_window, InitialWindow::Segments(3));
}

#[test]
fn errors_say_what_is_allowed() {
    let mut c = Config::default();
    let text = |e: Result<(), ConfigError>| e.unwrap_err().to_string();
    assert_eq!(
        text(c.set("recovery", "magic")),
        "tcp option `recovery` = `magic` is not valid; allowed: reno, newreno, sack6675, rack, ns2-sack1"
    );
    assert!(text(c.set("rto_min", "200")).contains("200 ms"));
    assert!(text(c.set("rto_mim", "1 s")).contains("rto_min"));
    assert!(text(c.set("mss", "-3")).contains("1448 B"));
    assert!(text(c.set("rto_min", "1e30 s")).contains("a time such as"));
    assert_eq!(c, Config::default(), "a failed set changes nothing");
}
