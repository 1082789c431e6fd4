//! A file that a thread of its own writes: a disk that is slow or full never holds up a driver.

use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use tokio::sync::watch;

/// Bytes that may wait for the disk. Records beyond that are dropped and counted.
const MOST_WAITING: usize = 32 << 20;

/// The completeness of a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Packets or events that there were.
    pub seen: u64,
    /// Entries that are not in the file, as the disk was too slow.
    pub dropped: u64,
}

/// The way into the file.
#[derive(Debug)]
pub(crate) struct Queue {
    shared: Arc<Waiting>,
    sender: Mutex<Option<Sender<Vec<u8>>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    failure: watch::Receiver<Option<String>>,
}

#[derive(Debug, Default)]
struct Waiting {
    bytes: AtomicUsize,
    seen: AtomicU64,
    dropped: AtomicU64,
    /// The file is closed or has failed: nothing is written any more.
    over: AtomicBool,
}

impl Queue {
    /// Starts a thread that writes the pushed entries to `out`. The event of its failure calls it `what`.
    pub(crate) fn start(out: Box<dyn Write + Send>, what: &'static str) -> std::io::Result<Self> {
        let (sender, receiver) = channel();
        let (fails, failure) = watch::channel(None);
        let shared = Arc::new(Waiting::default());
        let held = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name(format!("anabranch-{what}")).spawn(move || {
            if let Err(error) = write_all(out, &receiver, &held) {
                held.over.store(true, Ordering::Relaxed);
                tracing::error!(target: "anabranch_live", %error, "the {what} ends: it cannot be written");
                let _ = fails.send(Some(error.to_string()));
            }
        })?;
        let (sender, thread) = (Mutex::new(Some(sender)), Mutex::new(Some(thread)));
        Ok(Self { shared, sender, thread, failure })
    }

    /// A packet or an event in whole. It is not kept if too much waits already, or nothing can be written any more.
    pub(crate) fn push(&self, bytes: Vec<u8>) {
        self.shared.seen.fetch_add(1, Ordering::Relaxed);
        if self.shared.bytes.load(Ordering::Relaxed) > MOST_WAITING {
            self.shared.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        self.append(bytes);
    }

    /// Appends a head or trailer, which is never dropped and not counted as a packet or event.
    pub(crate) fn append(&self, bytes: Vec<u8>) {
        if self.is_over() {
            return;
        }
        self.shared.bytes.fetch_add(bytes.len(), Ordering::Relaxed);
        if let Some(sender) = &*self.sender.lock().unwrap_or_else(PoisonError::into_inner) {
            let _ = sender.send(bytes);
        }
    }

    /// Whether nothing is written any more.
    pub(crate) fn is_over(&self) -> bool {
        self.shared.over.load(Ordering::Relaxed)
    }

    pub(crate) fn recorded(&self) -> Recorded {
        Recorded {
            seen: self.shared.seen.load(Ordering::Relaxed),
            dropped: self.shared.dropped.load(Ordering::Relaxed),
        }
    }

    /// Waits until the file cannot be written any more, and says why. While all goes well it never comes back.
    pub(crate) async fn failed(&self) -> String {
        let mut failure = self.failure.clone();
        match failure.wait_for(Option::is_some).await.map(|why| why.clone().unwrap_or_default()) {
            Ok(why) => why,
            // The thread has ended in order: there is no failure, ever.
            Err(_) => std::future::pending().await,
        }
    }

    /// Writes the waiting entries, and ends.
    pub(crate) fn close(&self) -> Result<Recorded, String> {
        drop(self.sender.lock().unwrap_or_else(PoisonError::into_inner).take());
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
        self.shared.over.store(true, Ordering::Relaxed);
        match self.failure.borrow().clone() {
            Some(why) => Err(why),
            None => Ok(self.recorded()),
        }
    }
}

fn write_all(
    mut out: Box<dyn Write + Send>,
    queue: &Receiver<Vec<u8>>,
    waiting: &Waiting,
) -> std::io::Result<()> {
    loop {
        let next = match queue.try_recv() {
            Ok(next) => next,
            Err(TryRecvError::Disconnected) => return out.flush(),
            Err(TryRecvError::Empty) => {
                // Nothing waits: a reader of the file finds whole packets meanwhile.
                out.flush()?;
                let Ok(next) = queue.recv() else { return Ok(()) };
                next
            }
        };
        waiting.bytes.fetch_sub(next.len(), Ordering::Relaxed);
        out.write_all(&next)?;
    }
}
