//! `anabranch connect HOST:PORT`: standard input goes to the peer, what comes goes to standard output.

use clap::Args;

use anabranch_live::ENCAPSULATION_PORT;

use crate::failure::Failure;
use crate::live::{self, AtEnd, NetworkOptions, PipeOptions};

/// Where to.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Host and SCTP port
    #[arg(value_name = "HOST:PORT")]
    target: String,
    /// UDP port of the peer
    #[arg(long, value_name = "PORT", default_value_t = ENCAPSULATION_PORT)]
    peer_udp_port: u16,
    /// Local SCTP port; 0 for any
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
    #[command(flatten)]
    pipe: PipeOptions,
    #[command(flatten)]
    network: NetworkOptions,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let target = live::resolve(&arguments.target, arguments.peer_udp_port)?;
    let runtime = live::runtime()?;
    let done = runtime.block_on(async {
        let (endpoint, association) = live::connect(&arguments.network, target, arguments.port).await?;
        arguments.network.tell(|| format!("{} is here", live::name(&association)));
        let watcher = arguments.network.watch(&association);
        let done = live::pipe(&association, &arguments.pipe, AtEnd::ShutDown).await;
        if let Some(watcher) = watcher {
            let _ = watcher.await;
        }
        arguments.network.write_stats(&association)?;
        drop(association);
        // The last packets leave.
        endpoint.close(std::time::Duration::from_secs(1)).await;
        done
    });
    // A thread may still wait for standard input.
    runtime.shutdown_background();
    done
}
