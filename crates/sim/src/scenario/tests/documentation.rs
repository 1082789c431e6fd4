//! `docs/reference/scenario.md` agrees with the code.

use super::{GOOD, edited, read};

const TEXT: &str = include_str!("../../../../../docs/reference/scenario.md");

#[test]
fn its_complete_file_is_a_good_one() {
    let blocks: Vec<&str> =
        TEXT.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    let complete: Vec<&&str> = blocks.iter().filter(|block| block.contains("duration")).collect();
    assert_eq!(complete.len(), 1);
    if let Err(error) = read(complete[0]) {
        panic!("{error}");
    }
    // The other block belongs to a flow.
    for block in blocks.iter().filter(|block| !block.contains("duration")) {
        if let Err(error) = read(&format!("{GOOD}{block}")) {
            panic!("{error}");
        }
    }
}

/// Every key that a table allows stands in the text, so does every kind and every choice: the errors list them.
#[test]
fn it_names_every_key_and_choice() {
    let wrong = "zzz = 1";
    let source = |protocol: &str, traffic: &str| {
        format!(
            "{GOOD}[[flow]]\nname = \"two\"\nfrom = \"a\"\nto = \"b\"\nprotocol = \"{protocol}\"\ntraffic = {{ {traffic} }}\n"
        )
    };
    let record = |text: &str| format!("{GOOD}[record]\n{text}\n");
    let queue = |text: &str| edited("kind = \"droptail\", packets = 20", text);
    let loss = |text: &str| edited("kind = \"bernoulli\", p = 0.5", text);
    let condition = |text: &str| edited("both = true", &format!("both = true\ncondition = {{ {text} }}"));
    let files = [
        edited("seeds = \"1..3\"", wrong),
        edited("seeds = \"1..3\"", "random = \"zzz\""),
        edited("seeds = \"1..3\"", "checksums = \"zzz\""),
        edited("both = true", wrong),
        edited("both = true", "both = true\nback = { zzz = 1 }"),
        edited("packets = 20", wrong),
        edited("\"droptail\"", "\"zzz\""),
        queue("kind = \"red\", zzz = 1"),
        queue("kind = \"red\", measure = \"zzz\""),
        queue("kind = \"red\", drop = \"zzz\""),
        queue("kind = \"red\", adaptive = { zzz = 1 }"),
        queue("kind = \"wred\", zzz = 1"),
        queue("kind = \"codel\", zzz = 1"),
        queue("kind = \"fq-codel\", zzz = 1"),
        queue("kind = \"classes\", zzz = 1"),
        queue("kind = \"classes\", scheduler = \"zzz\""),
        queue("kind = \"classes\", scheduler = \"drr\", classes = [{ zzz = 1 }]"),
        loss("kind = \"gilbert-elliott\", zzz = 1"),
        loss("kind = \"bit-errors\", zzz = 1"),
        condition("kind = \"zzz\""),
        condition("kind = \"rewrite\", zzz = 1"),
        condition("kind = \"rewrite\", rules = [{ zzz = 1 }]"),
        condition("kind = \"bleach\", zzz = 1"),
        condition("kind = \"token-bucket\", zzz = 1"),
        condition("kind = \"srtcm\", zzz = 1"),
        condition("kind = \"trtcm\", zzz = 1"),
        condition("kind = \"tsw\", zzz = 1"),
        queue("kind = \"rio-c\", quirks = [\"zzz\"], classes = [{ min = 1, max = 2 }]"),
        queue("kind = \"rio-d\", classes = [{ zzz = 1 }]"),
        queue("kind = \"rio-d\", classes = [{ colour = \"zzz\", min = 1, max = 2 }]"),
        edited("p = 0.5", wrong),
        edited("both = true", "both = true\nloss_at = \"zzz\""),
        edited("both = true", "both = true\npattern = { zzz = 1 }"),
        edited("both = true", "both = true\npattern = { kind = \"zzz\", at = [] }"),
        edited("both = true", "both = true\npattern = { kind = \"loss\", driven = \"zzz\", at = [] }"),
        edited("p = 0.5", "p = 0.5, applies = \"zzz\""),
        edited("\"bernoulli\", p = 0.5", "\"positions\", zzz = 1"),
        edited("\"bernoulli\"", "\"zzz\""),
        edited("engine = \"rfc9260\"", wrong),
        edited("\"sctp\"", "\"zzz\""),
        edited("engine = \"rfc9260\"", "engine = \"rfc9260\"\nreceiver = { zzz = 1 }"),
        edited("engine = \"rfc9260\"", "engine = \"rfc9260\"\ncoupling = \"zzz\""),
        edited("engine = \"rfc9260\"", "engine = \"rfc9260\"\nlevel = \"zzz\""),
        edited("engine = \"rfc9260\"", "engine = \"rfc9260\"\nscheduler = \"zzz\""),
        edited("engine = \"rfc9260\"", "engine = \"rfc9260\"\nsubflows = [{ zzz = 1 }]"),
        edited("engine = \"rfc9260\"", "engine = \"rfc9260\"\nevents = [{ zzz = 1 }]"),
        edited("\"greedy\"", "\"zzz\""),
        edited("\"greedy\"", "\"greedy\", zzz = 1"),
        edited("\"greedy\"", "\"transfer\", zzz = 1"),
        edited("\"greedy\"", "\"objects\", zzz = 1"),
        edited("\"greedy\"", "\"objects\", bytes = \"1 kB\", open = \"zzz\""),
        edited("\"greedy\"", "\"objects\", bytes = \"1 kB\", open = { zzz = 1 }"),
        edited("\"greedy\"", "\"objects\", bytes = \"1 kB\", order = \"zzz\""),
        edited("\"greedy\"", "\"objects\", bytes = \"1 kB\", closed_by = \"zzz\""),
        edited("engine = \"rfc9260\"", "engine = \"rfc9260\"\nopened_by = \"zzz\""),
        edited("\"5 ms\"", "\"5 zzz\""),
        edited("\"1000 B\"", "\"5 zzz\""),
        edited("\"10 Mbit/s\"", "\"5 zzz\""),
        format!("{GOOD}[[route]]\n{wrong}\n"),
        source("cbr", wrong),
        source("square", wrong),
        source("on-off", wrong),
        source("on-off", "rate = \"1 kbit/s\", packet = \"99 B\", distribution = \"zzz\""),
        format!("{GOOD}[[host]]\n{wrong}\n"),
        format!("{GOOD}[[host]]\nname = \"a\"\nsctp = {{ zzz = 1 }}\n"),
        record(wrong),
        record("trace = [\"zzz\"]"),
    ];
    for file in files {
        let error = read(&file).expect_err("zzz is wrong everywhere").to_string();
        assert!(error.contains("zzz"), "{error}");
        let (_, allowed) = error.split_once("; allowed").expect("it says what is allowed");
        let (_, allowed) = allowed.split_once(": ").expect("a list");
        // The text behind "; " is a remark for the reader of the error, not an allowed word.
        let (allowed, _) = allowed.split_once("; ").unwrap_or((allowed, ""));
        for word in allowed.trim_end_matches(", or \"infinite\"").split(", ") {
            let known = [format!("`{word}`"), format!("`\"{word}\"`")].iter().any(|form| TEXT.contains(form));
            assert!(known, "docs/reference/scenario.md does not name {word}: {error}");
        }
    }
}

#[test]
fn its_errors_are_those_of_the_code() {
    let errors = [
        read(&edited("rate = \"10", "rat = \"10")).expect_err("wrong").to_string(),
        read(&edited("\"5 ms\"", "\"5\"")).expect_err("wrong").to_string(),
        super::read_with(&[("link.wir.rate", "1 bit/s")]).expect_err("wrong").to_string(),
    ];
    for error in errors {
        assert!(TEXT.contains(&error), "{error}");
    }
}
