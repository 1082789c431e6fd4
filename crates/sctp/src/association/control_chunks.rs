//! Control chunks on their way out: those that leave in a packet, and their order.

use anabranch_base::cold_path;
use anabranch_wire::chunk::{
    CookieAck, CookieEcho, Heartbeat, HeartbeatKind, Pad, Shutdown, ShutdownAck, ShutdownComplete, heartbeat,
};
use anabranch_wire::param::{HeartbeatInfo, SupportedAddressTypes};
use anabranch_wire::sf2007::Setup;
use anabranch_wire::{CommonHeader, PacketBuilder};

use super::handshake::Handshake;
use super::init::OurInit;
use super::phase::Phase;
use crate::causes;
use crate::context::Context;
use crate::control::{Control, Kind, Next};
use crate::encoding::Encoding;
use crate::ids::{PathId, any_of};
use crate::negotiation::offer::Offer;
use crate::path::Path;
use crate::reconfig::Reconfig;
use crate::scope::Scope;
use crate::sender::Sender;
use crate::state::State;

/// The owners that give a packet its content.
pub(super) struct Sources<'a> {
    pub(super) scope: Scope<'a>,
    pub(super) reconfig: Option<&'a mut Reconfig>,
    pub(super) phase: &'a Phase,
}

/// True if control chunks are to leave.
#[inline]
pub(super) fn wants_control(
    cx: &Context,
    sender: &Sender,
    control: &Control,
    reconfig: Option<&Reconfig>,
) -> bool {
    // Without short circuit: one branch for the rare chunks.
    let rare = sender.special().is_any() | reconfig.is_some();
    control.any()
        || any_of(cx.paths.rows(), Path::wants_heartbeat)
        || (rare && wants_rare_control(cx, sender, reconfig))
}

#[inline(never)]
fn wants_rare_control(cx: &Context, sender: &Sender, reconfig: Option<&Reconfig>) -> bool {
    let reconfigures = || reconfig.is_some_and(|reconfig| reconfig.is_due(cx, sender));
    (sender.special().owes_forward() && cx.env.state().sends_data()) || reconfigures()
}

/// Control chunks, if there are `any`, "placed first in the outbound SCTP packet" (6); `with_data` tells whether data is
/// to follow. False when nothing may follow them.
#[inline]
pub(super) fn write_control(
    from: &mut Sources<'_>,
    local_tag: u32,
    packet: &mut PacketBuilder<'_>,
    limit: usize,
    path: PathId,
    any: bool,
    with_data: bool,
) -> bool {
    let repeats_answer = with_data && from.reconfig.as_ref().is_some_and(|r| r.repeats_answer());
    if any || repeats_answer {
        cold_path();
        let before = packet.buffer().len();
        let more = write_controls(from, local_tag, packet, limit, path, with_data, repeats_answer);
        from.scope.cx.report.stats.control.leave(packet.buffer().get(before..).unwrap_or_default());
        more
    } else {
        from.scope.cx.env.state() != State::Closed
    }
}

