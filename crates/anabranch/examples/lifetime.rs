//! A message with a lifetime: where the network does not take it in time it is given up, and the sender is told.
//!
//! ```text
//! message 1: delivered
//! message 2: given up before it was sent
//! message 3: delivered
//! the receiver has 1 and 3
//! ```
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use anabranch::{Config, Duration, Event, Message};

#[path = "common/wire.rs"]
mod wire;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // `for_networks` offers partial reliability (RFC 3758).
    let mut wire = wire::Wire::up(Config::for_networks())?;
    let position = |number: u32| {
        Message::new(0, format!("{number}")).lifetime(Duration::from_millis(100)).context(number).tell_fate()
    };

    let now = wire.now;
    wire.side(0)?.send(now, position(1))?;
    wire.run(Duration::from_millis(500))?;

    // The sender's machine sleeps while the second waits: nothing is polled for 300 ms.
    let now = wire.now;
    wire.side(0)?.send(now, position(2))?;
    wire.now += Duration::from_millis(300);
    wire.run(Duration::from_millis(500))?;

    let now = wire.now;
    wire.side(0)?.send(now, position(3))?;
    wire.run(Duration::from_millis(500))?;

    for event in &wire.told {
        match event {
            Event::Delivered { context, .. } => println!("message {context}: delivered"),
            Event::Abandoned { context, sent: false, .. } => {
                println!("message {context}: given up before it was sent");
            }
            Event::Abandoned { context, sent: true, .. } => {
                println!("message {context}: given up, a part was sent");
            }
            _ => {}
        }
    }
    let mut heard = Vec::new();
    while let Some(message) = wire.side(1)?.receive() {
        heard.push(String::from_utf8_lossy(&message.into_bytes()).into_owned());
    }
    println!("the receiver has {}", heard.join(" and "));
    Ok(())
}
