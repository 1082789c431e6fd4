//! FORWARD-TSN: numbers that the peer need not wait for (RFC 3758, 3.5). "Advanced.Peer.Ack.Point" is the last of the numbers given up that
//! follow the cumulative point without a gap: it is computed where it is used.

use std::collections::BTreeMap;

use anabranch_base::Duration;
use anabranch_wire::chunk::forward_tsn::{self, ForwardTsn, SkippedSsn};
use anabranch_wire::chunk::i_forward_tsn::{self, IForwardTsn, Skipped};
use anabranch_wire::chunk::sf_forward::{self, SfForward};
use anabranch_wire::{CommonHeader, Mid, PacketBuilder, Ssn};

use super::flight::{ChunkState, SentChunk};
use super::forward_watch::watch_forward;
use super::lane::Lane;
use super::partial_reliability::{Forward, PartialReliability};
use super::reset_bounds::{ResetBounds, forward_bound, is_of_before_reset};
use super::space::SendSpace;
use super::tables::Tables;
use crate::context::Context;
use crate::encoding::Framing;
use crate::ids::{PathId, SpaceId};

/// "waiting a full RTT before sending a duplicate FORWARD TSN" (RFC 3758, 3.5, F2), but no longer than rule F3 lets any wait.
const MOST_DELAY: Duration = Duration::from_millis(200);

/// Bytes for a message that is skipped, where messages have identifiers; without them half of it.
const ENTRY: usize = 8;

/// The last message of a stream that the peer is to skip.
struct Skip {
    stream: u16,
    unordered: bool,
    mid: Mid,
    ssn: Ssn,
}

/// The earliest message of a stream that is not given up: its space, and the earliest such message in all other spaces.
struct Earliest {
    mid: Mid,
    at: SpaceId,
    elsewhere: Option<Mid>,
}

impl Earliest {
    /// A message of number `mid` in `at` is not given up. Spaces are looked at one after the other.
    fn note(&mut self, at: SpaceId, mid: Mid) {
        if self.at == at {
            self.mid = earlier(self.mid, mid);
        } else if mid.signed_distance_from(self.mid) < 0 {
            *self = Self { mid, at, elsewhere: Some(self.mid) };
        } else {
            self.elsewhere = Some(self.elsewhere.map_or(mid, |elsewhere| earlier(elsewhere, mid)));
        }
    }

    /// The earliest such message in another space than `at`.
    fn beside(&self, at: SpaceId) -> Option<Mid> {
        if self.at == at { self.elsewhere } else { Some(self.mid) }
    }
}

fn earlier(a: Mid, b: Mid) -> Mid {
    if b.signed_distance_from(a) < 0 { b } else { a }
}

/// By stream and order; empty where no stream has messages in several spaces, or nothing is given up.
type Kept = BTreeMap<(u16, bool), Earliest>;

impl PartialReliability {
    /// After a SACK for a space (RFC 3758, 3.5, A4), or when something was given up: "If ... the 'Advanced.Peer.Ack.Point' is greater than
    /// the Cumulative TSN ACK carried in the received SACK, the data sender MUST send the data receiver a FORWARD TSN chunk" (RFC 3758,
    /// 3.5, C3).
    // rfc3758:3.5-7 rfc3758:3.5-16 rfc3758:3.5-17
    pub(super) fn advance_forwards(
        &mut self,
        tables: &mut Tables,
        bounds: Option<&ResetBounds>,
        cx: &Context,
        timeout: bool,
    ) {
        let kept = earliest_kept(tables);
        for at in tables.spaces.ids() {
            self.advance_forward(tables, bounds, cx, at, &kept, timeout);
        }
    }

