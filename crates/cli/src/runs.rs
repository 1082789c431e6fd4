//! Runs a scenario for many seeds on several threads. Each run is alone in its thread and knows nothing of the
//! others, so the results do not depend on the number of threads.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};

use anabranch_base::Instant;
use anabranch_sim::scenario::{Record, Scenario};
use anabranch_sim::{Attached, RunError, RunOutput};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::captures::{Begun, CapturePlan};
use crate::failure::Failure;

/// How often a waiting program looks whether it has been interrupted.
const GLANCE: std::time::Duration = std::time::Duration::from_millis(100);
/// So many of these runs that are given up have to take their unfinished files away.
const CLEARING: u32 = 20;

/// The state that the threads share.
struct Shared {
    scenario: Scenario,
    record: Record,
    capture: Option<CapturePlan>,
    /// Place of the seed that is to be run next.
    next: AtomicUsize,
    /// No more runs are wanted.
    stop: AtomicBool,
    /// Virtual time that has passed in all runs together, nanoseconds.
    passed: AtomicU64,
}

/// The reason why a run has no result.
enum NoRun {
    Run(RunError),
    File(Failure),
}

impl Shared {
    fn run(&self, seed: u64) -> Result<RunOutput, NoRun> {
        let begun = self.capture.as_ref().map(|plan| plan.begin(seed)).transpose().map_err(NoRun::File)?;
        let (begun, capture) = begun.unzip();
        let mut last = 0;
        let mut watcher = |now: Instant| {
            let now = now.as_nanos();
            self.passed.fetch_add(now - last, Ordering::Relaxed);
            last = now;
            !self.stop.load(Ordering::Relaxed)
        };
        let attached = Attached { capture, watcher: Some(&mut watcher), snapshots: true };
        let output =
            anabranch_sim::run_attached(&self.scenario, seed, &self.record, attached).map_err(|error| {
                match begun.as_ref().and_then(Begun::failure) {
                    Some(failure) => NoRun::File(failure),
                    None => NoRun::Run(error),
                }
            })?;
        self.passed.fetch_add(self.scenario.duration.as_nanos() - last, Ordering::Relaxed);
        begun.map_or(Ok(()), Begun::keep).map_err(NoRun::File)?;
        Ok(output)
    }
}

/// Runs every seed and gives each result to `finished`, in the order in which the runs end; `index` is the place of the seed
/// in the scenario. Captures are written as runs go on.
///
/// # Errors
/// When a run fails, when `finished` does, and after Ctrl-C: runs that have not ended are given up.
pub(crate) fn all(
    scenario: &Scenario,
    record: &Record,
    threads: usize,
    capture: Option<CapturePlan>,
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

    let whole = scenario.duration.as_nanos().saturating_mul(wanted as u64);
    let progress = progress(whole);
    let shared = Arc::new(Shared {
        scenario: scenario.clone(),
        record: record.clone(),
        capture,
        next: AtomicUsize::new(0),
        stop: AtomicBool::new(false),
        passed: AtomicU64::new(0),
    });
    let (give, take) = mpsc::sync_channel::<(usize, Result<RunOutput, NoRun>)>(threads);
    for _ in 0..threads.clamp(1, wanted.max(1)) {
        let (shared, give) = (Arc::clone(&shared), give.clone());
        // Not a scoped thread: a run that is given up must not be waited for.
        std::thread::spawn(move || {
            while !shared.stop.load(Ordering::SeqCst) {
                let index = shared.next.fetch_add(1, Ordering::SeqCst);
                let Some(&seed) = shared.scenario.seeds.get(index) else { break };
                if give.send((index, shared.run(seed))).is_err() {
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
        if !progress.is_hidden() {
            progress.set_position(shared.passed.load(Ordering::Relaxed));
            progress.set_message(format!("{done} of {wanted} runs"));
        }
        match take.recv_timeout(GLANCE) {
            Ok((index, Ok(output))) => {
                if let Err(failure) = finished(index, output) {
                    break Err(failure);
                }
                done += 1;
            }
            Ok((_, Err(NoRun::File(failure)))) => break Err(failure),
            Ok((index, Err(NoRun::Run(error)))) => {
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
    shared.stop.store(true, Ordering::SeqCst);
    if outcome.is_err() {
        // Runs look up soon; their unfinished captures go with them. One that does not is not waited for.
        let mut patience = CLEARING;
        while patience > 0 {
            match take.recv_timeout(GLANCE) {
                Ok(_given_up) => {}
                Err(mpsc::RecvTimeoutError::Timeout) => patience -= 1,
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
            }
        }
    }
    progress.finish_and_clear();
    outcome
}

/// A bar of virtual time on standard error when that is a terminal, else nothing.
fn progress(whole: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(whole), ProgressDrawTarget::stderr());
    let style = "{wide_bar} {percent} % of virtual time, {msg}, {elapsed}, {eta} left";
    bar.set_style(ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar()));
    if !bar.is_hidden() {
        bar.enable_steady_tick(std::time::Duration::from_millis(500));
    }
    bar
}
