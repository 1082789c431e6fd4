//! The calls by name.

use std::collections::BTreeMap;

use anabranch_sctp::{AssociationId, CloseReason, Config, Event};

use super::answer::{Answer, Answered};
use super::socket::{Link, Socket};
use super::{ancillary, fields, notify, options, path_options, receive, send};
use crate::names::constant;
use crate::network::{Network, Port, SERVER_PORT};
use crate::syntax::Call;
use crate::value::{Field, Value};

/// The id of the first association; 0 to 2 have meanings of their own (SCTP_FUTURE_ASSOC and so on).
const FIRST_NUMBER: i64 = 3;

/// All sockets of a script, by descriptor.
#[derive(Debug)]
pub(crate) struct Sockets {
    all: BTreeMap<i64, Socket>,
    config: Config,
    /// The id of the next association.
    next_number: i64,
}

impl Sockets {
    /// No sockets; `config` is the configuration of each new one.
    pub(crate) fn new(config: Config) -> Self {
        Self { all: BTreeMap::new(), config, next_number: FIRST_NUMBER }
    }

    /// The configuration of sockets that are made from now on.
    pub(crate) fn config_mut(&mut self) -> &mut Config {
        &mut self.config
    }

    /// Hands events of the stack to the sockets that they belong to.
    pub(crate) fn take_events(&mut self, network: &mut Network) {
        while let Some((port, id, event)) = network.next_event() {
            self.take_event(port, id, &event, network);
            if let Event::SendFailed { .. } = event {
                self.take_back(port, id, network);
            }
        }
        for socket in self.all.values_mut() {
            for link in socket.links.iter_mut().chain(&mut socket.backlog).filter(|link| link.number == 0) {
                link.number = self.next_number;
                self.next_number += 1;
            }
            tell_dry(socket, network);
        }
    }

    /// Tells the user of each message that was not delivered.
    fn take_back(&mut self, port: Port, id: AssociationId, network: &mut Network) {
        let is = |link: &Link| link.port == port && link.id == id;
        let Some(mut association) = network.endpoint(port).and_then(|endpoint| endpoint.association(id))
        else {
            return;
        };
        let mut messages = Vec::new();
        messages.extend(std::iter::from_fn(|| association.receive_unacknowledged()));
        messages.extend(std::iter::from_fn(|| association.receive_unsent()));
        for socket in self.all.values_mut().filter(|socket| socket.links.iter().any(is)) {
            for note in messages.iter().flat_map(notify::failed) {
                push(socket, note);
            }
        }
    }

    fn take_event(&mut self, port: Port, id: AssociationId, event: &Event, network: &Network) {
        let is = |link: &Link| link.port == port && link.id == id;
        if matches!(event, Event::Accepted { .. }) {
            let listener = self.all.values_mut().find(|socket| socket.port == Some(port) && socket.listening);
            if let Some(socket) = listener {
                let streams = (socket.config.streams.outbound, socket.config.streams.inbound);
                let link = Link { established: true, told: socket.many, streams, ..Link::new(port, id) };
                if socket.many {
                    socket.links.push(link.clone());
                    tell(socket, event, &link, true, network);
                } else {
                    socket.backlog.push_back(link);
                }
            }
            return;
        }
        for socket in self.all.values_mut() {
            if let Some(link) = socket.backlog.iter_mut().find(|link| is(link)) {
                happen(link, event);
                continue;
            }
            let many = socket.many;
            let Some(link) = socket.links.iter_mut().find(|link| is(link)) else { continue };
            let was_up = link.established;
            // After a restart it is established anew; the user has heard that already.
            let known = link.told;
            link.told |= matches!(event, Event::Established { .. });
            let error = happen(link, event);
            let link = link.clone();
            if !many {
                socket.error = error.or(socket.error);
            }
            if !(known && matches!(event, Event::Established { .. })) {
                tell(socket, event, &link, was_up, network);
            }
        }
    }

