//! Two endpoints on the loopback.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::net::SocketAddr;
use std::time::Duration;

use anabranch_live::{CloseReason, Endpoint, EndpointConfig, Message};
use bytes::Bytes;

const PORT: u16 = 5000;

fn local() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

fn server() -> (Endpoint, SocketAddr) {
    let server = Endpoint::bind(&[local()], EndpointConfig::on_port(PORT)).unwrap();
    server.listen().unwrap();
    let at = server.local_addresses()[0];
    (server, at)
}

fn client() -> Endpoint {
    Endpoint::bind(&[local()], EndpointConfig::default()).unwrap()
}

/// Fails a test that hangs: the limit is no test of speed.
async fn in_time<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), what).await.expect("nothing happens any more")
}

#[tokio::test]
async fn what_is_sent_arrives_in_order_and_the_end_is_graceful() {
    in_time(async {
        let (server, at) = server();
        let reader = tokio::spawn(async move {
            let association = server.accept().await.unwrap().accept().unwrap();
            let mut got = Vec::new();
            while let Some(message) = association.recv().await.unwrap() {
                got.push(message.into_bytes());
            }
            (got, association.closed().await)
        });
        let client = client();
        let association = client.connect(at, PORT).await.unwrap();
        // More than all buffers together: the sender has to wait.
        let messages: Vec<Bytes> = (0..2000u32).map(|n| n.to_be_bytes().repeat(2500).into()).collect();
        for message in &messages {
            association.send(message.clone()).await.unwrap();
        }
        association.shutdown().await.unwrap();
        let (got, reason) = reader.await.unwrap();
        assert!(got == messages, "{} of {} messages", got.len(), messages.len());
        assert_eq!(reason, CloseReason::Graceful);
        assert_eq!(
            association.send("late").await.unwrap_err().to_string(),
            "the association has ended: both sides have shut it down"
        );
        assert_eq!(client.associations(), 0);
    })
    .await;
}

#[tokio::test]
async fn a_peer_is_refused_with_a_reason() {
    in_time(async {
        let (server, at) = server();
        let client = client();
        let (refused, _) = tokio::join!(client.connect(at, PORT), async {
            let incoming = server.accept().await.unwrap();
            assert_eq!(incoming.request().port, client.port());
            incoming.refuse(b"members only");
        });
        assert_eq!(
            refused.unwrap_err().to_string(),
            "no association: the peer aborted the association (error cause 12, User-Initiated Abort): \"members only\""
        );
    })
    .await;
}

#[tokio::test]
async fn an_abort_is_told_with_its_reason_after_what_had_arrived() {
    in_time(async {
        let (server, at) = server();
        let client = client();
        let (ours, theirs) = tokio::join!(client.connect(at, PORT), async {
            server.accept().await.unwrap().accept().unwrap()
        });
        let ours = ours.unwrap();
        ours.send(Message::new(3, "a word")).await.unwrap();
        let word = theirs.recv().await.unwrap().unwrap();
        assert_eq!((word.stream, word.into_bytes()), (3, "a word".into()));
        theirs.abort(b"enough");
        let end = ours.recv().await.unwrap_err();
        assert_eq!(
            end.to_string(),
            "the association has ended: the peer aborted the association (error cause 12, User-Initiated Abort): \"enough\""
        );
        assert!(matches!(ours.closed().await, CloseReason::AbortedByPeer { .. }));
        assert_eq!(theirs.closed().await, CloseReason::AbortedLocally);
    })
    .await;
}

/// Drivers that look at their sockets again and again share a thread with their users here: each has its turn, and they sleep once nothing
/// comes any more.
#[tokio::test]
async fn busy_drivers_let_others_have_their_turn_and_sleep_in_the_end() {
    let busy = |config: EndpointConfig| EndpointConfig { busy_poll: Duration::from_millis(1), ..config };
    in_time(async {
        let server = Endpoint::bind(&[local()], busy(EndpointConfig::on_port(PORT))).unwrap();
        server.listen().unwrap();
        let at = server.local_addresses()[0];
        let echo = tokio::spawn(async move {
            let association = server.accept().await.unwrap().accept().unwrap();
            while let Some(message) = association.recv().await.unwrap() {
                association.send(message.into_bytes()).await.unwrap();
            }
            association.closed().await
        });
        let client = Endpoint::bind(&[local()], busy(EndpointConfig::default())).unwrap();
        let association = client.connect(at, PORT).await.unwrap();
        for number in 0..200_u32 {
            association.send(Bytes::copy_from_slice(&number.to_be_bytes())).await.unwrap();
            assert_eq!(association.recv().await.unwrap().unwrap().into_bytes(), number.to_be_bytes()[..]);
        }
        // Long enough for a SACK that was delayed; and then the threads' processor time stands, near enough.
        tokio::time::sleep(Duration::from_millis(500)).await;
        let before = processor_ticks();
        tokio::time::sleep(Duration::from_millis(500)).await;
        let used = processor_ticks() - before;
        assert!(used < 25, "{used} of 50 ticks in half a second with nothing to do");
        association.shutdown().await.unwrap();
        assert_eq!(echo.await.unwrap(), CloseReason::Graceful);
    })
    .await;
}

/// Processor time of this thread, in hundredths of a second (proc(5): `utime` and `stime`).
#[cfg(target_os = "linux")]
fn processor_ticks() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
    let (_, fields) = stat.rsplit_once(") ").unwrap();
    fields.split(' ').skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap()).sum()
}

#[cfg(not(target_os = "linux"))]
fn processor_ticks() -> u64 {
    0
}
