//! The subflow extension and the thesis's encoding: what is written is read as the same, and nothing that is read
//! can do harm.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use anabranch_wire::cause::{Cause, Causes, SfReason, SfViolation};
use anabranch_wire::chunk::{Chunk, DataFlags, EcnCounters, GapBlock, ReceiveTime, SfData, SfSackHead};
use anabranch_wire::chunk::{sf_forward, sf_sack};
use anabranch_wire::param::{Param, Params, SfAdd, SfCapFlags, SfCapHead, SfDel, SfOpen, sf_cap};
use anabranch_wire::sf::CodePoints;
use anabranch_wire::sf2007::{self, Fsn, SetupParams, Show, split_cookie};
use anabranch_wire::{
    Checksum, ChecksumOut, CommonHeader, Mid, Packet, PacketBuilder, RawChunk, RawTlv, Ssn, Tsn,
};
use proptest::collection::vec;
use proptest::prelude::*;

const HEADER: CommonHeader = CommonHeader { source_port: 1, destination_port: 2, verification_tag: 3 };
const CODES: CodePoints = CodePoints::DEFAULT;

fn packet_of(body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut builder = PacketBuilder::new(&mut out, HEADER);
    builder.buffer().extend_from_slice(body);
    builder.finish(ChecksumOut::Compute);
    out
}

/// The one chunk in `body`, read and written again as the same bytes.
fn read_back(body: &[u8], check: impl Fn(&Chunk<'_>)) {
    assert_eq!(body.len() % 4, 0);
    let bytes = packet_of(body);
    let packet = Packet::parse(&bytes, Checksum::Verify).unwrap();
    let raws: Vec<RawChunk<'_>> = packet.chunks().map(Result::unwrap).collect();
    let [raw] = raws[..] else { panic!("{} chunks", raws.len()) };
    let chunk = Chunk::parse(raw).unwrap();
    check(&chunk);
    let mut again = Vec::new();
    chunk.emit(&mut again);
    assert_eq!(again, body);
}

fn tlv(bytes: &[u8]) -> RawTlv<'_> {
    Params::new(bytes).iter().next().unwrap().unwrap()
}

fn gap_list() -> impl Strategy<Value = Vec<GapBlock>> {
    vec(any::<(u16, u16)>(), 0..40)
        .prop_map(|gaps| gaps.into_iter().map(|(start, end)| GapBlock { start, end }).collect())
}

fn tsn_list() -> impl Strategy<Value = Vec<Tsn>> {
    vec(any::<u32>().prop_map(Tsn::new), 0..40)
}

