//! One line a packet, for people: `5000 > 9 tag=0x0000002a SACK cum=7 a_rwnd=65536 gaps=[2-3 5-5]`.

use core::fmt::{self, Display, Formatter};

use crate::cause::{self, Cause, Causes, SfReason, code};
use crate::chunk::raw::RawChunk;
use crate::chunk::{Chunk, Data, DataFlags, IData, Init, Sack, SfData, SfForward, SfSack, Skipped, kind};
use crate::error::ChunkError;
use crate::extension::{Asconf, AsconfAck, Auth, Correlated, NrSack, PacketDropped, auth};
use crate::header::CommonHeader;
use crate::packet::{Checksum, Packet};
use crate::param::add_streams::AddStreams;
use crate::param::{self, Param, Params, RawParam, SfCap};
use crate::tlv::{Tlvs, U16s};
use crate::unknown::UnknownAction;

impl Display for Packet<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let header = self.header();
        write!(
            f,
            "{} > {} tag={:#010x}",
            header.source_port, header.destination_port, header.verification_tag
        )?;
        for (i, chunk) in self.chunks().enumerate() {
            f.write_str(if i == 0 { " " } else { "; " })?;
            match chunk.and_then(Chunk::parse) {
                Ok(chunk) => chunk.fmt(f)?,
                Err(error) => write!(f, "MALFORMED ({error})")?,
            }
        }
        Ok(())
    }
}

impl Display for Chunk<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Data(chunk) => data(f, chunk),
            Self::Init(chunk) => init(f, "INIT", chunk),
            Self::InitAck(chunk) => init(f, "INIT ACK", chunk),
            Self::Sack(chunk) => sack(f, chunk),
            Self::Heartbeat(chunk) => write!(f, "HEARTBEAT info={}B", chunk.info.info.len()),
            Self::HeartbeatAck(chunk) => write!(f, "HEARTBEAT ACK info={}B", chunk.info.info.len()),
            Self::Abort(chunk) => {
                write!(f, "ABORT{}", t_bit(chunk.reflected_tag))?;
                causes(f, chunk.causes)
            }
            Self::Shutdown(chunk) => write!(f, "SHUTDOWN cum={}", chunk.cumulative),
            Self::ShutdownAck(_) => f.write_str("SHUTDOWN ACK"),
            Self::Error(chunk) => {
                f.write_str("ERROR")?;
                causes(f, chunk.causes)
            }
            Self::CookieEcho(chunk) => write!(f, "COOKIE ECHO cookie={}B", chunk.cookie.len()),
            Self::CookieAck(_) => f.write_str("COOKIE ACK"),
            Self::Ecne(chunk) => write!(f, "ECNE tsn={}", chunk.tsn),
            Self::Cwr(chunk) => write!(f, "CWR tsn={}", chunk.tsn),
            Self::ShutdownComplete(chunk) => write!(f, "SHUTDOWN COMPLETE{}", t_bit(chunk.reflected_tag)),
            Self::IData(chunk) => i_data(f, chunk),
            Self::ReConfig(chunk) => {
                f.write_str("RE-CONFIG")?;
                params(f, chunk.params)
            }
            Self::Pad(chunk) => write!(f, "PAD {}B", chunk.len),
            Self::ForwardTsn(chunk) => {
                write!(f, "FORWARD-TSN cum={}", chunk.cumulative)?;
                list(f, " skipped", chunk.skipped(), |f, one| write!(f, "{}:{}", one.stream, one.ssn))
            }
            Self::IForwardTsn(chunk) => {
                write!(f, "I-FORWARD-TSN cum={}", chunk.cumulative)?;
                list(f, " skipped", chunk.skipped(), skipped)
            }
            Self::SfData(chunk) => sf_data(f, chunk),
            Self::SfSack(chunk) => sf_sack(f, chunk),
            Self::SfForward(chunk) => sf_forward(f, chunk),
            Self::Unknown(raw) => match extension(f, raw)? {
                Ok(()) => Ok(()),
                Err(error) => write!(f, "MALFORMED ({error})"),
            },
        }
    }
}

