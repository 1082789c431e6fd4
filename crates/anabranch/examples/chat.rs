//! A chat in which each room is a stream: a slow reader of one room still hears the others.
//!
//! ```text
//! room 1: anybody here?
//! room 2: the build is green
//! room 1: yes
//! ```
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;

use anabranch::live::{Endpoint, EndpointConfig, Stream};

const RUST: u16 = 1;
const NEWS: u16 = 2;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let endpoint = Endpoint::bind(&["127.0.0.1:0".parse()?], EndpointConfig::on_port(6667))?;
    endpoint.listen()?;
    let address = endpoint.local_addresses()[0];
    let other = tokio::spawn(async move { bob(&endpoint).await.map_err(|error| error.to_string()) });

    let mine = Endpoint::bind(&["127.0.0.1:0".parse()?], EndpointConfig::default())?;
    let alice = mine.connect(address, 6667).await?;
    // The message in room 2 comes first, and is read second.
    alice.stream(NEWS).send("the build is green").await?;
    alice.stream(RUST).send("anybody here?").await?;
    println!("{}", hear(&alice.stream(RUST)).await?);
    alice.shutdown().await?;
    other.await??;
    Ok(())
}

async fn bob(endpoint: &Endpoint) -> Result<(), Box<dyn Error>> {
    let association = endpoint.accept().await.ok_or("the endpoint has ended")?.accept()?;
    let (rust, news) = (association.stream(RUST), association.stream(NEWS));
    println!("{}", hear(&rust).await?);
    println!("{}", hear(&news).await?);
    rust.send("yes").await?;
    association.closed().await;
    Ok(())
}

/// The next message in a room.
async fn hear(room: &Stream) -> Result<String, Box<dyn Error>> {
    let message = room.recv().await?.ok_or("the other one has left")?;
    let room = message.stream;
    Ok(format!("room {room}: {}", String::from_utf8_lossy(&message.into_bytes())))
}
