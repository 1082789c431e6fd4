//! What the verbs that use the network have in common: options, sockets, the pipe between an association and standard input and output.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use anabranch_base::units;
use anabranch_live::{
    Association, BindError, CloseReason, Closed, Config, ENCAPSULATION_PORT, Endpoint, EndpointConfig, Event,
    Message, SendError, default_association, in_words,
};
use bytes::{Bytes, BytesMut};
use clap::Args;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

pub(crate) use crate::amounts::{amount, rate};
use crate::failure::Failure;
use crate::marks::Marks;
use crate::progress::Progress;
use crate::recording::RecordingOptions;
use crate::serving::Interrupts;

/// Where, and with which configuration.
#[derive(Args, Debug, Clone)]
pub(crate) struct NetworkOptions {
    /// Local UDP port; 0 lets the system choose [default: 9899 to listen, 0 to connect]
    #[arg(long, value_name = "PORT")]
    udp_port: Option<u16>,
    /// Local address; may be given more than once [default: all]
    #[arg(long = "bind", value_name = "ADDRESS")]
    addresses: Vec<IpAddr>,
    /// Right on IP, without UDP: needs CAP_NET_RAW (Linux), and a host whose kernel has no SCTP
    #[arg(long, conflicts_with = "udp_port")]
    pub(crate) raw: bool,
    /// The profile that associations begin with [default: modern with probes of the path MTU, partial reliability and large buffers]
    #[arg(long, value_name = "PROFILE")]
    engine: Option<String>,
    /// Set an option of SCTP on top of it, such as rto_min="200 ms"; `anabranch engines` lists them
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = crate::load::assignment)]
    overrides: Vec<(String, String)>,
    /// Streams that are asked for, and allowed to the peer
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    streams: Option<u16>,
    /// Tell on standard error what happens to associations
    #[arg(long, short)]
    verbose: bool,
    /// Write all counters of each association that has ended to a file, as lines of JSON; - is standard error
    #[arg(long, value_name = "FILE")]
    stats: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) recording: RecordingOptions,
}

/// What is sent and how it is read.
#[derive(Args, Debug, Clone)]
pub(crate) struct PipeOptions {
    /// Cut standard input into messages of this size
    #[arg(long, value_name = "SIZE", default_value = "16 KiB", value_parser = size)]
    message: usize,
    /// Send on this stream
    #[arg(long, value_name = "N", default_value_t = 0)]
    stream: u16,
    #[command(flatten)]
    pub(crate) marks: Marks,
    /// Payload protocol identifier of what is sent
    #[arg(long, value_name = "N", default_value_t = 0)]
    ppid: u32,
    /// Messages may overtake each other
    #[arg(long)]
    unordered: bool,
    /// Do not read standard input: the peer ends the association
    #[arg(long, conflicts_with = "send_only")]
    recv_only: bool,
    /// Throw away what comes
    #[arg(long)]
    pub(crate) send_only: bool,
    /// Do not show on the terminal how far it is
    #[arg(long)]
    no_progress: bool,
}

impl PipeOptions {
    /// Who types what is sent, or reads what comes, on a terminal sees that it moves.
    fn shows_progress(&self) -> bool {
        use std::io::IsTerminal;
        let read = self.recv_only || !std::io::stdin().is_terminal();
        let written = self.send_only || !std::io::stdout().is_terminal();
        std::io::stderr().is_terminal() && !self.no_progress && read && (written || !self.recv_only)
    }
}

pub(crate) fn size(text: &str) -> Result<usize, String> {
    let bytes = units::size(text)?;
    usize::try_from(bytes)
        .ok()
        .filter(|bytes| *bytes > 0)
        .ok_or_else(|| "a message has a byte at least".to_owned())
}

impl NetworkOptions {
    /// What associations begin with.
    pub(crate) fn config(&self) -> Result<Config, Failure> {
        let mut config = match &self.engine {
            None => default_association(),
            Some(engine) => Config::named(engine).ok_or_else(|| {
                let allowed = Config::PROFILES.join(", ");
                Failure::wrong(format!("--engine {engine}: unknown profile; allowed: {allowed}"))
            })?,
        };
        if let Some(streams) = self.streams {
            config.streams.outbound = streams;
            config.streams.inbound = config.streams.inbound.max(streams);
            config.streams.max_outbound = config.streams.max_outbound.max(streams);
        }
        for (key, value) in &self.overrides {
            let value = value.trim_matches('"');
            config.set(key, value).map_err(|error| Failure::wrong(format!("--set: {error}")))?;
        }
        config.validate().map_err(|error| Failure::wrong(format!("--set: {error}")))?;
        Ok(config)
    }

