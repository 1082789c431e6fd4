//! A packet that arrived: each chunk goes to the procedure it belongs to.

use anabranch_base::Instant;
use anabranch_wire::Tsn;
use anabranch_wire::cause::{Causes, SfReason};
use anabranch_wire::chunk::{Chunk, Data, Init, kind};
use anabranch_wire::{ChunkError, Chunks, RawChunk};

use super::acknowledgement::Windows;
use super::init::PeerInit;
use super::{Association, State, causes};
use crate::config::{LossDetection, SubflowLevel};
use crate::event::{CloseReason, Event};
use crate::subflow::sack::PacketSummary;

/// Events beyond which errors that a peer reports are not queued: the user is not reading.
const MAX_WAITING_EVENTS: usize = 256;

/// What is known while one packet is read.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) now: Instant,
    pub(super) summary: PacketSummary,
    /// The sequence space that the packet's data belongs to.
    pub(super) space: usize,
    /// What the packet brought for spaces that it has left.
    had_data: bool,
    had_new: bool,
}

/// The peer broke a rule that ends the association.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Violation {
    /// "it SHOULD send an ABORT chunk with a 'No User Data' error cause" (6.2).
    NoUserData(Tsn),
    /// Anything else: ABORT with a Protocol Violation cause.
    Protocol(&'static str),
    /// Of the extension SF: ABORT with an SF-Violation cause.
    Subflow { fid: u8, epoch: u8, reason: SfReason, what: &'static str },
}

/// What the endpoint must know of a packet it handed in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PacketOutcome {
    /// A chunk was malformed: it and what followed was dropped.
    pub(crate) malformed: bool,
    /// SHUTDOWN ACK while the handshake runs: to be answered as out of the blue (8.5.1 E).
    pub(crate) stray_shutdown_ack: bool,
    /// Another address of the peer has been confirmed (5.4).
    pub(crate) confirmed: bool,
}

impl Association {
    /// Reads the chunks of a packet whose verification tag is right. `size` is that of the SCTP packet.
    pub(crate) fn handle_chunks(&mut self, now: Instant, chunks: Chunks<'_>, size: usize) -> PacketOutcome {
        let mut cx =
            Context { now, summary: PacketSummary::default(), space: 0, had_data: false, had_new: false };
        let mut outcome = PacketOutcome::default();
        for raw in chunks {
            let Ok(raw) = raw else {
                outcome.malformed = true;
                break;
            };
            if self.extensions.thesis.is_some() {
                match self.on_thesis_chunk(&mut cx, raw) {
                    Ok(Some(true)) => continue,
                    Ok(Some(false)) => {
                        outcome.malformed = true;
                        break;
                    }
                    Ok(None) => {}
                    Err(violation) => {
                        self.abort_violation(violation);
                        break;
                    }
                }
            }
            // Most chunks are DATA: they are read here, not by way of the type that can be any chunk.
            let handled = if raw.kind == kind::DATA {
                let Ok(data) = Data::parse(raw) else {
                    outcome.malformed = true;
                    break;
                };
                self.on_data(&mut cx, &data).map(|()| true)
            } else {
                let Ok(chunk) = self.parse(raw) else {
                    outcome.malformed = true;
                    break;
                };
                self.handle_chunk(&mut cx, &chunk, &mut outcome)
            };
            match handled {
                Ok(true) => {}
                Ok(false) => break,
                Err(violation) => {
                    self.abort_violation(violation);
                    break;
                }
            }
            if self.state == State::Closed {
                break;
            }
        }
        self.finish_packet(&cx, size);
        outcome
    }

