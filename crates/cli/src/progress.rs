//! How far a transfer is, on a terminal, while it goes on.

use std::sync::Arc;
use std::time::Duration;

use anabranch_live::Association;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::amounts;
use crate::half_close::HalfClose;
use crate::stopwatch::Stopwatch;

/// Time between two updates of the line.
const EVERY: Duration = Duration::from_millis(250);

/// A line on standard error, or nothing.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Draws the bytes that an association sends and receives until [`Progress::finish`], without the marks of a half-close.
    pub(crate) fn of_pipe(
        association: &Association,
        half_close: Option<Arc<HalfClose>>,
        shown: bool,
    ) -> Self {
        if !shown {
            return Self { bar: None };
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
            // Every terminal and every locale has these.
            bar.set_style(style.tick_chars("-\\|/ "));
        }
        let (line, association) = (bar.clone(), association.clone());
        tokio::spawn(async move {
            let watch = Stopwatch::start();
            let (mut before, mut at) = (0, 0.0);
            while !line.is_finished() {
                tokio::time::sleep(EVERY).await;
                let Some(stats) = association.snapshot().map(|all| all.stats) else { break };
                let counted = (stats.payload_bytes_unique, stats.payload_bytes_received_new);
                let (sent, came) =
                    half_close.as_ref().map_or(counted, |ends| ends.without_marks(counted.0, counted.1));
                let now = watch.seconds();
                let rate = (sent + came).saturating_sub(before) as f64 * 8.0 / (now - at).max(1e-9);
                (before, at) = (sent + came, now);
                let trip = stats
                    .srtt
                    .map_or(String::new(), |trip| format!(", round trip {:.1} ms", trip.as_secs_f64() * 1e3));
                line.set_message(format!(
                    "{now:.0} s: {} sent, {} received, {}{trip}",
                    amounts::amount(sent as f64),
                    amounts::amount(came as f64),
                    amounts::rate(rate)
                ));
                line.tick();
            }
        });
        Self { bar: Some(bar) }
    }

    /// Does something that may write to the terminal.
    pub(crate) fn aside<R>(&self, write: impl FnOnce() -> R) -> R {
        match &self.bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    /// Takes the line away.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
