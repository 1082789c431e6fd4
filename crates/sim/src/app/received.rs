//! The common part of receiving applications: notices from the engine, and their times.

use anabranch_base::{Instant, cold_path};

use crate::engine::{Engine, Notice};

/// The times of the notices and data that a receiving application got.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Received {
    /// When it was told that there is a connection.
    pub(crate) connected_at: Option<Instant>,
    /// When the first byte was there.
    pub(crate) first_byte_at: Option<Instant>,
    /// When the last byte so far was there.
    pub(crate) last_byte_at: Option<Instant>,
    /// When the last byte of a transfer was there.
    pub(crate) complete_at: Option<Instant>,
    /// When it was told that nothing more comes.
    pub(crate) ended_at: Option<Instant>,
}

/// An application that takes everything at once, and closes when its peer does.
pub(super) trait Receiving {
    /// The record of its notices, and of the reason for its failure.
    fn notes(&mut self) -> (&mut Received, &mut Option<String>);

    /// Takes the received data.
    fn take(&mut self, now: Instant, engine: &mut Engine);

    /// Does its work after the engine has changed. False when the engine had reported nothing.
    #[inline]
    fn listen(&mut self, now: Instant, engine: &mut Engine) -> bool {
        let mut told = false;
        while let Some(notice) = engine.poll_notice() {
            told = true;
            match notice {
                Notice::Readable => self.take(now, engine),
                Notice::PeerClosed => {
                    cold_path();
                    self.take(now, engine);
                    self.notes().0.ended_at.get_or_insert(now);
                    engine.close(now);
                }
                Notice::Connected => {
                    cold_path();
                    self.notes().0.connected_at.get_or_insert(now);
                }
                Notice::Writable | Notice::Closed => {}
                Notice::Failed(why) => {
                    cold_path();
                    self.take(now, engine);
                    self.notes().1.get_or_insert(why);
                }
            }
        }
        told
    }
}
