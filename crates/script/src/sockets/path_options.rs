//! SCTP_PEER_ADDR_PARAMS, and the sizes that follow from the path.

use anabranch_base::Duration;
use anabranch_sctp::Association;

use super::ancillary;
use super::fields::{ms, record};
use super::socket::Socket;
use crate::network::Network;
use crate::value::{Field, Value};

/// Keeps the fields of an option that the core has no place for although it knows the option.
pub(super) fn keep(socket: &mut Socket, option: &'static str, value: &Value) {
    if option != "SCTP_PEER_ADDR_PARAMS" {
        return;
    }
    let before = |key: &str| socket.kept.get(option).and_then(|kept| kept.number_of(key)).unwrap_or(0);
    let said = value.number_of("spp_flags").unwrap_or(0);
    let mut flags = before("spp_flags") | said & (DSCP | FLOW_LABEL);
    if said & (PMTUD_ENABLE | PMTUD_DISABLE) != 0 {
        flags = flags & !PMTUD_DISABLE | said & PMTUD_DISABLE;
    }
    let kept = |key: &'static str, flag: i64| {
        let now = value.number_of(key).filter(|_| said & flag != 0);
        (key, now.unwrap_or_else(|| before(key)))
    };
    let (dscp, label) = (kept("spp_dscp", DSCP), kept("spp_ipv6_flowlabel", FLOW_LABEL));
    // The interval keeps its value while heartbeats are off.
    let interval = value.number_of("spp_hbinterval").filter(|ms| *ms > 0);
    let interval = interval.unwrap_or_else(|| before("spp_hbinterval"));
    let kept = vec![("spp_flags", flags), dscp, label, ("spp_hbinterval", interval)];
    socket.kept.insert(option, record(kept));
}

/// SCTP_PEER_ADDR_PARAMS.
pub(super) fn path_parameters(socket: &Socket, network: &Network) -> Value {
    let config = &socket.config;
    let kept = |key: &str| {
        socket.kept.get("SCTP_PEER_ADDR_PARAMS").and_then(|kept| kept.number_of(key)).unwrap_or(0)
    };
    let beats = config.timers.heartbeat_interval;
    let mut flags = kept("spp_flags") | if beats == Duration::ZERO { HB_DISABLE } else { HB_ENABLE };
    if flags & PMTUD_DISABLE == 0 {
        flags |= PMTUD_ENABLE;
    }
    let interval = if beats == Duration::ZERO { kept("spp_hbinterval") } else { ms(beats) };
    let Value::Record(mut fields) = record(vec![
        ("spp_hbinterval", interval),
        ("spp_pathmaxrxt", i64::from(config.limits.path_max_retrans)),
        ("spp_pathmtu", room_for_chunks(socket, network)),
        ("spp_flags", flags),
        ("spp_ipv6_flowlabel", kept("spp_ipv6_flowlabel")),
        ("spp_dscp", kept("spp_dscp")),
    ]) else {
        return Value::Any;
    };
    if socket.link().is_some() {
        fields.push(Field::keyed("spp_address", ancillary::address(network.peer())));
    } else {
        fields.push(Field::keyed("spp_address", Value::Any));
    }
    Value::Record(fields)
}

/// Bytes of a packet that chunks can fill: the path MTU of RFC 6458.
pub(super) fn room_for_chunks(socket: &Socket, network: &Network) -> i64 {
    let config = &socket.config;
    let association = socket.view(network);
    let mtu = association.map_or(config.mtu, Association::path_mtu);
    i64::from(mtu.saturating_sub(headers(socket, network)) & !3)
}

/// Bytes of a packet in front of its chunks.
pub(super) fn headers(socket: &Socket, network: &Network) -> u16 {
    let ipv6 = if network.peer().is_ipv6() { IPV6_MORE } else { 0 };
    // RFC 6951, 5.6: the UDP header counts, too.
    let in_udp = socket.view(network).and_then(Association::remote).is_some_and(|at| at.port() != 0);
    let udp = if in_udp { UDP_HEADER } else { 0 };
    socket.config.ip_overhead + ipv6 + udp + COMMON_HEADER
}

/// The MTU of IP that follows from the room for chunks that a user has set; 0 means: as it was.
pub(super) fn fixed_mtu(headers: u16, value: &Value) -> Option<u16> {
    let room = value.number_of("spp_pathmtu").filter(|room| *room > 0)?;
    Some(u16::try_from(room).unwrap_or(u16::MAX).saturating_add(headers))
}

const HB_ENABLE: i64 = 1;
const HB_DISABLE: i64 = 2;
pub(super) const PMTUD_ENABLE: i64 = 8;
pub(super) const PMTUD_DISABLE: i64 = 0x10;
const FLOW_LABEL: i64 = 0x100;
const DSCP: i64 = 0x200;
/// SCTP's common header, bytes.
pub(super) const COMMON_HEADER: u16 = 12;
/// The header of IPv6 is so much longer than that of IPv4, bytes.
const IPV6_MORE: u16 = 20;
/// The UDP header, bytes.
const UDP_HEADER: u16 = 8;

/// Most user data of one DATA chunk, bytes.
pub(super) fn fragmentation_point(socket: &Socket, network: &Network) -> i64 {
    let header = if socket.view(network).is_some_and(Association::interleaves) { 20 } else { 16 };
    let path = room_for_chunks(socket, network) - header;
    match socket.config.limits.max_fragment as i64 {
        0 => path,
        most => path.min(most),
    }
}
