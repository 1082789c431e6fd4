//! Whether what waits for something that is not here can go on.

use super::Inbound;
use crate::receiver::inbound::refused::Refused;

impl Inbound {
    /// Whether whole messages wait for others of their stream.
    pub(crate) fn waits_for_earlier(&self) -> bool {
        !self.streams.waiting.is_empty()
            || self.numbered.as_ref().is_some_and(|numbered| numbered.order.held() > 0)
    }

    /// The record of a chunk that is refused again and again.
    pub(crate) fn refused(&mut self) -> &mut Refused {
        self.numbered.get_or_insert_default().refused.get_or_insert_default()
    }
}
