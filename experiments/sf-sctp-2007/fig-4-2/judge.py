"""The claims of Fig. 4.2, and of chapter 4 itself."""

import numpy as np

from anabranch_lab.judge.claims import Claim, ClaimBuilder
from anabranch_lab.judge.comparison import Measured
from anabranch_lab.models import audit, deterministic, renewal, shared, stochastic

P1, RTT, PHI = 1e-3, 1.0, 4.0
P2_LOW = 1e-5
P2 = np.geomspace(P2_LOW, P1, 41)
"""Fig. 4.2: p2 from 1e-5 to 1e-3."""


def with_fcc(p2: float) -> float:
    """(4.14), bytes per second."""
    return stochastic.association([P1, p2], RTT, PHI)


def one_window(p2: float) -> float:
    """(4.27), bytes per second."""
    return float(shared.throughput([P1, p2], RTT))


def ratio(p2: float) -> float:
    """The gain of windows of their own over one common window."""
    return with_fcc(p2) / one_window(p2)


def claims(builder: ClaimBuilder) -> list[Claim]:
    """Every claim of the catalogue that names this experiment."""
    falling = np.diff([ratio(p2) for p2 in P2])
    return [
        builder.claim("Z-EQ-1", equations()),
        builder.claim("Z-F42-1", {"ratio at p1 = p2": ratio(P1)}),
        builder.claim(
            "Z-F42-2",
            {"ratio at p2 = 1e-5": ratio(P2_LOW)},
            note=f"It is {ratio(P2_LOW) - 1:.2f} times more: {ratio(P2_LOW):.2f} times as much.",
        ),
        builder.claim(
            "Z-F42-3",
            {
                "ratio at p2 = 1e-4": ratio(1e-4),
                "rise of the ratio from one p2 to the next lower one, at least": -float(falling.max()),
            },
        ),
    ]


def equations() -> dict[str, Measured]:
    """Z-EQ-1: the verdicts of the audit on the equations, and numbers computed here that confirm them."""
    losses = [P1, P2_LOW]
    true = shared.packets_to_loss(losses)
    printed, mended = shared.packets_to_loss_printed(losses), shared.packets_to_loss_small_p(losses)
    wrong = (audit.WRONG, audit.MISPRINT)
    return {
        "equations that are audited": str(len(audit.ROWS)),
        **{
            f"equation {row.equation}, as printed": "wrong" if row.verdict in wrong else "right"
            for row in audit.ROWS
        },
        **{f"(4.12) as printed over its premises, Phi = {phi}": _printed(phi) for phi in (1, 4)},
        **{f"(4.12) mended over its premises, Phi = {phi}": _mended(phi) for phi in (1, 2, 4, 16, 144)},
        **{
            f"(4.26) as printed over (4.24), {place} expression": float(value / true)
            for place, value in zip(("first", "third"), printed, strict=True)
        },
        **{
            f"(4.26) mended over (4.24), expression {place}": float(value / true)
            for place, value in enumerate(mended, start=1)
        },
        "bounds of (4.40), (4.50) and P_rr off a cycle that is integrated, at most": _bounds(),
        "constant of random losses": renewal.bernoulli_constant(),
    }


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


def _printed(phi: float) -> float:
    return float(stochastic.throughput_printed(P1, RTT, phi)) / _premises(phi)


def _mended(phi: float) -> float:
    return float(stochastic.throughput_exact(P1, RTT, phi)) / _premises(phi)


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
                # dt = r dw / (n M / Phi); bytes = w / r dt, by Simpson's rule, exact for an integrand linear in w.
                w = np.linspace(cycle.start, place.w_full, 3)
                sent = float((w * [1, 4, 1]).sum() / 6) * (place.w_full - cycle.start) * phi / (n * place.mtu)
                worst = max(worst, abs(closed(place) * sent / place.packet / cycle.cuts - 1))
    return worst
