"""The audit of chapter 4 of Zou (2007): which equations follow from their premises. Tests derive every row again."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from . import stochastic

CORRECT = "correct"
APPROXIMATE = "correct as an approximation"
WRONG = "wrong"
MISPRINT = "misprint, result right"
VERDICTS = (CORRECT, APPROXIMATE, WRONG, MISPRINT)


@dataclass(frozen=True)
class Row:
    """One equation."""

    equation: str
    says: str
    """The quantity that it computes."""
    verdict: str
    note: str = ""
    code: str = ""
    """The place of the equation's code, below `anabranch_lab.models`."""


ROWS = (
    Row("4.1", "throughput of a period", CORRECT, "", "stochastic.rate"),
    Row(
        "4.2",
        "the same with timeouts",
        APPROXIMATE,
        "the second line drops Q E[R]",
        "stochastic.rate_with_timeouts",
    ),
    Row("4.3", "growth of the window in a period", CORRECT, "", "stochastic.window_after"),
    Row("4.4", "E[W] = 2 M E[X] / Phi", CORRECT, "", "stochastic.window_of_rounds"),
    Row(
        "4.5",
        "packets of a period",
        APPROXIMATE,
        "floor(w/K) + 1 is one packet too many when K divides w",
        "stochastic.packets_of_period",
    ),
    Row(
        "4.6",
        "mean of 4.5",
        APPROXIMATE,
        "the algebra is right; it takes E[X^2] = E[X]^2, which makes the constant sqrt(3/2) = 1.225 instead of 1.310 for random losses",
        "stochastic.packets_of_window",
    ),
    Row("4.7", "distribution of the first loss", CORRECT, "", "stochastic.first_loss"),
    Row("4.8", "its mean 1/p", CORRECT, "", "stochastic.packets_to_loss"),
    Row(
        "4.9",
        "packets until a loss is noticed",
        APPROXIMATE,
        "Padhye et al. have one packet less",
        "stochastic.packets_to_detection",
    ),
    Row("4.10", "E[W]", CORRECT, "the positive root of 4.6 = 4.9", "stochastic.window"),
    Row("4.11", "E[W] for small p", CORRECT, "limit of 4.10", "stochastic.window_small_p"),
    Row(
        "4.12",
        "throughput of a subflow",
        WRONG,
        "the term 2 p S lacks a factor 1/Phi: right for Phi = 1, too high beyond; vanishes for p -> 0",
        "stochastic.throughput_exact",
    ),
    Row(
        "4.13",
        "the same for small p",
        CORRECT,
        "limit of 4.12, as printed and as corrected",
        "stochastic.throughput",
    ),
    Row("4.14", "Case 4, all subflows", CORRECT, "", "stochastic.association"),
    Row("4.15", "Case 3", CORRECT, "", "stochastic.association_without_fcc"),
    Row("4.16", "Case 4, equal subflows", CORRECT, "", "stochastic.equal_subflows"),
    Row("4.17", "Case 3, equal subflows", CORRECT, "", "stochastic.equal_subflows"),
    Row("4.18", "Case 1, original SCTP", CORRECT, "", "stochastic.original"),
    Row("4.19", "mean loss of a shared window", CORRECT, "shares are those of packets", "shared.mean_loss"),
    Row(
        "4.20",
        "packets until a loss is noticed, shared",
        APPROXIMATE,
        "as 4.9",
        "shared.packets_to_detection",
    ),
    Row("4.21", "distribution of the first loss, shared", CORRECT, "", "shared.first_loss"),
    Row("4.22", "its mean", CORRECT, "prints p_r, means the p_x of 4.21", "shared.packets_to_loss"),
    Row("4.23", "Y(h), about the mean loss", CORRECT, "prints p_r, means the p_x of 4.21", "shared.turn"),
    Row("4.24", "the mean as a closed sum", CORRECT, "", "shared.packets_to_loss"),
    Row("4.25", "C, about 1 - n p", CORRECT, "", "shared.all_survive"),
    Row(
        "4.26",
        "the mean for small p: 1/p",
        MISPRINT,
        "n p^2 belongs into the denominators of the first term and of the second expression; as printed they tend to 1 + (n+1)/2 and to 1, not to 1/p",
        "shared.packets_to_loss_small_p",
    ),
    Row("4.27", "Case 2, shared", CORRECT, "for equal round trips", "shared.throughput"),
    Row("4.28", "Case 3 = sqrt(Phi) Case 4", CORRECT, "", "stochastic.fcc_ratio"),
    Row("4.29", "r = w/C with a queue", CORRECT, "", "deterministic.Cycle.rtt"),
    Row("4.30", "dw/dt with a queue", CORRECT, "", "deterministic.Bottleneck.slope"),
    Row("4.31", "w(t), large queue", CORRECT, "", "deterministic.Cycle.window"),
    Row("4.32", "T_low1", CORRECT, "", "deterministic.t_low_large"),
    Row("4.33", "B_low1 = C", CORRECT, "", "deterministic.Cycle.throughput"),
    Row("4.34", "P_low1", CORRECT, "one fast retransmit a victim", "deterministic.p_low"),
    Row("4.35", "r(w), small queue", CORRECT, "", "deterministic.Cycle.rtt"),
    Row("4.36", "w(t), small queue, and tau", CORRECT, "", "deterministic.tau_low"),
    Row("4.37", "T_low2", CORRECT, "", "deterministic.t_low_small"),
    Row("4.38", "B_low2", CORRECT, "", "deterministic.b_low_small"),
    Row("4.39", "P_low2", CORRECT, "", "deterministic.p_low"),
    Row("4.40", "P_low", CORRECT, "", "deterministic.p_low"),
    Row("4.41", "w(t), upper model, large queue", CORRECT, "", "deterministic.Cycle.window"),
    Row("4.42", "T_up1", CORRECT, "", "deterministic.t_up_large"),
    Row("4.43", "B_up1 = C", CORRECT, "", "deterministic.Cycle.throughput"),
    Row("4.44", "P_up1", CORRECT, "", "deterministic.p_up"),
    Row("4.45", "r(w), upper model", CORRECT, "", "deterministic.Cycle.rtt"),
    Row("4.46", "w(t), upper model, small queue, and tau", CORRECT, "", "deterministic.tau_up"),
    Row("4.47", "T_up2", CORRECT, "", "deterministic.t_up_small"),
    Row("4.48", "B_up2", CORRECT, "", "deterministic.b_up_small"),
    Row("4.49", "P_up2", CORRECT, "its T_up is T_up2", "deterministic.p_up"),
    Row(
        "4.50",
        "P_up",
        CORRECT,
        "but no lower bound of the loss rate: it lets the victim hold W_Q/n. See deterministic.p_rr",
        "deterministic.p_up",
    ),
    Row("4.51", "w(t), n = 1, large queue", CORRECT, "", "deterministic.Cycle.window"),
    Row("4.52", "w(t), n = 1, small queue", CORRECT, "", "deterministic.Cycle.window"),
    Row("4.53", "T, n = 1", CORRECT, "", "deterministic.t_sctp"),
    Row("4.54", "B, n = 1", CORRECT, "", "deterministic.b_sctp"),
    Row("4.55", "P, n = 1", CORRECT, "", "deterministic.p_sctp"),
)
"""Chapter 4 in its order."""

OVERESTIMATES = ((1e-3, 1), (1e-3, 2), (1e-3, 4), (1e-3, 16), (1e-4, 16), (1e-4, 144), (1e-4, 729), (1e-2, 4))
"""Pairs of p and Phi at which (4.12) as printed is compared with the corrected one."""


def overestimate(p: float, phi: float, eta: float = 1.0) -> float:
    """How much too high (4.12) is as printed, as a fraction."""
    printed = stochastic.throughput_printed(p, 1.0, phi, eta)
    return float(printed / stochastic.throughput_exact(p, 1.0, phi, eta) - 1)


def record() -> dict[str, Any]:
    """The audit as JSON."""
    return {
        "equations": [asdict(row) for row in ROWS],
        "overestimate_4_12": [
            {"p": p, "phi": phi, "fraction": round(overestimate(p, phi), 6)} for p, phi in OVERESTIMATES
        ],
    }


def count() -> dict[str, int]:
    """The number of equations with each verdict."""
    found = np.array([row.verdict for row in ROWS])
    return {verdict: int((found == verdict).sum()) for verdict in VERDICTS}
