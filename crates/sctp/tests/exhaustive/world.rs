//! Two endpoints, at most one packet in flight each way, their users, and an attacker.

use std::collections::BTreeMap;
use std::sync::Arc;

use anabranch_base::{Duration, Instant, Rng};
use anabranch_sctp::{
    Association, AssociationId, CloseReason, Config, Endpoint, EndpointConfig, Event, Message, State,
    properties,
};
use anabranch_wire::chunk::Chunk;
use anabranch_wire::{Checksum, Packet};
use bytes::Bytes;

use crate::attacker::{ALPHABET, Forged, Observed, Tag, WRONG, forge};
use crate::canonical::Names;
use crate::common::{PORT, Side, address, meta};

pub(crate) const SIDES: [Side; 2] = [Side::A, Side::Z];

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Associate(Side),
    Send(Side),
    Shutdown(Side),
    Abort(Side),
    /// The packet to this side arrives.
    Deliver(Side),
    /// The packet to this side is lost.
    Lose(Side),
    /// The next timer of all expires.
    Timer,
    /// Towards this side, from the address of the other.
    Attack(Side, Forged, Tag),
}

/// Number of times that each thing may happen in one life.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    pub(crate) associate: [u8; 2],
    pub(crate) send: [u8; 2],
    pub(crate) shutdown: [u8; 2],
    pub(crate) abort: [u8; 2],
    pub(crate) lose: u8,
    pub(crate) timers: u8,
    pub(crate) attack: u8,
}

/// A rule that is broken on purpose: the search must notice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Broken {
    #[default]
    Nothing,
    /// Verification tags are not compared.
    Tags,
    /// Timers do not expire.
    Timers,
    /// A message is handed over twice.
    Delivery,
}

pub(crate) struct World {
    now: Instant,
    ends: [Endpoint; 2],
    config: Arc<Config>,
    ids: [Vec<AssociationId>; 2],
    /// The packet on its way to each side.
    wire: [Option<Vec<u8>>; 2],
    left: Budget,
    broken: Broken,
    /// The tag that each side expects, as far as it has been seen.
    tags: [Option<u32>; 2],
    tsns: [u32; 2],
    cookies: [Option<Vec<u8>>; 2],
    sent: [Vec<(AssociationId, u8)>; 2],
    /// Times that each message came, by the number of associations that the user had aborted by then: a user who
    /// aborts one and begins another may meet a peer that has heard of neither, and sends again the messages that
    /// were never acknowledged (RFC 9260, 5.2.4 B).
    received: [BTreeMap<(usize, u8), u32>; 2],
    closed: [Vec<(AssociationId, CloseReason)>; 2],
    restarted: bool,
    /// An attacker has used a right tag: the association of the two ends is at its mercy.
    betrayed: bool,
}

fn config() -> Config {
    let mut config = Config::rfc9260();
    let second = Duration::from_secs(1);
    config.timers.rto_initial = second;
    config.timers.rto_min = second;
    config.timers.rto_max = second;
    config.timers.heartbeat_interval = Duration::ZERO;
    config.sack.every = 1;
    config.streams.outbound = 1;
    config.streams.inbound = 1;
    config.limits.max_init_retransmits = 2;
    config.limits.association_max_retrans = 2;
    config.limits.path_max_retrans = 2;
    config
}

impl World {
    pub(crate) fn new(left: Budget, broken: Broken) -> Self {
        let config = Arc::new(config());
        let end = |side: Side, name: &str| {
            let told = EndpointConfig::new(address(side), PORT).keeping_closed();
            let mut end = Endpoint::new(told, Rng::stream(7, name, "endpoint").secret());
            end.listen(Arc::clone(&config)).unwrap();
            end
        };
        Self {
            now: Instant::ZERO + Duration::from_secs(1),
            ends: [end(Side::A, "a"), end(Side::Z, "z")],
            config: Arc::clone(&config),
            ids: Default::default(),
            wire: Default::default(),
            left,
            broken,
            tags: [None; 2],
            tsns: [0; 2],
            cookies: Default::default(),
            sent: Default::default(),
            received: Default::default(),
            closed: Default::default(),
            restarted: false,
            betrayed: false,
        }
    }

    fn open(&self, side: Side) -> Option<&Association> {
        let end = &self.ends[side as usize];
        let mut all = self.ids[side as usize].iter().rev().filter_map(|id| end.view(*id));
        all.find(|association| association.state() != State::Closed)
    }

