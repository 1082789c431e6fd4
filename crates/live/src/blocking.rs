//! Endpoints and associations without tokio for their user: calls that block, and a thread that drives.
//!
//! ```
//! use anabranch_live::{EndpointConfig, blocking::Endpoint};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = Endpoint::bind(&["127.0.0.1:0".parse()?], EndpointConfig::on_port(5000))?;
//! server.listen()?;
//! let at = server.local_addresses()[0];
//! let reader = std::thread::spawn(move || {
//!     let association = server.accept().expect("somebody asks").accept().expect("it still waits");
//!     association.recv().expect("it lives").expect("there is a message").into_bytes()
//! });
//! let client = Endpoint::bind(&["127.0.0.1:0".parse()?], EndpointConfig::default())?;
//! let association = client.connect(at, 5000)?;
//! association.send("hello")?;
//! assert_eq!(reader.join().expect("no panic"), "hello");
//! # Ok(())
//! # }
//! ```

use std::future::Future;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

use anabranch_sctp::{
    AcceptError, AssociationHandle, CloseReason, Config, Event, MessageId, Received, Snapshot,
};
use tokio::sync::oneshot;

use crate::association::Outbound;
use crate::clock::Clock;
use crate::config::EndpointConfig;
use crate::error::{BindError, Closed, ConnectError, SendError};

/// As [`crate::Endpoint`]. Its thread ends when the endpoint and its associations have.
#[derive(Clone, Debug)]
pub struct Endpoint {
    endpoint: crate::Endpoint,
}

/// As [`crate::Association`].
#[derive(Clone, Debug)]
pub struct Association {
    association: crate::Association,
}

/// As [`crate::Stream`].
#[derive(Clone, Debug)]
pub struct Stream {
    association: Association,
    number: u16,
}

/// As [`crate::Incoming`].
#[derive(Debug)]
pub struct Incoming {
    incoming: crate::Incoming,
}

impl Endpoint {
    /// As [`crate::Endpoint::bind`], with a thread that drives it.
    ///
    /// # Errors
    /// When a socket or the thread cannot be had.
    pub fn bind(local: &[SocketAddr], config: EndpointConfig) -> Result<Self, BindError> {
        if config.shards > 1 {
            return crate::Endpoint::bind(local, config).map(|endpoint| Self { endpoint });
        }
        let local = local.to_vec();
        let (bound, binding) = oneshot::channel();
        let drive = move || {
            let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
                Ok(runtime) => runtime,
                Err(error) => {
                    let _ = bound.send(Err(BindError::Thread(error)));
                    return;
                }
            };
            runtime.block_on(async {
                match crate::Endpoint::bind_with_driver(&local, config) {
                    Err(error) => {
                        let _ = bound.send(Err(error));
                    }
                    Ok((endpoint, driver)) => {
                        let _ = bound.send(Ok(endpoint));
                        driver.await;
                    }
                }
            });
        };
        std::thread::Builder::new().name("sctp".to_owned()).spawn(drive).map_err(BindError::Thread)?;
        match wait(binding) {
            Ok(endpoint) => Ok(Self { endpoint: endpoint? }),
            Err(_) => Err(BindError::Thread(std::io::ErrorKind::Other.into())),
        }
    }

    /// As [`crate::Endpoint::local_addresses`].
    #[must_use]
    pub fn local_addresses(&self) -> &[SocketAddr] {
        self.endpoint.local_addresses()
    }

    /// As [`crate::Endpoint::port`].
    #[must_use]
    pub fn port(&self) -> u16 {
        self.endpoint.port()
    }

    /// As [`crate::Endpoint::connect`].
    ///
    /// # Errors
    /// As there.
    pub fn connect(&self, remote: SocketAddr, port: u16) -> Result<Association, ConnectError> {
        wait(self.endpoint.connect(remote, port)).map(|association| Association { association })
    }

    /// As [`crate::Endpoint::connect_with`].
    ///
    /// # Errors
    /// As there.
    pub fn connect_with(
        &self,
        remote: SocketAddr,
        port: u16,
        config: Arc<Config>,
    ) -> Result<Association, ConnectError> {
        wait(self.endpoint.connect_with(remote, port, config)).map(|association| Association { association })
    }

    /// As [`crate::Endpoint::listen`].
    ///
    /// # Errors
    /// As there.
    pub fn listen(&self) -> Result<(), ConnectError> {
        self.endpoint.listen()
    }

    /// As [`crate::Endpoint::begin_from`].
    ///
    /// # Errors
    /// As there.
    pub fn begin_from(
        &self,
        local_port: u16,
        remote: SocketAddr,
        port: u16,
        config: Arc<Config>,
    ) -> Result<Association, ConnectError> {
        let begun = self.endpoint.begin_from(local_port, remote, port, config);
        begun.map(|association| Association { association })
    }

    /// As [`crate::Endpoint::open_port`].
    ///
    /// # Errors
    /// As there.
    pub fn open_port(&self, port: u16) -> Result<(), ConnectError> {
        self.endpoint.open_port(port)
    }

    /// As [`crate::Endpoint::associations`].
    #[must_use]
    pub fn associations(&self) -> usize {
        self.endpoint.associations()
    }

    /// As [`crate::Endpoint::accept`].
    #[must_use]
    pub fn accept(&self) -> Option<Incoming> {
        wait(self.endpoint.accept()).map(|incoming| Incoming { incoming })
    }

    /// As [`crate::Endpoint::close`].
    pub fn close(&self, patience: Duration) {
        wait(self.endpoint.close(patience));
    }
}

