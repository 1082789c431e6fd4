//! Injected faults of the system that do not occur on request: errors of sockets, a clock that jumps. Only for tests.

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
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use nix::libc;

    use super::{left, meet};
    use crate::clock::Clock;
    use crate::{
        Association, Capture, CaptureFormat, CaptureOptions, Config, Endpoint, EndpointConfig, Qlog, Vantage,
        default_association,
    };

    fn impatient() -> Config {
        default_association().with(|c| {
            c.timers.rto_initial = anabranch_sctp::Duration::from_millis(100);
            c.timers.rto_min = anabranch_sctp::Duration::from_millis(100);
            c.timers.rto_max = anabranch_sctp::Duration::from_millis(400);
            c.timers.heartbeat_interval = anabranch_sctp::Duration::from_millis(500);
            // On a slow machine errors that were meant for separate packets follow each other, and the SACK of a packet
            // that passes may be lost: such a path has not failed.
            c.limits.association_max_retrans = 60;
            c.limits.path_max_retrans = 60;
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
        // Waited for before the shutdown, whose guard timer (T5, RFC 9260, 9.2) would expire: each error costs an RTO.
        ours.until(|association| (association.holdings().0 == 0).then_some(())).await.unwrap();
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
                    clock.jump(3_600_000_000_000);
                }
            })
            .await;
        })
        .await;
    }

    #[tokio::test]
    async fn a_clock_that_goes_back_or_stands_still_loses_nothing() {
        // The system's monotonic clock neither jumps back nor stops; broken clocks of virtual machines have done so.
        // Timers come later by the same time.
        in_time(async {
            let (server, client, ours, theirs) = two().await;
            let ends = [client.local_addresses()[0], server.local_addresses()[0]];
            let clocks = [client.clock(), server.clock()];
            move_all(ours, theirs, |number| {
                let clock = &clocks[number as usize / 100];
                match number % 20 {
                    3 => clock.jump(-50_000_000),
                    10 => clock.stand_still(true),
                    14 => clock.stand_still(false),
                    // With packets that are lost, so that timers are needed.
                    15 => meet(ends[0], [libc::ENOBUFS, 0]),
                    _ => {}
                }
            })
            .await;
        })
        .await;
    }

    #[tokio::test]
    async fn a_time_of_day_that_is_set_does_not_move_a_capture_or_a_qlog() {
        #[derive(Clone, Default)]
        struct File(Arc<Mutex<Vec<u8>>>);
        impl std::io::Write for File {
            fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
                self.0.lock().unwrap().extend_from_slice(bytes);
                Ok(bytes.len())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        const DAY: i64 = 86_400_000_000_000;
        in_time(async {
            let local = ["127.0.0.1:0".parse().unwrap()];
            let (packets, events) = (File::default(), File::default());
            let capture =
                Capture::to(packets.clone(), CaptureOptions { format: CaptureFormat::Pcap, snaplen: None })
                    .unwrap();
            let qlog = Qlog::to(events.clone(), "a day", Vantage::Client).unwrap();
            let server = Endpoint::bind(&local, EndpointConfig::on_port(5000)).unwrap();
            server.listen().unwrap();
            let config = EndpointConfig {
                capture: Some(capture.clone()),
                qlog: Some(qlog.clone()),
                ..EndpointConfig::default()
            };
            let client = Endpoint::bind(&local, config).unwrap();
            let at = server.local_addresses()[0];
            let (ours, theirs) = tokio::join!(client.connect(at, 5000), async {
                server.accept().await.unwrap().accept().unwrap()
            });
            // A day forward, then two back: the driver runs in this thread.
            move_all(ours.unwrap(), theirs, |number| match number {
                50 => Clock::set_time_of_day_forward(DAY),
                100 => Clock::set_time_of_day_forward(-2 * DAY),
                _ => {}
            })
            .await;
            client.close(Duration::from_secs(1)).await;
            capture.close().unwrap();
            qlog.close().unwrap();
            Clock::set_time_of_day_forward(DAY);
            let file = packets.0.lock().unwrap();
            let (mut rest, mut seconds) = (&file[24..], Vec::new());
            let word = |from: &[u8]| u32::from_le_bytes(from[..4].try_into().unwrap());
            while !rest.is_empty() {
                seconds.push(word(rest));
                rest = &rest[16 + word(&rest[8..]) as usize..];
            }
            assert!(seconds.len() > 200 && seconds.is_sorted(), "{seconds:?}");
            assert!(seconds[seconds.len() - 1] - seconds[0] < 100, "{seconds:?}");
            let events = events.0.lock().unwrap();
            let times: Vec<f64> = std::str::from_utf8(&events)
                .unwrap()
                .split('\u{1e}')
                .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok()?["time"].as_f64())
                .collect();
            assert!(times.len() > 200 && times.is_sorted(), "{} events", times.len());
            assert!(times[times.len() - 1] - times[0] < 100_000.0, "{times:?}");
        })
        .await;
    }
}
