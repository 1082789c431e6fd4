//! Observers of an endpoint: captures, qlog, metrics, events; and that none of it stops an association.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fs::File;
use std::io::Write;
use std::time::Duration;

use crate::common::talk::{Shown, talk};
use crate::common::{in_time, local, pair, server};
use anabranch_live::{Capture, CaptureFormat, CaptureOptions, Endpoint, EndpointConfig, Qlog, Vantage};
use anabranch_trace::packet::Reading;
use anabranch_trace::{Assumptions, Filter, Trace};
use serde_json::Value;

#[tokio::test]
async fn a_capture_has_every_packet_and_our_decoder_reads_it() {
    in_time(async {
        for (format, snaplen) in [(CaptureFormat::Pcapng, None), (CaptureFormat::Pcap, Some(100))] {
            let file = Shown::default();
            let capture = Capture::to(file.clone(), CaptureOptions { format, snaplen }).unwrap();
            // A wildcard: the capture has the addresses all the same.
            let (server, at) = server();
            let any = "0.0.0.0:0".parse().unwrap();
            let config = EndpointConfig { capture: Some(capture.clone()), ..EndpointConfig::default() };
            let client = Endpoint::bind(&[any], config).unwrap();
            let (ours, theirs) = pair(&client, &server, at).await;
            let sent = vec![5; 200_000];
            ours.send(sent.clone()).await.unwrap();
            assert_eq!(theirs.recv().await.unwrap().unwrap().into_bytes(), sent);
            ours.shutdown().await.unwrap();
            let recorded = capture.close().unwrap();
            assert_eq!(recorded.dropped, 0);
            let bytes = file.0.lock().unwrap().clone();
            let read = anabranch_trace::Capture::read(&bytes).unwrap();
            assert_eq!((read.notes.len(), read.frames.len() as u64), (0, recorded.seen), "{:?}", read.notes);
            if snaplen.is_some() {
                assert!(read.frames.iter().all(|frame| frame.bytes.len() <= 114));
                assert!(read.frames.iter().any(|frame| frame.original > 1000));
                continue;
            }
            let reading = Reading { udp_ports: vec![at.port()], link_bytes: 0 };
            let trace = Trace::new(read, &reading, &Filter::default(), &Assumptions::default());
            let flows = trace.flows();
            let [flow] = &flows[..] else { panic!("{flows:?}") };
            assert!(flow.client.starts_with("127.0.0.1"), "{}", flow.client);
            assert!(flow.handshake_s.is_some(), "{flow:?}");
            assert_eq!(format!("{:?}", flow.ending), "Closed");
            assert_eq!(flow.forward.purposes.payload, 200_000, "{:?}", flow.forward);
            assert_eq!(flow.forward.wrong_checksums + flow.back.wrong_checksums, 0);
        }
    })
    .await;
}

#[tokio::test]
async fn a_full_disk_ends_the_capture_once_and_nothing_else() {
    in_time(async {
        let full = || File::options().write(true).open("/dev/full").unwrap();
        let capture = Capture::to(full(), CaptureOptions::default()).unwrap();
        let qlog = Qlog::to(full(), "full", Vantage::Client).unwrap();
        let told = tokio::spawn({
            let (capture, qlog) = (capture.clone(), qlog.clone());
            async move { (capture.failed().await, qlog.failed().await) }
        });
        let config = EndpointConfig {
            capture: Some(capture.clone()),
            qlog: Some(qlog.clone()),
            ..EndpointConfig::default()
        };
        let counted = talk(config).await;
        assert_eq!(counted.stats.payload_bytes_unique, 300_000);
        let (capture_says, qlog_says) = told.await.unwrap();
        for why in [&capture_says, &qlog_says, &capture.close().unwrap_err(), &qlog.close().unwrap_err()] {
            assert!(why.contains("No space left on device"), "{why}");
        }
    })
    .await;
}

/// A disk that takes nothing until it is told to.
struct Slow(std::sync::mpsc::Receiver<()>);

