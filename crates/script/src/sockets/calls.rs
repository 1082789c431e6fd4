//! The calls by name.

use std::collections::BTreeMap;

use anabranch_sctp::{AssociationId, CloseReason, Config, Event};

use super::answer::{Answer, Answered};
use super::socket::{Link, Socket};
use super::{fields, notify, options, receive, send};
use crate::names::constant;
use crate::network::{Network, Port, SERVER_PORT};
use crate::syntax::Call;
use crate::value::{Field, Value};

/// All sockets of a script, by descriptor.
#[derive(Debug)]
pub(crate) struct Sockets {
    all: BTreeMap<i64, Socket>,
    config: Config,
}

impl Sockets {
    /// With what each socket is told at its beginning.
    pub(crate) fn new(config: Config) -> Self {
        Self { all: BTreeMap::new(), config }
    }

    /// Changes what sockets are told that are made from now on.
    pub(crate) fn config_mut(&mut self) -> &mut Config {
        &mut self.config
    }

    /// Hands events of the stack to the sockets that they belong to.
    pub(crate) fn take_events(&mut self, network: &mut Network) {
        while let Some((port, id, event)) = network.next_event() {
            self.take_event(port, id, &event);
            if let Event::SendFailed { .. } = event {
                self.take_back(port, id, network);
            }
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
                queue(socket, note);
            }
        }
    }

    fn take_event(&mut self, port: Port, id: AssociationId, event: &Event) {
        let is = |link: &Link| link.port == port && link.id == id;
        if *event == Event::Accepted {
            let listener = self.all.values_mut().find(|socket| socket.port == Some(port) && socket.listening);
            if let Some(socket) = listener {
                let streams = (socket.config.streams.outbound, socket.config.streams.inbound);
                let link = Link { established: true, told: socket.many, streams, ..Link::new(port, id) };
                if socket.many {
                    socket.links.push(link);
                    tell(socket, event, streams, true);
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
            let (was_up, streams) = (link.established, link.streams);
            // After a restart it is established anew; the user has heard that already.
            let known = link.told;
            link.told |= matches!(event, Event::Established { .. });
            let error = happen(link, event);
            if !many {
                socket.error = error.or(socket.error);
            }
            if !(known && matches!(event, Event::Established { .. })) {
                tell(socket, event, streams, was_up);
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
            "accept" => return Ok(self.accept(fd, wanted)),
            "sctp_peeloff" => return Ok(self.peel_off(fd, wanted)),
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
            "connect" | "sctp_connectx" => connect(socket, first, network),
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
            "setsockopt" => options::set(socket, network, arg(2), arg(3))?,
            "getsockopt" => options::get(socket, network, arg(2), arg(3))?,
            "sctp_getpaddrs" | "sctp_getladdrs" if socket.link().is_some() => Answer::number(1),
            "sctp_getpaddrs" | "sctp_getladdrs" => Answer::Fails("ENOTCONN"),
            "write" | "send" | "sendmsg" | "sctp_sendmsg" | "sctp_send" | "sctp_sendv" => {
                write(socket, call, network)?
            }
            _ => read(socket, call, network)?,
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

    fn accept(&mut self, fd: i64, wanted: Option<i64>) -> Answer {
        let Some(socket) = self.all.get_mut(&fd) else { return Answer::Fails("EBADF") };
        if !socket.listening {
            return Answer::Fails("EINVAL");
        }
        match socket.backlog.pop_front() {
            Some(link) => {
                let (streams, adaptation) = (link.streams, link.adaptation);
                let mut accepted = socket.accepted(Link { told: true, ..link });
                tell(&mut accepted, &Event::Accepted, streams, true);
                if let Some(code_point) = adaptation {
                    tell(&mut accepted, &Event::AdaptationIndication { code_point }, streams, true);
                }
                Answer::Returns(self.add(wanted, accepted), Vec::new())
            }
            None if socket.nonblocking => Answer::Fails("EAGAIN"),
            None => Answer::Blocks,
        }
    }

    fn peel_off(&mut self, fd: i64, wanted: Option<i64>) -> Answer {
        let Some(socket) = self.all.get_mut(&fd) else { return Answer::Fails("EBADF") };
        let Some(link) = socket.links.pop() else { return Answer::Fails("ENOTCONN") };
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
            // What is unread cannot be read any more: the peer must hear of it, as all systems have it.
            let unread = association.receive().is_some() || link.rest.is_some();
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

/// What an event means for an association. Answers the error that its socket has then.
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
                CloseReason::AbortedByPeer { .. } if !link.established => Some("ECONNREFUSED"),
                CloseReason::AbortedByPeer { .. } => Some("ECONNRESET"),
                CloseReason::ProtocolViolation { .. } => Some("ECONNABORTED"),
                CloseReason::Unreachable { .. } | CloseReason::ShutdownGuard => Some("ETIMEDOUT"),
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
fn tell(socket: &mut Socket, event: &Event, streams: (u16, u16), was_up: bool) {
    for note in notify::of(event, streams, was_up) {
        queue(socket, note);
    }
}

fn queue(socket: &mut Socket, note: notify::Notification) {
    if socket.subscribed.contains(&note.kind) {
        let queue = if note.late { &mut socket.late } else { &mut socket.early };
        queue.push_back(note.waiting);
    }
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
    let Some(link) = socket.link_mut().filter(|link| !link.closed) else { return Answer::Fails("ENOTCONN") };
    if how != 0 {
        link.shut = true;
        if let Some(mut association) = network.endpoint(link.port).and_then(|e| e.association(link.id)) {
            association.shutdown(now);
        }
    }
    Answer::done()
}

/// Bytes of an iovec: `[{..., 1000}]`, or keyed.
fn room_of(vector: &Value) -> usize {
    let Value::List(items) = vector else { return 0 };
    let len = |item: &Value| {
        let by_place = item.fields().get(1).and_then(|field| field.value.number());
        item.number_of("iov_len").or(by_place).unwrap_or(0)
    };
    items.iter().map(len).sum::<i64>().max(0) as usize
}

fn write(socket: &mut Socket, call: &Call, network: &mut Network) -> Answered {
    let any = Value::Any;
    let arg = |index: usize| call.args.get(index).unwrap_or(&any);
    if socket.many && socket.links.is_empty() {
        // The first message sets up the association.
        let port = open(socket, network);
        if let Some(id) = network.connect(port, socket.config.clone(), udp_port(socket)) {
            socket.links.push(Link::new(port, id));
        }
    }
    let mut len = arg(2).number().unwrap_or(0).max(0) as usize;
    let mut how = send::how(socket, &any);
    match call.name.as_str() {
        "sctp_sendmsg" => {
            how.ppid = arg(5).number().unwrap_or(0) as u32;
            how.flags = arg(6).number().unwrap_or(0);
            how.stream = arg(7).number().unwrap_or(0) as u16;
        }
        "sctp_send" => how = send::how(socket, arg(3)),
        "sctp_sendv" => {
            len = room_of(arg(1));
            how = send::how(socket, arg(5));
        }
        "sendmsg" => len = arg(1).get("msg_iov").map_or(0, room_of),
        _ => {}
    }
    Ok(send::send(socket, network, len, arg(1), &how))
}

fn read(socket: &mut Socket, call: &Call, network: &mut Network) -> Answered {
    let any = Value::Any;
    let arg = |index: usize| call.args.get(index).unwrap_or(&any);
    let room = match call.name.as_str() {
        "sctp_recvv" => room_of(arg(1)),
        "recvmsg" => arg(1).get("msg_iov").map_or(0, room_of),
        _ => arg(2).number().unwrap_or(0).max(0) as usize,
    };
    let read = match receive::read(socket, network, room) {
        Ok(read) => read,
        Err(answer) => return Ok(answer),
    };
    let flags = Value::List(vec![Value::Number(read.flags)]);
    let out = match call.name.as_str() {
        "sctp_recvmsg" => vec![(1, read.content), (5, read.info), (6, flags)],
        "sctp_recvv" => vec![(5, read.info), (8, flags)],
        "recvmsg" => vec![(
            1,
            Value::Record(vec![
                Field::keyed("msg_name", Value::Any),
                Field::keyed("msg_iov", Value::Any),
                Field::keyed("msg_control", Value::Any),
                Field::keyed("msg_flags", Value::Number(read.flags)),
            ]),
        )],
        _ => vec![(1, read.content)],
    };
    Ok(Answer::Returns(read.len as i64, out))
}
