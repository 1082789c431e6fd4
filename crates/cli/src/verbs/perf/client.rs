//! The client: sends as fast as it may, and prints each interval, and the counts of both sides at the end.

use std::future::Future;
use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anabranch_live::{Association, ENCAPSULATION_PORT, Endpoint, Message, SendError, Vantage};
use bytes::Bytes;
use clap::Args;
use serde::Deserialize;
use serde_json::{Value, json};

use super::common::{MEASURED, PORT, Request, Sender, cpu_seconds, kind, retransmissions};
use super::units::{self, Format};
use crate::failure::Failure;
use crate::live::{self, NetworkOptions};
use crate::marks::Marks;
use crate::opening::{self, OpeningOptions};
use crate::serving::Interrupts;
use crate::stopwatch::Stopwatch;

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Host, and SCTP port if it is not 5201
    #[arg(value_name = "HOST[:PORT]")]
    target: String,
    /// SCTP port of the server, as in HOST:PORT
    #[arg(short, long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// UDP port of the server
    #[arg(long, value_name = "PORT", default_value_t = ENCAPSULATION_PORT)]
    peer_udp_port: u16,
    /// Seconds to send for
    #[arg(short, long, value_name = "SECONDS", default_value = "10", value_parser = opening::seconds)]
    time: f64,
    /// Send so much in all, such as 100M, instead of for a time
    #[arg(short = 'n', long, value_name = "SIZE", conflicts_with = "time", value_parser = some_bytes)]
    bytes: Option<u64>,
    /// Seconds between lines
    #[arg(short, long, value_name = "SECONDS", default_value = "1", value_parser = opening::seconds)]
    interval: f64,
    /// Associations at the same time
    #[arg(short = 'P', long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1000))]
    parallel: u16,
    /// Size of messages
    #[arg(short, long, visible_short_alias = 'l', visible_alias = "length", value_name = "SIZE", default_value = "16 KiB", value_parser = message_size)]
    message: usize,
    /// Streams to send on by turns; with --dscp the first streams have code points of their own
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    on_streams: u16,
    #[command(flatten)]
    marks: Marks,
    /// Bits a second and association at most, such as 10M; with a unit of bytes (1 MB) bytes a second; as fast as it goes otherwise
    #[arg(short, long, value_name = "RATE", value_parser = units::rate)]
    bandwidth: Option<u64>,
    /// Unit of rates: k, m, g bits (powers of 1,000), K, M, G bytes a second (powers of 1,024)
    #[arg(short, long, value_name = "UNIT", value_parser = units::format)]
    format: Option<Format>,
    /// The server sends
    #[arg(short = 'R', long)]
    reverse: bool,
    /// Print JSON: one object with `start`, `intervals` and `end`
    #[arg(short = 'J', long)]
    json: bool,
    #[command(flatten)]
    opening: OpeningOptions,
    #[command(flatten)]
    network: NetworkOptions,
}

fn some_bytes(text: &str) -> Result<u64, String> {
    let bytes = units::size(text)?;
    if bytes == 0 { Err("a byte at least is measured".to_owned()) } else { Ok(bytes) }
}

fn message_size(text: &str) -> Result<usize, String> {
    let bytes = units::size(text)?;
    usize::try_from(bytes)
        .ok()
        .filter(|size| *size > 0)
        .ok_or_else(|| "a message has a byte at least".to_owned())
}

/// One association, with its endpoint and its counts as a receiver.
struct Flow {
    endpoint: Endpoint,
    association: Association,
    received: Arc<Mutex<Received>>,
}

/// The data and reports received from the server.
#[derive(Default)]
struct Received {
    bytes: u64,
    /// Round trips of messages that were sent back, seconds.
    latencies: Vec<f64>,
    /// The server's final counts, as JSON.
    server: Option<Value>,
    /// The server's counts as a sender, from its last report.
    sender: Option<Sender>,
}

impl Flow {
    fn received(&self) -> MutexGuard<'_, Received> {
        lock(&self.received)
    }

    /// Bytes that have gone the way that is measured.
    fn bytes(&self, reverse: bool) -> u64 {
        let came = self.received().bytes;
        if reverse {
            came
        } else {
            self.association.snapshot().map_or(0, |all| all.stats.payload_bytes_unique)
        }
    }

    /// The counts of the sending side: this one, or the server with `reverse`.
    fn sender(&self, reverse: bool) -> Option<Sender> {
        if reverse { self.received().sender } else { Sender::of(&self.association) }
    }
}

