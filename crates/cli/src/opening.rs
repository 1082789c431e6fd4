//! Setting up an association: the silence of a peer is reported while it lasts, and ends the attempt after a time.

use std::fmt;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anabranch_live::{Association, CloseReason, ConnectError, Endpoint, Event};
use clap::Args;

use crate::failure::Failure;
use crate::live::NetworkOptions;
use crate::stopwatch::Stopwatch;

/// Time after which a peer's silence is reported, whether something was sent again or not.
const SILENCE: Duration = Duration::from_millis(2500);

/// The reason in the abort to other peers while a listener serves its one association.
pub(crate) const BUSY: &[u8] = b"busy: this listener serves one association";

/// Time limit for setting up an association.
#[derive(Args, Debug, Clone)]
pub(crate) struct OpeningOptions {
    /// Seconds that a peer has to answer until the association is up [default: 20]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<f64>,
}

impl OpeningOptions {
    /// The limit given by the option, or else the default of the verb, or else 20 s.
    pub(crate) fn limit(&self, of_verb: Option<f64>) -> Duration {
        Duration::from_secs_f64(self.timeout.or(of_verb).unwrap_or(20.0))
    }
}

/// Seconds that an option gives.
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.parse().ok();
    number
        .filter(|seconds| *seconds > 0.0 && *seconds <= 86_400.0)
        .ok_or_else(|| "a number of seconds, more than 0 and not more than 86400".to_owned())
}

/// The peer that an association is set up with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer {
    /// The port is the UDP port.
    address: SocketAddr,
    port: u16,
    /// Whether packets go directly over IP, without UDP.
    raw: bool,
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { address, port, raw } = *self;
        write!(f, "{}, SCTP port {port} ", address.ip())?;
        if raw { f.write_str("on IP") } else { write!(f, "in UDP {}", address.port()) }
    }
}

/// Begins an association with the first address that answers. Each has its share of the time that is left.
pub(crate) async fn connect(
    network: &NetworkOptions,
    limit: Duration,
    (addresses, port): (Vec<SocketAddr>, u16),
    local_port: u16,
) -> Result<(Endpoint, Association), Failure> {
    let mut last = Failure::failed("no address");
    let (watch, all) = (Stopwatch::start(), addresses.len());
    for (index, address) in addresses.into_iter().enumerate() {
        let left = (limit.as_secs_f64() - watch.seconds()).max(0.0);
        let share = Duration::from_secs_f64(left / (all - index) as f64);
        let peer = Peer { address, port, raw: network.raw };
        let endpoint = network.connecting(address, local_port)?;
        match open(network, &endpoint, peer, share).await {
            Ok(association) => return Ok((endpoint, association)),
            Err(failure) if index + 1 == all => last = failure,
            Err(failure) => say(&format!("{}; trying the next address", failure.message)),
        }
    }
    Err(last)
}

async fn open(
    network: &NetworkOptions,
    endpoint: &Endpoint,
    peer: Peer,
    share: Duration,
) -> Result<Association, Failure> {
    let config = Arc::new(network.association_config()?);
    let tries = config.limits.max_init_retransmits + 1;
    let begun = match endpoint.begin(peer.address, peer.port, config) {
        Ok(association) => association,
        Err(ConnectError::Failed(reason)) => return Err(Failure::failed(not_up(peer, &reason, ""))),
        Err(error) => return Err(Failure::failed(format!("{peer}: {error}"))),
    };
    let attempt = Attempt { association: begun, peer, tries, heard: Mutex::default() };
    let up = tokio::select! {
        biased;
        up = attempt.association.established() => up,
        never = attempt.tell_sent() => match never {},
        never = attempt.hear() => match never {},
        () = tokio::time::sleep(share) => {
            let said = format!(
                "{peer}: no answer within {} s to {}{}; {}",
                (share.as_secs_f64() * 10.0).round() / 10.0,
                attempt.sent().plural(),
                attempt.heard(endpoint),
                attempt.advice(),
            );
            attempt.association.abort(b"no answer in time");
            return Err(Failure::failed(said));
        }
    };
    // A caller that wants events asks for them later.
    attempt.association.stop_events();
    match up {
        Ok(()) => Ok(attempt.association),
        Err(reason) => Err(Failure::failed(not_up(peer, &reason, &attempt.heard(endpoint)))),
    }
}

/// An association that is not up yet.
struct Attempt {
    association: Association,
    peer: Peer,
    /// How often an INIT, or a COOKIE ECHO, is sent at most.
    tries: u32,
    /// The code of the last ICMP error "Destination Unreachable" about the attempt.
    heard: Mutex<Option<u8>>,
}

/// The chunk that was sent last, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sent {
    what: &'static str,
    times: u32,
}

impl Sent {
    fn of(core: &anabranch_sctp::Association) -> Self {
        let sent = core.snapshot().control.sent;
        match sent.cookie_echo {
            0 => Self { what: "INIT", times: sent.init },
            times => Self { what: "COOKIE ECHO", times },
        }
    }

    fn plural(self) -> String {
        format!("{} {}{}", self.times, self.what, if self.times == 1 { "" } else { "s" })
    }
}

impl Attempt {
    fn sent(&self) -> Sent {
        self.association.command(|core, _| Sent::of(core)).unwrap_or(Sent { what: "INIT", times: 0 })
    }

