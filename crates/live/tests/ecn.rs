//! Explicit congestion notification in UDP: the IP header has the ECN field that the core asks for, and the other end is told of it.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use crate::common::talk::Shown;
use crate::common::{PORT, in_time, local, pair};
use anabranch_live::{Capture, CaptureOptions, Endpoint, EndpointConfig, default_association};
use anabranch_sctp::config::EcnMode;

/// The ECN fields of the packets with more than 1,000 bytes: frames of a capture have the header of an Ethernet.
fn fields(file: &Shown) -> Vec<u8> {
    let bytes = file.0.lock().unwrap().clone();
    let read = anabranch_trace::Capture::read(&bytes).unwrap();
    read.frames.iter().filter(|frame| frame.bytes.len() > 1000).map(|frame| frame.bytes[14 + 1] & 3).collect()
}

/// RFC 6951, 5.8: "the ECN bits MUST NOT be changed during sending and receiving."
// rfc6951:5.8-1
#[tokio::test]
async fn the_field_is_the_same_at_both_ends() {
    in_time(async {
        for (mode, field) in [(EcnMode::Off, 0b00), (EcnMode::Classic, 0b10), (EcnMode::L4s, 0b01)] {
            let (left, came) = (Shown::default(), Shown::default());
            let endpoint = |port: u16, file: &Shown| {
                let capture = Capture::to(file.clone(), CaptureOptions::default()).unwrap();
                let association = default_association().with(|c| c.extensions.ecn = mode);
                let config =
                    EndpointConfig { port, capture: Some(capture.clone()), ..EndpointConfig::default() };
                (Endpoint::bind(&[local()], config.with_association(association)).unwrap(), capture)
            };
            let ((server, at_server), (client, at_client)) = (endpoint(PORT, &came), endpoint(0, &left));
            server.listen().unwrap();
            let (ours, theirs) = pair(&client, &server, server.local_addresses()[0]).await;
            ours.send(vec![5; 200_000]).await.unwrap();
            assert_eq!(theirs.recv().await.unwrap().unwrap().len(), 200_000);
            ours.shutdown().await.unwrap();
            let _ = (at_client.close().unwrap(), at_server.close().unwrap());
            let (left, came) = (fields(&left), fields(&came));
            assert!(left.len() > 100 && came.len() > 100, "{} {}", left.len(), came.len());
            // Retransmissions and packets with COOKIE ECHO are Not-ECT.
            for fields in [&left, &came] {
                let asked = fields.iter().filter(|bits| **bits == field).count();
                assert!(asked * 10 >= fields.len() * 9, "{mode:?}: {fields:?}");
                assert!(fields.iter().all(|bits| [0, field].contains(bits)), "{mode:?}: {fields:?}");
            }
        }
    })
    .await;
}
