//! The protocol of a measurement, shared by client and server.

use anabranch_live::Association;
use serde::{Deserialize, Serialize};

/// SCTP port, as iperf3 has it for TCP.
pub(crate) const PORT: u16 = 5201;

/// The reason in the abort of a client that has measured, where the server does not agree to the end.
pub(crate) const MEASURED: &[u8] = b"measured";

/// The kinds of messages, as payload protocol identifiers.
pub(crate) mod kind {
    /// It is thrown away.
    pub(crate) const DATA: u32 = 0;
    /// It is sent back.
    pub(crate) const ECHO: u32 = 1;
    /// The client has sent all. The server answers with its counts, as JSON.
    pub(crate) const END: u32 = 2;
    /// The server is to send until the client sends [`END`]: a [`super::Request`] as JSON, or the size of messages alone.
    pub(crate) const REVERSE: u32 = 3;
    /// The server's counts as a sender so far, as JSON: a [`super::Sender`].
    pub(crate) const REPORT: u32 = 4;
}

/// A client's request that the server send.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Request {
    /// Bytes of each message.
    pub(crate) message: usize,
    /// Seconds between reports.
    pub(crate) interval: f64,
}

/// The counts of a sender.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Sender {
    /// Payload, each byte once.
    pub(crate) bytes: u64,
    pub(crate) retransmits: u64,
    pub(crate) cwnd: u64,
    pub(crate) srtt_seconds: Option<f64>,
}

impl Sender {
    /// The present counts of an association.
    pub(crate) fn of(association: &Association) -> Option<Self> {
        let stats = association.snapshot()?.stats;
        Some(Self {
            bytes: stats.payload_bytes_unique,
            retransmits: stats.retransmissions,
            cwnd: stats.cwnd,
            srtt_seconds: stats.srtt.map(anabranch_base::Duration::as_secs_f64),
        })
    }
}

/// CPU time of this process, all threads, user and system, seconds. 0 where it is not known.
pub(crate) fn cpu_seconds() -> f64 {
    #[cfg(target_os = "linux")]
    {
        use nix::sys::resource::{UsageWho, getrusage};
        use nix::sys::time::TimeValLike;
        if let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) {
            let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
            return micros as f64 / 1e6;
        }
    }
    0.0
}

/// The number of retransmissions in words, or a dash where it is unknown.
pub(super) fn retransmissions(count: Option<u64>) -> String {
    match count {
        None => "- retransmissions".to_owned(),
        Some(1) => "1 retransmission".to_owned(),
        Some(count) => format!("{count} retransmissions"),
    }
}
