//! Why a configuration is not allowed, or not any more.

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

/// Why an option of a living association does not change.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    /// No such option, or no such value.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The option was agreed on with the peer, or made something that exists already.
    #[error(
        "SCTP option `{key}` counts from the beginning of an association only; those that can be changed are {allowed}"
    )]
    Fixed {
        /// Which one.
        key: &'static str,
        /// Comma-separated list.
        allowed: String,
    },
    /// The option can be changed, but not in this association, or not to this value.
    #[error("SCTP option `{key}` stays {stays}: {why}")]
    Settled {
        /// Which one.
        key: &'static str,
        /// What it is.
        stays: String,
        /// Why, and what is possible.
        why: &'static str,
    },
    /// There is nothing to change any more.
    #[error("the association is closed")]
    Closed,
}
