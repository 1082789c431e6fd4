//! The server: counts what comes, and sends back what asks for it.

use std::io::Write;

use anabranch_live::{Association, CloseReason, Closed, Message, SendError, Vantage, in_words};
use bytes::Bytes;
use clap::Args;
use serde_json::json;

use super::common::{MEASURED, PORT, Stopwatch, cpu_seconds, kind};
use crate::failure::Failure;
use crate::live::{self, NetworkOptions};
use crate::serving::{self, Interrupts, Unsent};

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
                let Served { bytes, seconds, reason, unsent } = serve(&association).await;
                let rate = live::rate(bytes as f64 * 8.0 / seconds.max(1e-9));
                let amount = live::amount(bytes as f64);
                say(&format!("{name}: {amount} in {seconds:.2} s, {rate}; {}", in_words(&reason)));
                let written = network.write_stats(&association);
                match unsent.in_words() {
                    Some(unsent) if !has_measured(&reason) => {
                        let also = written.err().map(|failure| format!("; {}", failure.message));
                        Err(Failure::failed(format!("{name}: {unsent}{}", also.unwrap_or_default())))
                    }
                    _ => written,
                }
            }
        })
        .await
    });
    done.and(arguments.network.recording.finish())
}

fn say(what: &str) {
    // Who does not want to read it has closed it.
    let _ = writeln!(std::io::stdout().lock(), "{what}");
}

/// A client that has all it wants aborts, whatever is under way.
fn has_measured(reason: &CloseReason) -> bool {
    let CloseReason::AbortedByPeer { reason: Some(said), .. } = reason else { return false };
    said.0 == MEASURED
}

/// What one client had.
struct Served {
    bytes: u64,
    seconds: f64,
    reason: CloseReason,
    /// Answers that the client did not take.
    unsent: Unsent,
}

/// Until the client ends.
async fn serve(association: &Association) -> Served {
    let (watch, cpu) = (Stopwatch::start(), cpu_seconds());
    let (mut bytes, mut messages) = (0u64, 0u64);
    let mut unsent = Unsent::default();
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
                let told = json!({
                    "bytes": bytes,
                    "messages": messages,
                    "seconds": watch.seconds(),
                    "cpu_seconds": cpu_seconds() - cpu,
                });
                let told = told.to_string();
                let len = told.len();
                let back = Message { ppid: kind::END, ..Message::new(0, told.into()) };
                unsent.note(len, association.send(back).await);
            }
            kind::REVERSE => {
                let size = String::from_utf8_lossy(&message.into_bytes()).parse().unwrap_or(1 << 14);
                tokio::spawn(flood(association.clone(), size));
            }
            _ => {
                bytes += message.len() as u64;
                messages += u64::from(message.is_end());
            }
        }
    };
    Served { bytes, seconds: watch.seconds(), reason, unsent }
}

/// Sends until the client ends the association. What is refused for another reason ends it: the client would wait for ever.
async fn flood(association: Association, size: usize) {
    let payload = Bytes::from(vec![0x5a; size.clamp(1, 1 << 20)]);
    loop {
        match association.send(payload.clone()).await {
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
