"""A better stochastic model: the stationary distribution of the window, with the engine's own rules.

Zou's models (2007) know one thing about a sender: +1 MTU every Phi round trips, and the window halves after a loss. Their omissions
cost 7 to 14 % (they are low). Here the window is a Markov chain over the fast retransmits, solved numerically:

- Losses are random. Periods between them are geometric, not equal; a window that grew long is cut late. For small p this alone
  makes the constant of the square-root law 1.3098 instead of sqrt(3/2) = 1.2247: `bernoulli_constant`.
- After a fast retransmit cwnd = ssthresh, which counts as slow start (RFC 2960 and RFC 9260, 7.2.1): the first SACK that moves
  the cumulative point adds a whole MTU. That is worth Phi round trips of growth.
- A packet may leave while less than cwnd is outstanding, so ceil(cwnd / K) packets are in flight.
- Windows grow by acknowledged bytes: +1 MTU for every Phi cwnd of them.
- Without a recovery point (RFC 2960) every lost packet of a window halves it; with one (RFC 9260) the first does.
- ssthresh has a floor (2 or 4 MTU). Small windows bring too few missing reports in a round trip; a packet that waits longer than the RTO, or
  loses its retransmission, times out.

Windows are in MTU, times in seconds, throughput in bytes per second of unique packets.
"""

import functools
import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .check import positive, probability
from .engines import Rules, rules

_LONGEST = 12_000
"""Windows (MTU) up to which the chain is solved; beyond it the square-root law is exact to 0.1 %."""


def bernoulli_constant(decrease: float = 0.5) -> float:
    """The exact constant c of B = c sqrt(eta / (Phi p)) M / RTT for random losses and p -> 0, for cuts to `decrease`.

    With Y = Phi p W^2 / 2 after a cut, a period of E packets (exponential, mean 1) leads to (Y + E) d^2; so Y is the sum of E_k q^k
    over k >= 1 with q = d^2, whose moment is E[Y^s] = q^s Gamma(1+s) prod (1 - q^(k+s)) / (1 - q^k). The mean period is
    E[T] = Phi RTT (1 - d) E[W] and W = sqrt(2 Y / (Phi p)) / d, from which c = d / ((1 - d) sqrt(2) E[sqrt Y]). For d = 1/2 it is
    1.3098, the value of Ott, Kemperman and Mathis (1996); equal periods would give sqrt((1 + d) / (2 (1 - d))) = 1.2247.
    """
    probability("decrease", decrease)
    q = decrease**2
    product = 1.0
    for k in range(1, 10_000):
        factor = (1 - q ** (k + 0.5)) / (1 - q**k)
        product *= factor
        if abs(factor - 1) < 1e-17:
            break
    root = decrease * math.gamma(1.5) * product
    return decrease / ((1 - decrease) * math.sqrt(2) * root)


def periodic_constant(decrease: float = 0.5) -> float:
    """The constant of the square-root law when every period is equally long: sqrt(3/2) for cuts to one half (4.13)."""
    probability("decrease", decrease)
    return math.sqrt((1 + decrease) / (2 * (1 - decrease)))


@dataclass(frozen=True)
class Steady:
    """The stationary behaviour of a sender."""

    throughput: float
    """Bytes per second of unique packets."""
    window_at_loss: float
    """Mean cwnd at a fast retransmit or timeout, MTU (E[W] of the study)."""
    window_mean: float
    """Mean cwnd over time, MTU."""
    period: float
    """Mean time between two cuts, s."""
    cut_rate: float
    """Cuts of the window for each packet: fewer than losses where one cut stands for several (a recovery point)."""
    timeout_share: float
    """The part of the cuts that are timeouts."""


def throughput(
    p: ArrayLike,
    rtt: ArrayLike,
    *,
    phi: ArrayLike = 1.0,
    eta: ArrayLike = 1.0,
    mtu: float = 1500.0,
    engine: str | Rules = "ns2-2.28",
) -> NDArray[np.float64]:
    """Bytes per second of one window under random losses with probability p a packet; arguments are broadcast."""
    found = [
        steady(float(a), float(b), phi=float(c), eta=float(d), mtu=mtu, engine=engine).throughput
        for a, b, c, d in np.broadcast(p, rtt, phi, eta)
    ]
    return np.array(found).reshape(np.broadcast(p, rtt, phi, eta).shape)


def steady(
    p: float,
    rtt: float,
    *,
    phi: float = 1.0,
    eta: float = 1.0,
    mtu: float = 1500.0,
    engine: str | Rules = "ns2-2.28",
) -> Steady:
    """One window in its steady state: loss probability p a packet, round trip rtt (s), packet size eta (MTU)."""
    probability("p", p)
    positive("rtt", rtt)
    positive("mtu", mtu)
    positive("eta", eta)
    if phi < 1:
        raise ValueError(f"phi {phi:g}: at least 1 is needed (WGR = 1/Phi is at most 1)")
    return _solve(float(p), float(rtt), float(phi), float(eta), float(mtu), rules(engine))


