//! Driver of rtc-sctp on a UDP socket.

use peer::Plan;
use peer_rtc_sctp::Rtc;

fn main() {
    let plan = Plan::read();
    peer::udp::play("rtc-sctp", &plan, &mut Rtc::new(&plan));
}