    fn advance_forward(
        &mut self,
        tables: &mut Tables,
        bounds: Option<&ResetBounds>,
        cx: &Context,
        at: SpaceId,
        kept: &Kept,
        timeout: bool,
    ) {
        let point = advanced_point(tables, bounds, at, kept);
        let Some(space) = tables.spaces.get(at) else { return };
        // T3-rtx, which sends the FORWARD-TSN again (C5), runs on the lane of the chunk.
        let lane = space.flight.get(space.flight.first()).and_then(|chunk| tables.lanes.get(chunk.lane));
        let path = lane.map_or(cx.paths.for_control(), Lane::path);
        let mut forward = self.forward(at);
        if point <= space.flight.first() {
            forward.due = false;
            return self.set_forward(at, forward);
        }
        let srtt = tables.lanes.first().and_then(|lane| lane.srtt(cx)).unwrap_or(MOST_DELAY);
        let waited = forward.told_at.is_none_or(|told| cx.env.now() - told >= srtt.min(MOST_DELAY));
        // A FORWARD-TSN with a new point leaves at once; the same one again when the peer has had time to answer.
        forward.due |= point > forward.told || waited || timeout;
        forward.path = Some(path);
        self.set_forward(at, forward);
        tables.keep_t3(cx, at);
    }

    /// Writes the FORWARD-TSNs that are due on a path, as many as fit. False when some are left for the next packet.
    // rfc3758:3.5-9 rfc3758:3.5-10 rfc3758:3.5-11 rfc3758:3.5-12 rfc8260:2.3.1-1 rfc8260:2.3.1-4 rfc8260:2.3.1-5
    #[cold]
    #[inline(never)]
    pub(super) fn write_forwards(
        &mut self,
        tables: &mut Tables,
        bounds: Option<&ResetBounds>,
        cx: &Context,
        packet: &mut PacketBuilder<'_>,
        limit: usize,
        path: PathId,
    ) -> bool {
        let kept = earliest_kept(tables);
        for at in tables.spaces.ids() {
            let forward = self.forward(at);
            if !forward.due || forward.path != Some(path) {
                continue;
            }
            let room = limit.saturating_sub(packet.len());
            // The next packet has room for one stream at least.
            if room < SfForward::HEADER + ENTRY {
                return false;
            }
            let alone = packet.len() <= CommonHeader::LEN;
            let length = packet.buffer().len();
            let told = write_forward(tables, bounds, cx, packet.buffer(), at, &kept, room);
            if told.is_some_and(|point| point < forward.told) && !alone {
                // Beside other chunks it would name fewer numbers than the last one did: the next packet has room for more.
                packet.buffer().truncate(length);
                return false;
            }
            if let Some(point) = told {
                watch_forward(tables, (bounds, cx.env.agreed().encoding()), at, forward.told, point, alone);
            }
            let told_at = if told.is_some() { Some(cx.env.now()) } else { forward.told_at };
            if let (Some(space), Some(end)) = (tables.spaces.get_mut(at), told) {
                space.flight.forwarded_to(end);
            }
            let forward =
                Forward { due: false, told: told.unwrap_or(forward.told), told_at, path: Some(path) };
            self.set_forward(at, forward);
            tables.keep_t3(cx, at);
        }
        true
    }
}

/// Messages that are not given up and may keep another space from being skipped.
fn earliest_kept(tables: &Tables) -> Kept {
    let mut all = Kept::new();
    let given_up = |chunk: &SentChunk| chunk.state == ChunkState::Abandoned;
    let skips = |space: &SendSpace| space.flight.get(space.flight.first()).is_some_and(given_up);
    if !tables.has_several_spaces() || !tables.spaces.rows().iter().any(skips) {
        return all;
    }
    // Each chunk is looked at once, for all spaces: a peer can cause this look with every SACK.
    for (at, space) in tables.spaces.iter() {
        for chunk in space.flight.iter().filter(|chunk| !given_up(chunk)) {
            let (fragment, mid) = (&chunk.fragment, chunk.fragment.mid);
            all.entry((fragment.stream, fragment.unordered))
                .and_modify(|earliest| earliest.note(at, mid))
                .or_insert(Earliest { mid, at, elsewhere: None });
        }
    }
    all
}

