//! `anabranch completions SHELL` and `anabranch man DIR`: completions and manual pages for installation.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_complete::Shell;

use crate::failure::Failure;
use crate::files;

/// The options of `anabranch completions`.
#[derive(Args, Debug)]
pub(crate) struct Completions {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

/// The options of `anabranch man`.
#[derive(Args, Debug)]
pub(crate) struct Man {
    /// A directory, such as ~/.local/share/man/man1.
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

pub(crate) fn completions(arguments: &Completions, mut program: Command) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut program, "anabranch", &mut script);
    std::io::stdout().lock().write_all(&script).map_err(|error| Failure::printing(&error))
}

/// A page for the program, one for each verb, and one for each subcommand of a verb. `anabranch help` has the same text.
pub(crate) fn man(arguments: &Man, program: Command) -> Result<(), Failure> {
    files::directory(&arguments.directory)?;
    let mut program = program.disable_help_subcommand(true);
    program.build();
    pages(&arguments.directory, &program)
}

fn pages(directory: &Path, verb: &Command) -> Result<(), Failure> {
    // A verb is called `anabranch VERB`, and its page anabranch-VERB.1.
    let name = verb.get_display_name().unwrap_or_else(|| verb.get_name());
    let mut text = Vec::new();
    clap_mangen::Man::new(verb.clone())
        .render(&mut text)
        .map_err(|error| Failure::failed(format!("cannot write the page of {name}: {error}")))?;
    files::write(&directory.join(format!("{name}.1")), |out| out.write_all(&text))?;
    verb.get_subcommands().try_for_each(|below| pages(directory, below))
}
