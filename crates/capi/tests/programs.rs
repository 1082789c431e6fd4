//! Programs in C against the static and the shared library, with each compiler that is here.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The newest library with that file name extension, built with the profile of this test.
fn library(extension: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let deps = test.parent().unwrap();
    let folders = [deps, deps.parent().unwrap()];
    let files = folders.into_iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let files = files.map(|entry| entry.unwrap().path()).filter(|path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.starts_with("libanabranch_c") && name.ends_with(extension)
    });
    let built_last = files.max_by_key(|path| path.metadata().unwrap().modified().unwrap());
    built_last.unwrap_or_else(|| panic!("there is no libanabranch_c*{extension}"))
}

/// Whether a test has the program that it needs. Where all is to be there, as in CI (`ANABRANCH_TOOLS=required`), it fails instead.
#[allow(clippy::print_stdout, reason = "why a test does nothing is to be seen")]
fn is_here(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok_and(|asked| asked.status.success());
    let required = std::env::var("ANABRANCH_TOOLS").is_ok_and(|word| word == "required");
    assert!(found || !required, "{program} is not here, and ANABRANCH_TOOLS=required");
    if !found {
        println!("{program} is not here: not tried");
    }
    found
}

fn output(command: &mut Command) -> String {
    let done = command.output().unwrap();
    let (out, told) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{command:?}: {}\n{out}\n{told}", done.status);
    assert!(told.is_empty(), "{command:?} says\n{told}");
    out.into_owned()
}

fn compile(compiler: &str, source: &Path, library: &Path, program: &Path, sanitizers: bool) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut command = Command::new(compiler);
    let standard =
        if source.extension().is_some_and(|extension| extension == "cc") { "-std=c++17" } else { "-std=c11" };
    command.args([standard, "-Wall", "-Wextra", "-Werror", "-pedantic", "-g", "-O1"]);
    if sanitizers {
        command.args(["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]);
    }
    command.arg("-I").arg(folder.join("include")).arg(source).arg(library);
    command.args(["-lpthread", "-ldl", "-lm", "-o"]).arg(program);
    output(&mut command);
}

/// The expected output of an example: the lines behind "It prints:" in its head.
fn promised(source: &Path) -> String {
    let text = std::fs::read_to_string(source).unwrap();
    let head = text.lines().map_while(|line| line.strip_prefix("//"));
    let lines: Vec<&str> =
        head.skip_while(|line| line.trim() != "It prints:").skip(1).map(str::trim).collect();
    lines.into_iter().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

/// Examples and tests in C with the static library and sanitizers (addresses, undefined behaviour), and an example with the shared one.
#[cfg(target_os = "linux")]
fn examples_and_misuse(compiler: &str) {
    if !is_here(compiler) {
        return;
    }
    let room = tempfile::tempdir().unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (archive, shared) = (library(".a"), library(".so"));
    let sources =
        ["examples/echo.c", "examples/in_memory.c", "tests/misuse.c", "tests/webrtc.c", "tests/giving_up.c"];
    for source in sources {
        let source = folder.join(source);
        let program = room.path().join("program");
        compile(compiler, &source, &archive, &program, true);
        assert_eq!(output(&mut Command::new(&program)).trim_end(), promised(&source), "{}", source.display());
    }
    // The shared library is found by its soname.
    let source = folder.join("examples/in_memory.c");
    let program = room.path().join("shared");
    compile(compiler, &source, &shared, &program, false);
    std::os::unix::fs::symlink(&shared, room.path().join("libanabranch.so.0")).unwrap();
    let mut run = Command::new(&program);
    assert_eq!(output(run.env("LD_LIBRARY_PATH", room.path())).trim_end(), promised(&source));
}

#[cfg(target_os = "linux")]
#[test]
fn examples_and_misuse_with_gcc() {
    examples_and_misuse("gcc");
}

#[cfg(target_os = "linux")]
#[test]
fn examples_and_misuse_with_clang() {
    examples_and_misuse("clang");
}

/// A header for C++ as well: names, guards, `extern "C"`.
#[cfg(target_os = "linux")]
#[test]
fn the_header_in_cpp() {
    let room = tempfile::tempdir().unwrap();
    let source = room.path().join("version.cc");
    std::fs::write(
        &source,
        "#include <cstdio>\n#include \"anabranch.h\"\nint main() { std::puts(anabranch_version()); }\n",
    )
    .unwrap();
    for compiler in ["g++", "clang++"].into_iter().filter(|compiler| is_here(compiler)) {
        let program = room.path().join(compiler);
        compile(compiler, &source, &library(".a"), &program, true);
        assert_eq!(output(&mut Command::new(&program)).trim_end(), env!("CARGO_PKG_VERSION"));
    }
}

/// Installs with `install.sh`, and finds the installed library by pkg-config.
#[cfg(target_os = "linux")]
#[test]
fn installed_and_found_by_pkg_config() {
    if !is_here("pkg-config") {
        return;
    }
    let room = tempfile::tempdir().unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let libraries = room.path().join("built");
    std::fs::create_dir(&libraries).unwrap();
    std::fs::copy(library(".a"), libraries.join("libanabranch_c.a")).unwrap();
    std::fs::copy(library(".so"), libraries.join("libanabranch_c.so")).unwrap();
    let prefix = room.path().join("usr");
    let mut install = Command::new("sh");
    install.arg(folder.join("install.sh")).arg(&libraries).env("PREFIX", &prefix).env_remove("DESTDIR");
    output(&mut install);
    let ask = |options: &[&str]| {
        let mut asking = Command::new("pkg-config");
        asking.args(options).arg("anabranch").env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
        output(&mut asking)
    };
    assert_eq!(ask(&["--modversion"]).trim(), env!("CARGO_PKG_VERSION"));
    let source = folder.join("examples/in_memory.c");
    let program = room.path().join("program");
    let mut compiling =
        Command::new(["gcc", "clang"].into_iter().find(|compiler| is_here(compiler)).unwrap());
    compiling.arg(&source).arg("-o").arg(&program).args(ask(&["--cflags", "--libs"]).split_whitespace());
    output(&mut compiling);
    let mut run = Command::new(&program);
    assert_eq!(output(run.env("LD_LIBRARY_PATH", prefix.join("lib"))).trim_end(), promised(&source));
}
