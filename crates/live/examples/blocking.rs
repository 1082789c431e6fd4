//! A question and its answer on a stream of their own, without tokio: `cargo run -p anabranch-live --example blocking`.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use anabranch_live::{EndpointConfig, blocking::Endpoint};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = Endpoint::bind(&["127.0.0.1:0".parse()?], EndpointConfig::on_port(5000))?;
    server.listen()?;
    let at = server.local_addresses()[0];
    let answering = std::thread::spawn(move || {
        let stream = server.accept()?.accept().ok()?.stream(3);
        let question = stream.recv().ok()??.into_bytes();
        stream.send(question.to_ascii_uppercase()).ok()?;
        // Until the client has shut it down.
        stream.recv().ok()?
    });
    let client = Endpoint::bind(&["127.0.0.1:0".parse()?], EndpointConfig::default())?;
    let association = client.connect(at, 5000)?;
    let stream = association.stream(3);
    stream.send("is anybody there?")?;
    let answer = stream.recv()?.ok_or("the server has gone")?;
    println!("{}", String::from_utf8_lossy(&answer.into_bytes()));
    association.shutdown()?;
    answering.join().map_err(|_| "the server's thread has panicked")?;
    Ok(())
}
