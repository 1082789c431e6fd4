//! One endpoint against a peer that is written down packet by packet: what a well-behaved stack would never send.
#![allow(dead_code, unreachable_pub, reason = "every test file uses its own part of it")]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::collections::BTreeSet;

use anabranch_base::Duration;
use anabranch_sctp::{AssociationId, CloseReason, Config, Event, State};
use anabranch_wire::cause::{Cause, Causes, StaleCookie};
use anabranch_wire::chunk::{
    CookieAck, Data, DataFlags, ErrorChunk, GapBlock, Init, InitKind, Shutdown, sack,
};
use anabranch_wire::param::{Param, Params, StateCookie};
use anabranch_wire::{Checksum, ChecksumOut, CommonHeader, Packet, PacketBuilder, Ssn, Tsn};

use super::{Logged, PORT, Pair, Side};

/// The script plays Z; its tag and Initial TSN.
pub const TAG_Z: u32 = 0x5a5a_5a5a;
pub const TSN_Z: u32 = 1000;

pub fn packet(tag: u32, write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    let header = CommonHeader { source_port: PORT, destination_port: PORT, verification_tag: tag };
    let mut builder = PacketBuilder::new(&mut out, header);
    write(builder.buffer());
    builder.finish(ChecksumOut::Compute);
    out
}

/// Every state in which an association can be spoken to.
pub const STATES: [State; 7] = [
    State::CookieWait,
    State::CookieEchoed,
    State::Established,
    State::ShutdownPending,
    State::ShutdownSent,
    State::ShutdownReceived,
    State::ShutdownAckSent,
];

/// A calls; the script answers.
pub struct Script {
    pub pair: Pair,
    pub a: AssociationId,
    pub tag_a: u32,
    pub tsn_a: u32,
}

fn chunk_of(logged: &Logged) -> Vec<u8> {
    let packet = Packet::parse(&logged.bytes, Checksum::Verify).unwrap();
    packet.chunks().next().unwrap().unwrap().bytes.to_vec()
}

impl Script {
    pub fn calling(config: &Config) -> Self {
        let (mut pair, a) = Pair::connecting(1, config);
        pair.drop_if(|p| p.from == Side::A);
        pair.pump();
        let init = chunk_of(&pair.log[0]);
        let word = |at: usize| u32::from_be_bytes(init[at..at + 4].try_into().unwrap());
        Self { pair, a, tag_a: word(4), tsn_a: word(16) }
    }

    /// The script has answered, the association is up.
    pub fn established(config: &Config) -> Self {
        let mut script = Self::calling(config);
        script.init_ack(10);
        script.send(|out| CookieAck.emit(out));
        assert_eq!(script.state(), State::Established);
        script.pair.log.clear();
        script
    }

