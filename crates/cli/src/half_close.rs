//! The end of one direction. SCTP has no half-closed state (RFC 9260, 9.2): who shuts down gets nothing new any more. So two of this
//! program tell each other that standard input has ended by a message, and shut down when both have. That both understand it they say in
//! the handshake (Adaptation Layer Indication, RFC 5061, 4.2.6); with any other peer the first end is the end of all, as ever.

use std::sync::{Mutex, PoisonError};

use anabranch_live::{Association, Message, Received, SendError};
use tokio::sync::Notify;

/// What this program says of itself in the handshake: "anb" and the version of the exchange.
pub(crate) const CODE_POINT: u32 = 0x616e_6201;
/// Payload protocol identifier of the mark.
pub(crate) const PPID: u32 = CODE_POINT;
/// What is in the mark: no message is empty.
const MARK: [u8; 1] = [0];

/// Whether both sides understand marks.
pub(crate) fn is_agreed(association: &Association) -> bool {
    let agreed = association.command(|core, _| {
        let peers = core.snapshot().negotiated.and_then(|agreed| agreed.adaptation);
        (core.configuration().extensions.adaptation_indication, peers)
    });
    agreed == Some((Some(CODE_POINT), Some(CODE_POINT)))
}

/// Whether a message is the mark, where marks are agreed on.
pub(crate) fn is_mark(message: &Received) -> bool {
    message.ppid == PPID && message.pieces().flatten().eq(&MARK)
}

/// Sends the mark behind all that was sent.
pub(crate) async fn send_mark(association: &Association, stream: u16) -> Result<(), SendError> {
    // Other streams, and what is unordered, would come behind it.
    let dry = association.until(|core| {
        let stats = core.snapshot().stats;
        (stats.queued_bytes + stats.flight == 0).then_some(())
    });
    tokio::select! {
        _ = dry => {}
        _ = association.closed() => {}
    }
    association.send(Message { ppid: PPID, ..Message::new(stream, MARK) }).await.map(|_| ())
}

/// Which directions have ended.
#[derive(Debug, Default)]
pub(crate) struct HalfClose {
    ends: Mutex<Ends>,
    peers: Notify,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ends {
    pub(crate) ours: bool,
    pub(crate) peers: bool,
}

impl HalfClose {
    pub(crate) fn ends(&self) -> Ends {
        *self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nothing more comes from here.
    pub(crate) fn end_ours(&self, association: &Association) {
        self.end(association, |ends| ends.ours = true);
    }

    /// Nothing more comes from there.
    pub(crate) fn end_peers(&self, association: &Association) {
        self.end(association, |ends| ends.peers = true);
        self.peers.notify_one();
    }

    /// Waits until nothing more comes from there; for one task.
    pub(crate) async fn peers_ended(&self) {
        while !self.ends().peers {
            self.peers.notified().await;
        }
    }

    fn end(&self, association: &Association, which: impl FnOnce(&mut Ends)) {
        let mut ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        which(&mut ends);
        if ends.ours && ends.peers {
            association.command(|association, now| {
                association.shutdown(now);
            });
        }
    }
}
