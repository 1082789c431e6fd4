//! Two endpoints with one association between them and a wire in virtual time: to look at the protocol from Python.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use anabranch_sctp::{
    AssociationId, Config, Dscp, Duration, Ecn, Endpoint, EndpointConfig, Event, Instant, Message, Meta,
    Received, Reliability, Rng,
};
use anabranch_wire::{Checksum, Packet};
use bytes::Bytes;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

const PORT: u16 = 5000;
/// IPv4 without options.
const IP_HEADER: usize = 20;
/// Steps at one time beyond which something runs in circles.
const STUCK: u32 = 1_000_000;

/// Number, time in ns, side that sent it, bytes with the IP header, text, whether it was lost.
type Sent = (u64, u64, usize, usize, String, bool);

/// Payload, stream, payload protocol identifier, unordered, time in ns.
type Arrived = (Py<PyBytes>, u16, u32, bool, u64);

/// Two endpoints, 0 and 1. 0 has asked for the association.
#[pyclass(module = "anabranch._core")]
pub(crate) struct Pair {
    now: Instant,
    delay: Duration,
    ends: [Endpoint; 2],
    ids: [Option<AssociationId>; 2],
    /// Messages of which only a part was handed over yet.
    parts: [Vec<Received>; 2],
    wire: BTreeMap<(Instant, u64), (usize, Vec<u8>)>,
    sent: Vec<Sent>,
    told: [Vec<(u64, String)>; 2],
}

fn address(side: usize) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, if side == 0 { 1 } else { 2 }], 0))
}

/// A profile with options set over it.
fn config(profile: &str, options: &[(String, String)]) -> PyResult<Arc<Config>> {
    let mut config = Config::named(profile).ok_or_else(|| {
        PyValueError::new_err(format!("no profile `{profile}`; there are {}", Config::PROFILES.join(", ")))
    })?;
    for (key, value) in options {
        config.set(key, value).map_err(|error| PyValueError::new_err(error.to_string()))?;
    }
    Ok(Arc::new(config))
}