@functools.lru_cache(maxsize=4096)
def _solve(p: float, rtt: float, phi: float, eta: float, mtu: float, how: Rules) -> Steady:
    scale = math.sqrt(8 * eta / (3 * phi * p))
    longest = 4.5 * scale + 4 * how.floor + 12
    if longest > _LONGEST:
        return _asymptote(p, rtt, phi, eta, mtu)
    return _Chain(p, rtt, phi, eta, how, longest).steady(mtu)


def _asymptote(p: float, rtt: float, phi: float, eta: float, mtu: float) -> Steady:
    """The square-root law: for windows of thousands of packets it is exact."""
    c = bernoulli_constant()
    packets_per_rtt = c / math.sqrt(eta * phi * p)
    per_second = packets_per_rtt / rtt
    window = 2 * eta / (phi * p * packets_per_rtt * eta)
    return Steady(per_second * eta * mtu, window, packets_per_rtt * eta, 1 / (p * per_second), p, 0.0)


class _Chain:
    """Cells of windows; a stair is one window until it grows, a cut sends to about half the cell."""

    def __init__(self, p: float, rtt: float, phi: float, eta: float, how: Rules, longest: float):
        self.p, self.rtt, self.phi, self.eta, self.how = p, rtt, phi, eta, how
        self.rto = min(max(how.rto_min, rtt), how.rto_max) / rtt
        fine = 32 if longest < 100 else 16 if longest < 400 else 8 if longest < 1500 else 2
        if how.growth == "staircase":
            self.per_mtu = self.step = fine
        else:
            # Cells so small that a step of 1/Phi is a whole number of them.
            self.step = max(1, math.ceil(fine / phi))
            self.per_mtu = max(1, round(self.step * phi))
        self.rows = math.ceil(longest * self.per_mtu / self.step)
        self.w = np.arange(1, self.rows * self.step + 1) / self.per_mtu
        self.log_q = math.log1p(-p)
        self._stairs()
        self._cuts()

    def _lost(self, packets: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probability of at least one loss among so many packets."""
        return -np.expm1(self.log_q * packets)

    def _sent(self, window: NDArray[np.float64]) -> NDArray[np.float64]:
        """Packets in flight: one may leave while less than cwnd is outstanding (6.1 B)."""
        return np.maximum(1.0, np.ceil(np.round(window / self.eta, 9)))

    def _stairs(self) -> None:
        """The growth of windows: +1 MTU when Phi cwnd are acknowledged (staircase), or +1/Phi for one cwnd (linear)."""
        rounds = self.phi if self.how.growth == "staircase" else 1.0
        packets = rounds * self.w / self.eta
        self.flight = self._sent(self.w)
        self.end = self._lost(packets)
        self.end[-self.step :] = 1.0
        # E[min(geometric, packets)] / flight: the mean stay, in round trips.
        self.stay = self._lost(packets) / self.p / self.flight
        self._detection()

    def _detection(self) -> None:
        """Round trips that missing reports are late, and how often the timer is faster.

        With s packets in flight and the f-th of them lost, s - f reports come at once and s - 1 in each further round trip.
        """
        reports = self.how.reports
        self.late = np.zeros_like(self.w)
        self.expires = np.zeros_like(self.w)
        for s in np.unique(self.flight):
            at = self.flight == s
            if s < 2:
                late, expires = 0.0, 1.0
            else:
                after = np.arange(min(int(s), reports))  # packets behind the lost one; others are never late
                wait = np.ceil((reports - after) / (s - 1))
                # A report at the moment when the timer runs out is still in time.
                timeout = wait > self.rto
                late = float(np.where(timeout, 0.0, wait).sum() / s)
                expires = float(timeout.sum() / s)
            if not self.how.timeouts:
                expires = 0.0
            self.late[at], self.expires[at] = late, expires

    def _cuts(self) -> None:
        """Computes the losses and retransmissions between a cut to x and the SACK for the retransmission; x is the window after the cut."""
        how, x = self.how, self.w
        before, after = self._sent(2 * x), self._sent(x)
        # Packets behind the lost one: the rest of its round trip, then those that left until the last report came.
        exposed = before + how.reports - 2
        self.again_now = np.zeros_like(x)
        self.again_later = np.zeros_like(x)
        self.unpunished = np.zeros_like(x)
        self.extra = np.zeros_like(x)
        lost_in_rest = 1 - self._lost(before) / (
            -self.log_q * before
        )  # the lost packet stands anywhere in its round trip
        if how.recovery_point:
            self.unpunished = exposed
            self.extra = self._lost(exposed) - lost_in_rest
        else:
            self.again_now = lost_in_rest
            self.again_later = self._lost(exposed) - lost_in_rest
        self.grows = 1 - self.again_now - self.again_later
        # Where the retransmission itself is lost, only the timer helps.
        self.failed = np.full_like(x, self.p if how.timeouts else 0.0)
        # Acknowledgements come in bursts, one a round trip; of the first burst only packets that left after the cut count for growth.
        free = np.maximum(0.0, after - (how.reports - 1))
        counted = free**2 / (2 * before)
        self.head = 1 + 0.5 - counted / self._sent(x + how.boost)

    def _halves(self, at: NDArray[np.float64]) -> NDArray[np.float64]:
        """Cuts to max(cwnd / 2, floor); between two cells, to both alike."""
        floor = round(self.how.floor * self.per_mtu)
        after = np.zeros_like(at)
        cell = np.arange(1, at.size + 1)
        for half in (cell // 2, (cell + 1) // 2):
            np.add.at(after, np.minimum(np.maximum(half, floor), at.size) - 1, at / 2)
        return after

    def _raised(self, at: NDArray[np.float64]) -> NDArray[np.float64]:
        """The distribution of windows after the slow start, which adds `boost`."""
        cells = round(self.how.boost * self.per_mtu)
        if cells == 0:
            return at.copy()
        raised = np.zeros_like(at)
        raised[cells:] = at[:-cells]
        raised[-1] += at[-cells:].sum()
        return raised

    def _climb(self, entries: NDArray[np.float64]) -> NDArray[np.float64]:
        """The frequency with which each stair is reached."""
        reached = entries.reshape(self.rows, self.step).copy()
        survive = (1 - self.end).reshape(self.rows, self.step)
        for row in range(1, self.rows):
            reached[row] += reached[row - 1] * survive[row - 1]
        return reached.reshape(-1)

    def _restart(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Round trips and packets of the slow start after a timeout, up to a window x."""
        factor = 2.0 if self.how.sack_every == 1 else 1.0 + 1.0 / self.how.sack_every
        rounds = np.ceil(np.log(np.maximum(self.w, 1.0)) / math.log(factor) - 1e-9) + 1
        packets = (factor**rounds - 1) / (factor - 1) / self.eta
        return rounds, np.minimum(packets, rounds * self._sent(self.w))

    def _wait(self) -> float:
        """Mean timeout in round trips: it doubles up to 64 fold while retransmissions are lost (Padhye et al., 29)."""
        p = self.p
        doubling = 1 + p + 2 * p**2 + 4 * p**3 + 8 * p**4 + 16 * p**5 + 32 * p**6
        return self.rto * doubling / (1 - p)

    def steady(self, mtu: float) -> Steady:
        """Iterates the windows after cuts until they repeat, then adds up times and packets."""
        x = np.zeros_like(self.w)
        x[min(x.size, self.per_mtu * math.ceil(self.how.floor + 1)) - 1] = 1.0
        for _ in range(2000):
            reached = self._climb(self._raised(x * self.grows))
            cut = reached * self.end
            following = self._halves(cut + x * (self.again_now + self.again_later))
            following /= following.sum()
            change = np.abs(following - x).sum()
            x = following
            if change < 1e-11:
                break
        else:
            raise ArithmeticError(f"the window has no steady state at p = {self.p:g}, Phi = {self.phi:g}")
        return self._sums(x, mtu)

    def _sums(self, x: NDArray[np.float64], mtu: float) -> Steady:
        reached = self._climb(self._raised(x * self.grows))
        cut = reached * self.end
        rounds, slow_packets = self._restart()
        expired = self._halves(cut * self.expires) + x * self.grows * self.failed
        cuts_time = x * self.again_later + x * self.grows * (self.head + self.extra)
        time = (
            cuts_time.sum()
            + (reached * self.stay).sum()
            + (cut * self.late).sum()
            + (expired * (self._wait() + rounds - 1)).sum()
        )
        late_packets = (cut * self.late * self.flight).sum()
        packets = 1 / self.p + (x * self.unpunished).sum() + (expired * slow_packets).sum() + late_packets
        windows = (
            (cuts_time * self.w).sum()
            + (reached * self.stay * self.w).sum()
            + (cut * self.late * self.w).sum()
            + (expired * (self._wait() - 1 + slow_packets * self.eta)).sum()
        )
        at_loss = (cut * self.w).sum() + (x * (self.again_now + self.again_later) * self.w).sum()
        per_second = packets / (time * self.rtt)
        return Steady(
            throughput=float(per_second * self.eta * mtu),
            window_at_loss=float(at_loss),
            window_mean=float(windows / time),
            period=float(time * self.rtt),
            cut_rate=float((1 + (x * self.grows * self.failed).sum()) / packets),
            timeout_share=float(expired.sum() / (1 + (x * self.grows * self.failed).sum())),
        )


def without_timeouts(engine: str | Rules) -> Rules:
    """An engine's rules with fast retransmits alone."""
    return replace(rules(engine), timeouts=False)
