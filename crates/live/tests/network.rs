//! Addresses, code points, ICMP, streams, futures that are dropped, and the ends of things.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::common::{PORT, Relay, client, impatient, in_time, local, pair, server, server_with, skipped};
use anabranch_live::{CloseReason, Endpoint, EndpointConfig, Event, Message, default_association};
use anabranch_sctp::Dscp;

#[tokio::test]
async fn answers_leave_from_the_address_that_was_asked() {
    in_time(async {
        let any = Endpoint::bind(&["0.0.0.0:0".parse().unwrap()], EndpointConfig::on_port(PORT)).unwrap();
        any.listen().unwrap();
        let udp = any.local_addresses()[0].port();
        // Packets from any other address the relay does not see.
        let asked = SocketAddr::new("127.0.0.2".parse().unwrap(), udp);
        let relay = Relay::to(asked);
        let client = client();
        let (ours, theirs) = pair(&client, &any, relay.at).await;
        theirs.send(vec![7; 100_000]).await.unwrap();
        assert_eq!(ours.recv().await.unwrap().unwrap().len(), 100_000);
        // And without a relay the client knows the server by the address that it has asked.
        let other = crate::common::client();
        let (ours, _theirs) = pair(&other, &any, asked).await;
        assert_eq!(ours.remote(), Some(asked));
    })
    .await;
}

#[tokio::test]
async fn one_endpoint_has_ipv4_and_ipv6() {
    in_time(async {
        let both = ["127.0.0.1:0".parse().unwrap(), "[::1]:0".parse().unwrap()];
        let Ok(server) = Endpoint::bind(&both, EndpointConfig::on_port(PORT)) else {
            return; // a host without IPv6
        };
        server.listen().unwrap();
        for (at, local) in server.local_addresses().iter().zip(["127.0.0.1:0", "[::1]:0"]) {
            let client = Endpoint::bind(&[local.parse().unwrap()], EndpointConfig::default()).unwrap();
            let (ours, theirs) = pair(&client, &server, *at).await;
            ours.send(vec![1; 50_000]).await.unwrap();
            assert_eq!(theirs.recv().await.unwrap().unwrap().len(), 50_000);
            assert_eq!(ours.remote(), Some(*at));
        }
    })
    .await;
}

#[tokio::test]
async fn streams_leave_with_the_code_points_of_their_subflows() {
    in_time(async {
        let (server, at) = server();
        let relay = Relay::to(at);
        let client = client();
        let (ours, theirs) = pair(&client, &server, relay.at).await;
        let voice = Dscp::new(46).unwrap();
        ours.command(|association, now| association.set_stream_dscp(now, 5, voice)).unwrap().unwrap();
        ours.send(Message::new(5, vec![5; 20_000])).await.unwrap();
        assert_eq!(theirs.recv().await.unwrap().unwrap().stream, 5);
        let marks = std::mem::take(&mut *relay.marks.lock().unwrap());
        // The others are probes of the path MTU.
        let marked = marks.iter().filter(|mark| **mark == 46).count();
        assert!(marked >= 20_000_usize.div_ceil(1444), "{marks:?}");
        ours.send(Message::new(0, vec![5; 20_000])).await.unwrap();
        assert_eq!(theirs.recv().await.unwrap().unwrap().stream, 0);
        assert!(!relay.marks.lock().unwrap().contains(&46));
    })
    .await;
}

#[tokio::test]
async fn a_port_where_nobody_is_ends_the_attempt_at_once() {
    in_time(async {
        // RFC 6951, 5.5: ICMP "Port Unreachable" is taken for "Protocol Unreachable". By its timers it would last minutes.
        let nobody = {
            let socket = std::net::UdpSocket::bind(local()).unwrap();
            socket.local_addr().unwrap()
        };
        let client = client();
        let refused = client.connect(nobody, PORT).await.unwrap_err();
        assert_eq!(refused.to_string(), "no association: no process listens at the UDP port of the peer");
        // Other associations of the endpoint are not disturbed.
        let (server, at) = server();
        let (ours, theirs) = pair(&client, &server, at).await;
        ours.send("still here").await.unwrap();
        assert_eq!(theirs.recv().await.unwrap().unwrap().into_bytes(), "still here");
    })
    .await;
}

