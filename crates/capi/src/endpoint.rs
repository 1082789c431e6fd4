//! The protocol without I/O: packets, the time and commands go in; packets, events and the time to wake go out.

use std::collections::BTreeMap;
use std::ffi::c_char;
use std::sync::{Mutex, MutexGuard};

use anabranch_sctp::{
    AssociationHandle, AssociationId, Config as Values, Direction, Dscp, Duration, Ecn, EndpointConfig,
    IcmpError, Instant, SecretRng,
};

use crate::config::{Config, values};
use crate::event::{Detail, Event, told};
use crate::memory;
use crate::message::{Held, Message, Received, refused, reliability};
use crate::statistics;
use crate::status::{Answer, Failure, Status, guard};
use crate::table::Table;
use crate::types::{Address, Meta, Transmit};

/// An endpoint without I/O: associations at an SCTP port. Any thread may use it, one at a time: calls wait for each other.
pub struct Endpoint {
    _name: [u8; 0],
}

/// The fixed options of an endpoint. Fill it with zeros, then set what differs.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct EndpointOptions {
    /// Our address. In DTLS any unicast address will do, and another one for the peer.
    pub local: Address,
    /// Our SCTP port; 5000 for WebRTC.
    pub port: u16,
    /// Associations beyond which peers are turned away; 0 for 1,048,576.
    pub max_associations: usize,
    /// 32 bytes that nobody knows, from which tags and keys are drawn; null to take them from the operating system. With the same seed, times
    /// and packets the same bytes come out.
    pub seed: *const u8,
}

static ENDPOINTS: Table<Mutex<Core>> = Table::new(2, "an anabranch_endpoint");

/// Any stream, where a call takes one: -1.
const ANY: i32 = -1;

struct Core {
    endpoint: anabranch_sctp::Endpoint,
    /// Associations by the numbers that C has for them: from 1 on, each once.
    ids: BTreeMap<u64, AssociationId>,
    numbers: BTreeMap<AssociationId, u64>,
    next: u64,
    /// A packet that the program had no room for.
    packet: Option<(Transmit, Vec<u8>)>,
    /// Messages that it had no room for, by association; true: taken back.
    held: Vec<(u64, bool, Held)>,
    /// The details of the last event that do not fit into its structure.
    last: Detail,
    scratch: Vec<u8>,
}

impl Core {
    fn number(&mut self, id: AssociationId) -> u64 {
        if let Some(number) = self.numbers.get(&id) {
            return *number;
        }
        let number = self.next;
        self.next += 1;
        self.ids.insert(number, id);
        self.numbers.insert(id, number);
        number
    }

    fn id(&self, association: u64) -> Result<AssociationId, Failure> {
        self.ids.get(&association).copied().ok_or_else(|| {
            let what = format!("there is no association {association}");
            Failure::new(Status::ErrorAssociation, what)
        })
    }

    fn association(&mut self, association: u64) -> Result<AssociationHandle<'_>, Failure> {
        let id = self.id(association)?;
        let gone = || Failure::new(Status::ErrorAssociation, format!("association {association} has ended"));
        self.endpoint.association(id).ok_or_else(gone)
    }

    fn view(&self, association: u64) -> Result<&anabranch_sctp::Association, Failure> {
        let gone = || Failure::new(Status::ErrorAssociation, format!("association {association} has ended"));
        self.endpoint.view(self.id(association)?).ok_or_else(gone)
    }

    /// Forgets the numbers of associations that are no more.
    fn forget_ended(&mut self) {
        let endpoint = &self.endpoint;
        self.ids.retain(|_, id| endpoint.view(*id).is_some());
        let ids = &self.ids;
        self.numbers.retain(|_, number| ids.contains_key(number));
    }
}

fn with<R>(
    endpoint: *const Endpoint,
    command: impl FnOnce(&mut Core) -> Result<R, Failure>,
) -> Result<R, Failure> {
    let core = ENDPOINTS.get(endpoint.addr())?;
    let mut core: MutexGuard<'_, Core> = core.lock().map_err(|_| Failure::internal())?;
    command(&mut core)
}

fn done(_: ()) -> Status {
    Status::Ok
}

fn ecn(traffic_class: u8) -> Ecn {
    match traffic_class & 3 {
        0 => Ecn::NotEct,
        1 => Ecn::Ect1,
        2 => Ecn::Ect0,
        _ => Ecn::Ce,
    }
}

