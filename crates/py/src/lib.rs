//! The simulator as a Python module. No logic: a scenario goes in as text, a summary comes out as JSON and a trace as
//! columns of bytes that pyarrow wraps without copying them again.
#![forbid(unsafe_code)]
#![allow(clippy::needless_pass_by_value, reason = "what Python passes is converted, so it is owned")]

mod columns;

use pyo3::prelude::*;

/// Bindings of the simulator.
#[pymodule(gil_used = false)]
mod _core {
    use super::columns;
    use anabranch_sim::scenario::{Scenario, Selection};
    use pyo3::exceptions::{PyRuntimeError, PyValueError};
    use pyo3::prelude::*;

    /// The results of a run.
    #[pyclass(frozen, module = "anabranch_lab._core")]
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
    /// and `pcap` the run keeps what the scenario's `[record]` asks for. Raises ValueError when the scenario is wrong.
    #[pyfunction]
    #[pyo3(signature = (scenario, seed, *, overrides = Vec::new(), trace = false, pcap = false, origin = "scenario"))]
    fn simulate(
        py: Python<'_>,
        scenario: &str,
        seed: u64,
        overrides: Vec<(String, String)>,
        trace: bool,
        pcap: bool,
        origin: &str,
    ) -> PyResult<Outcome> {
        let output = py.detach(|| {
            let scenario = Scenario::from_toml(scenario, origin, &overrides)
                .map_err(|error| PyValueError::new_err(error.to_string()))?;
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
            anabranch_sim::run(&scenario, seed, &record)
                .map_err(|error| PyValueError::new_err(format!("{origin}: {error}")))
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
    #[pyo3(signature = (scenario, *, overrides = Vec::new(), origin = "scenario"))]
    fn check(py: Python<'_>, scenario: &str, overrides: Vec<(String, String)>, origin: &str) -> PyResult<()> {
        py.detach(|| {
            let scenario = Scenario::from_toml(scenario, origin, &overrides)
                .map_err(|error| PyValueError::new_err(error.to_string()))?;
            anabranch_sim::check(&scenario)
                .map_err(|error| PyValueError::new_err(format!("{origin}: {error}")))
        })
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
