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

/// Not a matter of speed: something hangs.
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
        ours.send(Message::new(3, "a word".into())).await.unwrap();
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