/// A chunk that the core does not know.
fn extension(f: &mut Formatter<'_>, raw: &RawChunk<'_>) -> Result<Result<(), ChunkError>, fmt::Error> {
    match raw.kind {
        kind::NR_SACK => NrSack::parse(*raw).map(|chunk| nr_sack(f, &chunk)),
        kind::AUTH => Auth::parse(*raw).map(|chunk| {
            write!(f, "AUTH key={} hash={}", chunk.key, chunk.hash)?;
            hash(f, chunk.hash)?;
            write!(f, " hmac={}B", chunk.hmac.len())
        }),
        kind::ASCONF => Asconf::parse(*raw).map(|chunk| {
            write!(f, "ASCONF seq={}", chunk.sequence)?;
            params(f, chunk.params)
        }),
        kind::ASCONF_ACK => AsconfAck::parse(*raw).map(|chunk| {
            write!(f, "ASCONF-ACK seq={}", chunk.sequence)?;
            params(f, chunk.params)
        }),
        kind::PACKET_DROPPED => PacketDropped::parse(*raw).map(|chunk| packet_dropped(f, &chunk)),
        other => {
            let asked = action(raw.unknown_action());
            Ok(write!(f, "CHUNK {other} flags={:#04x} value={}B ({asked})", raw.flags, raw.value.len()))
        }
    }
    .map_or_else(|error| Ok(Err(error)), |written| written.map(Ok))
}

fn nr_sack(f: &mut Formatter<'_>, chunk: &NrSack<'_>) -> fmt::Result {
    write!(f, "NR-SACK cum={} a_rwnd={}", chunk.cumulative, chunk.a_rwnd)?;
    list(f, " gaps", chunk.gaps(), |f, gap| write!(f, "{}-{}", gap.start, gap.end))?;
    list(f, " nr-gaps", chunk.kept(), |f, gap| write!(f, "{}-{}", gap.start, gap.end))?;
    list(f, " dups", chunk.duplicates(), |f, tsn| Display::fmt(&tsn, f))
}

fn packet_dropped(f: &mut Formatter<'_>, chunk: &PacketDropped<'_>) -> fmt::Result {
    let from = if chunk.middle_box { " by a router" } else { " by the peer" };
    let why = if chunk.bad_checksum { " for its checksum" } else { "" };
    write!(f, "PKTDROP{from}{why} bandwidth={} queue={}", chunk.bandwidth, chunk.queue)?;
    if let Some(length) = chunk.truncated {
        write!(f, " truncated from {length}B")?;
    }
    let Ok(packet) = Packet::parse(chunk.packet, Checksum::Ignore) else {
        return write!(f, " packet={}B", chunk.packet.len());
    };
    let header = packet.header();
    write!(
        f,
        " packet=[{} > {} tag={:#010x}",
        header.source_port, header.destination_port, header.verification_tag
    )?;
    // Only names: a chunk inside may be another report of this kind, and so on. A chunk that was truncated has its name as well.
    let mut rest = chunk.packet.get(CommonHeader::LEN..).unwrap_or_default();
    while let &[kind, _, hi, lo, ..] = rest {
        match kind::name(kind) {
            Some(name) => write!(f, " {name}")?,
            None => write!(f, " CHUNK {kind}")?,
        }
        let length = usize::from(u16::from_be_bytes([hi, lo])).max(RawChunk::HEADER);
        rest = rest.get(crate::padding::padded(length)..).unwrap_or_default();
    }
    f.write_str("]")
}

/// The name of a hash in brackets, if it has one.
fn hash(f: &mut Formatter<'_>, identifier: u16) -> fmt::Result {
    match auth::hash_name(identifier) {
        Some(name) => write!(f, "({name})"),
        None => Ok(()),
    }
}

