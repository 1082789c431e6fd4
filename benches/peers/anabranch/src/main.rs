//! Driver of our own stack on a UDP socket.

use std::fs::File;
use std::io::Read as _;

use peer::Plan;
use peer_anabranch::Anabranch;

fn stack(plan: &Plan) -> Result<Anabranch, String> {
    let mut secret = [0; 32];
    File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut secret))
        .map_err(|error| format!("/dev/urandom: {error}"))?;
    Anabranch::new(plan, secret)
}

fn main() {
    let plan = Plan::read();
    match stack(&plan) {
        Ok(mut stack) => peer::udp::play("anabranch", &plan, &mut stack),
        Err(why) => {
            eprintln!("{why}");
            std::process::exit(2);
        }
    }
}
