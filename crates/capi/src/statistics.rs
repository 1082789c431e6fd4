//! Counters and gauges by name.

use std::ffi::{CString, c_char};
use std::sync::OnceLock;

use anabranch_sctp::Stats;

use crate::status::{Failure, Status};

static NAMES: OnceLock<Vec<CString>> = OnceLock::new();

/// Returns the name of the counter or gauge `number`, counted from 0; null if there are fewer. The text belongs to the library, and
/// stays valid. docs/reference/results.md explains each name; values whose names end in `_ns` are times in nanoseconds.
#[unsafe(no_mangle)]
pub extern "C" fn anabranch_statistic_name(number: usize) -> *const c_char {
    let names = NAMES.get_or_init(|| {
        Stats::default().named().map(|(name, _)| CString::new(name).unwrap_or_default()).collect()
    });
    names.get(number).map_or(std::ptr::null(), |name| name.as_ptr())
}

/// The value of the counter or gauge `name`: none if it has no sample, an error if no counter has this name.
pub(crate) fn value(stats: &Stats, name: &str) -> Result<Option<u64>, Failure> {
    let found = stats.named().find(|(known, _)| *known == name);
    found.map(|(_, value)| value).ok_or_else(|| {
        Failure::new(
            Status::ErrorArgument,
            format!("there is no counter `{name}`: anabranch_statistic_name lists them"),
        )
    })
}
