//! Every chunk, parameter and cause that is written is read as the same, and written again as the same bytes.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::net::{Ipv4Addr, Ipv6Addr};

use anabranch_wire::cause::{self, Cause, Causes};
use anabranch_wire::chunk::{self, Chunk, Data, DataFlags, GapBlock, Heartbeat, Init, InitKind, Sack};
use anabranch_wire::param::{self, Param, Params};
use anabranch_wire::{Checksum, ChecksumOut, CommonHeader, Mid, Packet, PacketBuilder, RawChunk, Ssn, Tsn};
use proptest::collection::vec;
use proptest::prelude::*;

/// Writes the chunk into a packet, reads it, and writes what was read.
fn chunk_round_trip(chunk: &Chunk<'_>) {
    through_a_packet(
        |out| chunk.emit(out),
        |raw, read| {
            assert_eq!(read, *chunk);
            assert_eq!(raw.bytes.len().next_multiple_of(4) % 4, 0);
        },
    );
}

fn through_a_packet(emit: impl Fn(&mut Vec<u8>), check: impl Fn(RawChunk<'_>, Chunk<'_>)) {
    let header = CommonHeader { source_port: 65_535, destination_port: 1, verification_tag: u32::MAX };
    let mut buffer = vec![0; 3];
    let mut builder = PacketBuilder::new(&mut buffer, header);
    emit(builder.buffer());
    let len = builder.finish(ChecksumOut::Compute);
    assert_eq!((len % 4, len + 3), (0, buffer.len()));

    let packet = Packet::parse(&buffer[3..], Checksum::Verify).unwrap();
    assert_eq!(packet.header(), header);
    let raws: Vec<RawChunk<'_>> = packet.chunks().map(Result::unwrap).collect();
    let [raw] = raws[..] else { panic!("{} chunks", raws.len()) };
    let padding = &packet.bytes()[CommonHeader::LEN + raw.bytes.len()..];
    assert!(padding.len() < 4 && padding.iter().all(|&byte| byte == 0));
    let read = Chunk::parse(raw).unwrap();
    check(raw, read);

    let mut again = Vec::new();
    read.emit(&mut again);
    assert_eq!(again, packet.bytes()[CommonHeader::LEN..]);
}

/// Writes the parameter alone and last of two in an INIT; both times it is read as it was.
fn param_round_trip(param: &Param<'_>) {
    let mut alone = Vec::new();
    param.emit(&mut alone);
    assert_eq!(alone.len() % 4, 0);
    assert_eq!(Param::parse(Params::new(&alone).iter().next().unwrap().unwrap()).as_ref(), Ok(param));

    let init = Init {
        initiate_tag: 1,
        a_rwnd: 2,
        outbound_streams: 3,
        inbound_streams: 4,
        initial_tsn: Tsn::new(5),
        params: Params::EMPTY,
    };
    let emit = |out: &mut Vec<u8>| {
        chunk::init::emit(out, InitKind::InitAck, &init, |params| {
            params.add(param);
            params.add(param);
        });
    };
    through_a_packet(emit, |_, read| {
        let Chunk::InitAck(init) = read else { panic!("not an INIT ACK") };
        let read: Vec<Param<'_>> =
            init.params.iter().map(|raw| Param::parse(raw.unwrap()).unwrap()).collect();
        assert_eq!(read, [*param, *param]);
    });
}

/// Writes the cause alone, last of two in an ERROR, and last of two in an ABORT; each time it is read as it was.
fn cause_round_trip(cause: &Cause<'_>) {
    let mut alone = Vec::new();
    cause.emit(&mut alone);
    assert_eq!(alone.len() % 4, 0);
    assert_eq!(Cause::parse(Causes::new(&alone).iter().next().unwrap().unwrap()).as_ref(), Ok(cause));

    let same = |causes: Causes<'_>| {
        let read: Vec<Cause<'_>> = causes.iter().map(|raw| Cause::parse(raw.unwrap()).unwrap()).collect();
        assert_eq!(read, [*cause, *cause]);
    };
    let error = chunk::ErrorChunk { causes: Causes::EMPTY };
    let abort = chunk::Abort { reflected_tag: true, causes: Causes::EMPTY };
    let twice = |causes: &mut cause::CauseWriter<'_>| {
        causes.add(cause);
        causes.add(cause);
    };
    through_a_packet(
        |out| error.emit_with(out, twice),
        |_, read| match read {
            Chunk::Error(error) => same(error.causes),
            other => panic!("not an ERROR: {other}"),
        },
    );
    through_a_packet(
        |out| abort.emit_with(out, twice),
        |_, read| match read {
            Chunk::Abort(abort) => same(abort.causes),
            other => panic!("not an ABORT: {other}"),
        },
    );
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..70)
}

