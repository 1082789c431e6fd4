//! Peers that come and go over a network with faults, for SOAK_SECONDS (a few unless told otherwise; `make soak-live`). It is the only
//! test of its process: it looks at descriptors and memory.
//!
//! Nothing that was acknowledged is lost, nothing is delivered twice or out of order, memory stays under its limit, descriptors return
//! to where they were, and every association ends with one event on each side that lives.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a failed unwrap is a failed test; a long test says where it is"
)]

mod common;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anabranch_base::Rng;
use anabranch_live::{Association, CloseReason, Config, Endpoint, EndpointConfig, Event, Message};
use common::{PORT, Relay, local, soon_gives_up};

const LIVES_AT_ONCE: usize = 4;
const STREAMS: u16 = 4;
const SEND_BUFFER: usize = 100_000;
const RECEIVE_BUFFER: u32 = 150_000;
/// Memory that the process may need beyond its buffers, bytes: threads, relays, sockets, code.
const OF_THE_PROCESS: usize = 120 << 20;

fn config() -> Config {
    soon_gives_up().with(|c| {
        c.limits.send_buffer = SEND_BUFFER;
        c.limits.receive_window = RECEIVE_BUFFER;
        // Peers that are gone are to be noticed while they are idle, too.
        c.timers.heartbeat_interval = anabranch_sctp::Duration::from_millis(500);
    })
}

/// The records of both ends of all lives, by life.
#[derive(Default)]
struct Book {
    /// How many messages of each stream the server's user has read.
    read: BTreeMap<(u32, u16), u32>,
    /// Sentences about faults.
    wrong: Vec<String>,
}

type Shared = Arc<Mutex<Book>>;

fn message(life: u32, stream: u16, number: u32, size: usize) -> Vec<u8> {
    let mut payload = vec![(number % 251) as u8; size.max(12)];
    payload[..4].copy_from_slice(&life.to_be_bytes());
    payload[4..8].copy_from_slice(&u32::from(stream).to_be_bytes());
    payload[8..12].copy_from_slice(&number.to_be_bytes());
    payload
}

/// Reads until the end, now and then asleep, and checks the numbers.
async fn read_all(association: Association, book: Shared, seed: u64) {
    let mut rng = Rng::stream(seed, "server", "soak");
    let mut life = None;
    let mut longest = 0;
    loop {
        if rng.below(400) == 0 {
            // Long enough for the window to close.
            tokio::time::sleep(Duration::from_millis(rng.below(400))).await;
        }
        let Ok(Some(received)) = association.recv().await else { break };
        let stream = received.stream;
        let whole = received.is_end();
        let bytes = received.into_bytes();
        longest = longest.max(bytes.len());
        let mut book = book.lock().unwrap();
        if !whole || bytes.len() < 12 {
            // Part of a message whose rest never came.
            continue;
        }
        let word = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
        let (of, number) = (word(0), word(8));
        life = Some(of);
        let next = book.read.entry((of, stream)).or_default();
        let expected = std::mem::replace(next, number + 1);
        if expected != number || u32::from(stream) != word(4) {
            book.wrong.push(format!("life {of}, stream {stream}: message {number} after {expected}"));
        }
        if bytes[12..].iter().any(|byte| *byte != (number % 251) as u8) {
            book.wrong.push(format!("life {of}, stream {stream}: message {number} is damaged"));
        }
    }
    let mut ends = 0;
    while let Some(event) = association.next_event().await {
        ends += u32::from(matches!(event, Event::Closed(_)));
    }
    if ends != 1 {
        book.lock().unwrap().wrong.push(format!("life {life:?}: {ends} ends at the server"));
    }
}

async fn serve(endpoint: Endpoint, book: Shared, seed: u64) {
    let mut number = seed;
    while let Some(incoming) = endpoint.accept().await {
        if let Ok(association) = incoming.accept() {
            number += 1;
            tokio::spawn(read_all(association, Arc::clone(&book), number));
        }
    }
}

