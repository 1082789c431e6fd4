//! Standard input in pieces, read by a thread of its own: a read of standard input cannot be cancelled.

use std::io::{ErrorKind, Read};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::sync::mpsc;

/// Pieces that are read before the first of them is taken.
const AHEAD: usize = 4;
/// Time that the thread has to hand over the pieces it has read already.
const HAND_OVER: Duration = Duration::from_millis(100);
/// Time that the thread has to read the bytes that the system has announced.
const READ: Duration = Duration::from_secs(10);

/// Standard input, which a thread reads.
pub(crate) struct Input {
    pieces: mpsc::Receiver<std::io::Result<Bytes>>,
}

impl Input {
    /// Reads standard input in pieces of at most `size` bytes.
    pub(crate) fn read(size: usize) -> Self {
        let (sender, pieces) = mpsc::channel(AHEAD);
        std::thread::spawn(move || {
            let mut input = std::io::stdin().lock();
            let mut buffer = BytesMut::new();
            loop {
                buffer.resize(size, 0);
                let read = match input.read(&mut buffer) {
                    Ok(0) => break,
                    Ok(read) => read,
                    Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                    Err(error) => {
                        let _ = sender.blocking_send(Err(error));
                        break;
                    }
                };
                let message = buffer.split_to(read).freeze();
                if sender.blocking_send(Ok(message)).is_err() {
                    break;
                }
            }
        });
        Self { pieces }
    }

    /// The next piece; `None` at the end of standard input.
    pub(crate) async fn next(&mut self) -> Option<std::io::Result<Bytes>> {
        self.pieces.recv().await
    }

    /// True if something was written to standard input that was not taken. An input that stays open and silent has nothing.
    pub(crate) async fn has_more(&mut self) -> bool {
        let patience = if is_readable() { READ } else { HAND_OVER };
        matches!(tokio::time::timeout(patience, self.pieces.recv()).await, Ok(Some(Ok(_))))
    }
}

/// True if a read would not wait: there are bytes, or the end.
#[cfg(target_os = "linux")]
fn is_readable() -> bool {
    use std::os::fd::AsFd;

    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

    let input = std::io::stdin();
    let mut asked = [PollFd::new(input.as_fd(), PollFlags::POLLIN)];
    poll(&mut asked, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
}

/// Unknown here: the thread has [`HAND_OVER`].
#[cfg(not(target_os = "linux"))]
fn is_readable() -> bool {
    false
}