/// A chunk type that nobody knows.
fn unknown_kind() -> impl Strategy<Value = u8> {
    (15..=255_u8).prop_filter("a type that is known", |kind| {
        !matches!(kind, 0x40 | 0x5F | 0x82 | 0x84 | 0x9F | 0xC0 | 0xC2 | 0xDF)
    })
}

/// Parameters or causes in a row, the last one padded or not.
fn region() -> impl Strategy<Value = Vec<u8>> {
    let one = (any::<u16>(), vec(any::<u8>(), 0..20));
    (vec(one, 0..5), any::<bool>()).prop_map(|(tlvs, padded)| {
        let mut region = Vec::new();
        let mut unpadded = 0;
        for (kind, value) in tlvs {
            region.extend_from_slice(&kind.to_be_bytes());
            region.extend_from_slice(&(4 + value.len() as u16).to_be_bytes());
            region.extend_from_slice(&value);
            unpadded = region.len();
            region.resize(unpadded.next_multiple_of(4), 0);
        }
        if !padded {
            region.truncate(unpadded);
        }
        region
    })
}

proptest! {
    #[test]
    fn data(
        flags in 0..16_u8, tsn: u32, stream: u16, ssn: u16, ppid: u32, payload in vec(any::<u8>(), 0..1500),
    ) {
        let data = Data {
            flags: DataFlags::from_bits(flags),
            tsn: Tsn::new(tsn),
            stream,
            ssn: Ssn::new(ssn),
            ppid,
            payload: &payload,
        };
        let mut out = Vec::new();
        data.emit(&mut out);
        prop_assert_eq!(out.len(), Data::wire_len(payload.len()));
        chunk_round_trip(&Chunk::Data(data));
    }

    #[test]
    fn i_data(
        flags in 0..16_u8, tsn: u32, stream: u16, mid: u32, ppid_or_fsn: u32, payload in vec(any::<u8>(), 0..1500),
    ) {
        let data = chunk::IData {
            flags: DataFlags::from_bits(flags),
            tsn: Tsn::new(tsn),
            stream,
            mid: Mid::new(mid),
            ppid_or_fsn,
            payload: &payload,
        };
        let mut out = Vec::new();
        data.emit(&mut out);
        prop_assert_eq!(out.len(), chunk::IData::wire_len(payload.len()));
        chunk_round_trip(&Chunk::IData(data));
    }

    #[test]
    fn re_config(request: u32, result: u32, next: Option<(u32, u32)>, region in region()) {
        let next_tsns = next.map(|(a, b)| (Tsn::new(a), Tsn::new(b)));
        param_round_trip(&Param::ReconfigResponse(param::ReconfigResponse { request, result, next_tsns }));
        let params = Params::new(&region);
        through_a_packet(|out| chunk::ReConfig { params }.emit(out), |_, read| {
            let Chunk::ReConfig(read) = read else { panic!("not a RE-CONFIG") };
            assert!(read.params.iter().eq(params.iter()));
        });
    }

    #[test]
    fn requests(numbers: (u32, u32, u32), count: u16, streams in vec(any::<u16>(), 0..40)) {
        let (request, response, last) = numbers;
        let mut out = Vec::new();
        let kinds = [param::kind::OUTGOING_RESET, param::kind::INCOMING_RESET];
        let values = [
            param::outgoing_reset::value(request, response, Tsn::new(last), &streams),
            param::incoming_reset::value(request, &streams),
        ];
        for (kind, value) in kinds.iter().zip(&values) {
            out.extend_from_slice(&kind.to_be_bytes());
            out.extend_from_slice(&(4 + value.len() as u16).to_be_bytes());
            out.extend_from_slice(value);
            out.resize(out.len().next_multiple_of(4), 0);
        }
        let read: Vec<Param<'_>> =
            Params::new(&out).iter().map(|raw| Param::parse(raw.unwrap()).unwrap()).collect();
        let [Param::OutgoingReset(outgoing), Param::IncomingReset(incoming)] = read[..] else { panic!("{read:?}") };
        assert_eq!((outgoing.request, outgoing.response, outgoing.last_tsn), (request, response, Tsn::new(last)));
        assert_eq!(incoming.request, request);
        assert!(outgoing.streams().eq(streams.iter().copied()) && incoming.streams().eq(streams.iter().copied()));
        for param in read {
            param_round_trip(&param);
        }
        let add = param::AddStreams { request, count };
        param_round_trip(&Param::AddOutgoingStreams(add));
        param_round_trip(&Param::AddIncomingStreams(add));
        param_round_trip(&Param::AssociationReset(param::AssociationReset { request }));
    }

    #[test]
    fn forward_tsn(tsn: u32, skipped in vec(any::<(u16, bool, u32)>(), 0..40)) {
        let tsn = Tsn::new(tsn);
        let ordered: Vec<chunk::SkippedSsn> =
            skipped.iter().map(|&(stream, _, n)| chunk::SkippedSsn { stream, ssn: Ssn::new(n as u16) }).collect();
        let any: Vec<chunk::Skipped> = skipped
            .iter()
            .map(|&(stream, unordered, n)| chunk::Skipped { stream, unordered, mid: Mid::new(n) })
            .collect();
        through_a_packet(|out| chunk::forward_tsn::emit(out, tsn, &ordered), |_, read| {
            let Chunk::ForwardTsn(read) = read else { panic!("not a FORWARD-TSN") };
            assert!(read.cumulative == tsn && read.skipped().eq(ordered.iter().copied()));
        });
        through_a_packet(|out| chunk::i_forward_tsn::emit(out, tsn, &any), |_, read| {
            let Chunk::IForwardTsn(read) = read else { panic!("not an I-FORWARD-TSN") };
            assert!(read.cumulative == tsn && read.skipped().eq(any.iter().copied()));
        });
    }

    #[test]
    fn sack(
        cumulative: u32,
        a_rwnd: u32,
        gaps in vec(any::<(u16, u16)>(), 0..40),
        duplicates in vec(any::<u32>(), 0..40),
    ) {
        let gaps: Vec<GapBlock> = gaps.iter().map(|&(start, end)| GapBlock { start, end }).collect();
        let duplicates: Vec<Tsn> = duplicates.iter().map(|&tsn| Tsn::new(tsn)).collect();
        let emit = |out: &mut Vec<u8>| chunk::sack::emit(out, Tsn::new(cumulative), a_rwnd, &gaps, &duplicates);
        through_a_packet(emit, |raw, read| {
            let Chunk::Sack(sack) = read else { panic!("not a SACK") };
            assert_eq!((sack.cumulative, sack.a_rwnd), (Tsn::new(cumulative), a_rwnd));
            assert_eq!((sack.gap_count(), sack.gaps().len()), (gaps.len(), gaps.len()));
            assert_eq!((sack.duplicate_count(), sack.duplicates().len()), (duplicates.len(), duplicates.len()));
            assert!(sack.gaps().eq(gaps.iter().copied()) && sack.duplicates().eq(duplicates.iter().copied()));
            assert_eq!(raw.bytes.len(), chunk::sack::wire_len(gaps.len(), duplicates.len()));
            assert_eq!(Sack::parse(raw), Ok(sack));
        });
    }

    #[test]
    fn init(
        initiate_tag: u32, a_rwnd: u32, outbound_streams: u16, inbound_streams: u16, tsn: u32, region in region(),
    ) {
        let params = Params::new(&region);
        let init = Init { initiate_tag, a_rwnd, outbound_streams, inbound_streams, initial_tsn: Tsn::new(tsn), params };
        for which in [InitKind::Init, InitKind::InitAck] {
            through_a_packet(|out| init.emit(which, out), |raw, read| {
                let (Chunk::Init(read) | Chunk::InitAck(read)) = read else { panic!("not an INIT") };
                assert_eq!(raw.kind, if which == InitKind::Init { 1 } else { 2 });
                assert!(read.params.iter().eq(init.params.iter()));
                assert_eq!(Init { params, ..read }, init);
            });
        }
    }

    #[test]
    fn abort_and_error(region in region(), reflected_tag: bool) {
        let causes = Causes::new(&region);
        through_a_packet(|out| chunk::Abort { reflected_tag, causes }.emit(out), |_, read| {
            let Chunk::Abort(read) = read else { panic!("not an ABORT") };
            assert_eq!(read.reflected_tag, reflected_tag);
            assert!(read.causes.iter().eq(causes.iter()));
        });
        through_a_packet(|out| chunk::ErrorChunk { causes }.emit(out), |_, read| {
            let Chunk::Error(read) = read else { panic!("not an ERROR") };
            assert!(read.causes.iter().eq(causes.iter()));
        });
    }

    #[test]
    fn other_chunks(value in bytes(), tsn: u32, reflected_tag: bool, kind in unknown_kind(), flags: u8) {
        let heartbeat = Heartbeat { info: param::HeartbeatInfo { info: &value } };
        let tsn = Tsn::new(tsn);
        for chunk in [
            Chunk::Heartbeat(heartbeat),
            Chunk::HeartbeatAck(heartbeat),
            Chunk::Shutdown(chunk::Shutdown { cumulative: tsn }),
            Chunk::ShutdownAck(chunk::ShutdownAck),
            Chunk::CookieEcho(chunk::CookieEcho { cookie: &value }),
            Chunk::CookieAck(chunk::CookieAck),
            Chunk::Pad(chunk::Pad { len: value.len() as u16 }),
            Chunk::Ecne(chunk::Ecne { tsn, rest: &value }),
            Chunk::Cwr(chunk::Cwr { tsn, rest: &value }),
            Chunk::ShutdownComplete(chunk::ShutdownComplete { reflected_tag }),
        ] {
            chunk_round_trip(&chunk);
        }
        through_a_packet(
            |out| {
                let [hi, lo] = (4 + value.len() as u16).to_be_bytes();
                out.extend_from_slice(&[kind, flags, hi, lo]);
                out.extend_from_slice(&value);
                out.extend_from_slice(&[0; 3][..value.len().next_multiple_of(4) - value.len()]);
            },
            |raw, read| assert_eq!(read, Chunk::Unknown(raw)),
        );
    }

    #[test]
    fn params(value in bytes(), number: u32, v4: u32, v6: u128, kind in 0x0100..0x4000_u16) {
        let types = param::SupportedAddressTypes::parse;
        let mut written = Vec::new();
        written.extend_from_slice(&[0, 12, 0, 4 + (value.len() / 2 * 2) as u8]);
        written.extend_from_slice(&value[..value.len() / 2 * 2]);
        let supported = types(Params::new(&written).iter().next().unwrap().unwrap()).unwrap();
        let mut unknown = [kind.to_be_bytes(), (4 + value.len() as u16).to_be_bytes()].concat();
        unknown.extend_from_slice(&value);
        for param in [
            Param::HeartbeatInfo(param::HeartbeatInfo { info: &value }),
            Param::Ipv4Address(param::Ipv4Address { address: Ipv4Addr::from(v4) }),
            Param::Ipv6Address(param::Ipv6Address { address: Ipv6Addr::from(v6) }),
            Param::StateCookie(param::StateCookie { cookie: &value }),
            Param::Unrecognized(param::UnrecognizedParameter { parameter: &value }),
            Param::CookiePreservative(param::CookiePreservative { increment_ms: number }),
            Param::HostName(param::HostName { name: &value }),
            Param::SupportedAddressTypes(supported),
            Param::EcnCapable(param::EcnCapable),
            Param::SupportedExtensions(param::SupportedExtensions { chunk_types: &value }),
            Param::ForwardTsnSupported(param::ForwardTsnSupported),
            Param::ZeroChecksumAcceptable(param::ZeroChecksumAcceptable { method: number }),
            Param::AdaptationIndication(param::AdaptationIndication { code_point: number }),
            Param::Unknown(Params::new(&unknown).iter().next().unwrap().unwrap()),
        ] {
            param_round_trip(&param);
        }
    }

    #[test]
    fn causes(value in bytes(), region in region(), number: u32, stream: u16, code in 15..0x5F01_u16) {
        let mut missing = vec![0, 2, 0, 8 + (value.len() / 2 * 2) as u8, 0, 0, 0, (value.len() / 2) as u8];
        missing.extend_from_slice(&value[..value.len() / 2 * 2]);
        let missing = cause::MissingParameters::parse(Causes::new(&missing).iter().next().unwrap().unwrap()).unwrap();
        let mut unknown = [code.to_be_bytes(), (4 + value.len() as u16).to_be_bytes()].concat();
        unknown.extend_from_slice(&value);
        let params = Params::new(&region);
        for cause in [
            Cause::InvalidStream(cause::InvalidStream { stream }),
            Cause::MissingParameters(missing),
            Cause::StaleCookie(cause::StaleCookie { staleness_us: number }),
            Cause::OutOfResource(cause::OutOfResource),
            Cause::UnresolvableAddress(cause::UnresolvableAddress { parameter: &value }),
            Cause::UnrecognizedChunk(cause::UnrecognizedChunk { chunk: &value }),
            Cause::InvalidMandatoryParameter(cause::InvalidMandatoryParameter),
            Cause::UnrecognizedParameters(cause::UnrecognizedParameters { parameters: params }),
            Cause::NoUserData(cause::NoUserData { tsn: Tsn::new(number) }),
            Cause::CookieWhileShuttingDown(cause::CookieWhileShuttingDown),
            Cause::RestartWithNewAddresses(cause::RestartWithNewAddresses { addresses: params }),
            Cause::UserInitiatedAbort(cause::UserInitiatedAbort { reason: &value }),
            Cause::ProtocolViolation(cause::ProtocolViolation { information: &value }),
            Cause::RestartWithNewPort(cause::RestartWithNewPort { current: stream, new: !stream }),
            Cause::Unknown(Causes::new(&unknown).iter().next().unwrap().unwrap()),
        ] {
            cause_round_trip(&cause);
        }
    }
}
