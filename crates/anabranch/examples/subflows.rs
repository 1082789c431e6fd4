//! Subflows: two streams of one association leave with different code points, each with a congestion window of its own. The
//! peer needs to know nothing of it.
//!
//! ```text
//! code point 0: 29 packets
//! code point 46: 1 packets
//! subflow 0: code point 0, 30000 bytes
//! subflow 1: code point 46, 160 bytes
//! ```
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::atomic::{AtomicU32, Ordering};

use anabranch::{Config, Dscp, Duration, Message};

#[path = "common/wire.rs"]
mod wire;

const BULK: u16 = 0;
const VOICE: u16 = 1;
/// Expedited Forwarding (RFC 3246).
const EF: u8 = 46;
/// Packets of the sender by code point.
static PACKETS: [AtomicU32; 64] = [const { AtomicU32::new(0) }; 64];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut wire = wire::Wire::up(Config::for_networks())?;
    // Nothing is lost: the packets are counted.
    wire.lose = |side, transmit| {
        if side == 0 {
            PACKETS[usize::from(transmit.dscp.get())].fetch_add(1, Ordering::Relaxed);
        }
        false
    };

    let now = wire.now;
    let voice = Dscp::new(EF).ok_or("a code point is below 64")?;
    wire.side(0)?.send(now, Message::new(BULK, vec![7; 30_000]))?;
    // The first message with another code point opens a subflow for its stream.
    wire.side(0)?.send(now, Message::new(VOICE, vec![7; 160]).dscp(voice))?;
    wire.run(Duration::from_secs(1))?;

    for (point, packets) in PACKETS.iter().enumerate() {
        let packets = packets.load(Ordering::Relaxed);
        if packets > 0 {
            println!("code point {point}: {packets} packets");
        }
    }
    let sender = wire.side(0)?;
    for index in 0..sender.subflows() as u8 {
        let stats = sender.subflow_stats(index).ok_or("it is open")?;
        println!("subflow {index}: code point {}, {} bytes", stats.dscp.get(), stats.payload_bytes_unique);
    }
    Ok(())
}