/// A parameter that the core does not know.
fn other_param(f: &mut Formatter<'_>, raw: &RawParam<'_>) -> fmt::Result {
    let name = match raw.kind {
        param::kind::RANDOM => return write!(f, "random={}B", raw.value.len()),
        param::kind::CHUNK_LIST => {
            return list(f, "authenticate", raw.value.iter(), |f, &kind| match kind::name(kind) {
                Some(name) => f.write_str(name),
                None => Display::fmt(&kind, f),
            });
        }
        param::kind::HMAC_ALGORITHMS => {
            return list(f, "hashes", U16s::new(raw.value), |f, identifier| {
                write!(f, "{identifier}")?;
                hash(f, identifier)
            });
        }
        param::kind::PADDING => return write!(f, "padding={}B", raw.value.len()),
        param::kind::ADD_IP_ADDRESS => "add-address",
        param::kind::DELETE_IP_ADDRESS => "delete-address",
        param::kind::SET_PRIMARY_ADDRESS => "set-primary",
        param::kind::ERROR_CAUSE_INDICATION => "refused",
        param::kind::SUCCESS_INDICATION => "done",
        _ => {
            let asked = action(raw.unknown_action());
            return write!(f, "{:#06x}={}B ({asked})", raw.kind, raw.value.len());
        }
    };
    let param = match Correlated::parse(*raw) {
        Ok(param) => param,
        Err(error) => return write!(f, "MALFORMED ({error})"),
    };
    write!(f, "{name} id={}", param.correlation)?;
    if raw.kind == param::kind::ERROR_CAUSE_INDICATION {
        return causes(f, Causes::new(param.rest));
    }
    // An address and nothing else: deeper nesting is not read.
    match Params::new(param.rest).iter().next() {
        Some(Ok(inner)) => match Param::parse(inner) {
            Ok(Param::Ipv4Address(inner)) => write!(f, " {}", inner.address),
            Ok(Param::Ipv6Address(inner)) => write!(f, " {}", inner.address),
            _ => write!(f, " {:#06x}={}B", inner.kind, inner.value.len()),
        },
        Some(Err(error)) => write!(f, " MALFORMED ({error})"),
        None => Ok(()),
    }
}

fn data(f: &mut Formatter<'_>, chunk: &Data<'_>) -> fmt::Result {
    write!(
        f,
        "DATA {} tsn={} stream={} ssn={} ppid={} len={}",
        letters(chunk.flags),
        chunk.tsn,
        chunk.stream,
        chunk.ssn,
        chunk.ppid,
        chunk.payload.len()
    )
}

/// I, U, B and E as far as they are set, in this order.
pub(crate) const fn letters(flags: DataFlags) -> &'static str {
    const ALL: [&str; 16] =
        ["", "E", "B", "BE", "U", "UE", "UB", "UBE", "I", "IE", "IB", "IBE", "IU", "IUE", "IUB", "IUBE"];
    ALL[(flags.bits() & 15) as usize]
}

fn i_data(f: &mut Formatter<'_>, chunk: &IData<'_>) -> fmt::Result {
    write!(f, "I-DATA {} tsn={} stream={} mid={}", letters(chunk.flags), chunk.tsn, chunk.stream, chunk.mid)?;
    match chunk.ppid() {
        Some(ppid) => write!(f, " ppid={ppid}")?,
        None => write!(f, " fsn={}", chunk.fragment())?,
    }
    write!(f, " len={}", chunk.payload.len())
}

fn sf_data(f: &mut Formatter<'_>, chunk: &SfData<'_>) -> fmt::Result {
    write!(
        f,
        "SF-DATA {} fid={} epoch={} stsn={} stream={} mid={}",
        letters(chunk.flags),
        chunk.fid,
        chunk.epoch,
        chunk.stsn,
        chunk.stream,
        chunk.mid
    )?;
    match chunk.ppid() {
        Some(ppid) => write!(f, " ppid={ppid}")?,
        None => write!(f, " fsn={}", chunk.fragment())?,
    }
    write!(f, " len={}", chunk.payload.len())
}