fn wrong(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

#[pymethods]
impl Pair {
    /// `a` asks for an association, `b` listens; both are a profile and options. Nothing has been sent yet.
    #[new]
    #[pyo3(signature = (a, b, delay_ns, seed))]
    fn new(
        a: (String, Vec<(String, String)>),
        b: (String, Vec<(String, String)>),
        delay_ns: u64,
        seed: u64,
    ) -> PyResult<Self> {
        let configs = [config(&a.0, &a.1)?, config(&b.0, &b.1)?];
        let end = |side: usize, name| {
            let config = EndpointConfig {
                // A private network: encodings without a number of IANA are allowed.
                allow_private_encodings: true,
                ..EndpointConfig::new(address(side), PORT).keeping_closed()
            };
            Endpoint::new(config, Rng::stream(seed, name, "endpoint").secret())
        };
        let mut pair = Self {
            now: Instant::ZERO,
            delay: Duration::from_nanos(delay_ns),
            ends: [end(0, "a"), end(1, "z")],
            ids: [None, None],
            parts: [Vec::new(), Vec::new()],
            wire: BTreeMap::new(),
            sent: Vec::new(),
            told: [Vec::new(), Vec::new()],
        };
        let [a, b] = configs;
        let [first, second] = &mut pair.ends;
        second.listen(b).map_err(wrong)?;
        pair.ids[0] = Some(first.connect(pair.now, address(1), PORT, a).map_err(wrong)?);
        Ok(pair)
    }

    /// Virtual time, ns.
    #[getter]
    fn now_ns(&self) -> u64 {
        self.now.as_nanos()
    }

    /// Lets time pass up to `until_ns`. `lose` is asked for each packet: number, time, side, size, text; true loses it.
    #[pyo3(signature = (until_ns, lose = None))]
    fn run(&mut self, py: Python<'_>, until_ns: u64, lose: Option<Py<PyAny>>) -> PyResult<()> {
        let until = Instant::from_nanos(until_ns);
        let mut steps = 0;
        self.pump(py, lose.as_ref())?;
        loop {
            let arrival = self.wire.keys().next().map(|(at, _)| *at);
            let timers = self.ends.iter_mut().filter_map(|end| end.poll_timeout().map(|(at, _)| at));
            let Some(next) = timers.chain(arrival).min().filter(|next| *next <= until) else { break };
            steps = if next > self.now { 0 } else { steps + 1 };
            if steps > STUCK {
                return Err(PyRuntimeError::new_err("packets without end, and no time passes"));
            }
            self.now = self.now.max(next);
            py.check_signals()?;
            while let Some(entry) = self.wire.first_entry().filter(|entry| entry.key().0 <= self.now) {
                let (from, bytes) = entry.remove();
                let meta = Meta {
                    source: address(from),
                    destination: address(1 - from),
                    dscp: Dscp::DEFAULT,
                    ecn: Ecn::NotEct,
                };
                if let Some(end) = self.ends.get_mut(1 - from) {
                    end.handle_datagram(self.now, meta, &bytes);
                }
                self.pump(py, lose.as_ref())?;
            }
            for end in &mut self.ends {
                end.handle_timeout(self.now);
            }
            self.pump(py, lose.as_ref())?;
        }
        self.now = self.now.max(until);
        Ok(())
    }

    /// Hands in a message; nothing leaves before time passes. `reliability`: a policy of RFC 7496 and its number
    /// (`lifetime` in ns, `retransmissions`, `priority`).
    #[pyo3(signature = (side, payload, stream, ppid, unordered, reliability))]
    fn send(
        &mut self,
        side: usize,
        payload: &[u8],
        stream: u16,
        ppid: u32,
        unordered: bool,
        reliability: Option<(String, u64)>,
    ) -> PyResult<u64> {
        let now = self.now;
        let mut message = Message::new(stream, Bytes::copy_from_slice(payload));
        (message.ppid, message.unordered) = (ppid, unordered);
        if let Some((policy, value)) = reliability {
            let whole = u32::try_from(value).unwrap_or(u32::MAX);
            message = message.reliability(match policy.as_str() {
                "lifetime" => Reliability::Lifetime(Duration::from_nanos(value)),
                "retransmissions" => Reliability::Retransmissions(u16::try_from(value).unwrap_or(u16::MAX)),
                "priority" => Reliability::Priority(whole),
                other => return Err(PyValueError::new_err(format!("no policy `{other}`"))),
            });
        }
        let id = self.id(side)?;
        let mut association = self.association(side, id)?;
        association.send(now, message).map(|id| id.0).map_err(wrong)
    }

    /// The next message that has arrived: payload, stream, ppid, unordered, time in ns. None when there is none.
    fn receive(&mut self, py: Python<'_>, side: usize) -> PyResult<Option<Arrived>> {
        let Some(id) = self.ids.get(side).copied().flatten() else { return Ok(None) };
        loop {
            let Some(next) = self.association(side, id)?.receive() else { return Ok(None) };
            let parts = self.parts.get_mut(side).ok_or_else(|| PyValueError::new_err("side 0 or 1"))?;
            let Some(whole) = joined(parts, next) else { continue };
            let (stream, ppid, unordered, at) = (whole.stream, whole.ppid, whole.unordered, whole.at);
            let payload = PyBytes::new(py, &whole.into_bytes()).unbind();
            return Ok(Some((payload, stream, ppid, unordered, at.as_nanos())));
        }
    }

    /// Ends the association in an orderly way.
    fn shutdown(&mut self, side: usize) -> PyResult<()> {
        let (now, id) = (self.now, self.id(side)?);
        self.association(side, id)?.shutdown(now);
        Ok(())
    }

    /// Ends it at once.
    fn abort(&mut self, side: usize, reason: &[u8]) -> PyResult<()> {
        let (now, id) = (self.now, self.id(side)?);
        self.association(side, id)?.abort(now, reason);
        Ok(())
    }

    /// Changes an option of the living association.
    fn set(&mut self, side: usize, key: &str, value: &str) -> PyResult<()> {
        let (now, id) = (self.now, self.id(side)?);
        self.association(side, id)?.set(now, key, value).map_err(wrong)
    }

    /// An option as it is, or None for a key that there is not.
    fn get(&mut self, side: usize, key: &str) -> PyResult<Option<String>> {
        let id = self.id(side)?;
        Ok(self.association(side, id)?.configuration().get(key))
    }

    /// The state, in the words of RFC 9260, or None where there is no association yet.
    fn state(&self, side: usize) -> Option<String> {
        let id = self.ids.get(side).copied().flatten()?;
        Some(format!("{:?}", self.ends.get(side)?.view(id)?.state()))
    }

    /// Every counter and gauge by name; a time has `_ns` behind its name, None is one without a sample.
    fn statistics(&self, side: usize) -> PyResult<Vec<(&'static str, Option<u64>)>> {
        let id = self.id(side)?;
        let association = self.ends.get(side).and_then(|end| end.view(id));
        Ok(association.map_or_else(Vec::new, |association| association.stats().named().collect()))
    }

    /// Window, bytes in flight, the peer's window, and the round trip in ns (None before the first sample).
    fn window(&self, side: usize) -> PyResult<(u64, u64, u64, Option<u64>)> {
        let id = self.id(side)?;
        let association = self.ends.get(side).and_then(|end| end.view(id));
        let association = association.ok_or_else(|| PyRuntimeError::new_err("the association is gone"))?;
        let (cwnd, srtt) = association.window_and_srtt();
        Ok((cwnd, association.flight_bytes(), association.peer_window(), srtt.map(Duration::as_nanos)))
    }

    /// Packets from number `first` on: number, time in ns, side, size, text, lost.
    fn packets(&self, first: usize) -> Vec<Sent> {
        self.sent.get(first..).unwrap_or_default().to_vec()
    }

    /// The events that the user of a side was told, with their times (ns).
    fn events(&self, side: usize) -> Vec<(u64, String)> {
        self.told.get(side).cloned().unwrap_or_default()
    }
}

impl Pair {
    fn id(&self, side: usize) -> PyResult<AssociationId> {
        let id = self.ids.get(side).copied().flatten();
        id.ok_or_else(|| PyRuntimeError::new_err("there is no association yet: let time pass"))
    }

    fn association(
        &mut self,
        side: usize,
        id: AssociationId,
    ) -> PyResult<anabranch_sctp::AssociationHandle<'_>> {
        let handle = self.ends.get_mut(side).and_then(|end| end.association(id));
        handle.ok_or_else(|| PyRuntimeError::new_err("the association is gone"))
    }

    /// Takes every packet that is to be sent, and the events of both sides.
    fn pump(&mut self, py: Python<'_>, lose: Option<&Py<PyAny>>) -> PyResult<()> {
        for side in 0..2 {
            loop {
                let mut buf = Vec::new();
                let Some(end) = self.ends.get_mut(side) else { break };
                let mut idle = true;
                if end.poll_transmit(self.now, 1, &mut buf).is_some() {
                    idle = false;
                    self.transmit(py, side, buf, lose)?;
                }
                let Some(end) = self.ends.get_mut(side) else { break };
                while let Some((id, event)) = end.poll_event() {
                    idle = false;
                    if let (Event::Accepted { .. }, Some(mine)) = (&event, self.ids.get_mut(side)) {
                        *mine = Some(id);
                    }
                    if let Some(told) = self.told.get_mut(side) {
                        told.push((self.now.as_nanos(), event.to_string()));
                    }
                }
                if idle {
                    break;
                }
            }
        }
        Ok(())
    }

    fn transmit(
        &mut self,
        py: Python<'_>,
        side: usize,
        bytes: Vec<u8>,
        lose: Option<&Py<PyAny>>,
    ) -> PyResult<()> {
        let number = self.sent.len() as u64;
        let size = bytes.len() + IP_HEADER;
        let text = match Packet::parse(&bytes, Checksum::Ignore) {
            Ok(packet) => packet.to_string(),
            Err(error) => error.to_string(),
        };
        let lost = match lose {
            Some(lose) => {
                let asked = lose.call1(py, (number, self.now.as_nanos(), side, size, text.as_str()))?;
                asked.is_truthy(py)?
            }
            None => false,
        };
        self.sent.push((number, self.now.as_nanos(), side, size, text, lost));
        if !lost {
            self.wire.insert((self.now + self.delay, number), (side, bytes));
        }
        Ok(())
    }
}

/// Joins the parts of messages: a message that is whole now. `unfinished` are those of which more is to come.
pub(crate) fn joined(unfinished: &mut Vec<Received>, mut next: Received) -> Option<Received> {
    for index in 0..unfinished.len() {
        let part = unfinished.get_mut(index)?;
        match part.join(next) {
            Ok(()) if part.is_end() => return Some(unfinished.swap_remove(index)),
            Ok(()) => return None,
            Err(another) => next = another,
        }
    }
    if next.is_end() {
        return Some(next);
    }
    unfinished.push(next);
    None
}