impl Incoming {
    /// As [`crate::Incoming::request`].
    #[must_use]
    pub fn request(&self) -> &anabranch_sctp::Incoming {
        self.incoming.request()
    }

    /// As [`crate::Incoming::accept`].
    ///
    /// # Errors
    /// As there.
    pub fn accept(self) -> Result<Association, AcceptError> {
        self.incoming.accept().map(|association| Association { association })
    }

    /// As [`crate::Incoming::accept_with`].
    ///
    /// # Errors
    /// As there.
    pub fn accept_with(self, config: Arc<Config>) -> Result<Association, AcceptError> {
        self.incoming.accept_with(config).map(|association| Association { association })
    }

    /// As [`crate::Incoming::refuse`].
    pub fn refuse(self, reason: &[u8]) {
        self.incoming.refuse(reason);
    }
}

impl Association {
    /// As [`crate::Association::send`].
    ///
    /// # Errors
    /// As there.
    pub fn send(&self, message: impl Into<Outbound>) -> Result<MessageId, SendError> {
        wait(self.association.send(message))
    }

    /// As [`crate::Association::try_send`].
    ///
    /// # Errors
    /// As there.
    pub fn try_send(&self, message: impl Into<Outbound>) -> Result<MessageId, SendError> {
        self.association.try_send(message)
    }

    /// As [`crate::Association::recv`].
    ///
    /// # Errors
    /// As there.
    pub fn recv(&self) -> Result<Option<Received>, Closed> {
        wait(self.association.recv())
    }

    /// As [`crate::Association::recv`]; `None` when nothing has come for so long.
    pub fn recv_within(&self, patience: Duration) -> Option<Result<Option<Received>, Closed>> {
        wait_within(self.association.recv(), patience)
    }

    /// As [`crate::Association::recv_from`].
    ///
    /// # Errors
    /// As there.
    pub fn recv_from(&self, stream: u16) -> Result<Option<Received>, Closed> {
        wait(self.association.recv_from(stream))
    }

    /// As [`crate::Association::next_event`].
    #[must_use]
    pub fn next_event(&self) -> Option<Event> {
        wait(self.association.next_event())
    }

    /// As [`crate::Association::shutdown`].
    ///
    /// # Errors
    /// As there.
    pub fn shutdown(&self) -> Result<(), Closed> {
        wait(self.association.shutdown())
    }

    /// As [`crate::Association::shutdown_within`].
    ///
    /// # Errors
    /// As there.
    pub fn shutdown_within(&self, patience: Duration) -> Result<(), Closed> {
        wait(self.association.shutdown_within(patience))
    }

    /// As [`crate::Association::abort`].
    pub fn abort(&self, reason: &[u8]) {
        self.association.abort(reason);
    }

    /// As [`crate::Association::closed`].
    #[must_use]
    pub fn closed(&self) -> CloseReason {
        wait(self.association.closed())
    }

    /// As [`crate::Association::command`].
    pub fn command<R>(
        &self,
        command: impl FnOnce(&mut AssociationHandle<'_>, anabranch_sctp::Instant) -> R,
    ) -> Option<R> {
        self.association.command(command)
    }

    /// As [`crate::Association::until`].
    pub fn until<R>(&self, look: impl FnMut(&anabranch_sctp::Association) -> Option<R>) -> Option<R> {
        wait(self.association.until(look))
    }

    /// As [`crate::Association::stream`].
    #[must_use]
    pub fn stream(&self, number: u16) -> Stream {
        Stream { association: self.clone(), number }
    }

    /// As [`crate::Association::outbound_streams`].
    #[must_use]
    pub fn outbound_streams(&self) -> u16 {
        self.association.outbound_streams()
    }

    /// As [`crate::Association::snapshot`].
    #[must_use]
    pub fn snapshot(&self) -> Option<Snapshot> {
        self.association.snapshot()
    }
}

impl Stream {
    /// As [`crate::Stream::number`].
    #[must_use]
    pub fn number(&self) -> u16 {
        self.number
    }

    /// As [`crate::Stream::association`].
    #[must_use]
    pub fn association(&self) -> &Association {
        &self.association
    }

    /// As [`crate::Stream::send`].
    ///
    /// # Errors
    /// As there.
    pub fn send(&self, message: impl Into<Outbound>) -> Result<MessageId, SendError> {
        wait(self.association.association.stream(self.number).send(message))
    }

    /// As [`crate::Stream::recv`].
    ///
    /// # Errors
    /// As there.
    pub fn recv(&self) -> Result<Option<Received>, Closed> {
        self.association.recv_from(self.number)
    }
}

/// Wakes a thread that is parked.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Blocks this thread until a future is done. The futures of this crate are woken by the driver's thread.
fn wait<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut cx = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
            return output;
        }
        std::thread::park();
    }
}

/// As [`wait`], but not for longer than `patience`.
fn wait_within<F: Future>(future: F, patience: Duration) -> Option<F::Output> {
    let clock = Clock::new();
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut cx = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
            return Some(output);
        }
        let left = patience.saturating_sub(Duration::from_nanos(clock.now().as_nanos()));
        if left.is_zero() {
            return None;
        }
        std::thread::park_timeout(left);
    }
}
