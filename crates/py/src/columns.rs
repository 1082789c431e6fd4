//! Columns of a trace as bytes in the layout of Arrow: little-endian values, validity as one bit a value.

use anabranch_sim::Columns;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Name, type, length, bytes, validity bits (None: all valid), names of a dictionary (None: plain numbers).
pub(crate) type Column =
    (&'static str, &'static str, usize, Py<PyBytes>, Option<Py<PyBytes>>, Option<Vec<String>>);

/// A number that has a layout in Arrow.
trait Value: Copy {
    const TYPE: &'static str;
    const SIZE: usize;
    fn put(self, to: &mut [u8]);
}

macro_rules! value {
    ($($type:ty = $name:literal),+) => { $(
        impl Value for $type {
            const TYPE: &'static str = $name;
            const SIZE: usize = size_of::<Self>();
            fn put(self, to: &mut [u8]) {
                to.copy_from_slice(&self.to_le_bytes());
            }
        }
    )+ };
}

value!(u8 = "u8", u16 = "u16", u32 = "u32", u64 = "u64");

/// Every column of a trace.
pub(crate) fn all(py: Python<'_>, trace: &Columns) -> PyResult<Vec<Column>> {
    let kinds = Columns::kinds().into_iter().map(str::to_owned).collect();
    let reasons = Columns::reasons().into_iter().map(str::to_owned).collect();
    Ok(vec![
        plain(py, "time_ns", &trace.time_ns)?,
        named(py, "entity", &trace.entity, trace.entities.clone(), None)?,
        named(py, "kind", &trace.kind, kinds, None)?,
        named(py, "flow", &trace.flow, trace.flows.clone(), Some(Columns::NO_FLOW))?,
        plain(py, "subflow", &trace.subflow)?,
        plain(py, "path", &trace.path)?,
        named(py, "reason", &trace.reason, reasons, None)?,
        plain(py, "seq", &trace.seq)?,
        plain(py, "size", &trace.size)?,
        plain(py, "a", &trace.a)?,
        plain(py, "b", &trace.b)?,
        plain(py, "c", &trace.c)?,
    ])
}

fn plain<T: Value>(py: Python<'_>, name: &'static str, values: &[T]) -> PyResult<Column> {
    Ok((name, T::TYPE, values.len(), bytes(py, values)?, None, None))
}

fn named<T: Value + PartialEq>(
    py: Python<'_>,
    name: &'static str,
    values: &[T],
    names: Vec<String>,
    none: Option<T>,
) -> PyResult<Column> {
    let validity = match none {
        Some(none) if values.contains(&none) => Some(validity(py, values, none)?),
        _ => None,
    };
    Ok((name, T::TYPE, values.len(), bytes(py, values)?, validity, Some(names)))
}

fn bytes<T: Value>(py: Python<'_>, values: &[T]) -> PyResult<Py<PyBytes>> {
    let fill = |to: &mut [u8]| {
        to.chunks_exact_mut(T::SIZE).zip(values).for_each(|(to, value)| value.put(to));
        Ok(())
    };
    Ok(PyBytes::new_with(py, values.len() * T::SIZE, fill)?.unbind())
}

fn validity<T: Value + PartialEq>(py: Python<'_>, values: &[T], none: T) -> PyResult<Py<PyBytes>> {
    let fill = |to: &mut [u8]| {
        for (to, values) in to.iter_mut().zip(values.chunks(8)) {
            *to =
                values.iter().enumerate().fold(0, |bits, (i, value)| bits | (u8::from(*value != none) << i));
        }
        Ok(())
    };
    Ok(PyBytes::new_with(py, values.len().div_ceil(8), fill)?.unbind())
}
