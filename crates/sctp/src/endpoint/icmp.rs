//! ICMP messages: which association they speak of, and whether they may be believed (RFC 9260, 10).

use anabranch_base::Instant;
use anabranch_wire::chunk::kind;

use super::Endpoint;
use crate::association::Association;
use crate::event::CloseReason;
use crate::icmp::{IcmpError, IcmpKind};
use crate::state::State;

/// Of a common header: ports and verification tag, which every ICMP message quotes.
const QUOTED: usize = 8;
/// Offset of the Initiate Tag in a packet with an INIT, bytes.
const INITIATE_TAG: usize = 16;

impl Endpoint {
    /// Hands in an ICMP error that quotes a packet of ours. It is believed only where it shows a value that only the peer and the
    /// routers between us can have seen: the verification tag of the packet, or of an INIT its Initiate Tag (10, ICMP6).
    // rfc9260:10-1 rfc9260:10-4 rfc6951:5.5-1
    pub fn handle_icmp(&mut self, now: Instant, error: &IcmpError<'_>) {
        self.stateless.count().icmp_received += 1;
        let Some((index, init)) = self.association_of(error) else {
            self.stateless.count().icmp_ignored += 1;
            return;
        };
        let Some(assoc) = self.registry.at_mut(index) else { return };
        let used = match error.kind {
            IcmpKind::TooBig { mtu } => assoc.path_manager().on_too_big(now, error.destination, mtu),
            IcmpKind::ProtocolUnreachable => assoc.abort_by_icmp(now, init, CloseReason::ProtocolUnreachable),
            IcmpKind::Unreachable { code } => {
                assoc.path_manager().on_unreachable(now, error.destination, code)
            }
            IcmpKind::PortUnreachable => {
                names_port_in_use(assoc, error)
                    && assoc.abort_by_icmp(now, init, CloseReason::PortUnreachable)
            }
        };
        self.stateless.count().icmp_ignored += u64::from(!used);
        self.settle(now, index);
    }

    /// The association that a quoted packet was sent by, and whether it holds an INIT.
    // rfc9260:10-3 rfc9260:10-5 rfc8899:3-9 rfc8899:4.6.1-1 rfc8899:4.6.1-2 rfc8899:4.6.1-3 rfc8899:4.6.1-4 rfc8899:6.2.1.4-1 rfc8899:8-2 rfc8899:8-3
    fn association_of(&self, error: &IcmpError<'_>) -> Option<(u32, bool)> {
        let quoted = error.quoted;
        let (head, _) = quoted.split_first_chunk::<QUOTED>()?;
        let [a, b, c, d, tag @ ..] = *head;
        let (source, destination, tag) =
            (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]), u32::from_be_bytes(tag));
        if !self.listening.may_use(source) {
            return None;
        }
        // "MUST use the payload of the ICMP message (v4 or v6) to locate the association" (10, ICMP5).
        let index = self.registry.by_peer(error.destination, (destination, source))?;
        // The last packets of an association that has ended do not matter any more.
        let assoc = self.registry.at(index).filter(|assoc| assoc.state() != State::Closed)?;
        let (ours, peers) = assoc.tags();
        if tag != 0 {
            // "If the Verification Tag is not 0 and does not match, discard the ICMP message" (10, ICMP6). In COOKIE-WAIT the peer's tag
            // is not known.
            return (tag == peers && assoc.state() != State::CookieWait).then_some((index, false));
        }
        // "If it is 0 and the ICMP message contains enough bytes to verify that the chunk type is an INIT chunk and that the Initiate
        // Tag matches": the tag that our INIT gave the peer.
        let is_init = quoted.get(12) == Some(&kind::INIT);
        let initiate = quoted.get(INITIATE_TAG..INITIATE_TAG + 4)?;
        (is_init && initiate == ours.to_be_bytes()).then_some((index, true))
    }
}

/// Whether the peer's UDP port is closed. Of packets in UDP "Port Unreachable" says that no socket takes them, and it "SHOULD be treated as
/// ... 'Protocol Unreachable'" (RFC 6951, 5.5), if they were going to the port that is still in use. Otherwise "SHOULD ignore any ICMP
/// messages where the code indicates 'Port Unreachable'" (10, ICMP3): a host that knows SCTP answers with an ABORT.
// rfc6951:5.5-4 rfc6951:5.5-5
fn names_port_in_use(assoc: &Association, error: &IcmpError<'_>) -> bool {
    let encapsulated = assoc.encapsulation_port(error.destination).filter(|port| *port != 0);
    encapsulated.is_some() && encapsulated == error.udp_port
}
