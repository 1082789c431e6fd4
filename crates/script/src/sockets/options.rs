//! getsockopt and setsockopt.

use anabranch_base::Duration;
use anabranch_sctp::config::{MaxBurst, MtuDiscovery};
use anabranch_sctp::{Config, Direction, PathMtuError, Policy, State};

use super::ancillary;
use super::answer::{Answer, Answered};
use super::fields::{self, ms, record};
use super::notify::EVENT_FIELDS;
use super::path_options::{
    COMMON_HEADER, PMTUD_DISABLE, PMTUD_ENABLE, fixed_mtu, fragmentation_point, headers, keep,
    path_parameters, room_for_chunks,
};
use super::socket::Socket;
use crate::names::constant;
use crate::network::Network;
use crate::value::{Field, Value};

/// Options in groups: numbers and records that change the configuration, then those that are kept only, and
/// commands.
pub(crate) const OPTIONS: &[&str] = &[
    "SO_ERROR",
    "SO_LINGER",
    "SO_RCVBUF",
    "SO_SNDBUF",
    "SCTP_RTOINFO",
    "SCTP_ASSOCINFO",
    "SCTP_INITMSG",
    "SCTP_PEER_ADDR_PARAMS",
    "SCTP_DELAYED_SACK",
    "SCTP_MAX_BURST",
    "SCTP_INTERLEAVING_SUPPORTED",
    "SCTP_RECONFIG_SUPPORTED",
    "SCTP_ENABLE_STREAM_RESET",
    "SCTP_STATUS",
    "SCTP_GET_PEER_ADDR_INFO",
    "SCTP_EVENTS",
    "SCTP_EVENT",
    "SCTP_RESET_STREAMS",
    "SCTP_ADD_STREAMS",
    "SCTP_RESET_ASSOC",
    "SCTP_NODELAY",
    "SCTP_MAXSEG",
    "SCTP_FRAGMENT_INTERLEAVE",
    "SCTP_RECVRCVINFO",
    "SCTP_RECVNXTINFO",
    "SCTP_DEFAULT_SNDINFO",
    "SCTP_DEFAULT_SEND_PARAM",
    "SCTP_AUTOCLOSE",
    "SCTP_CONTEXT",
    "SCTP_PARTIAL_DELIVERY_POINT",
    "SCTP_DISABLE_FRAGMENTS",
    "SCTP_PRIMARY_ADDR",
    "SCTP_ADAPTATION_LAYER",
    "SCTP_REMOTE_UDP_ENCAPS_PORT",
    "SCTP_I_WANT_MAPPED_V4_ADDR",
    "SCTP_USE_EXT_RCVINFO",
    "SCTP_EXPLICIT_EOR",
    "SCTP_REUSE_PORT",
    "SCTP_DEFAULT_PRINFO",
    "SCTP_PR_SUPPORTED",
    "SCTP_PR_STREAM_STATUS",
    "SCTP_PR_ASSOC_STATUS",
    "SCTP_ECN_SUPPORTED",
    "SCTP_AUTH_SUPPORTED",
    "SCTP_ASCONF_SUPPORTED",
    "SCTP_NRSACK_SUPPORTED",
    "SCTP_PKTDROP_SUPPORTED",
    "SCTP_GET_ASSOC_NUMBER",
    "SCTP_GET_ASSOC_ID_LIST",
    "SO_REUSEADDR",
    "SO_REUSEPORT",
];

/// Structures that are as long everywhere: the bytes that an option may be given with.
const SIZES: &[(&str, &[i64])] = &[
    ("SCTP_RTOINFO", &[16]),
    ("SCTP_ASSOCINFO", &[20]),
    ("SCTP_INITMSG", &[8]),
    ("SCTP_DELAYED_SACK", &[8, 12]),
    ("SCTP_MAX_BURST", &[4, 8]),
    ("SCTP_MAXSEG", &[4, 8]),
    ("SCTP_EVENT", &[8]),
    ("SO_LINGER", &[8]),
];

/// Options that are one number.
const NUMBERS: &[&str] = &[
    "SCTP_NODELAY",
    "SCTP_RECVRCVINFO",
    "SCTP_RECVNXTINFO",
    "SCTP_DISABLE_FRAGMENTS",
    "SO_RCVBUF",
    "SO_SNDBUF",
];

