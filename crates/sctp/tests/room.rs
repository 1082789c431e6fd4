//! Room in the receive buffer behind a hole: a chunk that fills it is taken, whatever lies behind (RFC 9260, 6.2).
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use crate::common;

use anabranch_base::Duration;
use anabranch_sctp::{Config, State};
use anabranch_wire::chunk::{Chunk, Data, DataFlags, IData, kind};
use anabranch_wire::param::{Param, SupportedExtensions};
use anabranch_wire::{Checksum, Mid, Packet, Ssn, Tsn};
use common::script::{Script, TSN_Z};

/// A chunk of an honest peer: its stream, the number of its message, of its fragment, whether it begins and ends one, bytes.
#[derive(Clone, Copy)]
struct Chunked {
    stream: u16,
    number: u32,
    fragment: u32,
    ends: (bool, bool),
    len: usize,
}

fn whole(stream: u16, number: u32, len: usize) -> Chunked {
    Chunked { stream, number, fragment: 0, ends: (true, true), len }
}

/// A message in fragments.
fn fragments(stream: u16, number: u32, count: u32, len: usize) -> Vec<Chunked> {
    let one = |n| Chunked { stream, number, fragment: n, ends: (n == 0, n + 1 == count), len };
    (0..count).map(one).collect()
}

/// A peer that sends as much as a_rwnd lets it, and again the chunks that SACKs do not name.
struct Peer {
    script: Script,
    chunks: Vec<Chunked>,
    interleaved: bool,
    /// Content of the last SACK: the number of chunks in sequence (`next`), a flag for each chunk beyond, and a_rwnd.
    next: usize,
    beyond: Vec<bool>,
    a_rwnd: usize,
}

impl Peer {
    fn new(config: &Config, chunks: Vec<Chunked>) -> Self {
        let interleaved = config.extensions.interleaving;
        let list = Param::SupportedExtensions(SupportedExtensions { chunk_types: &[kind::I_DATA] });
        let script =
            Script::established_with(config, if interleaved { std::slice::from_ref(&list) } else { &[] });
        let (a_rwnd, beyond) = (config.limits.receive_window as usize, vec![false; chunks.len()]);
        Self { script, chunks, interleaved, next: 0, beyond, a_rwnd }
    }

    fn send(&mut self, n: usize) {
        let Chunked { stream, number, fragment, ends: (beginning, ending), len } = self.chunks[n];
        let flags = DataFlags { immediate: true, unordered: false, beginning, ending };
        let tsn = Tsn::new(TSN_Z.wrapping_add(n as u32));
        let payload = vec![n as u8; len];
        let ppid_or_fsn = if beginning { 7 } else { fragment };
        let interleaved = self.interleaved;
        self.script.pair.log.clear();
        self.script.send(|out| {
            if interleaved {
                IData { flags, tsn, stream, mid: Mid::new(number), ppid_or_fsn, payload: &payload }.emit(out);
            } else {
                Data { flags, tsn, stream, ssn: Ssn::new(number as u16), ppid: 7, payload: &payload }
                    .emit(out);
            }
        });
        self.script.pair.run_for(Duration::from_millis(300));
        let a = self.script.a;
        assert_eq!(self.script.pair.a.view(a).unwrap().audit(), Ok(()));
        for logged in &self.script.pair.log {
            for raw in Packet::parse(&logged.bytes, Checksum::Verify).unwrap().chunks() {
                let Chunk::Sack(sack) = Chunk::parse(raw.unwrap()).unwrap() else { continue };
                self.next = sack.cumulative.get().wrapping_sub(TSN_Z).wrapping_add(1) as usize;
                self.a_rwnd = sack.a_rwnd as usize;
                self.beyond.fill(false);
                for gap in sack.gaps() {
                    let of = |offset: u16| self.next + usize::from(offset) - 1;
                    self.beyond[of(gap.start)..=of(gap.end)].fill(true);
                }
            }
        }
    }

    /// All but those that were lost on the way, as far as a_rwnd goes: how many were sent, and how many bytes.
    fn fill(&mut self, lost: &[usize]) -> (usize, usize) {
        let mut sent = (0, 0);
        for n in (0..self.chunks.len()).filter(|n| !lost.contains(n)) {
            if self.chunks[n].len > self.a_rwnd {
                break;
            }
            self.send(n);
            assert!(n < self.next || self.beyond[n], "{n} was invited and not taken: a_rwnd {}", self.a_rwnd);
            sent = (sent.0 + 1, sent.1 + self.chunks[n].len);
        }
        sent
    }

    /// Sends the missing chunks again, the first always, others as far as a_rwnd goes, until all is there. Returns
    /// the number of chunks that this took.
    fn finish(&mut self) -> usize {
        let mut sent = 0;
        while self.next < self.chunks.len() {
            let (first, before) = (self.next, sent);
            self.send(first);
            assert!(self.next > first, "the chunk that all wait for is refused, with a_rwnd {}", self.a_rwnd);
            sent += 1;
            for n in first..self.chunks.len() {
                if n >= self.next && !self.beyond[n] && self.chunks[n].len <= self.a_rwnd {
                    self.send(n);
                    sent += 1;
                }
            }
            assert!(sent > before && sent < 20 * self.chunks.len());
        }
        sent
    }