/// ICMP "Port Unreachable" about a packet in UDP from `source` to `destination`, both at 127.0.0.1.
fn port_unreachable(source: u16, destination: u16, packet: &[u8]) -> Vec<u8> {
    let mut message = vec![3, 3, 0, 0, 0, 0, 0, 0];
    let length = (28 + packet.len()) as u16;
    let mut header = [0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 17, 0, 0, 127, 0, 0, 1, 127, 0, 0, 1];
    header[2..4].copy_from_slice(&length.to_be_bytes());
    message.extend_from_slice(&header);
    for word in [source, destination, length - 20, 0] {
        message.extend_from_slice(&word.to_be_bytes());
    }
    message.extend_from_slice(packet);
    let words = message.chunks(2).map(|two| u32::from(two[0]) << 8 | u32::from(*two.get(1).unwrap_or(&0)));
    let sum: u32 = words.sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    let checksum = !((sum & 0xffff) + (sum >> 16)) as u16;
    message[2..4].copy_from_slice(&checksum.to_be_bytes());
    message
}

#[tokio::test]
async fn an_error_is_believed_only_if_it_quotes_what_was_sent() {
    use socket2::{Domain, Protocol, Socket, Type};
    let forger = match Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::ICMPV4)) {
        Ok(forger) => forger,
        Err(error) => {
            skipped(&format!("no raw socket to forge ICMP with ({error}): run as root, or with CAP_NET_RAW"));
            return;
        }
    };
    let forge = |message: &[u8]| {
        let to = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
        forger.send_to(message, &to.into()).unwrap();
    };
    in_time(async {
        let silent = std::net::UdpSocket::bind(local()).unwrap();
        silent.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let at = silent.local_addr().unwrap();
        let client = client();
        let ours = client.begin(at, PORT, Arc::new(default_association())).unwrap();
        // Other associations of the socket, and an established one, must not be disturbed.
        let (server, up_at) = server();
        let (up, theirs) = pair(&client, &server, up_at).await;
        let mut init = [0; 2048];
        let (len, from) = silent.recv_from(&mut init).unwrap();
        let init = &init[..len];
        let told = |number| {
            let client = client.clone();
            async move {
                while client.stats().icmp_received < number {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            }
        };
        let mut forged = init.to_vec();
        forged[16] ^= 1;
        forge(&port_unreachable(from.port(), at.port(), &forged));
        told(1).await;
        // A packet that was never sent, to a peer that is there.
        let mut never = init.to_vec();
        never[4..8].copy_from_slice(&0x1234_5678_u32.to_be_bytes());
        never[12] = 0;
        forge(&port_unreachable(from.port(), up_at.port(), &never));
        told(2).await;
        // Too short to show anything.
        forge(&port_unreachable(from.port(), at.port(), &init[..8]));
        told(3).await;
        assert_eq!(client.stats().icmp_ignored, 3);
        assert_eq!(client.associations(), 2);
        up.send("still here").await.unwrap();
        assert_eq!(theirs.recv().await.unwrap().unwrap().into_bytes(), "still here");
        // An error that quotes a packet really sent is believed.
        forge(&port_unreachable(from.port(), at.port(), init));
        assert_eq!(ours.closed().await, CloseReason::PortUnreachable);
        assert_eq!(client.stats().icmp_ignored, 3);
    })
    .await;
}

