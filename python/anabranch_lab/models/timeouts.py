"""Timeouts on top of the fast-retransmit models: the terms of Padhye, Firoiu, Towsley and Kurose (1998) that (4.2) refers to.

With small windows too few missing reports come, and only the timer recovers. The study leaves this out (Assumption 1).
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import stochastic
from .check import positive, probability

Array = NDArray[np.float64]


def probability_of_timeout(p: ArrayLike, window: ArrayLike, reports: int = 3) -> Array:
    """Q(p, w): a loss in a window of w packets is found by the timer, for senders that need `reports` packets behind it.

    Their equation 24, with its 3 as a parameter: min(1, (1 - q^r) (1 + q^r (1 - q^(w-r))) / (1 - q^w)), q = 1 - p. About r / w.
    """
    q, w = 1 - probability("p", p), np.asarray(window, float)
    enough = np.maximum(w, reports)
    found = (1 - q**reports) * (1 + q**reports * (1 - q ** (enough - reports))) / (1 - q**enough)
    return np.where(w <= reports, 1.0, np.minimum(1.0, found))


def doubling(p: ArrayLike) -> Array:
    """f(p) = 1 + p + 2p^2 + 4p^3 + 8p^4 + 16p^5 + 32p^6: how the backoff to 64 RTO lengthens timeouts (their equation 29)."""
    p = probability("p", p)
    return 1 + p + 2 * p**2 + 4 * p**3 + 8 * p**4 + 16 * p**5 + 32 * p**6


def mean_timeout(p: ArrayLike, rto: ArrayLike) -> Array:
    """E[T_TO] = RTO f(p) / (1 - p), s."""
    return positive("rto", rto) * doubling(p) / (1 - probability("p", p))


def resent(p: ArrayLike) -> Array:
    """E[R] = 1 / (1 - p): packets sent during a series of timeouts."""
    return 1 / (1 - probability("p", p))


def throughput(
    p: ArrayLike,
    rtt: ArrayLike,
    phi: ArrayLike = 1.0,
    eta: ArrayLike = 1.0,
    mtu: float = 1500.0,
    *,
    rto: ArrayLike = 1.0,
    reports: int = 3,
) -> Array:
    """(4.2) with (4.9), (4.10) and the terms above, bytes per second. `rto` in s is at least the round trip."""
    window = stochastic.window(p, phi, eta)
    packets = stochastic.packets_to_detection(p, window, eta)
    duration = positive("rtt", rtt) * (stochastic.rounds_of_window(window, phi) + 1)
    timer = np.maximum(rto, rtt)
    often = probability_of_timeout(p, window / np.asarray(eta, float), reports)
    rate = stochastic.rate_with_timeouts(packets, duration, often, resent(p), mean_timeout(p, timer))
    return rate * np.asarray(eta, float) * mtu