fn traffic_class(dscp: Dscp, ecn: Ecn) -> u8 {
    let ecn = match ecn {
        Ecn::NotEct => 0,
        Ecn::Ect1 => 1,
        Ecn::Ect0 => 2,
        Ecn::Ce => 3,
    };
    dscp.get() << 2 | ecn
}

fn one_stream(stream: i32) -> Result<Option<u16>, Failure> {
    if stream == ANY {
        return Ok(None);
    }
    u16::try_from(stream).map(Some).map_err(|_| {
        Failure::argument(format!("stream {stream}: a stream is 0 to 65535, and -1 stands for all"))
    })
}

#[allow(clippy::needless_pass_by_value, reason = "it is handed to `map_err`")]
fn command_refused(error: impl ToString) -> Failure {
    Failure::new(Status::ErrorRefused, error)
}

/// Makes an endpoint.
///
/// # Safety
/// Options can be read at `options`, and their seed, where there is one, has 32 bytes; a pointer can be written to `endpoint`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_endpoint_new(
    options: *const EndpointOptions,
    endpoint: *mut *mut Endpoint,
) -> Status {
    guard(|| {
        // SAFETY: as the caller says.
        let options = unsafe { memory::read(options, "options")? };
        if endpoint.is_null() {
            return Err(Failure::null("endpoint"));
        }
        if options.port == 0 {
            return Err(Failure::argument("`port` 0: an SCTP port is 1 to 65535"));
        }
        let mut seed = [0; 32];
        if options.seed.is_null() {
            getrandom::fill(&mut seed).map_err(|error| Failure::new(Status::ErrorSystem, error))?;
        } else {
            // SAFETY: as the caller says.
            let given = unsafe { memory::bytes(options.seed, seed.len(), "seed")? };
            seed.copy_from_slice(given);
        }
        let mut config = EndpointConfig::new(options.local.get()?, options.port);
        if options.max_associations > 0 {
            config.max_associations = options.max_associations;
        }
        let core = Core {
            endpoint: anabranch_sctp::Endpoint::new(config, SecretRng::from_seed(seed)),
            ids: BTreeMap::new(),
            numbers: BTreeMap::new(),
            next: 1,
            packet: None,
            held: Vec::new(),
            last: Detail::default(),
            scratch: Vec::new(),
        };
        let name = ENDPOINTS.keep(Mutex::new(core))?;
        // SAFETY: as the caller says.
        unsafe { memory::write(endpoint, std::ptr::without_provenance_mut(name), "endpoint")? };
        Ok(Status::Ok)
    })
}

/// Gives an endpoint back with all of its associations. Peers are told nothing: abort or shut down before.
#[unsafe(no_mangle)]
pub extern "C" fn anabranch_endpoint_free(endpoint: *mut Endpoint) -> Status {
    guard(|| ENDPOINTS.take(endpoint.addr()).map(|_| Status::Ok))
}

/// Lets peers in, with what `config` says; null: the configuration for networks.
#[unsafe(no_mangle)]
pub extern "C" fn anabranch_endpoint_listen(endpoint: *mut Endpoint, config: *const Config) -> Status {
    guard(|| {
        let config = values(config, Values::for_networks)?;
        with(endpoint, |core| core.endpoint.listen(config).map_err(command_refused)).map(done)
    })
}

/// Begins an association with the SCTP port `port` of a peer. Its number, from 1 on, goes to `association`. Where both sides begin, as WebRTC has
/// it, one association comes of it. Call `anabranch_endpoint_listen` first there: else a peer that is faster is turned away. If it was let in
/// already, ACCEPTED tells, and this call answers ERROR_REFUSED.
///
/// # Safety
/// An address can be read at `remote`; a number can be written to `association`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_endpoint_connect(
    endpoint: *mut Endpoint,
    now: u64,
    remote: *const Address,
    port: u16,
    config: *const Config,
    association: *mut u64,
) -> Status {
    guard(|| {
        // SAFETY: as the caller says.
        let remote = unsafe { memory::read(remote, "remote")? }.get()?;
        if association.is_null() {
            return Err(Failure::null("association"));
        }
        let config = values(config, Values::for_networks)?;
        let number = with(endpoint, |core| {
            let begun = core.endpoint.connect(Instant::from_nanos(now), remote, port, config);
            let id = begun.map_err(command_refused)?;
            Ok(core.number(id))
        })?;
        // SAFETY: as the caller says.
        unsafe { memory::write(association, number, "association")? };
        Ok(Status::Ok)
    })
}

