//! Events of the stack as notifications (RFC 6458, 6.1).

use anabranch_sctp::{CloseReason, Direction, Event, Reconfigured, Undelivered};

use super::socket::Waiting;
use crate::names::constant;
use crate::value::{Field, Value};

/// A notification: its type, whether it comes after the waiting data, and its contents.
pub(crate) struct Notification {
    pub(crate) kind: i64,
    pub(crate) late: bool,
    pub(crate) waiting: Waiting,
}

fn record(kind: &str, prefix: &str, late: bool, len: usize, fields: Vec<(&str, Value)>) -> Notification {
    let mut all = vec![
        Field::keyed(&format!("{prefix}_type"), Value::Word(kind.to_owned())),
        Field::keyed(&format!("{prefix}_flags"), Value::Number(0)),
        Field::keyed(&format!("{prefix}_length"), Value::Number(len as i64)),
        Field::keyed(&format!("{prefix}_assoc_id"), Value::Any),
    ];
    for (key, value) in fields {
        all.retain(|field| field.key.as_deref() != Some(key));
        all.push(Field::keyed(key, value));
    }
    Notification {
        kind: constant(kind).unwrap_or(0),
        late,
        waiting: Waiting { content: Value::Record(all), len },
    }
}

fn word(word: &str) -> Value {
    Value::Word(word.to_owned())
}

/// SCTP_ASSOC_CHANGE; `features`: the extensions of both sides, which only COMM_UP and RESTART have (RFC 6458, 6.1.1).
fn association(state: &str, error: i64, streams: (u16, u16), late: bool, features: &[&str]) -> Notification {
    let info = features.iter().map(|feature| word(feature)).collect();
    let fields = vec![
        ("sac_state", word(state)),
        ("sac_error", Value::Number(error)),
        ("sac_outbound_streams", Value::Number(i64::from(streams.0))),
        ("sac_inbound_streams", Value::Number(i64::from(streams.1))),
        ("sac_info", Value::List(info)),
    ];
    record("SCTP_ASSOC_CHANGE", "sac", late, 20 + features.len(), fields)
}

/// The notifications of an event for a socket that has subscribed; `streams` are those of the association, ours first.
pub(crate) fn of(
    event: &Event,
    streams: (u16, u16),
    was_up: bool,
    features: &[&str],
    chunk: Option<&[u8]>,
) -> Vec<Notification> {
    match event {
        Event::Established { outbound_streams, inbound_streams } => {
            vec![association("SCTP_COMM_UP", 0, (*outbound_streams, *inbound_streams), false, features)]
        }
        Event::Accepted { .. } => vec![association("SCTP_COMM_UP", 0, streams, false, features)],
        Event::Restarted { .. } => vec![association("SCTP_RESTART", 0, streams, true, features)],
        Event::PeerShutdown => vec![record("SCTP_SHUTDOWN_EVENT", "sse", true, 12, Vec::new())],
        Event::Closed(CloseReason::Graceful) => {
            vec![association("SCTP_SHUTDOWN_COMP", 0, streams, true, &[])]
        }
        Event::Closed(CloseReason::AbortedLocally) => Vec::new(),
        Event::Closed(_) if !was_up => vec![association("SCTP_CANT_STR_ASSOC", 0, streams, true, &[])],
        Event::Closed(reason) => {
            let error = match reason {
                CloseReason::AbortedByPeer { causes, .. } => causes.first().copied().unwrap_or(0),
                _ => 0,
            };
            vec![association("SCTP_COMM_LOST", i64::from(error), streams, true, &[])]
        }
        Event::PeerError { cause } => {
            // The whole ERROR chunk comes along (RFC 6458, 6.1.3).
            let data = chunk.map_or(Value::Any, Value::from_bytes);
            let len = 20 + chunk.map_or(0, <[u8]>::len);
            let fields = vec![("sre_error", Value::Number(i64::from(*cause))), ("sre_data", data)];
            vec![record("SCTP_REMOTE_ERROR", "sre", true, len, fields)]
        }
        Event::AdaptationIndication { code_point } => {
            let fields = vec![("sai_adaptation_ind", Value::Number(i64::from(*code_point)))];
            vec![record("SCTP_ADAPTATION_INDICATION", "sai", false, 16, fields)]
        }
        Event::PathDown { .. } => vec![path("SCTP_ADDR_UNREACHABLE")],
        Event::PathUp { .. } => vec![path("SCTP_ADDR_AVAILABLE")],
        Event::StreamsReset { direction, streams, outcome } => {
            let side = match direction {
                Direction::Outgoing => 2,
                Direction::Incoming => 1,
                Direction::Both => 3,
            };
            let listed = streams.iter().map(|stream| Value::Number(i64::from(*stream))).collect();
            let fields = vec![
                ("strreset_flags", Value::Number(side | outcome_flags(*outcome))),
                ("strreset_stream_list", Value::List(listed)),
            ];
            vec![record("SCTP_STREAM_RESET_EVENT", "strreset", true, 12 + 2 * streams.len(), fields)]
        }
        Event::AssociationReset { outcome } => {
            let fields = vec![("assocreset_flags", Value::Number(outcome_flags(*outcome)))];
            vec![record("SCTP_ASSOC_RESET_EVENT", "assocreset", true, 20, fields)]
        }
        Event::StreamsAdded { outbound_streams, inbound_streams, outcome } => {
            let fields = vec![
                ("strchange_flags", Value::Number(outcome_flags(*outcome))),
                ("strchange_instrms", Value::Number(i64::from(*inbound_streams))),
                ("strchange_outstrms", Value::Number(i64::from(*outbound_streams))),
            ];
            vec![record("SCTP_STREAM_CHANGE_EVENT", "strchange", true, 16, fields)]
        }
        Event::PartialDeliveryAborted { stream, message, .. } => vec![partial(*stream, Some(*message))],
        _ => Vec::new(),
    }
}

