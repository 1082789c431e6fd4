//! One file for each verb.

pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod connect;
pub(crate) mod decode;
pub(crate) mod doctor;
pub(crate) mod engines;
pub(crate) mod listen;
pub(crate) mod pattern;
pub(crate) mod perf;
pub(crate) mod ping;
pub(crate) mod script;
pub(crate) mod simulate;