proptest! {
    #[test]
    fn sf_data(
        flags in 0..16_u8, fid: u8, epoch: u8, stsn: u32, stream: u16, mid: u32, ppid_or_fsn: u32,
        payload in vec(any::<u8>(), 0..1500),
    ) {
        let data = SfData {
            flags: DataFlags::from_bits(flags),
            fid,
            epoch,
            stsn: Tsn::new(stsn),
            stream,
            mid: Mid::new(mid),
            ppid_or_fsn,
            payload: &payload,
        };
        let mut out = Vec::new();
        data.emit(&mut out);
        prop_assert_eq!(out.len(), SfData::wire_len(payload.len()));
        read_back(&out, |chunk| assert_eq!(*chunk, Chunk::SfData(data)));
    }

    #[test]
    fn sf_sack(
        fid: u8, epoch: u8, cumulative: u32, a_rwnd: u32, a_fwnd: u32, non_renegable: bool, gaps in gap_list(),
        duplicates in tsn_list(), times: Option<(u32, u32)>, counters: Option<(u32, u32, u32)>,
    ) {
        let cumulative = Tsn::new(cumulative);
        let head = SfSackHead { fid, epoch, cumulative, a_rwnd, a_fwnd, non_renegable };
        let times = times.map(|(received_us, ack_delay_us)| ReceiveTime { received_us, ack_delay_us });
        let counters = counters.map(|(ect0, ect1, ce)| EcnCounters { ect0, ect1, ce });
        let mut out = Vec::new();
        sf_sack::emit(&mut out, CODES.sack, &head, &gaps, &duplicates, times, counters);
        let expected = sf_sack::wire_len(gaps.len(), duplicates.len(), times.is_some(), counters.is_some());
        prop_assert_eq!(out.len(), expected);
        read_back(&out, |chunk| {
            let Chunk::SfSack(sack) = chunk else { panic!("not an SF-SACK") };
            assert_eq!(sack.head, head);
            assert!(sack.gaps().eq(gaps.iter().copied()) && sack.duplicates().eq(duplicates.iter().copied()));
            assert_eq!((sack.gap_count(), sack.duplicate_count()), (gaps.len(), duplicates.len()));
            assert_eq!((sack.times(), sack.counters()), (times, counters));
        });
    }

    #[test]
    fn sf_forward(fid: u8, epoch: u8, cumulative: u32, skipped in vec(any::<(u16, bool, u32)>(), 0..40)) {
        let skipped: Vec<_> = skipped
            .into_iter()
            .map(|(stream, unordered, mid)| sf_forward::Skipped { stream, unordered, mid: Mid::new(mid) })
            .collect();
        let mut out = Vec::new();
        sf_forward::emit(&mut out, CODES.forward, fid, epoch, Tsn::new(cumulative), &skipped);
        read_back(&out, |chunk| {
            let Chunk::SfForward(forward) = chunk else { panic!("not an SF-FORWARD") };
            assert_eq!((forward.fid, forward.epoch, forward.cumulative.get()), (fid, epoch, cumulative));
            assert!(forward.skipped().eq(skipped.iter().copied()));
        });
    }

    #[test]
    fn parameters(
        flags in 0..16_u8, numbers: (u8, u8, u8, u8), words: (u32, u32, u32), weight: u16,
        opens in vec(any::<(u8, u8, u16)>(), 0..300),
    ) {
        let (fid, epoch, dscp, version) = numbers;
        let head = SfCapHead {
            version,
            flags: SfCapFlags::from_bits(flags),
            outbound: fid,
            max_inbound: epoch,
            credit: words.0,
            floor: words.1,
        };
        let opens: Vec<SfOpen> =
            opens.into_iter().map(|(fid, dscp, weight)| SfOpen { fid, dscp, weight }).collect();
        let value = sf_cap::value(&head, &opens);
        let mut bytes = [CODES.capability.to_be_bytes(), (4 + value.len() as u16).to_be_bytes()].concat();
        bytes.extend_from_slice(&value);
        let Param::SfCap(cap) = Param::parse(tlv(&bytes)).unwrap() else { panic!("not an SF-CAP") };
        prop_assert_eq!(cap.head, head);
        prop_assert!(cap.opens().eq(opens.iter().take(255).copied()));
        let mut again = Vec::new();
        Param::SfCap(cap).emit(&mut again);
        prop_assert_eq!(again, bytes);

        let initial_stsn = Tsn::new(words.1);
        let add = SfAdd { request: words.0, fid, epoch, dscp, weight, initial_stsn, a_fwnd: words.2 };
        let del = SfDel { request: words.0, fid, epoch, last_stsn: Tsn::new(words.2) };
        for param in [Param::SfAdd(add), Param::SfDel(del)] {
            let mut out = Vec::new();
            param.emit(&mut out);
            prop_assert_eq!(Param::parse(tlv(&out)), Ok(param));
        }
    }

    #[test]
    fn violation(fid: u8, epoch: u8, reason: u16, information in vec(any::<u8>(), 0..40)) {
        let reason = SfReason::from_code(reason);
        let cause = Cause::SfViolation(SfViolation { fid, epoch, reason, information: &information });
        let mut out = Vec::new();
        cause.emit(&mut out);
        prop_assert_eq!(Cause::parse(Causes::new(&out).iter().next().unwrap().unwrap()), Ok(cause));
    }

    #[test]
    fn thesis_data(
        flags in 0..8_u8, asn: u32, fid: u8, fsn: u32, stream: u16, ssn: u16, ppid: u32,
        payload in vec(any::<u8>(), 0..1500),
    ) {
        let data = sf2007::Data {
            flags: DataFlags::from_bits(flags),
            asn: Tsn::new(asn),
            fid,
            fsn: Fsn::new(fsn),
            stream,
            ssn: Ssn::new(ssn),
            ppid,
            payload: &payload,
        };
        let mut out = Vec::new();
        data.emit(&mut out);
        prop_assert_eq!(out.len(), sf2007::Data::wire_len(payload.len()));
        let bytes = packet_of(&out);
        let raw = Packet::parse(&bytes, Checksum::Verify).unwrap().chunks().next().unwrap().unwrap();
        prop_assert_eq!(sf2007::Data::parse(raw), Ok(data));
    }

    #[test]
    fn thesis_sack(
        asn: u32, fid: u8, fsn: u32, a_fwnd: u32, gaps in gap_list(), duplicates in vec(any::<u32>(), 0..40),
    ) {
        let duplicates: Vec<Fsn> = duplicates.into_iter().map(Fsn::new).collect();
        let cumulative_asn = Tsn::new(asn);
        let head = sf2007::SackHead { cumulative_asn, fid, cumulative_fsn: Fsn::new(fsn), a_fwnd };
        let mut out = Vec::new();
        sf2007::emit_sack(&mut out, &head, &gaps, &duplicates);
        prop_assert_eq!(out.len(), sf2007::sack_wire_len(gaps.len(), duplicates.len()));
        let bytes = packet_of(&out);
        let raw = Packet::parse(&bytes, Checksum::Verify).unwrap().chunks().next().unwrap().unwrap();
        let sack = sf2007::Sack::parse(raw).unwrap();
        prop_assert_eq!(sack.head, head);
        prop_assert!(sack.gaps().eq(gaps.iter().copied()) && sack.duplicates().eq(duplicates.iter().copied()));
        let mut again = Vec::new();
        sack.emit(&mut again);
        prop_assert_eq!(again, out);
    }

    #[test]
    fn thesis_setup(all in vec((0..1_u32 << 24, any::<u32>()), 0..256), cookie in vec(0..0x80_u8, 0..300)) {
        let all: Vec<sf2007::Setup> = all
            .into_iter()
            .map(|(a_fwnd, fsn)| sf2007::Setup { a_fwnd, initial_fsn: Fsn::new(fsn) })
            .collect();
        let mut value = cookie.clone();
        for (fid, setup) in (0_u8..=255).zip(&all) {
            setup.emit(fid, &mut value);
        }
        let (front, params) = split_cookie(&value);
        prop_assert_eq!(front, cookie);
        prop_assert_eq!(params.read(), Some(all));
    }
}

