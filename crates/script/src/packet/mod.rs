//! Chunks, both ways.

pub(crate) mod build;
pub(crate) mod check;
pub(crate) mod decode;
pub(crate) mod flags;
pub(crate) mod identity;
mod shapes;
