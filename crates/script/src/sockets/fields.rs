//! The names in records of options, and how many arguments a call takes: a misspelt one must not be taken for none.

use anabranch_base::Duration;

use super::notify::EVENT_FIELDS;
use crate::value::{Field, Value};

/// Options that carry a record, with its fields.
const RECORDS: &[(&str, &[&str])] = &[
    ("SO_LINGER", &["onoff", "linger", "l_onoff", "l_linger"]),
    ("SCTP_RTOINFO", &["srto_assoc_id", "srto_initial", "srto_max", "srto_min"]),
    (
        "SCTP_ASSOCINFO",
        &[
            "sasoc_assoc_id",
            "sasoc_asocmaxrxt",
            "sasoc_number_peer_destinations",
            "sasoc_peer_rwnd",
            "sasoc_local_rwnd",
            "sasoc_cookie_life",
        ],
    ),
    (
        "SCTP_INITMSG",
        &["sinit_num_ostreams", "sinit_max_instreams", "sinit_max_attempts", "sinit_max_init_timeo"],
    ),
    (
        "SCTP_PEER_ADDR_PARAMS",
        &[
            "spp_assoc_id",
            "spp_address",
            "spp_hbinterval",
            "spp_pathmaxrxt",
            "spp_pathmtu",
            "spp_sackdelay",
            "spp_flags",
            "spp_ipv6_flowlabel",
            "spp_dscp",
        ],
    ),
    ("SCTP_DELAYED_SACK", &["sack_assoc_id", "sack_delay", "sack_freq"]),
    (
        "SCTP_STATUS",
        &[
            "sstat_assoc_id",
            "sstat_state",
            "sstat_rwnd",
            "sstat_unackdata",
            "sstat_penddata",
            "sstat_instrms",
            "sstat_outstrms",
            "sstat_fragmentation_point",
            "sstat_primary",
        ],
    ),
    (
        "SCTP_GET_PEER_ADDR_INFO",
        &[
            "spinfo_assoc_id",
            "spinfo_address",
            "spinfo_state",
            "spinfo_cwnd",
            "spinfo_srtt",
            "spinfo_rto",
            "spinfo_mtu",
        ],
    ),
    ("SCTP_GET_ASSOC_ID_LIST", &["gaids_number_of_ids", "gaids_assoc_id"]),
    ("SCTP_EVENT", &["se_assoc_id", "se_type", "se_on"]),
    ("SCTP_RESET_STREAMS", &["srs_assoc_id", "srs_flags", "srs_number_streams", "srs_stream_list"]),
    ("SCTP_ADD_STREAMS", &["sas_assoc_id", "sas_instrms", "sas_outstrms"]),
    ("SCTP_DEFAULT_SNDINFO", &["snd_sid", "snd_flags", "snd_ppid", "snd_context", "snd_assoc_id"]),
];

/// A sentence when a record names a field that its option does not have.
pub(super) fn check(option: &str, value: &Value) -> Result<(), String> {
    let known: Vec<&str> = match RECORDS.iter().find(|(name, _)| *name == option) {
        Some((_, fields)) => fields.to_vec(),
        None if option == "SCTP_EVENTS" => std::iter::once("sctp_data_io_event")
            .chain(EVENT_FIELDS.iter().map(|(field, _)| *field))
            .collect(),
        None => return Ok(()),
    };
    for field in value.fields() {
        if let Some(key) = field.key.as_deref().filter(|key| !known.contains(key)) {
            return Err(format!("{option} has no field `{key}`; allowed: {}", known.join(", ")));
        }
    }
    Ok(())
}

/// Fields with numbers, and the id of an association, which matches anything.
pub(super) fn record(fields: Vec<(&str, i64)>) -> Value {
    let mut all = vec![Field::keyed("assoc_id", Value::Any)];
    all.extend(fields.into_iter().map(|(key, number)| Field::keyed(key, Value::Number(number))));
    Value::Record(all)
}

/// Milliseconds, as options have them.
pub(super) fn ms(duration: Duration) -> i64 {
    duration.as_millis() as i64
}

/// Every call with the number of its arguments: at least, at most.
pub(super) const CALLS: &[(&str, usize, usize)] = &[
    ("socket", 3, 3),
    ("bind", 3, 3),
    ("listen", 2, 2),
    ("accept", 3, 3),
    ("connect", 3, 3),
    ("read", 3, 3),
    ("write", 3, 3),
    ("recv", 4, 4),
    ("send", 4, 4),
    ("recvmsg", 3, 3),
    ("sendmsg", 3, 3),
    ("close", 1, 1),
    ("shutdown", 2, 2),
    ("fcntl", 2, 3),
    ("getsockopt", 5, 5),
    ("setsockopt", 5, 5),
    ("poll", 3, 3),
    ("sctp_sendmsg", 10, 10),
    ("sctp_recvmsg", 7, 7),
    ("sctp_send", 5, 5),
    ("sctp_sendx", 7, 7),
    ("sctp_sendv", 9, 9),
    ("sctp_recvv", 9, 9),
    ("sctp_bindx", 3, 4),
    ("sctp_connectx", 3, 4),
    ("sctp_peeloff", 2, 2),
    ("sctp_getpaddrs", 3, 3),
    ("sctp_getladdrs", 3, 3),
    ("sctp_freepaddrs", 1, 1),
    ("sctp_freeladdrs", 1, 1),
];

/// A sentence when there is no such call, or not with so many arguments.
pub(super) fn check_call(name: &str, arguments: usize) -> Result<(), String> {
    let Some((_, least, most)) = CALLS.iter().find(|(known, _, _)| *known == name) else {
        let known: Vec<&str> = CALLS.iter().map(|(known, _, _)| *known).collect();
        return Err(format!("unknown call `{name}`; allowed: {}", known.join(", ")));
    };
    if (*least..=*most).contains(&arguments) {
        return Ok(());
    }
    let allowed = if least == most { least.to_string() } else { format!("{least} to {most}") };
    Err(format!("{name} takes {allowed} arguments, found {arguments}"))
}