/// Whether the length that setsockopt is given fits the option.
fn fits(option: &str, len: &Value) -> bool {
    let Some(len) = len.number() else { return true };
    match SIZES.iter().find(|(name, _)| *name == option) {
        Some((_, sizes)) => sizes.contains(&len),
        None if NUMBERS.contains(&option) => len >= 4,
        None => true,
    }
}

/// Whether the values of an option can stand beside each other.
fn makes_sense(config: &Config, option: &str, value: &Value) -> bool {
    let timers = &config.timers;
    match option {
        // RFC 6458, 8.1.1; an initial value that the user sets must lie between the others, that of a profile need not.
        "SCTP_RTOINFO" => {
            let said = value.number_of("srto_initial").is_some_and(|initial| initial > 0);
            timers.rto_min <= timers.rto_max
                && (!said || (timers.rto_min..=timers.rto_max).contains(&timers.rto_initial))
        }
        "SCTP_DELAYED_SACK" => {
            timers.rto_max > Duration::ZERO && config.sack.delay <= Duration::from_millis(500)
        }
        // "The call will fail if the user attempts to set this value larger than the socket receive buffer size" (RFC 6458, 8.1.21).
        "SCTP_PARTIAL_DELIVERY_POINT" => {
            config.limits.partial_delivery_bytes <= config.limits.receive_window as usize
        }
        "SCTP_FRAGMENT_INTERLEAVE" => number(value).is_none_or(|level| (0..=2).contains(&level)),
        _ => true,
    }
}

fn unknown(name: &Value) -> String {
    format!("unknown option {name}; allowed: {}", OPTIONS.join(", "))
}

fn number(value: &Value) -> Option<i64> {
    value.number().or_else(|| value.number_of("assoc_value"))
}

/// Milliseconds, where 0 means: as it was.
fn milliseconds(value: &Value, key: &str, target: &mut Duration) {
    if let Some(ms) = value.number_of(key).and_then(|ms| u64::try_from(ms).ok()).filter(|ms| *ms > 0) {
        *target = Duration::from_millis(ms);
    }
}

fn count<T: TryFrom<i64>>(value: &Value, key: &str, target: &mut T) {
    if let Some(number) = value.number_of(key).filter(|number| *number > 0) {
        if let Ok(number) = T::try_from(number) {
            *target = number;
        }
    }
}

/// setsockopt(fd, level, name, value, len).
pub(crate) fn set(
    socket: &mut Socket,
    network: &mut Network,
    name: &Value,
    value: &Value,
    len: &Value,
) -> Answered {
    let Value::Word(word) = name else { return Err(unknown(name)) };
    // A place such as `[1]` holds one value.
    let value = match value {
        Value::List(items) if items.len() == 1 => &items[0],
        value => value,
    };
    let Some(known) = OPTIONS.iter().find(|known| *known == word) else { return Err(unknown(name)) };
    fields::check(known, value)?;
    if !fits(known, len) {
        return Ok(Answer::Fails("EINVAL"));
    }
    let answer = match *known {
        "SO_ERROR"
        | "SCTP_STATUS"
        | "SCTP_GET_PEER_ADDR_INFO"
        | "SCTP_GET_ASSOC_NUMBER"
        | "SCTP_GET_ASSOC_ID_LIST" => Answer::Fails("ENOPROTOOPT"),
        "SO_LINGER" => {
            let field = |key: &str, index: usize| {
                let by_place = value.fields().get(index).and_then(|field| field.value.number());
                value.number_of(key).or(by_place)
            };
            let on = field("onoff", 0).or_else(|| value.number_of("l_onoff"));
            let time = field("linger", 1).or_else(|| value.number_of("l_linger"));
            socket.linger = on.filter(|on| *on != 0).map(|_| time.unwrap_or(0));
            Answer::done()
        }
        "SCTP_EVENTS" | "SCTP_EVENT" => subscribe(socket, known, value)?,
        "SCTP_RESET_STREAMS" | "SCTP_ADD_STREAMS" | "SCTP_RESET_ASSOC" => {
            command(socket, network, known, value)
        }
        _ => {
            if *known == "SCTP_PEER_ADDR_PARAMS" && !fix_mtu(socket, network, value) {
                return Ok(Answer::Fails("EINVAL"));
            }
            let mut config = socket.config.clone();
            let is_of_the_core = configure(&mut config, known, value);
            if !makes_sense(&config, known, value) {
                return Ok(Answer::Fails("EINVAL"));
            }
            if is_of_the_core {
                socket.config = config;
                if let Err(answer) = change(socket, network, known, value) {
                    return Ok(answer);
                }
                keep(socket, known, value);
                if socket.listening {
                    relisten(socket, network);
                }
            } else {
                socket.kept.insert(known, value.clone());
            }
            Answer::done()
        }
    };
    Ok(answer)
}

