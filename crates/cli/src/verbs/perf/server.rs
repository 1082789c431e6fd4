//! The server: counts the data it receives, and sends back messages that ask for it.

use std::io::Write;

use anabranch_live::{Association, CloseReason, Closed, Message, SendError, Vantage};
use bytes::Bytes;
use clap::Args;
use serde_json::json;
use tokio::task::JoinHandle;

use super::common::{MEASURED, PORT, Request, Sender, cpu_seconds, kind, retransmissions};
use crate::ending;
use crate::failure::Failure;
use crate::live::{self, NetworkOptions};
use crate::serving::{self, Interrupts, Unsent};
use crate::stopwatch::Stopwatch;

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// SCTP port
    #[arg(short, long, value_name = "PORT", default_value_t = PORT)]
    port: u16,
    /// End after so many clients
    #[arg(long, value_name = "N")]
    count: Option<usize>,
    #[command(flatten)]
    network: NetworkOptions,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let runtime = live::runtime()?;
    let done = runtime.block_on(async {
        arguments.network.recording.begin(Vantage::Server).await?;
        let interrupts = Interrupts::new()?;
        let endpoint = arguments.network.listening(arguments.port)?;
        let at: Vec<String> = endpoint.local_addresses().iter().map(ToString::to_string).collect();
        say(&format!("listening on SCTP port {}, UDP {}", endpoint.port(), at.join(", ")));
        serving::serve_all(&endpoint, interrupts, arguments.count, |association| {
            let network = arguments.network.clone();
            async move {
                let name = live::name(&association);
                say(&format!("{name}: begins"));
                let _watcher = network.watch(&association);
                let Served { bytes, sent, seconds, reason, unsent } = serve(&association).await;
                let rate = live::rate(bytes as f64 * 8.0 / seconds.max(1e-9));
                let amount = live::amount(bytes as f64);
                let measured = has_measured(&reason);
                let end =
                    if measured { "the client has measured".to_owned() } else { ending::in_words(&reason) };
                let sent = sent.map_or(String::new(), |sent| {
                    format!(
                        ", {} sent, {}",
                        live::amount(sent.bytes as f64),
                        retransmissions(Some(sent.retransmits))
                    )
                });
                say(&format!("{name}: {amount} in {seconds:.2} s, {rate}{sent}; {end}"));
                let written = network.write_stats(&association);
                if measured {
                    return written;
                }
                let said: Vec<String> = unsent
                    .in_words()
                    .into_iter()
                    .chain([end])
                    .chain(written.err().map(|failure| failure.message))
                    .collect();
                Err(Failure::failed(format!("{name}: {}", said.join("; "))))
            }
        })
        .await
    });
    done.and(arguments.network.recording.finish())
}

fn say(what: &str) {
    // Nothing can be done when standard output is closed.
    let _ = writeln!(std::io::stdout().lock(), "{what}");
}

/// A client that has all it wants shuts down, or aborts with these words where that takes too long.
fn has_measured(reason: &CloseReason) -> bool {
    match reason {
        CloseReason::Graceful => true,
        CloseReason::AbortedByPeer { reason: Some(said), .. } => said.0 == MEASURED,
        _ => false,
    }
}

/// The totals of one client.
struct Served {
    bytes: u64,
    /// The counts as a sender, if the client asked the server to send.
    sent: Option<Sender>,
    seconds: f64,
    reason: CloseReason,
    /// Answers that the client did not take.
    unsent: Unsent,
}

/// Serves one association, until the client ends it.
async fn serve(association: &Association) -> Served {
    let (watch, cpu) = (Stopwatch::start(), cpu_seconds());
    let (mut bytes, mut messages) = (0u64, 0u64);
    let (mut unsent, mut flooding) = (Unsent::default(), None);
    let mut reverse = false;
    let reason = loop {
        let message = match association.recv().await {
            Ok(Some(message)) => message,
            Ok(None) => break association.closed().await,
            Err(Closed(reason)) => break reason,
        };
        match message.ppid {
            kind::ECHO => {
                let len = message.len();
                let back = Message { ppid: kind::ECHO, ..Message::new(message.stream, message.into_bytes()) };
                unsent.note(len, association.send(back).await);
            }
            kind::END => {
                if let Some(flooding) = flooding.take() {
                    stop(association, flooding).await;
                }
                let told = json!({
                    "bytes": bytes,
                    "messages": messages,
                    "seconds": watch.seconds(),
                    "cpu_seconds": cpu_seconds() - cpu,
                    "sender": sent_by(association, reverse),
                });
                let told = told.to_string();
                let len = told.len();
                let back = Message { ppid: kind::END, ..Message::new(0, told) };
                unsent.note(len, association.send(back).await);
            }
            kind::REVERSE => {
                let wanted = request(&message.into_bytes());
                reverse = true;
                flooding.get_or_insert_with(|| tokio::spawn(flood(association.clone(), wanted)));
            }
            _ => {
                bytes += message.len() as u64;
                messages += u64::from(message.is_end());
            }
        }
    };
    Served { bytes, sent: sent_by(association, reverse), seconds: watch.seconds(), reason, unsent }
}

fn sent_by(association: &Association, reverse: bool) -> Option<Sender> {
    Sender::of(association).filter(|_| reverse)
}

/// Reads a client's request to send.
fn request(text: &[u8]) -> Request {
    let message = || std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).unwrap_or(1 << 14);
    serde_json::from_slice(text).unwrap_or_else(|_| Request { message: message(), interval: f64::INFINITY })
}

/// Sends nothing new any more, and waits until all has arrived, so that the counts are complete.
async fn stop(association: &Association, flooding: JoinHandle<()>) {
    flooding.abort();
    let dry = association.until(|core| {
        let stats = core.snapshot().stats;
        (stats.queued_bytes + stats.flight == 0).then_some(())
    });
    tokio::select! {
        _ = dry => {}
        _ = association.closed() => {}
    }
}

/// Sends, and reports its counts, until it is stopped or the association ends. A message that is refused for another
/// reason ends the association, because the client would wait for ever.
async fn flood(association: Association, Request { message, interval }: Request) {
    let payload = Bytes::from(vec![0x5a; message.clamp(1, 1 << 20)]);
    // Two reports in each interval, so that at least one arrives in each although it waits in the send buffer.
    let step = (interval / 2.0).max(0.01);
    let (watch, mut due) = (Stopwatch::start(), step);
    loop {
        let mut next = Message::new(0, payload.clone());
        if watch.seconds() >= due {
            due += step;
            let told = Sender::of(&association).and_then(|sent| serde_json::to_vec(&sent).ok());
            next = told.map_or(next, |told| Message { ppid: kind::REPORT, ..Message::new(0, told) });
        }
        match association.send(next).await {
            Ok(_) => {}
            Err(SendError::Closed(_) | SendError::Refused(anabranch_sctp::SendError::Closing)) => return,
            Err(SendError::Refused(error)) => {
                let said = error.to_string();
                let name = live::name(&association);
                let _ = writeln!(std::io::stderr().lock(), "anabranch: {name}: {said}");
                return association.abort(said.as_bytes());
            }
        }
    }
}
