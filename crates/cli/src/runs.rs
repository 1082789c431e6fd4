//! Runs a scenario for many seeds on several threads. Each run is alone in its thread and knows nothing of the
//! others, so what comes out does not depend on how many there are.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};

use anabranch_sim::scenario::{Record, Scenario};
use anabranch_sim::{RunError, RunOutput};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::failure::Failure;

/// How often a waiting program looks whether it has been interrupted.
const GLANCE: std::time::Duration = std::time::Duration::from_millis(100);

/// Runs every seed and gives each result to `finished`, in whatever order they end; `index` is the place of the seed
/// in the scenario.
///
/// # Errors
/// When a run fails, when `finished` does, and after Ctrl-C: runs that have not ended are given up.
pub(crate) fn all(
    scenario: &Scenario,
    record: &Record,
    threads: usize,
    mut finished: impl FnMut(usize, RunOutput) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let wanted = scenario.seeds.len();
    let interrupted = Arc::new(AtomicBool::new(false));
    let heard = Arc::clone(&interrupted);
    // The second Ctrl-C does not wait for anything.
    let handler = ctrlc::set_handler(move || {
        if heard.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
    });
    handler.map_err(|error| Failure::failed(format!("cannot listen for Ctrl-C: {error}")))?;

    let progress = progress(wanted);
    let shared = Arc::new((scenario.clone(), record.clone(), AtomicUsize::new(0), AtomicBool::new(false)));
    let (give, take) = mpsc::sync_channel::<(usize, Result<RunOutput, RunError>)>(threads);
    for _ in 0..threads.clamp(1, wanted.max(1)) {
        let (shared, give) = (Arc::clone(&shared), give.clone());
        // Not a scoped thread: a run that is given up must not be waited for.
        std::thread::spawn(move || {
            let (scenario, record, next, stop) = &*shared;
            while !stop.load(Ordering::SeqCst) {
                let index = next.fetch_add(1, Ordering::SeqCst);
                let Some(&seed) = scenario.seeds.get(index) else { break };
                if give.send((index, anabranch_sim::run(scenario, seed, record))).is_err() {
                    break;
                }
            }
        });
    }
    drop(give);
    let mut done = 0;
    let outcome = loop {
        if interrupted.load(Ordering::SeqCst) {
            break Err(Failure::interrupted(done, wanted));
        }
        match take.recv_timeout(GLANCE) {
            Ok((index, Ok(output))) => {
                if let Err(failure) = finished(index, output) {
                    break Err(failure);
                }
                done += 1;
                progress.inc(1);
            }
            Ok((index, Err(error))) => {
                let seed = scenario.seeds.get(index).copied().unwrap_or_default();
                break Err(Failure::failed(format!("seed {seed}: {error}")));
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) if done == wanted => break Ok(()),
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                break Err(Failure::failed("a run came to a sudden end"));
            }
        }
    };
    shared.3.store(true, Ordering::SeqCst);
    progress.finish_and_clear();
    outcome
}

/// A bar on standard error when that is a terminal, else nothing.
fn progress(runs: usize) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(runs as u64), ProgressDrawTarget::stderr());
    let style = "{bar:40} {pos}/{len} runs, {elapsed}, {eta} left";
    bar.set_style(ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar()));
    if !bar.is_hidden() {
        bar.enable_steady_tick(std::time::Duration::from_millis(500));
    }
    bar
}
