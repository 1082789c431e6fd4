//! The content of SCTP packets: plain, with the extension SF, or in the encoding of the thesis.

use anabranch_wire::chunk::{Data, IData, Init, Sack, SfData, SfSack, kind};
use anabranch_wire::extension::NrSack;
use anabranch_wire::{CommonHeader, RawChunk, padded, sf2007};

use super::controls::Control;
use super::{Analysis, Assumptions, Ending, Side};
use crate::packet::{Packet, Sctp, Sum};
use crate::space::{Ack, Outgoing, Space};

/// A chunk with user data, in the common form of all encodings.
struct Piece {
    subflow: i16,
    number: u32,
    bits: u32,
    stream: u16,
    payload: u32,
}

/// A chunk that acknowledges, in the common form of all encodings.
struct AckReport {
    subflow: i16,
    cumulative: u32,
    window: u64,
    gaps: Vec<(u16, u16)>,
    twice: Vec<u32>,
}

impl Analysis {
    pub(super) fn sctp(
        &mut self,
        packet: &Packet<'_>,
        sctp: &Sctp<'_>,
        back: bool,
        sf2007: bool,
        assumed: &Assumptions,
    ) {
        let elapsed = self.elapsed_ns;
        let mut ending = None;
        let mut first = None;
        let mut data = false;
        let mut chunks_bytes = 0_u64;
        let mut retransmitted = false;
        let (opened, established) = (self.opened_ns.is_some(), self.established_ns.is_some());
        let (mut opens, mut establishes) = (false, false);
        let (side, peer) = self.both(back);
        side.wrong_checksums += u64::from(sctp.sum == Sum::Bad);
        side.old_checksums += u64::from(sctp.sum == Sum::Adler);
        let filled = sctp.filled();
        for raw in filled.chunks() {
            let bytes = padded(raw.bytes.len()) as u64;
            chunks_bytes += bytes;
            first.get_or_insert(raw.kind);
            if let Some(piece) = piece(raw, sf2007) {
                data = true;
                let again = side.piece(packet, &piece, assumed);
                retransmitted |= again.is_some();
                let payload = u64::from(piece.payload);
                let again = u64::from(again.unwrap_or(0)).min(payload);
                side.purposes.payload += payload - again;
                side.purposes.payload_again += again;
                side.purposes.chunk_headers += bytes - payload.min(bytes);
                continue;
            }
            let report = ack_report(raw, sf2007);
            if let Some(report) = &report {
                peer.on_ack_report(packet, report, side);
            }
            *side.purposes.of(raw.kind, report.is_some()) += bytes;
            match raw.kind {
                kind::INIT => {
                    opens = true;
                    if let Ok(init) = Init::parse(raw) {
                        let sent = Control {
                            name: "INIT",
                            what: (raw.kind, init.initiate_tag),
                            bytes: bytes as u32,
                        };
                        side.control(packet, &sent, assumed);
                        side.offered.seen(u64::from(init.a_rwnd));
                    }
                }
                kind::INIT_ACK => {
                    if let Ok(init) = Init::parse(raw) {
                        side.offered.seen(u64::from(init.a_rwnd));
                    }
                }
                kind::COOKIE_ECHO => {
                    let sent = Control {
                        name: "COOKIE ECHO",
                        what: (raw.kind, sctp.header.verification_tag),
                        bytes: bytes as u32,
                    };
                    side.control(packet, &sent, assumed);
                }
                kind::COOKIE_ACK => establishes = true,
                kind::SHUTDOWN => {
                    ending = Some(Ending::HalfClosed);
                    let sent = Control {
                        name: "SHUTDOWN",
                        what: (raw.kind, sctp.header.verification_tag),
                        bytes: bytes as u32,
                    };
                    side.control(packet, &sent, assumed);
                }
                kind::SHUTDOWN_ACK => {
                    ending = Some(Ending::HalfClosed);
                    let sent = Control {
                        name: "SHUTDOWN ACK",
                        what: (raw.kind, sctp.header.verification_tag),
                        bytes: bytes as u32,
                    };
                    side.control(packet, &sent, assumed);
                }
                kind::SHUTDOWN_COMPLETE => ending = Some(Ending::Closed),
                kind::ABORT => ending = Some(Ending::Aborted),
                _ => {}
            }
        }
        // Padding behind the last chunk that was read, chunks that were cut or malformed.
        let rest = u64::from(packet.bytes())
            .saturating_sub(u64::from(packet.outside) + CommonHeader::LEN as u64 + chunks_bytes);
        side.purposes.control += rest;
        // The padding of the last chunk may be missing.
        let common = (u64::from(packet.bytes()) - u64::from(packet.outside.min(packet.bytes())))
            .saturating_sub(chunks_bytes + rest);
        if data {
            side.purposes.network_headers += u64::from(packet.outside);
            side.purposes.transport_headers += common;
            side.packets_again += u64::from(retransmitted);
            side.data_seen(elapsed);
        } else {
            let first = first.unwrap_or(u8::MAX);
            let acknowledges = matches!(first, kind::SACK | kind::NR_SACK | kind::SF_SACK);
            *side.purposes.of(first, acknowledges) += u64::from(packet.outside) + common;
        }
        if opens && !opened {
            self.opened_ns = Some((packet.stretch, packet.time_ns));
        }
        if establishes && !established {
            self.established_ns = Some((packet.stretch, packet.time_ns));
        }
        match ending {
            Some(Ending::HalfClosed) if self.ending != Ending::Open => {}
            Some(ending) if self.ending != Ending::Aborted => self.ending = ending,
            _ => {}
        }
    }
}

