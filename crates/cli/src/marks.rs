//! `--dscp STREAM=DSCP`: streams with code points of their own, so subflows of their own.

use anabranch_live::Association;
use anabranch_sctp::Dscp;
use clap::Args;

use crate::failure::Failure;

/// Code points of streams.
#[derive(Args, Debug, Clone)]
pub(crate) struct Marks {
    /// Code point of a stream, as STREAM=DSCP; a subflow of its own. May be given more than once
    #[arg(long, value_name = "STREAM=DSCP", value_parser = mark)]
    dscp: Vec<(u16, Dscp)>,
}

fn mark(text: &str) -> Result<(u16, Dscp), String> {
    let wrong = || "write STREAM=DSCP, such as 1=46".to_owned();
    let (stream, mark) = text.split_once('=').ok_or_else(wrong)?;
    let mark = mark.parse().ok().and_then(Dscp::new).ok_or("a code point is 0 to 63")?;
    Ok((stream.parse().map_err(|_| wrong())?, mark))
}

impl Marks {
    /// Gives an association that is up these code points.
    pub(crate) fn give(&self, association: &Association) -> Result<(), Failure> {
        for (stream, mark) in &self.dscp {
            let set =
                association.command(|association, now| association.set_stream_dscp(now, *stream, *mark));
            if let Some(Err(error)) = set {
                return Err(Failure::wrong(format!("--dscp {stream}={}: {error}", mark.get())));
            }
        }
        Ok(())
    }
}
