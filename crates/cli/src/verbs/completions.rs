//! `anabranch completions SHELL` and `anabranch man DIR`: for whoever installs the program.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Command};
use clap_complete::Shell;

use crate::failure::Failure;
use crate::files;

/// For which shell.
#[derive(Args, Debug)]
pub(crate) struct Completions {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

/// Where to.
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

/// A page for the program, and one for each verb.
pub(crate) fn man(arguments: &Man, mut program: Command) -> Result<(), Failure> {
    files::directory(&arguments.directory)?;
    program.build();
    let pages = std::iter::once(program.clone()).chain(program.get_subcommands().cloned());
    for page in pages {
        // A verb is called `anabranch VERB`, and its page anabranch-VERB.1.
        let name = page.get_display_name().unwrap_or_else(|| page.get_name()).to_owned();
        let mut text = Vec::new();
        clap_mangen::Man::new(page)
            .render(&mut text)
            .map_err(|error| Failure::failed(format!("cannot write the page of {name}: {error}")))?;
        files::write(&arguments.directory.join(format!("{name}.1")), |out| out.write_all(&text))?;
    }
    Ok(())
}