    /// The same, and the peer has extensions.
    pub fn established_with(config: &Config, extensions: &[Param<'_>]) -> Self {
        let mut script = Self::calling(config);
        script.init_ack_with(10, extensions);
        script.send(|out| CookieAck.emit(out));
        assert_eq!(script.state(), State::Established);
        script.pair.log.clear();
        script
    }

    /// A stands where a script has led it, and has just said what it has to say.
    pub fn in_state(config: &Config, state: State) -> Self {
        let mut script = match state {
            State::CookieWait | State::CookieEchoed => Self::calling(config),
            _ => Self::established(config),
        };
        let (now, a) = (script.pair.now, script.a);
        if matches!(state, State::ShutdownPending | State::ShutdownReceived) {
            script.pair.send(Side::A, a, 0, &[1; 100]);
            script.pair.pump();
        }
        match state {
            State::CookieEchoed => script.init_ack(10),
            State::ShutdownPending | State::ShutdownSent => {
                script.pair.a.association(a).unwrap().shutdown(now);
                script.pair.pump();
            }
            State::ShutdownReceived | State::ShutdownAckSent => {
                let cumulative = Tsn::new(script.tsn_a.wrapping_sub(1));
                script.send(|out| Shutdown { cumulative }.emit(out));
            }
            _ => {}
        }
        assert_eq!(script.state(), state);
        script.pair.log.clear();
        script
    }

    /// A packet with A's tag, and everything that A says to it.
    pub fn send(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let bytes = packet(self.tag_a, write);
        self.pair.inject(Side::Z, &bytes);
        self.pair.pump();
        // A that asks again, as its cookie was stale, has another tag.
        let last = self.pair.log.last().filter(|p| p.has("INIT")).map(chunk_of);
        if let Some(tag) = last.as_deref().and_then(|init| init.get(4..8)) {
            self.tag_a = u32::from_be_bytes(tag.try_into().unwrap());
        }
    }

    pub fn init_ack(&mut self, streams: u16) {
        self.init_ack_with(streams, &[]);
    }

    /// The same with parameters of extensions.
    pub fn init_ack_with(&mut self, streams: u16, extensions: &[Param<'_>]) {
        let mut params = Vec::new();
        Param::StateCookie(StateCookie { cookie: b"cookie" }).emit(&mut params);
        for param in extensions {
            param.emit(&mut params);
        }
        self.send(|out| {
            Init {
                initiate_tag: TAG_Z,
                a_rwnd: 100_000,
                outbound_streams: streams,
                inbound_streams: streams,
                initial_tsn: Tsn::new(TSN_Z),
                params: Params::new(&params),
            }
            .emit(InitKind::InitAck, out);
        });
    }

    /// A SACK of so many of A's chunks, with gap blocks.
    pub fn sack(&mut self, acknowledged: u32, a_rwnd: u32, gaps: &[(u16, u16)]) {
        let cumulative = Tsn::new(self.tsn_a.wrapping_add(acknowledged).wrapping_sub(1));
        let gaps: Vec<GapBlock> = gaps.iter().map(|&(start, end)| GapBlock { start, end }).collect();
        self.send(|out| sack::emit(out, cumulative, a_rwnd, &gaps, &[]));
    }

    /// A's chunks that left since the log was cleared: numbers from 0 on, in order.
    pub fn left(&self) -> Vec<u32> {
        let numbers = |p: &Logged| -> Vec<u32> {
            p.data().iter().map(|data| data.tsn.get().wrapping_sub(self.tsn_a)).collect()
        };
        self.pair.log.iter().flat_map(numbers).collect()
    }

    /// For so long the script is an honest peer that has so far received `got` of A's chunks: every tenth of a second it takes
    /// what has left since the log was cleared, and acknowledges all it has.
    pub fn be_honest(&mut self, duration: Duration, a_rwnd: u32, got: &mut BTreeSet<u32>) {
        let until = self.pair.now + duration;
        while self.pair.now < until {
            got.extend(self.left());
            self.pair.log.clear();
            let cumulative = (0..).find(|n| !got.contains(n)).unwrap_or_default();
            let gaps: Vec<(u16, u16)> = got
                .range(cumulative..)
                .map(|n| (n - cumulative + 1) as u16)
                .map(|offset| (offset, offset))
                .collect();
            self.sack(cumulative, a_rwnd, &gaps);
            self.pair.run_for(Duration::from_millis(100));
        }
    }

    /// Nothing is in flight and nothing waits.
    #[track_caller]
    pub fn has_sent_all(&self) {
        let association = self.pair.a.view(self.a).unwrap();
        association.audit().unwrap();
        assert_eq!((association.flight_bytes(), association.queued_bytes()), (0, 0));
        assert_eq!(association.unacknowledged_chunks(), 0);
    }

    pub fn stale_cookie(&mut self) {
        let mut causes = Vec::new();
        Cause::StaleCookie(StaleCookie { staleness_us: 5 }).emit(&mut causes);
        self.send(|out| ErrorChunk { causes: Causes::new(&causes) }.emit(out));
    }

    pub fn state(&self) -> State {
        self.pair.a.view(self.a).unwrap().state()
    }

    pub fn closed(&self) -> Option<CloseReason> {
        self.pair.events.iter().rev().find_map(|(_, _, e)| match e {
            Event::Closed(reason) => Some(reason.clone()),
            _ => None,
        })
    }
}

pub fn data(tsn: u32, stream: u16, payload: &[u8]) -> Data<'_> {
    Data { flags: DataFlags::WHOLE, tsn: Tsn::new(tsn), stream, ssn: Ssn::new(0), ppid: 0, payload }
}