    /// Does a call. `first` is false when it has blocked before.
    pub(crate) fn call(&mut self, call: &Call, first: bool, network: &mut Network) -> Answered {
        fields::check_call(&call.name, call.args.len())?;
        let wanted = call.result.as_ref().and_then(Value::number);
        match call.name.as_str() {
            "socket" => return self.socket(call, wanted),
            "poll" => return self.poll(call, network),
            "sctp_freepaddrs" | "sctp_freeladdrs" => return Ok(Answer::done()),
            _ => {}
        }
        let Some(fd) = number(call, 0) else {
            return Err(format!("{}: the first argument is a descriptor", call.name));
        };
        match call.name.as_str() {
            "accept" => return Ok(self.accept(fd, wanted, network)),
            "sctp_peeloff" => return Ok(self.peel_off(fd, number(call, 1), wanted)),
            "close" => return Ok(self.close(fd, network)),
            _ => {}
        }
        let Some(socket) = self.all.get_mut(&fd) else { return Ok(Answer::Fails("EBADF")) };
        let any = Value::Any;
        let arg = |index: usize| call.args.get(index).unwrap_or(&any);
        Ok(match call.name.as_str() {
            "bind" | "sctp_bindx" => {
                let port = arg(1).number_of("sin_port").map_or(SERVER_PORT, |port| port as u16);
                if socket.port.is_some() || socket.bound.is_some() {
                    Answer::Fails("EINVAL")
                } else {
                    socket.bound = Some(port);
                    Answer::done()
                }
            }
            "listen" if arg(1).number() == Some(0) => stop_listening(socket, network),
            "listen" => listen(socket, network),
            // A caller that asks for the id of the association is told that it begins, not that it is up (RFC 6458,
            // 9.9).
            "sctp_connectx" => match connect(socket, first, network) {
                Answer::Fails("EINPROGRESS") if socket.many || call.args.len() > 3 => Answer::done(),
                answer => answer,
            },
            "connect" => connect(socket, first, network),
            "shutdown" => shutdown(socket, arg(1).number().unwrap_or(2), network),
            "fcntl" => match arg(1).number() {
                Some(command) if Some(command) == constant("F_GETFL") => {
                    Answer::number(if socket.nonblocking { 6 } else { 2 })
                }
                Some(command) if Some(command) == constant("F_SETFL") => {
                    socket.nonblocking = arg(2).number().unwrap_or(0) & 4 != 0;
                    Answer::done()
                }
                _ => return Err(format!("fcntl: unknown command {}; allowed: F_GETFL, F_SETFL", arg(1))),
            },
            "setsockopt" => options::set(socket, network, arg(2), arg(3), arg(4))?,
            "getsockopt" => options::get(socket, network, arg(2), arg(3), arg(4))?,
            "sctp_getpaddrs" if socket.link().is_some() => listed(network.peer()),
            "sctp_getpaddrs" => Answer::Fails("ENOTCONN"),
            "sctp_getladdrs" => match socket.port {
                Some(port) => listed(network.local(port)),
                None => Answer::Fails("ENOTCONN"),
            },
            "write" | "send" | "sendmsg" | "sctp_sendmsg" | "sctp_send" | "sctp_sendx" | "sctp_sendv" => {
                write(socket, call, network)
            }
            _ => read(socket, call, network),
        })
    }

    fn add(&mut self, wanted: Option<i64>, socket: Socket) -> i64 {
        let free = || (3..).find(|fd| !self.all.contains_key(fd)).unwrap_or(3);
        let fd = wanted.filter(|fd| *fd >= 0 && !self.all.contains_key(fd)).unwrap_or_else(free);
        self.all.insert(fd, socket);
        fd
    }

    fn socket(&mut self, call: &Call, wanted: Option<i64>) -> Answered {
        let many = match call.args.get(1) {
            Some(Value::Word(word)) if word == "SOCK_STREAM" => false,
            Some(Value::Word(word)) if word == "SOCK_SEQPACKET" => true,
            other => {
                let found = other.map_or("nothing".to_owned(), ToString::to_string);
                return Err(format!("socket: unknown type {found}; allowed: SOCK_STREAM, SOCK_SEQPACKET"));
            }
        };
        let socket = Socket::new(many, self.config.clone());
        Ok(Answer::Returns(self.add(wanted, socket), Vec::new()))
    }

