//! The simulator as a Python module. No logic: text and columns go in and out.
#![forbid(unsafe_code)]

use pyo3::prelude::*;

/// Bindings of the simulator.
#[pymodule]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
