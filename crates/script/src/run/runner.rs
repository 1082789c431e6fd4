//! The events of a script, one after the other, on a virtual clock.

use anabranch_base::{Duration, Instant};

use super::failure::Failure;
use super::options::{self, Options};
use super::sysctl;
use super::wire::{self, Wire};
use crate::compare::{Difference, differences};
use crate::network::Network;
use crate::sockets::{Answer, Sockets};
use crate::syntax::{Action, Body, Call, Event, Packet, Script, Time, parse};
use crate::value::Value;

/// How long a line that takes a packet at any time waits.
const PATIENCE: Duration = Duration::from_secs(3600);
/// How far we look for a packet that did not come in time, to name the one that comes instead.
const OUTLOOK: Duration = Duration::from_secs(120);
/// Timers that may expire without time going by.
const MOST_TIMERS: u32 = 100_000;
/// Timers that may expire in a script: HEARTBEATs every 30 s for more than three months. A text can ask for centuries.
const MOST_TIMERS_IN_ALL: u32 = 300_000;

/// Runs the text of a script.
///
/// # Errors
/// The first line that is wrong, or at which something else came than was expected.
pub fn run(text: &str, options: &Options) -> Result<(), Failure> {
    let mut options = options.clone();
    options::define_a_system(&mut options.defined);
    let script = parse(text, &options.defined)?;
    options::apply(&script.options, &mut options)?;
    check(&script, options.ipv6)?;
    let mut runner = Runner {
        network: Network::new(options.seed, options.ipv6),
        sockets: Sockets::new(options.config.clone()),
        wire: Wire::default(),
        tolerance: options.tolerance.unwrap_or_default(),
        last: Instant::ZERO,
        pending: Vec::new(),
        timers: 0,
    };
    for event in &script.events {
        runner.event(event).map_err(|failure| placed(failure, event.line))?;
    }
    runner.finish(&options, script.events.last().map_or(1, |event| event.line))
}

/// A failure that knows no line is one of the event that was waited for.
fn placed(failure: Failure, line: usize) -> Failure {
    if failure.line == 0 { Failure { line, ..failure } } else { failure }
}

/// Whether everything that is named exists, and addresses are of the script's family, before anything runs.
fn check(script: &Script, ipv6: bool) -> Result<(), Failure> {
    for event in &script.events {
        if let Action::Packet(packet) = &event.action {
            wire::check(packet, ipv6).map_err(|what| Failure::new(event.line, what))?;
        }
    }
    Ok(())
}

/// A call that has not returned.
struct Pending {
    call: Call,
    line: usize,
    end: Instant,
    /// When it returns in any case: poll with a time.
    gives_up: Option<Instant>,
}

struct Runner {
    network: Network,
    sockets: Sockets,
    wire: Wire,
    tolerance: Duration,
    /// The time of the event before.
    last: Instant,
    pending: Vec<Pending>,
    /// Timers that have expired.
    timers: u32,
}

impl Runner {
    fn event(&mut self, event: &Event) -> Result<(), Failure> {
        let last = self.last;
        let (earliest, latest, end) = match event.time {
            Time::At(at) => (Instant::from_nanos(at), Instant::from_nanos(at), None),
            Time::After(after) => {
                (last + Duration::from_nanos(after), last + Duration::from_nanos(after), None)
            }
            Time::Any => (last, last + PATIENCE, None),
            Time::Between(from, to) => (Instant::from_nanos(from), Instant::from_nanos(to), None),
            Time::AfterBetween(from, to) => {
                (last + Duration::from_nanos(from), last + Duration::from_nanos(to), None)
            }
            Time::Blocking { relative, start, end } => {
                let base = if relative { last } else { Instant::ZERO };
                let start = base + Duration::from_nanos(start);
                (start, start, Some(base + Duration::from_nanos(end)))
            }
        };
        if latest < last {
            let message = format!("{latest} lies before the event before, which is at {last}");
            return Err(Failure::new(event.line, message));
        }
        match &event.action {
            Action::Packet(packet) if packet.outbound => {
                let at = self.expect(event, packet, earliest, latest)?;
                // Later lines count from the line's own time, even if the tolerance let the packet come at another.
                self.last = if earliest == latest { earliest } else { at.max(last) };
                return Ok(());
            }
            _ => self.advance(earliest)?,
        }
        self.last = earliest;
        match &event.action {
            Action::Packet(Packet { body: Body::Icmp(icmp), .. }) => {
                if !self.network.inject_icmp(icmp) {
                    return Err(Failure::new(
                        event.line,
                        "ICMP messages of IPv6 do not exist here".to_owned(),
                    ));
                }
            }
            Action::Packet(packet) => {
                let ports = self.network.ports();
                let bytes =
                    self.wire.outgoing(packet, ports).map_err(|what| Failure::new(event.line, what))?;
                let ecn = wire::ecn(packet.ecn.as_deref());
                self.network.inject(ecn, packet.addresses, packet.udp, &bytes);
            }
            Action::Call(call) => self.call(call, event.line, end)?,
            Action::Shell(text) => {
                sysctl::run(text, self.sockets.config_mut())
                    .map_err(|what| Failure::new(event.line, what))?;
            }
        }
        self.look()
    }

