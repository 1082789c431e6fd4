"""CUBIC's own laws for random losses: RFC 9438, section 5, in packets. Losses come at equal distances, none of them by a queue.

A window between two losses has the packets 1/p. CUBIC grows by C (t - K)^3; its Reno-friendly region by alpha packets a round trip, with
alpha = 3 (1 - beta) / (1 + beta) (4.3), so that it has the throughput of Reno. CUBIC takes the larger window of both.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import renewal
from .check import positive, probability

Array = NDArray[np.float64]

C = 0.4
"""Packets per cubic second (RFC 9438, 5.1)."""
BETA = 0.7
"""The part of the window that remains after a loss (RFC 9438, 4.6)."""


def cubic_window(p: ArrayLike, rtt: ArrayLike, c: float = C, beta: float = BETA) -> Array:
    """AVG_W_cubic, packets: (C (3 + beta) / (4 (1 - beta)))^(1/4) RTT^(3/4) / p^(3/4) (RFC 9438, equation 5; 6 with its numbers).

    p is the probability of a loss, rtt in seconds.
    """
    p, rtt = probability("p", p), positive("rtt", rtt)
    probability("beta", beta)
    return (positive("c", c) * (3 + beta) / (4 * (1 - beta))) ** 0.25 * (rtt / p) ** 0.75


def friendly_window(p: ArrayLike, beta: float = BETA) -> Array:
    """AVG_AIMD, packets: sqrt(alpha (1 + beta) / (2 (1 - beta) p)) (RFC 9438, 4.3), which is sqrt(3 / (2 p)) for any beta."""
    probability("beta", beta)
    alpha = 3 * (1 - beta) / (1 + beta)
    return np.sqrt(alpha * (1 + beta) / (2 * (1 - beta) * probability("p", p)))


def window(p: ArrayLike, rtt: ArrayLike, c: float = C, beta: float = BETA) -> Array:
    """The larger of both, packets."""
    return np.maximum(cubic_window(p, rtt, c, beta), friendly_window(p, beta))


def friendly_bounds(p: ArrayLike, beta: float = BETA) -> tuple[Array, Array]:
    """Windows, packets, between which the Reno-friendly region is when losses are random.

    Below: growth by alpha all the time. Above: growth by 1, which is the rule as soon as the window is as large as before the last cut
    (RFC 9438, 4.3). Both have the constant of random losses (`renewal.bernoulli_constant`).
    """
    root = renewal.bernoulli_constant(beta) / np.sqrt(probability("p", p))
    return np.sqrt(3 * (1 - beta) / (1 + beta)) * root, root
