//! A probe for the control chunks that are answered and are no data: COOKIE ECHO, SHUTDOWN and SHUTDOWN ACK. RACK-TLP (RFC 8985, 7)
//! stands for a lost tail of data, and nothing for these: the loss of one costs a whole RTO, which is a second at least. The rule is in
//! docs/reference/extensions.md.

use anabranch_base::{Duration, Instant};

use crate::context::Context;
use crate::receiver::Receiver;

/// The shortest wait: hosts need time to answer, whatever the path does. The probe of TCP had "PTO = max(2 * SRTT, 10ms)" first
/// (draft-dukkipati-tcpm-tcp-loss-probe-01, 2.1).
const LEAST: Duration = Duration::from_millis(10);

/// Time at which a chunk that leaves now is sent once more, if that is before `timer` expires: "PTO = 2 * SRTT" (RFC 8985, 7.2). No answer to a control
/// chunk is delayed, so nothing is added for that. Before there is an SRTT the round trip of the handshake stands for it. There is
/// none where INIT was sent again: it is not known then to which the answer belongs (RFC 9260, 6.3.1, C5).
pub(super) fn control_probe(cx: &Context, receiver: &Receiver, timer: Option<Instant>) -> Option<Instant> {
    let config = cx.env.config();
    if !config.timers.control_probe {
        return None;
    }
    let measured = cx.paths.primary().and_then(|path| path.rtt().srtt());
    let round_trip = measured.or(receiver.window().handshake_round_trip())?;
    let at = config.clock().after(cx.env.now(), (round_trip * 2).max(LEAST));
    timer.is_some_and(|timer| at < timer).then_some(at)
}
