//! What a receiving application is told, and notes.

use anabranch_base::{Instant, rare};

use crate::engine::{Engine, Notice};

/// What a receiving application has been told, and when.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Received {
    /// That there is a connection.
    pub(crate) connected_at: Option<Instant>,
    /// The first byte was there.
    pub(crate) first_byte_at: Option<Instant>,
    /// The last byte so far was there.
    pub(crate) last_byte_at: Option<Instant>,
    /// The last byte of a transfer was there.
    pub(crate) complete_at: Option<Instant>,
    /// That nothing more comes.
    pub(crate) ended_at: Option<Instant>,
}

/// An application that takes everything at once, and closes when its peer does.
pub(super) trait Receiving {
    /// What it has been told, and why it failed, if it did.
    fn notes(&mut self) -> (&mut Received, &mut Option<String>);

    /// Takes what has arrived.
    fn take(&mut self, now: Instant, engine: &mut Engine);

    /// Does what there is to do after the engine has changed. False when the engine had told it nothing.
    #[inline]
    fn listen(&mut self, now: Instant, engine: &mut Engine) -> bool {
        let mut told = false;
        while let Some(notice) = engine.poll_notice() {
            told = true;
            match notice {
                Notice::Readable => self.take(now, engine),
                Notice::PeerClosed => {
                    rare();
                    self.take(now, engine);
                    self.notes().0.ended_at.get_or_insert(now);
                    engine.close(now);
                }
                Notice::Connected => {
                    rare();
                    self.notes().0.connected_at.get_or_insert(now);
                }
                Notice::Writable | Notice::Closed => {}
                Notice::Failed(why) => {
                    rare();
                    self.take(now, engine);
                    self.notes().1.get_or_insert(why);
                }
            }
        }
        told
    }
}
