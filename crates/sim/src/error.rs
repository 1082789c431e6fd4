//! Errors of scenarios that cannot be run.

/// Why a scenario cannot be run: one sentence with the fault and its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// A place in the list of hosts where there is none.
    #[error("{what} names host {host}, which does not exist")]
    NoSuchHost {
        /// The part of the scenario that names it.
        what: String,
        /// The place in `hosts`.
        host: usize,
    },
    /// A place in the list of links where there is none.
    #[error("{what} names link {link}, which does not exist")]
    NoSuchLink {
        /// The part of the scenario that names it.
        what: String,
        /// The place in `links`.
        link: usize,
    },
    /// A place in the list of flows where there is none.
    #[error("{what} names flow {flow}, which does not exist")]
    NoSuchFlow {
        /// The part of the scenario that names it.
        what: String,
        /// The place in `flows`.
        flow: usize,
    },
    /// No links lead from one end of a flow to the other.
    #[error("flow `{flow}`: no links lead from `{from}` to `{to}`")]
    NoRoute {
        /// The flow.
        flow: String,
        /// The host at which the way begins.
        from: String,
        /// The host at which it should end.
        to: String,
    },
    /// A profile or an option that the transport does not know.
    #[error("flow `{flow}`: {problem}")]
    Engine {
        /// The flow.
        flow: String,
        /// A sentence about the mistake and the allowed values.
        problem: String,
    },
    /// Addresses of both kinds on one flow, or more than this simulator can number.
    #[error("{0}")]
    Unsupported(String),
    /// The capture could not be written.
    #[error("cannot write the capture: {0}")]
    Capture(String),
    /// The watcher of the run ended it.
    #[error("stopped at {at} of virtual time")]
    Stopped {
        /// Virtual time of the stop.
        at: anabranch_base::Instant,
    },
    /// The world ran in circles.
    #[error(
        "at {at}: more than {events} events without any time passing; is there a loop of links without delay?"
    )]
    Stuck {
        /// Virtual time of these events.
        at: anabranch_base::Instant,
        /// Number of events at that time.
        events: u64,
    },
}