/// "When PMTU discovery is disabled, the value of this field will be the 'fixed' path MTU", also of an association that is up; with
/// SPP_PMTUD_ENABLE it is looked for again (RFC 6458, 8.1.12). False: there is no such MTU.
fn fix_mtu(socket: &Socket, network: &mut Network, value: &Value) -> bool {
    let flags = value.number_of("spp_flags").unwrap_or(0);
    let mtu = fixed_mtu(headers(socket, network), value).filter(|_| flags & PMTUD_DISABLE != 0);
    if mtu.is_some_and(|mtu| mtu < PathMtuError::LEAST) {
        return false;
    }
    let now = network.now;
    let Some(link) = socket.link().filter(|link| !link.closed) else { return true };
    let association = network.endpoint(link.port).and_then(|endpoint| endpoint.association(link.id));
    let Some(mut association) = association else { return true };
    match mtu {
        Some(mtu) => association.set_path_mtu(now, mtu).is_ok(),
        // Without a new value the present path MTU is fixed.
        None if flags & PMTUD_DISABLE != 0 => {
            let mtu = association.path_mtu();
            association.set_path_mtu(now, mtu).is_ok()
        }
        None => {
            if flags & PMTUD_ENABLE != 0 {
                association.discover_path_mtu(now);
            }
            true
        }
    }
}

/// Changes the configuration of the socket's association, as far as it can change while the association is up.
fn change(socket: &Socket, network: &mut Network, name: &str, value: &Value) -> Result<(), Answer> {
    let now = network.now;
    let Some(link) = socket.link().filter(|link| !link.closed) else { return Ok(()) };
    let Some(mut association) =
        network.endpoint(link.port).and_then(|endpoint| endpoint.association(link.id))
    else {
        return Ok(());
    };
    let flags = value.number_of("spp_flags").filter(|_| name == "SCTP_PEER_ADDR_PARAMS").unwrap_or(0);
    let off = flags & 0x82 != 0;
    let change = |config: &mut Config| {
        let mut wanted = config.clone();
        configure(&mut wanted, name, value);
        // Disabling fixes the path MTU; the method of discovery is kept for when it is enabled again.
        if flags & PMTUD_DISABLE != 0 {
            wanted.path_mtu.discovery = config.path_mtu.discovery;
        }
        if off {
            // They are off for this association; its interval stays, for when they are on again.
            wanted.timers.heartbeat_interval = config.timers.heartbeat_interval;
        }
        config.take_changeable(&wanted);
    };
    association.update(now, change).map_err(|_| Answer::Fails("EINVAL"))?;
    let Some(address) = association.remote().map(|at| at.ip()) else { return Ok(()) };
    if off || flags & 1 != 0 {
        association.change_heartbeat(now, address, !off, None).map_err(|_| Answer::Fails("EINVAL"))?;
    }
    if flags & 4 != 0 {
        association.request_heartbeat(now, address).map_err(|_| Answer::Fails("ENOTCONN"))?;
    }
    Ok(())
}

/// Passes the socket's configuration to a listening endpoint, for associations that come later.
pub(crate) fn relisten(socket: &Socket, network: &mut Network) {
    let config = std::sync::Arc::new(socket.config.clone());
    if let Some(endpoint) = socket.port.and_then(|port| network.endpoint(port)) {
        // Subflow level sf2007 is the only reason to refuse, and scripts cannot ask for it.
        let _ = endpoint.listen(config);
    }
}

