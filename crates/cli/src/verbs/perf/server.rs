//! The server: counts what comes, and sends back what asks for it.

use std::io::Write;

use anabranch_live::{Association, Closed, Message, Vantage, in_words};
use bytes::Bytes;
use clap::Args;
use serde_json::json;

use super::common::{PORT, Stopwatch, cpu_seconds, kind};
use crate::failure::Failure;
use crate::live::{self, NetworkOptions};
use crate::serving::{self, Interrupts};

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
                let (bytes, seconds, reason) = serve(&association).await;
                let rate = live::rate(bytes as f64 * 8.0 / seconds.max(1e-9));
                say(&format!("{name}: {} in {seconds:.2} s, {rate}; {reason}", live::amount(bytes as f64)));
                network.write_stats(&association)
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

/// Until the client ends. Answers how much came in how long.
async fn serve(association: &Association) -> (u64, f64, String) {
    let (watch, cpu) = (Stopwatch::start(), cpu_seconds());
    let (mut bytes, mut messages) = (0u64, 0u64);
    let reason = loop {
        let message = match association.recv().await {
            Ok(Some(message)) => message,
            Ok(None) => break in_words(&association.closed().await),
            Err(Closed(reason)) => break in_words(&reason),
        };
        match message.ppid {
            kind::ECHO => {
                let back = Message { ppid: kind::ECHO, ..Message::new(message.stream, message.into_bytes()) };
                let _ = association.send(back).await;
            }
            kind::END => {
                let told = json!({
                    "bytes": bytes,
                    "messages": messages,
                    "seconds": watch.seconds(),
                    "cpu_seconds": cpu_seconds() - cpu,
                });
                let back = Message { ppid: kind::END, ..Message::new(0, told.to_string().into()) };
                let _ = association.send(back).await;
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
    (bytes, watch.seconds(), reason)
}

async fn flood(association: Association, size: usize) {
    let payload = Bytes::from(vec![0x5a; size.clamp(1, 1 << 20)]);
    while association.send(payload.clone()).await.is_ok() {}
}
