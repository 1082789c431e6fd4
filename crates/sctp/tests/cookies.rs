//! What a State Cookie tells and is good for (RFC 9260, 5.1.3, 5.1.5, 5.2.2, 5.2.4): it betrays no tag, and makes one association,
//! once. Third parties see packets, and the network delivers packets twice and late.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]
#![allow(dead_code, reason = "the harness has more than this file needs")]

mod network;

use anabranch_base::Duration;
use anabranch_sctp::State;
use anabranch_wire::cause::Causes;
use anabranch_wire::chunk::{Abort, kind};
use network::{Datagram, Network, init, ip, packet};

const A: u8 = 1;
const Z: u8 = 2;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A and Z; both listen.
fn two(seed: u64) -> (Network, usize, usize) {
    let mut net = Network::default();
    let (a, z) = (net.add(seed, "a", &[A]), net.add(seed, "z", &[Z]));
    net.listen(a);
    net.listen(z);
    (net, a, z)
}

/// Tie-Tags are "two 32-bit random numbers that together make a 64-bit nonce" (2), and "populated with a random value other than
/// 0" (5.2.2). Whoever reads the INIT ACK of a restart that never was (behind the same NAT, say) finds no tag there that ends the
/// association.
#[test]
fn a_cookie_betrays_no_tag_of_an_association() {
    for wait in [25, 100] {
        let (mut net, a, z) = two(1);
        let id = net.connect(a, ip(Z));
        net.run_for(ms(wait));
        let state = net.state(a, id);
        assert_eq!(state, if wait == 25 { State::CookieEchoed } else { State::Established });
        net.throw(ip(Z), ip(A), init(0x7777_7777, &[]));
        net.run_for(ms(12));
        let offer = net.log.iter().rev().find_map(Datagram::offer).unwrap();
        net.run_for(ms(100));
        // In COOKIE-ECHOED the INIT ACK repeats our tag in any case (5.2.1); the peer's must stay hidden.
        let shown = [offer.tag, 0x7777_7777];
        for at in 0..offer.cookie.len() - 3 {
            let tag = u32::from_be_bytes(offer.cookie[at..at + 4].try_into().unwrap());
            if shown.contains(&tag) {
                continue;
            }
            for reflected_tag in [false, true] {
                let abort = packet(tag, |out| Abort { reflected_tag, causes: Causes::EMPTY }.emit(out));
                net.throw(ip(Z), ip(A), abort.clone());
                net.throw(ip(A), ip(Z), abort);
            }
        }
        net.run_for(ms(3000));
        let back = net.association_with(z, ip(A)).unwrap();
        assert_eq!(
            (net.state(a, id), net.state(z, back)),
            (State::Established, State::Established),
            "{state:?}"
        );
    }
}
