//! Reliability by stream: lost messages on a stream of positions are not sent again, a file on another stream arrives whole.
//!
//! ```text
//! positions received: 9 of 10
//! file received: 20000 of 20000 bytes
//! given up on stream 1: 1
//! ```
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::atomic::{AtomicU32, Ordering};

use anabranch::{Config, Duration, Message, Reliability};

#[path = "common/wire.rs"]
mod wire;

const FILE: u16 = 0;
const POSITIONS: u16 = 1;
/// Packets of the sender since the association was up.
static SENT: AtomicU32 = AtomicU32::new(0);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut wire = wire::Wire::up(Config::for_networks())?;
    wire.side(0)?.set_reliability(Some(POSITIONS), Reliability::Retransmissions(0))?;

    // Of the sender's packets with positions the third is lost, and the second of those with the file.
    wire.lose = |side, _| side == 0 && [3, 12].contains(&(SENT.fetch_add(1, Ordering::Relaxed) + 1));
    for number in 0..10_u8 {
        let now = wire.now;
        wire.side(0)?.send(now, Message::new(POSITIONS, vec![number; 100]))?;
        wire.run(Duration::from_millis(20))?;
    }
    let now = wire.now;
    wire.side(0)?.send(now, Message::new(FILE, vec![7; 20_000]))?;
    wire.run(Duration::from_secs(5))?;

    let (mut positions, mut file) = (0, 0);
    while let Some(message) = wire.side(1)?.receive() {
        match message.stream {
            POSITIONS => positions += 1,
            _ => file += message.len(),
        }
    }
    println!("positions received: {positions} of 10");
    println!("file received: {file} of 20000 bytes");
    println!("given up on stream 1: {}", wire.side(0)?.abandoned(Some(POSITIONS), None).sent);
    Ok(())
}
