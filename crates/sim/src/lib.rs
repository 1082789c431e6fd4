//! Virtual time: a scenario says what a network and its hosts are, the world runs it.
#![forbid(unsafe_code)]

pub mod scenario;
