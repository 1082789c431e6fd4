//! How far an endpoint has come that drains.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Drain {
    /// The endpoint does not drain.
    #[default]
    No,
    /// Associations end.
    Running,
    /// The user has been told that all have ended.
    Told,
}
