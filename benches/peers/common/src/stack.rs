//! A stack as the application and the loop see it.

use std::net::SocketAddr;
use std::time::Instant;

use bytes::Bytes;

use crate::Tally;

/// An event of the association.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// It is up.
    Up,
    /// The other side has begun anew.
    Restarted,
    /// Streams that we wanted to begin anew have.
    ResetDone,
    /// The other side's streams begin anew.
    PeerReset,
    /// It has ended gracefully.
    Graceful,
    /// The other side has aborted it.
    Aborted,
    /// It has ended otherwise.
    Lost(String),
    /// Something worth telling.
    Note(String),
}

/// A message to be sent.
#[derive(Clone, Debug)]
pub struct Outgoing {
    /// Stream id.
    pub stream: u16,
    /// Whether it may overtake others.
    pub unordered: bool,
    /// Retransmissions after which it is given up.
    pub rtx: Option<u16>,
    /// User data.
    pub payload: Bytes,
}

/// A packet that is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Where to.
    pub to: SocketAddr,
    /// The SCTP packet.
    pub bytes: &'a [u8],
    /// IP must not fragment it, as is the default of sockets of Linux.
    pub whole: bool,
}

/// The stack takes no more now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// A stack without input and output of its own: one association at a time.
pub trait Stack {
    /// Asks for an association.
    fn open(&mut self, now: Instant);
    /// Takes a packet.
    fn receive(&mut self, now: Instant, from: SocketAddr, packet: &[u8]);
    /// Runs the timers that are due.
    fn timeout(&mut self, now: Instant);
    /// When the next timer is due.
    fn due(&mut self) -> Option<Instant>;
    /// Hands out every packet that is to be sent now.
    fn transmit(&mut self, now: Instant, out: &mut dyn FnMut(Packet<'_>));
    /// The next event.
    fn event(&mut self) -> Option<Event>;
    /// Tells a message that has arrived. False when there is none.
    fn read(&mut self, tally: &mut Tally) -> bool;
    /// Takes a message.
    ///
    /// # Errors
    /// [`Full`]: not now.
    fn send(&mut self, now: Instant, message: &Outgoing) -> Result<(), Full>;
    /// Whether the peer has all sent data, where a shutdown does not wait for that by itself.
    fn is_flushed(&mut self) -> bool {
        true
    }
    /// Begins the streams 0 to `streams` - 1 anew; [`Event::ResetDone`] tells when that is done.
    fn reset(&mut self, now: Instant, streams: u16);
    /// Ends the association gracefully.
    fn shutdown(&mut self, now: Instant);
    /// Aborts the association.
    fn abort(&mut self, now: Instant);
}
