//! One line a packet, for people: `5000 > 9 tag=0x0000002a SACK cum=7 a_rwnd=65536 gaps=[2-3 5-5]`.

use core::fmt::{self, Display, Formatter};

use crate::cause::{Cause, Causes};
use crate::chunk::{Chunk, Data, Init, Sack};
use crate::packet::Packet;
use crate::param::{Param, Params};
use crate::tlv::Tlvs;
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
            Self::Unknown(raw) => {
                let asked = action(raw.unknown_action());
                write!(f, "CHUNK {} flags={:#04x} value={}B ({asked})", raw.kind, raw.flags, raw.value.len())
            }
        }
    }
}

fn data(f: &mut Formatter<'_>, chunk: &Data<'_>) -> fmt::Result {
    let flag = |set, letter| if set { letter } else { "" };
    write!(
        f,
        "DATA {}{}{}{} tsn={} stream={} ssn={} ppid={} len={}",
        flag(chunk.flags.immediate, "I"),
        flag(chunk.flags.unordered, "U"),
        flag(chunk.flags.beginning, "B"),
        flag(chunk.flags.ending, "E"),
        chunk.tsn,
        chunk.stream,
        chunk.ssn,
        chunk.ppid,
        chunk.payload.len()
    )
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
    list(f, " gaps", chunk.gaps(), |f, gap| write!(f, "{}-{}", gap.start, gap.end))?;
    list(f, " dups", chunk.duplicates(), |f, tsn| Display::fmt(&tsn, f))
}

const fn t_bit(set: bool) -> &'static str {
    if set { " T" } else { "" }
}

const fn action(action: UnknownAction) -> &'static str {
    match action {
        UnknownAction::Stop => "unknown: stop",
        UnknownAction::StopReport => "unknown: stop and report",
        UnknownAction::Skip => "unknown: skip",
        UnknownAction::SkipReport => "unknown: skip and report",
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
            Self::EcnCapable(_) => f.write_str("ecn-capable"),
            Self::SupportedExtensions(param) => {
                list(f, "extensions", param.chunk_types.iter(), |f, kind| kind.fmt(f))
            }
            Self::ForwardTsnSupported(_) => f.write_str("forward-tsn"),
            Self::Unknown(raw) => write!(f, "{:#06x}={}B", raw.kind, raw.value.len()),
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
            Self::Unknown(raw) => write!(f, "cause {} {}B", raw.kind, raw.value.len()),
        }
    }
}

#[cfg(test)]
mod tests;
