//! An echo server and a client of it, over SCTP in UDP:
//!
//! ```text
//! cargo run -p anabranch-live --example echo -- serve 127.0.0.1:9899
//! cargo run -p anabranch-live --example echo -- ask 127.0.0.1:9899 hello
//! ```
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::net::SocketAddr;

use anabranch_live::{Association, Closed, Endpoint, EndpointConfig, Message};

/// SCTP port of echo (RFC 862).
const PORT: u16 = 7;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", address] => serve(address.parse()?).await,
        ["ask", address, ref words @ ..] => ask(address.parse()?, words).await,
        _ => Err("serve ADDRESS, or ask ADDRESS WORD...".into()),
    }
}

async fn serve(address: SocketAddr) -> Result<(), Box<dyn Error>> {
    let endpoint = Endpoint::bind(&[address], EndpointConfig::on_port(PORT))?;
    endpoint.listen()?;
    while let Some(incoming) = endpoint.accept().await {
        println!("{} asks", incoming.request().source);
        let association = incoming.accept()?;
        tokio::spawn(async move {
            match echo(&association).await {
                Ok(()) => println!("{:?} has ended", association.remote()),
                Err(closed) => println!("{closed}"),
            }
        });
    }
    Ok(())
}

async fn echo(association: &Association) -> Result<(), Closed> {
    while let Some(message) = association.recv().await? {
        let (stream, ppid) = (message.stream, message.ppid);
        let echo = Message { ppid, ..Message::new(stream, message.into_bytes()) };
        // A side that has shut down takes no more messages: the first refusal is reported, and the rest would be
        // refused as well.
        if let Err(error) = association.send(echo).await {
            println!("{:?}: not all was sent back: {error}", association.remote());
            association.closed().await;
            return Ok(());
        }
    }
    Ok(())
}

async fn ask(server: SocketAddr, words: &[&str]) -> Result<(), Box<dyn Error>> {
    let local: SocketAddr = if server.is_ipv4() { "0.0.0.0:0".parse()? } else { "[::]:0".parse()? };
    let endpoint = Endpoint::bind(&[local], EndpointConfig::default())?;
    let association = endpoint.connect(server, PORT).await?;
    for word in words {
        association.send(word.as_bytes().to_vec()).await?;
        if let Some(answer) = association.recv().await? {
            println!("{}", String::from_utf8_lossy(&answer.into_bytes()));
        }
    }
    association.shutdown().await?;
    Ok(())
}
