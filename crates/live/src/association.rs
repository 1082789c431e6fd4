//! One association, as its user has it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use anabranch_sctp::{
    AssociationHandle, AssociationId, CloseReason, Event, Message, MessageId, Received, Snapshot,
};
use bytes::{Bytes, BytesMut};

use crate::error::{Closed, SendError};
use crate::shared::{Queue, Shared, State};

/// An association. Clones are the same association; when the last of them is dropped it is shut down in the background: sent
/// messages are delivered first, within [`EndpointConfig::linger`](crate::EndpointConfig::linger). If received messages are unread, or
/// messages come then, it is aborted instead.
///
/// Every method that waits may be dropped while it waits: it has then done nothing.
#[derive(Clone, Debug)]
pub struct Association {
    held: Arc<Held>,
}

/// The handle shared by all clones; the last to be dropped releases the association.
#[derive(Debug)]
struct Held {
    shared: Arc<Shared>,
    id: AssociationId,
}

impl Drop for Held {
    fn drop(&mut self) {
        let linger = self.shared.linger;
        self.shared.command(|state, now| state.orphan(now, self.id, linger));
    }
}

impl Association {
    /// Takes hold of an association that the core has just made.
    pub(crate) fn adopt(shared: &Arc<Shared>, state: &mut State, id: AssociationId) -> Self {
        state.adopt(id);
        Self { held: Arc::new(Held { shared: Arc::clone(shared), id }) }
    }

    fn id(&self) -> AssociationId {
        self.held.id
    }

    fn shared(&self) -> &Shared {
        &self.held.shared
    }

    /// Waits until it is up, after [`Endpoint::begin`](crate::Endpoint::begin). An association that was up and has
    /// ended meanwhile counts as up: its messages can still be read, and the reason for its end follows them.
    ///
    /// # Errors
    /// When it has ended without having been up; why.
    pub async fn established(&self) -> Result<(), CloseReason> {
        let id = self.id();
        self.shared()
            .wait(Queue::Watchers(id), |state, _| match state.slot(id) {
                Some(slot) if slot.up => Poll::Ready(Ok(())),
                Some(slot) => slot.reason().map_or(Poll::Pending, |reason| Poll::Ready(Err(reason))),
                None => Poll::Ready(Err(CloseReason::AbortedLocally)),
            })
            .await
    }

    /// Sends a message; waits while the send buffer, or the share of its stream in it (`stream_send_buffer`), is full, and where it asks
    /// for another code point than its stream has while other messages of that stream are under way: those that are sent meanwhile put it
    /// off. That it was
    /// taken does not mean that it has arrived: [`Message::tell_fate`] and [`Association::next_event`] tell that.
    ///
    /// # Errors
    /// When the message is not allowed, or the association ends.
    pub async fn send(&self, message: impl Into<Outbound>) -> Result<MessageId, SendError> {
        let Outbound(message) = message.into();
        let id = self.id();
        self.shared()
            .wait(Queue::Writers(id), |state, clock| {
                match try_send(state, clock.now(), id, message.clone()) {
                    Err(SendError::Refused(
                        anabranch_sctp::SendError::Full
                        | anabranch_sctp::SendError::StreamFull { .. }
                        | anabranch_sctp::SendError::OtherSubflow { .. },
                    )) => Poll::Pending,
                    done => Poll::Ready(done),
                }
            })
            .await
    }

    /// Sends a message, if there is room for it now.
    ///
    /// # Errors
    /// As [`Association::send`]; and when there is no room.
    pub fn try_send(&self, message: impl Into<Outbound>) -> Result<MessageId, SendError> {
        let Outbound(message) = message.into();
        let id = self.id();
        self.shared().command(|state, now| try_send(state, now, id, message))
    }

    /// The next message of any stream. `None` when the peer sends nothing any more and all was read.
    ///
    /// # Errors
    /// When the association has ended otherwise than in order, and all messages that had arrived were read.
    pub async fn recv(&self) -> Result<Option<Received>, Closed> {
        let id = self.id();
        self.shared().wait(Queue::Readers(id), |state, _| receive(state, id, None)).await
    }

    /// The next message of one stream. A stream that is not read keeps no other from being read, as long as the receive buffer
    /// has room.
    ///
    /// # Errors
    /// As [`Association::recv`].
    pub async fn recv_from(&self, stream: u16) -> Result<Option<Received>, Closed> {
        let id = self.id();
        self.shared().wait(Queue::Readers(id), |state, _| receive(state, id, Some(stream))).await
    }

    /// The next event, of those that come after the first call; [`Event::Closed`] is told in any case. Messages are read with
    /// [`Association::recv`]. `None` after [`Event::Closed`].
    pub async fn next_event(&self) -> Option<Event> {
        let id = self.id();
        self.shared()
            .wait(Queue::Watchers(id), |state, _| {
                let Some(slot) = state.slot(id) else { return Poll::Ready(None) };
                let closed = slot.closed.is_some();
                match slot.events().queue.pop_front() {
                    Some(event) => Poll::Ready(Some(event)),
                    None if closed => Poll::Ready(None),
                    None => Poll::Pending,
                }
            })
            .await
    }

