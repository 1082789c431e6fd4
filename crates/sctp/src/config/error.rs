//! Why a configuration is not allowed.

/// A value that cannot be set as asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// No such value.
    #[error("unknown SCTP option `{key}`; allowed are {allowed}")]
    UnknownKey {
        /// What was asked for.
        key: String,
        /// Comma-separated list.
        allowed: String,
    },
    /// The text does not fit the value.
    #[error("SCTP option `{key}`: `{value}` is not allowed; expected {expected}")]
    BadValue {
        /// Which value.
        key: &'static str,
        /// What it was given.
        value: String,
        /// What it takes.
        expected: &'static str,
    },
    /// Values that do not fit each other, or no association.
    #[error("SCTP option {what}")]
    Misfit {
        /// Which, and why.
        what: String,
    },
}
