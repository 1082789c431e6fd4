//! SCTP in user space (RFC 9260): messages instead of bytes, in order within streams that do not wait for each other, reliable
//! for as long as each is worth sending.
//!
//! Nothing here encrypts or authenticates sent data: use it within DTLS or a tunnel where that matters.
//!
//! ```
//! # #[cfg(feature = "live")]
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use anabranch::live::{Endpoint, EndpointConfig};
//!
//! // SCTP travels in UDP, so this needs no privileges and no SCTP in the kernel. 5000 is the SCTP port.
//! let server = Endpoint::bind(&["127.0.0.1:0".parse()?], EndpointConfig::on_port(5000))?;
//! server.listen()?;
//! let address = server.local_addresses()[0];
//! let echo = tokio::spawn(async move {
//!     let association = server.accept().await.expect("somebody asks").accept().expect("it still waits");
//!     while let Ok(Some(message)) = association.recv().await {
//!         association.send(message.into_bytes()).await.expect("the peer still reads");
//!     }
//! });
//!
//! let client = Endpoint::bind(&["127.0.0.1:0".parse()?], EndpointConfig::default())?;
//! let association = client.connect(address, 5000).await?;
//! association.send("hello").await?;
//! let answer = association.recv().await?.expect("the server answers");
//! assert_eq!(answer.into_bytes(), "hello");
//! association.shutdown().await?;
//! echo.await?;
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "live"))]
//! # fn main() {}
//! ```
//!
//! # Three ways to use it
//!
//! | module | feature | contents |
//! |---|---|---|
//! | `live` | `live`, on by default | real sockets, driven by a task of tokio; `live::blocking` without tokio for the caller |
//! | the root of this crate | always | the protocol without I/O: [`Endpoint`] takes packets and the time, and gives packets, events and when to wake it |
//! | `sim` | `sim` | networks and traffic from a scenario file, in virtual time: the same seed gives the same result |
//! | `decode` | `decode` | captures of any program: flows, retransmissions and their reasons |
//!
//! `examples/` has a small program for each of the usual tasks. All of them run in the tests.
//!
//! # Without I/O
//!
//! ```
//! use std::sync::Arc;
//! use anabranch::{Config, Endpoint, EndpointConfig, Instant, Message, SecretRng};
//!
//! let local = "192.0.2.1:9899".parse()?;
//! let peer = "192.0.2.2:9899".parse()?;
//! // On a network the seed comes from the operating system.
//! let mut endpoint = Endpoint::new(EndpointConfig::new(local, 5000), SecretRng::from_seed([7; 32]));
//! let now = Instant::ZERO;
//! let id = endpoint.connect(now, peer, 5000, Arc::new(Config::for_networks()))?;
//! endpoint.association(id).expect("just opened").send(now, Message::new(0, "hello"))?;
//!
//! let mut packets = Vec::new();
//! let transmit = endpoint.poll_transmit(now, 1, &mut packets).expect("an INIT");
//! assert_eq!((transmit.destination, transmit.size), (peer, packets.len()));
//! let (wake, _) = endpoint.poll_timeout().expect("it is sent again if no answer comes");
//! assert!(wake > now);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `docs/reference/api.md` lists calls, events and options.
#![forbid(unsafe_code)]

pub use anabranch_sctp::*;
pub use bytes::Bytes;

#[cfg(feature = "live")]
pub use anabranch_live as live;

#[cfg(feature = "sim")]
pub use anabranch_sim as sim;

#[cfg(feature = "decode")]
pub use anabranch_trace as decode;