/// Puts the values of an option into a configuration. False: the option is none of the core's.
pub(crate) fn configure(config: &mut Config, name: &str, value: &Value) -> bool {
    match name {
        "SCTP_RTOINFO" => {
            milliseconds(value, "srto_initial", &mut config.timers.rto_initial);
            milliseconds(value, "srto_max", &mut config.timers.rto_max);
            milliseconds(value, "srto_min", &mut config.timers.rto_min);
        }
        "SCTP_ASSOCINFO" => {
            count(value, "sasoc_asocmaxrxt", &mut config.limits.association_max_retrans);
            count(value, "sasoc_local_rwnd", &mut config.limits.receive_window);
            milliseconds(value, "sasoc_cookie_life", &mut config.timers.valid_cookie_life);
        }
        "SCTP_INITMSG" => {
            count(value, "sinit_num_ostreams", &mut config.streams.outbound);
            count(value, "sinit_max_instreams", &mut config.streams.inbound);
            count(value, "sinit_max_attempts", &mut config.limits.max_init_retransmits);
            milliseconds(value, "sinit_max_init_timeo", &mut config.timers.rto_max_init);
        }
        "SCTP_PEER_ADDR_PARAMS" => {
            let flags = value.number_of("spp_flags").unwrap_or(0);
            milliseconds(value, "spp_hbinterval", &mut config.timers.heartbeat_interval);
            if flags & 0x82 != 0 {
                config.timers.heartbeat_interval = Duration::ZERO;
            }
            count(value, "spp_pathmaxrxt", &mut config.limits.path_max_retrans);
            // Either is the way to find out; how, the configuration says.
            if flags & PMTUD_DISABLE != 0 {
                config.path_mtu.discovery = MtuDiscovery::Off;
                config.mtu = fixed_mtu(config.ip_overhead + COMMON_HEADER, value).unwrap_or(config.mtu);
            } else if flags & PMTUD_ENABLE != 0 && config.path_mtu.discovery == MtuDiscovery::Off {
                config.path_mtu.discovery = MtuDiscovery::Icmp;
            }
        }
        "SCTP_DELAYED_SACK" => {
            milliseconds(value, "sack_delay", &mut config.sack.delay);
            count(value, "sack_freq", &mut config.sack.every);
        }
        "SCTP_MAXSEG" => config.limits.max_fragment = number(value).map_or(0, |bytes| bytes.max(0) as usize),
        "SCTP_PARTIAL_DELIVERY_POINT" => {
            config.limits.partial_delivery_bytes = number(value).map_or(0, |bytes| bytes.max(0) as usize);
        }
        "SCTP_MAX_BURST" => {
            config.congestion.max_burst = match number(value).unwrap_or(0) {
                0 => MaxBurst::Off,
                burst => MaxBurst::Clamp(burst.clamp(1, 65_535) as _),
            };
        }
        "SCTP_NODELAY" => config.congestion.nagle = number(value) == Some(0),
        "SCTP_INTERLEAVING_SUPPORTED" => config.extensions.interleaving = number(value) != Some(0),
        "SCTP_RECONFIG_SUPPORTED" => config.extensions.reconfiguration = number(value) != Some(0),
        "SCTP_PR_SUPPORTED" => config.extensions.partial_reliability = number(value) != Some(0),
        "SCTP_ENABLE_STREAM_RESET" => {
            let bits = number(value).unwrap_or(0);
            config.extensions.reconfiguration = true;
            config.extensions.peer_resets_streams = bits & 1 != 0;
            config.extensions.peer_resets_association = bits & 2 != 0;
            config.extensions.peer_adds_streams = bits & 4 != 0;
        }
        "SCTP_ADAPTATION_LAYER" => {
            let code_point = value.number_of("ssb_adaptation_ind").or_else(|| value.number()).unwrap_or(0);
            config.extensions.adaptation_indication = Some(code_point as u32);
        }
        "SO_RCVBUF" => config.limits.receive_window = number(value).map_or(0, |bytes| bytes as u32),
        "SO_SNDBUF" => config.limits.send_buffer = number(value).map_or(0, |bytes| bytes as usize),
        _ => return false,
    }
    true
}

fn subscribe(socket: &mut Socket, name: &str, value: &Value) -> Answered {
    let mut switch = |kind: i64, on: bool| {
        if on {
            socket.subscribed.insert(kind);
        } else {
            socket.subscribed.remove(&kind);
        }
    };
    if name == "SCTP_EVENT" {
        let by_place = |index: usize| value.fields().get(index).and_then(|field| field.value.number());
        let kind = value.number_of("se_type").or_else(|| by_place(1));
        let Some(kind) = kind else {
            return Err("SCTP_EVENT: `se_type` must name a notification".to_owned());
        };
        switch(kind, value.number_of("se_on").or_else(|| by_place(2)).unwrap_or(0) != 0);
        return Ok(Answer::done());
    }
    let mut data_io = false;
    for field in value.fields() {
        let Some(key) = &field.key else { continue };
        if key == "sctp_data_io_event" {
            data_io = field.value.number().unwrap_or(0) != 0;
        }
        let Some((_, kind)) = EVENT_FIELDS.iter().find(|(known, _)| known == key) else { continue };
        switch(constant(kind).unwrap_or(0), field.value.number().unwrap_or(0) != 0);
    }
    socket.data_io = data_io;
    Ok(Answer::done())
}

