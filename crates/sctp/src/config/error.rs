//! Errors of a configuration, and of a change to that of a living association.

/// A value that cannot be set as asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// No such value.
    #[error("unknown SCTP option `{key}`; allowed are {allowed}")]
    UnknownKey {
        /// The name asked for.
        key: String,
        /// Comma-separated list.
        allowed: String,
    },
    /// The text does not fit the value.
    #[error("SCTP option `{key}`: `{value}` is not allowed; expected {expected}")]
    BadValue {
        /// The value's name.
        key: &'static str,
        /// The text given for it.
        value: String,
        /// Its allowed values.
        expected: &'static str,
    },
    /// Values that do not fit each other, or no association.
    #[error("SCTP option {what}")]
    Misfit {
        /// The values concerned and the rule that they break, in a sentence.
        what: String,
    },
}

/// Reason why an option of a living association does not change.
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
        /// The option.
        key: &'static str,
        /// Comma-separated list.
        allowed: String,
    },
    /// The option can be changed, but not in this association, or not to this value.
    #[error("SCTP option `{key}` stays {stays}: {why}")]
    Settled {
        /// The option.
        key: &'static str,
        /// Its value, which stays.
        stays: String,
        /// The reason, and the changes that are possible instead.
        why: &'static str,
    },
    /// There is nothing to change any more.
    #[error("the association is closed")]
    Closed,
}
