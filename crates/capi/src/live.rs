//! Calls that block, on real sockets: SCTP in UDP.

use std::ffi::c_char;
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anabranch_live::{
    CloseReason, Closed, ConnectError, Endpoint, EndpointConfig, SendError, default_association, in_words,
};
use anabranch_sctp::{Config as Values, State};
use tokio::runtime::Runtime;

use crate::config::{Config, values};
use crate::event::{Close, Detail, Event, told};
use crate::memory;
use crate::message::{Held, Message, Received, refused};
use crate::statistics;
use crate::status::{Failure, Status, guard};
use crate::table::Table;
use crate::types::Address;

/// An endpoint on UDP sockets, with a thread that drives it. Several threads may use it, and wait in its calls, at the same time.
pub struct Driver {
    _name: [u8; 0],
}

/// An association of a driver. Several threads may use it at the same time: one may receive while another sends.
pub struct Association {
    _name: [u8; 0],
}

/// The fixed options of a driver. Fill the structure with zeros, then set the fields that need another value.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct DriverOptions {
    /// Local addresses with UDP ports. With port 0 the operating system chooses one; 9899 is the port of SCTP in UDP (RFC 6951).
    pub addresses: *const Address,
    /// The number of addresses: 1 to 64.
    pub address_count: usize,
    /// The SCTP port; 0 for a random one.
    pub port: u16,
    /// The largest number of associations: more peers are refused. 0 stands for 1,048,576.
    pub max_associations: usize,
}

/// The patience, in nanoseconds, that stands for no limit.
const FOREVER: u64 = u64::MAX;
/// The longest wait, in nanoseconds, for the ABORT of a failed attempt to leave.
const LAST_WORDS: u64 = 500_000_000;
/// The largest number of addresses of one endpoint.
const MOST_ADDRESSES: usize = 64;

/// A received message for which the program had no room, and the details of the last event.
struct Waiting {
    message: Option<Held>,
    last: Detail,
}

struct Driving {
    endpoint: Endpoint,
    /// The initial configuration of associations.
    config: Arc<Values>,
    runtime: Option<Runtime>,
}