    fn open_id(&self, side: Side) -> Option<AssociationId> {
        let end = &self.ends[side as usize];
        let is_open = |id: &&AssociationId| end.view(**id).is_some_and(|a| a.state() != State::Closed);
        self.ids[side as usize].iter().rev().find(is_open).copied()
    }

    fn state(&self, side: Side) -> State {
        self.open(side).map_or(State::Closed, Association::state)
    }

    /// Actions that are possible next.
    pub(crate) fn enabled(&mut self) -> Vec<Action> {
        let mut all = Vec::new();
        for side in SIDES {
            let s = side as usize;
            let state = self.state(side);
            if self.wire[s].is_some() {
                all.push(Action::Deliver(side));
                if self.left.lose > 0 {
                    all.push(Action::Lose(side));
                }
            }
            if state == State::Closed {
                if self.left.associate[s] > 0 {
                    all.push(Action::Associate(side));
                }
            } else {
                if self.left.send[s] > 0 && state <= State::Established {
                    all.push(Action::Send(side));
                }
                if self.left.shutdown[s] > 0 {
                    all.push(Action::Shutdown(side));
                }
                if self.left.abort[s] > 0 {
                    all.push(Action::Abort(side));
                }
            }
            if self.left.attack > 0 {
                for what in ALPHABET {
                    for tag in [Tag::Right, Tag::Wrong, Tag::Zero] {
                        all.push(Action::Attack(side, what, tag));
                    }
                }
            }
        }
        if self.left.timers > 0 && self.next_timer().is_some() {
            all.push(Action::Timer);
        }
        all
    }

    fn next_timer(&mut self) -> Option<Instant> {
        let timers = self.ends.iter_mut().filter_map(Endpoint::poll_timeout).map(|(at, _)| at);
        timers.min().filter(|_| self.broken != Broken::Timers)
    }

    fn run_timer(&mut self) {
        let Some(at) = self.next_timer() else { return };
        self.now = self.now.max(at);
        for end in &mut self.ends {
            end.handle_timeout(self.now);
        }
    }

    /// One step, and whether every property holds then. `false`: it cannot be done.
    pub(crate) fn apply(&mut self, action: Action) -> Result<bool, String> {
        match action {
            Action::Associate(side) => {
                self.left.associate[side as usize] -= 1;
                let config = Arc::clone(&self.config);
                let end = &mut self.ends[side as usize];
                let Ok(id) = end.connect(self.now, address(side.other()), PORT, config) else {
                    return Ok(false);
                };
                self.ids[side as usize].push(id);
            }
            Action::Send(side) => {
                self.left.send[side as usize] -= 1;
                if !self.send(side) {
                    return Ok(false);
                }
            }
            Action::Shutdown(side) => {
                self.left.shutdown[side as usize] -= 1;
                let Some(id) = self.open_id(side) else { return Ok(false) };
                self.ends[side as usize].association(id).unwrap().shutdown(self.now);
            }
            Action::Abort(side) => {
                self.left.abort[side as usize] -= 1;
                let Some(id) = self.open_id(side) else { return Ok(false) };
                self.ends[side as usize].association(id).unwrap().abort(self.now, b"");
            }
            Action::Deliver(side) => self.deliver(side),
            Action::Lose(side) => {
                self.left.lose -= 1;
                self.wire[side as usize] = None;
            }
            Action::Timer => {
                self.left.timers -= 1;
                self.run_timer();
            }
            Action::Attack(side, what, tag) => return self.attack(side, what, tag),
        }
        self.pump();
        self.check().map(|()| true)
    }

    fn send(&mut self, side: Side) -> bool {
        let Some(id) = self.open_id(side) else { return false };
        let number = 10 * (side as u8) + self.sent[side as usize].len() as u8;
        let message = Message::new(0, Bytes::copy_from_slice(&[number]));
        let taken = self.ends[side as usize].association(id).unwrap().send(self.now, message).is_ok();
        if taken {
            self.sent[side as usize].push((id, number));
        }
        taken
    }

    fn deliver(&mut self, side: Side) {
        if let Some(bytes) = self.wire[side as usize].take() {
            self.ends[side as usize].handle_datagram(self.now, meta(side.other()), &bytes);
        }
    }