    fn parse<'a>(&self, raw: RawChunk<'a>) -> Result<Chunk<'a>, ChunkError> {
        if raw.kind <= kind::SHUTDOWN_COMPLETE { Chunk::parse(raw) } else { self.parse_extended(raw) }
    }

    /// Chunks beyond RFC 9260. What was not agreed is unknown, whatever it holds.
    #[inline(never)]
    fn parse_extended<'a>(&self, raw: RawChunk<'a>) -> Result<Chunk<'a>, ChunkError> {
        let codes = &self.config.sf_codes;
        let agreed = match raw.kind {
            kind::I_DATA => self.extensions.interleaving,
            kind::RE_CONFIG => self.reconfig.is_some(),
            // It is listed where level 1 is offered, and a peer may take us at our word.
            kind::I_FORWARD_TSN => {
                self.extensions.interleaving && self.config.subflow_level == SubflowLevel::One
            }
            other if codes.chunk_types().contains(&other) => self.sf.is_some(),
            _ => false,
        };
        if agreed { Chunk::parse_with(raw, codes) } else { Ok(Chunk::Unknown(raw)) }
    }

    /// Any chunk but DATA. False when the rest of the packet must not be read.
    fn handle_chunk(
        &mut self,
        cx: &mut Context,
        chunk: &Chunk<'_>,
        outcome: &mut PacketOutcome,
    ) -> Result<bool, Violation> {
        let now = cx.now;
        match chunk {
            Chunk::Data(_) => {} // see `handle_chunks`
            Chunk::Sack(sack) => {
                if self.state.sends_data() || self.state == State::ShutdownSent {
                    self.stats.sacks_received += 1;
                    if self.config.loss_detection == LossDetection::Rack {
                        self.note_duplicates(0, sack.duplicates());
                    }
                    let windows = Windows { a_rwnd: Some(sack.a_rwnd), a_fwnd: None };
                    self.on_acknowledgement(now, 0, sack.cumulative, windows, sack.gaps(), None)?;
                    self.advance_shutdown(now);
                }
            }
            Chunk::InitAck(init) => return Ok(self.on_init_ack_chunk(now, init, outcome)),
            Chunk::CookieAck(_) => self.on_cookie_ack(now),
            Chunk::Heartbeat(heartbeat) => {
                // "The receiver of the HEARTBEAT chunk SHOULD immediately respond with a HEARTBEAT ACK chunk".
                if self.state.is_up() || self.state == State::CookieEchoed {
                    self.on_heartbeat(heartbeat);
                }
            }
            Chunk::HeartbeatAck(ack) => {
                outcome.confirmed |= self.on_heartbeat_ack(now, ack.info.info);
            }
            Chunk::Shutdown(shutdown) => self.on_shutdown(now, shutdown.cumulative)?,
            Chunk::ShutdownAck(_) => {
                if matches!(self.state, State::CookieWait | State::CookieEchoed) {
                    outcome.stray_shutdown_ack = true;
                } else {
                    self.on_shutdown_ack();
                }
            }
            Chunk::ShutdownComplete(complete) => {
                // 8.5.1 C: with our own tag the T bit must be clear.
                if !complete.reflected_tag {
                    self.on_shutdown_complete();
                }
            }
            Chunk::Abort(abort) => {
                // 8.5.1 B: likewise.
                if !abort.reflected_tag {
                    self.on_abort(causes::codes(abort.causes));
                    return Ok(false);
                }
            }
            Chunk::Error(error) => self.on_error(now, error.causes),
            // INIT rides alone with a tag of 0, COOKIE ECHO comes first: here they are out of place (6.10, 8.5.1).
            Chunk::Init(_) => return Ok(false),
            Chunk::CookieEcho(_) => {}
            // ECN is not negotiated: "the peer MUST NOT" send these.
            Chunk::Ecne(_) | Chunk::Cwr(_) => {}
            Chunk::IData(data) => self.on_i_data(cx, data)?,
            Chunk::ReConfig(chunk) => self.on_reconfig(now, chunk),
            Chunk::SfData(data) => self.on_sf_data(cx, data)?,
            Chunk::SfSack(sack) => {
                if self.state.sends_data() || self.state == State::ShutdownSent {
                    self.on_sf_sack(now, sack)?;
                    self.advance_shutdown(now);
                }
            }
            // Partial reliability was not agreed: nobody may give up anything.
            Chunk::SfForward(_) | Chunk::ForwardTsn(_) => {}
            Chunk::IForwardTsn(forward) => self.on_i_forward_tsn(cx, forward),
            // "The same applies if I-DATA support has not been negotiated for an association and an I-DATA chunk is received"
            // (RFC 8260, 2.2.3); to an endpoint that does not offer it, it is unknown.
            Chunk::Unknown(raw) if raw.kind == kind::I_DATA && self.config.offers_interleaving() => {
                return Err(Violation::Protocol("an I-DATA chunk where it was not agreed"));
            }
            Chunk::Unknown(raw) => {
                let action = raw.unknown_action();
                if action.reports() {
                    self.control.report(causes::unrecognized_chunk(raw.bytes));
                }
                return Ok(action.goes_on());
            }
        }
        Ok(true)
    }

    fn on_init_ack_chunk(&mut self, now: Instant, init: &Init<'_>, outcome: &mut PacketOutcome) -> bool {
        let Some(peer) = PeerInit::read(init, &self.config.sf_codes) else {
            outcome.malformed = true;
            return false;
        };
        // An Initiate Tag of 0 in an INIT ACK: the endpoint has checked the packet's tag, so it is the peer's own
        // fault; "the receiver ... SHOULD destroy the association" (3.3.3), and there is no tag to answer to.
        if self.state == State::CookieWait && peer.tag == 0 {
            self.close(CloseReason::ProtocolViolation { what: "an INIT ACK with an Initiate Tag of 0" });
            return false;
        }
        if let Err(cause) = peer.check(true) {
            if self.state == State::CookieWait {
                self.peer_tag = peer.tag;
                self.abort_with(
                    CloseReason::ProtocolViolation { what: "an INIT ACK that cannot be used" },
                    cause,
                );
            }
            return false;
        }
        self.on_init_ack(now, peer);
        true
    }

    /// ERROR chunk: reported to the user; a stale cookie restarts the handshake.
    fn on_error(&mut self, now: Instant, list: Causes<'_>) {
        if let Some(staleness) = causes::stale_cookie(list) {
            self.on_stale_cookie(now, staleness);
            return;
        }
        if causes::names_unknown_chunk(list, self.config.sf_codes.data) {
            self.downgrade();
        }
        // One event for a chunk: a peer must not fill the queue with a packet of tiny causes.
        if let Some(cause) = causes::codes(list).first().copied() {
            if self.events.len() < MAX_WAITING_EVENTS {
                self.events.push_back(Event::PeerError { cause });
            }
        }
    }

    /// After the last chunk: when to acknowledge, and the counters of the packet.
    fn finish_packet(&mut self, cx: &Context, size: usize) {
        let has_data = cx.had_data || cx.summary.has_data;
        if has_data {
            self.stats.packets_received += 1;
            if cx.had_new || cx.summary.new {
                self.stats.packets_received_new += 1;
                self.stats.packet_bytes_received_new += size as u64;
            }
        }
        // The packet may have ended the association: nothing is acknowledged or promised any more.
        if self.state == State::Closed {
            return;
        }
        if cx.summary.has_data {
            if let Some(space) = self.spaces.get_mut(cx.space) {
                space.sack.on_packet(cx.now, cx.summary, self.config.sack_policy());
            }
        }
        if self.reconfig.is_some() {
            self.advance_reconfig();
        }
        if !self.config.timeout_waits_for_ack {
            for lane in &mut self.lanes {
                lane.single_packet = false;
            }
        }
        self.heard_in_shutdown_sent(cx.now, has_data);
        if self.writable_owed {
            self.tell_writable();
        }
    }

    /// The packet goes on with another sequence space: what it brought for this one is complete.
    pub(super) fn close_summary(&mut self, cx: &mut Context) {
        let summary = std::mem::take(&mut cx.summary);
        cx.had_data |= summary.has_data;
        cx.had_new |= summary.new;
        if let Some(space) = self.spaces.get_mut(cx.space) {
            space.sack.on_packet(cx.now, summary, self.config.sack_policy());
        }
    }

    fn abort_violation(&mut self, violation: Violation) {
        match violation {
            Violation::NoUserData(tsn) => {
                let what = "a DATA chunk without user data";
                self.abort_with(CloseReason::ProtocolViolation { what }, causes::no_user_data(tsn));
            }
            Violation::Protocol(what) => {
                self.abort_with(CloseReason::ProtocolViolation { what }, causes::protocol_violation(what));
            }
            Violation::Subflow { fid, epoch, reason, what } => {
                let cause = self.violation(fid, epoch, reason, what.as_bytes());
                self.abort_with(CloseReason::ProtocolViolation { what }, cause);
            }
        }
    }
}