/// Takes a packet, from the common header of SCTP on. A damaged or unexpected packet is dropped; that is not an error.
/// `now`, here and everywhere, is nanoseconds of a clock of the program's that never goes back.
///
/// # Safety
/// A structure can be read at `meta`, and `size` bytes at `packet`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_endpoint_handle_packet(
    endpoint: *mut Endpoint,
    now: u64,
    meta: *const Meta,
    packet: *const u8,
    size: usize,
) -> Status {
    guard(|| {
        // SAFETY: as the caller says.
        let (meta, packet) = unsafe { (memory::read(meta, "meta")?, memory::bytes(packet, size, "packet")?) };
        let meta = anabranch_sctp::Meta {
            source: meta.source.get()?,
            destination: meta.destination.get()?,
            dscp: Dscp::new(meta.traffic_class >> 2).unwrap_or_default(),
            ecn: ecn(meta.traffic_class),
        };
        let now = Instant::from_nanos(now);
        with(endpoint, |core| {
            core.endpoint.handle_datagram(now, meta, packet);
            Ok(Status::Ok)
        })
    })
}

/// Takes an ICMP message (`version` 4) or ICMPv6 message (`version` 6) from its type on. A message that does not report
/// an error of one of our packets is ignored.
///
/// # Safety
/// `size` bytes can be read at `message`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_endpoint_handle_icmp(
    endpoint: *mut Endpoint,
    now: u64,
    version: u8,
    message: *const u8,
    size: usize,
) -> Status {
    guard(|| {
        // SAFETY: as the caller says.
        let message = unsafe { memory::bytes(message, size, "message")? };
        let error = match version {
            4 => IcmpError::parse_v4(message),
            6 => IcmpError::parse_v6(message),
            other => return Err(Failure::argument(format!("ICMP has version 4 or 6, not {other}"))),
        };
        let now = Instant::from_nanos(now);
        with(endpoint, |core| {
            if let Some(error) = &error {
                core.endpoint.handle_icmp(now, error);
            }
            Ok(Status::Ok)
        })
    })
}

/// Runs every timer that is due.
#[unsafe(no_mangle)]
pub extern "C" fn anabranch_endpoint_handle_timeout(endpoint: *mut Endpoint, now: u64) -> Status {
    guard(|| {
        with(endpoint, |core| {
            core.endpoint.handle_timeout(Instant::from_nanos(now));
            Ok(Status::Ok)
        })
    })
}

/// When `anabranch_endpoint_handle_timeout` is to be called next; NOTHING where no timer runs. It changes with every call: ask again. It is
/// never late, and may be early.
///
/// # Safety
/// A number can be written to `at`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_endpoint_poll_timeout(endpoint: *mut Endpoint, at: *mut u64) -> Status {
    guard(|| {
        let next = with(endpoint, |core| Ok(core.endpoint.poll_timeout()))?;
        let Some((next, _)) = next else { return Ok(Status::Nothing) };
        // SAFETY: as the caller says.
        unsafe { memory::write(at, next.as_nanos(), "at")? };
        Ok(Status::Ok)
    })
}