    /// Tells of each packet that is sent again, and of a silence that lasts.
    async fn tell_sent(&self) -> std::convert::Infallible {
        let mut told = Sent { what: "INIT", times: 1 };
        let mut silence = std::pin::pin!(tokio::time::sleep(SILENCE));
        let mut silent = false;
        loop {
            let next = self.association.until(|core| {
                let sent = Sent::of(core);
                (sent.times > 1 && sent != told).then_some(sent)
            });
            let sent = tokio::select! {
                sent = next => match sent {
                    Some(sent) => sent,
                    // The association has ended: the waiting task reports why.
                    None => std::future::pending().await,
                },
                () = &mut silence, if !silent => {
                    silent = true;
                    if told.times > 1 {
                        continue;
                    }
                    self.sent()
                }
            };
            told = sent;
            let (Sent { what, times }, tries, peer) = (sent, self.tries, self.peer);
            say(&format!("{what} {times} of {tries} to {peer}: no answer; {}", self.advice()));
        }
    }

    fn advice(&self) -> &'static str {
        match self.sent().what {
            "INIT" if self.peer.raw => "has that host SCTP on IP?",
            "INIT" => "is the port open?",
            _ => "the peer has answered INIT, and nothing since",
        }
    }

    /// Waits for ICMP errors about the attempt, and reports them.
    async fn hear(&self) -> std::convert::Infallible {
        while let Some(event) = self.association.next_event().await {
            if let Event::Unreachable { code, .. } = event {
                let before = self.heard.lock().unwrap_or_else(PoisonError::into_inner).replace(code);
                if before != Some(code) {
                    say(&format!("{}: ICMP says: {}", self.peer, unreachable(self.peer.address, code)));
                }
            }
        }
        std::future::pending().await
    }

    /// The ICMP errors about the attempt, worded as the end of a sentence.
    fn heard(&self, endpoint: &Endpoint) -> String {
        if let Some(code) = *self.heard.lock().unwrap_or_else(PoisonError::into_inner) {
            return format!(" (ICMP says: {})", unreachable(self.peer.address, code));
        }
        match endpoint.stats().icmp_ignored {
            0 => String::new(),
            errors => format!(" (ICMP errors that quote too little of a packet to be believed: {errors})"),
        }
    }
}

/// A code of Destination Unreachable (RFC 792, RFC 1122, RFC 1812; ICMPv6: RFC 4443).
fn unreachable(address: SocketAddr, code: u8) -> String {
    let name = match (address.is_ipv4(), code) {
        (true, 0 | 6 | 11) | (false, 0) => "no route to that network",
        (true, 1 | 7 | 12) | (false, 3) => "the host cannot be reached",
        (true, 9 | 10 | 13) | (false, 1 | 5 | 6) => "a firewall does not let it through",
        _ => return format!("destination unreachable, code {code}"),
    };
    format!("{name} (destination unreachable, code {code})")
}

/// The reason why an association did not come up, and advice. `heard`: the ICMP errors.
fn not_up(peer: Peer, reason: &CloseReason, heard: &str) -> String {
    const NO_ROOM: u16 = 4;
    match reason {
        CloseReason::AbortedByPeer { reason: Some(said), .. } if said.0 == BUSY => format!(
            "{peer}: the listener is busy with another association: try again when that has ended, or start it with --echo, which serves many"
        ),
        CloseReason::AbortedByPeer { reason: Some(said), .. } => {
            format!("{peer}: the peer refuses: {said}; ask who runs it")
        }
        CloseReason::AbortedByPeer { causes, .. } if causes.is_empty() => format!(
            "{peer}: SCTP answers there, and nobody listens at SCTP port {}: check the port, or start the listener",
            peer.port
        ),
        CloseReason::AbortedByPeer { causes, .. } if causes.contains(&NO_ROOM) => {
            format!("{peer}: the peer is busy, and has no room for another association: try again later")
        }
        CloseReason::PortUnreachable => format!(
            "{peer}: no process has that UDP port (ICMP port unreachable): start the peer, or name its UDP port with --peer-udp-port"
        ),
        CloseReason::ProtocolUnreachable => format!(
            "{peer}: that host has no SCTP on IP (ICMP protocol unreachable): leave out --raw to call it in UDP"
        ),
        CloseReason::Unreachable { limit } => {
            format!("{peer}: no answer ({limit} exceeded){heard}: is the port open?")
        }
        other => format!("{peer}: no association: {other}"),
    }
}

fn say(what: &str) {
    // Nothing can be done when standard error is closed.
    let _ = writeln!(std::io::stderr().lock(), "anabranch: {what}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_icmp_says_of_a_way_has_words() {
        let (v4, v6) = (SocketAddr::from(([10, 0, 0, 1], 9)), SocketAddr::from(([0; 16], 9)));
        assert_eq!(unreachable(v4, 1), "the host cannot be reached (destination unreachable, code 1)");
        assert_eq!(
            unreachable(v4, 13),
            "a firewall does not let it through (destination unreachable, code 13)"
        );
        assert_eq!(
            unreachable(v6, 1),
            "a firewall does not let it through (destination unreachable, code 1)"
        );
        assert_eq!(unreachable(v6, 7), "destination unreachable, code 7");
        let peer = Peer { address: v4, port: 5, raw: true };
        let said = not_up(peer, &CloseReason::ProtocolUnreachable, "");
        assert!(said.starts_with("10.0.0.1, SCTP port 5 on IP: that host has no SCTP on IP"), "{said}");
        let said = not_up(peer, &CloseReason::ProtocolViolation { what: "a tag of 0" }, "");
        assert_eq!(
            said,
            "10.0.0.1, SCTP port 5 on IP: no association: the peer broke the protocol: a tag of 0"
        );
    }
}
