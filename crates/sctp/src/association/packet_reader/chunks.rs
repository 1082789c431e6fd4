//! The chunks of a packet, one after the other: which procedure each belongs to.

use anabranch_base::{Ecn, Meta, cold_path};
use anabranch_wire::chunk::{Chunk, Sack, kind};
use anabranch_wire::{ChunkError, Chunks, CommonHeader, RawChunk};

use super::ecn::{note_ecn, on_ecne};
use super::sf_chunks::on_sf_forward;
use super::{Interrupt, PacketOutcome, PacketReader, Reading, Reply};
use crate::causes;
use crate::config::{LossDetection, SubflowLevel};
use crate::encoding::{DataChunk, Encoding, sf2007};
use crate::ids::{PathId, SpaceId};
use crate::path::Path;
use crate::receiver::PacketRead;
use crate::scope::Scope;
use crate::sender::{GapList, Windows};
use crate::state::State;
use crate::violation::Violation;

impl PacketReader<'_> {
    /// A packet begins whose verification tag is right. `size` is that of the SCTP packet.
    #[inline]
    pub(in crate::association) fn begin(&mut self, meta: &Meta, chunks: &Chunks<'_>, size: usize) -> Reading {
        let scope = &mut self.scope;
        let path = scope.cx.paths.for_reply(scope.cx.env.config(), meta);
        scope.receiver.begin_packet(scope.cx, path);
        if scope.receiver.is_filling() {
            share_memory(&mut scope.reborrow());
        }
        // Without counters only CE marks are of interest.
        if meta.ecn == Ecn::Ce
            || (meta.ecn != Ecn::NotEct && scope.cx.env.agreed().encoding() == Encoding::Sf)
        {
            note_ecn(&mut scope.reborrow(), meta.ecn, chunks.clone());
        }
        let answers = scope.control.answers();
        let (data, outcome) = (PacketRead::on(path), PacketOutcome::default());
        Reading { path, data, outcome, size, answers, again: false }
    }

    /// Reads chunks until one of them is the association's own business, or the rest must not be read ([`Interrupt::Stop`]).
    #[allow(clippy::inline_always, reason = "the association is its only caller")]
    #[inline(always)]
    pub(in crate::association) fn read<'p>(
        &mut self,
        reading: &mut Reading,
        chunks: &mut Chunks<'p>,
    ) -> Interrupt<'p> {
        loop {
            let from = chunks.clone();
            let raw = match chunks.next() {
                Some(Ok(raw)) => raw,
                Some(Err(_)) => {
                    reading.outcome.malformed = true;
                    break;
                }
                None => break,
            };
            // Most chunks are DATA: they are read here, not by way of the type that can be any chunk.
            let handled =
                if raw.kind == kind::DATA && self.scope.cx.env.agreed().encoding() == Encoding::Rfc9260 {
                    self.on_plain_data(reading, raw)
                } else {
                    self.on_any_chunk(reading, raw)
                };
            if let Err(interrupt) = handled {
                if matches!(interrupt, Interrupt::DataForCookieAck) {
                    // DATA of RFC 9260 is not counted here.
                    (*chunks, reading.again) = (from, raw.kind != kind::DATA);
                }
                return interrupt;
            }
            if self.scope.cx.env.state() == State::Closed {
                break;
            }
        }
        Interrupt::Stop
    }

    /// After the last chunk: when to acknowledge, and the counters of the packet. False when the association has ended.
    #[inline]
    pub(in crate::association) fn finish(&mut self, reading: &Reading) -> bool {
        let scope = &mut self.scope;
        if scope.control.answers() != reading.answers {
            limit_answers(&mut scope.reborrow(), reading.path, reading.answers);
        }
        if reading.data.has_data() {
            scope.cx.report.stats.packets_received += 1;
            if reading.data.has_new() {
                scope.cx.report.stats.packets_received_new += 1;
                scope.cx.report.stats.packet_bytes_received_new += reading.size as u64;
            }
        }
        // The packet may have ended the association: nothing is acknowledged or promised any more.
        if scope.cx.env.state() == State::Closed {
            return false;
        }
        scope.receiver.arrivals_mut().finish_packet(scope.cx, &reading.data);
        if let Some(reconfig) = self.reconfig.as_deref_mut() {
            cold_path();
            reconfig.advance(&mut scope.reborrow());
        }
        scope.sender.tables_mut().heard(scope.cx);
        true
    }

    /// Any chunk but DATA of RFC 9260. The functions called here take a reader of their own: so this one need not lie in memory while plain
    /// data is read.
    #[inline]
    fn on_any_chunk<'p>(&mut self, reading: &mut Reading, raw: RawChunk<'p>) -> Result<(), Interrupt<'p>> {
        if raw.kind != kind::SACK || self.scope.cx.env.agreed().encoding() == Encoding::Sf2007 {
            return self.reborrow().on_other_chunk(reading, raw);
        }
        let Ok(sack) = Sack::parse(raw) else {
            cold_path();
            reading.outcome.malformed = true;
            return Err(Interrupt::Stop);
        };
        self.reborrow().on_sack(&sack)
    }

    #[inline(never)]
    fn on_other_chunk<'p>(mut self, reading: &mut Reading, raw: RawChunk<'p>) -> Result<(), Interrupt<'p>> {
        let is_counted = std::mem::take(&mut reading.again);
        if self.scope.cx.env.agreed().encoding() == Encoding::Sf2007 {
            match sf2007::read(raw) {
                Some(Ok(incoming)) => return self.on_sf2007_chunk(reading, &incoming),
                Some(Err(_)) => {
                    reading.outcome.malformed = true;
                    return Err(Interrupt::Stop);
                }
                None => {}
            }
        }
        let Ok(chunk) = self.parse(raw) else {
            reading.outcome.malformed = true;
            return Err(Interrupt::Stop);
        };
        if !is_counted {
            self.scope.cx.report.stats.control.arrives(raw);
        }
        self.handle_chunk(reading, raw, &chunk)
    }

    /// SACK: it is read here, as DATA is, and not by way of the type that can be any chunk.
    #[inline]
    fn on_sack<'p>(mut self, sack: &Sack<'_>) -> Result<(), Interrupt<'p>> {
        if !self.reads_acknowledgements() {
            return Ok(());
        }
        self.scope.cx.report.stats.sacks_received += 1;
        self.count_duplicates(SpaceId::FIRST, sack.duplicate_count(), || sack.duplicates());
        if self.scope.cx.env.config().congestion.loss_detection == LossDetection::Rack {
            self.scope.sender.all_lanes().note_duplicates(self.scope.cx, SpaceId::FIRST, sack.duplicates());
        }
        let windows = Windows { a_rwnd: Some(sack.a_rwnd), a_fwnd: None };
        let gaps = GapList { blocks: sack.gaps(), selected: sack.selected && self.reads_selections() };
        self.on_acknowledgement(SpaceId::FIRST, sack.cumulative, windows, gaps, None)?;
        self.after_acknowledgement()
    }

    /// Whether a SACK may say that it is a selection: where that was agreed on, whatever configuration the endpoint has by now; and where it
    /// was offered, because a peer that says so has our parameter, even if its own was lost on the way with the INIT ACK.
    fn reads_selections(&self) -> bool {
        self.scope.cx.env.agreed().selects_gaps()
            || self.scope.cx.env.config().extensions.selected_gap_blocks > 0
    }

    fn parse<'p>(&self, raw: RawChunk<'p>) -> Result<Chunk<'p>, ChunkError> {
        if raw.kind <= kind::SHUTDOWN_COMPLETE { Chunk::parse(raw) } else { self.parse_extended(raw) }
    }

    /// Chunks beyond RFC 9260. A chunk that was not agreed on is unknown, whatever it holds.
    #[inline(never)]
    fn parse_extended<'p>(&self, raw: RawChunk<'p>) -> Result<Chunk<'p>, ChunkError> {
        let config = self.scope.cx.env.config();
        let encoding = self.scope.cx.env.agreed().encoding();
        let agreed = match raw.kind {
            kind::I_DATA => encoding.identifies_messages(),
            kind::RE_CONFIG => self.reconfig.is_some(),
            kind::PAD => true,
            // "at no time during the life of the association can it send or process a FORWARD TSN. It MUST instead act as if it
            // does NOT support the FORWARD TSN chunk" (RFC 3758, 3.3.1).
            // rfc3758:3.3.1-1 rfc3758:3.3.2-3
            kind::FORWARD_TSN => {
                encoding == Encoding::Rfc9260 && self.scope.sender.special().is_partially_reliable()
            }
            kind::I_FORWARD_TSN => self.agreed_on_i_forward_tsn(),
            other if config.subflows.codes.chunk_types().contains(&other) => {
                matches!(encoding, Encoding::Sf | Encoding::Sf2007)
            }
            _ => false,
        };
        if agreed { Chunk::parse_with(raw, &config.subflows.codes) } else { Ok(Chunk::Unknown(raw)) }
    }

    /// True if I-FORWARD-TSN was agreed on. It is listed where level 1 is offered, too, and a peer may take us at our
    /// word.
    fn agreed_on_i_forward_tsn(&self) -> bool {
        let listed = self.scope.cx.env.config().subflows.level == SubflowLevel::One;
        self.scope.cx.env.agreed().encoding().identifies_messages()
            && (listed || self.scope.sender.special().is_partially_reliable())
    }

    // rfc8260:2.2.3-3 rfc8260:2.3.1-6
    // rfc9260:3.3.7-2 rfc9260:8.3-2 rfc9260:8.5.1-6
    fn handle_chunk<'p>(
        &mut self,
        reading: &mut Reading,
        raw: RawChunk<'p>,
        chunk: &Chunk<'p>,
    ) -> Result<(), Interrupt<'p>> {
        let state = self.scope.cx.env.state();
        match chunk {
            // "An endpoint MUST NOT bundle INIT, INIT ACK, or SHUTDOWN COMPLETE chunks with any other chunks" (6.10).
            Chunk::InitAck(_) | Chunk::ShutdownComplete(_) if !reading.is_alone(raw) => {
                reading.outcome.malformed = true;
                return Err(Interrupt::Stop);
            }
            // "if an endpoint that has indicated I-DATA support receives a DATA chunk ... it MUST abort" (RFC 8260, 2.2.1).
            Chunk::Data(_) => {
                return Err(Violation::Protocol("a DATA chunk where I-DATA was agreed").into());
            }
            // SACK was handled before ([`PacketReader::on_sack`]).
            Chunk::Sack(_) => {}
            Chunk::InitAck(init) => return Err(Interrupt::InitAck(*init)),
            Chunk::CookieAck(_) => return Err(Interrupt::CookieAck),
            Chunk::Heartbeat(_) => {
                // "The receiver of the HEARTBEAT chunk SHOULD immediately respond with a HEARTBEAT ACK chunk".
                if state.is_up() || state == State::CookieEchoed {
                    self.path_manager().on_heartbeat(reading.path, raw);
                }
            }
            Chunk::HeartbeatAck(ack) => {
                reading.outcome.confirmed |= self.path_manager().on_heartbeat_ack(ack.info.info);
            }
            Chunk::Shutdown(shutdown) => return Err(Interrupt::Shutdown(shutdown.cumulative)),
            Chunk::ShutdownAck(_) if matches!(state, State::CookieWait | State::CookieEchoed) => {
                reading.outcome.reply = Reply::ShutdownComplete;
            }
            Chunk::ShutdownAck(_) => return Err(Interrupt::ShutdownAck),
            // 8.5.1 B and C: with our own tag the T bit must be clear.
            Chunk::ShutdownComplete(complete) if complete.reflected_tag => {}
            Chunk::ShutdownComplete(_) => return Err(Interrupt::ShutdownComplete),
            Chunk::Abort(abort) if abort.reflected_tag => {}
            Chunk::Abort(abort) => return Err(Interrupt::Abort(abort.causes)),
            Chunk::Error(error) => return Err(Interrupt::Error(error.causes)),
            // INIT rides alone with a tag of 0, COOKIE ECHO comes first: here they are out of place (6.10, 8.5.1).
            Chunk::Init(_) => return Err(Interrupt::Stop),
            Chunk::CookieEcho(_) => {}
            // ECNE and CWR have no meaning unless ECN was agreed on.
            Chunk::Ecne(ecne) => {
                if self.reads_acknowledgements() {
                    on_ecne(&mut self.scope, ecne);
                }
            }
            Chunk::Cwr(cwr) => self.scope.receiver.arrivals_mut().on_cwr(cwr.tsn),
            Chunk::IData(data) => {
                let mut chunk = DataChunk::from(data);
                if self.scope.cx.env.config().emulation.quirks.fsn_from_second && !chunk.flags.beginning {
                    chunk.fragment = chunk.fragment.wrapping_add(1);
                }
                self.on_data_chunk(reading, SpaceId::FIRST, &chunk)?;
            }
            Chunk::ReConfig(chunk) => {
                if let Some(reconfig) = &mut self.reconfig {
                    reconfig.on_chunk(&mut self.scope, reading.path, chunk)?;
                }
            }
            Chunk::SfData(data) => self.on_sf_data(reading, data)?,
            Chunk::SfSack(sack) => {
                if self.reads_acknowledgements() {
                    self.on_sf_sack(reading.path, sack)?;
                    self.after_acknowledgement()?;
                }
            }
            // "The receiver of the PAD chunk MUST discard this chunk" (RFC 4820, 3).
            Chunk::Pad(_) => {}
            Chunk::ForwardTsn(forward) => {
                if self.takes_data()? {
                    self.scope.receiver.on_forward_tsn(self.scope.cx, &mut reading.data, forward);
                }
            }
            Chunk::IForwardTsn(forward) => {
                if self.takes_data()? {
                    let (cumulative, skipped) = (forward.cumulative, forward.skipped());
                    let (cx, read) = (&mut *self.scope.cx, &mut reading.data);
                    self.scope.receiver.on_skipped_messages(cx, read, SpaceId::FIRST, cumulative, skipped);
                }
            }
            Chunk::SfForward(forward) => on_sf_forward(&mut self.scope, reading, forward),
            // "The same applies if I-DATA support has not been negotiated for an association and an I-DATA chunk is received"
            // (RFC 8260, 2.2.3); to an endpoint that does not offer it, it is unknown.
            Chunk::Unknown(raw)
                if raw.kind == kind::I_DATA && self.scope.cx.env.config().offers_interleaving() =>
            {
                return Err(Violation::Protocol("an I-DATA chunk where it was not agreed").into());
            }
            // "If I-FORWARD-TSN support has been negotiated for an association, the reception of a FORWARD-TSN chunk is a
            // violation" (RFC 8260, 2.3.1).
            Chunk::Unknown(raw) if raw.kind == kind::FORWARD_TSN && self.agreed_on_i_forward_tsn() => {
                return Err(Violation::Protocol("a FORWARD-TSN chunk where I-FORWARD-TSN was agreed").into());
            }
            // "The same applies if I-FORWARD-TSN support has not been negotiated for an association and an I-FORWARD-TSN chunk is
            // received" (RFC 8260, 2.3.1); to an endpoint that does not offer it, it is unknown.
            Chunk::Unknown(raw)
                if raw.kind == kind::I_FORWARD_TSN && self.scope.cx.env.config().offers_i_forward_tsn() =>
            {
                return Err(Violation::Protocol("an I-FORWARD-TSN chunk where it was not agreed").into());
            }
            Chunk::Unknown(raw) => {
                let action = raw.unknown_action();
                if action.reports() {
                    self.scope.control.report(reading.path, causes::unrecognized_chunk(raw.bytes));
                }
                if !action.goes_on() {
                    return Err(Interrupt::Stop);
                }
            }
        }
        Ok(())
    }
}