fn lock(received: &Mutex<Received>) -> MutexGuard<'_, Received> {
    received.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let has_port = arguments.target.rsplit_once(':').is_some_and(|(host, port)| {
        !host.ends_with(':') && port.parse::<u16>().is_ok() && (!host.contains(':') || host.ends_with(']'))
    });
    let with_port = match (has_port, arguments.port) {
        (true, Some(port)) => {
            let target = &arguments.target;
            return Err(Failure::wrong(format!(
                "{target} has a port, and --port {port} is another: give one of them"
            )));
        }
        (true, None) => arguments.target.clone(),
        (false, port) => format!("{}:{}", arguments.target, port.unwrap_or(PORT)),
    };
    let target = live::resolve(&with_port, arguments.peer_udp_port)?;
    let runtime = live::runtime()?;
    let measured = runtime.block_on(async {
        arguments.network.recording.begin(Vantage::Client).await?;
        let mut flows = Vec::new();
        let mut begun = Vec::new();
        for _ in 0..arguments.parallel {
            let before = Stopwatch::start();
            let limit = arguments.opening.limit(None);
            let (endpoint, association) =
                opening::connect(&arguments.network, limit, target.clone(), 0).await?;
            begun.push(before.seconds());
            flows.push(Flow { endpoint, association, received: Arc::default() });
        }
        measure(arguments, flows, &begun).await
    });
    let recorded = arguments.network.recording.finish();
    runtime.shutdown_background();
    let (text, interrupted) = measured?;
    std::io::stdout().lock().write_all(text.as_bytes()).map_err(|error| Failure::printing(&error))?;
    match interrupted {
        Some(code) => Err(Failure { code, message: "interrupted".to_owned() }),
        None => recorded,
    }
}

/// The work of one sender.
#[derive(Clone, Copy, Debug)]
struct Work {
    /// Seconds; endless where bytes are given.
    time: f64,
    bytes: Option<u64>,
    message: usize,
    streams: u16,
    /// Bytes a second.
    bandwidth: Option<f64>,
}

impl Work {
    fn new(arguments: &Arguments) -> Self {
        Self {
            time: if arguments.bytes.is_some() { f64::INFINITY } else { arguments.time },
            bytes: arguments.bytes.map(|bytes| bytes.div_ceil(u64::from(arguments.parallel))),
            message: arguments.message,
            streams: arguments.on_streams,
            bandwidth: arguments.bandwidth.map(|bits| bits as f64 / 8.0),
        }
    }
}

/// Returns the text to print, and the exit code where Ctrl-C has ended the measurement.
async fn measure(
    arguments: &Arguments,
    flows: Vec<Flow>,
    begun: &[f64],
) -> Result<(String, Option<u8>), Failure> {
    let (work, mut interrupts) = (Work::new(arguments), Interrupts::new()?);
    let (watch, cpu) = (Stopwatch::start(), cpu_seconds());
    for flow in &flows {
        arguments.marks.give(&flow.association)?;
        tokio::spawn(read(flow.association.clone(), watch, Arc::clone(&flow.received)));
    }
    let (mut senders, mut probes) = (tokio::task::JoinSet::new(), tokio::task::JoinSet::new());
    for flow in &flows {
        let association = flow.association.clone();
        if arguments.reverse {
            let request = Request { message: arguments.message, interval: arguments.interval };
            let request = serde_json::to_vec(&request).map_err(Failure::failed)?;
            let ask = Message { ppid: kind::REVERSE, ..Message::new(0, request) };
            association.send(ask).await.map_err(Failure::failed)?;
        } else {
            senders.spawn(send(association, watch, work));
        }
        let last = arguments.on_streams - 1;
        probes.spawn(probe(flow.association.clone(), last, watch));
    }
    let mut intervals = Vec::new();
    let interrupted = tokio::select! {
        told = tell_intervals(arguments, &flows, watch, ended(work, &flows, arguments.reverse, watch, senders), &mut intervals) => {
            told?;
            None
        }
        code = interrupts.next() => Some(code),
    };
    probes.abort_all();
    // After an interrupt the user wants the results so far, so it waits for the server's only briefly.
    let patience = if interrupted.is_some() { 2.0 } else { 60.0 };
    let text = finish(arguments, &flows, begun, intervals, (watch, cpu), patience).await?;
    Ok((text, interrupted))
}

