//! `anabranch listen PORT`: waits for an association, and is the other end of `anabranch connect`.

use anabranch_live::{Association, CloseReason, Closed, Endpoint, Message, Vantage, in_words};
use clap::Args;

use crate::ending;
use crate::failure::Failure;
use crate::half_close::{self, Mark};
use crate::live::{self, NetworkOptions};
use crate::opening;
use crate::pipe::{self, AtEnd, PipeOptions};
use crate::serving::{self, Interrupts, Unsent};

/// The options of `anabranch listen`.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// SCTP port
    #[arg(value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    port: u16,
    /// Send every message back, and serve any number of associations
    #[arg(long)]
    echo: bool,
    /// With --echo: end after so many associations
    #[arg(long, value_name = "N", requires = "echo")]
    count: Option<usize>,
    #[command(flatten)]
    pipe: PipeOptions,
    #[command(flatten)]
    network: NetworkOptions,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let runtime = live::runtime()?;
    let done = runtime.block_on(async {
        arguments.network.recording.begin(Vantage::Server).await?;
        // Set before the announcement of the port, so that a reader of it can interrupt the program at once.
        let interrupts = Interrupts::new()?;
        let network = arguments.network.with_adaptation(half_close::CODE_POINT);
        let endpoint = network.listening(arguments.port)?;
        arguments.network.tell(|| {
            let at: Vec<String> = endpoint.local_addresses().iter().map(ToString::to_string).collect();
            let over = if arguments.network.raw { "IP" } else { "UDP" };
            format!("SCTP port {} on {over} {}", endpoint.port(), at.join(", "))
        });
        if arguments.echo {
            echo_all(arguments, &endpoint, interrupts).await
        } else {
            pipe_one(arguments, &endpoint, interrupts).await
        }
    });
    let recorded = arguments.network.recording.finish();
    // A thread may still wait for standard input.
    runtime.shutdown_background();
    done.and(recorded)
}

/// Serves the first peer that comes, and refuses others.
async fn pipe_one(
    arguments: &Arguments,
    endpoint: &Endpoint,
    mut interrupts: Interrupts,
) -> Result<(), Failure> {
    let association = loop {
        let incoming = tokio::select! {
            incoming = endpoint.accept() => incoming,
            code = interrupts.next() => return Err(Failure { code, message: "interrupted".to_owned() }),
        };
        let Some(incoming) = incoming else {
            return Err(Failure::failed("the endpoint has ended"));
        };
        // A peer that has given up meanwhile leaves the place to the next.
        if let Ok(association) = incoming.accept() {
            break association;
        }
    };
    let others = tokio::spawn(refuse_others(endpoint.clone()));
    let pipe = &arguments.pipe;
    let done = pipe::serve(&arguments.network, endpoint, association, pipe, AtEnd::ShutDownIfSent).await;
    others.abort();
    done
}

/// Refuses further peers with the reason.
async fn refuse_others(endpoint: Endpoint) {
    while let Some(incoming) = endpoint.accept().await {
        incoming.refuse(opening::BUSY);
    }
}

async fn echo_all(arguments: &Arguments, endpoint: &Endpoint, interrupts: Interrupts) -> Result<(), Failure> {
    serving::serve_all(endpoint, interrupts, arguments.count, |association| {
        let network = arguments.network.clone();
        let (send_only, marks) = (arguments.pipe.send_only, arguments.pipe.marks.clone());
        async move {
            network.tell(|| format!("{} is here", live::name(&association)));
            let watcher = network.watch(&association);
            // A peer that lets us have fewer streams is no reason to end the others.
            if let Err(failure) = marks.give(&association) {
                network.tell(|| format!("{}: {}", live::name(&association), failure.message));
            }
            let mut unsent = Unsent::default();
            let marks = half_close::is_agreed(&association);
            let ended = if send_only {
                swallow(&association, marks).await
            } else {
                echo(&association, marks, &mut unsent).await
            };
            let reason = match ended {
                Ok(()) => association.closed().await,
                Err(Closed(reason)) => reason,
            };
            if let Some(watcher) = watcher {
                let _ = watcher.await;
            }
            let name = live::name(&association);
            network.tell(|| format!("{name}: {}", in_words(&reason)));
            let written = network.write_stats(&association);
            let (unsent, whole) = (unsent.in_words(), reason == CloseReason::Graceful);
            if whole && unsent.is_none() {
                return written;
            }
            // Messages that were accepted and not delivered are lost as well when the end is not an orderly one.
            let ended = (!whole).then(|| ending::in_words(&reason));
            let said: Vec<String> =
                unsent.into_iter().chain(ended).chain(written.err().map(|failure| failure.message)).collect();
            Err(Failure::failed(format!("{name}: {}", said.join("; "))))
        }
    })
    .await
}

/// Sends every received message back. `unsent` counts the messages that could not be sent.
async fn echo(association: &Association, marks: bool, unsent: &mut Unsent) -> Result<(), Closed> {
    while let Some(message) = association.recv().await? {
        if let Some(mark) = half_close::mark(&message).filter(|_| marks) {
            answer(association, mark).await;
            continue;
        }
        let (stream, ppid, unordered) = (message.stream, message.ppid, message.unordered);
        // A peer may have more streams than it lets us have.
        let stream = if stream < association.outbound_streams() { stream } else { 0 };
        let payload = message.into_bytes();
        let len = payload.len();
        let back = Message { ppid, unordered, ..Message::new(stream, payload) };
        // Waits while there is no room, and reads no more meanwhile. After a shutdown no message is accepted (RFC 9260,
        // 9.2).
        unsent.note(len, association.send(back).await);
    }
    Ok(())
}

async fn swallow(association: &Association, marks: bool) -> Result<(), Closed> {
    while let Some(message) = association.recv().await? {
        if let Some(mark) = half_close::mark(&message).filter(|_| marks) {
            answer(association, mark).await;
        }
    }
    Ok(())
}

/// All is back, or thrown away: nothing more comes from here either.
async fn answer(association: &Association, mark: Mark) {
    if mark == Mark::End {
        // If it has ended meanwhile, its end tells why.
        let _ = half_close::send_end(association, 0).await;
        let _ = half_close::send_written(association, 0).await;
    }
}