// rfc9260:3-1 rfc9260:3.2.2-3 rfc9260:3.3.7-2 rfc9260:3.3.12-1 rfc9260:5.1.5-5 rfc9260:5.1.5-7
// rfc9260:5.1-7 rfc9260:5.1-8 rfc9260:5.4-2 rfc9260:8.5.1-8 rfc9260:9.1-2
#[inline(never)]
fn write_controls(
    from: &mut Sources<'_>,
    local_tag: u32,
    packet: &mut PacketBuilder<'_>,
    limit: usize,
    path: PathId,
    with_data: bool,
    repeats_answer: bool,
) -> bool {
    if from.scope.cx.paths.get(path).is_some_and(|path| !path.is_confirmed()) {
        // "An endpoint MUST NOT send any chunks to an UNCONFIRMED address", but HEARTBEAT (5.4).
        if from.scope.cx.env.state().is_up() {
            write_heartbeat(&mut from.scope, packet.buffer(), path);
        }
        return false;
    }
    // INIT, INIT ACK and SHUTDOWN COMPLETE are never bundled (6.10).
    if from.scope.control.take(Kind::Init, path) {
        write_init(from, local_tag, packet.buffer());
        return false;
    }
    if let Some(causes) = from.scope.control.take_abort(path) {
        causes::write_abort(packet.buffer(), false, &causes);
        from.scope.control.cancel(Kind::ShutdownComplete);
        return false;
    }
    if from.scope.control.take(Kind::ShutdownComplete, path) {
        ShutdownComplete { reflected_tag: false }.emit(packet.buffer());
        return false;
    }
    if from.scope.control.take(Kind::CookieEcho, path) {
        write_cookie_echo(from, packet.buffer());
        // "SHOULD bundle the ERROR chunk ... with the chunk sent in response (e.g., COOKIE ECHO)" (3.2.2).
        write_errors(&mut from.scope, packet, limit, path);
        return from.scope.cx.env.config().emulation.data_with_cookie
            && from.scope.cx.env.agreed().encoding() != Encoding::Sf2007;
    }
    if from.scope.cx.env.state() == State::CookieWait {
        return false;
    }
    if from.scope.cx.env.state() == State::CookieEchoed {
        // "until the COOKIE ACK chunk is returned, the sender MUST NOT send any other packets to the peer" (5.1
        // C), but for the answers to HEARTBEAT that 8.3 demands.
        write_heartbeat_acks(&mut from.scope, packet, limit, path);
        return false;
    }
    // Before anything else: a peer that has begun anew does not have the tag of this packet, and may look no further than to its
    // first chunk (8.5.1 E).
    if from.scope.control.take(Kind::ShutdownAck, path) {
        ShutdownAck.emit(packet.buffer());
    }
    if from.scope.control.take(Kind::CookieAck, path) {
        if from.scope.cx.env.agreed().encoding() == Encoding::Sf2007 {
            write_sf2007_cookie_ack(&from.scope, packet.buffer());
            // "the modified SCTP will not allow any data chunks to be transmitted inside the Cookie Echo/ACK chunks".
            return false;
        }
        CookieAck.emit(packet.buffer());
    }
    if from.scope.control.take(Kind::Cwr, path) {
        from.scope.sender.all_lanes().write_cwr(from.scope.cx, packet.buffer());
    }
    if !write_errors(&mut from.scope, packet, limit, path)
        || !write_heartbeat_acks(&mut from.scope, packet, limit, path)
    {
        return false; // full: the rest goes into the next packet
    }
    let reconfigures = repeats_answer || owes_reconfig(from);
    if let Some(reconfig) =
        from.reconfig.as_deref_mut().filter(|_| reconfigures && from.scope.cx.env.state().is_up())
    {
        if !reconfig.write(&mut from.scope, packet, limit, path, with_data) {
            return false;
        }
    }
    // "The data sender SHOULD always attempt to bundle an outgoing FORWARD TSN with outbound DATA chunks" (RFC 3758, 3.5, F2).
    let forwards = from.scope.cx.env.state().sends_data() && from.scope.sender.special().owes_forward();
    if forwards && !from.scope.sender.messages().write_forwards(from.scope.cx, packet, limit, path) {
        return false;
    }
    // A packet that is full has no room for the HEARTBEAT: it goes first in the next.
    if !packet.has_no_chunks()
        && packet.len() + Path::HEARTBEAT > limit
        && owes_heartbeat(from.scope.cx, path)
    {
        return false;
    }
    write_heartbeat(&mut from.scope, packet.buffer(), path);
    true
}

/// True if a RE-CONFIG chunk must leave.
#[inline]
fn owes_reconfig(from: &Sources<'_>) -> bool {
    from.reconfig.as_ref().is_some_and(|reconfig| reconfig.is_due(from.scope.cx, from.scope.sender))
}

fn owes_heartbeat(cx: &Context, path: PathId) -> bool {
    cx.paths.get(path).is_some_and(|path| path.heartbeat().is_wanted())
}

/// SHUTDOWN as the last chunk, after a SACK: webrtc-sctp takes a packet in which anything follows SHUTDOWN for malformed. Data never
/// goes along: all of it has been acknowledged by then (9.2). Without room it leaves with the next packet.
#[inline]
pub(super) fn write_shutdown(
    scope: &mut Scope<'_>,
    packet: &mut PacketBuilder<'_>,
    limit: usize,
    path: PathId,
) {
    const LEN: usize = 8;
    let fits = packet.has_no_chunks() || packet.len() + LEN <= limit;
    if !fits || !scope.control.is_due(Kind::Shutdown) {
        return;
    }
    cold_path();
    let before = packet.buffer().len();
    if scope.control.take(Kind::Shutdown, path) {
        if let Some(cumulative) = scope.receiver.arrivals().shutdown_cumulative() {
            Shutdown { cumulative }.emit(packet.buffer());
        }
    }
    scope.cx.report.stats.control.leave(packet.buffer().get(before..).unwrap_or_default());
}

fn write_heartbeat(scope: &mut Scope<'_>, out: &mut Vec<u8>, id: PathId) {
    let (now, rng) = (scope.cx.env.now(), &mut scope.cx.rng);
    let Some(path) = scope.cx.paths.get_mut(id).filter(|path| path.heartbeat().is_wanted()) else {
        return;
    };
    let info = path.heartbeat_mut().leave(id, now, rng);
    Heartbeat { info: HeartbeatInfo { info: &info } }.emit(HeartbeatKind::Request, out);
}

/// ERROR chunks that wait, as many as fit; one always does in a packet of its own. True when none is left.
fn write_errors(scope: &mut Scope<'_>, packet: &mut PacketBuilder<'_>, limit: usize, path: PathId) -> bool {
    loop {
        let (alone, len) = (packet.has_no_chunks(), packet.len());
        let fits = |cause: usize| alone || len + 4 + cause.next_multiple_of(4) <= limit;
        match scope.control.next_error(path, fits) {
            Next::None => return true,
            Next::Full => return false,
            Next::Ready(cause) => causes::write_error(packet.buffer(), &cause),
        }
    }
}

