//! The events of an association, and its counters.
//!
//! ```text
//! event: the peer wants to end
//! messages 10, payload 10000 bytes
//! messages_abandoned_unsent: 0
//! messages_abandoned_sent: 0
//! ```
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;

use anabranch::Event;
use anabranch::live::{Endpoint, EndpointConfig};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = Endpoint::bind(&["127.0.0.1:0".parse()?], EndpointConfig::on_port(5000))?;
    server.listen()?;
    let address = server.local_addresses()[0];
    let reader = tokio::spawn(async move {
        let association = server.accept().await.ok_or("no peer")?.accept().map_err(|_| "it has gone")?;
        for _ in 0..10 {
            association.recv().await.map_err(|_| "the peer has aborted")?;
        }
        association.shutdown().await.map_err(|_| "the peer has aborted")
    });

    let client = Endpoint::bind(&["127.0.0.1:0".parse()?], EndpointConfig::default())?;
    let association = client.connect(address, 5000).await?;
    for _ in 0..10 {
        association.send(vec![7; 1000]).await?;
    }
    while let Some(event) = association.next_event().await {
        // Every event has a sentence: `println!("{event}")`.
        match event {
            Event::PeerShutdown => println!("event: the peer wants to end"),
            Event::Closed(_) => break,
            _ => {}
        }
    }
    // A closed association keeps its counters as long as it has a handle.
    let snapshot = association.snapshot().ok_or("it is held")?;
    let stats = snapshot.stats;
    println!("messages {}, payload {} bytes", stats.messages_accepted, stats.payload_bytes_unique);
    // `named` has every counter with the name that files and figures give it.
    for (name, value) in stats.named().filter(|(name, _)| name.starts_with("messages_abandoned")) {
        println!("{name}: {}", value.unwrap_or_default());
    }
    reader.await??;
    Ok(())
}
