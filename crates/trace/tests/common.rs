//! Packets and files, byte by byte.

use anabranch_tcp::header::{Flags, Header, Options, SackBlocks, seal};
use anabranch_trace::{Assumptions, Capture, Filter, Reading, Trace};
use anabranch_wire::chunk::{Data, DataFlags, GapBlock, sack};
use anabranch_wire::{ChecksumOut, CommonHeader, PacketBuilder, Ssn, Tsn};

pub(crate) const A: [u8; 4] = [10, 0, 0, 1];
pub(crate) const B: [u8; 4] = [10, 0, 0, 2];

pub(crate) fn v4(protocol: u8, source: [u8; 4], destination: [u8; 4], payload: &[u8]) -> Vec<u8> {
    let mut out = vec![0x45, 0];
    out.extend((20 + payload.len() as u16).to_be_bytes());
    out.extend([0, 1, 0x40, 0, 64, protocol, 0, 0]);
    out.extend(source);
    out.extend(destination);
    out.extend(payload);
    out
}

pub(crate) fn v6(next: u8, extension: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut out = vec![0x60, 0, 0, 0];
    out.extend(((extension.len() + payload.len()) as u16).to_be_bytes());
    out.extend([next, 64]);
    out.extend([0x20; 16]);
    out.extend([0x21; 16]);
    out.extend(extension);
    out.extend(payload);
    out
}

pub(crate) fn segment(
    back: bool,
    seq: u32,
    ack: u32,
    flags: Flags,
    sack: &[(u32, u32)],
    data: usize,
) -> Vec<u8> {
    let mut blocks = SackBlocks::default();
    for &(left, right) in sack {
        blocks.push(left, right);
    }
    let (source, destination) = if back { (80, 5000) } else { (5000, 80) };
    let header = Header {
        source,
        destination,
        seq,
        ack,
        flags,
        window: 60_000,
        urgent: 0,
        options: Options { sack: blocks, ..Options::default() },
    };
    let mut out = Vec::new();
    header.emit(&mut out);
    out.resize(out.len() + data, 7);
    let (from, to) = if back { (B, A) } else { (A, B) };
    seal(&mut out, from.into(), to.into());
    v4(6, from, to, &out)
}

/// The first data of a connection: `seq=1001-1101` without its base.
pub(crate) fn plain() -> Vec<u8> {
    segment(false, 1001, 1, Flags::ACK, &[], 100)
}

pub(crate) fn sctp(back: bool, fill: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let (source_port, destination_port) = if back { (9, 5000) } else { (5000, 9) };
    let mut out = Vec::new();
    let header = CommonHeader { source_port, destination_port, verification_tag: 1 + u32::from(back) };
    let mut builder = PacketBuilder::new(&mut out, header);
    fill(builder.buffer());
    builder.finish(ChecksumOut::Compute);
    let (from, to) = if back { (B, A) } else { (A, B) };
    v4(132, from, to, &out)
}

pub(crate) fn data(tsn: u32, length: usize) -> Vec<u8> {
    sctp(false, |out| {
        Data {
            flags: DataFlags::WHOLE,
            tsn: Tsn::new(tsn),
            stream: 3,
            ssn: Ssn::new(0),
            ppid: 0,
            payload: &vec![5; length],
        }
        .emit(out);
    })
}

pub(crate) fn told(cumulative: u32, gaps: &[(u16, u16)], twice: &[u32]) -> Vec<u8> {
    let gaps: Vec<GapBlock> = gaps.iter().map(|&(start, end)| GapBlock { start, end }).collect();
    let twice: Vec<Tsn> = twice.iter().map(|&tsn| Tsn::new(tsn)).collect();
    sctp(true, |out| sack::emit(out, Tsn::new(cumulative), 100_000, &gaps, &twice))
}

/// Numbers of a file in one byte order.
#[derive(Clone, Copy)]
pub(crate) struct Order(pub(crate) bool);

impl Order {
    pub(crate) fn u16(self, value: u16) -> [u8; 2] {
        if self.0 { value.to_be_bytes() } else { value.to_le_bytes() }
    }
    pub(crate) fn u32(self, value: u32) -> [u8; 4] {
        if self.0 { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    pub(crate) fn pcap(self, magic: u32, link: u32, packets: &[(u32, u32, &[u8], usize)]) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend(self.u32(magic));
        out.extend(self.u16(2));
        out.extend(self.u16(4));
        out.extend([0; 8]);
        out.extend(self.u32(65_535));
        out.extend(self.u32(link));
        for &(seconds, fraction, bytes, kept) in packets {
            out.extend(self.u32(seconds));
            out.extend(self.u32(fraction));
            out.extend(self.u32(kept as u32));
            out.extend(self.u32(bytes.len() as u32));
            out.extend(&bytes[..kept]);
        }
        out
    }

    pub(crate) fn block(self, out: &mut Vec<u8>, kind: u32, body: &[u8]) {
        let length = self.u32(12 + body.len().next_multiple_of(4) as u32);
        out.extend(self.u32(kind));
        out.extend(length);
        out.extend(body);
        out.resize(out.len().next_multiple_of(4), 0);
        out.extend(length);
    }

    pub(crate) fn section(self, out: &mut Vec<u8>) {
        let mut body = self.u32(0x1a2b_3c4d).to_vec();
        body.extend(self.u16(1));
        body.extend(self.u16(0));
        body.extend([0xff; 8]);
        self.block(out, 0x0a0d_0d0a, &body);
    }

    pub(crate) fn interface(self, out: &mut Vec<u8>, link: u16, snap: u32, options: &[(u16, &[u8])]) {
        let mut body = self.u16(link).to_vec();
        body.extend([0; 2]);
        body.extend(self.u32(snap));
        for &(code, value) in options {
            body.extend(self.u16(code));
            body.extend(self.u16(value.len() as u16));
            body.extend(value);
            body.resize(body.len().next_multiple_of(4), 0);
        }
        self.block(out, 1, &body);
    }

    pub(crate) fn enhanced(self, out: &mut Vec<u8>, interface: u32, ticks: u64, bytes: &[u8]) {
        let mut body = self.u32(interface).to_vec();
        body.extend(self.u32((ticks >> 32) as u32));
        body.extend(self.u32(ticks as u32));
        body.extend(self.u32(bytes.len() as u32));
        body.extend(self.u32(bytes.len() as u32));
        body.extend(bytes);
        self.block(out, 6, &body);
    }
}

pub(crate) fn trace(file: &[u8]) -> Trace<'_> {
    trace_with(file, &Filter::default())
}

pub(crate) fn trace_with<'a>(file: &'a [u8], filter: &Filter) -> Trace<'a> {
    Trace::new(Capture::read(file).expect("a capture"), &Reading::default(), filter, &Assumptions::default())
}

pub(crate) fn infos(file: &[u8]) -> Vec<String> {
    trace(file).lines().map(|line| line.info).collect()
}
