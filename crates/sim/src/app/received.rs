//! What a receiving application notes.

use anabranch_base::Instant;

/// What a receiving application has been told, and when.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Received {
    /// That there is a connection.
    pub(crate) connected_at: Option<Instant>,
    /// The first byte was there.
    pub(crate) first_byte_at: Option<Instant>,
    /// The last byte of a transfer was there.
    pub(crate) complete_at: Option<Instant>,
    /// That nothing more comes.
    pub(crate) ended_at: Option<Instant>,
}