/// How a life ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Shutdown,
    Abort,
    /// The client's program dies without a word.
    ClientDies,
    /// The network is cut for good.
    Cut,
    /// The server's program dies without a word.
    ServerDies,
}

/// The client's own record of its life.
struct Lived {
    fate: Fate,
    /// Messages sent, and acknowledged, of each stream.
    sent: [u32; STREAMS as usize],
    acknowledged: [u32; STREAMS as usize],
    graceful: bool,
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// A life, from its handshake to its end, in a thread of its own.
fn live(life: u32, seed: u64, at: std::net::SocketAddr, book: &Shared) -> Option<Lived> {
    let mut rng = Rng::stream(seed, "client", "soak");
    let fate = match rng.below(8) {
        0 => Fate::Abort,
        1 => Fate::ClientDies,
        2 => Fate::Cut,
        3 => Fate::ServerDies,
        _ => Fate::Shutdown,
    };
    // A server that is to die is one of its own.
    let mortal = (fate == Fate::ServerDies).then(|| Mortal::start(Arc::clone(book), seed));
    let relay = Relay::to(mortal.as_ref().map_or(at, |mortal| mortal.at));
    relay.lost_percent.store(rng.below(12) as usize, Ordering::Relaxed);
    relay.twice_percent.store(rng.below(6) as usize, Ordering::Relaxed);
    relay.late_percent.store(rng.below(6) as usize, Ordering::Relaxed);
    let runtime = runtime();
    let lived = runtime.block_on(async {
        let client =
            Endpoint::bind(&[local()], EndpointConfig::default().with_association(config())).unwrap();
        // An error means too many losses in a row: no association has come up.
        let association = client.connect(relay.at, PORT).await.ok()?;
        // A client that dies knows nothing any more, so its acknowledged messages are counted outside of it.
        let acknowledged = Arc::new(Mutex::new([0; STREAMS as usize]));
        let fates = tokio::spawn(count_acknowledged(association.clone(), Arc::clone(&acknowledged)));
        let mut lived = Lived { fate, sent: [0; 4], acknowledged: [0; 4], graceful: false };
        let messages = 20 + rng.below(300);
        let ends_at = if fate == Fate::Shutdown { messages } else { rng.below(messages) };
        let mut dies = mortal;
        for count in 0..messages {
            if count == ends_at {
                match fate {
                    Fate::Abort => association.abort(b"soak"),
                    Fate::Cut => relay.cut.store(true, Ordering::Relaxed),
                    Fate::ServerDies => drop(dies.take()),
                    Fate::ClientDies | Fate::Shutdown => {}
                }
                if fate == Fate::ClientDies {
                    break;
                }
            }
            if rng.below(60) == 0 && fate != Fate::Cut {
                relay.cut.store(true, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_millis(rng.below(150))).await;
                relay.cut.store(false, Ordering::Relaxed);
            }
            let stream = rng.below(u64::from(STREAMS)) as u16;
            let of = &mut lived.sent[usize::from(stream)];
            let size = if rng.below(20) == 0 { 20_000 } else { 2_000 };
            let payload = message(life, stream, *of, rng.below(size) as usize);
            let sent = Message::new(stream, payload).context(u32::from(stream)).tell_fate();
            if association.send(sent).await.is_err() {
                break;
            }
            *of += 1;
            let buffered = association.command(|association, _| association.buffered_bytes(None));
            // A full buffer takes half as much again of streams that have little in it (`stream_send_minimum`), and the message that exceeds it.
            if buffered.is_some_and(|bytes| bytes > SEND_BUFFER + SEND_BUFFER / 2 + 20_000) {
                book.lock().unwrap().wrong.push(format!("life {life}: {buffered:?} bytes buffered"));
            }
        }
        if fate == Fate::ClientDies {
            lived.acknowledged = *acknowledged.lock().unwrap();
            return Some(lived);
        }
        if fate == Fate::Shutdown {
            lived.graceful = association.shutdown().await.is_ok();
        }
        let end = association.closed().await;
        let ends = fates.await.unwrap();
        lived.acknowledged = *acknowledged.lock().unwrap();
        if ends != 1 {
            book.lock().unwrap().wrong.push(format!("life {life}: {ends} ends at the client ({end:?})"));
        }
        if fate == Fate::Abort && !matches!(end, CloseReason::AbortedLocally) && ends_at < messages {
            // The network may have ended it before.
            assert!(
                matches!(end, CloseReason::Unreachable { .. } | CloseReason::AbortedByPeer { .. }),
                "{end:?}"
            );
        }
        Some(lived)
    });
    drop(runtime);
    lived
}

/// Counts the messages that the peer has for good, of each stream; answers how often the end was told.
async fn count_acknowledged(association: Association, acknowledged: Arc<Mutex<[u32; 4]>>) -> u32 {
    let mut ends = 0;
    while let Some(event) = association.next_event().await {
        match event {
            Event::Delivered { context, .. } => acknowledged.lock().unwrap()[context as usize] += 1,
            Event::Closed(_) => ends += 1,
            _ => {}
        }
    }
    ends
}

/// A server in a runtime of its own, which dies when it is dropped, with its sockets and without a word.
struct Mortal {
    at: std::net::SocketAddr,
    kill: Option<std::sync::mpsc::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Mortal {
    fn start(book: Shared, seed: u64) -> Self {
        let (kill, killed) = std::sync::mpsc::channel::<()>();
        let (tell, told) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
            runtime.block_on(async {
                let server =
                    Endpoint::bind(&[local()], EndpointConfig::on_port(PORT).with_association(config()))
                        .unwrap();
                server.listen().unwrap();
                tell.send(server.local_addresses()[0]).unwrap();
                // The order of messages is checked; those unread when the server dies are not missed.
                tokio::spawn(serve(server, book, seed));
            });
            let _ = killed.recv();
            runtime.shutdown_timeout(Duration::ZERO);
        });
        Self { at: told.recv().unwrap(), kill: Some(kill), thread: Some(thread) }
    }
}

