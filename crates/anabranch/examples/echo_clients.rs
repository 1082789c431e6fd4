//! An echo server that serves many clients at once, and three clients.
//!
//! ```text
//! client 1 heard: hello from 1
//! client 2 heard: hello from 2
//! client 3 heard: hello from 3
//! ```
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::net::SocketAddr;

use anabranch::Message;
use anabranch::live::{Association, Closed, Endpoint, EndpointConfig};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let endpoint = Endpoint::bind(&["127.0.0.1:0".parse()?], EndpointConfig::on_port(7))?;
    endpoint.listen()?;
    let address = endpoint.local_addresses()[0];
    let server = tokio::spawn(async move {
        while let Some(incoming) = endpoint.accept().await {
            // A program that serves only some looks at `incoming.request()` first, and may refuse.
            let Ok(association) = incoming.accept() else { continue };
            tokio::spawn(async move { echo(&association).await });
        }
    });
    for number in 1..=3 {
        println!("client {number} heard: {}", ask(address, &format!("hello from {number}")).await?);
    }
    server.abort();
    Ok(())
}

/// Sends every received message back, on its own stream, until the peer shuts down.
async fn echo(association: &Association) -> Result<(), Closed> {
    while let Some(message) = association.recv().await? {
        let (stream, ppid) = (message.stream, message.ppid);
        let back = Message { ppid, ..Message::new(stream, message.into_bytes()) };
        if association.send(back).await.is_err() {
            break;
        }
    }
    Ok(())
}

async fn ask(server: SocketAddr, words: &str) -> Result<String, Box<dyn Error>> {
    let endpoint = Endpoint::bind(&["127.0.0.1:0".parse()?], EndpointConfig::default())?;
    let association = endpoint.connect(server, 7).await?;
    association.send(words.to_owned().into_bytes()).await?;
    let answer = association.recv().await?.ok_or("the server has ended it")?.into_bytes();
    association.shutdown().await?;
    Ok(String::from_utf8(answer.to_vec())?)
}