impl Drop for Driving {
    fn drop(&mut self) {
        // The last owner may be a thread of the runtime, and such a thread must not wait for its own end.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Driving {
    /// Waits for `future`, at most `patience` nanoseconds: after that it fails with `ErrorTimeout`.
    fn wait<F: Future>(&self, patience: u64, future: F) -> Result<F::Output, Failure> {
        let runtime = self.runtime.as_ref().ok_or_else(Failure::internal)?;
        if patience == FOREVER {
            return Ok(runtime.block_on(future));
        }
        let patience = Duration::from_nanos(patience);
        let done = runtime.block_on(async { tokio::time::timeout(patience, future).await });
        done.map_err(|_| Failure::new(Status::ErrorTimeout, format!("not within {patience:?}")))
    }

    /// Aborts an association that has not come up in time. A peer that knows the association gets the ABORT before this function
    /// returns: the program may free the driver next, and unsent packets would be lost with it.
    fn give_up(&self, association: &anabranch_live::Association) {
        let is_known = association.command(|core, now| {
            let is_known = core.state() == State::CookieEchoed;
            core.abort(now, b"no answer in time");
            is_known
        });
        if is_known != Some(true) {
            return;
        }
        // No task is woken when the ABORT leaves, so its counter is polled, for a limited time: the sockets may accept no packet.
        let told = async {
            while association.snapshot().is_some_and(|snapshot| snapshot.control.sent.abort == 0) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let _ = self.wait(LAST_WORDS, told);
    }
}

struct Living {
    association: anabranch_live::Association,
    driving: Arc<Driving>,
    /// A message for which a caller's buffer was too small: the next call of any receiver gets it.
    kept: Mutex<Waiting>,
}

static DRIVERS: Table<Arc<Driving>> = Table::new(3, "an anabranch_driver");
static ASSOCIATIONS: Table<Living> = Table::new(0, "an anabranch_association");

fn driver(name: *const Driver) -> Result<Arc<Driving>, Failure> {
    Ok(Arc::clone(&*DRIVERS.get(name.addr())?))
}

fn living(name: *const Association) -> Result<Arc<Living>, Failure> {
    ASSOCIATIONS.get(name.addr())
}

fn keep(
    driving: Arc<Driving>,
    association: anabranch_live::Association,
) -> Result<*mut Association, Failure> {
    let kept = Mutex::new(Waiting { message: None, last: Detail::default() });
    let name = ASSOCIATIONS.keep(Living { association, driving, kept })?;
    Ok(std::ptr::without_provenance_mut(name))
}

fn ended(reason: &CloseReason) -> Failure {
    Failure::new(Status::ErrorClosed, format!("the association has ended: {}", in_words(reason)))
}

#[allow(clippy::needless_pass_by_value, reason = "it is handed to `map_err`")]
fn not_begun(error: ConnectError) -> Failure {
    let status = match &error {
        ConnectError::Failed(_) | ConnectError::Ended => Status::ErrorClosed,
        ConnectError::Refused(_) => Status::ErrorRefused,
        ConnectError::Port { .. } => Status::ErrorSystem,
    };
    Failure::new(status, error)
}

fn not_sent(error: &SendError) -> Failure {
    match error {
        SendError::Refused(error) => refused(error),
        SendError::Closed(reason) => ended(reason),
    }
}

/// Makes a driver: opens its sockets, starts its thread, and writes its handle to `driver`; free it with `anabranch_driver_free`.
/// `config` is the initial configuration of its associations; null stands for the default of drivers, which suits real networks.
/// If the operating system refuses a socket or the thread, the call gives ERROR_SYSTEM.
///
/// # Safety
/// Options can be read at `options`, and `address_count` addresses at their `addresses`; a pointer can be written to `driver`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_driver_new(
    options: *const DriverOptions,
    config: *const Config,
    driver: *mut *mut Driver,
) -> Status {
    guard(|| {
        // SAFETY: as the caller says.
        let options = unsafe { memory::read(options, "options")? };
        if driver.is_null() {
            return Err(Failure::null("driver"));
        }
        if options.address_count == 0 || options.address_count > MOST_ADDRESSES {
            return Err(Failure::argument(format!("an endpoint has 1 to {MOST_ADDRESSES} addresses")));
        }
        let mut addresses = Vec::with_capacity(options.address_count);
        for at in 0..options.address_count {
            let place = options.addresses.wrapping_add(if options.addresses.is_null() { 0 } else { at });
            // SAFETY: the caller says that there are `address_count` addresses.
            addresses.push(unsafe { memory::read(place, "addresses")? }.get()?);
        }
        let association = values(config, default_association)?;
        let mut config =
            EndpointConfig { association: Arc::clone(&association), ..EndpointConfig::on_port(options.port) };
        if options.max_associations > 0 {
            config.max_associations = options.max_associations;
        }
        let system = |error: &dyn std::fmt::Display| Failure::new(Status::ErrorSystem, error);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("sctp")
            .enable_all()
            .build()
            .map_err(|error| system(&error))?;
        let endpoint = {
            let _within = runtime.enter();
            Endpoint::bind(&addresses, config).map_err(|error| system(&error))?
        };
        let name =
            DRIVERS.keep(Arc::new(Driving { endpoint, config: association, runtime: Some(runtime) }))?;
        // SAFETY: as the caller says.
        unsafe { memory::write(driver, std::ptr::without_provenance_mut(name), "driver")? };
        Ok(Status::Ok)
    })
}

/// Writes to `address` the local address `number` of a driver, counted from 0, with its UDP port, also if the operating system
/// has chosen it. The call gives NOTHING if the driver has fewer addresses.
///
/// # Safety
/// An address can be written to `address`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_driver_address(
    driver: *const Driver,
    number: usize,
    address: *mut Address,
) -> Status {
    guard(|| {
        let driving = self::driver(driver)?;
        let Some(found) = driving.endpoint.local_addresses().get(number) else { return Ok(Status::Nothing) };
        // SAFETY: as the caller says.
        unsafe { memory::write(address, Address::of(*found), "address")? };
        Ok(Status::Ok)
    })
}

/// Returns the SCTP port of a driver; 0 if `driver` is not the handle of a driver.
#[unsafe(no_mangle)]
pub extern "C" fn anabranch_driver_port(driver: *const Driver) -> u16 {
    let mut port = 0;
    guard(|| {
        port = self::driver(driver)?.endpoint.port();
        Ok(Status::Ok)
    });
    port
}

