//! The profile `webrtc`: the needs of data channels, and the cost of 65,535 possible ones (RFC 8831).

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]
#![allow(dead_code, reason = "the harness has more than this file needs")]

use crate::common;

use std::sync::Arc;

use anabranch_base::{Duration, Instant, Rng};
use anabranch_sctp::{Config, ConfigError, ConnectError, Endpoint, EndpointConfig, Message, State};
use bytes::Bytes;
use common::{PORT, Pair, Side, address};

/// Two ends, all of them agreed on.
#[test]
fn two_ends_agree_on_all_that_data_channels_need() {
    let (mut pair, a, z) = Pair::between(1, &Config::webrtc(), &Config::webrtc());
    for (endpoint, id) in [(&pair.a, a), (&pair.z, z)] {
        let agreed = endpoint.view(id).unwrap().negotiated().unwrap();
        assert!(agreed.interleaving && agreed.reconfiguration && agreed.partial_reliability);
        assert!(agreed.sends_zero_checksum && agreed.takes_zero_checksum);
        assert_eq!((agreed.outbound_streams, agreed.inbound_streams), (65_535, 65_535));
        assert_eq!(endpoint.view(id).unwrap().subflows(), 1, "one subflow until asked");
    }
    // A path of DTLS begins with 1200 bytes of IP, 65 of which are headers in front of SCTP.
    assert!(pair.a.view(a).unwrap().status().paths[0].mtu <= 1500);
    let largest = pair.log.iter().map(|logged| logged.bytes.len()).max().unwrap();
    assert!(largest <= 1500 - 65, "{largest}");
    pair.send(Side::A, a, 65_534, b"the last channel");
    pair.run_for(Duration::from_secs(1));
    assert_eq!(pair.received[0].1.stream, 65_534);
    // Another subflow is there when it is asked for.
    let now = pair.now;
    let spec = anabranch_sctp::SubflowSpec::new(anabranch_sctp::Dscp::new(10).unwrap());
    pair.a.association(a).unwrap().add_subflow(now, &spec).unwrap();
    assert_eq!(pair.a.view(a).unwrap().subflows(), 2);
}

/// Against a peer that has none of it: plain SCTP, and no error.
#[test]
fn a_plain_peer_gets_plain_sctp() {
    for (ours, theirs) in [(Config::webrtc(), Config::rfc9260()), (Config::rfc9260(), Config::webrtc())] {
        let (mut pair, a, z) = Pair::between(2, &ours, &theirs);
        let agreed = pair.a.view(a).unwrap().negotiated().unwrap();
        assert!(!agreed.interleaving && !agreed.reconfiguration && !agreed.partial_reliability);
        assert!(!agreed.sends_zero_checksum);
        assert_eq!(agreed.outbound_streams.min(agreed.inbound_streams), 10);
        pair.send(Side::A, a, 9, b"x");
        pair.run_for(Duration::from_millis(500));
        assert_eq!(pair.received.len(), 1);
        assert_eq!(pair.z.view(z).unwrap().state(), State::Established);
        assert!(!pair.log.iter().any(|logged| logged.has("ERROR") || logged.has("ABORT")));
    }
}

/// Fields can be set to anything: `connect` and `listen` say which one is wrong, in a sentence.
#[test]
fn values_in_the_struct_are_checked() {
    let mut endpoint =
        Endpoint::new(EndpointConfig::new(address(Side::A), PORT), Rng::stream(1, "v", "v").secret());
    let mut error = |change: fn(&mut Config)| {
        let config = Arc::new(Config::rfc9260().with(change));
        let refused =
            endpoint.connect(Instant::ZERO, address(Side::Z), PORT, Arc::clone(&config)).unwrap_err();
        assert_eq!(endpoint.listen(config), Err(refused.clone()));
        assert!(matches!(refused, ConnectError::Config(_)));
        refused.to_string()
    };
    let said = error(|c| c.sack.delay = Duration::from_millis(501));
    assert!(said.contains("`sack_delay`") && said.contains("0 ms to 500 ms"), "{said}");
    assert_eq!(
        error(|c| c.timers.rto_min = Duration::from_secs(61)),
        "SCTP option `rto_min` is 61000 ms, longer than `rto_max`, 60000 ms"
    );
    assert_eq!(error(|c| c.streams.outbound = 0), "SCTP option `outbound_streams` is 0: 1 is the least");
    assert_eq!(
        error(|c| c.limits.receive_window = 0),
        "SCTP option `receive_window` is 0: 1500 is the least (RFC 9260, 3.3.3)"
    );
    assert_eq!(error(|c| c.mtu = 68), "SCTP option `mtu` is 68: 576 is the least");
    let said = error(|c| c.limits.partial_delivery_point = 0);
    assert!(said.contains("`partial_delivery_point`: `0` is not allowed"), "{said}");
    for name in Config::PROFILES {
        assert_eq!(Config::named(name).unwrap().validate(), Ok(()), "{name}");
    }
    let said = Config::rfc9260().set("receive_window", "64 kb").unwrap_err();
    assert!(matches!(said, ConfigError::BadValue { .. }));
    assert!(said.to_string().contains("a size in B, kB, MB, GB, KiB, MiB or GiB"), "{said}");
}

/// Packets one by one are those of the batch.
#[test]
fn packets_come_one_by_one() {
    let drive = |one_by_one: bool| {
        let (mut pair, a, _) = Pair::established(3, &Config::rfc9260());
        pair.drop_if(|_| true);
        for _ in 0..3 {
            let message = Message::new(0, Bytes::from(vec![1; 1400]));
            pair.a.association(a).unwrap().send(pair.now, message).unwrap();
        }
        let now = pair.now;
        if one_by_one {
            let first: Vec<_> = pair.a.packets(now).take(1).collect();
            let rest = pair.a.packets(now);
            return first.into_iter().chain(rest).map(|(_, packet)| packet.to_vec()).collect::<Vec<_>>();
        }
        let mut buffer = Vec::new();
        let transmit = pair.a.poll_transmit(now, 16, &mut buffer).unwrap();
        buffer.chunks(transmit.segment_size).map(<[u8]>::to_vec).collect()
    };
    assert_eq!(drive(true), drive(false));
    assert_eq!(drive(true).len(), 3);
}