    fn attack(&mut self, side: Side, what: Forged, class: Tag) -> Result<bool, String> {
        self.left.attack -= 1;
        let s = side as usize;
        let right = self.tags[s];
        let tag = match class {
            Tag::Right => right,
            Tag::Wrong if self.broken == Broken::Tags => right,
            Tag::Wrong => Some(WRONG),
            Tag::Zero => Some(0),
        };
        let observed =
            Observed { tsns: (self.tsns[s], self.tsns[1 - s]), cookie: self.cookies[s].as_deref() };
        let Some(bytes) = tag.and_then(|tag| forge(what, tag, PORT, observed)) else { return Ok(false) };
        self.betrayed |= class == Tag::Right;
        let (before, states) = (self.associations(), SIDES.map(|side| self.state(side)));
        self.ends[s].handle_datagram(self.now, meta(side.other()), &bytes);
        self.pump();
        self.check()?;
        if class != Tag::Right {
            if states != SIDES.map(|side| self.state(side)) {
                return Err(format!("{what:?} with a {class:?} tag changed a state: {states:?}"));
            }
            // 9.2: INIT makes SHUTDOWN ACK leave again.
            let repeats =
                states[s] == State::ShutdownAckSent && matches!(what, Forged::Init | Forged::InitTagZero);
            if !repeats && before != self.associations() {
                return Err(format!("{what:?} with a {class:?} tag changed an association"));
            }
        }
        Ok(true)
    }

    fn note(&mut self, from: Side, bytes: &[u8]) {
        let packet = Packet::parse(bytes, Checksum::Verify).unwrap();
        let to = from.other() as usize;
        if packet.header().verification_tag != 0 {
            self.tags[to] = Some(packet.header().verification_tag);
        }
        for raw in packet.chunks() {
            match Chunk::parse(raw.unwrap()).unwrap() {
                Chunk::Init(init) => {
                    self.tags[from as usize] = Some(init.initiate_tag);
                    self.tsns[from as usize] = init.initial_tsn.get();
                }
                Chunk::InitAck(init) => self.tsns[from as usize] = init.initial_tsn.get(),
                Chunk::CookieEcho(echo) => self.cookies[to] = Some(echo.cookie.to_vec()),
                _ => {}
            }
        }
    }

    fn pump(&mut self) {
        loop {
            let mut progress = false;
            for side in SIDES {
                let s = side as usize;
                if self.wire[1 - s].is_none() {
                    let mut bytes = Vec::new();
                    if self.ends[s].poll_transmit(self.now, 1, &mut bytes).is_some() {
                        self.note(side, &bytes);
                        self.wire[1 - s] = Some(bytes);
                        progress = true;
                    }
                }
                while let Some((id, event)) = self.ends[s].poll_event() {
                    progress = true;
                    if !self.ids[s].contains(&id) {
                        self.ids[s].push(id);
                    }
                    match event {
                        Event::Closed(reason) => self.closed[s].push((id, reason)),
                        Event::Restarted { .. } => self.restarted = true,
                        _ => {}
                    }
                }
                for id in self.ids[s].clone() {
                    let Some(mut association) = self.ends[s].association(id) else { continue };
                    while let Some(message) = association.receive() {
                        progress = true;
                        let times = 1 + u32::from(self.broken == Broken::Delivery);
                        let aborted = |(_, why): &&(_, CloseReason)| *why == CloseReason::AbortedLocally;
                        let key = (self.closed[s].iter().filter(aborted).count(), message.into_bytes()[0]);
                        *self.received[s].entry(key).or_insert(0) += times;
                    }
                }
            }
            if !progress {
                return;
            }
        }
    }

    /// Checks the properties that hold at every moment.
    fn check(&self) -> Result<(), String> {
        for side in SIDES {
            let closed = &self.closed[side as usize];
            for (place, (id, _)) in closed.iter().enumerate() {
                let state = self.ends[side as usize].view(*id).map(Association::state);
                if state.is_some_and(|state| state != State::Closed) {
                    return Err(format!("P1: {side:?} was told of the end and is in {state:?}"));
                }
                if closed[..place].iter().any(|(other, _)| other == id) {
                    return Err(format!("{side:?} was told of the end twice"));
                }
            }
            if let Some(association) = self.open(side) {
                association.audit()?;
                // An end that cannot send now is not at rest.
                if self.wire[side.other() as usize].is_none() {
                    properties::at_rest(self.now, &association.sight(), &association.bounds())?;
                }
            }
            let twice = self.received[side as usize].values().any(|times| *times > 1);
            if twice && !self.betrayed {
                return Err(format!("a message was delivered to {side:?} twice"));
            }
        }
        if !self.betrayed && self.is_one_association() {
            properties::both(self.state(Side::A), self.state(Side::Z))?;
        }
        Ok(())
    }

