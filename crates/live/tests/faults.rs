//! Faults of networks: nothing that was acknowledged is lost, nothing comes twice, and the user is told once.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::common::{
    PORT, Relay, impatient, in_time, local, numbers, pair, server, server_with, soon_gives_up,
};
use anabranch_live::{CloseReason, Endpoint, EndpointConfig, Event, default_association};

#[tokio::test]
async fn a_path_that_is_cut_ends_both_sides_with_one_event_each() {
    in_time(async {
        let (server, at) = server_with(soon_gives_up());
        let relay = Relay::to(at);
        let client =
            Endpoint::bind(&[local()], EndpointConfig::default().with_association(soon_gives_up())).unwrap();
        let (ours, theirs) = pair(&client, &server, relay.at).await;
        relay.cut.store(true, Ordering::Relaxed);
        for association in [&ours, &theirs] {
            association.send("anybody there?").await.unwrap();
        }
        for association in [&ours, &theirs] {
            let mut ends = Vec::new();
            while let Some(event) = association.next_event().await {
                if let Event::Closed(reason) = event {
                    ends.push(reason);
                }
            }
            assert_eq!(ends, [CloseReason::Unreachable { limit: "Association.Max.Retrans" }]);
            let error = association.recv().await.unwrap_err();
            assert!(error.to_string().contains("the peer did not answer"), "{error}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_path_that_comes_back_goes_on_where_it_was() {
    in_time(async {
        let (server, at) = server_with(impatient());
        let relay = Relay::to(at);
        let client =
            Endpoint::bind(&[local()], EndpointConfig::default().with_association(impatient())).unwrap();
        let (ours, theirs) = pair(&client, &server, relay.at).await;
        let reading = numbers(theirs);
        for number in 0..1000u32 {
            relay.cut.store((300..310).contains(&number), Ordering::Relaxed);
            if (300..310).contains(&number) {
                tokio::time::sleep(Duration::from_millis(40)).await;
            }
            ours.send(number.to_be_bytes().repeat(500)).await.unwrap();
        }
        ours.shutdown().await.unwrap();
        assert!(reading.await.unwrap().into_iter().eq(0..1000));
        assert!(ours.snapshot().unwrap().stats.retransmissions > 0);
    })
    .await;
}

#[tokio::test]
async fn losses_both_ways_delay_and_lose_nothing() {
    in_time(async {
        let (server, at) = server_with(impatient());
        let relay = Relay::to(at);
        relay.lost_percent.store(5, Ordering::Relaxed);
        let client =
            Endpoint::bind(&[local()], EndpointConfig::default().with_association(impatient())).unwrap();
        let (ours, theirs) = pair(&client, &server, relay.at).await;
        let reading = numbers(theirs);
        for number in 0..300u32 {
            ours.send(number.to_be_bytes().repeat(700)).await.unwrap();
        }
        // The end may be lost, too: then the peer has all, and this side gives up after its timers.
        let _ = ours.shutdown().await;
        assert!(reading.await.unwrap().into_iter().eq(0..300));
    })
    .await;
}

#[tokio::test]
async fn a_receiver_that_does_not_read_holds_the_sender_and_the_memory() {
    in_time(async {
        let small = default_association().with(|c| {
            c.limits.send_buffer = 100_000;
            c.limits.receive_window = 200_000;
        });
        let (server, at) = server_with(small.clone());
        let client = Endpoint::bind(&[local()], EndpointConfig::default().with_association(small)).unwrap();
        let (ours, theirs) = pair(&client, &server, at).await;
        // Both buffers take 28 messages, however long that lasts; then no more, as far as half a second shows. A waiting sender is
        // woken when half of the send buffer is free, so sending is tried again and again.
        let mut sent = 0usize;
        loop {
            let taken =
                tokio::time::timeout(Duration::from_millis(500), ours.send(vec![sent as u8; 10_000])).await;
            match taken {
                Ok(taken) => drop(taken.unwrap()),
                Err(_) if sent >= 28 => break,
                Err(_) => continue,
            }
            sent += 1;
            assert!(sent <= 33, "{sent} messages of 10,000 bytes in buffers of 300,000");
        }
        theirs
            .until(|association| (association.status().receive_window < 20_000).then_some(()))
            .await
            .unwrap();
        // Neither end holds more than its configuration allows, bookkeeping included.
        for end in [&ours, &theirs] {
            let (holds, may) = end.until(|association| Some(association.holdings())).await.unwrap();
            assert!(holds > 100_000 && holds <= may, "{holds} of {may} bytes");
        }
        // Then it reads, and all goes on.
        let reading = tokio::spawn(async move {
            let mut got = 0;
            while let Some(message) = theirs.recv().await.unwrap() {
                assert_eq!(message.into_bytes()[..], vec![got as u8; 10_000][..]);
                got += 1;
            }
            got
        });
        for _ in 0..50 {
            ours.send(vec![sent as u8; 10_000]).await.unwrap();
            sent += 1;
        }
        ours.shutdown().await.unwrap();
        assert_eq!(reading.await.unwrap(), sent);
    })
    .await;
}

#[tokio::test]
async fn a_sender_that_is_faster_than_the_socket_loses_nothing() {
    in_time(async {
        // Buffers of a few packets in the kernel: EAGAIN on one side, packets that find no room on the other.
        let tiny = |port| EndpointConfig {
            socket_receive_buffer: 1,
            socket_send_buffer: 1,
            ..EndpointConfig::on_port(port).with_association(impatient())
        };
        let server = Endpoint::bind(&[local()], tiny(PORT)).unwrap();
        server.listen().unwrap();
        let client = Endpoint::bind(&[local()], tiny(0)).unwrap();
        let (ours, theirs) = pair(&client, &server, server.local_addresses()[0]).await;
        let reading = numbers(theirs);
        for number in 0..300u32 {
            ours.send(number.to_be_bytes().repeat(1000)).await.unwrap();
        }
        ours.shutdown().await.unwrap();
        assert!(reading.await.unwrap().into_iter().eq(0..300));
    })
    .await;
}

#[tokio::test]
async fn rubbish_from_a_stranger_changes_nothing() {
    in_time(async {
        let (server, at) = server();
        let client = crate::common::client();
        let (ours, theirs) = pair(&client, &server, at).await;
        let stranger = std::net::UdpSocket::bind(local()).unwrap();
        let to = client.local_addresses()[0];
        for size in [0, 1, 11, 12, 13, 100, 1400, 9000] {
            for fill in [0u8, 1, 6, 0xff] {
                for address in [to, at] {
                    stranger.send_to(&vec![fill; size], address).unwrap();
                }
            }
        }
        ours.send("as before").await.unwrap();
        assert_eq!(theirs.recv().await.unwrap().unwrap().into_bytes(), "as before");
        ours.shutdown().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn every_second_packet_is_acknowledged_also_of_those_that_come_at_once() {
    in_time(async {
        let (server, at) = server();
        let client = crate::common::client();
        let (ours, theirs) = pair(&client, &server, at).await;
        let reading = tokio::spawn(async move {
            let mut got = 0;
            while let Some(message) = theirs.recv().await.unwrap() {
                got += message.len();
            }
            (got, theirs.snapshot().unwrap().stats)
        });
        for _ in 0..200 {
            ours.send(vec![7; 16_384]).await.unwrap();
        }
        ours.shutdown().await.unwrap();
        let (got, stats) = reading.await.unwrap();
        assert_eq!(got, 200 * 16_384);
        // "at least every second packet" (RFC 9260, 6.2); a few at the ends of batches wait for the next.
        let (sacks, packets) = (stats.sacks_sent, stats.packets_received_new);
        assert!(packets > 2_000 && sacks * 20 >= packets * 9, "{sacks} SACKs for {packets} packets");
    })
    .await;
}

#[test]
fn an_end_without_a_runtime_is_an_error_and_a_runtime_that_ends_tells_who_waits() {
    let error = Endpoint::bind(&[local()], EndpointConfig::default()).unwrap_err();
    assert!(error.to_string().contains("within a tokio runtime"), "{error}");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (ours, theirs) = runtime.block_on(async {
        let (server, at) = server();
        pair(&crate::common::client(), &server, at).await
    });
    let waiting = std::thread::spawn(move || {
        let other = tokio::runtime::Builder::new_current_thread().build().unwrap();
        other.block_on(theirs.recv())
    });
    drop(runtime);
    assert!(waiting.join().unwrap().is_err());
    assert!(ours.try_send("too late").is_err());
}