/// Tells sender and receiver how much of their common memory the other has: data may have been read, or acknowledged, since. Half a
/// window of received data has room in any case, and with no more than that the receiver gives the sender's memory back.
#[cold]
fn share_memory(scope: &mut Scope<'_>) {
    scope.sender.messages().reserve_for_receiver(scope.receiver.held_beyond_window(scope.cx));
    scope.receiver.reserve_for_sender(scope.cx, scope.sender.kept_beyond_buffers(scope.cx));
}

/// The answers to one packet fit one packet, with a control chunk that may go before them.
#[cold]
fn limit_answers(scope: &mut Scope<'_>, path: PathId, earlier: (usize, usize)) {
    let packet = scope.cx.paths.get(path).map_or(0, Path::max_packet);
    scope.control.keep_one_packet(earlier, packet.saturating_sub(CommonHeader::LEN + 8));
}

#[cfg(test)]
mod tests {
    use anabranch_base::Dscp;
    use anabranch_wire::chunk::{CookieAck, Shutdown, ShutdownAck, sack};
    use anabranch_wire::{Checksum, ChecksumOut, Packet, PacketBuilder, Tsn};

    use super::*;
    use crate::association::test_owners::Owners;

    fn packet(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut bytes = Vec::new();
        let header = CommonHeader { source_port: 1, destination_port: 2, verification_tag: 3 };
        let mut packet = PacketBuilder::new(&mut bytes, header);
        write(packet.buffer());
        packet.finish(ChecksumOut::Compute);
        bytes
    }