fn sf_sack(f: &mut Formatter<'_>, chunk: &SfSack<'_>) -> fmt::Result {
    let head = &chunk.head;
    write!(
        f,
        "SF-SACK{} fid={} epoch={} cum={} a_rwnd={} a_fwnd={}",
        if head.non_renegable { " N" } else { "" },
        head.fid,
        head.epoch,
        head.cumulative,
        head.a_rwnd,
        head.a_fwnd
    )?;
    list(f, " gaps", chunk.gaps(), |f, gap| write!(f, "{}-{}", gap.start, gap.end))?;
    list(f, " dups", chunk.duplicates(), |f, stsn| Display::fmt(&stsn, f))?;
    if let Some(times) = chunk.times() {
        write!(f, " received={}us delay={}us", times.received_us, times.ack_delay_us)?;
    }
    if let Some(counters) = chunk.counters() {
        write!(f, " ect0={} ect1={} ce={}", counters.ect0, counters.ect1, counters.ce)?;
    }
    Ok(())
}

fn sf_forward(f: &mut Formatter<'_>, chunk: &SfForward<'_>) -> fmt::Result {
    write!(f, "SF-FORWARD fid={} epoch={} cum={}", chunk.fid, chunk.epoch, chunk.cumulative)?;
    list(f, " skipped", chunk.skipped(), skipped)
}

fn skipped(f: &mut Formatter<'_>, one: Skipped) -> fmt::Result {
    write!(f, "{}:{}{}", one.stream, one.mid, if one.unordered { "U" } else { "" })
}

fn add_streams(f: &mut Formatter<'_>, name: &str, param: &AddStreams) -> fmt::Result {
    write!(f, "{name} req={} count={}", param.request, param.count)
}

fn sf_cap(f: &mut Formatter<'_>, param: &SfCap<'_>) -> fmt::Result {
    let head = &param.head;
    let flag = |set, letter| if set { letter } else { "" };
    write!(
        f,
        "sf-cap v{} of={} mif={} credit={} floor={}",
        head.version, head.outbound, head.max_inbound, head.credit, head.floor
    )?;
    if head.flags.bits() != 0 {
        write!(
            f,
            " {}{}{}{}",
            flag(head.flags.timestamps, "T"),
            flag(head.flags.ecn_counters, "C"),
            flag(head.flags.windows_enforced, "W"),
            flag(head.flags.authenticated, "A")
        )?;
    }
    list(f, " open", param.opens(), |f, open| {
        write!(f, "{}:dscp={}:weight={}", open.fid, open.dscp, open.weight)
    })
}

const fn sf_reason(reason: SfReason) -> &'static str {
    match reason {
        SfReason::UnknownSubflow => "unknown subflow",
        SfReason::NeverSent => "never sent",
        SfReason::CreditExceeded => "credit exceeded",
        SfReason::MessageSplit => "message split",
        SfReason::BadRequest => "bad request",
        SfReason::BadMessage => "bad message",
        SfReason::Other(_) => "other",
    }
}

fn init(f: &mut Formatter<'_>, name: &str, chunk: &Init<'_>) -> fmt::Result {
    write!(
        f,
        "{name} tag={:#010x} a_rwnd={} os={} is={} tsn={}",
        chunk.initiate_tag, chunk.a_rwnd, chunk.outbound_streams, chunk.inbound_streams, chunk.initial_tsn
    )?;
    params(f, chunk.params)
}

fn sack(f: &mut Formatter<'_>, chunk: &Sack<'_>) -> fmt::Result {
    write!(f, "SACK cum={} a_rwnd={}", chunk.cumulative, chunk.a_rwnd)?;
    let gaps = if chunk.selected { " selected gaps" } else { " gaps" };
    list(f, gaps, chunk.gaps(), |f, gap| write!(f, "{}-{}", gap.start, gap.end))?;
    list(f, " dups", chunk.duplicates(), |f, tsn| Display::fmt(&tsn, f))
}

