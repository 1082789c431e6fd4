//! One association of an endpoint without I/O: messages, its end, its streams and options, its state.

use std::ffi::c_char;

use anabranch_sctp::{Direction, Duration, Instant};

use super::{Core, Endpoint, command_refused, done, with};
use crate::memory;
use crate::message::{Held, Message, Received, refused, reliability};
use crate::statistics;
use crate::status::{Answer, Failure, Status, guard};

/// Any stream, where a call takes one: -1.
const ANY: i32 = -1;

fn one_stream(stream: i32) -> Result<Option<u16>, Failure> {
    if stream == ANY {
        return Ok(None);
    }
    u16::try_from(stream).map(Some).map_err(|_| {
        Failure::argument(format!("stream {stream}: a stream is 0 to 65535, and -1 stands for all"))
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
    // SAFETY: both callers of this function demand of their own callers that `buffer` and `received` can be written.
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
