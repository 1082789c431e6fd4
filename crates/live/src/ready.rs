//! When a socket can be read or written, or has errors to tell.
//!
//! A runtime asks the system to be told of everything that it may ever wait for. For a UDP socket that is one wakeup too many for each packet: one for
//! the answer, and one because the room that the packet took in the send buffer is free again. So it is asked for received packets alone;
//! room to write is asked for while a packet waits for it.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use socket2::Socket;
use tokio::io::{Interest, Ready};

#[cfg(unix)]
type Registered = tokio::io::unix::AsyncFd<Socket>;

/// tokio deprecates this function because of types whose descriptor may change; a socket keeps its descriptor as long
/// as it lives. The successor is an unsafe function, and this crate has no unsafe code.
#[cfg(unix)]
#[allow(deprecated, reason = "its successor is unsafe")]
fn register(socket: Socket, interest: Interest) -> io::Result<Registered> {
    Registered::with_interest(socket, interest)
}
#[cfg(not(unix))]
type Registered = tokio::net::UdpSocket;

/// Boxed, as tokio has no method to poll for errors.
type ErrorReadiness = Pin<Box<dyn Future<Output = io::Result<Ready>> + Send + Sync>>;

/// A socket, and its registration with the runtime.
pub(crate) struct Io {
    registered: Arc<Registered>,
    /// While a packet waits for room: the same socket, asked about room alone.
    #[cfg(unix)]
    room: Option<Registered>,
    /// Tells when there are errors to be read.
    errors: Option<ErrorReadiness>,
}

#[cfg(unix)]
impl Io {
    /// Within a runtime. The socket does not block.
    pub(crate) fn new(socket: Socket) -> io::Result<Self> {
        let registered = register(socket, Interest::READABLE)?;
        Ok(Self { registered: Arc::new(registered), room: None, errors: None })
    }

    pub(crate) fn socket(&self) -> &Socket {
        self.registered.get_ref()
    }

    /// Waits until something has come.
    pub(crate) fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Readiness is kept: `read` finds out that there is nothing more.
        self.registered.poll_read_ready(cx).map_ok(|mut known| known.retain_ready())
    }

    /// Reads, where the runtime knows of something to read.
    pub(crate) fn read<R>(&self, read: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
        self.registered.try_io(Interest::READABLE, |_| read())
    }

    /// Writes, unless a packet waits for room: else the system says whether there is any.
    pub(crate) fn write<R>(&self, write: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
        if self.room.is_some() { Err(io::ErrorKind::WouldBlock.into()) } else { write() }
    }

    /// Waits until there is room, after a write that found none.
    ///
    /// # Errors
    /// When the system cannot be asked.
    pub(crate) fn poll_room(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.room.is_none() {
            let same = self.socket().try_clone()?;
            self.room = Some(register(same, Interest::WRITABLE)?);
        }
        if let Some(room) = &self.room {
            ready!(room.poll_write_ready(cx))?.retain_ready();
        }
        self.room = None;
        Poll::Ready(Ok(()))
    }
}

#[cfg(not(unix))]
impl Io {
    /// Within a runtime. The socket does not block.
    pub(crate) fn new(socket: Socket) -> io::Result<Self> {
        Ok(Self { registered: Arc::new(Registered::from_std(socket.into())?), errors: None })
    }

    pub(crate) fn socket(&self) -> &Registered {
        &self.registered
    }

    /// Waits until something has come.
    pub(crate) fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.registered.poll_recv_ready(cx)
    }

    /// Reads, where the runtime knows of something to read.
    pub(crate) fn read<R>(&self, read: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
        self.registered.try_io(Interest::READABLE, read)
    }

    /// Writes, where the runtime knows of room.
    pub(crate) fn write<R>(&self, write: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
        self.registered.try_io(Interest::WRITABLE, write)
    }

    /// Waits until there is room, after a write that found none.
    ///
    /// # Errors
    /// When the system cannot be asked.
    pub(crate) fn poll_room(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.registered.poll_send_ready(cx)
    }
}

impl Io {
    /// Whether the system has errors to tell. Wakes the task when it has.
    pub(crate) fn poll_errors(&mut self, cx: &mut Context<'_>) -> bool {
        let registered = &self.registered;
        let waiting = self.errors.get_or_insert_with(|| {
            let registered = Arc::clone(registered);
            Box::pin(async move {
                #[cfg(unix)]
                let told = registered.ready(Interest::ERROR).await.map(|known| known.ready());
                #[cfg(not(unix))]
                let told = registered.ready(Interest::ERROR).await;
                told
            })
        });
        if waiting.as_mut().poll(cx).is_pending() {
            return false;
        }
        self.errors = None;
        true
    }

    /// Clears the runtime's knowledge of errors, which were read; `read` finds those that have come meanwhile.
    pub(crate) fn forget_errors(&self, read: impl FnOnce()) {
        let read = || {
            read();
            Err::<(), _>(io::ErrorKind::WouldBlock.into())
        };
        #[cfg(unix)]
        let _ = self.registered.try_io(Interest::ERROR, |_| read());
        #[cfg(not(unix))]
        let _ = self.registered.try_io(Interest::ERROR, read);
    }
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

    use std::time::Duration;

    use socket2::{Domain, Type};

    use super::*;

    /// Tested with a Unix socket, which takes no more than its reader has room for: UDP on the loopback never reports a
    /// full buffer.
    #[tokio::test]
    async fn a_full_socket_tells_when_there_is_room() {
        let (ours, theirs) = Socket::pair(Domain::UNIX, Type::DGRAM, None).unwrap();
        ours.set_nonblocking(true).unwrap();
        let mut io = Io::new(ours).unwrap();
        let send = |io: &Io| io.write(|| io.socket().send(&[0; 1000]));
        let mut left = 0;
        while send(&io).is_ok() {
            left += 1;
        }
        let waiting =
            tokio::time::timeout(Duration::from_millis(20), std::future::poll_fn(|cx| io.poll_room(cx)));
        assert!(waiting.await.is_err(), "nothing was read, so there is no room");
        // While a packet waits no other goes before it.
        assert_eq!(send(&io).map_err(|error| error.kind()), Err(io::ErrorKind::WouldBlock));
        let reader = std::thread::spawn(move || {
            for _ in 0..left {
                std::io::Read::read(&mut &theirs, &mut [0; 1000]).unwrap();
            }
            theirs
        });
        std::future::poll_fn(|cx| io.poll_room(cx)).await.unwrap();
        let _open = reader.join().unwrap();
        assert_eq!(send(&io).unwrap(), 1000);
    }
}