    /// Keeps no events any more, and forgets those that were not taken, until [`Association::next_event`] is called
    /// again: for users that want the events of the handshake alone.
    pub fn stop_events(&self) {
        let id = self.id();
        self.shared().look(|state| {
            if let Some(slot) = state.slot(id) {
                slot.events = None;
            }
        });
    }

    /// How many events were not kept, as 4,096 had not been taken yet.
    #[must_use]
    pub fn missed_events(&self) -> u64 {
        let id = self.id();
        self.shared().look(|state| {
            state.slot(id).and_then(|slot| slot.events.as_ref()).map_or(0, |events| events.missed)
        })
    }

    /// Ends the association in order: sent messages are delivered first. Waits for the end; dropped, it goes on ending.
    ///
    /// # Errors
    /// When it ends otherwise.
    pub async fn shutdown(&self) -> Result<(), Closed> {
        self.command(|association, now| {
            association.shutdown(now);
        });
        self.ended_in_order().await
    }

    /// As [`Association::shutdown`], but it is aborted when that takes longer than `patience`.
    ///
    /// # Errors
    /// When it ends otherwise.
    pub async fn shutdown_within(&self, patience: Duration) -> Result<(), Closed> {
        let patience = in_core(patience);
        self.command(|association, now| association.shutdown_within(now, patience));
        self.ended_in_order().await
    }

    async fn ended_in_order(&self) -> Result<(), Closed> {
        match self.closed().await {
            CloseReason::Graceful => Ok(()),
            reason => Err(Closed(reason)),
        }
    }

    /// Ends the association at once. The peer is told `reason`; messages that were not delivered are lost.
    pub fn abort(&self, reason: &[u8]) {
        self.command(|association, now| association.abort(now, reason));
    }

    /// Waits for the end.
    pub async fn closed(&self) -> CloseReason {
        let id = self.id();
        self.shared()
            .wait(Queue::Watchers(id), |state, _| match state.slot(id).map(|slot| slot.reason()) {
                Some(None) => Poll::Pending,
                Some(Some(reason)) => Poll::Ready(reason),
                None => Poll::Ready(CloseReason::AbortedLocally),
            })
            .await
    }

    /// Waits until `look` returns a value for the core's association: it is called now, and whenever packets have come
    /// or a timer has run. For conditions without an event: an answer to a heartbeat, a counter, an empty buffer. It
    /// runs under the lock of the endpoint, so it must be short, and call nothing of this crate. `None` when the
    /// association is no more.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use anabranch_live::{Endpoint, EndpointConfig};
    /// # let server = Endpoint::bind(&["127.0.0.1:0".parse()?], EndpointConfig::on_port(5000))?;
    /// # server.listen()?;
    /// # let at = server.local_addresses()[0];
    /// # let served = tokio::spawn(async move { server.accept().await.unwrap().accept().unwrap().recv().await });
    /// # let client = Endpoint::bind(&["127.0.0.1:0".parse()?], EndpointConfig::default())?;
    /// # let association = client.connect(at, 5000).await?;
    /// association.send("hello").await?;
    /// association.until(|core| (core.snapshot().stats.sacks_received > 0).then_some(())).await;
    /// assert_eq!(association.snapshot().map(|all| all.stats.flight), Some(0));
    /// # association.abort(b"");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn until<R>(
        &self,
        mut look: impl FnMut(&anabranch_sctp::Association) -> Option<R>,
    ) -> Option<R> {
        let id = self.id();
        self.shared()
            .wait(Queue::Activity, |state, _| match state.endpoint.view(id) {
                Some(_) if state.ended => Poll::Ready(None),
                Some(association) => {
                    look(association).map_or(Poll::Pending, |found| Poll::Ready(Some(found)))
                }
                None => Poll::Ready(None),
            })
            .await
    }

    /// Runs a command on the core's association: settings, subflows, resets of streams, heartbeats, undelivered
    /// messages. It runs under the lock of the endpoint, so it must be short, and call nothing of this crate. `None`
    /// when the endpoint has ended.
    pub fn command<R>(
        &self,
        command: impl FnOnce(&mut AssociationHandle<'_>, anabranch_sctp::Instant) -> R,
    ) -> Option<R> {
        let id = self.id();
        self.shared().command(|state, now| {
            state.endpoint.association(id).map(|mut association| command(&mut association, now))
        })
    }

    /// All counters and gauges.
    #[must_use]
    pub fn snapshot(&self) -> Option<Snapshot> {
        let id = self.id();
        self.shared().look(|state| state.endpoint.view(id).map(anabranch_sctp::Association::snapshot))
    }

    /// Where the peer is; the port is the UDP port.
    #[must_use]
    pub fn remote(&self) -> Option<SocketAddr> {
        let id = self.id();
        self.shared().look(|state| state.endpoint.view(id).and_then(anabranch_sctp::Association::remote))
    }

    /// One stream, to send on and to read alone.
    #[must_use]
    pub fn stream(&self, number: u16) -> Stream {
        Stream { association: self.clone(), number }
    }

    /// How many streams there are to send on.
    #[must_use]
    pub fn outbound_streams(&self) -> u16 {
        let id = self.id();
        self.shared()
            .look(|state| state.endpoint.view(id).map_or(0, anabranch_sctp::Association::outbound_streams))
    }
}

