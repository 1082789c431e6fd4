//! One association as a pipe: standard input goes to the peer, received messages go to standard output.

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use anabranch_live::{Association, CloseReason, Closed, Endpoint, Message, SendError};
use clap::Args;

use crate::ending;
use crate::failure::Failure;
use crate::half_close::{self, HalfClose, Mark};
use crate::input::Input;
use crate::live::{NetworkOptions, name, size};
use crate::marks::Marks;
use crate::progress::Progress;
use crate::serving::Interrupts;

/// The messages to send and receive, and their sizes, streams and order.
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
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = ppid)]
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

fn ppid(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(half_close::PPID) => {
            Err(format!("{} says that an input has ended: choose another", half_close::PPID))
        }
        Ok(ppid) => Ok(ppid),
        Err(_) => Err(format!("a number of 0 to {}", u32::MAX)),
    }
}

impl PipeOptions {
    /// Whether progress is shown: not where the input is typed or the output appears on a terminal, as the user sees it
    /// move there.
    fn shows_progress(&self) -> bool {
        let read = self.recv_only || !std::io::stdin().is_terminal();
        let written = self.send_only || !std::io::stdout().is_terminal();
        std::io::stderr().is_terminal() && !self.no_progress && read && (written || !self.recv_only)
    }
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
pub(crate) async fn serve(
    network: &NetworkOptions,
    endpoint: &Endpoint,
    association: Association,
    options: &PipeOptions,
    at_end: AtEnd,
) -> Result<(), Failure> {
    network.tell(|| format!("{} is here", name(&association)));
    let watcher = network.watch(&association);
    let interrupted = abort_when_interrupted(network, endpoint, &association)?;
    let half_close = half_close::is_agreed(&association).then(Arc::<HalfClose>::default);
    let progress = Progress::of_pipe(&association, half_close.clone(), options.shows_progress());
    let done = pipe(&association, options, at_end, half_close, &progress).await;
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

/// Moves standard input to the peer and the peer's messages to standard output, until the association has ended.
async fn pipe(
    association: &Association,
    options: &PipeOptions,
    at_end: AtEnd,
    half_close: Option<Arc<HalfClose>>,
    progress: &Progress,
) -> Result<(), Failure> {
    if let Err(failure) = options.marks.give(association) {
        association.abort(b"a code point cannot be had");
        return Err(failure);
    }
    let sending = if options.recv_only {
        // With nothing to send, this side ends its direction at once.
        half_close.clone().map(|ends| tokio::spawn(end_input(association.clone(), options.clone(), ends)))
    } else {
        let input = Input::read(options.message);
        let ends = half_close.clone();
        Some(tokio::spawn(send_input(association.clone(), options.clone(), input, at_end, ends)))
    };
    let mut out = std::io::stdout().lock();
    loop {
        let message = match association.recv().await {
            Ok(Some(message)) => message,
            Ok(None) => break,
            Err(Closed(reason)) => {
                return Err(Failure::failed(ending::in_words(&reason)));
            }
        };
        if let Some((ends, mark)) =
            half_close.as_ref().and_then(|ends| Some((ends, half_close::mark(&message)?)))
        {
            if mark == Mark::End {
                tokio::spawn(answer_end(association.clone(), options.stream, Arc::clone(ends)));
            }
            ends.hear(association, mark);
            continue;
        }
        if options.send_only {
            continue;
        }
        let written = progress.aside(|| {
            for piece in message.pieces() {
                out.write_all(piece)?;
            }
            // Flushed for each message, so that a reader on a terminal or in a pipe sees it at once.
            out.flush()
        });
        if let Err(error) = written {
            association.abort(b"standard output is gone");
            return Err(Failure::printing(&error));
        }
    }
    let reason = association.closed().await;
    if reason != CloseReason::Graceful {
        return Err(Failure::failed(ending::in_words(&reason)));
    }
    // The sending task ends with the association.
    match sending {
        Some(sending) => sending.await.map_err(Failure::failed)?,
        None => Ok(()),
    }
}

/// Time after the end of the peer's input after which the user is told that their own is still open.
const OPEN_INPUT: Duration = Duration::from_secs(2);

/// Tells the peer, which has sent all, that all is written: in a task of its own, as the send buffer may have no room before
/// more was read. If the user's own input stays open, the user is told so.
async fn answer_end(association: Association, stream: u16, ends: Arc<HalfClose>) {
    // If it has ended meanwhile the pipe tells why.
    let _ = ends.answer(&association, stream).await;
    tokio::select! {
        () = tokio::time::sleep(OPEN_INPUT) => {}
        _ = association.closed() => return,
    }
    if !ends.ends().ours {
        let what = "the peer has sent all; this side goes on until standard input ends (Ctrl-D on a terminal; --recv-only reads none)";
        let _ = writeln!(std::io::stderr().lock(), "anabranch: {what}");
    }
}

/// Tells the peer that nothing more comes from here.
async fn end_input(
    association: Association,
    options: PipeOptions,
    ends: Arc<HalfClose>,
) -> Result<(), Failure> {
    // If it has ended meanwhile the pipe tells why.
    let _ = ends.end_ours(&association, options.stream).await;
    Ok(())
}

/// The peer ended in order, and did not wait for all input.
fn not_sent() -> Failure {
    let what =
        "the peer has ended the association: the rest of standard input was not sent; let that side end last";
    Failure::failed(what)
}

/// Sends the input until it ends, or the association does. An error if there was input that a peer did not wait for,
/// although it ended in order.
async fn send_input(
    association: Association,
    options: PipeOptions,
    mut input: Input,
    at_end: AtEnd,
    half_close: Option<Arc<HalfClose>>,
) -> Result<(), Failure> {
    let mut sent = false;
    // A terminal on which nothing was typed needs no end of input: the user only listens to a transfer.
    let idle = async |sent: bool| match &half_close {
        Some(ends) if !sent && std::io::stdin().is_terminal() => ends.peers_ended().await,
        _ => std::future::pending().await,
    };
    loop {
        // Input that was read before the association ended comes first: the pipe looks at it even then.
        let read = tokio::select! {
            biased;
            read = input.next() => read,
            reason = association.closed() => {
                let unsent = reason == CloseReason::Graceful && input.has_more().await;
                return if unsent { Err(not_sent()) } else { Ok(()) };
            }
            () = idle(sent) => None,
        };
        let Some(read) = read else { break };
        let payload = match read {
            Ok(payload) => payload,
            Err(error) => {
                let _ = writeln!(std::io::stderr().lock(), "anabranch: standard input: {error}");
                // Aborts, so that the peer does not take the data so far for the whole.
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
            // Messages accepted before the shutdown still arrive (RFC 9260, 9.2).
            Err(
                SendError::Closed(CloseReason::Graceful)
                | SendError::Refused(anabranch_sctp::SendError::Closing),
            ) => return Err(not_sent()),
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
    if let Some(ends) = half_close {
        return end_input(association, options, ends).await;
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
        association.abort(ending::INTERRUPTED);
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