/// The next packet that is to leave; NOTHING when there is none. Ask until there is none, after each call that hands something in. 1,500 bytes
/// are enough for a path of that MTU, 65,536 for any; with ERROR_BUFFER `transmit` says how much is needed, and the packet is kept.
///
/// # Safety
/// `room` bytes can be written to `buffer`, and a structure to `transmit`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_endpoint_poll_transmit(
    endpoint: *mut Endpoint,
    now: u64,
    buffer: *mut u8,
    room: usize,
    transmit: *mut Transmit,
) -> Status {
    guard(|| {
        with(endpoint, |core| {
            let (about, packet) = match core.packet.take() {
                Some(kept) => kept,
                None => {
                    let mut packet = std::mem::take(&mut core.scratch);
                    packet.clear();
                    let now = Instant::from_nanos(now);
                    let Some(leaves) = core.endpoint.poll_transmit(now, 1, &mut packet) else {
                        core.scratch = packet;
                        return Ok(Status::Nothing);
                    };
                    let about = Transmit {
                        destination: Address::of(leaves.destination),
                        has_source: leaves.source.is_some(),
                        source: Address::of(leaves.source.unwrap_or(leaves.destination)),
                        traffic_class: traffic_class(leaves.dscp, leaves.ecn),
                        dont_fragment: leaves.dont_fragment,
                        size: packet.len(),
                    };
                    (about, packet)
                }
            };
            // SAFETY: as the caller says.
            let written = unsafe { memory::write(transmit, about, "transmit") };
            // SAFETY: as the caller says.
            let copied =
                written.and_then(|()| unsafe { memory::copy(&packet, buffer, room, std::ptr::null_mut()) });
            if copied.is_ok() {
                core.scratch = packet;
            } else {
                core.packet = Some((about, packet));
            }
            copied
        })
    })
}

/// The next event of any association; NOTHING when there is none. Ask until there is none.
///
/// # Safety
/// A structure can be written to `event`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_endpoint_poll_event(endpoint: *mut Endpoint, event: *mut Event) -> Status {
    guard(|| {
        if event.is_null() {
            return Err(Failure::null("event"));
        }
        with(endpoint, |core| {
            // Nobody is asked whether peers may come in; what is told of the endpoint itself concerns those who ask.
            while core.endpoint.poll_endpoint_event().is_some() {}
            let Some((id, happened)) = core.endpoint.poll_event() else {
                core.forget_ended();
                return Ok(Status::Nothing);
            };
            let number = core.number(id);
            let (short, detail) = told(number, &happened);
            core.last = detail;
            // SAFETY: as the caller says.
            unsafe { memory::write(event, short, "event")? };
            Ok(Status::Ok)
        })
    })
}

/// The last event in words, with a zero byte behind them.
///
/// # Safety
/// `room` bytes can be written to `buffer`, and, where it is not null, a number to `needed`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_endpoint_event_text(
    endpoint: *mut Endpoint,
    buffer: *mut c_char,
    room: usize,
    needed: *mut usize,
) -> Status {
    guard(|| {
        // SAFETY: as the caller says.
        with(endpoint, |core| unsafe { memory::copy_text(&core.last.text, buffer, room, needed) })
    })
}

/// The streams that the last event lists.
///
/// # Safety
/// `room` numbers can be written to `streams`, and, where it is not null, a number to `needed`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_endpoint_event_streams(
    endpoint: *mut Endpoint,
    streams: *mut u16,
    room: usize,
    needed: *mut usize,
) -> Status {
    guard(|| {
        // SAFETY: as the caller says.
        with(endpoint, |core| unsafe { memory::copy(&core.last.streams, streams, room, needed) })
    })
}

/// The reason that the peer's user gave when it aborted, if the last event is that end.
///
/// # Safety
/// `room` bytes can be written to `buffer`, and, where it is not null, a number to `needed`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_endpoint_event_reason(
    endpoint: *mut Endpoint,
    buffer: *mut u8,
    room: usize,
    needed: *mut usize,
) -> Status {
    guard(|| {
        // SAFETY: as the caller says.
        with(endpoint, |core| unsafe { memory::copy(&core.last.reason, buffer, room, needed) })
    })
}

/// Hands in a message, whose number in its association goes to `id` where that is not null. ERROR_FULL: the send buffer has no room; WRITABLE
/// tells when it has.
///
/// # Safety
/// A message can be read at `message`, with its payload.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_endpoint_send(
    endpoint: *mut Endpoint,
    now: u64,
    association: u64,
    message: *const Message,
    id: *mut u64,
) -> Status {
    guard(|| {
        // SAFETY: as the caller says.
        let message = unsafe { memory::read(message, "message")?.get()? };
        let now = Instant::from_nanos(now);
        let sent = with(endpoint, |core| {
            core.association(association)?.send(now, message).map_err(|error| refused(&error))
        })?;
        // SAFETY: as the caller says.
        unsafe { memory::write_if_wanted(id, sent.0, "id")? };
        Ok(Status::Ok)
    })
}

