//! The stack on real sockets: SCTP in UDP (RFC 6951), which needs no privileges, or right on IP, driven by a task of tokio or by threads.
//!
//! [`Endpoint::bind`] makes the sockets and starts the task; [`Endpoint::connect`] and [`Endpoint::accept`] give [`Association`]s;
//! [`Association::send`] and [`Association::recv`] move messages. Everything that waits may be dropped while it waits.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use anabranch_live::{Endpoint, EndpointConfig};
//!
//! let server = Endpoint::bind(&["127.0.0.1:0".parse()?], EndpointConfig::on_port(5000))?;
//! server.listen()?;
//! let at = server.local_addresses()[0];
//! let echo = tokio::spawn(async move {
//!     let association = server.accept().await.expect("somebody asks").accept().expect("it still waits");
//!     while let Ok(Some(message)) = association.recv().await {
//!         association.send(message.into_bytes()).await.expect("the peer still reads");
//!     }
//! });
//!
//! let client = Endpoint::bind(&["127.0.0.1:0".parse()?], EndpointConfig::default())?;
//! let association = client.connect(at, 5000).await?;
//! association.send("hello").await?;
//! let answer = association.recv().await?.expect("the server answers");
//! assert_eq!(answer.into_bytes(), "hello");
//! association.shutdown().await?;
//! echo.await?;
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod association;
pub mod blocking;
#[cfg(target_os = "linux")]
mod claims;
#[cfg(not(target_os = "linux"))]
#[path = "no_claims.rs"]
mod claims;
mod clock;
mod config;
mod driver;
mod endpoint;
mod error;
#[cfg(test)]
mod faults;
mod observe;
mod packets;
mod raw;
mod ready;
mod shards;
mod shared;
mod slot;
mod socket;
mod waiters;

pub use anabranch_sctp::{
    AcceptConfig, AcceptError, CloseReason, Config, Event, IntoPayload, Message, MessageId, Received,
    Snapshot,
};
pub use anabranch_trace::write::CaptureFormat;
pub use association::{Association, Outbound, Stream};
pub use config::{ENCAPSULATION_PORT, EndpointConfig, Transport, default_association, for_sockets};
pub use endpoint::{Endpoint, Incoming};
pub use error::{BindError, Closed, ConnectError, SendError, in_words};
pub use observe::{Capture, CaptureOptions, Qlog, Recorded, Vantage};