/// HEARTBEAT ACK chunks, in the same way.
fn write_heartbeat_acks(
    scope: &mut Scope<'_>,
    packet: &mut PacketBuilder<'_>,
    limit: usize,
    path: PathId,
) -> bool {
    loop {
        let (alone, len) = (packet.has_no_chunks(), packet.len());
        let fits = |value: usize| alone || len + 4 + value.next_multiple_of(4) <= limit;
        match scope.control.next_heartbeat_ack(path, fits) {
            Next::None => return true,
            Next::Full => return false,
            Next::Ready(value) => heartbeat::emit_answer(&value, packet.buffer()),
        }
    }
}

// rfc9260:5.1-1 rfc9260:5.1.1-1
fn write_init(from: &Sources<'_>, local_tag: u32, out: &mut Vec<u8>) {
    let config = &from.scope.receiver.window().announced(from.scope.cx.env.config());
    let types = match from.scope.cx.paths.primary() {
        Some(path) if path.remote().is_ipv6() => SupportedAddressTypes::IPV6,
        _ => SupportedAddressTypes::IPV4,
    };
    let ours = OurInit {
        tag: local_tag,
        a_rwnd: config.limits.receive_window,
        outbound_streams: config.streams.outbound,
        inbound_streams: config.streams.inbound,
        initial_tsn: from.scope.sender.tables().base(),
        preservative: from.phase.handshake().and_then(Handshake::preservative),
        address_types: config.extensions.address_types.then_some(types),
        // The endpoint has refused configurations whose offer is not allowed.
        offer: Offer::of(config, true),
    };
    ours.write_init(out, config.emulation.init_size);
}

// rfc9260:3.3.11-2
fn write_cookie_echo(from: &Sources<'_>, out: &mut Vec<u8>) {
    let Some(handshake) = from.phase.handshake() else { return };
    if from.scope.cx.env.agreed().encoding() == Encoding::Sf2007 {
        let mut value = handshake.cookie().to_vec();
        write_setup(&from.scope, &mut value);
        CookieEcho { cookie: &value }.emit(out);
    } else {
        CookieEcho { cookie: handshake.cookie() }.emit(out);
    }
}

/// A probe leaves if one is due: a HEARTBEAT, and a PAD chunk that fills the packet (RFC 8899, 6.2.1.2). True when it has filled
/// the packet.
#[inline(never)]
// rfc8899:3-3 rfc8899:3-5 rfc8899:3-16 rfc8899:4.1-1 rfc8899:4.1-2 rfc8899:6.2-1
pub(super) fn write_mtu_probe(
    cx: &mut Context,
    control: &Control,
    packet: &mut PacketBuilder<'_>,
    id: PathId,
) -> bool {
    // Chunks that the peer waits for go first.
    if control.any() {
        return false;
    }
    let (now, config, rng) = (cx.env.now(), cx.env.config(), &mut cx.rng);
    let Some(path) = cx.paths.get_mut(id).filter(|path| path.size().wants_probe()) else {
        return false;
    };
    if !cx.env.state().sends_data() {
        path.size_mut().end_search();
        return false;
    }
    let Some((info, len)) = path.probe_info(id, now, config, rng) else { return false };
    Heartbeat { info: HeartbeatInfo { info: &info } }.emit(HeartbeatKind::Request, packet.buffer());
    let room = len.saturating_sub(packet.len() + Pad::HEADER);
    Pad { len: room.min(usize::from(u16::MAX) - Pad::HEADER) as u16 }.emit(packet.buffer());
    debug_assert!(packet.len() == len || len < CommonHeader::LEN + 64, "a probe of {len} bytes");
    true
}

/// Figs 3.4 and 3.5 for every subflow, "from the lowest to the highest FID": the window that we grant to the peer's, and
/// the first number of ours.
fn write_setup(scope: &Scope<'_>, out: &mut Vec<u8>) {
    if scope.cx.env.agreed().encoding() != Encoding::Sf2007 {
        return;
    }
    for fid in 0..=u8::MAX {
        let Some(at) = scope.sender.tables().space_of(fid) else { break };
        let a_fwnd = scope.receiver.credit_of(scope.cx, at);
        Setup { a_fwnd, initial_fsn: scope.sender.tables().initial_of(at).into() }.emit(fid, out);
    }
}

/// COOKIE ACK, with the same behind it.
fn write_sf2007_cookie_ack(scope: &Scope<'_>, out: &mut Vec<u8>) {
    let start = out.len();
    CookieAck.emit(out);
    write_setup(scope, out);
    let length = (out.len() - start) as u16;
    if let Some(field) = out.get_mut(start + 2..start + 4) {
        field.copy_from_slice(&length.to_be_bytes());
    }
}
