//! `anabranch script` from outside: verdicts, exit codes, and messages about mistakes.

use std::process::{Command, Output};

const SCRIPT: &str = "// A server is not called.
 0.0 socket(..., SOCK_STREAM, IPPROTO_SCTP) = 3
+0.0 bind(3, ..., ...) = 0
+0.0 listen(3, 1) = 0
+0.1 < sctp: INIT[flgs=0, tag=2, a_rwnd=65536, os=10, is=10, tsn=1]
+0.0 > sctp: INIT_ACK[flgs=0, tag=1, a_rwnd=..., os=..., is=..., tsn=1, ...]
";

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_anabranch")).args(arguments).output().expect("it starts")
}

/// A file of a folder, by its path.
fn write(place: &tempfile::TempDir, name: &str, text: &str) -> String {
    let path = place.path().join(name);
    std::fs::write(&path, text).expect("a file");
    path.display().to_string()
}

#[test]
fn script_tells_what_differs_field_by_field() {
    let place = tempfile::tempdir().unwrap();
    let good = write(&place, "good.pkt", SCRIPT);
    let ran = run(&["script", &good, "--strict"]);
    assert_eq!(ran.status.code(), Some(0), "{}", String::from_utf8_lossy(&ran.stderr));
    let bad = write(
        &place,
        "bad.pkt",
        &SCRIPT.replace("tsn=1, ...", "tsn=1, ECN_CAPABLE[]").replace("+0.0 >", "+0.2 >"),
    );
    let ran = run(&["script", &good, &bad]);
    assert_eq!(ran.status.code(), Some(1));
    let told = String::from_utf8(ran.stdout).unwrap();
    assert!(told.contains("bad.pkt:6: another packet came"), "{told}");
    assert!(told.contains("time: expected 0.300000000 s, came 0.100000000 s"), "{told}");
    assert!(told.contains("INIT_ACK.ECN_CAPABLE: expected ECN_CAPABLE[], came STATE_COOKIE"), "{told}");
    assert!(told.contains("1 passed, 1 failed"), "{told}");
    let ran = run(&["script", &bad, "--json"]);
    let value: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(value["scripts"][0]["failure"]["line"], 6);
}

#[test]
fn script_names_what_it_does_not_know() {
    let place = tempfile::tempdir().unwrap();
    for (change, told) in [
        ("+0.0 fork() = 0\n", "unknown call `fork`; allowed: socket, bind"),
        (
            "+0.0 setsockopt(3, IPPROTO_SCTP, SCTP_NOTHING, [1], 4) = 0\n",
            "unknown option SCTP_NOTHING; allowed: SO_ERROR",
        ),
        ("+0.0 > sctp: DATA[x=1]\n", "DATA has no field `x`; allowed: flgs, len, tsn, sid, ssn, ppid"),
        ("+0.0 > sctp: FOO[]\n", "unknown chunk `FOO`; allowed: DATA, INIT"),
        ("+0.0 read(3, ..., 10) = \n", "expected a value"),
        (
            "+0.0 setsockopt(3, IPPROTO_SCTP, SCTP_RTOINFO, {srto_least=1}, 16) = 0\n",
            "SCTP_RTOINFO has no field `srto_least`; allowed: srto_assoc_id",
        ),
        ("+0.0 read(3) = 0\n", "read takes 3 arguments, found 1"),
        ("+0.0 accept(3, ..., ...) = 4\n", "accept blocks: make the socket non-blocking"),
    ] {
        let path = write(&place, "x.pkt", &format!("{SCRIPT}{change}"));
        let ran = run(&["script", &path]);
        assert_eq!(ran.status.code(), Some(1), "{change}");
        let out = String::from_utf8(ran.stdout).unwrap();
        assert!(out.contains("x.pkt:7: ") && out.contains(told), "{out}");
    }
    let ran = run(&["script", "x.pkt", "--engine", "none"]);
    assert_eq!(ran.status.code(), Some(2));
    let told = String::from_utf8(ran.stderr).unwrap();
    assert!(told.starts_with("anabranch: --engine none: unknown profile; allowed: kame-2006"), "{told}");
    let ran = run(&["script", "none.pkt"]);
    assert_eq!(ran.status.code(), Some(2));
    assert_eq!(
        String::from_utf8(ran.stderr).unwrap(),
        "anabranch: none.pkt: there is no such file or folder\n"
    );
}

/// Whether a script passes with these arguments.
fn passes(script: &str, arguments: &[&str]) -> bool {
    let ran = run(&[&["script", script][..], arguments].concat());
    let told = String::from_utf8_lossy(&ran.stdout);
    match ran.status.code() {
        Some(0) => assert!(told.contains("1 passed, 0 failed"), "{told}"),
        Some(1) => assert!(told.contains("0 passed, 1 failed"), "{told}"),
        other => assert_eq!(other, Some(1), "{told}{}", String::from_utf8_lossy(&ran.stderr)),
    }
    ran.status.success()
}