/// One past the number to which a space may be skipped. A stream that has moved to another subflow may have earlier messages in
/// another space: the peer would take them for skipped, too, and must not be moved past messages that are not given up.
fn advanced_point(tables: &Tables, bounds: Option<&ResetBounds>, at: SpaceId, kept: &Kept) -> u64 {
    let Some(space) = tables.spaces.get(at) else { return 0 };
    let (first, end) = (space.flight.first(), space.flight.abandoned_to().min(forward_bound(bounds, at)));
    if kept.is_empty() {
        return end;
    }
    let waits = |seq: &u64| {
        let Some(skipped) = space.flight.get(*seq).map(|chunk| &chunk.fragment) else { return false };
        let earliest = kept.get(&(skipped.stream, skipped.unordered));
        let earliest = earliest.and_then(|earliest| earliest.beside(at));
        earliest.is_some_and(|mid| mid.signed_distance_from(skipped.mid) < 0)
    };
    (first..end).find(waits).unwrap_or(end)
}

/// Writes a FORWARD-TSN for a space; returns one past its last number. "If the total size of the FORWARD TSN does NOT fit in a single
/// MTU, then the sender of the FORWARD TSN SHOULD lower the Advanced.Peer.Ack.Point to the last TSN that will fit" (RFC 3758, 3.5, C4).
// rfc3758:3.1-3
fn write_forward(
    tables: &Tables,
    bounds: Option<&ResetBounds>,
    cx: &Context,
    out: &mut Vec<u8>,
    at: SpaceId,
    kept: &Kept,
    room: usize,
) -> Option<u64> {
    let space = tables.spaces.get(at)?;
    let framing = cx.env.agreed().encoding().framing(&cx.env.config().subflows.codes, space.fid, space.epoch);
    let (header, entry) = match framing {
        Framing::Data => (ForwardTsn::HEADER, ENTRY / 2),
        Framing::IData => (IForwardTsn::HEADER, ENTRY),
        Framing::Sf { .. } => (SfForward::HEADER, ENTRY),
        Framing::Sf2007 { .. } => return None,
    };
    let most = room.checked_sub(header)? / entry;
    // "Each stream SHOULD only be reported once" (RFC 3758, 3.5, C4), with its last skipped message; in the order in which they were
    // given up.
    let mut places = BTreeMap::new();
    let mut skipped: Vec<Skip> = Vec::new();
    let first = space.flight.first();
    let mut point = first;
    for seq in first..advanced_point(tables, bounds, at, kept) {
        let Some(fragment) = space.flight.get(seq).map(|chunk| &chunk.fragment) else { break };
        // DATA has no number for unordered messages.
        let has_number = framing != Framing::Data || !fragment.unordered;
        if has_number && !is_of_before_reset(bounds, at, seq, fragment.stream) {
            let skip = Skip {
                stream: fragment.stream,
                unordered: fragment.unordered,
                mid: fragment.mid,
                ssn: fragment.ssn(),
            };
            let next = skipped.len();
            let place = *places.entry((skip.stream, skip.unordered)).or_insert(next);
            match skipped.get_mut(place) {
                Some(earlier) => *earlier = skip,
                None if next >= most => break,
                None => skipped.push(skip),
            }
        }
        point = seq + 1;
    }
    if point == first {
        return None;
    }
    let cumulative = space.tsn_of(point).sub(1);
    if framing == Framing::Data {
        let list: Vec<SkippedSsn> =
            skipped.iter().map(|skip| SkippedSsn { stream: skip.stream, ssn: skip.ssn }).collect();
        forward_tsn::emit(out, cumulative, &list);
        return Some(point);
    }
    let list: Vec<Skipped> = skipped
        .iter()
        .map(|skip| Skipped { stream: skip.stream, unordered: skip.unordered, mid: skip.mid })
        .collect();
    match framing {
        Framing::Sf { fid, epoch, .. } => {
            sf_forward::emit(out, cx.env.config().subflows.codes.forward, fid, epoch, cumulative, &list);
        }
        _ => i_forward_tsn::emit(out, cumulative, &list),
    }
    Some(point)
}
