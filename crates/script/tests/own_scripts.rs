//! The scripts of this repository, and that each of them can fail.

#![allow(clippy::panic, reason = "a failed test panics")]

use std::path::{Path, PathBuf};

use anabranch_script::suite::{self, Verdict};
use anabranch_script::{Options, run};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/scripts")
}

fn options() -> Options {
    Options { strict: true, ..Options::default() }
}

#[test]
fn every_script_comes_to_what_the_list_says() {
    let found = suite::find(&root()).unwrap();
    assert!(found.len() >= 368, "{} scripts", found.len());
    // Results must not depend on the switch `strict`, which the command line leaves out.
    for options in [options(), Options::default()] {
        let outcomes = found.iter().map(|found| suite::run_file(found, &options));
        let bad: Vec<String> =
            outcomes.filter(suite::Outcome::is_bad).filter_map(|outcome| outcome.report()).collect();
        assert!(bad.is_empty(), "strict {}: {}", options.strict, bad.join("\n"));
    }
}

/// Tags, TSNs and jitter are drawn from the seed; the expectations of a script must hold for all.
#[test]
fn the_seed_does_not_matter() {
    for found in suite::find(&root()).unwrap() {
        for seed in 2..12 {
            let outcome = suite::run_file(&found, &Options { seed, ..options() });
            assert!(!outcome.is_bad(), "seed {seed}: {}", outcome.report().unwrap_or_default());
        }
    }
}

/// A script from which a packet is missing that the stack sends must fail: it looks at every one.
#[test]
fn every_packet_line_counts() {
    for found in suite::find(&root()).unwrap() {
        if !matches!(suite::run_file(&found, &options()).verdict, Verdict::Passed) {
            continue;
        }
        let text = std::fs::read_to_string(&found.path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        for (index, line) in lines.iter().enumerate() {
            if line.split_whitespace().nth(1) != Some(">") {
                continue;
            }
            // A call that looks at nothing, so that as much time goes by.
            let time = line.split_whitespace().next().unwrap_or("+0.0");
            let idle = format!("{} fcntl(3, F_GETFL) = ...", time.split('~').next_back().unwrap_or(time));
            let mut changed = lines.clone();
            changed[index] = &idle;
            let outcome = run(&changed.join("\n"), &options());
            assert!(outcome.is_err(), "{} passes without line {}", found.path.display(), index + 1);
        }
    }
}

/// Whether a text names a document with sentences: an RFC, a sentence of its list, a draft, or a page with rules of our own.
fn names_a_document(text: &str) -> bool {
    let number = |rest: &str| rest.bytes().take_while(u8::is_ascii_digit).count() == 4;
    let rfc = ["RFC ", "rfc"].iter().any(|word| text.split(word).skip(1).any(number));
    rfc || text.contains("draft-")
        || text.contains("docs/explanation/subflows.md")
        || text.contains("docs/reference/extensions.md")
}

/// Each script says at its head which sentence it is about, and where that stands.
#[test]
fn every_script_names_its_sentence() {
    for found in suite::find(&root()).unwrap() {
        let text = std::fs::read_to_string(&found.path).unwrap();
        let head: Vec<&str> = text.lines().take_while(|line| line.starts_with("//")).collect();
        assert!(names_a_document(&head.join("\n")), "the head of {} names no document", found.path.display());
    }
}
