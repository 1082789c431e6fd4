//! The end of one direction. SCTP has no half-closed state (RFC 9260, 9.2): a side that shuts down gets no new data. So
//! two instances of this program tell each other by messages that standard input has ended, and that everything was
//! written, and shut down when both have said both. In the handshake each declares that it understands these messages
//! (Adaptation Layer Indication, RFC 5061, 4.2.6). With any other peer, the end of the first input ends the
//! association.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use anabranch_live::{Association, Message, Received, SendError};
use tokio::sync::Notify;

/// The adaptation code point of this program in the handshake: "anb" and the version of the exchange.
pub(crate) const CODE_POINT: u32 = 0x616e_6201;
/// Payload protocol identifier of the mark.
pub(crate) const PPID: u32 = CODE_POINT;

/// The meaning of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// The input of its sender has ended: all of it was sent before.
    End = 0,
    /// The sender of the mark has written all received data, up to the mark of the end.
    Written = 1,
}

/// Whether both sides understand marks.
pub(crate) fn is_agreed(association: &Association) -> bool {
    let agreed = association.command(|core, _| {
        let peers = core.snapshot().negotiated.and_then(|agreed| agreed.adaptation);
        (core.configuration().extensions.adaptation_indication, peers)
    });
    agreed == Some((Some(CODE_POINT), Some(CODE_POINT)))
}

/// The mark that a message is, where marks are agreed on.
pub(crate) fn mark(message: &Received) -> Option<Mark> {
    if message.ppid != PPID || message.len() != 1 {
        return None;
    }
    match message.pieces().flatten().next()? {
        0 => Some(Mark::End),
        1 => Some(Mark::Written),
        _ => None,
    }
}

/// Sends the mark of the end behind all data.
pub(crate) async fn send_end(association: &Association, stream: u16) -> Result<(), SendError> {
    acknowledged(association).await;
    send(association, stream, Mark::End).await
}

/// Waits until the peer has acknowledged all data, or the association has ended.
async fn acknowledged(association: &Association) {
    // Messages on other streams, and unordered ones, could arrive after the mark: it waits until all are acknowledged.
    let dry = association.until(|core| {
        let stats = core.snapshot().stats;
        (stats.queued_bytes + stats.flight == 0).then_some(())
    });
    tokio::select! {
        _ = dry => {}
        _ = association.closed() => {}
    }
}

/// Tells the peer that all it has sent is written.
pub(crate) async fn send_written(association: &Association, stream: u16) -> Result<(), SendError> {
    send(association, stream, Mark::Written).await
}

async fn send(association: &Association, stream: u16, mark: Mark) -> Result<(), SendError> {
    association.send(Message { ppid: PPID, ..Message::new(stream, [mark as u8]) }).await.map(|_| ())
}

/// The directions that have ended.
#[derive(Debug, Default)]
pub(crate) struct HalfClose {
    ends: Mutex<Ends>,
    peers: Notify,
    /// Numbers of marks sent and received; a mark has one byte.
    sent: AtomicU64,
    heard: AtomicU64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ends {
    /// Our input has ended.
    pub(crate) ours: bool,
    /// Our input has ended, and the peer has written all of it.
    written: bool,
    /// The peer's input has ended, and all of it is written.
    pub(crate) peers: bool,
}

impl HalfClose {
    pub(crate) fn ends(&self) -> Ends {
        *self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Our input has ended: tells the peer once it has acknowledged all data.
    pub(crate) async fn end_ours(&self, association: &Association, stream: u16) -> Result<(), SendError> {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner).ours = true;
        acknowledged(association).await;
        self.send(association, stream, Mark::End).await
    }

    /// Tells the peer that all it has sent is written.
    pub(crate) async fn answer(&self, association: &Association, stream: u16) -> Result<(), SendError> {
        self.send(association, stream, Mark::Written).await
    }

    async fn send(&self, association: &Association, stream: u16, mark: Mark) -> Result<(), SendError> {
        self.sent.fetch_add(1, Ordering::Relaxed);
        send(association, stream, mark).await
    }

    /// The bytes of users among those that an association has sent and received.
    pub(crate) fn without_marks(&self, sent: u64, received: u64) -> (u64, u64) {
        (
            sent.saturating_sub(self.sent.load(Ordering::Relaxed)),
            received.saturating_sub(self.heard.load(Ordering::Relaxed)),
        )
    }

    /// Takes a mark of the peer. Once the peer's input has ended, and the peer has written all of ours, the association ends.
    pub(crate) fn hear(&self, association: &Association, mark: Mark) {
        self.heard.fetch_add(1, Ordering::Relaxed);
        let mut ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        match mark {
            Mark::End => ends.peers = true,
            Mark::Written => ends.written = true,
        }
        if ends.written && ends.peers {
            association.command(|association, now| {
                association.shutdown(now);
            });
        }
        drop(ends);
        self.peers.notify_one();
    }

    /// Waits until the peer's input has ended; one task at a time may wait.
    pub(crate) async fn peers_ended(&self) {
        while !self.ends().peers {
            self.peers.notified().await;
        }
    }
}
