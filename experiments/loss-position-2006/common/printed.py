"""Printed parameters of the report's own arithmetic."""

from types import SimpleNamespace

OPENING = SimpleNamespace(syn_ack=78, ack=66, segment=1500, rate=40, round_trips=3, slop=200)
"""Section 7.1.1: bytes of frames, kbit/s; appendix C.1.2: the first timeout is so many round trips, and ms more."""
RUNS = {
    "2 x 2 x 21 x 3": 2 * 2 * 21 * 3,
    "10 x 11 x 21 x 3": 10 * 11 * 21 * 3,
    "7 x 8 x 21 x 3": 7 * 8 * 21 * 3,
    "7 x 8 x 101 x 3": 7 * 8 * 101 * 3,
}
"""Tables 1 to 6: bandwidths, delays, positions and replications."""
PEAKS = range(5, 9), range(4, 8)
"""Positions at which LKSCTP is slow: sections 6.2.2 and 7.2.1."""
MINIMUM = 200, 3
"""The minimum RTO in ms: section 6.4, and Tables 5 and 6."""
TWICE, SEGMENTS = range(2, 8), 3
"""The packets that are sent twice: positions in section 5.1, segments in 7.1.1."""


def first_timeout(round_trip: float) -> float:
    """FreeBSD's, ms."""
    return OPENING.round_trips * round_trip + OPENING.slop


def wire(*frames: int) -> float:
    """Milliseconds that these frames take."""
    return 8 * sum(frames) / OPENING.rate
