//! Standard input and output in place of files, versions, and the output on a terminal.

use std::process::{Command, Stdio};

use crate::place::{Place, SMALL};

#[test]
fn a_dash_is_standard_input() {
    let place = Place::new();
    let output = place.piped(&["check", "-"], SMALL.as_bytes());
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(told, "standard input: ok: nodes 2, links 2, flows 2, runs 3 of 5 s each\n");
    // It is read once, and means the same as a file.
    let resolved = place.piped(&["check", "--resolved", "-"], SMALL.as_bytes());
    assert_eq!(
        String::from_utf8_lossy(&resolved.stdout),
        place.prints(&["check", "--resolved", "small.toml"])
    );
    let from = place.piped(&["simulate", "-", "--json", "--seeds", "1"], SMALL.as_bytes());
    let file = place.prints(&["simulate", "small.toml", "--json", "--seeds", "1"]);
    assert_eq!(String::from_utf8_lossy(&from.stdout), file.replace("small.toml", "standard input"));
    let output = place.piped(&["check", "-"], SMALL.replace("delay =", "dely =").as_bytes());
    assert!(
        String::from_utf8_lossy(&output.stderr)
            .starts_with("anabranch: standard input:11:1: unknown key \"dely\"")
    );
    assert_eq!(output.status.code(), Some(2));
    place.fails(&["check", "-", "-"], 2, "standard input can be read once; give - once");
    let pattern = b"anabranch-pattern 1\nkind loss\nlength 10\n1\n5-6\n";
    let output = place.piped(&["pattern", "convert", "-", "--to", "list"], pattern);
    assert_eq!(
        String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>(),
        ["1", "5", "6"]
    );
}

#[test]
fn a_dash_is_standard_output() {
    let place = Place::new();
    let with = |more: &[&'static str]| [&["simulate", "small.toml", "--seeds", "2"][..], more].concat();
    place.prints(&with(&["--pcap", "p.pcapng", "--trace", "t.csv"]));
    let read = |name: &str| std::fs::read(place.path(name)).expect("a file");
    // The file and nothing else, no table around it.
    assert!(place.run(&with(&["--pcap", "-"])).stdout == read("p.pcapng"));
    assert!(place.run(&with(&["--trace", "-"])).stdout == read("t.csv"));
    let told = place.piped(&["decode", "-", "--summary"], &read("p.pcapng"));
    assert_eq!(String::from_utf8_lossy(&told.stdout), place.prints(&["decode", "p.pcapng", "--summary"]));
    place.prints(&["decode", "p.pcapng", "--plot", "p.svg"]);
    let drawn = place.piped(&["decode", "-", "--plot", "-"], &read("p.pcapng"));
    assert!(drawn.stdout == read("p.svg") && drawn.stdout.starts_with(b"<svg"));
    place.fails(
        &["decode", "p.pcapng", "--plot", "-", "--summary"],
        2,
        "--plot -: the plot has standard output for itself; give it a file, or ask for nothing else",
    );
    place.fails(
        &with(&["--trace", "-", "--pcap", "-"]),
        2,
        "--trace and --pcap would both go to standard output; give one of them a file",
    );
    place.fails(
        &with(&["--trace", "-", "--json"]),
        2,
        "--trace and --json would both go to standard output; give one of them a file",
    );
    place.fails(
        &["simulate", "small.toml", "--trace", "-"],
        2,
        "--trace -: one run goes to standard output; choose a seed, as in --seeds 1",
    );
    place.fails(
        &with(&["--out", "-"]),
        2,
        "--out -: this is a directory of several files; --trace - and --pcap - go to standard output",
    );
    place.fails(
        &["decode", "p.pcapng", "--plot", "x.png"],
        2,
        "--plot x.png: the plot is SVG and no other format; allowed: a name that ends with .svg (a browser shows it, rsvg-convert and \
         Inkscape make PNG of it)",
    );
}

#[test]
fn every_verb_says_its_version() {
    let place = Place::new();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(place.prints(&["--version"]), format!("anabranch {version}\n"));
    for verb in [
        "simulate", "check", "engines", "pattern", "decode", "script", "listen", "connect", "perf", "ping",
        "doctor",
    ] {
        assert_eq!(place.prints(&[verb, "--version"]), format!("anabranch-{verb} {version}\n"));
    }
}

#[test]
fn on_a_terminal_tables_fit_and_progress_is_in_virtual_time() {
    let script = Command::new("script").arg("--version").output();
    if !script.is_ok_and(|output| output.status.success()) {
        // util-linux has it; without it there is no terminal to look at.
        return;
    }
    let place = Place::new();
    let program = env!("CARGO_BIN_EXE_anabranch");
    let simulate = "simulate small.toml --seeds 2 --pcap p.pcapng --set duration='60 s'";
    let typed = format!(
        "stty rows 24 cols 80 < /dev/tty; {program} {simulate} && {program} decode p.pcapng --summary"
    );
    let output = Command::new("script")
        .args(["-qec", &typed, "/dev/null"])
        .current_dir(place.0.path())
        .stdin(Stdio::null())
        .output()
        .expect("it starts");
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{shown}");
    assert!(shown.contains("% of virtual time"), "{shown}");
    let rows: Vec<&str> = shown.lines().filter(|line| line.starts_with('|')).collect();
    assert!(rows.len() > 20 && rows.iter().all(|row| row.trim_end().chars().count() <= 80), "{shown}");
    // Each part of a table begins with the columns that name its rows.
    assert!(rows.iter().filter(|row| row.starts_with("| flow | sent by |")).count() > 1, "{shown}");
}