/// A message that was not delivered, in the two forms of RFC 6458, 6.1.4 and 6.1.11.
pub(crate) fn failed(message: &Undelivered) -> Vec<Notification> {
    let sent = word(if message.number.is_some() { "SCTP_DATA_SENT" } else { "SCTP_DATA_UNSENT" });
    let unordered = if message.unordered { constant("SCTP_UNORDERED").unwrap_or(0) } else { 0 };
    let info = |names: [&str; 3]| {
        let numbers = [i64::from(message.stream), unordered, i64::from(message.ppid)];
        Value::Record(
            names
                .iter()
                .zip(numbers)
                .map(|(name, number)| Field::keyed(name, Value::Number(number)))
                .collect(),
        )
    };
    let new = vec![
        ("ssfe_flags", sent.clone()),
        ("ssfe_error", Value::Any),
        ("ssfe_info", info(["snd_sid", "snd_flags", "snd_ppid"])),
    ];
    let old = vec![
        ("ssf_flags", sent),
        ("ssf_error", Value::Any),
        ("ssf_info", info(["sinfo_stream", "sinfo_flags", "sinfo_ppid"])),
    ];
    vec![
        record("SCTP_SEND_FAILED_EVENT", "ssfe", true, 32 + message.len(), new),
        record("SCTP_SEND_FAILED", "ssf", true, 48 + message.len(), old),
    ]
}

/// A message that was read in part will not be completed (RFC 6458, 6.1.7).
pub(crate) fn partial(stream: u16, message: Option<u32>) -> Notification {
    let fields = vec![
        ("pdapi_indication", word("SCTP_PARTIAL_DELIVERY_ABORTED")),
        ("pdapi_stream", Value::Number(i64::from(stream))),
        ("pdapi_seq", message.map_or(Value::Any, |message| Value::Number(i64::from(message)))),
    ];
    record("SCTP_PARTIAL_DELIVERY_EVENT", "pdapi", true, 24, fields)
}

/// Everything that was sent is acknowledged (RFC 6458, 6.1.9).
pub(crate) fn dry() -> Notification {
    record("SCTP_SENDER_DRY_EVENT", "sender_dry", true, 12, Vec::new())
}

fn path(state: &str) -> Notification {
    let fields = vec![("spc_state", word(state)), ("spc_error", Value::Number(0)), ("spc_aaddr", Value::Any)];
    record("SCTP_PEER_ADDR_CHANGE", "spc", true, 152, fields)
}

fn outcome_flags(outcome: Reconfigured) -> i64 {
    match outcome {
        Reconfigured::Performed | Reconfigured::Nothing => 0,
        Reconfigured::Denied => 4,
        Reconfigured::Failed { .. } => 8,
    }
}

/// The field of SCTP_EVENTS for each type of notification.
pub(crate) const EVENT_FIELDS: &[(&str, &str)] = &[
    ("sctp_association_event", "SCTP_ASSOC_CHANGE"),
    ("sctp_address_event", "SCTP_PEER_ADDR_CHANGE"),
    ("sctp_send_failure_event", "SCTP_SEND_FAILED"),
    ("sctp_peer_error_event", "SCTP_REMOTE_ERROR"),
    ("sctp_shutdown_event", "SCTP_SHUTDOWN_EVENT"),
    ("sctp_partial_delivery_event", "SCTP_PARTIAL_DELIVERY_EVENT"),
    ("sctp_adaptation_layer_event", "SCTP_ADAPTATION_INDICATION"),
    ("sctp_authentication_event", "SCTP_AUTHENTICATION_EVENT"),
    ("sctp_sender_dry_event", "SCTP_SENDER_DRY_EVENT"),
    ("sctp_stream_reset_event", "SCTP_STREAM_RESET_EVENT"),
    ("sctp_assoc_reset_event", "SCTP_ASSOC_RESET_EVENT"),
    ("sctp_stream_change_event", "SCTP_STREAM_CHANGE_EVENT"),
    ("sctp_send_failure_event_event", "SCTP_SEND_FAILED_EVENT"),
];
