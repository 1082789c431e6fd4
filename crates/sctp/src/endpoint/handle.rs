//! The handle of an association: its commands.

use std::net::{IpAddr, SocketAddr};
use std::ops::Deref;

use anabranch_base::{Dscp, Duration, Instant};

use super::Endpoint;
use crate::association::{Association, End};
use crate::config::{ChangeError, Config, SubflowSpec};
use crate::error::{PathError, PathMtuError, ReconfigError, SendError, SubflowError};
use crate::event::{AssociationId, Direction};
use crate::message::{Message, Received};
use crate::options::{MessageId, Reliability};
use crate::undelivered::Undelivered;

/// One association of an endpoint, with the commands that a user has for it ([`Endpoint::association`]). It shows all that
/// an [`Association`] shows. When it is dropped the endpoint looks at the changes that the commands have made: poll it then.
///
/// ```
/// # use anabranch_base::Instant;
/// # use anabranch_sctp::{AssociationId, Direction, Endpoint, Message};
/// # fn example(endpoint: &mut Endpoint, id: AssociationId, now: Instant) -> Option<()> {
/// let mut association = endpoint.association(id)?;
/// association.send(now, Message::new(0, "last words")).ok()?;
/// association.shutdown(now);
/// # Some(())
/// # }
/// ```
#[derive(Debug)]
pub struct AssociationHandle<'a> {
    endpoint: &'a mut Endpoint,
    id: AssociationId,
    /// When the last command was given after which timers, events and the maps have to be looked at.
    changed: Option<Instant>,
}

impl Deref for AssociationHandle<'_> {
    type Target = Association;

    #[inline]
    fn deref(&self) -> &Association {
        self.endpoint.registry.known(self.id)
    }
}

impl Drop for AssociationHandle<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(now) = self.changed {
            self.endpoint.settle(now, self.id.index);
        }
    }
}

impl Endpoint {
    /// The handle of an association, for commands.
    #[inline]
    pub fn association(&mut self, id: AssociationId) -> Option<AssociationHandle<'_>> {
        self.view(id)?;
        Some(AssociationHandle { endpoint: self, id, changed: None })
    }
}

