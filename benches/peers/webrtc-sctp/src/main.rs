//! Driver of webrtc-sctp, the older stack of webrtc-rs, on tokio.

mod wire;

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use peer::app::Source;
use peer::{Ending, Plan, Report, Role, Tally, report};
use tokio::net::UdpSocket;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use webrtc_sctp::association::{Association, Config};
use webrtc_sctp::chunk::chunk_payload_data::PayloadProtocolIdentifier;
use webrtc_sctp::stream::{ReliabilityType, Stream};

use wire::Wire;

/// The stack has no limit for queued messages: this much is enough for all streams together.
const SEND_BUFFER: usize = 1 << 20;
/// Largest message that is read.
const ROOM: usize = 1 << 20;

/// The state that all associations and tasks share.
struct Shared {
    plan: Plan,
    source: Source,
    sent: Mutex<Tally>,
    received: Mutex<Tally>,
    report: Mutex<Report>,
    times: Mutex<(Option<Instant>, Option<Instant>)>,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn touch(&self) {
        lock(&self.times).1 = Some(Instant::now());
    }

    fn note(&self, what: String) {
        let mut report = lock(&self.report);
        if report.notes.len() < 20 {
            report.notes.push(what);
        }
    }

    fn received_messages(&self) -> u64 {
        lock(&self.received).messages
    }

    fn print(&self, deadline: bool, cpu_at_start: u64) {
        let mut report = lock(&self.report).clone();
        let (cpu, rss) = report::usage();
        report.stack = "webrtc-sctp".into();
        report.deadline = deadline;
        report.sent = lock(&self.sent).count();
        report.received = lock(&self.received).count();
        (report.cpu_ns, report.max_rss_kib) = (cpu - cpu_at_start, rss);
        if let (Some(first), Some(last)) = *lock(&self.times) {
            report.elapsed_ns = last.duration_since(first).as_nanos() as u64;
        }
        report.print();
    }
}

/// One association, and its readers.
struct Live {
    shared: Arc<Shared>,
    association: Association,
    from: Instant,
    streams: tokio::sync::Mutex<HashMap<u16, Arc<Stream>>>,
    readers: Mutex<Vec<JoinHandle<()>>>,
}

impl Live {
    fn read(&self, stream: Arc<Stream>) {
        let (shared, from) = (Arc::clone(&self.shared), self.from);
        let reader = tokio::spawn(async move {
            // A sleep of no time takes a millisecond, and the association may have ended by then.
            let pause = from.saturating_duration_since(Instant::now());
            if !pause.is_zero() {
                sleep(pause).await;
            }
            let mut room = vec![0; ROOM];
            loop {
                match stream.read(&mut room).await {
                    Ok(0) => break,
                    Ok(len) => {
                        lock(&shared.received).message(stream.stream_identifier(), &room[..len]);
                        shared.touch();
                    }
                    Err(error) => {
                        shared.note(format!("read: {error}"));
                        break;
                    }
                }
            }
        });
        lock(&self.readers).push(reader);
    }

    async fn stream(&self, id: u16) -> Result<Arc<Stream>, webrtc_sctp::Error> {
        let mut streams = self.streams.lock().await;
        if let Some(stream) = streams.get(&id) {
            return Ok(Arc::clone(stream));
        }
        let stream = match self.association.open_stream(id, PayloadProtocolIdentifier::Binary).await {
            // The other side was faster: the loop that accepts streams enters it in a moment.
            Err(webrtc_sctp::Error::ErrStreamAlreadyExist) => {
                drop(streams);
                sleep(Duration::from_millis(1)).await;
                return Box::pin(self.stream(id)).await;
            }
            stream => stream?,
        };
        self.read(Arc::clone(&stream));
        streams.insert(id, Arc::clone(&stream));
        Ok(stream)
    }

    async fn write(&self) -> Result<(), webrtc_sctp::Error> {
        let plan = &self.shared.plan;
        let limit = SEND_BUFFER / usize::from(plan.streams);
        let (kind, value) = match plan.rtx {
            Some(rtx) => (ReliabilityType::Rexmit, u32::from(rtx)),
            None => (ReliabilityType::Reliable, 0),
        };
        for number in 0..plan.send {
            let id = (number % u64::from(plan.streams)) as u16;
            let stream = self.stream(id).await?;
            stream.set_reliability_params(plan.unordered, kind, value);
            while stream.buffered_amount() > limit {
                sleep(Duration::from_micros(200)).await;
            }
            let message = self.shared.source.message(number);
            stream.write(&message).await?;
            lock(&self.shared.sent).message(id, &message);
            self.shared.touch();
        }
        Ok(())
    }

