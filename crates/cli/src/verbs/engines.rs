//! `anabranch engines`: the profiles of each protocol, and every value that `options` may set.

use std::io::Write;

use clap::Args;

use crate::failure::Failure;

/// Nothing to say.
#[derive(Args, Debug)]
pub(crate) struct Arguments {}

pub(crate) fn run(_: &Arguments) -> Result<(), Failure> {
    let mut text = String::from("sctp\n  engines:\n");
    for name in anabranch_sctp::Config::PROFILES {
        text.push_str(&format!("    {name}\n"));
    }
    text.push_str("  options:\n");
    for key in anabranch_sctp::Config::keys() {
        text.push_str(&format!("    {}: {}; {}\n", key.name, key.doc, key.expected));
    }
    text.push_str("tcp\n  engines:\n");
    for (name, about) in anabranch_tcp::PROFILES {
        text.push_str(&format!("    {name}: {about}\n"));
    }
    text.push_str("  options:\n");
    for key in anabranch_tcp::Config::keys() {
        text.push_str(&format!("    {}: {}; {}\n", key.name, key.doc.trim_end_matches('.'), key.allowed));
    }
    std::io::stdout().lock().write_all(text.as_bytes()).map_err(|error| Failure::printing(&error))
}