/// Requests of RFC 6525.
fn command(socket: &Socket, network: &mut Network, name: &str, value: &Value) -> Answer {
    let now = network.now;
    let Some(link) = socket.link().filter(|link| !link.closed) else { return Answer::Fails("ENOTCONN") };
    let Some(mut association) =
        network.endpoint(link.port).and_then(|endpoint| endpoint.association(link.id))
    else {
        return Answer::Fails("ENOTCONN");
    };
    let done = match name {
        "SCTP_RESET_STREAMS" => {
            let flags = value.number_of("srs_flags").unwrap_or(2);
            let direction = match flags & 3 {
                1 => Direction::Incoming,
                3 => Direction::Both,
                _ => Direction::Outgoing,
            };
            let streams: Vec<u16> = match value.get("srs_stream_list") {
                Some(Value::List(items)) => {
                    items.iter().filter_map(Value::number).map(|id| id as u16).collect()
                }
                _ => Vec::new(),
            };
            association.reset_streams(now, direction, &streams)
        }
        "SCTP_ADD_STREAMS" => {
            let streams = |key: &str| value.number_of(key).unwrap_or(0) as u16;
            association.add_streams(now, streams("sas_outstrms"), streams("sas_instrms"))
        }
        _ => association.reset_association(now),
    };
    match done {
        Ok(()) => Answer::done(),
        Err(anabranch_sctp::ReconfigError::NotSupported) => Answer::Fails("EOPNOTSUPP"),
        Err(anabranch_sctp::ReconfigError::TooManyRequests) => Answer::Fails("EALREADY"),
        Err(anabranch_sctp::ReconfigError::NotUp) => Answer::Fails("ENOTCONN"),
        Err(_) => Answer::Fails("EINVAL"),
    }
}

/// The ids of the associations of a socket.
fn ids(socket: &Socket) -> Vec<i64> {
    socket.links.iter().filter(|link| !link.closed).map(|link| link.number).collect()
}

