//! The encoding of the thesis of 2007 (docs/subflows.md, sf2007): its chunks, and what it puts behind cookies. On sealed
//! networks only.

use anabranch_base::Instant;
use anabranch_wire::chunk::sack::GapBlock;
use anabranch_wire::chunk::{CookieAck, kind};
use anabranch_wire::sf2007::{self, Fsn, Setup, SetupParams};
use anabranch_wire::{Mid, PacketBuilder, RawChunk};

use super::acknowledgement::Windows;
use super::data::DataChunk;
use super::input::{Context, Violation};
use super::{Association, State};
use crate::sf::credit::Allowance;

impl Association {
    /// Reads a chunk that the encoding gives another layout. `None`: it is as in RFC 9260; `Some(false)`: malformed.
    pub(super) fn on_thesis_chunk(
        &mut self,
        cx: &mut Context,
        raw: RawChunk<'_>,
    ) -> Result<Option<bool>, Violation> {
        match raw.kind {
            kind::DATA => {
                let Ok(data) = sf2007::Data::parse(raw) else { return Ok(Some(false)) };
                self.on_thesis_data(cx, &data)?;
            }
            kind::SACK => {
                let Ok(sack) = sf2007::Sack::parse(raw) else { return Ok(Some(false)) };
                if self.state.sends_data() || self.state == State::ShutdownSent {
                    self.on_thesis_sack(cx.now, &sack)?;
                    self.advance_shutdown(cx.now);
                }
            }
            kind::COOKIE_ACK => {
                self.adopt_setup(SetupParams::new(raw.value));
                self.on_cookie_ack(cx.now);
            }
            _ => return Ok(None),
        }
        Ok(Some(true))
    }

    fn on_thesis_data(&mut self, cx: &mut Context, data: &sf2007::Data<'_>) -> Result<(), Violation> {
        let known = self.sf.as_ref().is_some_and(|sf| sf.theirs.epoch(data.fid).is_some());
        let Some(index) = self.space_of(data.fid).filter(|_| known) else {
            self.stats.sf_unknown += 1;
            return Ok(());
        };
        if self.state.receives_data() {
            if let Some(asn) = &mut self.received_asn {
                asn.record(data.asn);
            }
        }
        self.enter_space(cx, index);
        let Some(space) = self.spaces.get(index) else { return Ok(()) };
        let near = space.tsn_of_received(space.received.next());
        self.on_chunk(
            cx,
            &DataChunk {
                flags: data.flags,
                tsn: data.fsn.widen(near),
                stream: data.stream,
                mid: Mid::new(u32::from(data.ssn.get())),
                fragment: 0,
                ppid: data.ppid,
                payload: data.payload,
            },
        )
    }

    fn on_thesis_sack(&mut self, now: Instant, sack: &sf2007::Sack<'_>) -> Result<(), Violation> {
        let fid = sack.head.fid;
        let known = self.sf.as_ref().is_some_and(|sf| sf.ours.epoch(fid).is_some());
        let Some(index) = self.space_of(fid).filter(|_| known) else {
            self.stats.sf_unknown += 1;
            return Ok(());
        };
        let Some(space) = self.spaces.get(index) else { return Ok(()) };
        let near = space.tsn_of_sent(space.flight.first()).sub(1);
        let cumulative = sack.head.cumulative_fsn.widen(near);
        self.stats.sacks_received += 1;
        let windows = Windows { a_rwnd: None, a_fwnd: Some(sack.head.a_fwnd) };
        self.on_acknowledgement(now, index, cumulative, windows, sack.gaps(), None)
    }

    /// The acknowledgement of one subflow (Fig. 3.2).
    pub(super) fn write_thesis_sack(
        &mut self,
        packet: &mut PacketBuilder<'_>,
        limit: usize,
        index: usize,
        reserved: Option<usize>,
    ) {
        let smallest = sf2007::sack_wire_len(0, 0);
        if packet.len() + smallest > limit {
            return;
        }
        let a_fwnd = self.credit_of(index);
        let Some(asn) = self.received_asn.as_ref().map(|asn| asn.cumulative()) else { return };
        let Some(space) = self.spaces.get_mut(index) else { return };
        let lists = space.received.gaps() + space.sack.duplicates.len();
        let rides = reserved.is_some_and(|len| packet.len() + sf2007::sack_wire_len(lists, 0) + len <= limit);
        if !space.sack.is_due_now() && !rides {
            return;
        }
        let room = (limit - packet.len() - smallest) / 4;
        let count = space.received.gaps().min(room);
        let gaps: Vec<GapBlock> =
            space.received.gap_blocks().take(count).map(|(start, end)| GapBlock { start, end }).collect();
        let duplicates: Vec<Fsn> =
            space.sack.duplicates.iter().take(room - count).map(|tsn| Fsn::from(*tsn)).collect();
        let head = sf2007::SackHead {
            cumulative_asn: asn,
            fid: space.fid,
            cumulative_fsn: space.cumulative_received().into(),
            a_fwnd,
        };
        sf2007::emit_sack(packet.buffer(), &head, &gaps, &duplicates);
        space.sack.sent(a_fwnd);
        self.stats.sacks_sent += 1;
    }

    /// Figs 3.4 and 3.5 for every subflow, "from the lowest to the highest FID": the window that we grant to the peer's, and
    /// the first number of ours.
    pub(super) fn write_setup(&self, out: &mut Vec<u8>) {
        let Some((ours, theirs)) = self.extensions.thesis else { return };
        for fid in 0..ours.max(theirs) {
            let Some(index) = self.space_of(fid) else { break };
            let initial_fsn = self.spaces.get(index).map_or(Fsn::default(), |s| s.send_base.into());
            Setup { a_fwnd: self.credit_of(index), initial_fsn }.emit(fid, out);
        }
    }

    pub(super) fn write_thesis_cookie_ack(&self, out: &mut Vec<u8>) {
        let start = out.len();
        CookieAck.emit(out);
        self.write_setup(out);
        let length = (out.len() - start) as u16;
        if let Some(field) = out.get_mut(start + 2..start + 4) {
            field.copy_from_slice(&length.to_be_bytes());
        }
    }

    /// What the peer put behind its cookie or into its COOKIE ACK. Of a subflow that has begun it changes nothing.
    pub(crate) fn adopt_setup(&mut self, params: SetupParams<'_>) {
        let Some(all) = params.read().filter(|_| self.extensions.thesis.is_some()) else { return };
        for (fid, setup) in (0_u8..=u8::MAX).zip(all) {
            let Some(index) = self.space_of(fid) else { continue };
            let Some(space) = self.spaces.get_mut(index) else { continue };
            if space.received.end() == 0 {
                // The low 24 bits are all that counts.
                space.receive_base = anabranch_wire::Tsn::new(setup.initial_fsn.get());
            }
            if space.flight.next() == 0 {
                space.allowance = Allowance { window: u64::from(setup.a_fwnd) };
            }
        }
        // There is no window of the association in this encoding.
        self.peer_rwnd = u64::MAX / 2;
    }
}
