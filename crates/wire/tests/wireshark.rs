//! `tools/wireshark/sample.txt` holds packets of the subflow extension for trying the dissector with
//! (`tools/wireshark/check.sh`): here they are written by the codec. Run with `UPDATE_SAMPLE=1` after a change.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fmt::Write as _;
use std::path::Path;

use anabranch_wire::cause::{Cause, SfReason, SfViolation};
use anabranch_wire::chunk::{
    DataFlags, EcnCounters, ErrorChunk, GapBlock, Init, InitKind, ReceiveTime, SfData,
};
use anabranch_wire::chunk::{SfSackHead, init, sf_forward, sf_sack};
use anabranch_wire::param::{Param, Params, SfAdd, SfCapFlags, SfCapHead, SfDel, SfOpen, sf_cap};
use anabranch_wire::sf::CodePoints;
use anabranch_wire::{ChecksumOut, CommonHeader, Mid, PacketBuilder, Tsn, cause};

const CODES: CodePoints = CodePoints::DEFAULT;

fn packet(tag: u32, write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    let header = CommonHeader { source_port: 5001, destination_port: 5002, verification_tag: tag };
    let mut builder = PacketBuilder::new(&mut out, header);
    write(builder.buffer());
    builder.finish(ChecksumOut::Compute);
    out
}

fn re_config(out: &mut Vec<u8>, param: &Param<'_>) {
    let mut body = Vec::new();
    param.emit(&mut body);
    out.extend_from_slice(&[0x82, 0, 0, 4 + body.len() as u8]);
    out.extend_from_slice(&body);
}

fn sample() -> Vec<Vec<u8>> {
    let fixed = Init {
        initiate_tag: 7,
        a_rwnd: 65_536,
        outbound_streams: 4,
        inbound_streams: 4,
        initial_tsn: Tsn::new(1000),
        params: Params::EMPTY,
    };
    let flags = SfCapFlags { timestamps: true, windows_enforced: true, ..SfCapFlags::default() };
    let cap = SfCapHead { version: 1, flags, outbound: 2, max_inbound: 8, credit: 65_536, floor: 3000 };
    let data = SfData {
        flags: DataFlags::WHOLE,
        fid: 1,
        epoch: 0,
        stsn: Tsn::new(1000),
        stream: 3,
        mid: Mid::new(5),
        ppid_or_fsn: 53,
        payload: b"subflow",
    };
    let head = SfSackHead {
        fid: 1,
        epoch: 0,
        cumulative: Tsn::new(1000),
        a_rwnd: 65_000,
        a_fwnd: 32_000,
        non_renegable: true,
    };
    let times = Some(ReceiveTime { received_us: 123_456, ack_delay_us: 200 });
    let counters = Some(EcnCounters { ect0: 1, ect1: 2, ce: 3 });
    let skipped = [sf_forward::Skipped { stream: 3, unordered: true, mid: Mid::new(9) }];
    let violation = Cause::SfViolation(SfViolation {
        fid: 9,
        epoch: 0,
        reason: SfReason::UnknownSubflow,
        information: b"?",
    });
    vec![
        packet(0, |out| {
            init::emit(out, InitKind::Init, &fixed, |params| {
                let open = [SfOpen { fid: 1, dscp: 46, weight: 2 }];
                params.raw(CODES.capability, &sf_cap::value(&cap, &open));
            });
        }),
        packet(7, |out| {
            data.emit(out);
            SfData { flags: DataFlags::default(), stsn: Tsn::new(1001), ppid_or_fsn: 1, ..data }.emit(out);
        }),
        packet(7, |out| {
            let gaps = [GapBlock { start: 2, end: 4 }];
            sf_sack::emit(out, CODES.sack, &head, &gaps, &[Tsn::new(999)], times, counters);
        }),
        packet(7, |out| sf_forward::emit(out, CODES.forward, 1, 0, Tsn::new(1010), &skipped)),
        packet(7, |out| {
            let add = SfAdd {
                request: 1,
                fid: 2,
                epoch: 1,
                dscp: 10,
                weight: 1,
                initial_stsn: Tsn::new(77),
                a_fwnd: 9000,
            };
            re_config(out, &Param::SfAdd(add));
        }),
        packet(7, |out| {
            re_config(out, &Param::SfDel(SfDel { request: 2, fid: 2, epoch: 1, last_stsn: Tsn::new(99) }));
        }),
        packet(7, |out| {
            ErrorChunk { causes: cause::Causes::EMPTY }.emit_with(out, |causes| causes.add(&violation));
        }),
    ]
}

#[test]
fn the_sample_is_what_the_codec_writes() {
    // The form that text2pcap reads: an offset, then bytes; a new packet where the offset is 0.
    let mut text = String::new();
    for packet in sample() {
        for (i, line) in packet.chunks(16).enumerate() {
            write!(text, "{:06x}", 16 * i).unwrap();
            for byte in line {
                write!(text, " {byte:02x}").unwrap();
            }
            text.push('\n');
        }
        text.push('\n');
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/wireshark/sample.txt");
    if std::env::var_os("UPDATE_SAMPLE").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}
