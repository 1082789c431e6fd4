//! The protocol without I/O: packets, the time and commands go in; packets, events and the time to wake go out.

pub mod association;

use std::collections::BTreeMap;
use std::ffi::c_char;
use std::sync::{Mutex, MutexGuard};

use anabranch_sctp::{
    AssociationHandle, AssociationId, Config as Values, Dscp, Ecn, EndpointConfig, IcmpError, Instant,
    SecretRng,
};

use crate::config::{Config, values};
use crate::event::{Detail, Event, told};
use crate::memory;
use crate::message::Held;
use crate::status::{Failure, Status, guard};
use crate::table::Table;
use crate::types::{Address, Meta, Transmit};

/// An endpoint without I/O: associations at one SCTP port. Several threads may use it; each call waits for the end of another.
pub struct Endpoint {
    _name: [u8; 0],
}

/// The fixed options of an endpoint. Fill the structure with zeros, then set the fields that need another value.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct EndpointOptions {
    /// Our address. Within DTLS it may be any unicast address other than the one of the peer.
    pub local: Address,
    /// Our SCTP port, 1 to 65535; 5000 for WebRTC.
    pub port: u16,
    /// The largest number of associations: more peers are refused. 0 stands for 1,048,576.
    pub max_associations: usize,
    /// 32 secret random bytes, from which the endpoint derives tags and keys; null to take them from the operating system.
    /// The same seed, times and packets give the same output, byte for byte. The endpoint copies the bytes.
    pub seed: *const u8,
}

static ENDPOINTS: Table<Mutex<Core>> = Table::new(2, "an anabranch_endpoint");

struct Core {
    endpoint: anabranch_sctp::Endpoint,
    /// The associations by their numbers in the C interface, which count from 1 and are never used again.
    ids: BTreeMap<u64, AssociationId>,
    numbers: BTreeMap<AssociationId, u64>,
    next: u64,
    /// A packet for which the program's buffer was too small.
    packet: Option<(Transmit, Vec<u8>)>,
    /// Messages for which the program's buffer was too small: the association, true for a message that was taken back, the message.
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

    /// Forgets the numbers of associations that no longer exist.
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

#[allow(clippy::needless_pass_by_value, reason = "it is handed to `map_err`")]
fn command_refused(error: impl ToString) -> Failure {
    Failure::new(Status::ErrorRefused, error)
}

/// Makes an endpoint, and writes its handle to `endpoint`; free it with `anabranch_endpoint_free`. A wrong option gives
/// ERROR_ARGUMENT.
///
/// # Safety
/// Options can be read at `options`, and their `seed` is null or points to 32 bytes; a pointer can be written to `endpoint`.
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

/// Frees an endpoint and all of its associations. Peers get no packet about it: shut down or abort the associations before.
#[unsafe(no_mangle)]
pub extern "C" fn anabranch_endpoint_free(endpoint: *mut Endpoint) -> Status {
    guard(|| ENDPOINTS.take(endpoint.addr()).map(|_| Status::Ok))
}

/// Accepts associations from peers from now on. Each begins with the configuration `config`; null stands for the one for networks.
/// A configuration with values that are not allowed gives ERROR_REFUSED.
#[unsafe(no_mangle)]
pub extern "C" fn anabranch_endpoint_listen(endpoint: *mut Endpoint, config: *const Config) -> Status {
    guard(|| {
        let config = values(config, Values::for_networks)?;
        with(endpoint, |core| core.endpoint.listen(config).map_err(command_refused)).map(done)
    })
}

/// Begins an association with the SCTP port `port` of the peer at `remote`, with the configuration `config`; null stands for the
/// one for networks. Its number, from 1 on, goes to `association`. If both sides connect to each other, as with WebRTC, the
/// result is one association. In that case call `anabranch_endpoint_listen` before, or the INIT of a faster peer is refused. If the
/// peer's association exists already, this call gives ERROR_REFUSED, and the event ACCEPTED has its number.
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

/// Processes a received packet of `size` bytes, which begins with the common header of SCTP. A damaged or unexpected packet is
/// dropped; that is not an error. `now`, in this call and all others, is the time in nanoseconds of a clock of the program that
/// never goes back.
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

/// Processes a received ICMP message (`version` 4) or ICMPv6 message (`version` 6) of `size` bytes, which begins with its type
/// field. A message that does not report an error of one of our packets is ignored.
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

/// Runs every timer that is due at the time `now`.
#[unsafe(no_mangle)]
pub extern "C" fn anabranch_endpoint_handle_timeout(endpoint: *mut Endpoint, now: u64) -> Status {
    guard(|| {
        with(endpoint, |core| {
            core.endpoint.handle_timeout(Instant::from_nanos(now));
            Ok(Status::Ok)
        })
    })
}

/// Writes to `at` the time, in nanoseconds, of the next necessary call of `anabranch_endpoint_handle_timeout`; gives NOTHING if
/// no timer runs. Every other call may change this time: ask again after it. The time is never late, and may be early.
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

/// Writes the next packet to send to `buffer`, and its addresses and size to `transmit`; gives NOTHING if there is none. Repeat it
/// until NOTHING after each call that gives the endpoint a packet, a command or the time. `room` is the size of the buffer in
/// bytes: 1,500 are enough for a path of that MTU, 65,536 for any. After ERROR_BUFFER, `transmit` has the needed size, and the
/// next call gives the same packet.
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

/// Writes the next event of any association to `event`; gives NOTHING if there is none. Repeat the call until NOTHING.
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
            // Events of the endpoint itself are for users that decide on each peer; this interface accepts all.
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

/// Writes a description of the last event to `buffer`, as text with a zero byte at its end. `needed` gets the size of both in bytes.
/// If `room`, the size of the buffer in bytes, is too small, the call gives ERROR_BUFFER.
///
/// # Safety
/// `room` bytes can be written to `buffer`, and, if it is not null, a number to `needed`.
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

/// Writes the stream ids of the last event to `streams`, and their number to `needed`. If `room`, the size of the array in
/// elements, is too small, the call gives ERROR_BUFFER.
///
/// # Safety
/// `room` numbers can be written to `streams`, and, if it is not null, a number to `needed`.
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

/// If the last event is CLOSED after an abort by the peer: writes to `buffer` the reason that the peer's program gave, without a
/// zero byte. `needed` gets its size in bytes, 0 if there is none. If `room`, the size of the buffer in bytes, is too small, the
/// call gives ERROR_BUFFER.
///
/// # Safety
/// `room` bytes can be written to `buffer`, and, if it is not null, a number to `needed`.
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
