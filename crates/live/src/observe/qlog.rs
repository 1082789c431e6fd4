//! qlog of endpoints: the reports of the core, the packets, and the lives of associations. `docs/reference/trace.md` has the events.

use std::collections::BTreeMap;
use std::io::{BufWriter, Write};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anabranch_base::{Instant, TraceRecord};
use anabranch_sctp::{CloseReason, Event};
use anabranch_trace::qlog;
use anabranch_trace::write::Way;
use serde_json::{Map, Value, json};

use super::file::{Queue, Recorded};
use crate::clock::Clock;
use crate::error::in_words;

/// Peers whose packets are counted. Strangers may send from any number of addresses.
const MOST_PEERS: usize = 1 << 16;

pub use anabranch_trace::qlog::Vantage;

/// A qlog in the making (JSON-SEQ). Clones are the same: several endpoints may write to one. Each association is a group, called by the
/// address of its peer. A thread writes it, as a [`Capture`](super::Capture).
#[derive(Clone, Debug)]
pub struct Qlog {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    queue: Queue,
    /// Nanoseconds since 1970 that times count from.
    began: u64,
    /// Latest time so far: endpoints of one file tell at the same time, and a file is in order.
    latest: AtomicU64,
    /// Packets received and sent, by peer.
    packets: Mutex<BTreeMap<SocketAddr, (u64, u64)>>,
}

impl Qlog {
    /// A qlog that goes to `out`, which needs no buffer of its own.
    ///
    /// # Errors
    /// When there is no thread for it.
    pub fn to(out: impl Write + Send + 'static, title: &str, vantage: Vantage) -> std::io::Result<Self> {
        let queue = Queue::start(Box::new(BufWriter::with_capacity(1 << 16, out)), "qlog")?;
        let now = Clock::time_of_day();
        let text = Clock::in_words(now);
        let mut common = Map::new();
        common.insert("protocol_types".to_owned(), json!(["SCTP"]));
        let inner = Inner {
            queue,
            began: now.as_nanos(),
            latest: AtomicU64::new(0),
            packets: Mutex::new(BTreeMap::new()),
        };
        let head = qlog::head(title, ("anabranch", vantage), Some(&text), common);
        inner.queue.append(text_of(&head));
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Waits until it cannot be written any more, and says why. While all goes well it never comes back.
    pub async fn failed(&self) -> String {
        self.inner.queue.failed().await
    }

    /// Ends it; its endpoints go on.
    ///
    /// # Errors
    /// Why it could not be written.
    pub fn close(&self) -> Result<Recorded, String> {
        self.inner.queue.close()
    }

    /// Since the beginning of the file, and not before the last event.
    fn since(&self, at: Instant) -> Instant {
        let since = at.as_nanos().saturating_sub(self.inner.began);
        let latest = self.inner.latest.fetch_max(since, Ordering::Relaxed);
        Instant::from_nanos(since.max(latest))
    }

    fn tell(&self, event: &Value) {
        self.inner.queue.push(text_of(event));
    }

    /// Writes a trace record of the core. Times count from 1970.
    pub(super) fn record(&self, record: &TraceRecord, group: &str) {
        if self.inner.queue.is_over() {
            return;
        }
        let at = self.since(record.at);
        self.tell(&qlog::event(&TraceRecord { at, ..*record }, Some(group)));
    }

    pub(super) fn packet(&self, at: Instant, way: Way, peer: SocketAddr, bytes: &[u8]) {
        if self.inner.queue.is_over() {
            return;
        }
        let mut packets = self.inner.packets.lock().unwrap_or_else(PoisonError::into_inner);
        if packets.len() >= MOST_PEERS {
            packets.clear();
        }
        let (came, left) = packets.entry(peer).or_default();
        let count = if way == Way::In { came } else { left };
        let number = *count;
        *count += 1;
        drop(packets);
        self.tell(&qlog::packet(self.since(at), way, &peer.to_string(), number, bytes));
    }

    /// Writes an event of an association's life.
    pub(super) fn life(&self, at: Instant, group: &str, event: &Event) {
        let (name, data) = match event {
            Event::Established { outbound_streams, inbound_streams }
            | Event::Accepted { outbound_streams, inbound_streams, .. } => (
                "connectivity:connection_state_updated",
                json!({ "new": "active", "anabranch_outbound_streams": outbound_streams, "anabranch_inbound_streams": inbound_streams }),
            ),
            Event::PeerShutdown => ("connectivity:connection_state_updated", json!({ "new": "draining" })),
            Event::Closed(reason) => {
                let owner = match reason {
                    CloseReason::AbortedByPeer { .. } => "remote",
                    _ => "local",
                };
                ("connectivity:connection_closed", json!({ "owner": owner, "reason": in_words(reason) }))
            }
            Event::Readable { .. } | Event::Writable { .. } | Event::SenderDry => return,
            other => ("anabranch:event", json!({ "event": format!("{other:?}") })),
        };
        self.tell(&qlog::named(self.since(at), name, Some(group), data));
    }
}

fn text_of(value: &Value) -> Vec<u8> {
    let mut text = Vec::with_capacity(256);
    // A vector takes everything.
    let _ = qlog::write(&mut text, value);
    text
}
