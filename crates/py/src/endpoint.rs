//! An endpoint without I/O for a driver in Python: packets, the time and commands go in; packets, events and the time to wake go out.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr, SocketAddrV6};
use std::sync::Arc;

use anabranch_sctp::{
    AssociationHandle, AssociationId, Config, Direction, Dscp, Duration, Ecn, EndpointConfig, Event,
    IcmpError, IcmpKind, Instant, Message, Meta, Received, Reliability, SecretRng, SendError,
};
use bytes::Bytes;
use pyo3::exceptions::{PyBlockingIOError, PyKeyError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::pair::joined;

/// IP address, UDP port, and the interface that a link-local address is of (0: none).
type Address = (String, u16, u32);

/// Bytes, destination, source if it matters, octet of code point and ECN, whether IP must not fragment it.
type Leaving = (Py<PyBytes>, Address, Option<Address>, u8, bool);

/// Payload, stream, payload protocol identifier, unordered, time in ns.
type Arrived = (Py<PyBytes>, u16, u32, bool, u64);

/// Association, name of the event, in words, its values.
type EventTuple = (u64, &'static str, String, Py<PyDict>);

/// The state that is kept here for an association, beside the core's.
struct Known {
    id: AssociationId,
    /// Messages of which only a part was handed over yet.
    parts: Vec<Received>,
}

/// An SCTP endpoint, sans-I/O.
#[pyclass(module = "anabranch._core")]
pub(crate) struct Endpoint {
    core: anabranch_sctp::Endpoint,
    known: BTreeMap<u64, Known>,
    numbers: BTreeMap<AssociationId, u64>,
    next: u64,
    /// Most bytes of unfinished messages of one association.
    largest: usize,
}

fn wrong(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn gone() -> PyErr {
    PyKeyError::new_err("the association is gone")
}

fn socket_address((host, port, scope): &(String, u16, u32)) -> PyResult<SocketAddr> {
    let ip: IpAddr = host.parse().map_err(|_| PyValueError::new_err(format!("`{host}` is no IP address")))?;
    Ok(match ip {
        IpAddr::V4(ip) => (ip, *port).into(),
        IpAddr::V6(ip) => SocketAddrV6::new(ip, *port, 0, *scope).into(),
    })
}

fn shown(address: SocketAddr) -> Address {
    let scope = if let SocketAddr::V6(v6) = address { v6.scope_id() } else { 0 };
    (address.ip().to_string(), address.port(), scope)
}

/// The octet of the IP header that holds both.
fn octet(dscp: Dscp, ecn: Ecn) -> u8 {
    let ecn = match ecn {
        Ecn::NotEct => 0,
        Ecn::Ect1 => 1,
        Ecn::Ect0 => 2,
        Ecn::Ce => 3,
    };
    dscp.get() << 2 | ecn
}

/// Builds the configuration of associations: a profile, or that for networks, with options set over it.
fn config(profile: Option<&str>, options: &[(String, String)]) -> PyResult<Arc<Config>> {
    let mut config = match profile {
        None => Config::for_networks(),
        Some(name) => Config::named(name).ok_or_else(|| {
            PyValueError::new_err(format!("no profile `{name}`; there are {}", Config::PROFILES.join(", ")))
        })?,
    };
    for (key, value) in options {
        config.set(key, value).map_err(wrong)?;
    }
    config.validate().map_err(wrong)?;
    Ok(Arc::new(config))
}

fn reliability(policy: &str, value: u64) -> PyResult<Reliability> {
    let whole = u32::try_from(value).unwrap_or(u32::MAX);
    Ok(match policy {
        "full" => Reliability::Full,
        "lifetime" => Reliability::Lifetime(Duration::from_nanos(value)),
        "retransmissions" => Reliability::Retransmissions(u16::try_from(value).unwrap_or(u16::MAX)),
        "priority" => Reliability::Priority(whole),
        other => return Err(PyValueError::new_err(format!("no policy `{other}`"))),
    })
}

#[pymethods]
impl Endpoint {
    /// At SCTP port `port`. `seed`: 32 bytes from the operating system. `largest`: bytes of unfinished messages beyond which an
    /// association is aborted.
    #[new]
    fn new(
        local: Address,
        port: u16,
        seed: [u8; 32],
        max_associations: usize,
        largest: usize,
    ) -> PyResult<Self> {
        let config =
            EndpointConfig { max_associations, ..EndpointConfig::new(socket_address(&local)?, port) };
        let core = anabranch_sctp::Endpoint::new(config, SecretRng::from_seed(seed));
        Ok(Self { core, known: BTreeMap::new(), numbers: BTreeMap::new(), next: 0, largest })
    }

    /// Lets peers in.
    fn listen(&mut self, profile: Option<&str>, options: Vec<(String, String)>) -> PyResult<()> {
        self.core.listen(config(profile, &options)?).map_err(wrong)
    }

    /// Accepts no more associations from peers.
    fn stop_listening(&mut self) {
        self.core.stop_listening();
    }

    /// Begins an association, and answers its number.
    fn connect(
        &mut self,
        now_ns: u64,
        remote: Address,
        port: u16,
        profile: Option<&str>,
        options: Vec<(String, String)>,
    ) -> PyResult<u64> {
        let config = config(profile, &options)?;
        let at = socket_address(&remote)?;
        let id = self.core.connect(Instant::from_nanos(now_ns), at, port, config).map_err(wrong)?;
        Ok(self.number(id))
    }

    /// Takes a packet: a UDP payload, and the octet of code point and ECN that it came with.
    fn handle_datagram(
        &mut self,
        now_ns: u64,
        source: Address,
        destination: Address,
        octet: u8,
        packet: &[u8],
    ) -> PyResult<()> {
        let ecn = match octet & 3 {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        };
        let meta = Meta {
            source: socket_address(&source)?,
            destination: socket_address(&destination)?,
            dscp: Dscp::new(octet >> 2).unwrap_or_default(),
            ecn,
        };
        self.core.handle_datagram(Instant::from_nanos(now_ns), meta, packet);
        Ok(())
    }

    /// Takes the operating system's error about a packet that did not arrive: `kind` is `too-big` (with the MTU), `protocol`, `port` or
    /// `unreachable` (with the code).
    fn handle_icmp(
        &mut self,
        now_ns: u64,
        kind: &str,
        value: u32,
        destination: Address,
        quoted: &[u8],
    ) -> PyResult<()> {
        let kind = match kind {
            "too-big" => IcmpKind::TooBig { mtu: value },
            "protocol" => IcmpKind::ProtocolUnreachable,
            "port" => IcmpKind::PortUnreachable,
            "unreachable" => IcmpKind::Unreachable { code: u8::try_from(value).unwrap_or(u8::MAX) },
            other => return Err(PyValueError::new_err(format!("no kind `{other}`"))),
        };
        let at = socket_address(&destination)?;
        let error = IcmpError { kind, destination: at.ip(), quoted, udp_port: Some(at.port()) };
        self.core.handle_icmp(Instant::from_nanos(now_ns), &error);
        Ok(())
    }

    /// Runs every timer that is due.
    fn handle_timeout(&mut self, now_ns: u64) {
        self.core.handle_timeout(Instant::from_nanos(now_ns));
    }

    /// When `handle_timeout` wants to be called, ns.
    fn poll_timeout(&mut self) -> Option<u64> {
        self.core.poll_timeout().map(|(at, _)| at.as_nanos())
    }

    /// The next packet that is to leave.
    fn poll_transmit(&mut self, py: Python<'_>, now_ns: u64) -> Option<Leaving> {
        let mut packet = Vec::new();
        let transmit = self.core.poll_transmit(Instant::from_nanos(now_ns), 1, &mut packet)?;
        let octet = octet(transmit.dscp, transmit.ecn);
        let bytes = PyBytes::new(py, &packet).unbind();
        Some((bytes, shown(transmit.destination), transmit.source.map(shown), octet, transmit.dont_fragment))
    }

    /// The next event.
    fn poll_event(&mut self, py: Python<'_>) -> PyResult<Option<EventTuple>> {
        // Events of the endpoint are for users that decide on each peer, or take undelivered messages back later.
        while self.core.poll_endpoint_event().is_some() {}
        let Some((id, event)) = self.core.poll_event() else { return Ok(None) };
        let number = self.number(id);
        if let (Event::PartialDeliveryAborted { message, .. }, Some(known)) =
            (&event, self.known.get_mut(&number))
        {
            known.parts.retain(|part| part.part.is_none_or(|part| part.message != *message));
        }
        let (name, values) = (name(&event), PyDict::new(py));
        describe(&event, &values)?;
        Ok(Some((number, name, event.to_string(), values.unbind())))
    }

    /// Hands in a message, and answers its number. Raises BlockingIOError where there is no room.
    #[pyo3(signature = (now_ns, association, payload, stream, ppid, unordered, immediate, policy, dscp))]
    #[allow(clippy::too_many_arguments, reason = "the one that calls it names them")]
    fn send(
        &mut self,
        now_ns: u64,
        association: u64,
        payload: &[u8],
        stream: u16,
        ppid: u32,
        unordered: bool,
        immediate: bool,
        policy: Option<(String, u64)>,
        dscp: Option<u8>,
    ) -> PyResult<u64> {
        let mut message = Message::new(stream, Bytes::copy_from_slice(payload));
        (message.ppid, message.unordered, message.immediate) = (ppid, unordered, immediate);
        if let Some((policy, value)) = policy {
            message = message.reliability(reliability(&policy, value)?);
        }
        if let Some(dscp) = dscp {
            let dscp = Dscp::new(dscp).ok_or_else(|| PyValueError::new_err("a code point is 0 to 63"))?;
            message = message.dscp(dscp);
        }
        let sent = self.handle(association)?.send(Instant::from_nanos(now_ns), message);
        sent.map(|id| id.0).map_err(|error| match error {
            SendError::Full | SendError::StreamFull { .. } | SendError::OtherSubflow { .. } => {
                PyBlockingIOError::new_err(error.to_string())
            }
            SendError::Closing => PyRuntimeError::new_err(error.to_string()),
            error => wrong(error),
        })
    }

    /// The next message of one stream or of any. Raises BufferError when the peer's message is too long to be put together.
    fn receive(
        &mut self,
        py: Python<'_>,
        association: u64,
        stream: Option<u16>,
    ) -> PyResult<Option<Arrived>> {
        let largest = self.largest;
        loop {
            let known = self.known.get_mut(&association).ok_or_else(gone)?;
            let Some(mut handle) = self.core.association(known.id) else { return Ok(None) };
            let next = match stream {
                Some(stream) => handle.receive_from(stream),
                None => handle.receive(),
            };
            drop(handle);
            let Some(next) = next else { return Ok(None) };
            let held: usize = known.parts.iter().map(Received::len).sum();
            if !next.is_end() && held + next.len() > largest {
                return Err(pyo3::exceptions::PyBufferError::new_err(format!(
                    "the peer's message is longer than the limit of {largest} bytes"
                )));
            }
            let Some(whole) = joined(&mut known.parts, next) else { continue };
            let (stream, ppid, unordered, at) = (whole.stream, whole.ppid, whole.unordered, whole.at);
            let payload = PyBytes::new(py, &whole.into_bytes()).unbind();
            return Ok(Some((payload, stream, ppid, unordered, at.as_nanos())));
        }
    }

    /// Ends the association in an orderly way, or by force after a while.
    fn shutdown(&mut self, now_ns: u64, association: u64, patience_ns: Option<u64>) -> PyResult<()> {
        let now = Instant::from_nanos(now_ns);
        let mut handle = self.handle(association)?;
        match patience_ns {
            None => handle.shutdown(now),
            Some(patience) => handle.shutdown_within(now, Duration::from_nanos(patience)),
        }
        Ok(())
    }

    /// Ends it at once.
    fn abort(&mut self, now_ns: u64, association: u64, reason: &[u8]) -> PyResult<()> {
        self.handle(association)?.abort(Instant::from_nanos(now_ns), reason);
        Ok(())
    }

    /// Forgets a closed association; false while it is not closed, or its last packet has not left.
    fn release(&mut self, association: u64) -> bool {
        let Some(known) = self.known.get(&association) else { return true };
        let id = known.id;
        if self.core.view(id).is_some() && !self.core.release(id) {
            return false;
        }
        self.known.remove(&association);
        self.numbers.remove(&id);
        true
    }

    /// Says how reliable messages of a stream, or of all others, are.
    fn set_reliability(
        &mut self,
        association: u64,
        stream: Option<u16>,
        policy: &str,
        value: u64,
    ) -> PyResult<()> {
        let reliability = reliability(policy, value)?;
        self.handle(association)?.set_reliability(stream, reliability).map_err(wrong)
    }

    /// Sets the priority or weight of a stream.
    fn set_stream_value(&mut self, association: u64, stream: u16, value: u16) -> PyResult<()> {
        self.handle(association)?.set_stream_value(stream, value).map_err(wrong)
    }

    /// Whether the fate of each message is told.
    fn tell_fates(&mut self, association: u64, on: bool) -> PyResult<()> {
        self.handle(association)?.tell_fates(on);
        Ok(())
    }

    /// Has SenderDry told each time that nothing is left to be sent or acknowledged.
    fn tell_when_dry(&mut self, now_ns: u64, association: u64) -> PyResult<()> {
        self.handle(association)?.tell_when_dry(Instant::from_nanos(now_ns), true);
        Ok(())
    }

    /// Begins streams anew: `outgoing`, `incoming` or `both`; none listed: all.
    fn reset_streams(
        &mut self,
        now_ns: u64,
        association: u64,
        direction: &str,
        streams: Vec<u16>,
    ) -> PyResult<()> {
        let direction = match direction {
            "outgoing" => Direction::Outgoing,
            "incoming" => Direction::Incoming,
            "both" => Direction::Both,
            other => {
                return Err(PyValueError::new_err(format!(
                    "no direction `{other}`; there are outgoing, incoming and both"
                )));
            }
        };
        let now = Instant::from_nanos(now_ns);
        self.handle(association)?.reset_streams(now, direction, &streams).map_err(wrong)
    }

    /// Asks for more streams.
    fn add_streams(&mut self, now_ns: u64, association: u64, outgoing: u16, incoming: u16) -> PyResult<()> {
        let now = Instant::from_nanos(now_ns);
        self.handle(association)?.add_streams(now, outgoing, incoming).map_err(wrong)
    }

    /// Changes an option of the living association.
    fn set(&mut self, now_ns: u64, association: u64, key: &str, value: &str) -> PyResult<()> {
        self.handle(association)?.set(Instant::from_nanos(now_ns), key, value).map_err(wrong)
    }

    /// An option as it is, or None for a key that there is not.
    fn get(&self, association: u64, key: &str) -> PyResult<Option<String>> {
        Ok(self.view(association)?.configuration().get(key))
    }

    /// The state, in the words of RFC 9260, or None when the association is gone.
    fn state(&self, association: u64) -> Option<String> {
        Some(format!("{:?}", self.view(association).ok()?.state()))
    }

    /// Every counter and gauge by name; a time has `_ns` behind its name, None is one without a sample.
    fn statistics(&self, association: u64) -> PyResult<Vec<(&'static str, Option<u64>)>> {
        Ok(self.view(association)?.stats().named().collect())
    }

    /// Bytes accepted and not acknowledged, of a stream or of all.
    fn buffered(&self, association: u64, stream: Option<u16>) -> PyResult<usize> {
        Ok(self.view(association)?.buffered_bytes(stream))
    }

    /// Where the peer is.
    fn remote(&self, association: u64) -> Option<Address> {
        self.view(association).ok()?.remote().map(shown)
    }

    /// The peer's SCTP port.
    fn peer_port(&self, association: u64) -> PyResult<u16> {
        Ok(self.view(association)?.peer_port())
    }

    /// How many associations are not closed.
    fn associations(&self) -> usize {
        self.core.associations()
    }
}

impl Endpoint {
    fn number(&mut self, id: AssociationId) -> u64 {
        if let Some(number) = self.numbers.get(&id) {
            return *number;
        }
        let number = self.next;
        self.next += 1;
        self.numbers.insert(id, number);
        self.known.insert(number, Known { id, parts: Vec::new() });
        number
    }

    fn handle(&mut self, association: u64) -> PyResult<AssociationHandle<'_>> {
        let id = self.known.get(&association).ok_or_else(gone)?.id;
        self.core.association(id).ok_or_else(gone)
    }

    fn view(&self, association: u64) -> PyResult<&anabranch_sctp::Association> {
        let id = self.known.get(&association).ok_or_else(gone)?.id;
        self.core.view(id).ok_or_else(gone)
    }
}

/// The name of an event, as Rust has it.
fn name(event: &Event) -> &'static str {
    match event {
        Event::Accepted { .. } => "Accepted",
        Event::Established { .. } => "Established",
        Event::AdaptationIndication { .. } => "AdaptationIndication",
        Event::SendFailed { .. } => "SendFailed",
        Event::ReturnedForgotten { .. } => "ReturnedForgotten",
        Event::Delivered { .. } => "Delivered",
        Event::Abandoned { .. } => "Abandoned",
        Event::Failed { .. } => "Failed",
        Event::SenderDry => "SenderDry",
        Event::StreamsReduced { .. } => "StreamsReduced",
        Event::Readable { .. } => "Readable",
        Event::Writable { .. } => "Writable",
        Event::BufferedLow { .. } => "BufferedLow",
        Event::Restarted { .. } => "Restarted",
        Event::PeerShutdown => "PeerShutdown",
        Event::PathDown { .. } => "PathDown",
        Event::PathUp { .. } => "PathUp",
        Event::Unreachable { .. } => "Unreachable",
        Event::PathMtu { .. } => "PathMtu",
        Event::PeerError { .. } => "PeerError",
        Event::StreamsReset { .. } => "StreamsReset",
        Event::AssociationReset { .. } => "AssociationReset",
        Event::StreamsAdded { .. } => "StreamsAdded",
        Event::PartialDeliveryAborted { .. } => "PartialDeliveryAborted",
        Event::Closed(_) => "Closed",
    }
}

/// The values of an event that a program may want to compare.
fn describe(event: &Event, values: &Bound<'_, PyDict>) -> PyResult<()> {
    match event {
        Event::Accepted { outbound_streams, inbound_streams, .. }
        | Event::Established { outbound_streams, inbound_streams } => {
            values.set_item("outbound_streams", outbound_streams)?;
            values.set_item("inbound_streams", inbound_streams)?;
        }
        Event::StreamsAdded { outbound_streams, inbound_streams, outcome } => {
            values.set_item("outbound_streams", outbound_streams)?;
            values.set_item("inbound_streams", inbound_streams)?;
            values.set_item("outcome", outcome.to_string())?;
        }
        Event::AdaptationIndication { code_point } => values.set_item("code_point", code_point)?,
        Event::SendFailed { unsent, unacknowledged } => {
            values.set_item("unsent", unsent)?;
            values.set_item("unacknowledged", unacknowledged)?;
        }
        Event::ReturnedForgotten { messages } | Event::StreamsReduced { messages_dropped: messages } => {
            values.set_item("messages", messages)?;
        }
        Event::Delivered { message, .. } => values.set_item("message", message.0)?,
        Event::Abandoned { message, sent, .. } | Event::Failed { message, sent, .. } => {
            values.set_item("message", message.0)?;
            values.set_item("sent", sent)?;
        }
        Event::Readable { stream } => values.set_item("stream", stream)?,
        Event::Writable { stream } | Event::BufferedLow { stream } => values.set_item("stream", stream)?,
        Event::Restarted { unsent, unacknowledged, received_bytes_lost } => {
            values.set_item("unsent", unsent)?;
            values.set_item("unacknowledged", unacknowledged)?;
            values.set_item("received_bytes_lost", received_bytes_lost)?;
        }
        Event::PathDown { path } | Event::PathUp { path } => values.set_item("path", path)?,
        Event::Unreachable { path, code } => {
            values.set_item("path", path)?;
            values.set_item("code", code)?;
        }
        Event::PathMtu { path, mtu } => {
            values.set_item("path", path)?;
            values.set_item("mtu", mtu)?;
        }
        Event::PeerError { cause } => values.set_item("cause", cause)?,
        Event::StreamsReset { direction, streams, outcome } => {
            values.set_item("direction", format!("{direction:?}").to_lowercase())?;
            values.set_item("streams", streams.clone())?;
            values.set_item("outcome", outcome.to_string())?;
        }
        Event::AssociationReset { outcome } => values.set_item("outcome", outcome.to_string())?,
        Event::PartialDeliveryAborted { stream, unordered, .. } => {
            values.set_item("stream", stream)?;
            values.set_item("unordered", unordered)?;
        }
        Event::Closed(reason) => {
            values.set_item("graceful", *reason == anabranch_sctp::CloseReason::Graceful)?;
            values.set_item("reason", reason.to_string())?;
            // The error causes and the reason of the peer's user: of an abort by the peer only.
            let (causes, said) = match reason {
                anabranch_sctp::CloseReason::AbortedByPeer { causes, reason } => {
                    (Some(causes.clone()), reason.as_ref().map(ToString::to_string))
                }
                _ => (None, None),
            };
            values.set_item("causes", causes)?;
            values.set_item("said", said)?;
        }
        Event::SenderDry | Event::PeerShutdown => {}
    }
    Ok(())
}