    fn accept(&mut self, fd: i64, wanted: Option<i64>, network: &Network) -> Answer {
        let Some(socket) = self.all.get_mut(&fd) else { return Answer::Fails("EBADF") };
        if !socket.listening {
            return Answer::Fails("EINVAL");
        }
        match socket.backlog.pop_front() {
            Some(link) => {
                let mut accepted = socket.accepted(Link { told: true, ..link.clone() });
                let (outbound_streams, inbound_streams) = link.streams;
                let up = Event::Established { outbound_streams, inbound_streams };
                tell(&mut accepted, &up, &link, true, network);
                if let Some(code_point) = link.adaptation {
                    tell(&mut accepted, &Event::AdaptationIndication { code_point }, &link, true, network);
                }
                Answer::Returns(self.add(wanted, accepted), Vec::new())
            }
            None if socket.nonblocking => Answer::Fails("EAGAIN"),
            None => Answer::Blocks,
        }
    }

    fn peel_off(&mut self, fd: i64, number: Option<i64>, wanted: Option<i64>) -> Answer {
        let Some(socket) = self.all.get_mut(&fd) else { return Answer::Fails("EBADF") };
        let Some(link) = socket.links.len().checked_sub(1).map(|last| socket.at(number).unwrap_or(last))
        else {
            return Answer::Fails("ENOTCONN");
        };
        let link = socket.links.remove(link);
        let peeled = socket.accepted(link);
        Answer::Returns(self.add(wanted, peeled), Vec::new())
    }

    fn close(&mut self, fd: i64, network: &mut Network) -> Answer {
        let Some(mut socket) = self.all.remove(&fd) else { return Answer::Fails("EBADF") };
        let links: Vec<Link> = socket.links.drain(..).chain(socket.backlog.drain(..)).collect();
        let now = network.now;
        for link in links.iter().filter(|link| !link.closed) {
            let Some(mut association) = network.endpoint(link.port).and_then(|e| e.association(link.id))
            else {
                continue;
            };
            // Unread data can no longer be read: the association is aborted, as all systems do, so that the peer hears
            // of it.
            let unread = association.receive().is_some() || !link.waiting.is_empty();
            if socket.linger == Some(0) || unread {
                association.abort(now, &[]);
            } else if !link.shut {
                association.shutdown(now);
            }
        }
        if socket.listening {
            if let Some(port) = socket.port {
                network.stop_listening(port);
            }
        }
        Answer::done()
    }

    fn poll(&mut self, call: &Call, network: &mut Network) -> Answered {
        let Some(Value::List(items)) = call.args.first() else {
            return Err("poll: the first argument is a list such as [{fd=3, events=POLLIN, revents=POLLIN}]"
                .to_owned());
        };
        let mut ready = 0;
        let mut shown = Vec::new();
        for item in items {
            let by_place = |index: usize| item.fields().get(index).and_then(|field| field.value.number());
            let fd = item.number_of("fd").or_else(|| by_place(0)).unwrap_or(-1);
            let asked = item.number_of("events").or_else(|| by_place(1)).unwrap_or(0);
            let mut found = 0;
            if let Some(socket) = self.all.get(&fd) {
                let up = socket.link().is_some_and(|link| link.established && !link.closed);
                found |= i64::from(receive::is_readable(socket, network));
                found |= if up || socket.error.is_some() { 4 } else { 0 };
                found &= asked;
                found |= if socket.error.is_some() { 8 } else { 0 };
            }
            ready += i64::from(found != 0);
            shown.push(Value::Record(vec![
                Field::keyed("fd", Value::Number(fd)),
                Field::keyed("events", Value::Number(asked)),
                Field::keyed("revents", Value::Number(found)),
            ]));
        }
        let patient = number(call, 2) != Some(0);
        if ready == 0 && patient {
            return Ok(Answer::Blocks);
        }
        Ok(Answer::Returns(ready, vec![(0, Value::List(shown))]))
    }
}