impl Write for Slow {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let _ = self.0.recv();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_disk_that_hangs_holds_up_nobody_and_takes_no_more_than_its_share_of_memory() {
    in_time(async {
        let (lets, waits) = std::sync::mpsc::channel();
        let capture = Capture::to(Slow(waits), CaptureOptions::default()).unwrap();
        let (server, at) = server();
        let config = EndpointConfig { capture: Some(capture.clone()), ..EndpointConfig::default() };
        let client = Endpoint::bind(&[local()], config).unwrap();
        let (ours, theirs) = pair(&client, &server, at).await;
        // More than may wait for the disk.
        let reading = tokio::spawn(async move {
            let mut sum = 0;
            while let Some(message) = theirs.recv().await.unwrap() {
                sum += message.len();
            }
            sum
        });
        for _ in 0..400 {
            ours.send(vec![1; 100_000]).await.unwrap();
        }
        ours.shutdown().await.unwrap();
        assert_eq!(reading.await.unwrap(), 40_000_000);
        drop(lets);
        let recorded = capture.close().unwrap();
        assert!(recorded.dropped > 1000 && recorded.dropped < recorded.seen, "{recorded:?}");
    })
    .await;
}

fn texts(file: &Shown) -> Vec<Value> {
    let text = String::from_utf8(file.0.lock().unwrap().clone()).unwrap();
    assert!(text.starts_with('\u{1e}') && text.ends_with('\n'));
    text.split('\u{1e}').skip(1).map(|text| serde_json::from_str(text).unwrap()).collect()
}

#[tokio::test]
async fn a_qlog_is_a_text_sequence_with_what_the_association_did() {
    in_time(async {
        let file = Shown::default();
        let qlog = Qlog::to(file.clone(), "test", Vantage::Client).unwrap();
        let counted = talk(EndpointConfig { qlog: Some(qlog.clone()), ..EndpointConfig::default() }).await;
        assert_eq!(qlog.close().unwrap().dropped, 0);
        let texts = texts(&file);
        let (head, events) = texts.split_first().unwrap();
        // The head of the file has both forms: that of the drafts, and that of qvis.
        assert_eq!(head["file_schema"], "urn:ietf:params:qlog:file:sequential");
        assert_eq!((&head["qlog_version"], &head["qlog_format"]), (&"0.3".into(), &"JSON-SEQ".into()));
        assert!(head["trace"]["common_fields"]["reference_time"]["wall_clock_time"].is_string(), "{head}");
        let times: Vec<f64> = events.iter().map(|event| event["time"].as_f64().unwrap()).collect();
        assert!(times.is_sorted());
        assert!(events.iter().all(|event| event["group_id"].as_str().unwrap().starts_with("127.0.0.1:")));
        let named = |name: &'static str| events.iter().filter(move |event| event["name"] == name);
        // The core's counters equal its events.
        let sent = named("anabranch:data_sent").filter(|event| event["data"]["retransmission"].is_null());
        let bytes: u64 = sent.map(|event| event["data"]["length"].as_u64().unwrap()).sum();
        assert_eq!(bytes, counted.stats.payload_bytes_unique);
        let again = named("anabranch:data_sent").filter(|event| event["data"]["retransmission"].is_string());
        assert_eq!(again.count() as u64, counted.stats.retransmissions);
        assert_eq!(named("anabranch:timeout").count() as u64, counted.stats.timeouts);
        assert!(named("recovery:metrics_updated").any(|event| event["data"]["smoothed_rtt"].is_number()));
        // The packets, with their chunks.
        let frames = |name: &'static str, kind: &'static str| {
            named(name)
                .flat_map(|event| event["data"]["frames"].as_array().unwrap())
                .filter(move |frame| frame["frame_type"] == kind)
                .count() as u64
        };
        assert_eq!(frames("transport:packet_sent", "data"), counted.stats.chunks_sent);
        assert_eq!(frames("transport:packet_received", "sack"), counted.stats.sacks_received);
        assert!(frames("transport:packet_sent", "init") >= 1);
        let numbers: Vec<u64> = named("transport:packet_sent")
            .map(|event| event["data"]["header"]["packet_number"].as_u64().unwrap())
            .collect();
        assert!(numbers.iter().copied().eq(0..numbers.len() as u64));
        // The states of the association.
        let states: Vec<_> =
            named("connectivity:connection_state_updated").map(|event| &event["data"]["new"]).collect();
        assert_eq!(states, ["active"]);
        assert_eq!(named("connectivity:connection_closed").count(), 1);
    })
    .await;
}

#[tokio::test]
async fn metrics_are_what_snapshots_say() {
    in_time(async {
        let recorder = metrics_exporter_prometheus::PrometheusBuilder::new().build_recorder();
        let page = recorder.handle();
        let (server, at) = server();
        let config = EndpointConfig { metrics: true, ..EndpointConfig::on_port(4321) };
        let client = Endpoint::bind(&[local()], config).unwrap();
        let value = |name: &str| {
            metrics::with_local_recorder(&recorder, || client.publish_metrics());
            let page = page.render();
            let line = page.lines().find(|line| line.starts_with(&format!("{name}{{")));
            let line = line.unwrap_or_else(|| panic!("no {name} in {page}"));
            assert!(line.contains("port=\"4321\""), "{line}");
            line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()
        };
        let mut sum = 0;
        for round in 1..=3u64 {
            let (ours, theirs) = pair(&client, &server, at).await;
            ours.send(vec![1; 50_000]).await.unwrap();
            assert_eq!(theirs.recv().await.unwrap().unwrap().len(), 50_000);
            assert_eq!(value("sctp_associations"), 1.0);
            assert_eq!(value("sctp_payload_bytes_unique_total"), (50_000 * round) as f64);
            assert!(value("sctp_srtt_seconds") > 0.0 && value("sctp_cwnd") > 0.0);
            ours.shutdown().await.unwrap();
            sum += ours.snapshot().unwrap().stats.packets_sent;
            drop((ours, theirs));
            while client.associations() > 0 {
                tokio::task::yield_now().await;
            }
            // Associations that have ended still count.
            assert_eq!(value("sctp_packets_sent_total"), sum as f64);
        }
        assert_eq!(value("sctp_associations"), 0.0);
        assert_eq!(value("sctp_endpoint_datagrams_received_total"), client.stats().datagrams_received as f64);
        assert!(value("sctp_control_chunks_sent_total") >= 0.0);
        // Published twice is not counted twice, and every counter of a snapshot is there.
        assert_eq!(value("sctp_payload_bytes_unique_total"), 150_000.0);
        for (name, _) in anabranch_sctp::Stats::default().named() {
            let known =
                [format!("sctp_{name}_total"), format!("sctp_{name}"), name.replace("_ns", "_seconds")];
            let left_out = ["cwnd_peak", "ssthresh"].contains(&name);
            assert_eq!(
                known.iter().any(|name| page.render().contains(&format!("{name}{{"))),
                !left_out,
                "{name}"
            );
        }
    })
    .await;
}

#[tokio::test]
async fn what_is_no_event_can_be_waited_for() {
    in_time(async {
        let (server, at) = server();
        // Probes of the path MTU are heartbeats, too.
        let mut config = anabranch_live::default_association();
        config.set("mtu_discovery", "icmp").unwrap();
        let client = Endpoint::bind(&[local()], EndpointConfig::default().with_association(config)).unwrap();
        let (ours, theirs) = pair(&client, &server, at).await;
        let address = ours.remote().unwrap().ip();
        let answers = |core: &anabranch_sctp::Association| core.snapshot().control.received.heartbeat_ack;
        let before = ours.until(|core| Some(answers(core))).await.unwrap();
        let waiting = ours.until(|core| (answers(core) > before).then_some(()));
        // The future waits, and does not poll.
        assert!(tokio::time::timeout(Duration::from_millis(30), waiting).await.is_err());
        ours.command(|association, now| association.request_heartbeat(now, address)).unwrap().unwrap();
        let looked = std::cell::Cell::new(0);
        let found = ours
            .until(|core| {
                looked.set(looked.get() + 1);
                (answers(core) > before).then_some(())
            })
            .await;
        assert!(found.is_some() && looked.get() < 100, "{}", looked.get());
        drop(theirs);
        ours.shutdown().await.unwrap();
    })
    .await;
}