const fn t_bit(set: bool) -> &'static str {
    if set { " T" } else { "" }
}

const fn action(action: UnknownAction) -> &'static str {
    match action {
        UnknownAction::Stop => "unknown: a receiver discards it and all behind it",
        UnknownAction::StopReport => "unknown: a receiver discards it and all behind it, and reports it",
        UnknownAction::Skip => "unknown: a receiver skips it",
        UnknownAction::SkipReport => "unknown: a receiver skips it and reports it",
    }
}

/// `name=[a b c]`, or nothing if there is nothing.
fn list<T>(
    f: &mut Formatter<'_>,
    name: &str,
    items: impl Iterator<Item = T>,
    mut show: impl FnMut(&mut Formatter<'_>, T) -> fmt::Result,
) -> fmt::Result {
    let mut items = items.peekable();
    if items.peek().is_none() {
        return Ok(());
    }
    write!(f, "{name}=[")?;
    for (i, item) in items.enumerate() {
        f.write_str(if i == 0 { "" } else { " " })?;
        show(f, item)?;
    }
    f.write_str("]")
}

fn params(f: &mut Formatter<'_>, params: Params<'_>) -> fmt::Result {
    tlvs(f, "params", params.iter(), |f, raw| match Param::parse(raw) {
        Ok(param) => param.fmt(f),
        Err(error) => write!(f, "MALFORMED ({error})"),
    })
}

fn causes(f: &mut Formatter<'_>, causes: Causes<'_>) -> fmt::Result {
    tlvs(f, "causes", causes.iter(), |f, raw| match Cause::parse(raw) {
        Ok(cause) => cause.fmt(f),
        Err(error) => write!(f, "MALFORMED ({error})"),
    })
}

fn tlvs<'a>(
    f: &mut Formatter<'_>,
    name: &str,
    items: Tlvs<'a>,
    mut show: impl FnMut(&mut Formatter<'_>, crate::tlv::RawTlv<'a>) -> fmt::Result,
) -> fmt::Result {
    for (i, item) in items.enumerate() {
        if i == 0 {
            write!(f, " {name}: ")?;
        } else {
            f.write_str(", ")?;
        }
        match item {
            Ok(raw) => show(f, raw)?,
            Err(error) => write!(f, "MALFORMED ({error})")?,
        }
    }
    Ok(())
}

impl Display for Param<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::HeartbeatInfo(param) => write!(f, "heartbeat-info={}B", param.info.len()),
            Self::Ipv4Address(param) => write!(f, "ipv4={}", param.address),
            Self::Ipv6Address(param) => write!(f, "ipv6={}", param.address),
            Self::StateCookie(param) => write!(f, "cookie={}B", param.cookie.len()),
            Self::Unrecognized(param) => write!(f, "unrecognized={}B", param.parameter.len()),
            Self::CookiePreservative(param) => write!(f, "cookie-preservative={}ms", param.increment_ms),
            Self::HostName(param) => write!(f, "host-name=\"{}\"", param.name.escape_ascii()),
            Self::SupportedAddressTypes(param) => {
                list(f, "address-types", param.types(), |f, kind| kind.fmt(f))
            }
            Self::OutgoingReset(param) => {
                write!(
                    f,
                    "outgoing-reset req={} resp={} last={}",
                    param.request, param.response, param.last_tsn
                )?;
                list(f, " streams", param.streams(), |f, stream| stream.fmt(f))
            }
            Self::IncomingReset(param) => {
                write!(f, "incoming-reset req={}", param.request)?;
                list(f, " streams", param.streams(), |f, stream| stream.fmt(f))
            }
            Self::AssociationReset(param) => write!(f, "ssn-tsn-reset req={}", param.request),
            Self::AddOutgoingStreams(param) => add_streams(f, "add-outgoing", param),
            Self::AddIncomingStreams(param) => add_streams(f, "add-incoming", param),
            Self::ReconfigResponse(param) => {
                write!(f, "reconfig-response req={} result={}", param.request, param.result)?;
                match param.next_tsns {
                    Some((sender, receiver)) => write!(f, " next={sender}/{receiver}"),
                    None => Ok(()),
                }
            }
            Self::EcnCapable(_) => f.write_str("ecn-capable"),
            Self::SelectedGapBlocks(_) => f.write_str("selected-gap-blocks"),
            Self::SupportedExtensions(param) => {
                list(f, "extensions", param.chunk_types.iter(), |f, kind| kind.fmt(f))
            }
            Self::ForwardTsnSupported(_) => f.write_str("forward-tsn"),
            Self::ZeroChecksumAcceptable(param) => write!(f, "zero-checksum={}", param.method),
            Self::AdaptationIndication(param) => write!(f, "adaptation={}", param.code_point),
            Self::SfCap(param) => sf_cap(f, param),
            Self::SfAdd(param) => write!(
                f,
                "sf-add req={} fid={} epoch={} dscp={} weight={} stsn={} a_fwnd={}",
                param.request,
                param.fid,
                param.epoch,
                param.dscp,
                param.weight,
                param.initial_stsn,
                param.a_fwnd
            ),
            Self::SfDel(param) => write!(
                f,
                "sf-del req={} fid={} epoch={} last={}",
                param.request, param.fid, param.epoch, param.last_stsn
            ),
            Self::Unknown(raw) => other_param(f, raw),
        }
    }
}

