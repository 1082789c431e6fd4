//! A packet that arrived: each chunk goes to the procedure it belongs to.

use anabranch_base::{Ecn, Instant, Meta, rare};
use anabranch_wire::cause::Causes;
use anabranch_wire::chunk::{Chunk, Init, Sack, kind};
use anabranch_wire::param::ForwardTsnSupported;
use anabranch_wire::{ChunkError, Chunks, CommonHeader, RawChunk};

use super::Association;
use super::ecn::{note_ecn, on_ecne};
use super::init::{self, PeerInit};
use super::reading::{PacketOutcome, Reading, Reply};
use super::sf_chunks::{on_sf_forward, sf_violation};
use crate::causes;
use crate::config::{LossDetection, SubflowLevel};
use crate::encoding::{DataChunk, Encoding, sf2007};
use crate::event::{CloseReason, Event};
use crate::ids::{PathId, SpaceId};
use crate::receiver::PacketRead;
use crate::scope::{Scope, scope_of};
use crate::sender::{GapList, Windows};
use crate::state::State;
use crate::violation::Violation;

impl Association {
    /// Reads the chunks of a packet whose verification tag is right. `size` is that of the SCTP packet.
    // rfc9260:3.3.7-3 rfc9260:6.10-6
    pub(crate) fn handle_chunks(
        &mut self,
        now: Instant,
        meta: &Meta,
        chunks: Chunks<'_>,
        size: usize,
    ) -> PacketOutcome {
        self.cx.set_now(now);
        let path = self.cx.paths.for_reply(&self.cx.config, meta);
        self.receiver.begin_packet(&self.cx, path);
        if self.receiver.is_filling() {
            share_memory(&mut scope_of!(self));
        }
        // Where no counters are wanted the marks alone are of interest.
        if meta.ecn == Ecn::Ce || (meta.ecn != Ecn::NotEct && self.encoding == Encoding::Sf) {
            note_ecn(&mut scope_of!(self), meta.ecn, chunks.clone());
        }
        let answers = self.control.answers();
        let mut reading =
            Reading { path, data: PacketRead::on(path), outcome: PacketOutcome::default(), size };
        for raw in chunks {
            let Ok(raw) = raw else {
                reading.outcome.malformed = true;
                break;
            };
            // Most chunks are DATA: they are read here, not by way of the type that can be any chunk.
            let handled = if raw.kind == kind::DATA && self.encoding == Encoding::Rfc9260 {
                self.on_plain_data(&mut reading, raw)
            } else {
                self.on_any_chunk(&mut reading, raw)
            };
            match handled {
                Ok(true) => {}
                Ok(false) => break,
                Err(violation) => {
                    self.abort_violation(violation);
                    break;
                }
            }
            if self.cx.state == State::Closed {
                break;
            }
        }
        if self.control.answers() != answers {
            limit_answers(&mut scope_of!(self), path, answers);
        }
        self.finish_packet(&reading, size);
        reading.outcome
    }

    /// Any chunk but DATA of RFC 9260. False when the rest of the packet must not be read.
    fn on_any_chunk(&mut self, reading: &mut Reading, raw: RawChunk<'_>) -> Result<bool, Violation> {
        if raw.kind != kind::SACK || self.encoding == Encoding::Sf2007 {
            return self.on_other_chunk(reading, raw);
        }
        let Ok(sack) = Sack::parse(raw) else {
            rare();
            reading.outcome.malformed = true;
            return Ok(false);
        };
        self.on_sack(&sack).map(|()| true)
    }

    #[inline(never)]
    fn on_other_chunk(&mut self, reading: &mut Reading, raw: RawChunk<'_>) -> Result<bool, Violation> {
        if self.encoding == Encoding::Sf2007 {
            match sf2007::read(raw) {
                Some(Ok(incoming)) => return self.on_sf2007_chunk(reading, &incoming).map(|()| true),
                Some(Err(_)) => {
                    reading.outcome.malformed = true;
                    return Ok(false);
                }
                None => {}
            }
        }
        let Ok(chunk) = self.parse(raw) else {
            reading.outcome.malformed = true;
            return Ok(false);
        };
        self.cx.stats.control.arrives(raw);
        self.handle_chunk(reading, raw, &chunk)
    }

    /// SACK: it is read here, as DATA is, and not by way of the type that can be any chunk.
    fn on_sack(&mut self, sack: &Sack<'_>) -> Result<(), Violation> {
        if self.reads_acknowledgements() {
            self.cx.stats.sacks_received += 1;
            self.count_duplicates(SpaceId::FIRST, sack.duplicate_count(), || sack.duplicates());
            if self.cx.config.congestion.loss_detection == LossDetection::Rack {
                self.sender.all_lanes().note_duplicates(&mut self.cx, SpaceId::FIRST, sack.duplicates());
            }
            let windows = Windows { a_rwnd: Some(sack.a_rwnd), a_fwnd: None };
            let gaps = GapList { blocks: sack.gaps(), selected: sack.selected && self.reads_selections() };
            self.on_acknowledgement(SpaceId::FIRST, sack.cumulative, windows, gaps, None)?;
            self.advance_shutdown();
        }
        Ok(())
    }

