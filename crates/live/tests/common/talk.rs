//! Helpers of the tests of observers: a file that can be read, and an association to be observed.

use std::io::Write;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use anabranch_live::{Endpoint, EndpointConfig};

use super::{Relay, impatient, local, pair, server_with};

/// A file that can be looked at.
#[derive(Clone, Default)]
pub struct Shown(pub Arc<Mutex<Vec<u8>>>);

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
/// server; returns the counts of the client.
pub async fn talk(config: EndpointConfig) -> anabranch_live::Snapshot {
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