    /// The stack's shutdown waits for data in flight, not for queued data, so the queue is awaited here.
    async fn flush(&self) {
        for stream in self.streams.lock().await.values() {
            while stream.buffered_amount() > 0 {
                sleep(Duration::from_millis(1)).await;
            }
        }
    }

    async fn play(&self, before: u64) {
        let plan = &self.shared.plan;
        if let Err(error) = self.write().await {
            return self.shared.note(format!("write: {error}"));
        }
        while self.shared.received_messages() - before < plan.expect {
            sleep(Duration::from_millis(1)).await;
        }
        if plan.end == Ending::Shutdown {
            if !plan.at_once {
                self.flush().await;
            }
            if let Err(error) = self.association.shutdown().await {
                self.shared.note(format!("shutdown: {error}"));
            }
        }
    }
}

async fn one(shared: &Arc<Shared>, socket: &Arc<UdpSocket>) {
    let plan = &shared.plan;
    let wire = Arc::new(Wire::new(Arc::clone(socket), plan.remote));
    let config = Config {
        net_conn: Arc::clone(&wire) as _,
        max_receive_buffer_size: plan.window.unwrap_or(0),
        max_message_size: 1 << 20,
        mtu: u32::from(plan.mtu),
        name: String::new(),
        remote_port: 5000,
        local_port: 5000,
    };
    let before = shared.received_messages();
    let association = match plan.role {
        Role::Connect => Association::client(config).await,
        Role::Listen => Association::server(config).await,
    };
    let association = match association {
        Ok(association) => association,
        Err(error) => {
            lock(&shared.report).lost += 1;
            return shared.note(format!("handshake: {error}"));
        }
    };
    let now = Instant::now();
    lock(&shared.report).established += 1;
    lock(&shared.times).0.get_or_insert(now);
    shared.touch();
    if plan.until_up {
        shared.print(false, 0);
        // Late packets of the handshake are answered until the caller closes standard input.
        let input =
            tokio::task::spawn_blocking(|| std::io::copy(&mut std::io::stdin(), &mut std::io::sink()));
        let _ended = input.await;
        std::process::exit(0);
    }
    let live = Arc::new(Live {
        shared: Arc::clone(shared),
        association,
        from: now + Duration::from_millis(plan.pause),
        streams: tokio::sync::Mutex::default(),
        readers: Mutex::default(),
    });
    let player = tokio::spawn({
        let live = Arc::clone(&live);
        async move { live.play(before).await }
    });
    loop {
        // The stack does not tell the side that began the shutdown of its end: the packets show it.
        let over = || wire.aborted.load(Ordering::SeqCst) || wire.completed.load(Ordering::SeqCst);
        let accepted = tokio::time::timeout(Duration::from_millis(5), live.association.accept_stream()).await;
        match accepted {
            Ok(Some(stream)) => {
                live.streams.lock().await.insert(stream.stream_identifier(), Arc::clone(&stream));
                live.read(stream);
            }
            Ok(None) => break,
            Err(_) if over() => break,
            Err(_) => {}
        }
    }
    player.abort();
    // Received messages are still read.
    sleep(Duration::from_millis(20)).await;
    let _closed = live.association.close().await;
    for reader in lock(&live.readers).drain(..) {
        reader.abort();
    }
    let mut report = lock(&shared.report);
    let end = match (wire.aborted.load(Ordering::SeqCst), wire.completed.load(Ordering::SeqCst)) {
        (true, _) => &mut report.aborted,
        (_, true) => &mut report.graceful,
        _ => &mut report.lost,
    };
    *end += 1;
}

async fn everything(plan: Plan) {
    let socket = Arc::new(UdpSocket::bind(plan.local).await.expect("the local address is free"));
    println!("{{\"ready\":true}}");
    let patience = plan.patience();
    let shared = Arc::new(Shared {
        source: Source::new(&plan),
        sent: Mutex::new(Tally::new(plan.no_digest)),
        received: Mutex::new(Tally::new(plan.no_digest)),
        report: Mutex::default(),
        times: Mutex::default(),
        plan,
    });
    let cpu_at_start = report::usage().0;
    let all = async {
        for _ in 0..shared.plan.associations {
            one(&shared, &socket).await;
        }
    };
    let late = tokio::time::timeout(patience, all).await.is_err();
    shared.print(late, cpu_at_start);
}

fn main() {
    let plan = Plan::read();
    let why = match plan.end {
        Ending::Abort => Some("has no call that aborts: close() tells the peer nothing"),
        _ if plan.reset => Some("does not tell when a reset of its own is done"),
        _ => None,
    };
    if let Some(why) = why {
        return Report::print_cannot("webrtc-sctp", why);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime needs no more than epoll").block_on(everything(plan));
    std::process::exit(0);
}
