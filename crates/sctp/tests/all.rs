//! Every test of this folder in one program, which is compiled and linked once: sixty programs took most of the time of
//! `cargo test`. A new file is a line here, begins with `use crate::common;` (or `network`), and is run by itself with
//! `cargo test -p anabranch-sctp --test all NAME::`. Files that `make soak` and `make exhaustive` run for long, and the golden
//! set, are programs of their own (Cargo.toml).
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;
#[allow(dead_code, reason = "every test file uses its own part of the harness")]
mod network;

#[path = "abandonment_at_losses.rs"]
mod abandonment_at_losses;
#[path = "accept.rs"]
mod accept;
#[path = "adaptation.rs"]
mod adaptation;
#[path = "attacks_data.rs"]
mod attacks_data;
#[path = "attacks_endpoint.rs"]
mod attacks_endpoint;
#[path = "attacks_handshake.rs"]
mod attacks_handshake;
#[path = "attacks_messages.rs"]
mod attacks_messages;
#[path = "attacks_shutdown.rs"]
mod attacks_shutdown;
#[path = "attacks_tags.rs"]
mod attacks_tags;
#[path = "backpressure.rs"]
mod backpressure;
#[path = "black_hole.rs"]
mod black_hole;
#[path = "control_probe.rs"]
mod control_probe;
#[path = "cookies.rs"]
mod cookies;
#[path = "data.rs"]
mod data;
#[path = "documentation.rs"]
mod documentation;
#[path = "driver.rs"]
mod driver;
#[path = "ecn.rs"]
mod ecn;
#[path = "encapsulation.rs"]
mod encapsulation;
#[path = "ending.rs"]
mod ending;
#[path = "extremes.rs"]
mod extremes;
#[path = "fates.rs"]
mod fates;
#[path = "forward_tsn.rs"]
mod forward_tsn;
#[path = "forward_tsn_model.rs"]
mod forward_tsn_model;
#[path = "fragments.rs"]
mod fragments;
#[path = "handshake.rs"]
mod handshake;
#[path = "heartbeats.rs"]
mod heartbeats;
#[path = "hostile.rs"]
mod hostile;
#[path = "icmp.rs"]
mod icmp;
#[path = "interface.rs"]
mod interface;
#[path = "interleaving.rs"]
mod interleaving;
#[path = "late_cookies.rs"]
mod late_cookies;
#[path = "lies.rs"]
mod lies;
#[path = "limits.rs"]
mod limits;
#[path = "linux61.rs"]
mod linux61;
#[path = "mtu_search.rs"]
mod mtu_search;
#[path = "one_subflow.rs"]
mod one_subflow;
#[path = "out_of_the_blue.rs"]
mod out_of_the_blue;
#[path = "owed_events.rs"]
mod owed_events;
#[path = "pacing.rs"]
mod pacing;
#[path = "pacing_lanes.rs"]
mod pacing_lanes;
#[path = "partial_delivery.rs"]
mod partial_delivery;
#[path = "path_mtu.rs"]
mod path_mtu;
#[path = "ports.rs"]
mod ports;
#[path = "pr_negotiation.rs"]
mod pr_negotiation;
#[path = "pr_sending.rs"]
mod pr_sending;
#[path = "quirks.rs"]
mod quirks;
#[path = "rack.rs"]
mod rack;
#[path = "rate_hostile.rs"]
mod rate_hostile;
#[path = "receiving.rs"]
mod receiving;
#[path = "reconfig.rs"]
mod reconfig;
#[path = "reneging.rs"]
mod reneging;
#[path = "rfc.rs"]
mod rfc;
#[path = "room.rs"]
mod room;
#[path = "scripted_peer.rs"]
mod scripted_peer;
#[path = "selected_gaps.rs"]
mod selected_gaps;
#[path = "sentences.rs"]
mod sentences;
#[path = "settings.rs"]
mod settings;
#[path = "sf2007.rs"]
mod sf2007;
#[path = "stalls.rs"]
mod stalls;
#[path = "statistics.rs"]
mod statistics;
#[path = "subflow_changes.rs"]
mod subflow_changes;
#[path = "subflows_credit.rs"]
mod subflows_credit;
#[path = "subflows_hostile.rs"]
mod subflows_hostile;
#[path = "subflows_level0.rs"]
mod subflows_level0;
#[path = "subflows_level1.rs"]
mod subflows_level1;
#[path = "subflows_negotiation.rs"]
mod subflows_negotiation;
#[path = "takeover.rs"]
mod takeover;
#[path = "waiting_users.rs"]
mod waiting_users;
#[path = "watched.rs"]
mod watched;
#[path = "webrtc.rs"]
mod webrtc;
#[path = "zero_checksum.rs"]
mod zero_checksum;

/// A file that nobody lists would be a test that never runs: of this crate, and of all others.
#[test]
fn every_file_is_run() {
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found = 0;
    for folder in std::fs::read_dir(crates).unwrap().map(|entry| entry.unwrap().path()) {
        let Ok(list) = std::fs::read_to_string(folder.join("tests/all.rs")) else { continue };
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        assert!(manifest.contains("autotests = false"), "{}", folder.display());
        for entry in std::fs::read_dir(folder.join("tests")).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|end| end == "rs") {
                let name = path.file_stem().unwrap().to_str().unwrap();
                let here = list.contains(&format!("\nmod {name};\n"));
                let alone = manifest.contains(&format!("name = \"{name}\"\n"));
                assert!(here != alone, "{}: list it in tests/all.rs, or in Cargo.toml", path.display());
                found += 1;
            }
        }
    }
    assert!(found > 100, "{found} files");
}