/// The next message of stream `stream`, or of any for -1; NOTHING when there is none. With ERROR_BUFFER `received` says how much is needed,
/// and the message is kept. After CLOSED what has arrived can still be read; an association that is not read to its end stays until
/// `anabranch_endpoint_release`.
///
/// # Safety
/// `room` bytes can be written to `buffer`, and a structure to `received`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_endpoint_receive(
    endpoint: *mut Endpoint,
    association: u64,
    stream: i32,
    buffer: *mut u8,
    room: usize,
    received: *mut Received,
) -> Status {
    guard(|| {
        let stream = one_stream(stream)?;
        with(endpoint, |core| {
            let wanted = |(of, back, held): &(u64, bool, Held)| {
                *of == association && !*back && stream.is_none_or(|stream| stream == held.about.stream)
            };
            let kept = core.held.iter().position(wanted);
            let held = match kept {
                Some(at) => core.held.remove(at).2,
                None => {
                    let mut handle = core.association(association)?;
                    let next = match stream {
                        Some(stream) => handle.receive_from(stream),
                        None => handle.receive(),
                    };
                    let Some(next) = next else { return Ok(Status::Nothing) };
                    Held::from(next)
                }
            };
            hand_over(core, (association, false, held), buffer, room, received)
        })
    })
}

/// The next message that could not be delivered, after SEND_FAILED, STREAMS_RESET or CLOSED: those of which nothing was sent first. NOTHING when
/// there is none.
///
/// # Safety
/// `room` bytes can be written to `buffer`, and a structure to `received`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_endpoint_take_back(
    endpoint: *mut Endpoint,
    association: u64,
    buffer: *mut u8,
    room: usize,
    received: *mut Received,
) -> Status {
    guard(|| {
        with(endpoint, |core| {
            let kept = core.held.iter().position(|(of, back, _)| *of == association && *back);
            let held = match kept {
                Some(at) => core.held.remove(at).2,
                None => {
                    let mut handle = core.association(association)?;
                    let next = handle.receive_unsent().or_else(|| handle.receive_unacknowledged());
                    let Some(next) = next else { return Ok(Status::Nothing) };
                    Held::from(next)
                }
            };
            hand_over(core, (association, true, held), buffer, room, received)
        })
    })
}

fn hand_over(
    core: &mut Core,
    (association, back, held): (u64, bool, Held),
    buffer: *mut u8,
    room: usize,
    received: *mut Received,
) -> Answer {
    // SAFETY: both functions that call this ask of their callers what this asks.
    let handed = unsafe { held.hand_over(buffer, room, received) };
    if handed.is_err() {
        // It was the oldest of its kind.
        core.held.insert(0, (association, back, held));
    }
    handed
}

/// Ends an association in order: what was handed in is delivered first. `patience`: nanoseconds after which it is aborted, 0 for never.
#[unsafe(no_mangle)]
pub extern "C" fn anabranch_endpoint_shutdown(
    endpoint: *mut Endpoint,
    now: u64,
    association: u64,
    patience: u64,
) -> Status {
    guard(|| {
        let now = Instant::from_nanos(now);
        with(endpoint, |core| {
            let mut handle = core.association(association)?;
            match patience {
                0 => handle.shutdown(now),
                _ => handle.shutdown_within(now, Duration::from_nanos(patience)),
            }
            Ok(Status::Ok)
        })
    })
}

/// Ends an association at once. The peer is told `reason`, which may be null where `size` is 0; what was not delivered is not.
///
/// # Safety
/// `size` bytes can be read at `reason`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_endpoint_abort(
    endpoint: *mut Endpoint,
    now: u64,
    association: u64,
    reason: *const u8,
    size: usize,
) -> Status {
    guard(|| {
        // SAFETY: as the caller says.
        let reason = unsafe { memory::bytes(reason, size, "reason")? };
        let now = Instant::from_nanos(now);
        with(endpoint, |core| {
            core.association(association)?.abort(now, reason);
            Ok(Status::Ok)
        })
    })
}

/// Forgets an association that has ended, with what was not read of it; ERROR_REFUSED while its last packet has not left.
#[unsafe(no_mangle)]
pub extern "C" fn anabranch_endpoint_release(endpoint: *mut Endpoint, association: u64) -> Status {
    guard(|| {
        with(endpoint, |core| {
            let id = core.id(association)?;
            if core.endpoint.view(id).is_some() && !core.endpoint.release(id) {
                return Err(command_refused(
                    "the association has not ended, or its last packet has not left",
                ));
            }
            core.held.retain(|(of, ..)| *of != association);
            core.forget_ended();
            Ok(Status::Ok)
        })
    })
}

