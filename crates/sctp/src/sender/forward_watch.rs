//! A FORWARD-TSN is checked once more against the flight, where debug assertions or the feature `watched`
//! are on.

#[cfg(any(debug_assertions, feature = "watched"))]
use super::flight::{ChunkState, SentChunk};
use super::reset_bounds::ResetBounds;
#[cfg(any(debug_assertions, feature = "watched"))]
use super::reset_bounds::is_of_before_reset;
use super::tables::Tables;
use crate::encoding::Encoding;
use crate::ids::SpaceId;
#[cfg(any(debug_assertions, feature = "watched"))]
use crate::properties::{self, ForwardSight};

/// A FORWARD-TSN for a space was written. It names all numbers below `point`; the last FORWARD-TSN named those below `before`. `alone`:
/// its packet has no other chunk, and had no more room.
#[inline]
pub(super) fn watch_forward(
    tables: &Tables,
    (bounds, encoding): (Option<&ResetBounds>, Encoding),
    at: SpaceId,
    before: u64,
    point: u64,
    alone: bool,
) {
    #[cfg(any(debug_assertions, feature = "watched"))]
    if let Some(space) = tables.spaces.get(at) {
        let (first, end) = (space.flight.first(), space.flight.next());
        let kept = (first..point.min(end)).find(|seq| is_kept(tables, (bounds, encoding), at, *seq));
        let sight = ForwardSight { before, point, alone, acknowledged: first, sent: end, kept };
        let said = properties::forward(&sight);
        assert!(said.is_ok(), "{said:?}: {sight:?} in {at:?}");
    }
    #[cfg(not(any(debug_assertions, feature = "watched")))]
    let _ = (tables, bounds, encoding, at, before, point, alone);
}

/// True if a chunk, or another chunk of its message, is not given up; or an earlier message of its stream in another
/// space.
#[cfg(any(debug_assertions, feature = "watched"))]
fn is_kept(
    tables: &Tables,
    (bounds, encoding): (Option<&ResetBounds>, Encoding),
    at: SpaceId,
    seq: u64,
) -> bool {
    let Some(chunk) = tables.spaces.get(at).and_then(|space| space.flight.get(seq)) else {
        return false;
    };
    if chunk.state != ChunkState::Abandoned {
        return true;
    }
    let fragment = &chunk.fragment;
    // DATA has no number for unordered messages, and streams that were reset count from 0 again.
    let numbered = !fragment.unordered || encoding.identifies_messages();
    if !numbered || is_of_before_reset(bounds, at, seq, fragment.stream) {
        return false;
    }
    let waits_for_it = |here: bool, other: &SentChunk| {
        let of = &other.fragment;
        let ahead = of.mid.signed_distance_from(fragment.mid);
        // A reserved number has no fragment yet.
        !matches!(other.state, ChunkState::Abandoned | ChunkState::Reserved)
            && (of.stream, of.unordered) == (fragment.stream, fragment.unordered)
            && if here { ahead == 0 } else { ahead <= 0 }
    };
    tables.spaces.iter().any(|(id, space)| space.flight.iter().any(|other| waits_for_it(id == at, other)))
}
