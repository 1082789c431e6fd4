//! One file for each verb.

pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod decode;
pub(crate) mod engines;
pub(crate) mod pattern;
pub(crate) mod script;
pub(crate) mod simulate;