/// Lets peers ask for associations from now on: `anabranch_driver_accept` accepts the next one. If the configuration has values
/// that are not allowed, or the driver was closed, the call gives ERROR_REFUSED.
#[unsafe(no_mangle)]
pub extern "C" fn anabranch_driver_listen(driver: *mut Driver) -> Status {
    guard(|| {
        let listening = self::driver(driver)?.endpoint.listen();
        listening.map(|()| Status::Ok).map_err(|error| Failure::new(Status::ErrorRefused, error))
    })
}

/// Begins an association with the SCTP port `port` of a peer, whose IP address and UDP port are in `remote`, and waits until it is
/// up. The handle goes to `association`; free it with `anabranch_association_free`. The wait takes at most `patience` nanoseconds;
/// UINT64_MAX stands for the time limits of the handshake. If the peer is a driver, the handshake ends only after its call of
/// `anabranch_driver_accept`. `config` is the configuration of the association; null stands for the one of the driver. The call
/// gives ERROR_TIMEOUT after `patience`, ERROR_CLOSED if the handshake fails, and ERROR_REFUSED if the stack does not begin it.
///
/// # Safety
/// An address can be read at `remote`; a pointer can be written to `association`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_driver_connect(
    driver: *mut Driver,
    remote: *const Address,
    port: u16,
    config: *const Config,
    patience: u64,
    association: *mut *mut Association,
) -> Status {
    guard(|| {
        // SAFETY: as the caller says.
        let remote = unsafe { memory::read(remote, "remote")? }.get()?;
        if association.is_null() {
            return Err(Failure::null("association"));
        }
        let driving = self::driver(driver)?;
        let config = if config.is_null() {
            Arc::clone(&driving.config)
        } else {
            values(config, Values::for_networks)?
        };
        let begun = driving.wait(FOREVER, async { driving.endpoint.begin(remote, port, config) })?;
        let begun = begun.map_err(not_begun)?;
        match driving.wait(patience, begun.established()) {
            Ok(up) => up.map_err(ConnectError::Failed).map_err(not_begun)?,
            Err(failure) => {
                driving.give_up(&begun);
                return Err(failure);
            }
        }
        let name = keep(Arc::clone(&driving), begun)?;
        // SAFETY: as the caller says.
        unsafe { memory::write(association, name, "association")? };
        Ok(Status::Ok)
    })
}

/// Waits at most `patience` nanoseconds for a peer to begin an association, and accepts it; UINT64_MAX stands for no limit. The handle goes
/// to `association`; free it with `anabranch_association_free`. The call gives ERROR_TIMEOUT after `patience`, and END if the
/// driver was closed.
///
/// # Safety
/// A pointer can be written to `association`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_driver_accept(
    driver: *mut Driver,
    patience: u64,
    association: *mut *mut Association,
) -> Status {
    guard(|| {
        if association.is_null() {
            return Err(Failure::null("association"));
        }
        let driving = self::driver(driver)?;
        let accepted = driving.wait(patience, async {
            // A peer that has given up before the accept is not an error of the server.
            while let Some(incoming) = driving.endpoint.accept().await {
                if let Ok(accepted) = incoming.accept() {
                    return Some(accepted);
                }
            }
            None
        })?;
        let Some(accepted) = accepted else { return Ok(Status::End) };
        let name = keep(Arc::clone(&driving), accepted)?;
        // SAFETY: as the caller says.
        unsafe { memory::write(association, name, "association")? };
        Ok(Status::Ok)
    })
}

/// Ends all associations of a driver in order, and accepts no more peers. After `patience` nanoseconds it aborts the remaining
/// associations. The call returns after the end of the last association.
#[unsafe(no_mangle)]
pub extern "C" fn anabranch_driver_close(driver: *mut Driver, patience: u64) -> Status {
    guard(|| {
        let driving = self::driver(driver)?;
        driving.wait(FOREVER, driving.endpoint.close(Duration::from_nanos(patience)))?;
        Ok(Status::Ok)
    })
}