impl Drop for Mortal {
    fn drop(&mut self) {
        drop(self.kill.take());
        let _ = self.thread.take().unwrap().join();
    }
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Resident bytes of this process.
fn memory() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name}={text}")))
}

/// Why a life went wrong, as both ends tell it.
fn judge(life: u32, lived: &Lived, book: &Book) -> Option<String> {
    for stream in 0..STREAMS {
        let at = usize::from(stream);
        let read = book.read.get(&(life, stream)).copied().unwrap_or(0);
        let (sent, acknowledged) = (lived.sent[at], lived.acknowledged[at]);
        let lost = if lived.graceful { read != sent } else { read < acknowledged };
        // A server that has died reads no more of the messages that its stack has acknowledged.
        if (lost && lived.fate != Fate::ServerDies) || read > sent {
            return Some(format!(
                "life {life} ({:?}), stream {stream}: {sent} sent, {acknowledged} acknowledged, {read} read",
                lived.fate
            ));
        }
    }
    None
}

#[test]
#[allow(clippy::disallowed_methods, reason = "it runs in real time")]
fn peers_come_and_go_and_nothing_is_lost() {
    let seconds = number("SOAK_SECONDS").unwrap_or(4);
    let seed = number("SOAK_SEED").unwrap_or_else(|| u64::from(std::process::id()) * 7919);
    println!("soak: {seconds} s, SOAK_SEED={seed}");
    // Descriptors that the first runtime of a process opens stay open (a pair of sockets for signals, where a program
    // of the workspace wants them).
    drop(tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap());
    let (before, began) = (descriptors(), tokio::time::Instant::now());
    let book = Shared::default();
    let server_runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let server = server_runtime.block_on(async {
        let server =
            Endpoint::bind(&[local()], EndpointConfig::on_port(PORT).with_association(config())).unwrap();
        server.listen().unwrap();
        tokio::spawn(serve(server.clone(), Arc::clone(&book), seed));
        server
    });
    let at = server.local_addresses()[0];
    let over = Arc::new(AtomicBool::new(false));
    let next = Arc::new(Mutex::new(0u32));
    let lived = Arc::new(Mutex::new(Vec::new()));
    let workers: Vec<_> = (0..LIVES_AT_ONCE)
        .map(|_| {
            let (over, next, lived, book) =
                (Arc::clone(&over), Arc::clone(&next), Arc::clone(&lived), Arc::clone(&book));
            std::thread::spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    let life = {
                        let mut next = next.lock().unwrap();
                        *next += 1;
                        *next
                    };
                    let one = live(life, seed.wrapping_add(u64::from(life) * 1_000_003), at, &book);
                    lived.lock().unwrap().push((life, one));
                }
            })
        })
        .collect();
    let limit = LIVES_AT_ONCE * 2 * (SEND_BUFFER + RECEIVE_BUFFER as usize) * 4 + OF_THE_PROCESS;
    let (mut most, mut told) = (0, 0);
    while began.elapsed() < Duration::from_secs(seconds) {
        std::thread::sleep(Duration::from_millis(100));
        most = most.max(memory());
        assert!(most < limit, "{most} bytes of memory");
        if began.elapsed().as_secs() / 60 > told {
            told = began.elapsed().as_secs() / 60;
            println!("soak: {told} min, {} lives, {} MB at most", next.lock().unwrap(), most >> 20);
        }
        if workers.iter().any(std::thread::JoinHandle::is_finished) {
            break;
        }
    }
    over.store(true, Ordering::Relaxed);
    workers.into_iter().for_each(|worker| worker.join().unwrap());
    // Associations whose peers are gone end by their timers.
    let patience = tokio::time::Instant::now();
    // This thread and the one that accepts have the book; others are still reading.
    while server.associations() > 0 || Arc::strong_count(&book) > 2 {
        assert!(
            patience.elapsed() < Duration::from_secs(120),
            "{} associations do not end",
            server.associations()
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    let strangers = server.stats();
    drop(server);
    server_runtime.shutdown_timeout(Duration::from_secs(10));
    let book = Arc::into_inner(book).expect("everybody has ended").into_inner().unwrap();
    let lived = Arc::into_inner(lived).unwrap().into_inner().unwrap();
    let mut wrong = book.wrong.clone();
    wrong.extend(lived.iter().filter_map(|(life, one)| judge(*life, one.as_ref()?, &book)));
    let of =
        |fate: Fate| lived.iter().filter(|(_, one)| one.as_ref().is_some_and(|one| one.fate == fate)).count();
    let graceful = lived.iter().filter(|(_, one)| one.as_ref().is_some_and(|one| one.graceful)).count();
    let read: u64 = book.read.values().map(|read| u64::from(*read)).sum();
    println!(
        "soak: {} lives, {graceful} of {} ended in order, {} aborted, {} clients and {} servers died, {} cut; {read} messages read, \
         {} MB at most, {strangers:?}",
        lived.len(),
        of(Fate::Shutdown),
        of(Fate::Abort),
        of(Fate::ClientDies),
        of(Fate::ServerDies),
        of(Fate::Cut),
        most >> 20
    );
    assert!(
        wrong.is_empty(),
        "SOAK_SEED={seed}: {} wrong: {:#?}",
        wrong.len(),
        &wrong[..wrong.len().min(20)]
    );
    // The test has moved messages at all.
    assert!(lived.len() >= 2 && read > 50, "{} lives, {read} messages", lived.len());
    let open: Vec<_> = std::fs::read_dir("/proc/self/fd")
        .unwrap()
        .filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok())
        .collect();
    assert_eq!(descriptors(), before, "descriptors: {open:?}");
}