/// Says how reliable messages are that do not say so themselves: of one stream, or, for -1, of all that were not named. `policy`: one of
/// `anabranch_policy`.
#[unsafe(no_mangle)]
pub extern "C" fn anabranch_endpoint_set_reliability(
    endpoint: *mut Endpoint,
    association: u64,
    stream: i32,
    policy: u32,
    policy_value: u64,
) -> Status {
    guard(|| {
        let (stream, policy) = (one_stream(stream)?, reliability(policy, policy_value)?.unwrap_or_default());
        with(endpoint, |core| {
            core.association(association)?.set_reliability(stream, policy).map_err(|error| refused(&error))
        })
        .map(done)
    })
}

/// Sets what the option `stream_scheduling` looks at for a stream: its priority (the smaller goes first) or its weight.
#[unsafe(no_mangle)]
pub extern "C" fn anabranch_endpoint_set_stream_value(
    endpoint: *mut Endpoint,
    association: u64,
    stream: u16,
    value: u16,
) -> Status {
    guard(|| {
        with(endpoint, |core| {
            core.association(association)?.set_stream_value(stream, value).map_err(|error| refused(&error))
        })
        .map(done)
    })
}

/// Begins streams anew (RFC 6525): those that are listed, or all where `count` is 0. `direction`: one of `anabranch_direction`. STREAMS_RESET
/// tells what became of it. A data channel is closed with the reset of its outgoing stream.
///
/// # Safety
/// `count` numbers can be read at `streams`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_endpoint_reset_streams(
    endpoint: *mut Endpoint,
    now: u64,
    association: u64,
    direction: u32,
    streams: *const u16,
    count: usize,
) -> Status {
    guard(|| {
        // SAFETY: as the caller says.
        let streams = unsafe { memory::numbers(streams, count, "streams")? };
        let direction = match direction {
            0 => Direction::Outgoing,
            1 => Direction::Incoming,
            2 => Direction::Both,
            other => return Err(Failure::argument(format!("direction {other}: there are 0, 1 and 2"))),
        };
        let now = Instant::from_nanos(now);
        with(endpoint, |core| {
            core.association(association)?.reset_streams(now, direction, streams).map_err(command_refused)
        })
        .map(done)
    })
}

/// Asks for more streams (RFC 6525). STREAMS_ADDED tells what became of it.
#[unsafe(no_mangle)]
pub extern "C" fn anabranch_endpoint_add_streams(
    endpoint: *mut Endpoint,
    now: u64,
    association: u64,
    outgoing: u16,
    incoming: u16,
) -> Status {
    guard(|| {
        let now = Instant::from_nanos(now);
        with(endpoint, |core| {
            core.association(association)?.add_streams(now, outgoing, incoming).map_err(command_refused)
        })
        .map(done)
    })
}

/// Bytes handed in and not acknowledged, of one stream or, for -1, of all.
///
/// # Safety
/// A number can be written to `bytes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_endpoint_buffered(
    endpoint: *mut Endpoint,
    association: u64,
    stream: i32,
    bytes: *mut usize,
) -> Status {
    guard(|| {
        let stream = one_stream(stream)?;
        let buffered = with(endpoint, |core| Ok(core.view(association)?.buffered_bytes(stream)))?;
        // SAFETY: as the caller says.
        unsafe { memory::write(bytes, buffered, "bytes")? };
        Ok(Status::Ok)
    })
}

/// Asks for BUFFERED_LOW each time what is buffered of a stream, or, for -1, of all, falls to `bytes` or below.
#[unsafe(no_mangle)]
pub extern "C" fn anabranch_endpoint_set_low_threshold(
    endpoint: *mut Endpoint,
    association: u64,
    stream: i32,
    bytes: usize,
) -> Status {
    guard(|| {
        let stream = one_stream(stream)?;
        with(endpoint, |core| {
            let set = core.association(association)?.set_low_threshold(stream, Some(bytes));
            set.map_err(|error| refused(&error))
        })
        .map(done)
    })
}

