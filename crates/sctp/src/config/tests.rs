use super::*;

#[test]
fn every_key_takes_back_what_it_shows() {
    for profile in Config::PROFILES {
        let config = Config::named(profile).unwrap();
        assert_eq!(config.profile, profile);
        for key in Config::keys() {
            let text = config.get(key.name).unwrap();
            let mut copy = config.clone();
            copy.set(key.name, &text).unwrap_or_else(|e| panic!("{profile}: {e}"));
            assert_eq!(copy, config, "{}", key.name);
        }
    }
    assert!(Config::named("rfc1").is_none());
}

#[test]
fn keys_are_sorted_and_errors_say_what_is_allowed() {
    assert!(Config::keys().windows(2).all(|w| w[0].name < w[1].name));
    let mut config = Config::default();
    let error = config.set("sack_delay", "501 ms").unwrap_err().to_string();
    assert!(error.contains("sack_delay") && error.contains("0 ms to 500 ms"), "{error}");
    let error = config.set("cwnd", "1").unwrap_err().to_string();
    assert!(error.contains("unknown SCTP option `cwnd`") && error.contains("initial_window"), "{error}");
    for (key, value) in [
        ("rto_min", "61 s"),
        ("mtu", "100"),
        ("fast_retransmit_threshold", "0"),
        ("receive_window", "12.5 B"),
        ("max_burst", "clamp"),
        ("rto_initial", "3"),
        ("dscp", "64"),
        ("pacing", "on"),
        ("pacing_burst", "0"),
        ("pacing_gain", "99"),
        ("pacing_gain_slow_start", "1001"),
    ] {
        assert!(config.set(key, value).is_err(), "{key} = {value}");
    }
    assert_eq!(config, Config::default(), "a refused value changes nothing");
}

#[test]
fn an_ethernet_packet_carries_1468_bytes_of_chunk() {
    let config = Config::default();
    assert_eq!((config.max_packet(), config.pmdcs()), (1480, 1468));
}

#[test]
fn controllers_in_the_words_of_tcp() {
    for text in ["reno", "reno+hystart", "bic", "bic+hystart", "cubic", "cubic+hystart", "vegas", "bbr"] {
        let mut config = Config::default();
        config.set("congestion_control", text).unwrap();
        assert_eq!(config.get("congestion_control").as_deref(), Some(text));
        assert_eq!(config.set("coupling", "shared"), Ok(()), "{text}");
        let has_phi = !text.starts_with("bic") && text != "vegas";
        assert_eq!(config.set("coupling", "fcc(n)").is_ok(), has_phi, "{text}");
        let mut coupled = Config::default().with(|c| c.subflows.coupling = Coupling::Lia);
        assert_eq!(coupled.set("congestion_control", text).is_ok(), has_phi, "{text}");
    }
    for text in ["vegas+hystart", "bbr+hystart", "hystart", "cubic+", "Reno", ""] {
        let error = Config::default().set("congestion_control", text).unwrap_err().to_string();
        assert!(error.contains("\"cubic\"") && error.contains("+hystart"), "{error}");
    }
}

#[test]
fn the_table_says_all_there_is_to_say_of_a_value() {
    let kinds = ["switch", "number", "size", "time", "choice", "list"];
    let config = Config::rfc9260();
    for key in Config::keys() {
        let name = key.name;
        assert!(kinds.contains(&key.kind), "{name}: {}", key.kind);
        assert!(!key.doc.is_empty() && !key.expected.is_empty() && !key.source.is_empty(), "{name}");
        assert!(!key.doc.ends_with('.'), "{name}: a sentence in a list has no full stop");
        assert_eq!(Some(key.default()), config.get(name), "{name}");
        assert_eq!(key.changeable, Config::changeable().contains(&name), "{name}");
    }
    let told = |name: &str| Config::keys().iter().find(|key| key.name == name).map(|key| key.promised);
    assert_eq!((told("interleaving"), told("rto_min")), (Some(true), Some(false)));
}
