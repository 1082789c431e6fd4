//! Errors of commands, with their reasons.

use anabranch_sctp::CloseReason;

/// Why an endpoint could not be made.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// A socket could not be had or configured.
    #[error("{address}: {error}")]
    Socket {
        /// The address that it was to have.
        address: std::net::SocketAddr,
        /// The error of the operating system.
        error: std::io::Error,
    },
    /// No address was given.
    #[error("an endpoint needs a local address")]
    NoAddress,
    /// The SCTP port is another process's, or cannot be claimed.
    #[error("SCTP port {port}: {error}")]
    Port {
        /// The SCTP port.
        port: u16,
        /// The error of the operating system.
        error: std::io::Error,
    },
    /// There are several shards in UDP only.
    #[error("an endpoint right on IP has one shard: the kernel gives each raw socket every packet")]
    RawShards,
    /// The operating system has no random numbers.
    #[error("the operating system gives no random numbers: {0}")]
    Random(String),
    /// The call was made outside of a tokio runtime.
    #[error("an endpoint is driven by a task: call this within a tokio runtime, or use `blocking::Endpoint`")]
    NoRuntime,
    /// The thread of a blocking endpoint could not be started.
    #[error("the thread of the driver: {0}")]
    Thread(std::io::Error),
}

/// Why `connect` failed.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The attempt was refused before a packet left.
    #[error(transparent)]
    Refused(#[from] anabranch_sctp::ConnectError),
    /// Right on IP: the local port is another process's.
    #[error("SCTP port {port}: {error}")]
    Port {
        /// The SCTP port.
        port: u16,
        /// The error of the operating system.
        error: std::io::Error,
    },
    /// The handshake failed.
    #[error("no association: {}", in_words(.0))]
    Failed(CloseReason),
    /// The endpoint has ended.
    #[error("the endpoint has ended")]
    Ended,
}

/// Why a message was not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// Something is wrong with it, or there is no room and the caller does not wait.
    #[error(transparent)]
    Refused(#[from] anabranch_sctp::SendError),
    /// The association has ended.
    #[error("the association has ended: {}", in_words(.0))]
    Closed(CloseReason),
}

/// The association has ended, and not because both sides wanted it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the association has ended: {}", in_words(.0))]
pub struct Closed(pub CloseReason);

/// A reason as a person reads it.
#[must_use]
pub fn in_words(reason: &CloseReason) -> String {
    reason.to_string()
}