    /// Runs every timer up to a time, which becomes now.
    fn advance(&mut self, to: Instant) -> Result<(), Failure> {
        let mut without_time = 0;
        let ends: Vec<Instant> = self.pending.iter().filter_map(|pending| pending.gives_up).collect();
        while let Some(at) = self
            .network
            .next_timer()
            .into_iter()
            .chain(ends.iter().copied().filter(|at| *at > self.network.now))
            .min()
            .filter(|at| *at <= to)
        {
            without_time = if at > self.network.now { 0 } else { without_time + 1 };
            if without_time > MOST_TIMERS {
                let message = format!("the stack's timers do not let time go by at {}", self.network.now);
                return Err(Failure::new(0, message));
            }
            self.timers += 1;
            if self.timers > MOST_TIMERS_IN_ALL {
                let now = self.network.now;
                let message = format!(
                    "more than {MOST_TIMERS_IN_ALL} timers have expired by {now}: the script lasts too long"
                );
                return Err(Failure::new(0, message));
            }
            self.network.run_timers(at);
            self.look()?;
        }
        self.network.now = self.network.now.max(to);
        self.look()
    }

    /// Hands events to the sockets, and tries the blocked calls again.
    fn look(&mut self) -> Result<(), Failure> {
        self.sockets.take_events(&mut self.network);
        let mut waiting = std::mem::take(&mut self.pending);
        let mut failed = Ok(());
        waiting.retain(|pending| {
            if failed.is_err() {
                return true;
            }
            let answer = match self.sockets.call(&pending.call, false, &mut self.network) {
                Ok(Answer::Blocks) if pending.gives_up.is_some_and(|at| at <= self.network.now) => {
                    Ok(Answer::number(0))
                }
                answer => answer,
            };
            match answer {
                Ok(Answer::Blocks) => {
                    if self.network.now > pending.end + self.tolerance {
                        failed = Err(Failure::new(
                            pending.line,
                            format!("{} has not returned by {}", pending.call.name, pending.end),
                        ));
                    }
                    true
                }
                Ok(answer) => {
                    let now = self.network.now;
                    failed = compare(pending.line, &pending.call, &answer);
                    if failed.is_ok() && now.max(pending.end) - now.min(pending.end) > self.tolerance {
                        let mut failure = Failure::new(
                            pending.line,
                            format!("{} returned at another time", pending.call.name),
                        );
                        failure.differences.push(Difference::new("end", &pending.end, &now));
                        failed = Err(failure);
                    }
                    false
                }
                Err(what) => {
                    failed = Err(Failure::new(pending.line, what));
                    false
                }
            }
        });
        self.pending = waiting;
        failed?;
        // A call may have set something in motion.
        self.network.settle();
        self.sockets.take_events(&mut self.network);
        Ok(())
    }

    fn call(&mut self, call: &Call, line: usize, end: Option<Instant>) -> Result<(), Failure> {
        let answer =
            self.sockets.call(call, true, &mut self.network).map_err(|what| Failure::new(line, what))?;
        match (&answer, end) {
            (Answer::Blocks, Some(end)) => {
                let patience = call.args.get(2).filter(|_| call.name == "poll").and_then(Value::number);
                let patience = patience.and_then(|ms| u64::try_from(ms).ok()).map(Duration::from_millis);
                let gives_up = patience.map(|patience| self.network.now + patience);
                self.pending.push(Pending { call: call.clone(), line, end, gives_up });
                Ok(())
            }
            (Answer::Blocks, None) => {
                let message = format!(
                    "{} blocks: make the socket non-blocking, or say when it returns (0.0...0.5)",
                    call.name
                );
                Err(Failure::new(line, message))
            }
            (_, Some(end)) if end > self.network.now + self.tolerance => {
                let mut failure = Failure::new(line, format!("{} returned at another time", call.name));
                failure.differences.push(Difference::new("end", &end, &self.network.now));
                Err(failure)
            }
            _ => compare(line, call, &answer),
        }
    }

