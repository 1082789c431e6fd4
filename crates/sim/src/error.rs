//! Why a scenario cannot be run.

/// Why a scenario cannot be run, in one sentence that says what and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// A name that no host has.
    #[error("{what} names the host `{host}`, which does not exist")]
    NoSuchHost {
        /// Who names it.
        what: String,
        /// The name.
        host: String,
    },
    /// No links lead from one end of a flow to the other.
    #[error("flow `{flow}`: no links lead from `{from}` to `{to}`")]
    NoRoute {
        /// The flow.
        flow: String,
        /// Where the way begins.
        from: String,
        /// Where it should end.
        to: String,
    },
    /// A profile or an option that the transport does not know.
    #[error("flow `{flow}`: {problem}")]
    Engine {
        /// The flow.
        flow: String,
        /// What is wrong and what is allowed.
        problem: String,
    },
    /// A name in a list of links, or in a loss, that nothing has.
    #[error("{what} names `{name}`, which does not exist")]
    NoSuchName {
        /// Who names it.
        what: String,
        /// The name.
        name: String,
    },
    /// Addresses of both kinds on one flow, or more than this simulator can number.
    #[error("{0}")]
    Unsupported(String),
    /// The world ran in circles.
    #[error(
        "at {at}: more than {events} events without any time passing; is there a loop of links without delay?"
    )]
    Stuck {
        /// When.
        at: anabranch_base::Instant,
        /// How many events.
        events: u64,
    },
}
