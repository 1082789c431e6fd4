//! A mark for the compiler.

/// Says that the way it stands on is seldom taken: its code goes out of line, behind the function, so that the common way stays together in
/// the processor's code cache (docs/performance.md).
#[cold]
#[inline]
pub const fn rare() {}
