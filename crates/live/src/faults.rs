//! What a system may answer that this one does not when it is asked to: errors of sockets, a clock that jumps. Only for tests.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};

/// Errors that the next packets of a socket meet, by its address; 0 lets one pass.
static ERRORS: Mutex<BTreeMap<SocketAddr, VecDeque<i32>>> = Mutex::new(BTreeMap::new());

pub(crate) fn next(local: SocketAddr) -> io::Result<()> {
    let mut errors = ERRORS.lock().unwrap_or_else(PoisonError::into_inner);
    match errors.get_mut(&local).and_then(VecDeque::pop_front) {
        Some(errno) if errno != 0 => Err(io::Error::from_raw_os_error(errno)),
        _ => Ok(()),
    }
}

fn meet(local: SocketAddr, new: impl IntoIterator<Item = i32>) {
    let mut errors = ERRORS.lock().unwrap_or_else(PoisonError::into_inner);
    errors.entry(local).or_default().extend(new);
}

fn left(local: SocketAddr) -> usize {
    ERRORS.lock().unwrap_or_else(PoisonError::into_inner).get(&local).map_or(0, VecDeque::len)
}

#[cfg(all(test, target_os = "linux"))]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use std::time::Duration;

    use nix::libc;

    use super::{left, meet};
    use crate::{Association, Config, Endpoint, EndpointConfig, default_association};

    fn impatient() -> Config {
        default_association().with(|c| {
            c.timers.rto_initial = anabranch_sctp::Duration::from_millis(100);
            c.timers.rto_min = anabranch_sctp::Duration::from_millis(100);
            c.timers.rto_max = anabranch_sctp::Duration::from_millis(400);
            c.timers.heartbeat_interval = anabranch_sctp::Duration::from_millis(500);
        })
    }

    async fn two() -> (Endpoint, Endpoint, Association, Association) {
        let local = ["127.0.0.1:0".parse().unwrap()];
        let server =
            Endpoint::bind(&local, EndpointConfig::on_port(5000).with_association(impatient())).unwrap();
        server.listen().unwrap();
        let client = Endpoint::bind(&local, EndpointConfig::default().with_association(impatient())).unwrap();
        let at = server.local_addresses()[0];
        let (ours, theirs) = tokio::join!(client.connect(at, 5000), async {
            server.accept().await.unwrap().accept().unwrap()
        });
        (server, client, ours.unwrap(), theirs)
    }

    /// Numbered messages, until `prepare` was called for each; all arrive, once and in order.
    async fn move_all(ours: Association, theirs: Association, mut prepare: impl FnMut(u32)) {
        let reading = tokio::spawn(async move {
            let mut got = Vec::new();
            while let Some(message) = theirs.recv().await.unwrap() {
                got.push(u32::from_be_bytes(message.into_bytes()[..4].try_into().unwrap()));
            }
            got
        });
        for number in 0..200u32 {
            prepare(number);
            ours.send(number.to_be_bytes().repeat(500)).await.unwrap();
            tokio::task::yield_now().await;
        }
        // The last acknowledgement may be lost with the errors.
        let _ = ours.shutdown().await;
        assert!(reading.await.unwrap().into_iter().eq(0..200));
    }

    async fn in_time<T>(what: impl Future<Output = T>) -> T {
        tokio::time::timeout(Duration::from_secs(60), what).await.expect("nothing happens any more")
    }

    #[tokio::test]
    async fn errors_of_sockets_lose_packets_and_no_data() {
        in_time(async {
            for errno in
                [libc::ENOBUFS, libc::ENOMEM, libc::EPERM, libc::ENETUNREACH, libc::EMSGSIZE, libc::EAGAIN]
            {
                let (server, client, ours, theirs) = two().await;
                let ends = [client.local_addresses()[0], server.local_addresses()[0]];
                move_all(ours.clone(), theirs, |number| {
                    if number % 20 == 7 {
                        meet(ends[0], [errno, 0, errno, errno]);
                        meet(ends[1], [errno]);
                    }
                })
                .await;
                assert_eq!(left(ends[0]), 0, "errno {errno}: it was not met");
            }
        })
        .await;
    }

    #[tokio::test]
    async fn a_clock_that_jumps_forward_loses_nothing() {
        in_time(async {
            let (_server, client, ours, theirs) = two().await;
            let clock = client.clock();
            move_all(ours, theirs, |number| {
                if number % 40 == 20 {
                    // An hour: every timer is due at once, and round trips seem to have lasted as long.
                    clock.ahead.fetch_add(3_600_000_000_000, std::sync::atomic::Ordering::Relaxed);
                }
            })
            .await;
        })
        .await;
    }
}