/// Frees a driver. Its sockets close after its associations are freed, too; messages that are not delivered by then are lost.
/// Call `anabranch_driver_close` before to deliver them.
#[unsafe(no_mangle)]
pub extern "C" fn anabranch_driver_free(driver: *mut Driver) -> Status {
    guard(|| DRIVERS.take(driver.addr()).map(|_| Status::Ok))
}

/// Puts a message into the send buffer, and waits at most `patience` nanoseconds for room in it; then the call gives ERROR_TIMEOUT.
/// 0 stands for no wait, UINT64_MAX for no limit. The number of the message goes to `id`, which may be null. The call copies the payload, and
/// does not wait for the delivery: if `tell_fate` is true, an event reports it.
///
/// # Safety
/// A message can be read at `message`, with its payload.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_association_send(
    association: *mut Association,
    message: *const Message,
    patience: u64,
    id: *mut u64,
) -> Status {
    guard(|| {
        // SAFETY: as the caller says.
        let message = unsafe { memory::read(message, "message")?.get()? };
        let living = living(association)?;
        let sent = living.driving.wait(patience, living.association.send(message))?;
        let sent = sent.map_err(|error| not_sent(&error))?;
        // SAFETY: as the caller says.
        unsafe { memory::write_if_wanted(id, sent.0, "id")? };
        Ok(Status::Ok)
    })
}

/// Waits at most `patience` nanoseconds for the next message of the stream `stream` (-1: of any stream), and writes it to `buffer`
/// and its description to `received`; UINT64_MAX stands for no limit. `room` is the size of the buffer in bytes. After ERROR_BUFFER,
/// `received` has the needed size, and the next call of this function gives the same message, whatever its stream. The call gives
/// ERROR_TIMEOUT after `patience`; if all messages were read, it gives END after the peer has stopped sending, and ERROR_CLOSED
/// after an end that was not in order.
///
/// # Safety
/// `room` bytes can be written to `buffer`, and a structure to `received`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_association_receive(
    association: *mut Association,
    stream: i32,
    patience: u64,
    buffer: *mut u8,
    room: usize,
    received: *mut Received,
) -> Status {
    guard(|| {
        if !(-1..=0xffff).contains(&stream) {
            return Err(Failure::argument(format!(
                "stream {stream}: a stream is 0 to 65535, and -1 stands for all"
            )));
        }
        let living = living(association)?;
        let kept = living.kept.lock().map_err(|_| Failure::internal())?.message.take();
        let held = match kept {
            Some(held) => held,
            None => {
                let next = match u16::try_from(stream) {
                    Ok(stream) => living.driving.wait(patience, living.association.recv_from(stream))?,
                    Err(_) => living.driving.wait(patience, living.association.recv())?,
                };
                let Some(next) = next.map_err(|Closed(reason)| ended(&reason))? else {
                    return Ok(Status::End);
                };
                Held::from(next)
            }
        };
        // SAFETY: as the caller says.
        let handed = unsafe { held.hand_over(buffer, room, received) };
        if handed.is_err() {
            living.kept.lock().map_err(|_| Failure::internal())?.message = Some(held);
        }
        handed
    })
}

/// Waits at most `patience` nanoseconds for the next event, and writes it to `event`; UINT64_MAX stands for no limit. The driver
/// collects events from the first call on: earlier ones are not reported, except CLOSED. Read messages with
/// `anabranch_association_receive`. The call gives ERROR_TIMEOUT after `patience`, and END after CLOSED.
///
/// # Safety
/// A structure can be written to `event`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_association_next_event(
    association: *mut Association,
    patience: u64,
    event: *mut Event,
) -> Status {
    guard(|| {
        if event.is_null() {
            return Err(Failure::null("event"));
        }
        let living = living(association)?;
        let next = living.driving.wait(patience, living.association.next_event())?;
        let Some(next) = next else { return Ok(Status::End) };
        let (short, detail) = told(0, &next);
        living.kept.lock().map_err(|_| Failure::internal())?.last = detail;
        // SAFETY: as the caller says.
        unsafe { memory::write(event, short, "event")? };
        Ok(Status::Ok)
    })
}

