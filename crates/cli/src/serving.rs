//! Servers: any number of associations, each in a task of its own, until there were enough of them or Ctrl-C ends it all.

use std::future::Future;
use std::io::Write;
use std::time::Duration;

use anabranch_live::{Association, CloseReason, Endpoint, SendError, in_words};
use tokio::task::{JoinError, JoinSet};

use crate::failure::Failure;

/// How long peers have to agree to the end after Ctrl-C. A second Ctrl-C does not wait for them.
const PATIENCE: Duration = Duration::from_secs(2);

/// Interrupts of the user (Ctrl-C) or of a service manager (SIGTERM).
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

/// Answers that could not be sent. Where the send buffer is full an answer waits; a peer that has shut down, or is
/// gone, takes none.
#[derive(Debug, Default)]
pub(crate) struct Unsent {
    messages: u64,
    bytes: u64,
    why: Option<SendError>,
}

impl Unsent {
    /// An answer of so many bytes was tried.
    pub(crate) fn note<T>(&mut self, bytes: usize, tried: Result<T, SendError>) {
        if let Err(error) = tried {
            self.messages += 1;
            self.bytes += bytes as u64;
            self.why.get_or_insert(error);
        }
    }

    /// In a sentence, if there are any.
    pub(crate) fn in_words(&self) -> Option<String> {
        let why = match self.why.as_ref()? {
            SendError::Refused(anabranch_sctp::SendError::Closing)
            | SendError::Closed(CloseReason::Graceful) => "the peer had shut the association down".to_owned(),
            SendError::Closed(reason) => format!("the association had ended: {}", in_words(reason)),
            refused @ SendError::Refused(_) => refused.to_string(),
        };
        let (messages, bytes) = (self.messages, self.bytes);
        let (s, were) = if messages == 1 { ("", "was") } else { ("s", "were") };
        Some(format!("{messages} message{s} of {bytes} bytes in all {were} not sent back, as {why}"))
    }
}

/// Accepts every peer that asks, and serves it. An association that does not end as it should is reported as it ends,
/// and is an error in the end.
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
    let mut failed = 0;
    while left > 0 || !running.is_empty() {
        tokio::select! {
            incoming = endpoint.accept(), if left > 0 => {
                let Some(incoming) = incoming else { break };
                // A peer that has given up meanwhile does not count.
                if let Ok(association) = incoming.accept() {
                    left -= 1;
                    running.spawn(serve(association));
                }
            }
            Some(done) = running.join_next() => failed += report(done),
            code = interrupts.next() => return end_early(endpoint, running, interrupts, code).await,
        }
    }
    endpoint.close(Duration::from_secs(1)).await;
    match failed {
        0 => Ok(()),
        // Each has said why.
        _ => Err(Failure::failed("")),
    }
}

/// Ends all associations in order, so that each peer may send the rest of its data.
async fn end_early(
    endpoint: &Endpoint,
    mut running: JoinSet<Result<(), Failure>>,
    mut interrupts: Interrupts,
    code: u8,
) -> Result<(), Failure> {
    tokio::select! {
        () = endpoint.close(PATIENCE) => {
            // The ends of the associations are reported as well.
            let rest = async {
                while let Some(done) = running.join_next().await {
                    report(done);
                }
            };
            let _ = tokio::time::timeout(PATIENCE, rest).await;
        }
        _ = interrupts.next() => {}
    }
    Err(Failure { code, message: "interrupted".to_owned() })
}

/// Tells of an association that did not end as it should; how many these are.
fn report(done: Result<Result<(), Failure>, JoinError>) -> usize {
    let message = match done {
        Ok(Ok(())) => return 0,
        Ok(Err(failure)) => failure.message,
        Err(error) => format!("an association is not served any more: {error}"),
    };
    // Nothing can be done when standard error is closed.
    let _ = writeln!(std::io::stderr().lock(), "anabranch: {message}");
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_sent_is_counted_and_said_why() {
        let mut unsent = Unsent::default();
        unsent.note(5, Ok(()));
        assert_eq!(unsent.in_words(), None);
        unsent.note::<()>(7, Err(anabranch_sctp::SendError::Closing.into()));
        let text = "1 message of 7 bytes in all was not sent back, as the peer had shut the association down";
        assert_eq!(unsent.in_words().as_deref(), Some(text));
        unsent.note::<()>(8, Err(SendError::Closed(CloseReason::Graceful)));
        let text =
            "2 messages of 15 bytes in all were not sent back, as the peer had shut the association down";
        assert_eq!(unsent.in_words().as_deref(), Some(text));
    }
}
