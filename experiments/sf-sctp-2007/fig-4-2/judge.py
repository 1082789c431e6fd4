"""The claims of Fig. 4.2, and of chapter 4 itself."""

import numpy as np

from anabranch_lab.judge.claims import Claim, ClaimBuilder, Part, condition, exact
from anabranch_lab.models import audit, deterministic, renewal, shared, stochastic

P1, RTT, PHI = 1e-3, 1.0, 4.0
P2_LOW = 1e-5
P2 = np.geomspace(P2_LOW, P1, 41)
"""Fig. 4.2: p2 from 1e-5 to 1e-3."""


def with_fcc(p2: float) -> float:
    """(4.14), bytes per second."""
    return stochastic.association([P1, p2], RTT, PHI)


def together(p2: float) -> float:
    """(4.27), bytes per second."""
    return float(shared.throughput([P1, p2], RTT))


def ratio(p2: float) -> float:
    """What windows of their own are worth."""
    return with_fcc(p2) / together(p2)


def claims(builder: ClaimBuilder) -> list[Claim]:
    """Every claim of the catalogue that names this experiment."""
    rising = np.diff([ratio(p2) for p2 in P2])
    return [
        builder.claim("Z-EQ-1", equations()),
        builder.claim(
            "Z-F42-1",
            [_number("ratio at p1 = p2", 1.0, ratio(P1), 1e-12)],
        ),
        builder.claim(
            "Z-F42-2",
            [
                condition(
                    "ratio at p2 = 1e-5",
                    "3.90 to 3.92",
                    f"{ratio(P2_LOW):.4f}",
                    3.90 <= ratio(P2_LOW) <= 3.92,
                )
            ],
            note="It is 2.91 times more: 3.91 times as much.",
        ),
        builder.claim(
            "Z-F42-3",
            [
                _number("ratio at p2 = 1e-4", 1.543, ratio(1e-4), 1e-3),
                exact("points of p2 at which the ratio does not fall with p2", 0, int((rising >= 0).sum())),
            ],
        ),
    ]


def equations() -> list[Part]:
    """Z-EQ-1: what the audit lists as not right, and that numbers computed here bear it out."""
    bad = [row.equation for row in audit.ROWS if row.verdict in (audit.WRONG, audit.MISPRINT)]
    losses = [P1, P2_LOW]
    first, second = shared.packets_to_loss_printed(losses)
    mended = shared.packets_to_loss_small_p(losses)
    true = shared.packets_to_loss(losses)
    return [
        exact("equations that are audited", 55, len(audit.ROWS)),
        exact("equations that are not right as printed", ["4.12", "4.26"], bad),
        condition(
            "(4.12) as printed for Φ = 1 and for Φ = 4, against 4.9, 4.10 and 4.4",
            "right, and too high",
            f"{100 * audit.overestimate(P1, 1):+.2f} %, {100 * audit.overestimate(P1, 4):+.2f} %",
            abs(_against_premises(1)) < 1e-12 and _against_premises(4) > 0.07,
        ),
        condition(
            "(4.12) corrected, against 4.9, 4.10 and 4.4",
            "equal",
            f"{_corrected(4):+.1e}",
            all(abs(_corrected(phi)) < 1e-12 for phi in (1, 2, 4, 16, 144)),
        ),
        condition(
            "(4.26) as printed, against (4.24)",
            "not near it",
            f"{first:.2f} and {second:.2f}, not {true:.1f}",
            first < 0.01 * true and second < 0.01 * true,
        ),
        condition(
            "(4.26) corrected, against (4.24)",
            "within 0.1 %",
            f"{mended[1]:.1f} and {mended[2]:.1f}, against {true:.1f}",
            all(abs(value / true - 1) < 1e-3 for value in mended),
        ),
        condition(
            "the bounds of 4.40 and 4.50, and the new P_rr, against a cycle that is integrated numerically",
            "equal",
            f"largest difference {_bounds():.1e}",
            _bounds() < 1e-6,
        ),
        condition(
            "constant of 4.13, and of random losses",
            "1.2247, and 1.3098",
            f"{renewal.periodic_constant():.4f}, and {renewal.bernoulli_constant():.4f}",
            abs(renewal.bernoulli_constant() - 1.3098) < 5e-5,
        ),
    ]


def _premises(phi: float) -> float:
    """Throughput from (4.1), (4.4), (4.9) and the root of (4.6) = (4.9) that is found by bisection, bytes per second."""
    low, high = 1.0, 1e6
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        if middle in (low, high):
            break
        sent = stochastic.packets_of_window(middle, phi, 1.0)
        low, high = (
            (middle, high) if sent < stochastic.packets_to_detection(P1, middle, 1.0) else (low, middle)
        )
    rounds = stochastic.rounds_of_window(low, phi) + 1
    return float(stochastic.rate(stochastic.packets_to_detection(P1, low, 1.0), RTT * rounds)) * 1500


def _against_premises(phi: float) -> float:
    return float(stochastic.throughput_printed(P1, RTT, phi)) / _premises(phi) - 1


def _corrected(phi: float) -> float:
    return float(stochastic.throughput_exact(P1, RTT, phi)) / _premises(phi) - 1


def _bounds() -> float:
    """Largest relative difference between closed forms and cycles summed up step by step."""
    worst = 0.0
    for n, phi in ((1, 1), (4, 1), (4, 16), (25, 25)):
        for queue in (20, 100, 300):
            place = deterministic.Bottleneck(1.25e6, 0.1, queue, 1500, 1500, n, phi)
            for victims, closed in (
                ("all", deterministic.p_low),
                ("one", deterministic.p_up),
                ("largest", deterministic.p_rr),
            ):
                cycle = deterministic.cycle(place, victims)
                # dt = r dw / (n M / Phi); bytes = w / r dt, by Simpson's rule, exact for what is linear in w.
                w = np.linspace(cycle.start, place.w_full, 3)
                sent = float((w * [1, 4, 1]).sum() / 6) * (place.w_full - cycle.start) * phi / (n * place.mtu)
                worst = max(worst, abs(closed(place) * sent / place.packet / cycle.cuts - 1))
    return worst


def _number(at: str, expected: float, found: float, tolerance: float) -> Part:
    return condition(at, f"{expected:g}", f"{found:.4f}", abs(found - expected) <= tolerance)