    /// Whether a SACK may say that it is a selection: where that was agreed on, whatever configuration the endpoint has by now; and where it
    /// was offered, as who says so has our parameter, also if its own was lost on the way with the INIT ACK.
    fn reads_selections(&self) -> bool {
        self.receiver.arrivals().selects_gaps() || self.cx.config.extensions.selected_gap_blocks > 0
    }

    fn parse<'a>(&self, raw: RawChunk<'a>) -> Result<Chunk<'a>, ChunkError> {
        if raw.kind <= kind::SHUTDOWN_COMPLETE { Chunk::parse(raw) } else { self.parse_extended(raw) }
    }

    /// Chunks beyond RFC 9260. What was not agreed is unknown, whatever it holds.
    #[inline(never)]
    fn parse_extended<'a>(&self, raw: RawChunk<'a>) -> Result<Chunk<'a>, ChunkError> {
        let config = &self.cx.config;
        let interleaving = self.encoding.identifies_messages();
        let agreed = match raw.kind {
            kind::I_DATA => interleaving,
            kind::RE_CONFIG => self.reconfig.is_some(),
            kind::PAD => true,
            // "at no time during the life of the association can it send or process a FORWARD TSN. It MUST instead act as if it
            // does NOT support the FORWARD TSN chunk" (RFC 3758, 3.3.1).
            // rfc3758:3.3.1-1 rfc3758:3.3.2-3
            kind::FORWARD_TSN => self.encoding == Encoding::Rfc9260 && self.is_partially_reliable(),
            kind::I_FORWARD_TSN => self.agreed_on_i_forward_tsn(),
            other if config.subflows.codes.chunk_types().contains(&other) => {
                matches!(self.encoding, Encoding::Sf | Encoding::Sf2007)
            }
            _ => false,
        };
        if agreed { Chunk::parse_with(raw, &config.subflows.codes) } else { Ok(Chunk::Unknown(raw)) }
    }

    /// Whether I-FORWARD-TSN was agreed on. It is listed where level 1 is offered, too, and a peer may take us at our word.
    fn agreed_on_i_forward_tsn(&self) -> bool {
        let listed = self.cx.config.subflows.level == SubflowLevel::One;
        self.encoding.identifies_messages() && (listed || self.is_partially_reliable())
    }

    /// False when the rest of the packet must not be read.
    // rfc8260:2.2.3-3 rfc8260:2.3.1-6
    // rfc9260:3.3.7-2 rfc9260:8.3-2 rfc9260:8.5.1-6
    fn handle_chunk(
        &mut self,
        reading: &mut Reading,
        raw: RawChunk<'_>,
        chunk: &Chunk<'_>,
    ) -> Result<bool, Violation> {
        match chunk {
            // "An endpoint MUST NOT bundle INIT, INIT ACK, or SHUTDOWN COMPLETE chunks with any other chunks" (6.10).
            Chunk::InitAck(_) | Chunk::ShutdownComplete(_) if !reading.is_alone(raw) => {
                reading.outcome.malformed = true;
                return Ok(false);
            }
            // "if an endpoint that has indicated I-DATA support receives a DATA chunk ... it MUST abort" (RFC 8260, 2.2.1).
            Chunk::Data(_) => return Err(Violation::Protocol("a DATA chunk where I-DATA was agreed")),
            // Read by who reads most chunks ([`Association::on_sack`]).
            Chunk::Sack(_) => {}
            Chunk::InitAck(init) => return Ok(self.on_init_ack_chunk(reading, init)),
            Chunk::CookieAck(_) => self.on_cookie_ack(),
            Chunk::Heartbeat(_) => {
                // "The receiver of the HEARTBEAT chunk SHOULD immediately respond with a HEARTBEAT ACK chunk".
                if self.cx.state.is_up() || self.cx.state == State::CookieEchoed {
                    self.path_manager().on_heartbeat(reading.path, raw);
                }
            }
            Chunk::HeartbeatAck(ack) => {
                reading.outcome.confirmed |= self.path_manager().on_heartbeat_ack(ack.info.info);
            }
            Chunk::Shutdown(shutdown) => self.on_shutdown(shutdown.cumulative),
            Chunk::ShutdownAck(_) => {
                if matches!(self.cx.state, State::CookieWait | State::CookieEchoed) {
                    reading.outcome.reply = Reply::ShutdownComplete;
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
                // 8.5.1 B: the same.
                if !abort.reflected_tag {
                    self.on_abort(abort.causes);
                    return Ok(false);
                }
            }
            Chunk::Error(error) => {
                self.on_error(error.causes);
                if self.wants_new_tag() {
                    // What else the packet has is for the attempt that has failed.
                    reading.outcome.reply = Reply::NewTag;
                    return Ok(false);
                }
            }
            // INIT rides alone with a tag of 0, COOKIE ECHO comes first: here they are out of place (6.10, 8.5.1).
            Chunk::Init(_) => return Ok(false),
            Chunk::CookieEcho(_) => {}
            // Where ECN was not agreed on they say nothing.
            Chunk::Ecne(ecne) => {
                if self.reads_acknowledgements() {
                    on_ecne(&mut scope_of!(self), ecne);
                }
            }
            Chunk::Cwr(cwr) => self.receiver.arrivals_mut().on_cwr(cwr.tsn),
            Chunk::IData(data) => {
                let mut chunk = DataChunk::from(data);
                if self.cx.config.emulation.quirks.fsn_from_second && !chunk.flags.beginning {
                    chunk.fragment = chunk.fragment.wrapping_add(1);
                }
                self.on_data_chunk(reading, SpaceId::FIRST, &chunk)?;
            }
            Chunk::ReConfig(chunk) => {
                if let Some((reconfig, mut scope)) = self.reconfiguring() {
                    reconfig.on_chunk(&mut scope, reading.path, chunk)?;
                }
            }
            Chunk::SfData(data) => self.on_sf_data(reading, data)?,
            Chunk::SfSack(sack) => {
                if self.reads_acknowledgements() {
                    self.on_sf_sack(reading.path, sack)?;
                    self.advance_shutdown();
                }
            }
            // "The receiver of the PAD chunk MUST discard this chunk" (RFC 4820, 3).
            Chunk::Pad(_) => {}
            Chunk::ForwardTsn(forward) => {
                if self.takes_data() {
                    self.receiver.on_forward_tsn(&mut self.cx, &mut reading.data, forward);
                }
            }
            Chunk::IForwardTsn(forward) => {
                if self.takes_data() {
                    let (cumulative, skipped) = (forward.cumulative, forward.skipped());
                    let (cx, read) = (&mut self.cx, &mut reading.data);
                    self.receiver.on_skipped_messages(cx, read, SpaceId::FIRST, cumulative, skipped);
                }
            }
            Chunk::SfForward(forward) => on_sf_forward(&mut scope_of!(self), reading, forward),
            // "The same applies if I-DATA support has not been negotiated for an association and an I-DATA chunk is received"
            // (RFC 8260, 2.2.3); to an endpoint that does not offer it, it is unknown.
            Chunk::Unknown(raw) if raw.kind == kind::I_DATA && self.cx.config.offers_interleaving() => {
                return Err(Violation::Protocol("an I-DATA chunk where it was not agreed"));
            }
            // "If I-FORWARD-TSN support has been negotiated for an association, the reception of a FORWARD-TSN chunk is a
            // violation" (RFC 8260, 2.3.1).
            Chunk::Unknown(raw) if raw.kind == kind::FORWARD_TSN && self.agreed_on_i_forward_tsn() => {
                return Err(Violation::Protocol("a FORWARD-TSN chunk where I-FORWARD-TSN was agreed"));
            }
            // "The same applies if I-FORWARD-TSN support has not been negotiated for an association and an I-FORWARD-TSN chunk is
            // received" (RFC 8260, 2.3.1); to an endpoint that does not offer it, it is unknown.
            Chunk::Unknown(raw)
                if raw.kind == kind::I_FORWARD_TSN && self.cx.config.offers_i_forward_tsn() =>
            {
                return Err(Violation::Protocol("an I-FORWARD-TSN chunk where it was not agreed"));
            }
            Chunk::Unknown(raw) => {
                let action = raw.unknown_action();
                if action.reports() {
                    self.control.report(reading.path, causes::unrecognized_chunk(raw.bytes));
                }
                return Ok(action.goes_on());
            }
        }
        Ok(true)
    }

    // rfc9260:3.3.3-6 rfc9260:3.3.3-9 rfc9260:5.1-15 rfc9260:5.1-16 rfc9260:5.1-17
    fn on_init_ack_chunk(&mut self, reading: &mut Reading, init: &Init<'_>) -> bool {
        // The endpoint has checked the packet's tag, so it is the peer's own fault: nobody else can end the association so.
        let waits = self.cx.state == State::CookieWait;
        if waits && init.initiate_tag == 0 {
            // "MUST destroy the TCB and SHOULD send an ABORT chunk with the T bit set" (3.3.3).
            self.close(CloseReason::ProtocolViolation { what: "an INIT ACK with an Initiate Tag of 0" });
            reading.outcome.reply = Reply::ReflectedAbort;
            return false;
        }
        if waits && init::is_small_window(init.a_rwnd) {
            // "MUST discard the packet, SHOULD send a packet in response containing an ABORT chunk and using the Initiate Tag as
            // the Verification Tag, and MUST NOT change the state of any existing association" (3.3.3).
            reading.outcome.reply = Reply::SmallWindow { tag: init.initiate_tag };
            return false;
        }
        let Some(peer) = PeerInit::read(init, &self.cx.config.subflows.codes) else {
            reading.outcome.malformed = true;
            if waits {
                // "decides not to establish the new association due to ... invalid parameter values ...: it SHOULD respond with
                // an ABORT chunk" with the INIT ACK's own tag (5.1). Where the fixed fields are cut, there is no such tag to
                // trust, and the chunk is dropped.
                self.writer.set_peer_tag(init.initiate_tag);
                let what = "an INIT ACK with a malformed parameter";
                self.abort_with(CloseReason::ProtocolViolation { what }, causes::protocol_violation(what));
            }
            return false;
        };
        if let Err(cause) = peer.check(true) {
            if waits {
                self.writer.set_peer_tag(peer.tag);
                self.abort_with(
                    CloseReason::ProtocolViolation { what: "an INIT ACK that cannot be used" },
                    cause,
                );
            }
            return false;
        }
        self.on_init_ack(peer);
        true
    }

    /// ERROR chunk: reported to the user; a stale cookie restarts the handshake.
    fn on_error(&mut self, list: Causes<'_>) {
        if causes::names_stale_cookie(list) {
            self.on_stale_cookie();
            return;
        }
        if causes::names_unknown_chunk(list, self.cx.config.subflows.codes.data) {
            self.downgrade();
        }
        // "the endpoint MUST just mark the association as not supporting partial reliability" (RFC 3758, 3.3.3).
        // rfc3758:3.3.3-1 rfc3758:3.3.3-2 rfc3758:3.3.3-3
        if causes::names_unknown_parameter(list, ForwardTsnSupported::KIND) {
            self.sender.special_mut().forget_partial_reliability();
            self.handed_back.settle_reliability(&mut self.cx, &mut self.sender);
        }
        // One event for a chunk: a peer must not fill the queue with a packet of tiny causes.
        if let Some(cause) = causes::codes(list).first().copied() {
            self.cx.tell_if_read(Event::PeerError { cause });
        }
    }

    /// After the last chunk: when to acknowledge, and the counters of the packet.
    fn finish_packet(&mut self, reading: &Reading, size: usize) {
        let has_data = reading.data.has_data();
        if has_data {
            self.cx.stats.packets_received += 1;
            if reading.data.has_new() {
                self.cx.stats.packets_received_new += 1;
                self.cx.stats.packet_bytes_received_new += size as u64;
            }
        }
        // The packet may have ended the association: nothing is acknowledged or promised any more.
        if self.cx.state == State::Closed {
            return;
        }
        self.receiver.arrivals_mut().finish_packet(&self.cx, &reading.data);
        if let Some((reconfig, mut scope)) = self.reconfiguring() {
            rare();
            reconfig.advance(&mut scope);
        }
        self.sender.tables_mut().heard(&self.cx);
        if self.cx.state == State::ShutdownSent {
            self.in_shutdown(|shutdown, scope| shutdown.heard(scope, has_data));
        }
        self.sender.messages().tell_writable(&mut self.cx);
    }

    fn abort_violation(&mut self, violation: Violation) {
        let (what, cause) = match violation {
            Violation::NoUserData(tsn) => ("a DATA chunk without user data", causes::no_user_data(tsn)),
            Violation::Protocol(what) => (what, causes::protocol_violation(what)),
            Violation::Subflow { fid, epoch, reason, what } => {
                (what, sf_violation(&self.cx, fid, epoch, reason, what.as_bytes()))
            }
        };
        self.abort_with(CloseReason::ProtocolViolation { what }, cause);
    }
}

/// Tells either half what the other has of the memory for both: it may have been read, or acknowledged, since. Half a window that
/// is received has room whatever the sender has, and then it gives back what it had of the sender's.
#[cold]
fn share_memory(scope: &mut Scope<'_>) {
    scope.sender.messages().reserve_for_receiver(scope.receiver.held_beyond_window(scope.cx));
    scope.receiver.reserve_for_sender(scope.cx, scope.sender.kept_beyond_buffers(scope.cx));
}

/// The answers to one packet fit one packet, with a control chunk that may go before them.
#[cold]
fn limit_answers(scope: &mut Scope<'_>, path: PathId, earlier: (usize, usize)) {
    let packet = scope.cx.paths.get(path).map_or(0, crate::path::Path::max_packet);
    scope.control.keep_one_packet(earlier, packet.saturating_sub(CommonHeader::LEN + 8));
}