    fn endpoint_config(&self, port: u16) -> Result<EndpointConfig, Failure> {
        let config = EndpointConfig::on_port(port).with_association(self.config()?);
        let config = self.recording.configure(config);
        Ok(if self.raw { config.on_raw_ip() } else { config })
    }

    /// An endpoint that peers find at SCTP port `port`.
    pub(crate) fn listening(&self, port: u16) -> Result<Endpoint, Failure> {
        let udp = self.udp_port.unwrap_or(ENCAPSULATION_PORT);
        let config = self.endpoint_config(port)?;
        let endpoint = if self.addresses.is_empty() {
            let both = [
                SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), udp),
                SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), udp),
            ];
            // A host without IPv6 has IPv4 all the same.
            match Endpoint::bind(&both, config.clone()) {
                Err(BindError::Socket { address, .. }) if address.is_ipv6() => {
                    Endpoint::bind(&both[..1], config)
                }
                done => done,
            }
        } else {
            let addresses: Vec<_> = self.addresses.iter().map(|ip| SocketAddr::new(*ip, udp)).collect();
            Endpoint::bind(&addresses, config)
        };
        let endpoint = endpoint.map_err(|error| bind_failure(&error))?;
        endpoint.listen().map_err(Failure::wrong)?;
        self.recording.show(&endpoint);
        Ok(endpoint)
    }

    /// An endpoint to begin an association with `remote`.
    pub(crate) fn connecting(&self, remote: SocketAddr, port: u16) -> Result<Endpoint, Failure> {
        let udp = self.udp_port.unwrap_or(0);
        let config = self.endpoint_config(port)?;
        let any = if remote.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let addresses: Vec<_> = match &self.addresses[..] {
            [] => vec![SocketAddr::new(any, udp)],
            some => some.iter().map(|ip| SocketAddr::new(*ip, udp)).collect(),
        };
        let endpoint = Endpoint::bind(&addresses, config).map_err(|error| bind_failure(&error))?;
        self.recording.show(&endpoint);
        Ok(endpoint)
    }

    /// Says something on standard error, where that is wanted.
    pub(crate) fn tell(&self, what: impl FnOnce() -> String) {
        if self.verbose {
            let _ = writeln!(std::io::stderr().lock(), "anabranch: {}", what());
        }
    }

    /// Tells what happens to an association, until it has ended.
    pub(crate) fn watch(&self, association: &Association) -> Option<tokio::task::JoinHandle<()>> {
        if !self.verbose {
            return None;
        }
        let association = association.clone();
        let name = name(&association);
        Some(tokio::spawn(async move {
            while let Some(event) = association.next_event().await {
                if matches!(event, Event::Readable { .. } | Event::Writable { .. }) {
                    continue;
                }
                let _ = writeln!(std::io::stderr().lock(), "anabranch: {name}: {event}");
            }
        }))
    }

    /// Writes the counters of an association, where they are wanted.
    pub(crate) fn write_stats(&self, association: &Association) -> Result<(), Failure> {
        let Some(path) = &self.stats else { return Ok(()) };
        let line = format!("{}\n", counters(association));
        if path.as_os_str() == "-" {
            return std::io::stderr()
                .lock()
                .write_all(line.as_bytes())
                .map_err(|error| Failure::printing(&error));
        }
        let file = std::fs::File::options().create(true).append(true).open(path);
        file.and_then(|mut file| file.write_all(line.as_bytes()))
            .map_err(|error| Failure::writing(path, &error))
    }
}

fn bind_failure(error: &BindError) -> Failure {
    let hint = match error {
        BindError::Socket { error, .. } if error.kind() == ErrorKind::AddrInUse => {
            "; another program has that UDP port: choose one with --udp-port, and tell it the other side with --peer-udp-port"
        }
        BindError::Socket { error, .. } if error.kind() == ErrorKind::PermissionDenied => {
            "; packets right on IP need CAP_NET_RAW: run as root, `setcap cap_net_raw+ep` the program, or leave out --raw"
        }
        BindError::Port { error, .. } if error.kind() == ErrorKind::AddrInUse => {
            "; another program has that SCTP port"
        }
        _ => "",
    };
    Failure::failed(format!("{error}{hint}"))
}

/// How an association is called in messages.
pub(crate) fn name(association: &Association) -> String {
    association.remote().map_or("?".to_owned(), |at| at.to_string())
}

