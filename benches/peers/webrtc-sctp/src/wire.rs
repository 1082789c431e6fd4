//! The connection of one association on a socket that outlives it. It also looks at the packets: the stack does not tell how an
//! association has ended.

use std::any::Any;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tokio::net::UdpSocket;
use tokio::sync::Notify;
use webrtc_util::conn::Conn;
use webrtc_util::{Error, Result};

const ABORT: u8 = 6;
const SHUTDOWN_COMPLETE: u8 = 14;

pub(crate) struct Wire {
    pub(crate) socket: Arc<UdpSocket>,
    remote: Mutex<SocketAddr>,
    closed: AtomicBool,
    close: Notify,
    /// The peer has sent its last packet: later ones are for the next association.
    ended: AtomicBool,
    pub(crate) aborted: AtomicBool,
    pub(crate) completed: AtomicBool,
}

impl Wire {
    pub(crate) fn new(socket: Arc<UdpSocket>, remote: SocketAddr) -> Self {
        Self {
            socket,
            remote: Mutex::new(remote),
            closed: AtomicBool::new(false),
            close: Notify::new(),
            ended: AtomicBool::new(false),
            aborted: AtomicBool::new(false),
            completed: AtomicBool::new(false),
        }
    }

    fn remote(&self) -> SocketAddr {
        *self.remote.lock().expect("nobody panics with it")
    }
}

#[async_trait::async_trait]
impl Conn for Wire {
    async fn connect(&self, _addr: SocketAddr) -> Result<()> {
        Ok(())
    }

    async fn recv(&self, buf: &mut [u8]) -> Result<usize> {
        loop {
            if self.closed.load(Ordering::SeqCst) {
                return Err(Error::ErrUseClosedNetworkConn);
            }
            if self.ended.load(Ordering::SeqCst) {
                self.close.notified().await;
                continue;
            }
            let got = tokio::select! {
                got = self.socket.recv_from(buf) => got,
                () = self.close.notified() => continue,
            };
            // An ICMP error about an earlier packet is no matter.
            let Ok((len, from)) = got else { continue };
            *self.remote.lock().expect("nobody panics with it") = from;
            match buf.get(12) {
                Some(&ABORT) if len > 12 => self.aborted.store(true, Ordering::SeqCst),
                Some(&SHUTDOWN_COMPLETE) if len > 12 => {
                    self.completed.store(true, Ordering::SeqCst);
                    self.ended.store(true, Ordering::SeqCst);
                }
                _ => {}
            }
            return Ok(len);
        }
    }

    async fn recv_from(&self, buf: &mut [u8]) -> Result<(usize, SocketAddr)> {
        let len = self.recv(buf).await?;
        Ok((len, self.remote()))
    }

    async fn send(&self, buf: &[u8]) -> Result<usize> {
        if buf.get(12) == Some(&SHUTDOWN_COMPLETE) {
            self.completed.store(true, Ordering::SeqCst);
        }
        // No process at the port, or a full buffer: lost, as in a network.
        let _lost = self.socket.send_to(buf, self.remote()).await.is_err();
        Ok(buf.len())
    }

    async fn send_to(&self, buf: &[u8], _target: SocketAddr) -> Result<usize> {
        self.send(buf).await
    }

    fn local_addr(&self) -> Result<SocketAddr> {
        Ok(self.socket.local_addr()?)
    }

    fn remote_addr(&self) -> Option<SocketAddr> {
        Some(self.remote())
    }

    async fn close(&self) -> Result<()> {
        self.closed.store(true, Ordering::SeqCst);
        self.close.notify_waiters();
        self.close.notify_one();
        Ok(())
    }

    fn as_any(&self) -> &(dyn Any + Send + Sync) {
        self
    }
}