    /// Each message came once, whole, and those of a stream in order.
    fn check(mut self) {
        assert_eq!(self.script.state(), State::Established);
        let messages = std::mem::take(&mut self.script.pair.received);
        let mut came: Vec<(u16, u32, Vec<u8>)> =
            messages.into_iter().map(|(_, m)| (m.stream, m.number, m.into_bytes().to_vec())).collect();
        let numbers = |of: u16, all: &[(u16, u32, Vec<u8>)]| -> Vec<u32> {
            all.iter().filter(|(stream, ..)| *stream == of).map(|(_, number, _)| *number).collect()
        };
        for stream in 0..10 {
            let of_stream = numbers(stream, &came);
            assert!(
                of_stream.iter().copied().eq(0..of_stream.len() as u32),
                "stream {stream}: {of_stream:?}"
            );
        }
        came.sort();
        let mut sent: Vec<(u16, u32, Vec<u8>)> = Vec::new();
        for (n, chunk) in self.chunks.iter().enumerate() {
            let old = sent
                .iter_mut()
                .rev()
                .find(|(stream, number, _)| (*stream, *number) == (chunk.stream, chunk.number));
            match old {
                Some((.., bytes)) => bytes.extend(vec![n as u8; chunk.len]),
                None => sent.push((chunk.stream, chunk.number, vec![n as u8; chunk.len])),
            }
        }
        sent.sort();
        assert_eq!(came, sent);
    }
}

/// The window that Linux has by default, nearly, and packets of a loopback interface or of a network with jumbo frames.
fn config(interleaving: bool, window: u32) -> Config {
    Config::rfc9260().with(|c| {
        c.extensions.interleaving = interleaving;
        c.limits.receive_window = window;
        c.timers.heartbeat_interval = Duration::ZERO;
    })
}

/// A long chunk is lost, and lost again; messages behind it fill the window. When it comes it is taken, and so is all the rest.
// rfc9260:6.2-26 rfc9260:6.2-27 rfc9260:6.2-29
#[test]
fn a_long_chunk_that_fills_a_hole_is_taken() {
    for case in 0..12 {
        let (interleaving, long, other_stream) =
            (case % 2 == 1, [60_000, 50_000, 2000][case / 2 % 3], case >= 6);
        for window in [65_536, 100_000, 106_496] {
            // Small whole messages behind it, of its stream alone or of one that waits for another message that was lost, too.
            let mut chunks = vec![whole(0, 0, long), whole(1, 0, long)];
            chunks.extend((1..3000).map(|n| whole(u16::from(other_stream && n % 2 == 0), n, 60)));
            for stream in 0..2 {
                let of_stream = chunks.iter_mut().filter(|chunk| chunk.stream == stream);
                of_stream.enumerate().for_each(|(number, chunk)| chunk.number = number as u32);
            }
            let mut peer = Peer::new(&config(interleaving, window), chunks);
            let (count, bytes) = peer.fill(&[0, 1]);
            assert!(
                count > 500 && bytes > window as usize / 4,
                "{window}: {count} messages of {bytes} bytes"
            );
            let again = peer.finish();
            assert!(again < 3000 + 2000, "{again} chunks went again");
            peer.check();
        }
    }
}

/// The same with messages of several fragments behind the hole, which other streams interrupt where messages are interleaved: whole, begun,
/// and with holes of their own.
#[test]
fn fragments_behind_a_hole_make_room_for_it() {
    for case in 0..8 {
        let (interleaving, long, second_hole) = (case % 2 == 1, [60_000, 50_000][case / 2 % 2], case >= 4);
        let mut chunks = vec![whole(0, 0, long), whole(1, 0, long)];
        for number in 1..60 {
            let mine = fragments(0, number, 5, 700);
            let others = fragments(1, number, 5, 700);
            if interleaving {
                chunks.extend(mine.into_iter().zip(others).flat_map(|(a, b)| [a, b]));
            } else {
                chunks.extend(mine.into_iter().chain(others));
            }
        }
        let lost: &[usize] = if second_hole { &[0, 1, 5, 14, 15, 40, 41] } else { &[0, 1] };
        let mut peer = Peer::new(&config(interleaving, 100_000), chunks);
        peer.fill(lost);
        peer.finish();
        peer.check();
    }
}

/// Data that a_rwnd invites is taken out of order, however long packets may be and however small the window is.
// rfc9260:6.2-2
#[test]
fn what_a_window_invites_is_taken() {
    for case in 0..10 {
        let (interleaving, window) = (case % 2 == 1, [4000, 8000, 20_000, 32_000, 65_536][case / 2]);
        let mut config = config(interleaving, window);
        config.mtu = 65_528;
        let chunks: Vec<_> = (0..200).map(|n| whole(0, n, 500)).collect();
        let mut peer = Peer::new(&config, chunks);
        let (count, _) = peer.fill(&[0]);
        assert!(count >= (window as usize / 500).min(199) - 1, "{window}: {count} messages");
        peer.finish();
        peer.check();
    }
}
