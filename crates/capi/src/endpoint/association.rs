//! One association of an endpoint without I/O: messages, its end, its streams and options, its state.

use std::ffi::c_char;

use anabranch_sctp::{Direction, Duration, Instant};

use super::{Core, Endpoint, command_refused, done, with};
use crate::memory;
use crate::message::{Held, Message, Received, refused, reliability};
use crate::statistics;
use crate::status::{Answer, Failure, Status, guard};

/// The value of a stream parameter that stands for any stream.
const ANY: i32 = -1;

fn one_stream(stream: i32) -> Result<Option<u16>, Failure> {
    if stream == ANY {
        return Ok(None);
    }
    u16::try_from(stream).map(Some).map_err(|_| {
        Failure::argument(format!("stream {stream}: a stream is 0 to 65535, and -1 stands for all"))
    })
}

/// Sends a message. Its number in the association goes to `id`, which may be null. The call copies the payload. If the send
/// buffer has no room the call gives ERROR_FULL, and the event WRITABLE reports new room later.
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

/// Writes the next received message of the stream `stream` (-1: of any stream) to `buffer`, and its description to `received`;
/// gives NOTHING if there is none. `room` is the size of the buffer in bytes. After ERROR_BUFFER, `received` has the needed size,
/// and the next call gives the same message. After CLOSED the messages that have arrived can still be read; an association with
/// unread messages stays in memory until `anabranch_endpoint_release`.
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

/// Takes back the next message that could not be delivered, after SEND_FAILED, STREAMS_RESET or CLOSED: writes its payload to
/// `buffer` and its description to `received`. Messages of which no part was sent come first; NOTHING means that none is left. `room`
/// is the size of the buffer in bytes. After ERROR_BUFFER, `received` has the needed size, and the next call gives the same message.
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
        // The message was the oldest of its kind, so it goes to the front again.
        core.held.insert(0, (association, back, held));
    }
    handed
}

/// Ends an association in order: the stack first delivers all messages that the program has sent. After `patience` nanoseconds
/// it aborts the association; 0 stands for no limit. The call does not wait: the event CLOSED reports the end.
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

/// Ends an association at once with an ABORT, which tells the peer the `size` bytes at `reason`; `reason` may be null if `size`
/// is 0. Messages that are not delivered yet are lost for the peer.
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

/// Frees an ended association and its unread messages. The call gives ERROR_REFUSED if the association has not ended, or if
/// its last packet has not left.
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

/// Sets the policy of messages without a policy of their own: of the stream `stream`, or, for -1, of all streams that no such
/// call has named. `policy` is a value of `anabranch_policy`, which also gives the unit of `policy_value`.
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

/// Sets the value of a stream for the scheduler that the option `stream_scheduling` selects: its priority (streams with a smaller
/// value send first) or its weight.
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

/// Requests a reset of the `count` streams in the array `streams`, or of all streams if `count` is 0 (RFC 6525). `direction` is a
/// value of `anabranch_direction`. The event STREAMS_RESET reports the outcome. The reset of its outgoing stream closes a data
/// channel. The call gives ERROR_REFUSED if the association is not up, resets were not agreed on, or a stream does not exist.
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

/// Requests more streams (RFC 6525): `outgoing` more of ours and `incoming` more of the peer's. The event STREAMS_ADDED reports
/// the outcome. The call gives ERROR_REFUSED if the association is not up, RE-CONFIG was not agreed on, or the streams would be
/// too many.
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

/// Writes to `bytes` the number of bytes in the send buffer: of the stream `stream`, or, for -1, of all streams. The option
/// `send_buffer_counts` selects the bytes that count: only unsent ones, or all without an acknowledgement.
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

/// Asks for the event BUFFERED_LOW each time the amount of buffered data of the stream `stream` (-1: of all streams together)
/// falls to `bytes` or below.
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

/// Turns the event SENDER_DRY on or off. The event comes each time no data is left to be sent or acknowledged.
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

/// Sets the option `key` of an association to `value` while it is up. An unknown option, a wrong value, or an option that cannot
/// change any more gives ERROR_OPTION.
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

/// Writes to `value` the counter or gauge `name` of an association; `anabranch_statistic_name` lists the names. The call gives
/// NOTHING if it has no sample yet, and ERROR_ARGUMENT for an unknown name.
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

/// The state of an association (RFC 9260, 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum State {
    /// The association has ended, or no association has this number.
    Closed = 0,
    /// INIT was sent.
    CookieWait = 1,
    /// COOKIE ECHO was sent.
    CookieEchoed = 2,
    /// The association is up.
    Established = 3,
    /// Our program has called for a shutdown; outstanding data is delivered first.
    ShutdownPending = 4,
    /// SHUTDOWN was sent.
    ShutdownSent = 5,
    /// The peer has called for a shutdown; outstanding data is delivered first.
    ShutdownReceived = 6,
    /// SHUTDOWN ACK was sent.
    ShutdownAckSent = 7,
}

/// Writes the state of an association to `state`: CLOSED also if no association has this number.
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

/// Writes the present value of the option `key` of an association to `buffer`, as text with a zero byte at its end. `needed` gets
/// the size of both in bytes. An unknown option gives ERROR_OPTION; if `room`, the size of the buffer in bytes, is too small, the
/// call gives ERROR_BUFFER.
///
/// # Safety
/// `key` ends with a zero byte; `room` bytes can be written to `buffer`, and, if it is not null, a number to `needed`.
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