#[tokio::test]
async fn a_peer_whose_process_is_gone_is_known_to_be_at_the_next_packet() {
    in_time(async {
        // A runtime of its own dies with its socket, and sends nothing to the peer.
        let (started, starting) = tokio::sync::oneshot::channel();
        let (hears, heard) = tokio::sync::oneshot::channel();
        let (kill, killed) = std::sync::mpsc::channel::<()>();
        let mortal = std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
            let held = runtime.block_on(async {
                let (server, at) = server();
                started.send(at).unwrap();
                let held = server.accept().await.unwrap().accept().unwrap();
                let _ = held.recv().await;
                hears.send(()).unwrap();
                (server, held)
            });
            // The driver runs on until then.
            let _ = killed.recv();
            drop(runtime);
            drop(held);
        });
        let at = starting.await.unwrap();
        let client = client();
        let ours = client.connect(at, PORT).await.unwrap();
        ours.send("hello").await.unwrap();
        heard.await.unwrap();
        while ours.command(|association, _| association.unacknowledged_chunks()) != Some(0) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        kill.send(()).unwrap();
        mortal.join().unwrap();
        let mut events = Vec::new();
        let told = async {
            while let Some(event) = ours.next_event().await {
                events.push(event);
            }
        };
        let sending = async {
            loop {
                if let Err(error) = ours.send("hello?").await {
                    break error;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let ((), error) = tokio::join!(told, sending);
        // The next packet finds no process there, or, while that process ends, an ABORT says so.
        let reasons = ["the peer aborted the association", "no process listens at the UDP port of the peer"];
        let text = error.to_string();
        let said = reasons.iter().any(|reason| text == format!("the association has ended: {reason}"));
        assert!(said, "{error}");
        let ends = events.iter().filter(|event| matches!(event, Event::Closed(_))).count();
        assert_eq!(ends, 1, "{events:?}");
        // A message that was sent but not delivered can be taken back.
        let back = ours.command(|association, _| association.receive_unacknowledged());
        assert_eq!(back.flatten().map(anabranch_sctp::Undelivered::into_bytes), Some("hello?".into()));
    })
    .await;
}

#[tokio::test]
async fn many_associations_share_a_socket() {
    in_time(async {
        let (server, at) = server();
        let echo = tokio::spawn(async move {
            let mut running = tokio::task::JoinSet::new();
            for _ in 0..60 {
                let association = server.accept().await.unwrap().accept().unwrap();
                running.spawn(async move {
                    while let Some(message) = association.recv().await.unwrap() {
                        association.send(message.into_bytes()).await.unwrap();
                    }
                });
            }
            while let Some(done) = running.join_next().await {
                done.unwrap();
            }
            while server.associations() > 0 {
                tokio::task::yield_now().await;
            }
        });
        let mut clients = tokio::task::JoinSet::new();
        for number in 0..60u8 {
            clients.spawn(async move {
                // An address has one association for each pair of ports (RFC 6951, 5.4), and of 60 ports drawn from 16,384 two are often the same.
                let config = EndpointConfig::on_port(20_000 + u16::from(number));
                let client = Endpoint::bind(&[local()], config).unwrap();
                let association = client.connect(at, PORT).await.unwrap();
                association.send(vec![number; 5000]).await.unwrap();
                let echo = association.recv().await.unwrap().unwrap().into_bytes();
                assert!(echo == vec![number; 5000]);
                association.shutdown().await.unwrap();
            });
        }
        while let Some(done) = clients.join_next().await {
            done.unwrap();
        }
        echo.await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn futures_that_are_dropped_lose_nothing_and_repeat_nothing() {
    in_time(async {
        let small = default_association().with(|c| {
            c.limits.send_buffer = 20_000;
            c.limits.receive_window = 30_000;
            // The buffers do not grow.
            (c.limits.max_send_buffer, c.limits.max_receive_window) = (0, 0);
        });
        let (server, at) = server_with(small.clone());
        let client = Endpoint::bind(&[local()], EndpointConfig::default().with_association(small)).unwrap();
        let (ours, theirs) = pair(&client, &server, at).await;
        let sending = async {
            let mut dropped = 0;
            for number in 0..3000u32 {
                // A send that is dropped has not sent: it is tried again until it says that it has. Each that waits is dropped before
                // anything else runs, so how many are does not depend on how fast acknowledgements come.
                loop {
                    tokio::select! {
                        biased;
                        sent = ours.send(number.to_be_bytes().repeat(200)) => {
                            sent.unwrap();
                            break;
                        }
                        () = std::future::ready(()) => dropped += 1,
                    }
                    tokio::task::yield_now().await;
                }
            }
            ours.shutdown().await.unwrap();
            dropped
        };
        let receiving = async {
            let (mut got, mut dropped) = (Vec::new(), 0);
            loop {
                tokio::select! {
                    biased;
                    message = theirs.recv() => match message.unwrap() {
                        Some(message) => got.push(u32::from_be_bytes(message.into_bytes()[..4].try_into().unwrap())),
                        None => break,
                    },
                    () = std::future::ready(()) => {
                        dropped += 1;
                        tokio::task::yield_now().await;
                    }
                }
            }
            (got, dropped)
        };
        let (dropped_sends, (got, dropped_receives)) = tokio::join!(sending, receiving);
        assert!(got.iter().copied().eq(0..3000), "{} messages", got.len());
        // The send buffer takes 25 messages, so of 3,000 some have to wait.
        assert!(dropped_sends > 100 && dropped_receives > 100, "{dropped_sends} {dropped_receives}");
    })
    .await;
}

/// On one thread, a loop that always finds room would otherwise keep everything else waiting: drivers, timers, other senders.
#[tokio::test]
async fn a_loop_of_sends_that_never_waits_leaves_room_for_others() {
    in_time(async {
        let (server, at) = server();
        let client = client();
        let (ours, _theirs) = pair(&client, &server, at).await;
        let ran = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let other = Arc::clone(&ran);
        tokio::spawn(async move { other.store(true, std::sync::atomic::Ordering::Relaxed) });
        // All of them fit into the send buffer: none waits for the peer.
        let mut sent = 0;
        while !ran.load(std::sync::atomic::Ordering::Relaxed) {
            assert!(sent < 1_000, "{sent} messages were sent while another task was ready to run");
            ours.send("a").await.unwrap();
            sent += 1;
        }
    })
    .await;
}

#[tokio::test]
async fn an_attempt_that_is_dropped_leaves_nothing_behind() {
    in_time(async {
        let silent = std::net::UdpSocket::bind(local()).unwrap();
        let client = client();
        let attempt = client.connect(silent.local_addr().unwrap(), PORT);
        assert!(tokio::time::timeout(Duration::from_millis(20), attempt).await.is_err());
        while client.associations() > 0 {
            tokio::task::yield_now().await;
        }
        // The same peer can be asked again.
        let attempt = client.connect(silent.local_addr().unwrap(), PORT);
        assert!(tokio::time::timeout(Duration::from_millis(20), attempt).await.is_err());
    })
    .await;
}

#[tokio::test]
async fn a_stream_that_is_full_or_not_read_does_not_hold_up_another() {
    in_time(async {
        let config = default_association().with(|c| {
            c.limits.stream_send_buffer = 50_000;
            c.limits.receive_window = 200_000;
            c.limits.send_buffer = 1 << 20;
            c.limits.send_buffer_counts = anabranch_sctp::config::SendBufferCounts::Unacknowledged;
        });
        let (server, at) = server_with(config.clone());
        let client = Endpoint::bind(&[local()], EndpointConfig::default().with_association(config)).unwrap();
        let (ours, theirs) = pair(&client, &server, at).await;
        let (slow, fast) = (ours.stream(1), ours.stream(2));
        let slow_reader = theirs.stream(1);
        let fast_reader = theirs.stream(2);
        // Reading one stream alone is how the others stay where they are.
        let reading = tokio::spawn(async move {
            let mut sum = 0;
            while let Some(message) = fast_reader.recv().await.unwrap() {
                sum += message.len();
            }
            sum
        });
        let mut sent = 0;
        // The share of stream 1 fills, as the receiver does not read it.
        while tokio::time::timeout(Duration::from_millis(100), slow.send(vec![1; 10_000])).await.is_ok() {
            sent += 1;
            if sent > 15 {
                break;
            }
        }
        for _ in 0..100 {
            fast.send(vec![2; 1000]).await.unwrap();
        }
        let mut read = 0;
        let shutting = tokio::spawn(async move { ours.shutdown().await });
        // The window may be so full that messages are handed over in parts.
        while let Some(message) = slow_reader.recv().await.unwrap() {
            read += message.len();
        }
        assert_eq!(read, sent * 10_000);
        shutting.await.unwrap().unwrap();
        assert_eq!(reading.await.unwrap(), 100_000);
    })
    .await;
}

/// A message that asks for another code point than its stream has waits until nothing of the stream is under way.
#[tokio::test]
async fn a_message_waits_for_its_code_point() {
    in_time(async {
        let (server, at) = server();
        let client = client();
        let (ours, theirs) = pair(&client, &server, at).await;
        let next = || Message::new(0, vec![2; 10]).dscp(Dscp::new(46).unwrap());
        ours.send(vec![1; 300_000]).await.unwrap();
        let refused = ours.try_send(next()).unwrap_err();
        let busy = anabranch_sctp::SendError::OtherSubflow { stream: 0, dscp: 0, asked: 46 };
        assert_eq!(refused.to_string(), busy.to_string());
        let (sent, read) = tokio::join!(ours.send(next()), async {
            let first = theirs.recv().await.unwrap().unwrap().len();
            (first, theirs.recv().await.unwrap().unwrap().len())
        });
        sent.unwrap();
        assert_eq!(read, (300_000, 10));
        let with_voice =
            ours.snapshot().unwrap().subflows.iter().any(|s| s.dscp.get() == 46 && s.packets_sent > 0);
        assert!(with_voice);
    })
    .await;
}

#[tokio::test]
async fn closing_an_endpoint_delivers_what_was_sent_and_refuses_the_rest() {
    in_time(async {
        let (server, at) = server();
        let client = client();
        let (ours, theirs) = pair(&client, &server, at).await;
        ours.send(vec![9; 500_000]).await.unwrap();
        let ((), got) = tokio::join!(client.close(Duration::from_secs(30)), async {
            let got = theirs.recv().await.unwrap().unwrap().len();
            assert!(theirs.recv().await.unwrap().is_none());
            got
        });
        assert_eq!((got, ours.closed().await), (500_000, CloseReason::Graceful));
        assert!(client.accept().await.is_none());
        let refused = client.connect(at, PORT).await.unwrap_err();
        assert_eq!(refused.to_string(), "the endpoint drains: it takes and makes no more associations");
    })
    .await;
}

#[tokio::test]
async fn a_shutdown_has_a_deadline() {
    in_time(async {
        let (server, at) = server();
        let relay = Relay::to(at);
        let client = client();
        let (ours, _theirs) = pair(&client, &server, relay.at).await;
        relay.cut.store(true, std::sync::atomic::Ordering::Relaxed);
        ours.send("lost").await.unwrap();
        let end = ours.shutdown_within(Duration::from_millis(300)).await.unwrap_err();
        assert_eq!(end.0, CloseReason::ShutdownDeadline);
    })
    .await;
}

#[tokio::test]
async fn dropping_the_last_handle_delivers_and_ends() {
    in_time(async {
        let (server, at) = server();
        let client = client();
        let (ours, theirs) = pair(&client, &server, at).await;
        let clone = ours.clone();
        drop(ours);
        clone.send("last words").await.unwrap();
        drop(clone);
        assert_eq!(theirs.recv().await.unwrap().unwrap().into_bytes(), "last words");
        assert!(theirs.recv().await.unwrap().is_none());
        assert_eq!(theirs.closed().await, CloseReason::Graceful);
        // An association that is dropped with something unread is aborted: it does not pretend to have read it.
        let (ours, theirs) = pair(&client, &server, at).await;
        ours.send("unread").await.unwrap();
        while theirs.snapshot().unwrap().stats.payload_bytes_received_new == 0 {
            tokio::task::yield_now().await;
        }
        drop(theirs);
        assert!(matches!(ours.closed().await, CloseReason::AbortedByPeer { .. }));
        while client.associations() + server.associations() > 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
#[allow(clippy::disallowed_methods, reason = "it is what a machine does that sleeps")]
async fn a_driver_that_comes_late_does_no_harm() {
    in_time(async {
        let (server, at) = server_with(impatient());
        let client =
            Endpoint::bind(&[local()], EndpointConfig::default().with_association(impatient())).unwrap();
        let (ours, theirs) = pair(&client, &server, at).await;
        for _ in 0..3 {
            ours.send(vec![3; 300_000]).await.unwrap();
            // Nothing runs meanwhile, as when a machine sleeps: every timer is late, by many times the RTO.
            std::thread::sleep(Duration::from_millis(1200));
            assert_eq!(theirs.recv().await.unwrap().unwrap().len(), 300_000);
        }
        ours.shutdown().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn each_peer_may_have_a_configuration_of_its_own() {
    in_time(async {
        let (server, at) = server();
        let client = client();
        let patient = Arc::new(default_association().with(|c| c.limits.association_max_retrans = 20));
        let (ours, theirs) = tokio::join!(client.connect_with(at, PORT, Arc::clone(&patient)), async {
            server.accept().await.unwrap().accept_with(patient.clone()).unwrap()
        });
        let ours = ours.unwrap();
        for association in [&ours, &theirs] {
            let limit = association
                .command(|association, _| association.configuration().limits.association_max_retrans);
            assert_eq!(limit, Some(20));
        }
        // A value announced in the handshake cannot change afterwards.
        let wide = Arc::new(default_association().with(|c| c.streams.inbound = 7));
        let other = crate::common::client();
        let _asking = other.begin(at, PORT, Arc::new(default_association())).unwrap();
        let refused = server.accept().await.unwrap().accept_with(wide).unwrap_err();
        assert!(refused.to_string().contains("inbound_streams"), "{refused}");
    })
    .await;
}