/// Applies an event to an association. Returns the error of its socket that follows, if any.
fn happen(link: &mut Link, event: &Event) -> Option<&'static str> {
    match event {
        Event::Established { outbound_streams, inbound_streams } => {
            link.established = true;
            link.streams = (*outbound_streams, *inbound_streams);
        }
        Event::PeerShutdown => link.ended = true,
        Event::AdaptationIndication { code_point } => link.adaptation = Some(*code_point),
        Event::Closed(reason) => {
            let error = match reason {
                CloseReason::Graceful | CloseReason::AbortedLocally => None,
                CloseReason::AbortedByPeer { .. }
                | CloseReason::PortUnreachable
                | CloseReason::ProtocolUnreachable => {
                    Some(if link.established { "ECONNRESET" } else { "ECONNREFUSED" })
                }
                CloseReason::ProtocolViolation { .. } => Some("ECONNABORTED"),
                CloseReason::Unreachable { .. }
                | CloseReason::ShutdownGuard
                | CloseReason::ShutdownDeadline => Some("ETIMEDOUT"),
            };
            link.closed = true;
            link.ended = true;
            link.error = error;
            return error;
        }
        _ => {}
    }
    None
}

/// Notifications that a socket has asked for.
fn tell(socket: &mut Socket, event: &Event, link: &Link, was_up: bool, network: &Network) {
    let mut features = vec!["SCTP_ASSOC_SUPPORTS_MULTIBUF"];
    if let Some(association) = network.view(link.port).and_then(|endpoint| endpoint.view(link.id)) {
        features.extend(association.interleaves().then_some("SCTP_ASSOC_SUPPORTS_INTERLEAVING"));
        features.extend(association.reconfigures().then_some("SCTP_ASSOC_SUPPORTS_RE_CONFIG"));
    }
    let mut notes = notify::of(event, link.streams, was_up, &features, network.last_error());
    if link.in_parts && matches!(event, Event::Closed(_)) {
        let stream = link.waiting.front().map_or(0, |message| message.stream);
        notes.insert(0, notify::partial(stream, None));
    }
    for note in notes {
        push(socket, note);
    }
}

fn push(socket: &mut Socket, note: notify::Notification) {
    if socket.subscribed.contains(&note.kind) {
        let queue = if note.late { &mut socket.late } else { &mut socket.early };
        queue.push_back(note.waiting);
    }
}

/// Tells users that have asked for it when all their messages are acknowledged, and at once if nothing is in flight when
/// they begin to ask (RFC 6458, 6.1.9).
fn tell_dry(socket: &mut Socket, network: &Network) {
    let wanted = constant("SCTP_SENDER_DRY_EVENT").is_some_and(|kind| socket.subscribed.contains(&kind));
    let mut became_dry = 0;
    for link in &mut socket.links {
        let association = network.view(link.port).and_then(|endpoint| endpoint.view(link.id));
        let is_dry = association.is_some_and(|association| {
            association.queued_bytes() == 0 && association.unacknowledged_chunks() == 0
        });
        let dry = wanted && link.established && !link.closed && is_dry;
        became_dry += usize::from(dry && !link.dry);
        link.dry = dry;
    }
    for _ in 0..became_dry {
        push(socket, notify::dry());
    }
}

/// sctp_getpaddrs and sctp_getladdrs: one address.
fn listed(address: std::net::SocketAddr) -> Answer {
    Answer::Returns(1, vec![(2, Value::List(vec![ancillary::address(address)]))])
}

fn number(call: &Call, index: usize) -> Option<i64> {
    call.args.get(index).and_then(Value::number)
}

