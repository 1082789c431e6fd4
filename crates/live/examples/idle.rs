//! Many idle associations between two processes, over UDP on the loopback: the memory that they take.
//!
//! ```text
//! cargo run --release -p anabranch-live --example idle -- 100000
//! ```
//!
//! It prints the resident set of both processes before and after, once each association has carried a message.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::sync::Arc;

use anabranch_live::{Association, Endpoint, EndpointConfig, default_association};

/// SCTP ports of the server begin here. From each of our 16,384 we may have one association with each of them.
const FIRST_PORT: u16 = 5000;
/// So many associations for each port of the server.
const PER_PORT: usize = 12_500;
/// How many handshakes run at a time.
const AT_ONCE: usize = 64;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", ports] => serve(ports.parse()?).await,
        [count] => ask(count.parse()?).await,
        _ => Err("how many associations?".into()),
    }
}

/// Bytes of memory that this process has.
fn resident() -> Result<usize, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<usize>()? * 1024)
}

fn config() -> EndpointConfig {
    // A heartbeat every 30 seconds, the default, is too often for so many associations.
    let association = default_association().with(|c| {
        c.timers.heartbeat_interval = anabranch_sctp::Duration::from_secs(600);
    });
    EndpointConfig::on_port(FIRST_PORT).with_association(association)
}

/// Accepts every association; on each line of standard input it prints their number, and the memory of the process.
async fn serve(ports: u16) -> Result<(), Box<dyn Error>> {
    let endpoint = Endpoint::bind(&["127.0.0.1:0".parse()?], config())?;
    endpoint.listen()?;
    (1..ports).try_for_each(|port| endpoint.open_port(FIRST_PORT + port))?;
    println!("{}", endpoint.local_addresses()[0]);
    let asking = endpoint.clone();
    tokio::spawn(async move {
        let mut held: Vec<Association> = Vec::new();
        while let Some(incoming) = asking.accept().await {
            let Ok(association) = incoming.accept() else { continue };
            if let Ok(Some(message)) = association.recv().await {
                if let Err(error) = association.try_send(message.into_bytes()) {
                    println!("not sent back: {error}");
                }
            }
            held.push(association);
        }
    });
    let (line, mut lines) = tokio::sync::mpsc::channel(1);
    std::thread::spawn(move || {
        for _ in std::io::stdin().lock().lines() {
            let _ = line.blocking_send(());
        }
    });
    while lines.recv().await.is_some() {
        println!("{} {}", endpoint.associations(), resident()?);
    }
    Ok(())
}

async fn ask(count: usize) -> Result<(), Box<dyn Error>> {
    let ports = u16::try_from(count.div_ceil(PER_PORT))?;
    let mut server = Command::new(std::env::current_exe()?)
        .args(["serve", &ports.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut orders = server.stdin.take().ok_or("no pipe")?;
    let mut answers = BufReader::new(server.stdout.take().ok_or("no pipe")?).lines();
    let at: SocketAddr = answers.next().ok_or("the server does not start")??.parse()?;
    let mut look = move || -> Result<(usize, usize), Box<dyn Error>> {
        orders.write_all(b"\n")?;
        let line = answers.next().ok_or("the server is gone")??;
        let (associations, resident) = line.split_once(' ').ok_or("what?")?;
        Ok((associations.parse()?, resident.parse()?))
    };
    let client = Endpoint::bind(&["127.0.0.1:0".parse()?], EndpointConfig { port: 0, ..config() })?;
    let association = Arc::clone(&config().association);
    let mut held: Vec<Association> = Vec::with_capacity(count);
    let (_, server_before) = look()?;
    let client_before = resident()?;
    while held.len() < count {
        let many = AT_ONCE.min(count - held.len());
        let begun: Result<Vec<Association>, _> = (0..many)
            .map(|n| {
                let port = FIRST_PORT + ((held.len() + n) % usize::from(ports)) as u16;
                client.begin_from(0, at, port, Arc::clone(&association))
            })
            .collect();
        let begun = begun?;
        for one in &begun {
            one.send("hello").await?;
        }
        for one in &begun {
            one.recv().await?.ok_or("no answer")?;
        }
        held.extend(begun);
    }
    let (associations, server_after) = look()?;
    let client_after = resident()?;
    let (server_grown, client_grown) = (server_after - server_before, client_after - client_before);
    println!("associations: {count} here, {associations} there, {ports} SCTP ports there");
    for (name, before, after, grown) in [
        ("client", client_before, client_after, client_grown),
        ("server", server_before, server_after, server_grown),
    ] {
        println!(
            "{name}: {:.1} MB resident, {:.1} MB at first: {} bytes an association",
            after as f64 / 1e6,
            before as f64 / 1e6,
            grown / count
        );
    }
    println!("both: {:.1} MB resident", (server_after + client_after) as f64 / 1e6);
    drop(look);
    server.kill()?;
    server.wait()?;
    Ok(())
}
