//! Sends a file over SCTP in UDP, with calls that block and without tokio.
//!
//! ```text
//! 300000 bytes in 19 messages
//! the copy is the file
//! ```
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::io::{Read, Write};
use std::net::SocketAddr;

use anabranch::live::EndpointConfig;
use anabranch::live::blocking::Endpoint;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("anabranch-send-file-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let (original, copy) = (folder.join("original"), folder.join("copy"));
    std::fs::write(&original, (0..300_000_u32).map(|i| (i % 251) as u8).collect::<Vec<u8>>())?;

    // The receiver: SCTP port 9000, in a UDP port that the system chooses.
    let receiver = Endpoint::bind(&["127.0.0.1:0".parse()?], EndpointConfig::on_port(9000))?;
    receiver.listen()?;
    let address = receiver.local_addresses()[0];
    let to = copy.clone();
    let writer = std::thread::spawn(move || receive(&receiver, &to).map_err(|error| error.to_string()));

    let messages = send(&original, address)?;
    println!("{} bytes in {messages} messages", writer.join().map_err(|_| "the receiver panicked")??);
    assert_eq!(std::fs::read(&original)?, std::fs::read(&copy)?);
    println!("the copy is the file");
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

fn send(file: &std::path::Path, to: SocketAddr) -> Result<usize, Box<dyn Error>> {
    let endpoint = Endpoint::bind(&["127.0.0.1:0".parse()?], EndpointConfig::default())?;
    let association = endpoint.connect(to, 9000)?;
    let (mut file, mut messages) = (std::fs::File::open(file)?, 0);
    loop {
        let mut block = vec![0; 16 << 10];
        let len = file.read(&mut block)?;
        if len == 0 {
            // It returns when the peer has acknowledged every byte.
            association.shutdown()?;
            return Ok(messages);
        }
        block.truncate(len);
        association.send(block)?; // waits while the send buffer is full
        messages += 1;
    }
}

fn receive(endpoint: &Endpoint, to: &std::path::Path) -> Result<u64, Box<dyn Error>> {
    let association = endpoint.accept().ok_or("the endpoint has ended")?.accept()?;
    let (mut file, mut bytes) = (std::fs::File::create(to)?, 0);
    while let Some(message) = association.recv()? {
        for piece in message.pieces() {
            file.write_all(piece)?;
            bytes += piece.len() as u64;
        }
    }
    Ok(bytes)
}