fn open(socket: &mut Socket, network: &mut Network) -> Port {
    let port = socket.port.unwrap_or_else(|| network.open(socket.bound));
    socket.port = Some(port);
    port
}

fn listen(socket: &mut Socket, network: &mut Network) -> Answer {
    if socket.bound.is_none() {
        socket.bound = Some(SERVER_PORT);
    }
    open(socket, network);
    socket.listening = true;
    options::relisten(socket, network);
    Answer::done()
}

/// A backlog of 0 ends listening (RFC 6458, 3.1.3).
fn stop_listening(socket: &mut Socket, network: &mut Network) -> Answer {
    socket.listening = false;
    if let Some(port) = socket.port {
        network.stop_listening(port);
    }
    Answer::done()
}

/// The peer's UDP port that the user has named.
fn udp_port(socket: &Socket) -> u16 {
    let kept = socket.kept.get("SCTP_REMOTE_UDP_ENCAPS_PORT");
    kept.and_then(|value| value.number_of("sue_port")).and_then(|port| u16::try_from(port).ok()).unwrap_or(0)
}

fn connect(socket: &mut Socket, first: bool, network: &mut Network) -> Answer {
    if socket.listening && !socket.many {
        return Answer::Fails("EOPNOTSUPP");
    }
    if socket.links.is_empty() {
        let port = open(socket, network);
        let Some(id) = network.connect(port, socket.config.clone(), udp_port(socket)) else {
            return Answer::Fails("EADDRINUSE");
        };
        socket.links.push(Link::new(port, id));
        network.settle();
        return if socket.nonblocking { Answer::Fails("EINPROGRESS") } else { Answer::Blocks };
    }
    let (established, closed) = socket.link().map_or((false, false), |link| (link.established, link.closed));
    if !first && closed && !established {
        return Answer::Fails(socket.error.take().unwrap_or("ECONNREFUSED"));
    }
    match (established, first) {
        (true, false) => Answer::done(),
        (true, true) => Answer::Fails("EISCONN"),
        (false, true) => Answer::Fails("EALREADY"),
        (false, false) => Answer::Blocks,
    }
}

fn shutdown(socket: &mut Socket, how: i64, network: &mut Network) -> Answer {
    let now = network.now;
    if !(0..=2).contains(&how) {
        return Answer::Fails("EINVAL");
    }
    // Closing one half of one association of many has no meaning (RFC 6458, 3.1).
    if socket.many {
        return Answer::Fails("EOPNOTSUPP");
    }
    let Some(link) = socket.link_mut().filter(|link| !link.closed) else { return Answer::Fails("ENOTCONN") };
    // Nothing is sent when only reading ends (RFC 6458, 4.1.7).
    link.deaf |= how != 1;
    if how != 0 {
        link.shut = true;
        if let Some(mut association) = network.endpoint(link.port).and_then(|e| e.association(link.id)) {
            association.shutdown(now);
        }
    }
    Answer::done()
}

fn write(socket: &mut Socket, call: &Call, network: &mut Network) -> Answer {
    let any = Value::Any;
    let arg = |index: usize| call.args.get(index).unwrap_or(&any);
    let asked = ancillary::of_call(socket, call);
    let (len, how) = (asked.len, asked.how);
    if let Some(number) = asked.association.filter(|_| socket.many) {
        match socket.at(Some(number)) {
            Some(at) => {
                let link = socket.links.remove(at);
                socket.links.push(link);
            }
            // Ids of another system's count; ours are told, too.
            None if socket.links.is_empty() && !asked.addressed => return Answer::Fails("ENOENT"),
            None => {}
        }
    }
    let fresh =
        if socket.many { socket.links.iter().all(|link| link.closed) } else { socket.links.is_empty() };
    // An endpoint that does not fragment refuses messages that do not fit a packet (RFC 9260, 6.9).
    if socket.switch("SCTP_DISABLE_FRAGMENTS")
        && len as i64 > path_options::fragmentation_point(socket, network)
    {
        return Answer::Fails("EMSGSIZE");
    }
    if fresh && !socket.many && (socket.listening || !asked.addressed) {
        return Answer::Fails(socket.error.take().unwrap_or("ENOTCONN"));
    }
    if fresh {
        // The first message to an address sets up the association (RFC 6458, 3.1.5 and 4.1.5).
        let port = open(socket, network);
        let mut config = socket.config.clone();
        if let Some(init) = &asked.init {
            options::configure(&mut config, "SCTP_INITMSG", init);
            // The message that begins the association uses a stream that it asks for.
            config.streams.outbound = config.streams.outbound.max(how.stream.saturating_add(1));
        }
        if let Some(id) = network.connect(port, config, udp_port(socket)) {
            socket.links.push(Link::new(port, id));
        }
    }
    send::send(socket, network, len, arg(1), &how)
}

