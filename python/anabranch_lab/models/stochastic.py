"""The stochastic models of Zou (2007) for one window: equations 4.1 to 4.18 and 4.28.

A loss with probability p a packet ends each period; the window grows by M/Phi every round trip and is halved. Losses are recovered by
fast retransmits only, E[W] is at least 4 MTU (Assumptions 1 and 2), queueing delay is constant.

Symbols: p loss probability of a packet; phi = Phi round trips for each MTU of growth (WGR = 1/Phi); eta = K/M packet size over MTU;
rtt in s; mtu = M in bytes; windows in MTU; throughput in bytes per second. Every argument may be an array; they are broadcast.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .check import count, positive, probability

Array = NDArray[np.float64]


def rate(packets: ArrayLike, duration: ArrayLike) -> Array:
    """(4.1): B/K = E[N] / E[A], packets per second."""
    return positive("packets", packets) / positive("duration", duration)


def rate_with_timeouts(
    packets: ArrayLike,
    duration: ArrayLike,
    timeout_probability: ArrayLike,
    resent: ArrayLike,
    timeout: ArrayLike,
    *,
    approximate: bool = False,
) -> Array:
    """(4.2): (E[N] + Q E[R]) / (E[A] + Q E[T_TO]), packets per second; the approximation leaves Q E[R] out."""
    q = np.asarray(timeout_probability, float)
    above = np.asarray(packets, float) + (0 if approximate else q * np.asarray(resent, float))
    return above / (np.asarray(duration, float) + q * np.asarray(timeout, float))


def window_after(before: ArrayLike, rounds: ArrayLike, phi: ArrayLike) -> Array:
    """(4.3): W_j = W_(j-1)/2 + X_j / Phi, MTU; `rounds` is X_j in round trips."""
    return np.asarray(before, float) / 2 + np.asarray(rounds, float) / _phi(phi)


def window_of_rounds(rounds: ArrayLike, phi: ArrayLike) -> Array:
    """(4.4): E[W] = 2 E[X] / Phi, MTU."""
    return 2 * np.asarray(rounds, float) / _phi(phi)


def rounds_of_window(window: ArrayLike, phi: ArrayLike) -> Array:
    """(4.4) the other way: E[X] = Phi E[W] / 2, round trips."""
    return _phi(phi) * np.asarray(window, float) / 2


def packets_of_period(
    before: ArrayLike, rounds: ArrayLike, last: ArrayLike, phi: ArrayLike, eta: ArrayLike
) -> Array:
    """(4.5): packets of one period: X/Phi stairs of Phi round trips, then `last` (beta_j, MTU) in the round trip X + 1.

    Each round trip carries half a packet more than the window, because a packet may leave while less than cwnd is outstanding. That
    average holds for windows that are no whole number of packets; (floor(w/K) + 1) K is one packet too many when K divides w.
    """
    phi, k = _phi(phi), positive("eta", eta)
    start, x = np.asarray(before, float) / 2, np.asarray(rounds, float)
    stairs = x / phi
    climbed = stairs * (start + k / 2) + stairs * (stairs - 1) / 2
    return (phi * climbed + np.asarray(last, float)) / k


def packets_of_window(window: ArrayLike, phi: ArrayLike, eta: ArrayLike) -> Array:
    """(4.6): E[N] = (3 Phi E[W]^2 / 8 + (eta Phi + 2 - Phi) E[W] / 4) / eta; uses E[X^2] = E[X]^2."""
    w, phi, eta = np.asarray(window, float), _phi(phi), positive("eta", eta)
    return (3 * phi / 8 * w**2 + (eta * phi + 2 - phi) / 4 * w) / eta


def first_loss(packets: ArrayLike, p: ArrayLike) -> Array:
    """(4.7): P[alpha = m] = (1 - p)^(m-1) p: the m-th packet is the first that is lost."""
    p = probability("p", p)
    return (1 - p) ** (count("m", packets) - 1) * p


def packets_to_loss(p: ArrayLike) -> Array:
    """(4.8): E[alpha] = 1/p packets up to and with the first loss."""
    return 1 / probability("p", p)


def packets_to_detection(p: ArrayLike, window: ArrayLike, eta: ArrayLike) -> Array:
    """(4.9): E[N] = 1/p + E[W]/eta. Padhye et al. have one packet less, the lost one counting only once."""
    return packets_to_loss(p) + np.asarray(window, float) / positive("eta", eta)


def _root(p: ArrayLike, phi: ArrayLike, eta: ArrayLike) -> tuple[Array, Array, Array, Array]:
    """p, Phi, eta and the S = 2 + Phi - eta Phi + sqrt(...) that (4.10) and (4.12) share."""
    p, phi, eta = probability("p", p), _phi(phi), positive("eta", eta)
    base = 2 + phi - eta * phi
    return p, phi, eta, base + np.sqrt(base**2 + 24 * phi * eta / p)


def window(p: ArrayLike, phi: ArrayLike = 1.0, eta: ArrayLike = 1.0) -> Array:
    """(4.10): E[W] in MTU at the end of a period, the positive root of (4.6) = (4.9)."""
    _, phi, _, s = _root(p, phi, eta)
    return s / (3 * phi)


def window_small_p(p: ArrayLike, phi: ArrayLike = 1.0, eta: ArrayLike = 1.0) -> Array:
    """(4.11): sqrt(8 eta / (3 Phi p)) MTU, for small p."""
    return np.sqrt(8 * positive("eta", eta) / (3 * _phi(phi) * probability("p", p)))


def throughput_printed(
    p: ArrayLike, rtt: ArrayLike, phi: ArrayLike = 1.0, eta: ArrayLike = 1.0, mtu: float = 1500.0
) -> Array:
    """(4.12) as printed, bytes per second. Too high for Phi > 1: its 2 p S lacks a factor 1/Phi. For comparison only."""
    p, phi, eta, s = _root(p, phi, eta)
    return mtu * (6 * eta + 2 * p * s) / (p * (6 + s) * positive("rtt", rtt))


def throughput_exact(
    p: ArrayLike, rtt: ArrayLike, phi: ArrayLike = 1.0, eta: ArrayLike = 1.0, mtu: float = 1500.0
) -> Array:
    """(4.12) corrected, bytes per second: M (6 eta + 2 p S / Phi) / (p (6 + S) RTT).

    It is (4.9) over RTT (E[X] + 1), with (4.10): E[N] = 1/p + S / (3 Phi eta) and E[X] + 1 = (S + 6) / 6.
    """
    p, phi, eta, s = _root(p, phi, eta)
    return mtu * (6 * eta + 2 * p * s / phi) / (p * (6 + s) * positive("rtt", rtt))


def throughput(
    p: ArrayLike, rtt: ArrayLike, phi: ArrayLike = 1.0, eta: ArrayLike = 1.0, mtu: float = 1500.0
) -> Array:
    """(4.13): M / RTT sqrt(3 eta / (2 Phi p)), bytes per second, for small p: the model that the figures of the study draw."""
    return (
        mtu / positive("rtt", rtt) * np.sqrt(3 * positive("eta", eta) / (2 * _phi(phi) * probability("p", p)))
    )


def association(
    p: ArrayLike, rtt: ArrayLike, phi: ArrayLike = 1.0, eta: ArrayLike = 1.0, mtu: float = 1500.0
) -> float:
    """(4.14), Case 4: the sum over subflows of (4.13); every argument one value for all or one for each, bytes per second."""
    return float(np.sum(throughput(*np.broadcast_arrays(p, rtt, phi, eta), mtu)))


def association_without_fcc(p: ArrayLike, rtt: ArrayLike, eta: ArrayLike = 1.0, mtu: float = 1500.0) -> float:
    """(4.15), Case 3: (4.14) with Phi = 1, bytes per second."""
    return association(p, rtt, 1.0, eta, mtu)


def equal_subflows(
    n: ArrayLike,
    p: ArrayLike,
    rtt: ArrayLike,
    phi: ArrayLike = 1.0,
    eta: ArrayLike = 1.0,
    mtu: float = 1500.0,
) -> Array:
    """(4.16), Case 4 with n equal subflows; with Phi = 1 it is (4.17), Case 3. Bytes per second."""
    return count("n", n) * throughput(p, rtt, phi, eta, mtu)


def original(p: ArrayLike, rtt: ArrayLike, eta: ArrayLike = 1.0, mtu: float = 1500.0) -> Array:
    """(4.18), Case 1: original SCTP, bytes per second."""
    return throughput(p, rtt, 1.0, eta, mtu)


def fcc_ratio(phi: ArrayLike) -> Array:
    """(4.28): Case 3 / Case 4 = sqrt(Phi), everything else equal."""
    return np.sqrt(_phi(phi))


class Valid(NamedTuple):
    """Whether the assumptions of the models hold."""

    holds: NDArray[np.bool_]
    window: Array
    """E[W] of (4.10), MTU."""
    largest_phi: Array
    """Phi up to which E[W] of (4.11) is at least 4 MTU: eta / (6 p)."""


def valid(p: ArrayLike, phi: ArrayLike = 1.0, eta: ArrayLike = 1.0) -> Valid:
    """Assumption 2: E[W] >= 4 MTU before a fast retransmit, so that half of it is above the floor of 2 MTU."""
    size = window(p, phi, eta)
    return Valid(size >= 4, size, positive("eta", eta) / (6 * probability("p", p)))


def _phi(phi: ArrayLike) -> Array:
    return positive("phi", phi)
