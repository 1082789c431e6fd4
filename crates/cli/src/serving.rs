//! Servers: any number of associations, each in a task of its own, until there were enough of them or Ctrl-C ends it all.

use std::future::Future;
use std::io::Write;
use std::time::Duration;

use anabranch_live::{Association, Endpoint};
use tokio::task::JoinSet;

use crate::failure::Failure;

/// How long peers have to agree to the end after Ctrl-C. A second Ctrl-C does not wait for them.
const PATIENCE: Duration = Duration::from_secs(2);

/// Ctrl-C, or what a service manager sends.
#[derive(Debug)]
pub(crate) struct Interrupts {
    #[cfg(unix)]
    signals: [(tokio::signal::unix::Signal, u8); 2],
}

impl Interrupts {
    /// From now on the program does not end by itself.
    pub(crate) fn new() -> Result<Self, Failure> {
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            let of = |kind: SignalKind, code: u8| {
                signal(kind)
                    .map(|signal| (signal, code))
                    .map_err(|error| Failure::failed(format!("signals: {error}")))
            };
            Ok(Self { signals: [of(SignalKind::interrupt(), 130)?, of(SignalKind::terminate(), 143)?] })
        }
        #[cfg(not(unix))]
        Ok(Self {})
    }

    /// Waits for the next; answers the exit code that a shell expects.
    pub(crate) async fn next(&mut self) -> u8 {
        #[cfg(unix)]
        {
            let [(interrupt, one), (terminate, other)] = &mut self.signals;
            tokio::select! {
                _ = interrupt.recv() => *one,
                _ = terminate.recv() => *other,
            }
        }
        #[cfg(not(unix))]
        {
            let _ = tokio::signal::ctrl_c().await;
            130
        }
    }
}

/// Lets in whoever asks, and serves them.
pub(crate) async fn serve_all<S, F>(
    endpoint: &Endpoint,
    mut interrupts: Interrupts,
    count: Option<usize>,
    serve: S,
) -> Result<(), Failure>
where
    S: Fn(Association) -> F,
    F: Future<Output = Result<(), Failure>> + Send + 'static,
{
    let mut left = count.unwrap_or(usize::MAX);
    let mut running = JoinSet::new();
    while left > 0 || !running.is_empty() {
        tokio::select! {
            incoming = endpoint.accept(), if left > 0 => {
                let Some(incoming) = incoming else { break };
                // Who has given up meanwhile does not count.
                if let Ok(association) = incoming.accept() {
                    left -= 1;
                    running.spawn(serve(association));
                }
            }
            Some(done) = running.join_next() => report(done.ok()),
            code = interrupts.next() => return end_early(endpoint, running, interrupts, code).await,
        }
    }
    endpoint.close(Duration::from_secs(1)).await;
    Ok(())
}

/// Everybody is told, and may send the rest of what was under way.
async fn end_early(
    endpoint: &Endpoint,
    mut running: JoinSet<Result<(), Failure>>,
    mut interrupts: Interrupts,
    code: u8,
) -> Result<(), Failure> {
    tokio::select! {
        () = endpoint.close(PATIENCE) => {
            // What they have to say about their end is said.
            let rest = async {
                while let Some(done) = running.join_next().await {
                    report(done.ok());
                }
            };
            let _ = tokio::time::timeout(PATIENCE, rest).await;
        }
        _ = interrupts.next() => {}
    }
    Err(Failure { code, message: "interrupted".to_owned() })
}

fn report(done: Option<Result<(), Failure>>) {
    if let Some(Err(failure)) = done {
        let _ = writeln!(std::io::stderr().lock(), "anabranch: {}", failure.message);
    }
}