/// Waits until everything was sent, or has come, that was to be.
async fn ended(
    work: Work,
    flows: &[Flow],
    reverse: bool,
    watch: Stopwatch,
    mut senders: tokio::task::JoinSet<Result<(), SendError>>,
) -> Result<(), Failure> {
    let all = async {
        while let Some(done) = senders.join_next().await {
            if let Ok(Err(error)) = done {
                return Err(Failure::failed(error));
            }
        }
        if let (true, Some(bytes)) = (reverse, work.bytes) {
            for flow in flows {
                let came = |association: &anabranch_sctp::Association| {
                    (association.snapshot().stats.payload_bytes_received_new >= bytes).then_some(())
                };
                flow.association.until(came).await;
            }
        }
        Ok(())
    };
    if work.bytes.is_some() {
        return all.await;
    }
    let left = Duration::from_secs_f64((work.time - watch.seconds()).max(0.0));
    if reverse {
        tokio::time::sleep(left).await;
        return Ok(());
    }
    // A sender may wait for room when the time is over: its last message is still sent.
    all.await
}

async fn send(association: Association, watch: Stopwatch, work: Work) -> Result<(), SendError> {
    let Work { time, bytes, message: size, streams, bandwidth } = work;
    let payload = Bytes::from(vec![0xa5; size]);
    let (mut stream, mut sent) = (0, 0u64);
    loop {
        let now = watch.seconds();
        if now >= time {
            return Ok(());
        }
        if let Some(bandwidth) = bandwidth {
            let due = sent as f64 / bandwidth;
            if due > now {
                tokio::time::sleep(Duration::from_secs_f64((due - now).min(time))).await;
                continue;
            }
        }
        // The clock is asked once for many small messages.
        for _ in 0..(65_536 / size).clamp(1, 64) {
            let left = bytes.map_or(u64::MAX, |bytes| bytes - sent);
            if left == 0 {
                return Ok(());
            }
            let size = size.min(usize::try_from(left).unwrap_or(size));
            let payload = payload.slice(..size);
            association.send(Message { ppid: kind::DATA, ..Message::new(stream, payload) }).await?;
            sent += size as u64;
            stream = (stream + 1) % streams;
        }
    }
}