/// All counters of an association, by name.
pub(crate) fn counters(association: &Association) -> Value {
    let Some(snapshot) = association.snapshot() else { return Value::Null };
    let all = |named: &mut dyn Iterator<Item = (&'static str, Option<u64>)>| -> Map<String, Value> {
        named.map(|(name, value)| (name.to_owned(), json!(value))).collect()
    };
    let mut line = all(&mut snapshot.stats.named());
    let paths: Vec<Value> = snapshot.paths.iter().map(|path| Value::Object(all(&mut path.named()))).collect();
    line.insert("remote".to_owned(), json!(name(association)));
    line.insert("paths".to_owned(), Value::Array(paths));
    Value::Object(line)
}

/// Whom to call.
#[derive(Args, Debug, Clone)]
pub(crate) struct Target {
    /// Host and SCTP port
    #[arg(value_name = "HOST:PORT")]
    target: String,
    /// UDP port of the peer
    #[arg(long, value_name = "PORT", default_value_t = ENCAPSULATION_PORT)]
    peer_udp_port: u16,
}

impl Target {
    /// As [`resolve`].
    pub(crate) fn resolve(&self) -> Result<(Vec<SocketAddr>, u16), Failure> {
        resolve(&self.target, self.peer_udp_port)
    }
}

/// Addresses of `HOST:PORT`, where PORT is the SCTP port; those that are given have the UDP port.
pub(crate) fn resolve(target: &str, udp: u16) -> Result<(Vec<SocketAddr>, u16), Failure> {
    let wrong = |why: &str| Failure::wrong(format!("{target}: {why}"));
    let found = target.to_socket_addrs().map_err(|error| {
        wrong(&format!("write HOST:PORT, such as example.org:9000 or [::1]:9000 ({error})"))
    })?;
    let found: Vec<SocketAddr> = found.collect();
    let port = found.first().map(SocketAddr::port).ok_or_else(|| wrong("the name has no address"))?;
    if port == 0 {
        return Err(wrong("an SCTP port is 1 to 65535"));
    }
    Ok((found.into_iter().map(|at| SocketAddr::new(at.ip(), udp)).collect(), port))
}

/// Begins an association with the first address that answers.
pub(crate) async fn connect(
    network: &NetworkOptions,
    (addresses, port): (Vec<SocketAddr>, u16),
    local_port: u16,
) -> Result<(Endpoint, Association), Failure> {
    let mut last = Failure::failed("no address");
    for address in addresses {
        let endpoint = network.connecting(address, local_port)?;
        match endpoint.connect(address, port).await {
            Ok(association) => return Ok((endpoint, association)),
            Err(error) => {
                let udp = if network.raw { String::new() } else { format!(", UDP port {}", address.port()) };
                last = Failure::failed(format!("{}, SCTP port {port}{udp}: {error}", address.ip()));
            }
        }
    }
    Err(last)
}

/// A runtime whose drivers go on while this thread waits for standard output.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|error| Failure::failed(format!("cannot start a thread: {error}")))
}

/// When the end of standard input ends the association.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtEnd {
    /// Always.
    ShutDown,
    /// If there was something: a listener in the background has no standard input.
    ShutDownIfSent,
}

/// Serves one association as a pipe until it has ended, tells of it as the options say, and lets the last packets leave.
pub(crate) async fn serve_pipe(
    network: &NetworkOptions,
    endpoint: &Endpoint,
    association: Association,
    options: &PipeOptions,
    at_end: AtEnd,
) -> Result<(), Failure> {
    network.tell(|| format!("{} is here", name(&association)));
    let watcher = network.watch(&association);
    let interrupted = abort_when_interrupted(network, endpoint, &association)?;
    let progress = Progress::of_pipe(&association, options.shows_progress());
    let done = pipe(&association, options, at_end, &progress).await;
    progress.finish();
    if let Some(watcher) = watcher {
        let _ = watcher.await;
    }
    network.write_stats(&association)?;
    drop(association);
    endpoint.close(std::time::Duration::from_secs(1)).await;
    match interrupted.load(Ordering::Relaxed) {
        0 => done,
        code => Err(Failure { code, message: "interrupted".to_owned() }),
    }
}