/// One stream of an association, in both directions. It holds the association as a clone of it does.
#[derive(Clone, Debug)]
pub struct Stream {
    association: Association,
    number: u16,
}

impl Stream {
    /// Its number.
    #[must_use]
    pub fn number(&self) -> u16 {
        self.number
    }

    /// The association of this stream.
    #[must_use]
    pub fn association(&self) -> &Association {
        &self.association
    }

    /// Sends a message on this stream, also if it names another stream. It waits for room as [`Association::send`] does.
    ///
    /// # Errors
    /// As [`Association::send`].
    pub async fn send(&self, message: impl Into<Outbound>) -> Result<MessageId, SendError> {
        let Outbound(message) = message.into();
        self.association.send(Message { stream: self.number, ..message }).await
    }

    /// The next message of this stream, as [`Association::recv_from`].
    ///
    /// # Errors
    /// As [`Association::recv`].
    pub async fn recv(&self) -> Result<Option<Received>, Closed> {
        self.association.recv_from(self.number).await
    }
}

/// A message, or the payload of one on stream 0.
#[derive(Clone, Debug)]
pub struct Outbound(Message);

impl From<Message> for Outbound {
    fn from(message: Message) -> Self {
        Self(message)
    }
}

/// A payload of any kind: one implementation for each, as a message is none.
macro_rules! payloads {
    ($($payload:ty),*) => {
        $(impl From<$payload> for Outbound {
            fn from(payload: $payload) -> Self {
                Self(Message::new(0, payload))
            }
        })*
    };
}
payloads!(Bytes, BytesMut, Vec<u8>, Box<[u8]>, String, &[u8], &Vec<u8>, &str, &String);

impl<const N: usize> From<&[u8; N]> for Outbound {
    fn from(payload: &[u8; N]) -> Self {
        Self(Message::new(0, payload))
    }
}

impl<const N: usize> From<[u8; N]> for Outbound {
    fn from(payload: [u8; N]) -> Self {
        Self(Message::new(0, payload))
    }
}

pub(crate) fn in_core(time: Duration) -> anabranch_sctp::Duration {
    anabranch_sctp::Duration::from_nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

fn try_send(
    state: &mut State,
    now: anabranch_sctp::Instant,
    id: AssociationId,
    message: Message,
) -> Result<MessageId, SendError> {
    if let Some(reason) = end_of(state, id) {
        return Err(SendError::Closed(reason));
    }
    let Some(mut association) = state.endpoint.association(id) else {
        return Err(SendError::Closed(CloseReason::AbortedLocally));
    };
    Ok(association.send(now, message)?)
}

fn end_of(state: &mut State, id: AssociationId) -> Option<CloseReason> {
    match state.slot(id) {
        Some(slot) => slot.reason(),
        None => Some(CloseReason::AbortedLocally),
    }
}

fn receive(
    state: &mut State,
    id: AssociationId,
    stream: Option<u16>,
) -> Poll<Result<Option<Received>, Closed>> {
    if let Some(mut association) = state.endpoint.association(id) {
        let message = match stream {
            Some(stream) => association.receive_from(stream),
            None => association.receive(),
        };
        if message.is_some() {
            return Poll::Ready(Ok(message));
        }
    }
    let Some(slot) = state.slot(id) else { return Poll::Ready(Err(Closed(CloseReason::AbortedLocally))) };
    match slot.closed.as_deref() {
        Some(CloseReason::Graceful) => Poll::Ready(Ok(None)),
        Some(reason) => Poll::Ready(Err(Closed(reason.clone()))),
        None if slot.peer_done => Poll::Ready(Ok(None)),
        None => Poll::Pending,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use crate::{Endpoint, EndpointConfig};

    /// A server that says something and closes may be done before the client's task runs again.
    #[tokio::test]
    async fn what_is_over_before_anybody_looked_was_up() {
        let server =
            Endpoint::bind(&["127.0.0.1:0".parse().unwrap()], EndpointConfig::on_port(5000)).unwrap();
        server.listen().unwrap();
        let at = server.local_addresses()[0];
        let served = tokio::spawn(async move {
            let association = server.accept().await.unwrap().accept().unwrap();
            association.send("good bye").await.unwrap();
            association.shutdown().await.unwrap();
        });
        let client = Endpoint::bind(&["127.0.0.1:0".parse().unwrap()], EndpointConfig::default()).unwrap();
        let association = client.begin(at, 5000, std::sync::Arc::new(crate::default_association())).unwrap();
        let _ended = association.closed().await;
        served.await.unwrap();
        assert!(association.established().await.is_ok());
        assert_eq!(association.recv().await.unwrap().unwrap().into_bytes(), "good bye");
    }
}