/// Two scripts whose last packet comes 5 ms before, and 5 ms after its time.
fn early_and_late() -> [String; 2] {
    let early = SCRIPT.replace("+0.0 > sctp", "+0.005 > sctp");
    let init = "sctp: INIT[flgs=0, tag=1, a_rwnd=..., os=..., is=..., tsn=1, ...]";
    let late = format!(
        " 0.0 socket(..., SOCK_STREAM, IPPROTO_SCTP) = 3
+0.0 bind(3, ..., ...) = 0
+0.0 fcntl(3, F_SETFL, O_RDWR | O_NONBLOCK) = 0
+0.0 connect(3, ..., ...) = -1 EINPROGRESS (Operation now in progress)
+0.0 > {init}
+0.995 > {init}
"
    );
    [early, late]
}

/// The tolerance of a packet's time: none without the option, its value with it, and with `script` the script's own.
#[test]
fn script_keeps_to_the_tolerance_that_it_is_given() {
    let place = tempfile::tempdir().unwrap();
    for text in early_and_late() {
        let plain = write(&place, "plain.pkt", &text);
        let narrow = write(&place, "narrow.pkt", &format!("--tolerance_usecs=4999\n{text}"));
        let wide = write(&place, "wide.pkt", &format!("--tolerance_usecs=5000\n{text}"));
        for (script, tolerance, expected) in [
            (&plain, "0", false),
            (&plain, "4 ms", false),
            (&plain, "5 ms", true),
            (&plain, "10 ms", true),
            (&plain, "script", false),
            (&narrow, "script", false),
            (&wide, "script", true),
            (&wide, "0", false),
            (&narrow, "5 ms", true),
        ] {
            assert_eq!(
                passes(script, &["--tolerance", tolerance]),
                expected,
                "{script}, {tolerance}: {text}"
            );
        }
        assert!(!passes(&wide, &[]), "without the option there is no tolerance: {text}");
    }
}

/// The script passes where a symbol is defined, and fails elsewhere.
fn for_symbol(symbol: &str) -> String {
    let (calls, packets) = SCRIPT.split_once("+0.1 <").expect("the first packet");
    let wrong = packets.replace("+0.0 >", "+0.1 >");
    format!("{calls}#ifdef {symbol}\n+0.1 <{packets}#else\n+0.1 <{wrong}#endif\n")
}

/// `-D` defines symbols for `#ifdef`. Where none of them names a system, `FreeBSD` is defined (docs/reference/scripts.md).
#[test]
fn script_plays_the_branch_of_the_symbols_that_are_defined() {
    let place = tempfile::tempdir().unwrap();
    let of = |symbol: &str| write(&place, &format!("{symbol}.pkt"), &for_symbol(symbol));
    let (linux, freebsd, own) = (of("Linux"), of("FreeBSD"), of("OWN"));
    for (script, arguments, expected) in [
        (&linux, &[][..], false),
        (&linux, &["-D", "Linux"], true),
        (&linux, &["--define", "Linux"], true),
        (&linux, &["-D", "OWN", "-D", "Linux"], true),
        (&linux, &["-D", "SunOS"], false),
        (&freebsd, &[], true),
        (&freebsd, &["-D", "OWN"], true),
        (&freebsd, &["-D", "Linux"], false),
        (&freebsd, &["-D", "FreeBSD"], true),
        (&own, &[], false),
        (&own, &["-D", "OWN"], true),
    ] {
        assert_eq!(passes(script, arguments), expected, "{script} {arguments:?}");
    }
}

#[test]
fn a_folder_without_scripts_is_a_mistake_and_the_folder_of_a_bare_name_is_a_dot() {
    let place = tempfile::tempdir().unwrap();
    let ran = run(&["script", &place.path().display().to_string()]);
    assert_eq!(ran.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&ran.stderr).contains("there is no script (*.pkt) in it"));
    write(&place, "good.pkt", SCRIPT);
    let mut here = Command::new(env!("CARGO_BIN_EXE_anabranch"));
    let ran = here.args(["script", "good.pkt"]).current_dir(place.path()).output().expect("it starts");
    assert_eq!(String::from_utf8(ran.stdout).unwrap(), ".: 1 passed, 0 failed\n");
    let good = place.path().join("good.pkt").display().to_string();
    let ran = run(&["script", &good, "--set", "rto_mn=1 s"]);
    assert!(
        String::from_utf8_lossy(&ran.stderr)
            .contains("there is no SCTP option rto_mn (did you mean rto_min?)")
    );
}