impl Display for Cause<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidStream(cause) => write!(f, "invalid stream {}", cause.stream),
            Self::MissingParameters(cause) => {
                list(f, "missing parameters", cause.types(), |f, kind| kind.fmt(f))
            }
            Self::StaleCookie(cause) => write!(f, "stale cookie by {}us", cause.staleness_us),
            Self::OutOfResource(_) => f.write_str("out of resource"),
            Self::UnresolvableAddress(cause) => write!(f, "unresolvable address {}B", cause.parameter.len()),
            Self::UnrecognizedChunk(cause) => write!(f, "unrecognized chunk {}B", cause.chunk.len()),
            Self::InvalidMandatoryParameter(_) => f.write_str("invalid mandatory parameter"),
            Self::UnrecognizedParameters(cause) => {
                write!(f, "unrecognized parameters {}B", cause.parameters.bytes().len())
            }
            Self::NoUserData(cause) => write!(f, "no user data tsn={}", cause.tsn),
            Self::CookieWhileShuttingDown(_) => f.write_str("cookie while shutting down"),
            Self::RestartWithNewAddresses(cause) => {
                write!(f, "restart with new addresses {}B", cause.addresses.bytes().len())
            }
            Self::UserInitiatedAbort(cause) => write!(f, "user abort \"{}\"", cause.reason.escape_ascii()),
            Self::ProtocolViolation(cause) => {
                write!(f, "protocol violation \"{}\"", cause.information.escape_ascii())
            }
            Self::RestartWithNewPort(cause) => {
                write!(f, "restart with new encapsulation port {} (now {})", cause.new, cause.current)
            }
            Self::SfViolation(cause) => write!(
                f,
                "sf violation fid={} epoch={}: {} ({}) \"{}\"",
                cause.fid,
                cause.epoch,
                sf_reason(cause.reason),
                cause.reason.code(),
                cause.information.escape_ascii()
            ),
            Self::Unknown(raw) => match (raw.kind, raw.value) {
                (code::UNSUPPORTED_HMAC, &[hi, lo]) => {
                    let identifier = u16::from_be_bytes([hi, lo]);
                    write!(f, "unsupported HMAC identifier {identifier}")?;
                    hash(f, identifier)
                }
                (code, value) => match cause::name(code) {
                    Some(name) => write!(f, "{} {}B", name.to_lowercase(), value.len()),
                    None => write!(f, "cause {code} {}B", value.len()),
                },
            },
        }
    }
}

#[cfg(test)]
mod tests;
