//! `anabranch check FILE.toml...`: whether each file is a scenario, and its contents.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use crate::failure::Failure;
use crate::{files, load};

/// The options of `anabranch check`.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Scenario files; - is standard input.
    #[arg(required = true, value_name = "FILE.toml")]
    files: Vec<PathBuf>,
    /// Set a value over what the file says, such as link.bottleneck.rate="3 Mbit/s".
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = load::assignment)]
    overrides: Vec<(String, String)>,
    /// Print the scenario of one file as TOML with every default, the options of the engines too: the same run.
    #[arg(long)]
    resolved: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.resolved {
        let [path] = arguments.files.as_slice() else {
            return Err(Failure::wrong("--resolved prints one scenario; give one FILE.toml"));
        };
        let source = load::Source::read(path)?;
        source.scenario(&arguments.overrides)?;
        let text = source.resolved(&arguments.overrides)?;
        return std::io::stdout()
            .lock()
            .write_all(text.as_bytes())
            .map_err(|error| Failure::printing(&error));
    }
    if arguments.files.iter().filter(|path| files::is_standard(path)).count() > 1 {
        return Err(Failure::wrong("standard input can be read once; give - once"));
    }
    for path in &arguments.files {
        let scenario = load::scenario(path, &arguments.overrides)?;
        writeln!(
            std::io::stdout().lock(),
            "{}: ok: nodes {}, links {}, flows {}, runs {} of {} s each",
            load::origin(path),
            scenario.hosts.len(),
            scenario.links.len(),
            scenario.flows.len(),
            scenario.seeds.len(),
            scenario.duration.as_secs_f64()
        )
        .map_err(|error| Failure::printing(&error))?;
    }
    Ok(())
}
