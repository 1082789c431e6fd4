//! `anabranch engines`: the profiles of each protocol, every value that `options` may set, and the sources that have neither.

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
    text.push_str("without a transport\n  protocols and keys of traffic:\n");
    for (name, keys) in anabranch_sim::scenario::PacketSource::PROTOCOLS {
        text.push_str(&format!("    {name}: {}\n", keys.join(", ")));
    }
    std::io::stdout().lock().write_all(text.as_bytes()).map_err(|error| Failure::printing(&error))
}
