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