/// Asks for SENDER_DRY each time that nothing waits to be sent or acknowledged any more.
#[unsafe(no_mangle)]
pub extern "C" fn anabranch_endpoint_tell_when_dry(
    endpoint: *mut Endpoint,
    now: u64,
    association: u64,
    on: bool,
) -> Status {
    guard(|| {
        let now = Instant::from_nanos(now);
        with(endpoint, |core| {
            core.association(association)?.tell_when_dry(now, on);
            Ok(Status::Ok)
        })
    })
}

/// Changes an option of a living association.
///
/// # Safety
/// `key` and `value` end with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_endpoint_set(
    endpoint: *mut Endpoint,
    now: u64,
    association: u64,
    key: *const c_char,
    value: *const c_char,
) -> Status {
    guard(|| {
        // SAFETY: as the caller says.
        let (key, value) = unsafe { (memory::text(key, "key")?, memory::text(value, "value")?) };
        let now = Instant::from_nanos(now);
        with(endpoint, |core| {
            let changed = core.association(association)?.set(now, key, value);
            changed.map_err(|error| Failure::new(Status::ErrorOption, error))
        })
        .map(done)
    })
}

/// A counter or gauge of an association by its name (`anabranch_statistic_name`); NOTHING where it has no sample yet.
///
/// # Safety
/// `name` ends with a zero byte; a number can be written to `value`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_endpoint_statistic(
    endpoint: *mut Endpoint,
    association: u64,
    name: *const c_char,
    value: *mut u64,
) -> Status {
    guard(|| {
        // SAFETY: as the caller says.
        let name = unsafe { memory::text(name, "name")? };
        let found = with(endpoint, |core| statistics::value(&core.view(association)?.stats(), name))?;
        let Some(found) = found else { return Ok(Status::Nothing) };
        // SAFETY: as the caller says.
        unsafe { memory::write(value, found, "value")? };
        Ok(Status::Ok)
    })
}

/// Where an association stands (RFC 9260, 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum State {
    /// It has ended, or there is none of that number.
    Closed = 0,
    /// INIT was sent.
    CookieWait = 1,
    /// COOKIE ECHO was sent.
    CookieEchoed = 2,
    /// It is up.
    Established = 3,
    /// We want to end; outstanding data comes first.
    ShutdownPending = 4,
    /// SHUTDOWN was sent.
    ShutdownSent = 5,
    /// The peer wants to end; outstanding data comes first.
    ShutdownReceived = 6,
    /// SHUTDOWN ACK was sent.
    ShutdownAckSent = 7,
}

/// Where an association stands.
///
/// # Safety
/// A number can be written to `state`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_endpoint_state(
    endpoint: *const Endpoint,
    association: u64,
    state: *mut State,
) -> Status {
    guard(|| {
        use anabranch_sctp::State as Stands;
        let stands =
            with(endpoint, |core| Ok(core.view(association).map(anabranch_sctp::Association::state)))?;
        let found = match stands.unwrap_or(Stands::Closed) {
            Stands::Closed => State::Closed,
            Stands::CookieWait => State::CookieWait,
            Stands::CookieEchoed => State::CookieEchoed,
            Stands::Established => State::Established,
            Stands::ShutdownPending => State::ShutdownPending,
            Stands::ShutdownSent => State::ShutdownSent,
            Stands::ShutdownReceived => State::ShutdownReceived,
            Stands::ShutdownAckSent => State::ShutdownAckSent,
        };
        // SAFETY: as the caller says.
        unsafe { memory::write(state, found, "state")? };
        Ok(Status::Ok)
    })
}

/// Writes the value that an option of an association has now, as a text with a zero byte behind it.
///
/// # Safety
/// `key` ends with a zero byte; `room` bytes can be written to `buffer`, and, where it is not null, a number to `needed`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_endpoint_get(
    endpoint: *const Endpoint,
    association: u64,
    key: *const c_char,
    buffer: *mut c_char,
    room: usize,
    needed: *mut usize,
) -> Status {
    guard(|| {
        // SAFETY: as the caller says.
        let key = unsafe { memory::text(key, "key")? };
        let value = with(endpoint, |core| Ok(core.view(association)?.configuration().get(key)))?;
        let unknown = || Failure::new(Status::ErrorOption, format!("there is no option `{key}`"));
        // SAFETY: as the caller says.
        unsafe { memory::copy_text(&value.ok_or_else(unknown)?, buffer, room, needed) }
    })
}
