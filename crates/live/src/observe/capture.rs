//! Captures of the packets that endpoints send and receive, as tcpdump would make them, without its privileges.

use std::fmt;
use std::io::{BufWriter, Write};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anabranch_base::{Dscp, Ecn, Instant};
use anabranch_trace::write::{CaptureFile, CaptureFormat, Interface, Packet, Way};

use super::file::{Queue, Recorded};
use crate::clock::Clock;

const UDP: u8 = 17;
const SCTP: u8 = 132;
const UDP_HEADER: usize = 8;

/// The options of a capture.
#[derive(Clone, Copy, Debug, Default)]
pub struct CaptureOptions {
    /// pcapng, or pcap for older programs.
    pub format: CaptureFormat,
    /// Bytes of each IP packet that are kept; all of them if `None`.
    pub snaplen: Option<u32>,
}

/// A capture in the making. Clones are the same capture: several endpoints may write to one.
///
/// A thread writes the file. A disk that is too slow costs packets in the capture, which are counted in it ("interface statistics" of
/// pcapng); one that is full ends the capture, and nothing else: [`Capture::failed`] tells, and so does an event of `tracing`.
#[derive(Clone)]
pub struct Capture {
    inner: Arc<Inner>,
}

struct Inner {
    writer: Mutex<Option<anabranch_trace::write::Capture>>,
    queue: Arc<Queue>,
    packets: Arc<AtomicBool>,
}

impl fmt::Debug for Capture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Capture").field("queue", &self.inner.queue).finish_non_exhaustive()
    }
}

/// A packet on a wire.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen<'a> {
    pub(super) way: Way,
    /// Port 0 in both: SCTP right over IP.
    pub(super) source: SocketAddr,
    pub(super) destination: SocketAddr,
    pub(super) dscp: Dscp,
    pub(super) ecn: Ecn,
    pub(super) bytes: &'a [u8],
}

/// Each call of `write` is a whole block.
struct Blocks {
    queue: Arc<Queue>,
    /// Whether the present writes are packets, not a head or trailer: only packets may be dropped.
    packets: Arc<AtomicBool>,
}

impl Write for Blocks {
    fn write(&mut self, block: &[u8]) -> std::io::Result<usize> {
        if self.packets.load(Ordering::Relaxed) {
            self.queue.push(block.to_vec());
        } else {
            self.queue.append(block.to_vec());
        }
        Ok(block.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Capture {
    /// A capture that goes to `out`, which needs no buffer of its own.
    ///
    /// # Errors
    /// When there is no thread for it.
    pub fn to(out: impl Write + Send + 'static, options: CaptureOptions) -> std::io::Result<Self> {
        let queue = Arc::new(Queue::start(Box::new(BufWriter::with_capacity(1 << 16, out)), "capture")?);
        let packets = Arc::new(AtomicBool::new(false));
        let blocks = Blocks { queue: Arc::clone(&queue), packets: Arc::clone(&packets) };
        let file = CaptureFile { format: options.format, out: Box::new(blocks) };
        let interface = Interface { name: "anabranch".to_owned(), speed: None, from: 1, to: 2 };
        let writer = anabranch_trace::write::Capture::new(vec![interface], options.snaplen, Some(file));
        packets.store(true, Ordering::Relaxed);
        Ok(Self { inner: Arc::new(Inner { writer: Mutex::new(Some(writer)), queue, packets }) })
    }

    /// Waits until the capture cannot be written any more, and says why. While all goes well it never comes back.
    pub async fn failed(&self) -> String {
        self.inner.queue.failed().await
    }

    /// Ends the capture; its endpoints go on.
    ///
    /// # Errors
    /// Why it could not be written.
    pub fn close(&self) -> Result<Recorded, String> {
        let recorded = self.inner.queue.recorded();
        if let Some(mut writer) = self.lock().take() {
            let now = Clock::time_of_day();
            self.inner.packets.store(false, Ordering::Relaxed);
            writer.statistics(now, 0, recorded.seen, recorded.dropped);
            let _ = writer.finish();
        }
        self.inner.queue.close().map(|_| recorded)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<anabranch_trace::write::Capture>> {
        self.inner.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A packet; the time counts from 1970.
    pub(super) fn packet(&self, at: Instant, seen: &Seen<'_>) {
        if self.inner.queue.is_over() {
            return;
        }
        let mut packet = Packet {
            source: seen.source.ip(),
            destination: seen.destination.ip(),
            protocol: SCTP,
            dscp: seen.dscp,
            ecn: seen.ecn,
            id: 0,
            way: Some(seen.way),
            bytes: seen.bytes,
        };
        let datagram;
        if seen.source.port() != 0 || seen.destination.port() != 0 {
            datagram = udp(seen);
            packet.protocol = UDP;
            packet.bytes = &datagram;
        }
        if let Some(writer) = &mut *self.lock() {
            writer.packet(at, 0, &packet);
        }
    }
}

/// With its UDP header (RFC 6951). The checksum is left out, as IPv4 allows; over IPv6 the writer makes one.
fn udp(seen: &Seen<'_>) -> Vec<u8> {
    let length = (UDP_HEADER + seen.bytes.len()) as u16;
    let mut datagram = Vec::with_capacity(length.into());
    for field in [seen.source.port(), seen.destination.port(), length, 0] {
        datagram.extend(field.to_be_bytes());
    }
    datagram.extend_from_slice(seen.bytes);
    datagram
}