/// Writes a description of the last event to `buffer`, as text with a zero byte at its end. `needed` gets the size of both in bytes.
/// If `room`, the size of the buffer in bytes, is too small, the call gives ERROR_BUFFER.
///
/// # Safety
/// `room` bytes can be written to `buffer`, and, if it is not null, a number to `needed`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_association_event_text(
    association: *mut Association,
    buffer: *mut c_char,
    room: usize,
    needed: *mut usize,
) -> Status {
    guard(|| {
        let living = living(association)?;
        let kept = living.kept.lock().map_err(|_| Failure::internal())?;
        // SAFETY: as the caller says.
        unsafe { memory::copy_text(&kept.last.text, buffer, room, needed) }
    })
}

/// Ends an association in order, and waits for the end: the stack first delivers all messages that the program has sent. After
/// `patience` nanoseconds it aborts the association; UINT64_MAX stands for no limit. The reason for the end goes to `close`, which
/// may be null. If the association did not end in order the call gives ERROR_CLOSED. Free the handle afterwards.
///
/// # Safety
/// `close` is null, or a number can be written to it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_association_shutdown(
    association: *mut Association,
    patience: u64,
    close: *mut Close,
) -> Status {
    guard(|| {
        let living = living(association)?;
        let end = living.driving.wait(FOREVER, async {
            if patience == FOREVER {
                return living.association.shutdown().await;
            }
            living.association.shutdown_within(Duration::from_nanos(patience)).await
        })?;
        let how = end.as_ref().err().map_or(Close::Graceful, |Closed(reason)| reason.into());
        // SAFETY: as the caller says.
        unsafe { memory::write_if_wanted(close, how, "close")? };
        end.map(|()| Status::Ok).map_err(|Closed(reason)| ended(&reason))
    })
}

/// Ends an association at once with an ABORT, which tells the peer the `size` bytes at `reason`. Messages that are not delivered
/// yet are lost. Free the handle afterwards.
///
/// # Safety
/// `size` bytes can be read at `reason`, which may be null if `size` is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_association_abort(
    association: *mut Association,
    reason: *const u8,
    size: usize,
) -> Status {
    guard(|| {
        // SAFETY: as the caller says.
        let reason = unsafe { memory::bytes(reason, size, "reason")? };
        living(association)?.association.abort(reason);
        Ok(Status::Ok)
    })
}

/// Sets the option `key` of an association to `value` while it is up. An unknown option, a wrong value, or an option that cannot
/// change any more gives ERROR_OPTION.
///
/// # Safety
/// `key` and `value` end with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_association_set(
    association: *mut Association,
    key: *const c_char,
    value: *const c_char,
) -> Status {
    guard(|| {
        // SAFETY: as the caller says.
        let (key, value) = unsafe { (memory::text(key, "key")?, memory::text(value, "value")?) };
        let set = living(association)?.association.command(|handle, now| handle.set(now, key, value));
        let gone = || Failure::new(Status::ErrorClosed, "the endpoint has ended");
        set.ok_or_else(gone)?.map_err(|error| Failure::new(Status::ErrorOption, error))?;
        Ok(Status::Ok)
    })
}

/// Writes to `value` the counter or gauge `name` of an association; `anabranch_statistic_name` lists the names. The call gives
/// NOTHING if it has no sample yet, and ERROR_ARGUMENT for an unknown name.
///
/// # Safety
/// `name` ends with a zero byte; a number can be written to `value`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_association_statistic(
    association: *mut Association,
    name: *const c_char,
    value: *mut u64,
) -> Status {
    guard(|| {
        // SAFETY: as the caller says.
        let name = unsafe { memory::text(name, "name")? };
        let snapshot = living(association)?.association.snapshot();
        let gone = || Failure::new(Status::ErrorClosed, "the endpoint has ended");
        let found = statistics::value(&snapshot.ok_or_else(gone)?.stats, name)?;
        let Some(found) = found else { return Ok(Status::Nothing) };
        // SAFETY: as the caller says.
        unsafe { memory::write(value, found, "value")? };
        Ok(Status::Ok)
    })
}

/// Frees an association. If it has not ended, the driver shuts it down in order, and aborts it after 30 seconds; if the driver
/// was freed before, messages that are not delivered yet may be lost.
#[unsafe(no_mangle)]
pub extern "C" fn anabranch_association_free(association: *mut Association) -> Status {
    guard(|| ASSOCIATIONS.take(association.addr()).map(|_| Status::Ok))
}