impl super::Purposes {
    fn of(&mut self, what: u8, acknowledges: bool) -> &mut u64 {
        if acknowledges {
            return &mut self.acknowledgements;
        }
        match what {
            kind::INIT | kind::INIT_ACK | kind::COOKIE_ECHO | kind::COOKIE_ACK => &mut self.handshake,
            kind::SHUTDOWN | kind::SHUTDOWN_ACK | kind::SHUTDOWN_COMPLETE | kind::ABORT => &mut self.teardown,
            _ => &mut self.control,
        }
    }
}

impl Side {
    /// Takes a chunk with user data: `Some` if it was a retransmission, with the bytes that were seen before.
    fn piece(&mut self, packet: &Packet<'_>, piece: &Piece, assumed: &Assumptions) -> Option<u32> {
        if !self.streams.contains(&piece.stream) {
            self.streams.push(piece.stream);
        }
        let space = self
            .spaces
            .entry(piece.subflow)
            .or_insert_with(|| Space::new(piece.number, piece.bits, assumed.least_timeout_ns));
        let start = space.widen(piece.number);
        let before = space.again.len();
        let again = space.send(Outgoing {
            frame: packet.number,
            time_ns: packet.time_ns,
            stretch: packet.stretch,
            start,
            end: start + 1,
            bytes: piece.payload,
            stamp: None,
        });
        (space.again.len() > before).then_some(again)
    }

    /// Takes an acknowledgement of the other side for the data of this one.
    fn on_ack_report(&mut self, packet: &Packet<'_>, report: &AckReport, reporter: &mut Side) {
        reporter.offered.seen(report.window);
        let Some(space) = self.spaces.get_mut(&report.subflow) else { return };
        let cumulative = space.widen(report.cumulative);
        let blocks = report.gaps.iter().filter(|(start, end)| start <= end);
        let blocks: Vec<(i64, i64)> = blocks
            .map(|&(start, end)| (cumulative + i64::from(start), cumulative + i64::from(end) + 1))
            .collect();
        let twice = report.twice.iter().map(|&number| {
            let number = space.widen(number);
            (number, number + 1)
        });
        let twice: Vec<(i64, i64)> = twice.collect();
        space.acknowledge(Ack {
            time_ns: packet.time_ns,
            stretch: packet.stretch,
            next: cumulative + 1,
            blocks,
            twice,
            window: report.window,
            // Only gap blocks report a loss: a SACK that says the same again may be about the window.
            more: true,
            echo: None,
        });
    }
}

fn piece(raw: RawChunk<'_>, sf2007: bool) -> Option<Piece> {
    let piece = |subflow, number, stream, payload: &[u8]| Piece {
        subflow,
        number,
        bits: 32,
        stream,
        payload: payload.len() as u32,
    };
    match raw.kind {
        kind::DATA if sf2007 => {
            let data = sf2007::Data::parse(raw).ok()?;
            Some(Piece {
                bits: sf2007::Fsn::BITS,
                ..piece(i16::from(data.fid), data.fsn.get(), data.stream, data.payload)
            })
        }
        kind::DATA => {
            let data = Data::parse(raw).ok()?;
            Some(piece(-1, data.tsn.get(), data.stream, data.payload))
        }
        kind::I_DATA => {
            let data = IData::parse(raw).ok()?;
            Some(piece(-1, data.tsn.get(), data.stream, data.payload))
        }
        kind::SF_DATA => {
            let data = SfData::parse(raw).ok()?;
            Some(piece(i16::from(data.fid), data.stsn.get(), data.stream, data.payload))
        }
        _ => None,
    }
}

fn ack_report(raw: RawChunk<'_>, sf2007: bool) -> Option<AckReport> {
    match raw.kind {
        kind::SACK if sf2007 => {
            let sack = sf2007::Sack::parse(raw).ok()?;
            Some(AckReport {
                subflow: i16::from(sack.head.fid),
                cumulative: sack.head.cumulative_fsn.get(),
                window: u64::from(sack.head.a_fwnd),
                gaps: sack.gaps().map(|gap| (gap.start, gap.end)).collect(),
                twice: sack.duplicates().map(sf2007::Fsn::get).collect(),
            })
        }
        kind::SACK => {
            let sack = Sack::parse(raw).ok()?;
            Some(AckReport {
                subflow: -1,
                cumulative: sack.cumulative.get(),
                window: u64::from(sack.a_rwnd),
                gaps: sack.gaps().map(|gap| (gap.start, gap.end)).collect(),
                twice: sack.duplicates().map(anabranch_wire::Tsn::get).collect(),
            })
        }
        kind::NR_SACK => {
            let sack = NrSack::parse(raw).ok()?;
            Some(AckReport {
                subflow: -1,
                cumulative: sack.cumulative.get(),
                window: u64::from(sack.a_rwnd),
                // TSNs that were received for good are in the second list only.
                gaps: sack.gaps().chain(sack.kept()).map(|gap| (gap.start, gap.end)).collect(),
                twice: sack.duplicates().map(anabranch_wire::Tsn::get).collect(),
            })
        }
        kind::SF_SACK => {
            let sack = SfSack::parse(raw).ok()?;
            Some(AckReport {
                subflow: i16::from(sack.head.fid),
                cumulative: sack.head.cumulative.get(),
                window: u64::from(sack.head.a_fwnd.min(sack.head.a_rwnd)),
                gaps: sack.gaps().map(|gap| (gap.start, gap.end)).collect(),
                twice: sack.duplicates().map(anabranch_wire::Tsn::get).collect(),
            })
        }
        _ => None,
    }
}