/// Looks at all there is in something that came from anywhere.
fn walk(bytes: &[u8]) {
    let Ok(packet) = Packet::parse(bytes, Checksum::Ignore) else { return };
    assert!(!packet.to_string().is_empty() && !Show(packet).to_string().is_empty());
    for raw in packet.chunks().flatten() {
        match Chunk::parse(raw) {
            Ok(Chunk::SfSack(sack)) => {
                assert_eq!(sack.gaps().count(), sack.gap_count());
                assert_eq!(sack.duplicates().count(), sack.duplicate_count());
                assert!(4 * (sack.gap_count() + sack.duplicate_count()) <= bytes.len());
                let (times, counters) = (sack.times(), sack.counters());
                assert_eq!((times.is_some(), counters.is_some()), (raw.flags & 2 != 0, raw.flags & 1 != 0));
            }
            Ok(Chunk::SfForward(forward)) => assert!(8 * forward.skipped().count() <= bytes.len()),
            _ => {}
        }
        if let Ok(sack) = sf2007::Sack::parse(raw) {
            assert!(4 * (sack.gaps().count() + sack.duplicates().count()) <= bytes.len());
        }
        let (cookie, params) = split_cookie(raw.value);
        assert_eq!(cookie.len() + params.bytes().len(), raw.value.len());
        if let Some(all) = SetupParams::new(raw.value).read() {
            assert_eq!(all.len() * sf2007::Setup::LEN, raw.value.len());
        }
        for tlv in Params::new(raw.value).iter().flatten() {
            if let Ok(Param::SfCap(cap)) = Param::parse(tlv) {
                assert_eq!(4 * cap.opens().count() + 16, tlv.bytes.len());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn any_value_under_our_types(
        kind in prop_oneof![Just(0x5F_u8), Just(0x9F), Just(0xDF), Just(0), Just(3), Just(10), Just(11)],
        flags: u8,
        wrong_by in prop_oneof![6 => Just(0_i32), 1 => -4..4],
        value in vec(any::<u8>(), 0..80),
    ) {
        let [hi, lo] = ((4 + value.len() as i32 + wrong_by) as u16).to_be_bytes();
        walk(&packet_of(&[&[kind, flags, hi, lo][..], &value].concat()));
    }

    #[test]
    fn acknowledgements_whose_counts_nearly_fit(
        flags in 0..8_u8, gaps in 0..6_u8, duplicates in 0..6_u8, entries in 0..12_usize, thesis: bool,
    ) {
        let fixed = if thesis { 16 } else { 20 };
        let mut value = vec![0x55; fixed + 4 * entries];
        value[fixed - 4..fixed].copy_from_slice(&[0, gaps, 0, duplicates]);
        let length = 4 + value.len() as u8;
        walk(&packet_of(&[&[if thesis { 3 } else { 0x9F }, flags, 0, length][..], &value].concat()));
    }

    #[test]
    fn any_value_under_our_parameters_and_our_cause(
        kind in prop_oneof![
            Just(0xB05F_u16), Just(0x405F), Just(0x4060), Just(0x5F01), Just(0x8002), Just(0x8F01), Just(0x8F02)
        ],
        wrong_by in prop_oneof![6 => Just(0_i32), 1 => -4..4],
        value in vec(any::<u8>(), 0..60),
        chunk in prop_oneof![Just((1_u8, 16_usize)), Just((9, 0)), Just((6, 0)), Just((10, 0)), Just((11, 0))],
    ) {
        let length = (4 + value.len() as i32 + wrong_by) as u16;
        let mut body = vec![0; chunk.1];
        body.extend_from_slice(&kind.to_be_bytes());
        body.extend_from_slice(&length.to_be_bytes());
        body.extend_from_slice(&value);
        let [hi, lo] = (4 + body.len() as u16).to_be_bytes();
        walk(&packet_of(&[&[chunk.0, 0, hi, lo][..], &body].concat()));
    }
}
