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

/// An endpoint on UDP sockets, with a thread that drives it. Any thread may use it, and wait in it beside others.
pub struct Driver {
    _name: [u8; 0],
}

/// An association of a driver. Any thread may use it, and wait in it beside others: one may receive while another sends.
pub struct Association {
    _name: [u8; 0],
}

/// The fixed options of a driver. Fill it with zeros, then set what differs.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct DriverOptions {
    /// Local addresses with UDP ports: 0 lets the system choose, 9899 is where peers look.
    pub addresses: *const Address,
    /// Number of addresses; at least one.
    pub address_count: usize,
    /// SCTP port; 0 for one that nobody can guess.
    pub port: u16,
    /// Associations beyond which peers are turned away; 0 for 1,048,576.
    pub max_associations: usize,
}

/// Waits as long as it takes: for calls with a patience in nanoseconds.
const FOREVER: u64 = u64::MAX;
/// Nanoseconds that the end of an attempt has to leave.
const LAST_WORDS: u64 = 500_000_000;
/// Addresses of one endpoint at most.
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
        // It may be one of its own threads that drops it last, which must not wait for itself.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Driving {
    /// Waits for something, for so many nanoseconds at most.
    fn wait<F: Future>(&self, patience: u64, future: F) -> Result<F::Output, Failure> {
        let runtime = self.runtime.as_ref().ok_or_else(Failure::internal)?;
        if patience == FOREVER {
            return Ok(runtime.block_on(future));
        }
        let patience = Duration::from_nanos(patience);
        let done = runtime.block_on(async { tokio::time::timeout(patience, future).await });
        done.map_err(|_| Failure::new(Status::ErrorTimeout, format!("not within {patience:?}")))
    }

    /// Ends an association that has not come up in time. A peer that knows of it already gets the ABORT before this returns: the driver
    /// may be given back next, and unsent packets with it.
    fn give_up(&self, association: &anabranch_live::Association) {
        let is_known = association.command(|core, now| {
            let is_known = core.state() == State::CookieEchoed;
            core.abort(now, b"no answer in time");
            is_known
        });
        if is_known != Some(true) {
            return;
        }
        // No task is woken when the ABORT leaves, so its counter is polled, for a time: sockets may take nothing.
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
    /// One receiver at a time: a message for which a caller had no room is the next for any caller.
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

/// Opens the sockets, and starts the thread. `config`: what associations begin with; null for what real networks want.
///
/// # Safety
/// Options can be read at `options`, with their addresses; a pointer can be written to `driver`.
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
            // SAFETY: as the caller says, there are so many.
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

/// One of the addresses of a driver, with the UDP port that the system has chosen. NOTHING behind the last.
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

/// The SCTP port of a driver; 0 where it is none.
#[unsafe(no_mangle)]
pub extern "C" fn anabranch_driver_port(driver: *const Driver) -> u16 {
    let mut port = 0;
    guard(|| {
        port = self::driver(driver)?.endpoint.port();
        Ok(Status::Ok)
    });
    port
}

/// Lets peers in: `anabranch_driver_accept` gives them.
#[unsafe(no_mangle)]
pub extern "C" fn anabranch_driver_listen(driver: *mut Driver) -> Status {
    guard(|| {
        let listening = self::driver(driver)?.endpoint.listen();
        listening.map(|()| Status::Ok).map_err(|error| Failure::new(Status::ErrorRefused, error))
    })
}

/// Begins an association with the SCTP port `port` of a peer, whose UDP port is that of `remote`, and waits until it is up, for `patience`
/// nanoseconds at most; UINT64_MAX for as long as the handshake takes. A peer that is a driver is up when it has accepted. `config`: null for that of the driver.
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

/// Waits for a peer that begins an association, for `patience` nanoseconds at most. END when the driver has been closed.
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
            // A peer that has gone meanwhile is no error of the server.
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

/// Ends all associations in order, for `patience` nanoseconds at most, then by force; lets nobody in any more. Waits until all have ended.
#[unsafe(no_mangle)]
pub extern "C" fn anabranch_driver_close(driver: *mut Driver, patience: u64) -> Status {
    guard(|| {
        let driving = self::driver(driver)?;
        driving.wait(FOREVER, driving.endpoint.close(Duration::from_nanos(patience)))?;
        Ok(Status::Ok)
    })
}

/// Gives a driver back. Its sockets are closed when its associations have been given back, too; what they have not delivered then is lost: call
/// `anabranch_driver_close` before.
#[unsafe(no_mangle)]
pub extern "C" fn anabranch_driver_free(driver: *mut Driver) -> Status {
    guard(|| DRIVERS.take(driver.addr()).map(|_| Status::Ok))
}

/// Sends a message, and waits for room in the send buffer for `patience` nanoseconds at most; 0: ERROR_TIMEOUT at once. Its number goes to `id`
/// where that is not null. It is on its way then: whether it was delivered an event tells, if `tell_fate` asks for it.
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

/// Waits for the next message of stream `stream`, or of any for -1, for `patience` nanoseconds at most. END when the peer sends nothing any more
/// and all was read. With ERROR_BUFFER `received` says how much is needed, and the message is the next that any call of this kind gives.
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

/// Waits for the next event, of those that come after the first call, for `patience` nanoseconds at most. Messages are read with
/// `anabranch_association_receive`. END after CLOSED.
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

/// The last event in words, with a zero byte behind them.
///
/// # Safety
/// `room` bytes can be written to `buffer`, and, where it is not null, a number to `needed`.
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

/// Ends an association in order: what was sent is delivered first. Waits for the end; after `patience` nanoseconds it is aborted. How it ended
/// goes to `close`, where that is not null; it is an error when that was not in order.
///
/// # Safety
/// Where it is not null, a number can be written to `close`.
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

/// Ends an association at once. The peer is told `reason`; what was not delivered is not.
///
/// # Safety
/// `size` bytes can be read at `reason`, which may be null where that is 0.
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

/// Changes an option of a living association.
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

/// A counter or gauge of an association by its name (`anabranch_statistic_name`); NOTHING where it has no sample yet.
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

/// Gives an association back. If it has not ended it goes on ending in order for 30 seconds, as long as its driver lives.
#[unsafe(no_mangle)]
pub extern "C" fn anabranch_association_free(association: *mut Association) -> Status {
    guard(|| ASSOCIATIONS.take(association.addr()).map(|_| Status::Ok))
}