/// getsockopt(fd, level, name, [value], [len]).
pub(crate) fn get(
    socket: &mut Socket,
    network: &Network,
    name: &Value,
    asked: &Value,
    len: &Value,
) -> Answered {
    let Value::Word(word) = name else { return Err(unknown(name)) };
    let Some(known) = OPTIONS.iter().find(|known| *known == word) else { return Err(unknown(name)) };
    fields::check(known, asked)?;
    let config = &socket.config;
    let value = if let Some(value) = configured(&socket.config, known) {
        value
    } else {
        match *known {
            "SO_ERROR" => {
                let error = socket.error.take();
                error.map_or(Value::Number(0), |error| Value::Word(error.to_owned()))
            }
            "SO_LINGER" => record(vec![
                ("onoff", i64::from(socket.linger.is_some())),
                ("linger", socket.linger.unwrap_or(0)),
                ("l_onoff", i64::from(socket.linger.is_some())),
                ("l_linger", socket.linger.unwrap_or(0)),
            ]),
            "SCTP_EVENT" => {
                let kind = asked.number_of("se_type").unwrap_or(0);
                record(vec![("se_type", kind), ("se_on", i64::from(socket.subscribed.contains(&kind)))])
            }
            "SCTP_EVENTS" => {
                let on = |kind: &str| constant(kind).is_some_and(|kind| socket.subscribed.contains(&kind));
                let mut all: Vec<(&str, i64)> =
                    EVENT_FIELDS.iter().map(|(field, kind)| (*field, i64::from(on(kind)))).collect();
                all.push(("sctp_data_io_event", i64::from(socket.data_io)));
                record(all)
            }
            "SCTP_ASSOCINFO" => record(vec![
                ("sasoc_asocmaxrxt", i64::from(config.limits.association_max_retrans)),
                ("sasoc_number_peer_destinations", i64::from(socket.link().is_some())),
                ("sasoc_peer_rwnd", socket.view(network).map_or(0, |a| a.peer_window() as i64)),
                ("sasoc_local_rwnd", i64::from(config.limits.receive_window)),
                ("sasoc_cookie_life", ms(config.timers.valid_cookie_life)),
            ]),
            "SCTP_PEER_ADDR_PARAMS" => path_parameters(socket, network),
            "SCTP_MAXSEG" => {
                let most = match config.limits.max_fragment as i64 {
                    // Until an association is up there is no path that could set a limit.
                    0 if socket.link().is_none() => 0,
                    0 => fragmentation_point(socket, network),
                    most => most,
                };
                record(vec![("assoc_value", most)])
            }
            "SCTP_GET_ASSOC_NUMBER" => Value::Number(ids(socket).len() as i64),
            "SCTP_GET_ASSOC_ID_LIST" => {
                let ids = ids(socket);
                if len.number().is_some_and(|len| len < 4 + 4 * ids.len() as i64) {
                    return Ok(Answer::Fails("EINVAL"));
                }
                Value::Record(vec![
                    Field::keyed("gaids_number_of_ids", Value::Number(ids.len() as i64)),
                    Field::keyed("gaids_assoc_id", Value::List(ids.into_iter().map(Value::Number).collect())),
                ])
            }
            "SCTP_PR_STREAM_STATUS" | "SCTP_PR_ASSOC_STATUS" => {
                match abandoned(socket, network, known, asked) {
                    Some(status) => status,
                    None => return Ok(Answer::Fails("EINVAL")),
                }
            }
            "SCTP_REMOTE_UDP_ENCAPS_PORT" if socket.link().is_some() => {
                let remote = socket.link().and_then(|link| network.view(link.port)?.view(link.id)?.remote());
                record(vec![("sue_port", i64::from(remote.map_or(0, |at| at.port())))])
            }
            "SCTP_STATUS" | "SCTP_GET_PEER_ADDR_INFO" => match status(socket, network) {
                Some((status, _)) if *known == "SCTP_STATUS" => status,
                Some((_, path)) => path,
                None => return Ok(Answer::Fails("EINVAL")),
            },
            _ => match socket.kept.get(known) {
                Some(kept) => kept.clone(),
                None if asked.fields().is_empty() => Value::Number(0),
                // Every field is 0 until the script sets it.
                None => record(
                    asked.fields().iter().filter_map(|field| Some((field.key.as_deref()?, 0))).collect(),
                ),
            },
        }
    };
    // A number may be asked for in the record that names an association, and the other way round.
    let value = match (asked, value.number_of("assoc_value")) {
        (Value::Record(_), _) | (_, None) => value,
        (_, Some(number)) => Value::Number(number),
    };
    let value = match (asked, &value) {
        (Value::Record(_), Value::Number(number)) => record(vec![("assoc_value", *number)]),
        _ => value,
    };
    Ok(Answer::Returns(0, vec![(3, value)]))
}

/// The value of an option in a configuration, if the option is a part of one.
fn configured(config: &Config, known: &str) -> Option<Value> {
    let flag = |on: bool| record(vec![("assoc_value", i64::from(on))]);
    Some(match known {
        "SO_RCVBUF" => Value::Number(i64::from(config.limits.receive_window)),
        "SO_SNDBUF" => Value::Number(config.limits.send_buffer as i64),
        "SCTP_RTOINFO" => record(vec![
            ("srto_initial", ms(config.timers.rto_initial)),
            ("srto_max", ms(config.timers.rto_max)),
            ("srto_min", ms(config.timers.rto_min)),
        ]),
        "SCTP_INITMSG" => record(vec![
            ("sinit_num_ostreams", i64::from(config.streams.outbound)),
            ("sinit_max_instreams", i64::from(config.streams.inbound)),
            ("sinit_max_attempts", i64::from(config.limits.max_init_retransmits)),
            ("sinit_max_init_timeo", ms(config.timers.longest_init_rto())),
        ]),
        "SCTP_DELAYED_SACK" => {
            record(vec![("sack_delay", ms(config.sack.delay)), ("sack_freq", i64::from(config.sack.every))])
        }
        "SCTP_MAX_BURST" => {
            let burst = match config.congestion.max_burst {
                MaxBurst::Clamp(burst) | MaxBurst::Acknowledged(burst) | MaxBurst::AfterRecovery(burst) => {
                    i64::from(burst)
                }
                MaxBurst::Off => 0,
            };
            record(vec![("assoc_value", burst)])
        }
        "SCTP_NODELAY" => Value::Number(i64::from(!config.congestion.nagle)),
        "SCTP_INTERLEAVING_SUPPORTED" => flag(config.extensions.interleaving),
        "SCTP_RECONFIG_SUPPORTED" => flag(config.extensions.reconfiguration),
        "SCTP_PR_SUPPORTED" => flag(config.extensions.partial_reliability),
        "SCTP_ENABLE_STREAM_RESET" => {
            let extensions = &config.extensions;
            let bits = i64::from(extensions.peer_resets_streams)
                | i64::from(extensions.peer_resets_association) << 1
                | i64::from(extensions.peer_adds_streams) << 2;
            record(vec![("assoc_value", bits)])
        }
        "SCTP_ADAPTATION_LAYER" => {
            let code_point = config.extensions.adaptation_indication.unwrap_or(0);
            record(vec![("ssb_adaptation_ind", i64::from(code_point))])
        }
        _ => return None,
    })
}

