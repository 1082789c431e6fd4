//! `anabranch connect HOST:PORT`: standard input goes to the peer, received messages go to standard output.

use anabranch_live::Vantage;
use clap::Args;

use crate::failure::Failure;
use crate::half_close;
use crate::live::{self, NetworkOptions, Target};
use crate::opening::{self, OpeningOptions};
use crate::pipe::{self, AtEnd, PipeOptions};

/// The options of `anabranch connect`.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: Target,
    /// Local SCTP port; 0 for any
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
    #[command(flatten)]
    pipe: PipeOptions,
    #[command(flatten)]
    opening: OpeningOptions,
    #[command(flatten)]
    network: NetworkOptions,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let target = arguments.target.resolve()?;
    let runtime = live::runtime()?;
    let done = runtime.block_on(async {
        let network = arguments.network.with_adaptation(half_close::CODE_POINT);
        network.recording.begin(Vantage::Client).await?;
        let limit = arguments.opening.limit(None);
        let (endpoint, association) = opening::connect(&network, limit, target, arguments.port).await?;
        pipe::serve(&network, &endpoint, association, &arguments.pipe, AtEnd::ShutDown).await
    });
    let recorded = arguments.network.recording.finish();
    // A thread may still wait for standard input.
    runtime.shutdown_background();
    done.and(recorded)
}
