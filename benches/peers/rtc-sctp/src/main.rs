//! Driver of rtc-sctp on a UDP socket.

use peer::Plan;
use peer_rtc_sctp::Rtc;

fn main() {
    let plan = Plan::read();
    if plan.interleaving || plan.zero_checksum {
        return peer::Report::print_cannot("rtc-sctp", "has no such extension");
    }
    peer::udp::play("rtc-sctp", &plan, &mut Rtc::new(&plan));
}
