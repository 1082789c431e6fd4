//! Driver of dcSCTP on a UDP socket.

use peer::Plan;
use peer_dcsctp::Dcsctp;

fn main() {
    let plan = Plan::read();
    peer::udp::play("dcsctp", &plan, &mut Dcsctp::new(&plan));
}
