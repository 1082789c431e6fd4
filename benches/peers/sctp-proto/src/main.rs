//! Driver of sctp-proto on a UDP socket.

use peer::Plan;
use peer_sctp_proto::Proto;

fn main() {
    let plan = Plan::read();
    if plan.end == peer::Ending::Abort {
        return peer::Report::print_cannot(
            "sctp-proto",
            "has no call that aborts: close() tells the peer nothing",
        );
    }
    peer::udp::play("sctp-proto", &plan, &mut Proto::new(&plan));
}
