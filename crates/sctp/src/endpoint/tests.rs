use anabranch_base::{Dscp, Ecn, Rng};
use bytes::Bytes;

use super::*;
use crate::config::{InitialWindow, MaxBurst};
use crate::message::Message;

/// Work per packet of a whole association at a window of `window` chunks: chunks visited in the flight, ranges in the
/// receive map, entries pushed into the timer heap. `lossy` loses every hundredth packet of the first window.
fn work_per_packet(window: u64, lossy: bool) -> [f64; 3] {
    let mut config = Config::rfc9260();
    config.congestion.initial_window = InitialWindow::Packets(u16::MAX);
    config.congestion.max_burst = MaxBurst::Off;
    config.limits.receive_window = 1 << 30;
    config.limits.send_buffer = 1 << 30;
    config.sack.every = 1;
    // One chunk of 516 bytes a packet: the first window of 65,535 PMDCS holds 100,000 of them.
    config.mtu = 1000;
    let config = Arc::new(config);
    let at: [SocketAddr; 2] = [([10, 0, 0, 1], 0).into(), ([10, 0, 0, 2], 0).into()];
    let mut ends: Vec<Endpoint> = at
        .iter()
        .map(|a| {
            Endpoint::new(
                EndpointConfig::new(*a, 9).keeping_closed(),
                Rng::stream(1, "test", "work").secret(),
            )
        })
        .collect();
    let mut now = Instant::ZERO;
    ends[1].listen(Arc::clone(&config)).unwrap();
    let id = ends[0].connect(now, at[1], 9, config).unwrap();
    let mut wire: [VecDeque<Vec<u8>>; 2] = [VecDeque::new(), VecDeque::new()];
    let (mut sent, mut lost) = (0_u64, 0_u64);
    let payload = Bytes::from(vec![0; 500]);
    for _ in 0..window {
        ends[0].association(id).unwrap().send(now, Message::new(0, payload.clone())).unwrap();
    }
    // Everything that wants to leave leaves; then everything on the wire arrives, in order, side by side.
    loop {
        for side in 0..2 {
            let mut buf = Vec::new();
            while ends[side].poll_transmit(now, 1, &mut buf).is_some() {
                let packet = std::mem::take(&mut buf);
                sent += u64::from(side == 0);
                if lossy && side == 0 && sent % 100 == 50 && sent < window {
                    lost += 1;
                } else {
                    wire[side].push_back(packet);
                }
            }
            while ends[side].poll_event().is_some() {}
        }
        let receiver = AssociationId { index: 0, generation: 0 };
        while ends[1].association(receiver).is_some_and(|mut z| z.receive().is_some()) {}
        if wire.iter().all(VecDeque::is_empty) {
            let next = ends.iter_mut().filter_map(Endpoint::poll_timeout).map(|t| t.0).min().unwrap();
            if ends[0].view(id).unwrap().flight_bytes() == 0 && ends[0].view(id).unwrap().queued_bytes() == 0
            {
                break;
            }
            now = next.max(now);
            ends.iter_mut().for_each(|e| e.handle_timeout(now));
            continue;
        }
        now += Duration::from_millis(5);
        for side in 0..2 {
            let meta =
                Meta { source: at[side], destination: at[1 - side], dscp: Dscp::DEFAULT, ecn: Ecn::NotEct };
            // Each packet is answered before the next arrives, as on a wire.
            while let Some(packet) = wire[side].pop_front() {
                ends[1 - side].handle_datagram(now, meta, &packet);
                let mut buf = Vec::new();
                while ends[1 - side].poll_transmit(now, 1, &mut buf).is_some() {
                    let packet = std::mem::take(&mut buf);
                    sent += u64::from(side == 1);
                    if lossy && side == 1 && sent % 100 == 50 && sent < window {
                        lost += 1;
                    } else {
                        wire[1 - side].push_back(packet);
                    }
                }
            }
        }
    }
    let stats = ends[1].view(AssociationId { index: 0, generation: 0 }).unwrap().stats();
    assert_eq!(stats.payload_bytes_received_new, window * 500, "everything arrived");
    assert_eq!(lossy && window >= 100, lost > 0);
    let (flight, _) = ends[0].view(id).unwrap().work();
    let (_, received) = ends[1].view(AssociationId { index: 0, generation: 0 }).unwrap().work();
    [flight, received, ends[0].registry.pushes + ends[1].registry.pushes].map(|w| w as f64 / window as f64)
}

/// "flight, receive map and timers cost O(1) per packet on average however large the window is".
#[test]
fn work_per_packet_does_not_grow_with_the_window() {
    for lossy in [false, true] {
        for window in [10, 1_000, 100_000] {
            let [flight, received, timers] = work_per_packet(window, lossy);
            // The handshake and its timers are shared by few packets at a window of 10.
            let limit = if window == 10 { 3.0 } else { 0.1 };
            assert!(timers < limit, "timers: {timers} a packet at {window}, lossy {lossy}");
            assert!(flight < 8.0, "flight: {flight} chunks a packet at {window}, lossy {lossy}");
            assert!(received < 12.0, "receive map: {received} ranges a packet at {window}, lossy {lossy}");
        }
    }
}