impl AssociationHandle<'_> {
    #[inline]
    fn get(&mut self) -> &mut Association {
        self.endpoint.registry.known_mut(self.id)
    }

    /// As [`AssociationHandle::get`], for a command that may change more than the data to send.
    fn command(&mut self, now: Instant) -> &mut Association {
        self.changed = Some(now);
        self.get()
    }

    /// Hands in a message. Its id is the number that later events name it by, if its fate is asked for ([`Message::tell_fate`]).
    ///
    /// ```
    /// # mod two { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/two.rs")); }
    /// # use two::*;
    /// let config = Config::rfc9260().with(|c| c.limits.send_buffer = 20_000);
    /// # let mut two = Two::up(config);
    /// let now = two.now;
    /// let first = two.a().send(now, Message::new(1, vec![7; 15_000]))?;
    /// let second = two.a().send(now, Message::new(2, vec![7; 15_000]))?; // a message that goes beyond the limit is taken
    /// assert!(first < second);
    /// assert_eq!(two.send(3, 1), Err(SendError::Full));
    /// two.exchange();
    /// assert!(two.told_a().contains(&Event::Writable { stream: None }));
    /// two.send(3, 1)?;
    /// # Ok::<(), SendError>(())
    /// ```
    ///
    /// # Errors
    /// Says why it is not taken; the message is dropped then (its payload is a cheap clone of yours).
    #[inline]
    pub fn send(&mut self, now: Instant, message: Message) -> Result<MessageId, SendError> {
        // Also where it is refused: the stream may have gone to another subflow, of which the peer is to be told.
        let moves = message.options.as_ref().is_some_and(|options| options.dscp.is_some());
        let sent = self.get().send(now, message);
        if moves || sent.is_ok() {
            self.endpoint.registry.queue(self.id.index);
        }
        sent
    }

    /// Says how reliable messages are that do not say so themselves: those of one stream, or of every stream that was not named
    /// (`None`). It counts for messages handed in from now on. If the handshake finds that the peer does not skip messages that are given up, it
    /// has no effect: [`Association::is_partially_reliable`] tells.
    ///
    /// ```
    /// # mod two { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/two.rs")); }
    /// # use two::*;
    /// # let mut two = Two::up(Config::for_networks());
    /// // Pictures are worth sending for 100 ms, positions once; whatever else there is arrives.
    /// two.a().set_reliability(Some(2), Reliability::Lifetime(Duration::from_millis(100)))?;
    /// two.a().set_reliability(Some(3), Reliability::Retransmissions(0))?;
    /// for stream in 1..=3 {
    ///     two.send(stream, 1000)?;
    /// }
    /// two.lose();
    /// two.exchange();
    /// assert_eq!(two.z().receive().map(|message| message.stream), Some(1));
    /// assert!(two.z().receive().is_none());
    /// assert_eq!(two.a().abandoned(Some(2), None).sent, 1);
    /// assert_eq!(two.a().abandoned(None, None).sent, 2);
    /// # Ok::<(), SendError>(())
    /// ```
    ///
    /// # Errors
    /// When there is no such stream, or it is known that the peer does not skip messages that are given up.
    pub fn set_reliability(
        &mut self,
        stream: Option<u16>,
        reliability: Reliability,
    ) -> Result<(), SendError> {
        let (sender, cx) = self.get().sending();
        sender.messages().set_reliability(cx, stream, reliability)
    }

    /// Turns reports of fate on or off for every message that does not choose for itself ([`MessageOptions::fate`]).
    ///
    /// ```
    /// # mod two { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/two.rs")); }
    /// # use two::*;
    /// # let mut two = Two::up(Config::rfc9260());
    /// two.a().tell_fates(true);
    /// let now = two.now;
    /// let message = two.a().send(now, Message::new(0, "hello"))?;
    /// two.exchange();
    /// assert!(two.told_a().contains(&Event::Delivered { message, context: 0 }));
    /// # Ok::<(), SendError>(())
    /// ```
    ///
    /// [`MessageOptions::fate`]: crate::MessageOptions::fate
    pub fn tell_fates(&mut self, on: bool) {
        self.get().sending().0.special_mut().tell_fates(on);
    }

    /// Turns [`Event::SenderDry`] on or off, which says that nothing is left to be sent or acknowledged (RFC 6458,
    /// 6.1.9). It comes at once where that is so now, else as soon as it is, and each time again after something was
    /// handed in.
    ///
    /// ```
    /// # mod two { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/two.rs")); }
    /// # use two::*;
    /// # let mut two = Two::up(Config::rfc9260());
    /// two.send(0, 50_000)?;
    /// let now = two.now;
    /// two.a().tell_when_dry(now, true);
    /// assert!(two.a().buffered_bytes(None) > 0 && two.told.is_empty());
    /// two.exchange();
    /// assert!(two.told_a().contains(&Event::SenderDry));
    /// # Ok::<(), SendError>(())
    /// ```
    ///
    /// [`Event::SenderDry`]: crate::Event::SenderDry
    pub fn tell_when_dry(&mut self, now: Instant, on: bool) {
        let (sender, cx) = self.command(now).sending();
        cx.env.set_now(now);
        sender.messages().tell_when_dry(cx, on);
    }

    /// The next message; frees its place in the receive window.
    #[inline]
    pub fn receive(&mut self) -> Option<Received> {
        let association = self.get();
        // It is answered where it was made: a message is large.
        let (receiver, cx) = association.receiving();
        let message = receiver.pop(cx);
        if message.is_none() {
            self.endpoint.closing.note_read(&self.endpoint.registry, self.id);
        } else if association.owes_sack() {
            // Reading can set off nothing but a window update.
            self.endpoint.registry.queue(self.id.index);
        }
        message
    }

    /// The next message of one stream; frees its place in the receive window. A stream that is not read fills the window, which
    /// all share, and keeps nothing else from being read.
    ///
    /// From the first call on [`Event::Readable`] is told for each stream by itself: where the stream had nothing to
    /// read. For streams with messages that wait then it is told at once. [`AssociationHandle::receive`] goes on to
    /// take messages in the order of their delivery.
    ///
    /// A closed association stays, and takes a place of `max_associations`, until all of its streams are read. After
    /// reading only some of them, read the rest after [`Event::Closed`], or call
    /// [`Endpoint::release`](crate::Endpoint::release); else a peer fills the places with messages on a stream that
    /// is not read.
    ///
    /// [`Event::Closed`]: crate::Event::Closed
    ///
    /// ```
    /// # mod two { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/two.rs")); }
    /// # use two::*;
    /// # let mut two = Two::up(Config::rfc9260());
    /// assert!(two.z().receive_from(3).is_none()); // from now on streams have their own events
    /// for stream in [3, 5, 5] {
    ///     two.send(stream, 100)?;
    /// }
    /// two.exchange();
    /// let readable: Vec<_> = two.told.iter().map(|(_, event)| event.clone()).collect();
    /// assert_eq!(readable, [Event::Readable { stream: 3 }, Event::Readable { stream: 5 }]);
    /// // Stream 5 is read, and stream 3 is not.
    /// assert_eq!(two.z().receive_from(5).map(|message| message.number), Some(0));
    /// assert_eq!(two.z().receive_from(5).map(|message| message.number), Some(1));
    /// assert_eq!(two.z().readable_streams(), [3]);
    /// # Ok::<(), SendError>(())
    /// ```
    ///
    /// [`Event::Readable`]: crate::Event::Readable
    pub fn receive_from(&mut self, stream: u16) -> Option<Received> {
        let (receiver, cx) = self.get().receiving();
        let message = receiver.pop_from(cx, stream);
        self.endpoint.registry.note_events(self.id.index);
        if !self.get().has_unread() {
            self.endpoint.closing.note_read(&self.endpoint.registry, self.id);
        }
        if self.owes_sack() {
            self.endpoint.registry.queue(self.id.index);
        }
        message
    }

    /// Sets the value of a stream that `stream_scheduling` looks at: its priority (the smaller goes first) or its weight.
    ///
    /// # Errors
    /// When there is no such stream.
    pub fn set_stream_value(&mut self, stream: u16, value: u16) -> Result<(), SendError> {
        let (sender, cx) = self.get().sending();
        sender.messages().set_stream_value(cx, stream, value)
    }

    /// Asks for [`Event::BufferedLow`] each time the buffered data ([`Association::buffered_bytes`]) of a stream, or of all (`None`), falls
    /// from more than `bytes` to so many or fewer; `None` asks for it no more.
    ///
    /// ```
    /// # mod two { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/two.rs")); }
    /// # use two::*;
    /// # let mut two = Two::up(Config::rfc9260());
    /// two.a().set_low_threshold(Some(2), Some(10_000))?;
    /// two.send(2, 50_000)?;
    /// assert_eq!(two.a().buffered_bytes(Some(2)), 50_000);
    /// two.exchange();
    /// assert!(two.told.contains(&(0, Event::BufferedLow { stream: Some(2) })));
    /// # Ok::<(), SendError>(())
    /// ```
    ///
    /// # Errors
    /// When there is no such stream.
    ///
    /// [`Event::BufferedLow`]: crate::Event::BufferedLow
    pub fn set_low_threshold(&mut self, stream: Option<u16>, bytes: Option<usize>) -> Result<(), SendError> {
        let (sender, cx) = self.get().sending();
        sender.messages().set_low_threshold(cx, stream, bytes)
    }

    /// Sets the MTU of the paths: IP packets of so many bytes, 576 to 65,535 (RFC 6458, 8.1.12: `spp_pathmtu`). Fragments of messages
    /// that have left keep their size; those that are sent again may have to be fragmented by IP (RFC 9260, 6.9).
    ///
    /// # Errors
    /// When it is out of range; nothing has changed then.
    pub fn set_path_mtu(&mut self, now: Instant, mtu: u16) -> Result<(), PathMtuError> {
        if mtu < PathMtuError::LEAST {
            return Err(PathMtuError { mtu });
        }
        self.command(now).path_manager().set_path_mtu(now, mtu);
        Ok(())
    }

    /// Leaves the MTU of the paths to discovery again, after [`AssociationHandle::set_path_mtu`] (RFC 6458, 8.1.12:
    /// `SPP_PMTUD_ENABLE`); how, says [`PathMtuConfig`](crate::config::PathMtuConfig).
    pub fn discover_path_mtu(&mut self, now: Instant) {
        self.command(now).path_manager().discover_path_mtu(now);
    }

    /// Ends the association once everything has been delivered.
    pub fn shutdown(&mut self, now: Instant) {
        self.command(now).shutdown(now, None);
    }

    /// Ends the association once everything has been delivered, or after `patience`, whichever comes first: then the peer gets an
    /// ABORT, [`CloseReason::ShutdownDeadline`](crate::CloseReason::ShutdownDeadline) says so, and messages that were not delivered are handed back
    /// ([`Event::SendFailed`](crate::Event::SendFailed)). Another call sets another time.
    ///
    /// ```
    /// # mod two { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/two.rs")); }
    /// # use two::*;
    /// # let mut two = Two::up(Config::rfc9260());
    /// two.send(0, 1000)?;
    /// two.lose(); // it would be sent again after 1 s
    /// let now = two.now;
    /// two.a().shutdown_within(now, Duration::from_millis(500));
    /// two.now += Duration::from_millis(500);
    /// let now = two.now;
    /// two.ends[0].handle_timeout(now);
    /// let event = |two: &mut Two| two.ends[0].poll_event().map(|(_, event)| event);
    /// assert_eq!(event(&mut two), Some(Event::SendFailed { unsent: 0, unacknowledged: 1 }));
    /// assert_eq!(event(&mut two), Some(Event::Closed(CloseReason::ShutdownDeadline)));
    /// assert_eq!(two.a().receive_unacknowledged().map(|message| message.len()), Some(1000));
    /// # Ok::<(), SendError>(())
    /// ```
    pub fn shutdown_within(&mut self, now: Instant, patience: Duration) {
        self.command(now).shutdown(now, Some(now + patience));
    }

    /// Ends the association at once; the peer is told `reason`.
    pub fn abort(&mut self, now: Instant, reason: &[u8]) {
        self.command(now).end(End::by_user(reason));
    }

    /// Opens another subflow; the streams that `spec` names move there. Answers its number.
    ///
    /// # Errors
    /// When the association is ending, or has as many subflows as `max_subflows` allows.
    pub fn add_subflow(&mut self, now: Instant, spec: &SubflowSpec) -> Result<u8, SubflowError> {
        self.command(now).subflow_manager().add_subflow(now, spec)
    }

    /// Closes a subflow; its streams move to subflow `to`. Its chunks in flight are acknowledged or sent again as
    /// before.
    ///
    /// # Errors
    /// When the association is ending, one of the subflows is not open, or they are the same.
    pub fn remove_subflow(&mut self, now: Instant, subflow: u8, to: u8) -> Result<(), SubflowError> {
        self.command(now).subflow_manager().remove_subflow(now, subflow, to)
    }

    /// Joins a subflow to another: streams, flight and window ([`Association::alike`] says whether two are alike).
    ///
    /// # Errors
    /// As [`AssociationHandle::remove_subflow`].
    pub fn merge_subflows(&mut self, now: Instant, subflow: u8, into: u8) -> Result<(), SubflowError> {
        self.command(now).subflow_manager().merge_subflows(now, subflow, into)
    }

    /// Moves a stream to the subflow with this code point, which is opened if there is none; answers its number. Messages
    /// that wait move along as soon as a message that has begun to leave has left whole.
    ///
    /// # Errors
    /// As [`AssociationHandle::add_subflow`]; and when there is no such stream.
    pub fn set_stream_dscp(&mut self, now: Instant, stream: u16, dscp: Dscp) -> Result<u8, SubflowError> {
        self.command(now).subflow_manager().set_stream_dscp(now, stream, dscp)
    }

    /// Moves a stream to a subflow. Messages that wait move along as soon as a message that has begun to leave has left
    /// whole.
    ///
    /// # Errors
    /// When there is no such stream, the association is ending, or the subflow is not open.
    pub fn set_stream_subflow(&mut self, now: Instant, stream: u16, subflow: u8) -> Result<(), SubflowError> {
        self.command(now).subflow_manager().set_stream_subflow(now, stream, subflow)
    }

    /// Asks for a reset of streams (RFC 6525): ours, the peer's or both; all of them where none is listed. Messages given
    /// before leave with their old numbers first; those given later wait for the answer. [`Event::StreamsReset`] tells
    /// the outcome.
    ///
    /// # Errors
    /// When the association is not up, RE-CONFIG was not agreed on, or a stream does not exist.
    ///
    /// [`Event::StreamsReset`]: crate::Event::StreamsReset
    pub fn reset_streams(
        &mut self,
        now: Instant,
        direction: Direction,
        streams: &[u16],
    ) -> Result<(), ReconfigError> {
        let (reconfig, mut scope) = self.command(now).reconfigure()?;
        reconfig.reset_streams(&mut scope, direction, streams)
    }

    /// Asks for a reset of all streams and both TSN spaces (RFC 6525, SSN/TSN reset). Messages given before are
    /// delivered first. [`Event::AssociationReset`] has the outcome.
    ///
    /// # Errors
    /// As [`AssociationHandle::reset_streams`]; also within 30 s of the last time, and while subflows have sequence spaces
    /// of their own.
    ///
    /// [`Event::AssociationReset`]: crate::Event::AssociationReset
    pub fn reset_association(&mut self, now: Instant) -> Result<(), ReconfigError> {
        let (reconfig, mut scope) = self.command(now).reconfigure()?;
        reconfig.reset_association(&mut scope, now)
    }

    /// Asks for more streams, `outgoing` of ours and `incoming` of the peer's. They may be used once
    /// [`Event::StreamsAdded`] says so.
    ///
    /// # Errors
    /// As [`AssociationHandle::reset_streams`]; also when there would be too many.
    ///
    /// [`Event::StreamsAdded`]: crate::Event::StreamsAdded
    pub fn add_streams(&mut self, now: Instant, outgoing: u16, incoming: u16) -> Result<(), ReconfigError> {
        let (reconfig, scope) = self.command(now).reconfigure()?;
        reconfig.add_streams(&scope, outgoing, incoming)
    }

    /// SETPRIMARY (RFC 9260, 11.1.6): data shall go to an address from now on, while that answers. At first it goes to that of the
    /// handshake. Data in flight stays on its path.
    ///
    /// # Errors
    /// When the peer has no such address, or it is not confirmed.
    pub fn set_primary(&mut self, now: Instant, address: IpAddr) -> Result<(), PathError> {
        self.command(now).path_manager().set_primary(now, address)
    }

    /// CHANGEHEARTBEAT (RFC 9260, 11.1.9): heartbeats to an address, or none. The `interval` counts for all addresses.
    ///
    /// # Errors
    /// When the peer has no such address, or it is not confirmed.
    pub fn change_heartbeat(
        &mut self,
        now: Instant,
        address: IpAddr,
        on: bool,
        interval: Option<Duration>,
    ) -> Result<(), PathError> {
        self.command(now).path_manager().change_heartbeat(now, address, on, interval)
    }

    /// REQUESTHEARTBEAT (RFC 9260, 11.1.10): a HEARTBEAT leaves now, whether heartbeats are on or not.
    ///
    /// # Errors
    /// When the peer has no such address, or the association is not up.
    pub fn request_heartbeat(&mut self, now: Instant, address: IpAddr) -> Result<(), PathError> {
        self.command(now).path_manager().request_heartbeat(now, address)
    }

    /// SETFAILURETHRESHOLD (RFC 9260, 11.1.12): Path.Max.Retrans. Data goes on one path, so it is the association's.
    ///
    /// # Errors
    /// When the peer has no such address.
    pub fn set_failure_threshold(&mut self, address: IpAddr, threshold: u32) -> Result<(), PathError> {
        self.get().path_manager().set_failure_threshold(address, threshold)
    }

    /// The UDP port of an address of the peer, 0 for none (RFC 6951, 6.1), until a packet comes from another.
    ///
    /// # Errors
    /// When the peer has no such address.
    pub fn set_encapsulation_port(&mut self, address: SocketAddr) -> Result<(), PathError> {
        self.get().path_manager().set_encapsulation_port(address)
    }

    /// SETPROTOCOLPARAMETERS (RFC 9260, 11.1.13): sets one value by its flat name. It counts at once: the bounds hold for the RTO
    /// there is, a heartbeat interval begins anew; timers that run keep their time.
    ///
    /// ```
    /// # mod two { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/two.rs")); }
    /// # use two::*;
    /// # let mut two = Two::up(Config::rfc9260());
    /// let now = two.now;
    /// for (key, value) in [("sack_delay", "20 ms"), ("heartbeat_interval", "5 s"), ("receive_window", "2 MiB")] {
    ///     two.a().set(now, key, value)?;
    /// }
    /// let refused = two.a().set(now, "interleaving", "true").unwrap_err();
    /// assert!(refused.to_string().contains("`interleaving` counts from the beginning of an association only"));
    /// # Ok::<(), anabranch_sctp::ChangeError>(())
    /// ```
    ///
    /// # Errors
    /// When there is no such value, it is not one of [`Config::changeable`], the text does not fit it, or the association is
    /// closed.
    pub fn set(&mut self, now: Instant, key: &str, value: &str) -> Result<(), ChangeError> {
        let mut changed = (*self.announced()).clone();
        changed.set(key, value)?;
        self.command(now).change(now, changed)
    }

    /// As [`AssociationHandle::set`], for several values at once. All change or none.
    ///
    /// ```
    /// # mod two { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/two.rs")); }
    /// # use two::*;
    /// # use anabranch_sctp::config::StreamScheduling;
    /// # let mut two = Two::up(Config::rfc9260());
    /// let now = two.now;
    /// two.a().update(now, |config| {
    ///     config.limits.max_fragment = 500;
    ///     config.streams.scheduling = StreamScheduling::Priority;
    ///     config.timers.rto_min = Duration::from_millis(200);
    /// })?;
    /// assert_eq!(two.a().configuration().limits.max_fragment, 500);
    /// # Ok::<(), anabranch_sctp::ChangeError>(())
    /// ```
    ///
    /// # Errors
    /// As [`AssociationHandle::set`]; it names the first that cannot be changed.
    pub fn update(&mut self, now: Instant, change: impl FnOnce(&mut Config)) -> Result<(), ChangeError> {
        let changed = (*self.announced()).clone().with(change);
        self.command(now).change(now, changed)
    }

    /// RECEIVE_UNSENT (RFC 9260, 11.1.14): takes back a message of which nothing was sent, after [`Event::SendFailed`] or
    /// [`Event::StreamsReduced`]; those of a stream in their order.
    ///
    /// ```
    /// # mod two { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/two.rs")); }
    /// # use two::*;
    /// # let mut two = Two::up(Config::rfc9260());
    /// let now = two.now;
    /// two.a().send(now, Message::new(0, vec![1; 1000]))?;
    /// two.lose();
    /// two.a().send(now, Message::new(0, "never sent").context(7))?;
    /// two.a().abort(now, b"enough");
    /// let mut association = two.a();
    /// let unsent = association.receive_unsent().expect("it has not left");
    /// assert_eq!((unsent.context, unsent.number), (7, None));
    /// assert_eq!(unsent.into_bytes(), "never sent");
    /// let lost = association.receive_unacknowledged().expect("it has left");
    /// assert_eq!((lost.number, lost.whole, lost.len()), (Some(0), true, 1000));
    /// # drop(association);
    /// two.exchange();
    /// assert_eq!(two.told_a()[0], Event::SendFailed { unsent: 1, unacknowledged: 1 });
    /// # Ok::<(), SendError>(())
    /// ```
    ///
    /// [`Event::SendFailed`]: crate::Event::SendFailed
    /// [`Event::StreamsReduced`]: crate::Event::StreamsReduced
    pub fn receive_unsent(&mut self) -> Option<Undelivered> {
        let message = self.get().handed_back_mut().pop_unsent();
        self.note_taken_back();
        message
    }

    /// RECEIVE_UNACKED (RFC 9260, 11.1.15): takes back a message that was sent, or a part of it, and not acknowledged, after
    /// [`Event::SendFailed`]; in the order in which they were sent.
    ///
    /// [`Event::SendFailed`]: crate::Event::SendFailed
    pub fn receive_unacknowledged(&mut self) -> Option<Undelivered> {
        let message = self.get().handed_back_mut().pop_unacknowledged();
        self.note_taken_back();
        message
    }

    fn note_taken_back(&mut self) {
        if self.handed_back().is_empty() {
            self.endpoint.closing.note_taken_back(&self.endpoint.registry, self.id);
        }
    }

    /// The largest windows in the statistics count from now on.
    pub fn reset_peaks(&mut self) {
        self.get().sending().0.all_lanes().reset_peaks();
    }
}
