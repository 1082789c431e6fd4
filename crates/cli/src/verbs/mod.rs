//! One file for each verb.

pub(crate) mod check;
pub(crate) mod simulate;
