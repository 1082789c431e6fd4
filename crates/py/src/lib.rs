//! The simulator as a Python module. No logic: a scenario goes in as text, a summary comes out as JSON and a trace as
//! columns of bytes that pyarrow wraps without copying them again.
#![forbid(unsafe_code)]
#![allow(clippy::needless_pass_by_value, reason = "what Python passes is converted, so it is owned")]

mod columns;
mod endpoint;
mod pair;

use pyo3::prelude::*;

/// Bindings of the simulator.
#[pymodule(gil_used = false)]
mod _core {
    use super::columns;
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

    use anabranch_sim::scenario::{Scenario, Selection};
    use anabranch_sim::{Attached, RunError};
    use pyo3::exceptions::{PyInterruptedError, PyRuntimeError, PyValueError};
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::endpoint::Endpoint;
    #[pymodule_export]
    use crate::pair::Pair;

    /// Ends runs from another thread, and tells how far they are.
    #[pyclass(frozen, module = "anabranch._core")]
    struct Watch {
        stop: Arc<AtomicBool>,
        at: Arc<AtomicU64>,
    }

    #[pymethods]
    impl Watch {
        /// Lets runs go on.
        #[new]
        fn new() -> Self {
            Self { stop: Arc::new(AtomicBool::new(false)), at: Arc::new(AtomicU64::new(0)) }
        }

        /// Every run that has this watch ends within a moment, with InterruptedError.
        fn stop(&self) {
            self.stop.store(true, Ordering::Relaxed);
        }

        /// Virtual time of the run that looked last, ns.
        #[getter]
        fn now_ns(&self) -> u64 {
            self.at.load(Ordering::Relaxed)
        }
    }

    /// The scenario in a text; files that it names lie in `folder`, and there are none where there is no folder.
    fn read(
        scenario: &str,
        origin: &str,
        overrides: &[(String, String)],
        folder: Option<&str>,
    ) -> PyResult<Scenario> {
        let files = |name: &str| match folder {
            Some(folder) => {
                std::fs::read_to_string(Path::new(folder).join(name)).map_err(|error| error.to_string())
            }
            None => Err("a scenario that is not a file cannot name files".to_owned()),
        };
        Scenario::from_toml_with(scenario, origin, overrides, &files)
            .map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// The results of a run.
    #[pyclass(frozen, module = "anabranch._core")]
    struct Outcome {
        /// The summary as JSON, as `anabranch simulate --json` prints it for one seed.
        #[pyo3(get)]
        summary: String,
        /// The trace, column by column: name, type, length, bytes, validity bits or None, names or None.
        #[pyo3(get)]
        columns: Vec<columns::Column>,
        /// The capture as a pcapng file, if the scenario records one.
        #[pyo3(get)]
        pcapng: Option<Py<pyo3::types::PyBytes>>,
    }

    /// Runs a scenario, the text of a TOML file, with one seed. Other threads of Python go on meanwhile.
    ///
    /// `overrides` are paths and values set over the text, such as `("link.bottleneck.rate", "3 Mbit/s")`. With `trace`
    /// and `pcap` the run keeps the records that the scenario's `[record]` asks for. `watch` can end it. Raises ValueError when the
    /// scenario is wrong, InterruptedError when the watch has ended it.
    #[pyfunction]
    #[pyo3(signature = (
        scenario, seed, *, overrides = Vec::new(), trace = false, pcap = false, origin = "scenario", folder = None,
        watch = None
    ))]
    #[allow(clippy::too_many_arguments, reason = "in Python they have names")]
    fn simulate(
        py: Python<'_>,
        scenario: &str,
        seed: u64,
        overrides: Vec<(String, String)>,
        trace: bool,
        pcap: bool,
        origin: &str,
        folder: Option<&str>,
        watch: Option<&Watch>,
    ) -> PyResult<Outcome> {
        let watched = watch.map(|watch| (Arc::clone(&watch.stop), Arc::clone(&watch.at)));
        let output = py.detach(|| {
            let scenario = read(scenario, origin, &overrides, folder)?;
            let mut record = scenario.record.clone();
            if !trace {
                record.trace = Selection::None;
                record.queue_interval = None;
                record.sample = None;
                record.packets = Selection::None;
            }
            if !pcap {
                record.pcap = Selection::None;
            }
            let mut goes_on = |now: anabranch_base::Instant| match &watched {
                Some((stop, at)) => {
                    at.store(now.as_nanos(), Ordering::Relaxed);
                    !stop.load(Ordering::Relaxed)
                }
                None => true,
            };
            #[allow(clippy::needless_update, reason = "whatever else may be attached has no part here")]
            let attached = Attached { watcher: Some(&mut goes_on), ..Attached::default() };
            anabranch_sim::run_attached(&scenario, seed, &record, attached).map_err(|error| match error {
                RunError::Stuck { .. } | RunError::Capture(_) => {
                    PyRuntimeError::new_err(format!("{origin}: {error}"))
                }
                RunError::Stopped { .. } => PyInterruptedError::new_err(format!("{origin}: {error}")),
                _ => PyValueError::new_err(format!("{origin}: {error}")),
            })
        })?;
        let summary = serde_json::to_string(&output.summary)
            .map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        Ok(Outcome {
            summary,
            columns: match &output.trace {
                Some(trace) => columns::all(py, trace)?,
                None => Vec::new(),
            },
            pcapng: output.pcapng.map(|file| pyo3::types::PyBytes::new(py, &file).unbind()),
        })
    }

    /// Checks a scenario without running it. Raises ValueError with the first thing that is wrong.
    #[pyfunction]
    #[pyo3(signature = (scenario, *, overrides = Vec::new(), origin = "scenario", folder = None))]
    fn check(
        py: Python<'_>,
        scenario: &str,
        overrides: Vec<(String, String)>,
        origin: &str,
        folder: Option<&str>,
    ) -> PyResult<()> {
        py.detach(|| {
            let scenario = read(scenario, origin, &overrides, folder)?;
            anabranch_sim::check(&scenario)
                .map_err(|error| PyValueError::new_err(format!("{origin}: {error}")))
        })
    }

    /// Names of the profiles of SCTP.
    #[pyfunction]
    fn profiles() -> Vec<&'static str> {
        anabranch_sctp::Config::PROFILES.to_vec()
    }

    /// Every option of a profile with its value, as scenario files have them.
    #[pyfunction]
    fn options(profile: &str) -> PyResult<Vec<(&'static str, String)>> {
        let config = anabranch_sctp::Config::named(profile)
            .ok_or_else(|| PyValueError::new_err(format!("no profile `{profile}`")))?;
        let keys = anabranch_sctp::Config::keys().iter();
        Ok(keys.filter_map(|key| Some((key.name, config.get(key.name)?))).collect())
    }

    /// Whether every association is watched for the formal properties: one that is broken ends the run with an exception.
    #[pyfunction]
    fn watched() -> bool {
        anabranch_sctp::properties::WATCHED
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