    /// Waits for a packet of the stack; answers when it left.
    fn expect(
        &mut self,
        event: &Event,
        packet: &Packet,
        earliest: Instant,
        latest: Instant,
    ) -> Result<Instant, Failure> {
        let deadline = latest + self.tolerance;
        self.wait_for_packet(deadline)?;
        let wanted = text_of(packet);
        let Some(sent) = self.network.take_sent() else {
            self.advance(deadline)?;
            let mut failure = Failure::new(event.line, format!("no packet by {deadline}"));
            failure.expected = Some(wanted);
            failure.came = Some(self.outlook());
            return Err(failure);
        };
        let shown = self.wire.compare(Some(packet), &sent);
        let mut found = shown.differences;
        let differs = !found.is_empty();
        // Any time is also one before the event before: the other tool takes the next packet that it has seen.
        let too_early = event.time != Time::Any && sent.at + self.tolerance < earliest;
        let too_late = sent.at > deadline;
        if too_early || too_late {
            let allowed =
                if earliest == latest { earliest.to_string() } else { format!("{earliest} to {latest}") };
            found.insert(0, Difference::new("time", &allowed, &sent.at));
        }
        if found.is_empty() {
            return Ok(sent.at);
        }
        let what = match (differs, too_early || too_late) {
            (true, _) => "another packet came",
            (false, _) => "the packet came at another time",
        };
        let mut failure = Failure::new(event.line, what);
        failure.expected = Some(wanted);
        failure.came = Some(shown.text);
        failure.differences = found;
        Err(failure)
    }

    fn wait_for_packet(&mut self, deadline: Instant) -> Result<(), Failure> {
        while self.network.first_sent().is_none() {
            let Some(at) = self.network.next_timer().filter(|at| *at <= deadline) else { break };
            self.advance(at)?;
        }
        Ok(())
    }

    /// Waits for the next packet of the stack and describes it, for the message about a packet that did not come.
    fn outlook(&mut self) -> String {
        let from = self.network.now;
        let _ = self.wait_for_packet(from + OUTLOOK);
        match self.network.take_sent() {
            Some(sent) => format!(
                "nothing; the next packet leaves at {}: {}",
                sent.at,
                self.wire.compare(None, &sent).text
            ),
            None => format!("nothing, also not within {OUTLOOK} more"),
        }
    }

    fn finish(&mut self, options: &Options, line: usize) -> Result<(), Failure> {
        while let Some(end) = self.pending.iter().map(|pending| pending.end).min() {
            self.advance(end + self.tolerance)?;
            if let Some(pending) = self.pending.first().filter(|pending| pending.end <= self.network.now) {
                let message = format!("{} has not returned by {}", pending.call.name, pending.end);
                return Err(Failure::new(pending.line, message));
            }
        }
        let left: Vec<_> = self.network.sent_waiting().cloned().collect();
        if options.strict && !left.is_empty() {
            let mut failure =
                Failure::new(line, "the script ends, and packets have left that no line expects");
            let all = left.iter().map(|sent| format!("{}: {}", sent.at, self.wire.compare(None, sent).text));
            failure.came = Some(all.collect::<Vec<_>>().join("\n              "));
            return Err(failure);
        }
        Ok(())
    }
}

fn text_of(packet: &Packet) -> String {
    match &packet.body {
        Body::Chunks(chunks) => chunks.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
        Body::Raw(list) => list.to_string(),
        Body::Icmp(icmp) => icmp.to_string(),
    }
}

/// Compares the answer to a call with the result that the script expects.
fn compare(line: usize, call: &Call, answer: &Answer) -> Result<(), Failure> {
    let mut failure = Failure::new(line, format!("{} came to something else", call.name));
    match answer {
        Answer::Blocks => {}
        Answer::Fails(error) => {
            let wanted = call.errno.as_deref();
            let same = |wanted: &str| {
                wanted == *error
                    || crate::names::constant(wanted)
                        .is_some_and(|n| crate::names::constant(error) == Some(n))
            };
            let right =
                call.result.is_none() || (call.result == Some(Value::Number(-1)) && wanted.is_none_or(same));
            if !right {
                failure.differences.push(Difference::new(
                    "result",
                    &expected_result(call),
                    &format!("-1 {error}"),
                ));
            }
        }
        Answer::Returns(number, out) => {
            if let Some(result) = &call.result {
                if result.number() != Some(*number) {
                    failure.differences.push(Difference::new("result", &expected_result(call), &number));
                }
            }
            for (index, came) in out {
                if let Some(wanted) = call.args.get(*index) {
                    let field = format!("argument {}", index + 1);
                    failure.differences.extend(differences(&field, wanted, came));
                }
            }
        }
    }
    if failure.differences.is_empty() { Ok(()) } else { Err(failure) }
}

fn expected_result(call: &Call) -> String {
    let result = call.result.as_ref().map_or("...".to_owned(), ToString::to_string);
    match &call.errno {
        Some(errno) => format!("{result} {errno}"),
        None => result,
    }
}