fn read(socket: &mut Socket, call: &Call, network: &mut Network) -> Answer {
    let any = Value::Any;
    let arg = |index: usize| call.args.get(index).unwrap_or(&any);
    let (room, flags) = match call.name.as_str() {
        "sctp_recvv" => (ancillary::room_of(arg(1)), arg(8)),
        "recvmsg" => (arg(1).get("msg_iov").map_or(0, ancillary::room_of), arg(2)),
        "recv" => (length(arg(2)), arg(3)),
        "sctp_recvmsg" => (length(arg(2)), arg(6)),
        _ => (length(arg(2)), &any),
    };
    // The call also writes its resulting flags to this place: of the flags in the script, only MSG_PEEK and MSG_DONTWAIT are read.
    let has = |name: &str| constant(name).is_some_and(|flag| flags.number().unwrap_or(0) & flag != 0);
    let read = match receive::read(socket, network, room, has("MSG_PEEK")) {
        Ok(read) => read,
        Err(Answer::Blocks) if has("MSG_DONTWAIT") => return Answer::Fails("EAGAIN"),
        Err(answer) => return answer,
    };
    let peek = if has("MSG_PEEK") { constant("MSG_PEEK").unwrap_or(0) } else { 0 };
    let flags = Value::List(vec![Value::Number(read.flags | peek)]);
    let name = if read.len > 0 { ancillary::address(network.peer()) } else { Value::Any };
    let vector = |content: &Value| {
        Value::List(vec![Value::Record(vec![
            Field::keyed("iov_base", content.clone()),
            Field::keyed("iov_len", Value::Any),
        ])])
    };
    let out = match call.name.as_str() {
        "sctp_recvmsg" => {
            let info = read.message.as_ref().map(|message| receive::info(message, socket.context()));
            vec![(1, read.content), (3, name), (5, info.unwrap_or(Value::Any)), (6, flags)]
        }
        "sctp_recvv" => {
            let room = arg(6).number().unwrap_or(i64::MAX);
            let room = if *arg(5) == Value::Word("NULL".to_owned()) { 0 } else { room };
            let (info, len, kind) = receive::described(socket, &read, room);
            let kind = Value::List(vec![Value::Word(kind.to_owned())]);
            let len = Value::List(vec![Value::Number(len)]);
            let iov = if read.message.is_none() { vector(&read.content) } else { Value::Any };
            let name = if matches!(arg(3), Value::Word(_)) { Value::Any } else { name };
            vec![(1, iov), (3, name), (5, info), (6, len), (7, kind), (8, flags)]
        }
        "recvmsg" => {
            let iov = if read.message.is_none() { vector(&read.content) } else { Value::Any };
            vec![(
                1,
                Value::Record(vec![
                    Field::keyed("msg_name", name),
                    Field::keyed("msg_iov", iov),
                    Field::keyed("msg_control", receive::ancillary(socket, &read)),
                    Field::keyed("msg_flags", Value::Number(read.flags | peek)),
                ]),
            )]
        }
        _ => vec![(1, read.content)],
    };
    Answer::Returns(read.len as i64, out)
}

fn length(value: &Value) -> usize {
    value.number().unwrap_or(0).max(0) as usize
}
