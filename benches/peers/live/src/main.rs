//! Driver of our own stack as programs use it: `anabranch-live`, with its task, its sockets, GSO and GRO. For measurements: the plan's
//! transfers and handshakes; the cases of the runner are for `anabranch`, the core on a plain socket.

use std::time::{Duration, Instant};

use anabranch_live::{Association, CloseReason, Endpoint, EndpointConfig, Message, default_association};
use peer::app::Source;
use peer::{Ending, Plan, Report, Role, Tally, report};

/// The SCTP port that WebRTC's stacks are fixed to.
const PORT: u16 = 5000;
/// IPv4 and UDP headers.
const HEADERS: u16 = 28;
/// Reasons that are told of associations that did not come up.
const MOST_NOTES: usize = 20;

/// The results so far.
struct Played {
    report: Report,
    sent: Tally,
    received: Tally,
    first: Option<Instant>,
    last: Option<Instant>,
}

impl Played {
    fn print(mut self, deadline: bool, cpu_at_start: u64) {
        let (cpu, rss) = report::usage();
        self.report.deadline = deadline;
        (self.report.sent, self.report.received) = (self.sent.count(), self.received.count());
        (self.report.cpu_ns, self.report.max_rss_kib) = (cpu - cpu_at_start, rss);
        if let (Some(first), Some(last)) = (self.first, self.last) {
            self.report.elapsed_ns = last.duration_since(first).as_nanos() as u64;
        }
        self.report.print();
    }
}

fn settings(plan: &Plan) -> EndpointConfig {
    let config = default_association().with(|c| {
        // Probes look for it, and find it within the first round trips.
        c.mtu = plan.mtu + HEADERS;
        c.path_mtu.base = c.path_mtu.base.min(c.mtu);
        c.streams.outbound = plan.streams.max(16);
        c.extensions.interleaving = plan.interleaving;
        if let Some(window) = plan.window {
            c.limits.receive_window = window as _;
        }
    });
    let busy_poll = Duration::from_micros(plan.busy_poll);
    EndpointConfig { busy_poll, ..EndpointConfig::on_port(PORT).with_association(config) }
}

/// Sends, reads, and ends one association as the plan has it.
async fn play(plan: &Plan, source: &Source, association: &Association, played: &mut Played) {
    for number in 0..plan.send {
        let stream = (number % u64::from(plan.streams)) as u16;
        let payload = source.message(number);
        let message = Message { unordered: plan.unordered, ..Message::new(stream, payload.clone()) };
        if association.send(message).await.is_err() {
            break;
        }
        played.sent.message(stream, &payload);
    }
    if plan.expect > 0 || plan.end == Ending::Wait {
        let before = played.received.messages;
        while let Ok(Some(message)) = association.recv().await {
            for piece in message.pieces() {
                played.received.part(message.stream, piece);
            }
            if message.is_end() {
                played.received.end();
            }
            if plan.end != Ending::Wait && played.received.messages - before >= plan.expect {
                break;
            }
        }
    }
    played.last = Some(Instant::now());
    match plan.end {
        Ending::Shutdown => {
            let _how = association.shutdown().await;
        }
        Ending::Abort => association.abort(b"enough"),
        Ending::Wait => {}
    }
    match association.closed().await {
        CloseReason::Graceful => played.report.graceful += 1,
        CloseReason::AbortedByPeer { .. } => played.report.aborted += 1,
        other => {
            played.report.lost += 1;
            played.report.notes.push(format!("{other:?}"));
        }
    }
    played.last = Some(Instant::now());
}

async fn all(plan: &Plan, endpoint: &Endpoint, source: &Source, played: &mut Played) {
    for _ in 0..plan.associations {
        let association = match plan.role {
            Role::Connect => endpoint.connect(plan.remote, PORT).await.map_err(|why| why.to_string()),
            Role::Listen => match endpoint.accept().await {
                Some(asks) => asks.accept().map_err(|why| why.to_string()),
                None => Err("the endpoint has ended".into()),
            },
        };
        let association = match association {
            Ok(association) => association,
            Err(why) => {
                played.report.lost += 1;
                if played.report.notes.len() < MOST_NOTES {
                    played.report.notes.push(why);
                }
                continue;
            }
        };
        played.report.established += 1;
        let now = Instant::now();
        played.first.get_or_insert(now);
        played.last = Some(now);
        play(plan, source, &association, played).await;
    }
}

async fn everything(plan: Plan) {
    let endpoint = match Endpoint::bind(&[plan.local], settings(&plan)) {
        Ok(endpoint) => endpoint,
        Err(why) => {
            eprintln!("{why}");
            std::process::exit(2);
        }
    };
    if plan.role == Role::Listen {
        endpoint.listen().expect("the configuration is valid");
    }
    println!("{{\"ready\":true}}");
    let cpu_at_start = report::usage().0;
    let mut played = Played {
        report: Report { stack: "live".into(), ..Report::default() },
        sent: Tally::new(plan.no_digest),
        received: Tally::new(plan.no_digest),
        first: None,
        last: None,
    };
    let source = Source::new(&plan);
    let ended = tokio::time::timeout(plan.patience(), all(&plan, &endpoint, &source, &mut played)).await;
    // The endpoint answers late packets of the last association until it is closed.
    endpoint.close(Duration::from_millis(200)).await;
    played.print(ended.is_err(), cpu_at_start);
}

fn main() {
    let plan = Plan::read();
    let why = match plan {
        Plan { reset: true, .. } | Plan { rtx: Some(_), .. } => Some("is for measurements"),
        Plan { zero_checksum: true, .. } => Some("there is no DTLS below"),
        _ if !plan.set.is_empty() || plan.pause > 0 || plan.until_up => Some("is for measurements"),
        _ => None,
    };
    if let Some(why) = why {
        return Report::print_cannot("live", why);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime needs no more than epoll").block_on(everything(plan));
}