/// SCTP_PR_STREAM_STATUS and SCTP_PR_ASSOC_STATUS (RFC 7496, 4.3 and 4.4); the stream and the policy are those of the record that is
/// handed in.
fn abandoned(socket: &Socket, network: &Network, option: &str, asked: &Value) -> Option<Value> {
    let association = socket.view(network)?;
    let policy = asked.number_of("sprstat_policy")?;
    let which = match policy {
        1 => Some(Policy::Lifetime),
        2 => Some(Policy::Priority),
        3 => Some(Policy::Retransmissions),
        // SCTP_PR_SCTP_ALL.
        0xF => None,
        _ => return None,
    };
    let stream = asked.number_of("sprstat_sid").filter(|_| option == "SCTP_PR_STREAM_STATUS");
    let count = association.abandoned(stream.and_then(|stream| u16::try_from(stream).ok()), which);
    Some(record(vec![
        ("sprstat_sid", stream.unwrap_or(0)),
        ("sprstat_policy", policy),
        ("sprstat_abandoned_unsent", count.unsent as i64),
        ("sprstat_abandoned_sent", count.sent as i64),
    ]))
}

/// SCTP_STATUS and SCTP_GET_PEER_ADDR_INFO of the association.
fn status(socket: &Socket, network: &Network) -> Option<(Value, Value)> {
    let link = socket.link()?;
    let association = socket.view(network)?;
    let state = match association.state() {
        State::CookieWait => "SCTP_COOKIE_WAIT",
        State::CookieEchoed => "SCTP_COOKIE_ECHOED",
        State::Established => "SCTP_ESTABLISHED",
        State::ShutdownPending => "SCTP_SHUTDOWN_PENDING",
        State::ShutdownSent => "SCTP_SHUTDOWN_SENT",
        State::ShutdownReceived => "SCTP_SHUTDOWN_RECEIVED",
        State::ShutdownAckSent => "SCTP_SHUTDOWN_ACK_SENT",
        State::Closed => return None,
    };
    let stats = association.stats();
    let word = |word: &str| Value::Word(word.to_owned());
    let number = |number: i64| Value::Number(number);
    let path = Value::Record(vec![
        Field::keyed("spinfo_address", ancillary::address(network.peer())),
        Field::keyed("spinfo_assoc_id", Value::Any),
        Field::keyed("spinfo_state", word("SCTP_ACTIVE")),
        Field::keyed("spinfo_cwnd", number(stats.cwnd as i64)),
        Field::keyed("spinfo_srtt", number(stats.srtt.map_or(0, ms))),
        Field::keyed("spinfo_rto", number(ms(stats.rto))),
        Field::keyed("spinfo_mtu", number(room_for_chunks(socket, network))),
    ]);
    let pending = if association.queued_bytes() == 0 { number(0) } else { Value::Any };
    let status = Value::Record(vec![
        Field::keyed("sstat_assoc_id", Value::Any),
        Field::keyed("sstat_state", word(state)),
        Field::keyed("sstat_rwnd", number(association.peer_window() as i64)),
        Field::keyed("sstat_unackdata", number(association.unacknowledged_chunks() as i64)),
        Field::keyed("sstat_penddata", pending),
        Field::keyed("sstat_instrms", number(i64::from(link.streams.1))),
        Field::keyed("sstat_outstrms", number(i64::from(association.outbound_streams()))),
        Field::keyed("sstat_fragmentation_point", number(fragmentation_point(socket, network))),
        Field::keyed("sstat_primary", path.clone()),
    ]);
    Some((status, path))
}