/// Sends a small message every 10 ms that comes back, with the time in it.
async fn probe(association: Association, stream: u16, watch: Stopwatch) {
    loop {
        let now = watch.time().as_nanos().to_be_bytes();
        let message = Message { ppid: kind::ECHO, ..Message::new(stream, Bytes::copy_from_slice(&now)) };
        if let Err(error) = association.send(message).await {
            // The end of the association is told where its data is sent.
            if let SendError::Refused(refused) = error {
                let _ = writeln!(std::io::stderr().lock(), "anabranch: no more latencies: {refused}");
            }
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn read(association: Association, watch: Stopwatch, received: Arc<Mutex<Received>>) {
    while let Ok(Some(message)) = association.recv().await {
        match message.ppid {
            kind::ECHO => {
                if let Ok(sent) = <[u8; 8]>::try_from(&message.into_bytes()[..]) {
                    let trip = watch.time().as_nanos().saturating_sub(u64::from_be_bytes(sent));
                    lock(&received).latencies.push(trip as f64 / 1e9);
                }
            }
            kind::REPORT => lock(&received).sender = serde_json::from_slice(&message.into_bytes()).ok(),
            kind::END => {
                let told: Option<Value> = serde_json::from_slice(&message.into_bytes()).ok();
                let sender = told.as_ref().and_then(|told| Sender::deserialize(&told["sender"]).ok());
                let mut received = lock(&received);
                received.sender = sender.or(received.sender);
                received.server = told;
            }
            _ => lock(&received).bytes += message.len() as u64,
        }
    }
}

/// The JSON of one association's interval between two times, seconds. Values known to the sender only are null until
/// its first report.
fn interval(
    number: usize,
    sender: Option<Sender>,
    from: f64,
    to: f64,
    bytes: u64,
    retransmitted: u64,
) -> Value {
    json!({
        "association": number + 1,
        "start": from,
        "end": to,
        "seconds": to - from,
        "bytes": bytes,
        "bits_per_second": bytes as f64 * 8.0 / (to - from).max(1e-9),
        "retransmits": sender.map(|_| retransmitted),
        "cwnd": sender.map(|sender| sender.cwnd),
        "srtt_seconds": sender.and_then(|sender| sender.srtt_seconds),
    })
}

async fn tell_intervals(
    arguments: &Arguments,
    flows: &[Flow],
    watch: Stopwatch,
    ended: impl Future<Output = Result<(), Failure>>,
    intervals: &mut Vec<Value>,
) -> Result<(), Failure> {
    let mut ended = std::pin::pin!(ended);
    let (mut from, mut next) = (0.0, arguments.interval);
    let mut before: Vec<(u64, u64)> = flows.iter().map(|_| (0, 0)).collect();
    let mut over = false;
    while !over {
        let left = next - watch.seconds();
        // A rest at the end shorter than a twentieth of an interval is no interval of its own.
        let last = arguments.bytes.is_none() && arguments.time - next < arguments.interval / 20.0;
        over = tokio::select! {
            biased;
            done = &mut ended => done.map(|()| true)?,
            () = tokio::time::sleep(Duration::from_secs_f64(left.max(0.0))), if !last => false,
        };
        let to = watch.seconds();
        let mut lines = Vec::new();
        for (number, (flow, before)) in flows.iter().zip(&mut before).enumerate() {
            let sender = flow.sender(arguments.reverse);
            let now = (flow.bytes(arguments.reverse), sender.map_or(before.1, |sender| sender.retransmits));
            lines.push(interval(number, sender, from, to, now.0 - before.0, now.1 - before.1));
            *before = now;
        }
        if !arguments.json {
            say_lines(&lines, arguments.format)?;
        }
        let bytes: u64 = lines.iter().filter_map(|line| line["bytes"].as_u64()).sum();
        let rate = bytes as f64 * 8.0 / (to - from).max(1e-9);
        if !arguments.json && flows.len() > 1 {
            let (amount, rate) = (live::amount(bytes as f64), units::rate_in_words(rate, arguments.format));
            say(&format!("[SUM] {from:>6.2}-{to:<6.2} s  {amount:>10}  {rate:>12}\n"))?;
        }
        intervals.push(json!({
            "associations": lines,
            "sum": { "start": from, "end": to, "seconds": to - from, "bytes": bytes, "bits_per_second": rate },
        }));
        (from, next) = (to, next + arguments.interval);
    }
    Ok(())
}

fn say(text: &str) -> Result<(), Failure> {
    std::io::stdout().lock().write_all(text.as_bytes()).map_err(|error| Failure::printing(&error))
}

fn say_lines(lines: &[Value], format: Option<Format>) -> Result<(), Failure> {
    let mut text = String::new();
    for line in lines {
        text.push_str(&format!(
            "[{:>3}] {:>6.2}-{:<6.2} s  {:>10}  {:>12}  retr {:>5}  cwnd {}\n",
            line["association"].as_u64().unwrap_or(0),
            line["start"].as_f64().unwrap_or(0.0),
            line["end"].as_f64().unwrap_or(0.0),
            live::amount(line["bytes"].as_f64().unwrap_or(0.0)),
            units::rate_in_words(line["bits_per_second"].as_f64().unwrap_or(0.0), format),
            line["retransmits"].as_u64().map_or("-".to_owned(), |count| count.to_string()),
            line["cwnd"].as_f64().map_or("-".to_owned(), live::amount),
        ));
    }
    say(&text)
}

/// How long a server has to agree to the end.
const PATIENCE: Duration = Duration::from_secs(2);

/// Shuts down all associations, and aborts those whose servers do not agree in time.
async fn end(flows: &[Flow]) {
    for flow in flows {
        flow.association.command(|association, now| {
            association.shutdown(now);
        });
    }
    let all = async {
        for flow in flows {
            flow.association.closed().await;
        }
    };
    if tokio::time::timeout(PATIENCE, all).await.is_err() {
        flows.iter().for_each(|flow| flow.association.abort(MEASURED));
    }
    // The last packets leave.
    for flow in flows {
        flow.endpoint.close(PATIENCE).await;
    }
}

/// How long a server may take to report its counts, after it has acknowledged the question.
const ANSWER: Duration = Duration::from_secs(5);

/// Waits until the peer has acknowledged everything.
async fn dry(association: &Association) {
    let nothing_left = |core: &anabranch_sctp::Association| {
        let stats = core.snapshot().stats;
        (stats.queued_bytes + stats.flight == 0).then_some(())
    };
    association.until(nothing_left).await;
}

/// Asks the servers for their counts, and waits for the answers.
async fn ask_servers(flows: &[Flow]) -> Result<(), Failure> {
    for flow in flows {
        dry(&flow.association).await;
        let end = Message { ppid: kind::END, ..Message::new(0, Bytes::from_static(b"end")) };
        flow.association.send(end).await.map_err(Failure::failed)?;
    }
    for flow in flows {
        dry(&flow.association).await;
        let answered = async {
            while flow.received().server.is_none() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        if tokio::time::timeout(ANSWER, answered).await.is_err() {
            let why = format!(
                "the peer has the data and has not said within {} s what arrived: is it an `anabranch perf server`?",
                ANSWER.as_secs()
            );
            return Err(Failure::failed(why));
        }
    }
    Ok(())
}

/// Waits until all has arrived, asks the servers for their counts, and prints all.
async fn finish(
    arguments: &Arguments,
    flows: &[Flow],
    begun: &[f64],
    intervals: Vec<Value>,
    (watch, cpu): (Stopwatch, f64),
    patience: f64,
) -> Result<String, Failure> {
    match tokio::time::timeout(Duration::from_secs_f64(patience), ask_servers(flows)).await {
        Ok(done) => done?,
        Err(_) => {
            let said =
                format!("the server has not said within {patience} s what arrived; that counts as nothing");
            let _ = writeln!(std::io::stderr().lock(), "anabranch: {said}");
        }
    }
    let (seconds, cpu) = (watch.seconds(), cpu_seconds() - cpu);
    let came: u64 = flows.iter().map(|flow| flow.bytes(arguments.reverse)).sum();
    let senders: Vec<Sender> = flows.iter().filter_map(|flow| flow.sender(arguments.reverse)).collect();
    let known = senders.len() == flows.len();
    let sent = if known { senders.iter().map(|sender| sender.bytes).sum() } else { came };
    let retransmits = known.then(|| senders.iter().map(|sender| sender.retransmits).sum::<u64>());
    let servers: Vec<Value> = flows.iter().filter_map(|flow| flow.received().server.clone()).collect();
    let of_servers = |key: &'static str| servers.iter().filter_map(move |told| told[key].as_f64());
    // The sum of nothing is -0.
    let arrived = if arguments.reverse { came as f64 } else { of_servers("bytes").sum::<f64>() + 0.0 };
    let remote_cpu = of_servers("cpu_seconds").fold(0.0, f64::max);
    let mut trips: Vec<f64> = flows.iter().flat_map(|flow| flow.received().latencies.clone()).collect();
    trips.sort_by(f64::total_cmp);
    let part =
        |percent: usize| trips.get((trips.len() * percent / 100).min(trips.len().saturating_sub(1))).copied();
    for flow in flows {
        arguments.network.write_stats(&flow.association)?;
    }
    end(flows).await;
    let per_byte = (arrived > 0.0).then(|| (cpu + remote_cpu) * 1e9 / arrived);
    let end = json!({
        "sum_sent": { "seconds": seconds, "bytes": sent, "bits_per_second": sent as f64 * 8.0 / seconds, "retransmits": retransmits },
        "sum_received": { "seconds": seconds, "bytes": arrived, "bits_per_second": arrived * 8.0 / seconds },
        "cpu": { "host_seconds": cpu, "remote_seconds": remote_cpu, "ns_per_byte": per_byte },
        "latency_seconds": { "samples": trips.len(), "p50": part(50), "p90": part(90), "p99": part(99), "max": trips.last() },
        "servers": servers,
    });
    if arguments.json {
        let start = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "target": arguments.target,
            "handshake_seconds": begun,
            "seconds": arguments.time, "associations": flows.len(), "message": arguments.message,
            "streams": arguments.on_streams, "reverse": arguments.reverse,
        });
        return Ok(format!("{:#}\n", json!({ "start": start, "intervals": intervals, "end": end })));
    }
    let ms =
        |seconds: Option<f64>| seconds.map_or("-".to_owned(), |seconds| format!("{:.3} ms", seconds * 1e3));
    Ok(format!(
        "sent {} in {seconds:.2} s, {}, {}; arrived {}\nhandshake {}; message there and back: median {}, 90 % {}, 99 % {}, longest {}\nCPU {cpu:.2} s here, {remote_cpu:.2} s there: {} ns a byte\n",
        live::amount(sent as f64),
        units::rate_in_words(sent as f64 * 8.0 / seconds, arguments.format),
        retransmissions(retransmits),
        live::amount(arrived),
        ms(begun.first().copied()),
        ms(part(50)),
        ms(part(90)),
        ms(part(99)),
        ms(trips.last().copied()),
        per_byte.map_or("-".to_owned(), |time| format!("{time:.2}")),
    ))
}