/// Moves standard input to the peer and what comes from it to standard output, until the association has ended.
async fn pipe(
    association: &Association,
    options: &PipeOptions,
    at_end: AtEnd,
    progress: &Progress,
) -> Result<(), Failure> {
    if let Err(failure) = options.marks.give(association) {
        association.abort(b"a code point cannot be had");
        return Err(failure);
    }
    let sending = (!options.recv_only).then(|| {
        let input = read_input(options.message);
        tokio::spawn(send_input(association.clone(), options.clone(), input, at_end))
    });
    let mut out = std::io::stdout().lock();
    loop {
        let message = match association.recv().await {
            Ok(Some(message)) => message,
            Ok(None) => break,
            Err(Closed(reason)) => {
                return Err(Failure::failed(format!("the association has ended: {}", in_words(&reason))));
            }
        };
        if options.send_only {
            continue;
        }
        let written = progress.aside(|| {
            for piece in message.pieces() {
                out.write_all(piece)?;
            }
            // Who waits for an answer on a terminal or in a pipe sees it at once.
            out.flush()
        });
        if let Err(error) = written {
            association.abort(b"standard output is gone");
            return Err(Failure::printing(&error));
        }
    }
    let reason = association.closed().await;
    if reason != CloseReason::Graceful {
        return Err(Failure::failed(format!("the association has ended: {}", in_words(&reason))));
    }
    // It ends with the association.
    match sending {
        Some(sending) => sending.await.map_err(Failure::failed)?,
        None => Ok(()),
    }
}

/// Standard input in pieces, read by a thread of its own: nobody can wait for it and be dropped.
fn read_input(size: usize) -> mpsc::Receiver<std::io::Result<Bytes>> {
    let (sender, receiver) = mpsc::channel(4);
    std::thread::spawn(move || {
        let mut input = std::io::stdin().lock();
        let mut buffer = BytesMut::new();
        loop {
            buffer.resize(size, 0);
            let read = match input.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => {
                    let _ = sender.blocking_send(Err(error));
                    break;
                }
            };
            let message = buffer.split_to(read).freeze();
            if sender.blocking_send(Ok(message)).is_err() {
                break;
            }
        }
    });
    receiver
}

/// Sends what is read until it ends, or the association does. An error if something had been read then that the peer, who has ended in
/// order, did not wait for.
async fn send_input(
    association: Association,
    options: PipeOptions,
    mut input: mpsc::Receiver<std::io::Result<Bytes>>,
    at_end: AtEnd,
) -> Result<(), Failure> {
    let mut sent = false;
    loop {
        // What has been read comes first: at the end of the association it is looked at as well.
        let read = tokio::select! {
            biased;
            read = input.recv() => read,
            _ = association.closed() => return Ok(()),
        };
        let Some(read) = read else { break };
        let payload = match read {
            Ok(payload) => payload,
            Err(error) => {
                let _ = writeln!(std::io::stderr().lock(), "anabranch: standard input: {error}");
                // The peer must not take what has come for all of it.
                association.abort(b"the input cannot be read");
                return Ok(());
            }
        };
        let message = Message {
            ppid: options.ppid,
            unordered: options.unordered,
            ..Message::new(options.stream, payload)
        };
        match association.send(message).await {
            Ok(_) => sent = true,
            // What was taken before still arrives (9.2).
            Err(
                SendError::Closed(CloseReason::Graceful)
                | SendError::Refused(anabranch_sctp::SendError::Closing),
            ) => {
                let what = "the peer has ended the association: the rest of standard input was not sent";
                return Err(Failure::failed(what));
            }
            // The pipe tells why.
            Err(SendError::Closed(_)) => return Ok(()),
            Err(SendError::Refused(error)) => {
                let _ = writeln!(std::io::stderr().lock(), "anabranch: {error}");
                // The pipe waits for the end.
                association.abort(b"a message was refused");
                return Ok(());
            }
        }
    }
    if sent || at_end == AtEnd::ShutDown {
        // The pipe waits for the end.
        association.command(|association, now| {
            association.shutdown(now);
        });
    }
    Ok(())
}

/// Ctrl-C tells the peer, and ends the program as a shell expects it; in a task of its own, as standard output may block. Answers where
/// the exit code stands once that has happened, and 0 before.
fn abort_when_interrupted(
    network: &NetworkOptions,
    endpoint: &Endpoint,
    association: &Association,
) -> Result<Arc<AtomicU8>, Failure> {
    let mut interrupts = Interrupts::new()?;
    let (network, endpoint, association) = (network.clone(), endpoint.clone(), association.clone());
    let interrupted = Arc::new(AtomicU8::new(0));
    let told = Arc::clone(&interrupted);
    tokio::spawn(async move {
        let code = interrupts.next().await;
        told.store(code, Ordering::Relaxed);
        association.abort(b"interrupted");
        // The ABORT leaves as soon as the driver runs. Then the pipe ends by itself, unless standard output blocks.
        endpoint.close(std::time::Duration::from_millis(500)).await;
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        if let Err(failure) = network.recording.finish() {
            let _ = writeln!(std::io::stderr().lock(), "anabranch: {}", failure.message);
        }
        std::process::exit(code.into());
    });
    Ok(interrupted)
}