    /// Reads a packet: each interrupt in words, and the outcome.
    fn read(owners: &mut Owners, bytes: &[u8]) -> (Vec<String>, PacketOutcome) {
        let packet = Packet::parse(bytes, Checksum::Verify).unwrap();
        let at = ([10, 0, 0, 1], 0).into();
        let meta = Meta { source: at, destination: at, dscp: Dscp::DEFAULT, ecn: Ecn::NotEct };
        let mut chunks = packet.chunks();
        let mut reader = PacketReader::new(owners.scope(), None);
        let mut reading = reader.begin(&meta, &chunks, bytes.len());
        let mut seen = Vec::new();
        loop {
            match reader.read(&mut reading, &mut chunks) {
                Interrupt::Stop => break,
                interrupt => seen.push(format!("{interrupt:?}")),
            }
        }
        assert!(reader.finish(&reading));
        (seen, reading.outcome)
    }

    #[test]
    fn chunks_of_the_life_are_handed_back_in_their_order_and_change_nothing() {
        let mut owners = Owners::up();
        let bytes = packet(|out| {
            CookieAck.emit(out);
            Shutdown { cumulative: Tsn::new(9) }.emit(out);
            ShutdownAck.emit(out);
        });
        let (seen, _) = read(&mut owners, &bytes);
        assert_eq!(seen.len(), 3, "{seen:?}");
        assert!(seen[0] == "CookieAck" && seen[1].starts_with("Shutdown(") && seen[2] == "ShutdownAck");
        assert_eq!(owners.cx.env.state(), State::Established);
        assert!(!owners.scope().control.any(), "nothing is answered yet");
    }

    #[test]
    fn a_sack_concerns_the_life_only_while_a_shutdown_waits_for_it() {
        let bytes = packet(|out| sack::emit(out, Tsn::new(0), 100_000, &[], &[]));
        for (state, concerns) in [
            (State::Established, false),
            (State::ShutdownPending, true),
            (State::ShutdownSent, false),
            (State::ShutdownReceived, true),
        ] {
            let mut owners = Owners::up();
            owners.cx.env.enter(state);
            let (seen, _) = read(&mut owners, &bytes);
            assert_eq!(seen == ["Acknowledged"], concerns, "{state:?}: {seen:?}");
            assert_eq!(owners.cx.report.stats.sacks_received, 1);
        }
    }

    #[test]
    fn shutdown_ack_in_the_handshake_is_answered_as_out_of_the_blue() {
        let mut owners = Owners::new();
        let bytes = packet(|out| ShutdownAck.emit(out));
        let (seen, outcome) = read(&mut owners, &bytes);
        assert!(seen.is_empty() && outcome.reply == Reply::ShutdownComplete, "{seen:?}, {outcome:?}");
    }
}
