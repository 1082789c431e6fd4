//! The CPU cost of a byte for a server with one shard and with two: CPU time of its process and of each thread, while
//! clients in processes of their own send as fast as they can.
//!
//! ```text
//! cargo run --release -p anabranch-live --example shards -- 4
//! ```
//!
//! Clients need processors as well, so throughput on a machine with few says nothing of the server. CPU time does: if a byte costs the
//! server c1 with one shard and c2 with n, n processors that do nothing else carry n * c1 / c2 times the bytes of one.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anabranch_live::{EndpointConfig, blocking, default_association};

const PORT: u16 = 5000;
const MESSAGE: usize = 16 << 10;
/// Client processes, and associations of each.
const CLIENTS: usize = 2;
const EACH: usize = 8;
const ROUNDS: usize = 3;

type Failure = Box<dyn Error>;
/// Asks a process that was started, and gives the line that it answers.
type Ask = Box<dyn FnMut() -> Result<String, Failure>>;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", shards] => serve(shards.parse()?),
        ["send", at] => send(at.parse()?),
        [seconds] => compare(Duration::from_secs(seconds.parse()?)),
        _ => Err("how many seconds for each run?".into()),
    }
}

/// CPU time of each thread of this process so far, by name, nanoseconds.
fn threads() -> Result<Vec<(String, u64)>, Failure> {
    let mut all = Vec::new();
    for task in std::fs::read_dir("/proc/self/task")? {
        let path = task?.path();
        let Ok(name) = std::fs::read_to_string(path.join("comm")) else { continue };
        let Ok(schedule) = std::fs::read_to_string(path.join("schedstat")) else { continue };
        let spent = schedule.split(' ').next().ok_or("no time")?.parse()?;
        all.push((name.trim().to_owned(), spent));
    }
    Ok(all)
}

fn reads(association: &blocking::Association, bytes: &AtomicU64) {
    while let Ok(Some(message)) = association.recv() {
        bytes.fetch_add(message.len() as u64, Ordering::Relaxed);
    }
}

/// Discards received messages. On each line of standard input it prints their bytes, and the CPU time of the threads.
fn serve(shards: u16) -> Result<(), Failure> {
    let config = EndpointConfig { shards, ..EndpointConfig::on_port(PORT) };
    let endpoint = blocking::Endpoint::bind(&["127.0.0.1:0".parse()?], config)?;
    endpoint.listen()?;
    println!("{}", endpoint.local_addresses()[0]);
    let bytes = Arc::new(AtomicU64::new(0));
    let (counted, accepting) = (Arc::clone(&bytes), endpoint.clone());
    std::thread::spawn(move || {
        while let Some(incoming) = accepting.accept() {
            let Ok(association) = incoming.accept() else { continue };
            let bytes = Arc::clone(&counted);
            let reader = std::thread::Builder::new().name("reader".to_owned());
            let _ = reader.spawn(move || reads(&association, &bytes));
        }
    });
    for _ in std::io::stdin().lock().lines() {
        let spent: Vec<String> =
            threads()?.into_iter().map(|(name, spent)| format!("{name}={spent}")).collect();
        println!("{} {}", bytes.load(Ordering::Relaxed), spent.join(" "));
    }
    Ok(())
}

/// Sends on several associations until it is killed.
fn send(at: SocketAddr) -> Result<(), Failure> {
    let endpoint = blocking::Endpoint::bind(&["127.0.0.1:0".parse()?], EndpointConfig::default())?;
    let config = Arc::new(default_association());
    let message = bytes::Bytes::from(vec![7; MESSAGE]);
    let mut senders = Vec::new();
    for _ in 0..EACH {
        let association: blocking::Association = endpoint.begin_from(0, at, PORT, Arc::clone(&config))?;
        let message = message.clone();
        senders.push(std::thread::spawn(move || while association.send(message.clone()).is_ok() {}));
    }
    println!("up");
    senders.into_iter().try_for_each(std::thread::JoinHandle::join).map_err(|_| "a sender panicked".into())
}

fn start(arguments: &[&str]) -> Result<(Child, String, Ask), Failure> {
    let mut child = Command::new(std::env::current_exe()?)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut orders = child.stdin.take().ok_or("no pipe")?;
    let mut lines = BufReader::new(child.stdout.take().ok_or("no pipe")?).lines();
    let first = lines.next().ok_or("it does not start")??;
    let ask = move || -> Result<String, Failure> {
        orders.write_all(b"\n")?;
        Ok(lines.next().ok_or("it is gone")??)
    };
    Ok((child, first, Box::new(ask)))
}

/// Bytes received, and CPU time by threads of one name together.
fn read_line(line: &str) -> Result<(u64, std::collections::BTreeMap<String, u64>), Failure> {
    let mut words = line.split(' ');
    let bytes = words.next().ok_or("no bytes")?.parse()?;
    let mut spent = std::collections::BTreeMap::new();
    for word in words {
        let (name, time) = word.split_once('=').ok_or("no time")?;
        *spent.entry(name.to_owned()).or_default() += time.parse::<u64>()?;
    }
    Ok((bytes, spent))
}

/// Nanoseconds of CPU that the server spends for a byte.
fn run(shards: u16, time: Duration) -> Result<f64, Failure> {
    let (mut server, at, mut ask) = start(&["serve", &shards.to_string()])?;
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        clients.push(start(&["send", &at])?.0);
    }
    // Windows have grown by then.
    std::thread::park_timeout(Duration::from_millis(500));
    let (before, spent_before) = read_line(&ask()?)?;
    std::thread::park_timeout(time);
    let (after, spent) = read_line(&ask()?)?;
    for child in clients.iter_mut().chain([&mut server]) {
        child.kill()?;
        child.wait()?;
    }
    let bytes = (after - before) as f64;
    let each = |name: &String| (spent[name] - spent_before.get(name).copied().unwrap_or(0)) as f64 / bytes;
    let all: f64 = spent.keys().map(each).sum();
    let parts: Vec<String> = spent.keys().map(|name| format!("{name} {:.3}", each(name))).collect();
    println!("{shards} shards: {:.2} GB, {all:.3} ns a byte: {}", bytes / 1e9, parts.join(", "));
    Ok(all)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn compare(time: Duration) -> Result<(), Failure> {
    let (mut one, mut two) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        one.push(run(1, time)?);
        two.push(run(2, time)?);
    }
    let (one, two) = (median(one), median(two));
    println!(
        "medians: {one:.3} and {two:.3} ns a byte: two processors carry {:.2} times what one does",
        2.0 * one / two
    );
    Ok(())
}
