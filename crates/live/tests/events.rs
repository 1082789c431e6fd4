//! What `tracing` hears. It is the only test of its process: `tracing` keeps for all threads who listens to an event, and asks the thread that
//! comes first.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use std::io::Write;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use anabranch_live::{Endpoint, EndpointConfig};
use common::{PORT, Relay, impatient, in_time, local, pair, server_with};

/// A file that can be looked at.
#[derive(Clone, Default)]
struct Shown(Arc<Mutex<Vec<u8>>>);

impl Write for Shown {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Moves 300,000 bytes there and 30,000 back through a relay that loses packets, between a client with this configuration and a plain
/// server; answers what the client has counted.
async fn talk(config: EndpointConfig) -> anabranch_live::Snapshot {
    let (server, at) = server_with(impatient());
    let relay = Relay::to(at);
    relay.lost_percent.store(3, Ordering::Relaxed);
    let client = Endpoint::bind(&[local()], config.with_association(impatient())).unwrap();
    let (ours, theirs) = pair(&client, &server, relay.at).await;
    for number in 0..300 {
        ours.send(vec![number as u8; 1000]).await.unwrap();
        assert_eq!(theirs.recv().await.unwrap().unwrap().into_bytes()[..], vec![number as u8; 1000][..]);
    }
    theirs.send(vec![7; 30_000]).await.unwrap();
    assert_eq!(ours.recv().await.unwrap().unwrap().len(), 30_000);
    relay.lost_percent.store(0, Ordering::Relaxed);
    ours.shutdown().await.unwrap();
    ours.snapshot().unwrap()
}

#[tokio::test]
async fn tracing_hears_of_beginnings_ends_and_losses() {
    in_time(async {
        let said = Shown::default();
        let writer = said.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing_subscriber::filter::LevelFilter::DEBUG)
            .with_writer(move || writer.clone())
            .finish();
        let heard = tracing::subscriber::set_default(subscriber);
        let counted = talk(EndpointConfig::on_port(4322)).await;
        // One that nobody answers.
        let silent = std::net::UdpSocket::bind(local()).unwrap();
        let client =
            Endpoint::bind(&[local()], EndpointConfig::default().with_association(impatient())).unwrap();
        let _refused = client.connect(silent.local_addr().unwrap(), PORT).await.unwrap_err();
        drop(heard);
        let text = String::from_utf8(said.0.lock().unwrap().clone()).unwrap();
        let lines =
            |has: &[&str]| text.lines().filter(|line| has.iter().all(|part| line.contains(part))).count();
        assert_eq!(lines(&["INFO", "port=4322", "association{peer=127.0.0.1:", "established"]), 1, "{text}");
        assert_eq!(lines(&["INFO", "port=4322", "closed", "both sides have shut it down"]), 1, "{text}");
        assert_eq!(lines(&["WARN", "closed", "the peer did not answer"]), 1, "{text}");
        assert_eq!(
            lines(&["DEBUG", "port=4322", "sent again"]) as u64,
            counted.stats.retransmissions,
            "{text}"
        );
        assert_eq!(lines(&["DEBUG", "port=4322", "T3-rtx expired"]) as u64, counted.stats.timeouts, "{text}");
        // Not one line for each packet.
        assert_eq!(lines(&["TRACE"]), 0);
    })
    .await;
}
