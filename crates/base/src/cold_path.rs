//! A mark for the compiler.

/// Marks the path it stands on as seldom taken: its code goes out of line, behind the function, so that the common path stays together in the
/// processor's code cache (docs/performance.md).
#[cold]
#[inline]
pub const fn cold_path() {}
