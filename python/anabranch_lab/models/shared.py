"""Subflows that share one congestion window (SF-SCTP-shared, Case 2): equations 4.19 to 4.27 of Zou (2007).

A weighted round robin spreads packets over n subflows, which meet different losses; every loss cuts the common window. Arguments are one
loss probability a subflow; `share` is lambda, the share of the *packets*. Holds for equal round trips: with unequal ones reordering
is taken for loss, and the model is an upper bound.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import stochastic
from .check import positive, probability

Array = NDArray[np.float64]


def mean_loss(p: ArrayLike, share: ArrayLike | None = None) -> float:
    """(4.19): the loss that an average packet meets, sum of lambda_i p_i; equal shares by default."""
    p = np.atleast_1d(probability("p", p))
    if share is None:
        return float(p.mean())
    share = np.broadcast_to(positive("share", share), p.shape)
    return float((share * p).sum() / share.sum())


def packets_to_detection(p: ArrayLike, window: float, eta: float = 1.0) -> float:
    """(4.20): E[N] = E[alpha] + E[W] / eta, with the exact E[alpha] of (4.22)."""
    return packets_to_loss(p) + window / eta


def first_loss(m: int, p: ArrayLike) -> float:
    """(4.21): probability that the m-th packet is the first lost, round robin from a random subflow on.

    The packet of subflow i is lost after all that were sent before it came through: whole turns of n, then the (m-1) mod n subflows in
    front of i. The x of the equation is such a subflow (4.22 and 4.23 print r instead).
    """
    p = np.atleast_1d(probability("p", p))
    n, before = p.size, m - 1
    turns = np.prod(1 - p) ** (before // n)
    return float(sum(turns * _in_front(p, i, before % n) * p[i] for i in range(n)) / n)


def packets_to_loss(p: ArrayLike) -> float:
    """(4.22): E[alpha], the mean of (4.21), by the closed sum (4.24)."""
    p = np.atleast_1d(probability("p", p))
    n, h = p.size, np.arange(1, p.size + 1)
    c = all_survive(p)
    # 1 - C without cancellation.
    lost = -np.expm1(np.log1p(-p).sum())
    return float((turn(p) * (n * c / lost**2 + h / lost)).sum())


def turn(p: ArrayLike) -> Array:
    """(4.23): Y(h) for h = 1..n: the first loss of a turn is its h-th packet, averaged over the subflow that begins. About p_sh for small p."""
    p = np.atleast_1d(probability("p", p))
    return np.array([np.mean([_in_front(p, i, h) * p[i] for i in range(p.size)]) for h in range(p.size)])


def all_survive(p: ArrayLike, *, approximate: bool = False) -> float:
    """(4.25): C, the probability that a turn of n packets comes through; about 1 - n p_sh."""
    p = np.atleast_1d(probability("p", p))
    return float(1 - p.sum()) if approximate else float(np.prod(1 - p))


def packets_to_loss_printed(p: ArrayLike) -> tuple[float, float]:
    """(4.26) as printed, its first and its second expression: with n p in the denominators they are small numbers, not 1/p."""
    p = np.atleast_1d(probability("p", p))
    n, mean, h = p.size, mean_loss(p), np.arange(1, p.size + 1)
    y = turn(p)
    return float((y * ((1 - n * mean) / (n * mean) + h / (n * mean))).sum()), float((y / (n * mean)).sum())


def packets_to_loss_small_p(p: ArrayLike) -> tuple[float, float, float]:
    """(4.26) corrected: sum Y(h) ((1 - n p)/(n p^2) + h/(n p)), sum Y(h) / (n p^2), and 1/p, which they approach."""
    p = np.atleast_1d(probability("p", p))
    n, mean, h = p.size, mean_loss(p), np.arange(1, p.size + 1)
    y = turn(p)
    first = (y * ((1 - n * mean) / (n * mean**2) + h / (n * mean))).sum()
    return float(first), float((y / (n * mean**2)).sum()), 1 / mean


def throughput(
    p: ArrayLike, rtt: ArrayLike, eta: float = 1.0, mtu: float = 1500.0, share: ArrayLike | None = None
) -> Array:
    """(4.27), Case 2: the original SCTP at the mean loss, bytes per second. An upper bound when round trips differ."""
    return stochastic.original(mean_loss(p, share), rtt, eta, mtu)


def _in_front(p: Array, i: int, how_many: int) -> float:
    """Probability that the packets of the subflows just before i in the round robin came through."""
    return float(np.prod([1 - p[(i - r) % p.size] for r in range(1, how_many + 1)]))