    /// True if the ends belong together. Where one has begun anew, the other may know of the first association only:
    /// by their tags.
    fn is_one_association(&self) -> bool {
        let anew = self.ids.iter().any(|ids| ids.len() > 1);
        let [a, z] = SIDES.map(|side| self.open(side).map(Association::tags));
        !anew || a.zip(z).is_none_or(|(a, z)| a == (z.1, z.0))
    }

    /// The network loses nothing more and timers expire: everything must come to an end (P3 to P5, P10).
    pub(crate) fn complete(&mut self) -> Result<(), String> {
        self.rest()?;
        for side in SIDES {
            let state = self.state(side);
            if !matches!(state, State::Closed | State::Established) {
                return Err(format!("P5, P10: {side:?} stays in {state:?}"));
            }
        }
        if self.betrayed {
            return Ok(());
        }
        self.delivered()?;
        // P3, P4: one end that is up while the other is not finds out as soon as it has something to say.
        for side in SIDES {
            if self.state(side) != State::Established || !self.send(side) {
                continue;
            }
            let number = self.sent[side as usize].last().map_or(0, |(_, number)| *number);
            self.pump();
            self.rest()?;
            let arrived = self.has_arrived(side.other(), number);
            if self.state(side) != State::Closed && !arrived {
                return Err(format!("P3: {side:?} is {:?}, and its peer hears nothing", self.state(side)));
            }
        }
        Ok(())
    }

    fn rest(&mut self) -> Result<(), String> {
        for _ in 0..300 {
            self.pump();
            self.check()?;
            let mut progress = false;
            for side in SIDES {
                progress |= self.wire[side as usize].is_some();
                self.deliver(side);
                self.pump();
                self.check()?;
            }
            if !progress {
                if self.next_timer().is_none() {
                    return Ok(());
                }
                self.run_timer();
            }
        }
        Err("P5: no end of packets or timers".to_owned())
    }

    fn has_arrived(&self, at: Side, number: u8) -> bool {
        self.received[at as usize].keys().any(|(_, arrived)| *arrived == number)
    }

    /// A user who was told that an association ended gracefully has had everything delivered.
    fn delivered(&self) -> Result<(), String> {
        for side in SIDES {
            for (id, number) in &self.sent[side as usize] {
                let graceful = self.closed[side as usize].contains(&(*id, CloseReason::Graceful));
                let arrived = self.has_arrived(side.other(), *number);
                if graceful && !arrived && !self.restarted {
                    return Err(format!("{side:?} closed gracefully, and its message is lost"));
                }
            }
        }
        Ok(())
    }

    fn associations(&self) -> String {
        let (mut out, mut names) = (String::new(), Names::default());
        for side in SIDES {
            if let Some(association) = self.open(side) {
                names.rewrite(self.now, &format!("{association:?}"), &mut out);
            }
        }
        out
    }

    /// Equal for situations from which the same may follow.
    pub(crate) fn situation(&self) -> String {
        let (mut out, mut names) = (String::new(), Names::default());
        for side in SIDES {
            let s = side as usize;
            if let Some(association) = self.open(side) {
                names.rewrite(self.now, &format!("{association:?}"), &mut out);
            }
            let mut wire = String::new();
            if let Some(bytes) = &self.wire[s] {
                let packet = Packet::parse(bytes, Checksum::Ignore).unwrap();
                wire = format!("{:?}", packet.header());
                for raw in packet.chunks() {
                    wire += &format!(" {:?}", Chunk::parse(raw.unwrap()).unwrap());
                }
            }
            let rest = format!(
                " wire {wire} ids {} closed {:?} sent {:?} received {:?} cookie {:?} tag {:?} ",
                self.ids[s].len(),
                self.closed[s],
                self.sent[s],
                self.received[s],
                self.cookies[s],
                self.tags[s]
            );
            names.rewrite(self.now, &rest, &mut out);
        }
        out += &format!("{:?} {} {}", self.left, self.restarted, self.betrayed);
        out
    }
}
