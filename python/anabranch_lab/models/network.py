"""The throughput of an association on a network: the four cases of Zou (2007), by every model that applies.

Random losses are for the stochastic models, a Drop-Tail bottleneck is for the deterministic one. With both, neither model holds alone:
the throughput of the association is at most the smaller of the two.
"""

import functools
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from . import deterministic, renewal, shared, stochastic, timeouts

ORIGINAL = "original"
SHARED = "shared"
WITHOUT_FCC = "without FCC"
WITH_FCC = "with FCC"
CASES = (ORIGINAL, SHARED, WITHOUT_FCC, WITH_FCC)
"""Cases 1 to 4 of chapter 4."""

STUDY = "study"
TIMEOUTS = "study + timeouts"
RENEWAL = "renewal"
MOST = 256
"""Subflows of an association: FIDs have 8 bits."""
BOTTLENECK = "bottleneck"
MODELS = (STUDY, TIMEOUTS, RENEWAL, BOTTLENECK)
"""(4.13) to (4.27); (4.2); the stationary window; (4.29) to (4.50)."""

PHIS = {"1": lambda _: 1.0, "n": float, "n^2": lambda n: float(n**2), "2n^2": lambda n: 2.0 * n**2}


def phi_of(text: str, n: int) -> float:
    """A Phi in words (`1`, `n`, `n^2`, `2n^2`) or as a number."""
    if text in PHIS:
        return PHIS[text](n)
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 1 <= value < float("inf"):
        raise ValueError(f"phi `{text}`: {', '.join(PHIS)} or a number from 1 is needed")
    return value


@dataclass(frozen=True)
class Network:
    """An association and the paths between its ends."""

    n: int = 2
    """Subflows."""
    phi: str = "n^2"
    """Phi of the case with FCC: `1`, `n`, `n^2`, `2n^2` or a number."""
    packet: float = 1500.0
    """K, bytes on the wire."""
    mtu: float = 1500.0
    """M, bytes."""
    rtt: tuple[float, ...] = ()
    """Round trip of every subflow (or one for all), s, without a queue."""
    loss: tuple[float, ...] = ()
    """Loss probability a packet of every subflow (or one for all): the paths of a DiffServ network. Empty: no random losses."""
    share: tuple[float, ...] = ()
    """Weights of the subflows where they share a window; equal ones by default."""
    rate: float | None = None
    """C of the bottleneck, bytes per second."""
    queue: int | None = None
    """Q of the bottleneck, packets."""
    engine: str = "ns2-2.28"
    """The engine whose rules the renewal model follows."""

    def __post_init__(self) -> None:
        """Refuses values for which no model has an answer."""
        if not 1 <= self.n <= MOST or self.n != int(self.n):
            raise ValueError(
                f"subflows {self.n}: a whole number from 1 to {MOST} is needed (a FID has 8 bits)"
            )
        for name in ("rtt", "loss", "share"):
            values = getattr(self, name)
            if len(values) not in (0, 1, self.n):
                raise ValueError(
                    f"{name}: {len(values)} values for {self.n} subflows; give one, or one for each"
                )
        if not self.rtt:
            raise ValueError("the round trip is missing: --rtt, or --delay of one direction")
        if any(value <= 0 for value in self.rtt):
            raise ValueError("rtt: times above 0 are needed")
        if any(not 0 < value < 1 for value in self.loss):
            raise ValueError("loss: probabilities above 0 and below 1 are needed")
        if any(value <= 0 for value in self.share):
            raise ValueError("share: weights above 0 are needed")
        if self.packet > self.mtu:
            raise ValueError(f"packet {self.packet:g} B is larger than the MTU of {self.mtu:g} B")
        if (self.rate is None) != (self.queue is None):
            raise ValueError("a bottleneck needs both --rate and --queue (packets)")
        if self.rate is None and not self.loss:
            raise ValueError("nothing limits this association: give --loss, or --rate and --queue, or both")
        if self.rate is not None and len(set(self.rtt)) > 1:
            raise ValueError("the bottleneck model needs one round trip for all subflows")
        renewal.rules(self.engine)
        phi_of(self.phi, self.n)

    @property
    def eta(self) -> float:
        """K / M."""
        return self.packet / self.mtu

    def each(self, name: str) -> np.ndarray:
        """A value for every subflow."""
        return np.broadcast_to(np.array(getattr(self, name)), (self.n,))


@dataclass(frozen=True)
class Answer:
    """The answer of one model for one case."""

    case: str
    model: str
    low_bps: float
    """Throughput on the wire, bits per second; with `high_bps` the bounds of the bottleneck model, else the same value."""
    high_bps: float
    subflows_bps: tuple[float, ...] = ()
    """Throughput of each subflow, where subflows have windows of their own."""
    window_mtu: float | None = None
    """Window (MTU) of a subflow, or of the association when it has but one, at a loss; the smallest one."""
    loss_low: float | None = None
    """Losses a packet: given for the stochastic models, bounds P_rr and P_low for the bottleneck."""
    loss_high: float | None = None
    notes: tuple[str, ...] = field(default=())

    def record(self) -> dict[str, Any]:
        """The answer as JSON."""
        return asdict(self)


def answers(network: Network) -> list[Answer]:
    """Every case by every model that applies."""
    found = []
    for case in CASES:
        if network.loss:
            found += [_stochastic(network, case, model) for model in (STUDY, TIMEOUTS, RENEWAL)]
        if network.rate is not None:
            found.append(_bottleneck(network, case))
    return found


def limit(network: Network, found: Sequence[Answer], case: str) -> float:
    """The highest throughput of a case, bits per second: the lower limit of random losses (renewal model) and bottleneck."""
    tops = [a.high_bps for a in found if a.case == case and a.model in (RENEWAL, BOTTLENECK)]
    return min(tops)


def _windows(network: Network, case: str) -> list[tuple[float, float, float]]:
    """(p, rtt, Phi) of every congestion window of a case."""
    p, rtt = network.each("loss"), network.each("rtt")
    if case == ORIGINAL:
        # All its traffic is best effort: it takes the path of the first subflow.
        return [(float(p[0]), float(rtt[0]), 1.0)]
    if case == SHARED:
        share = network.each("share") if network.share else np.ones(network.n)
        mean_rtt = float((share * rtt).sum() / share.sum())
        return [(shared.mean_loss(p, share), mean_rtt, 1.0)]
    phi = phi_of(network.phi, network.n) if case == WITH_FCC else 1.0
    return [(float(a), float(b), phi) for a, b in zip(p, rtt, strict=True)]


def _stochastic(network: Network, case: str, model: str) -> Answer:
    windows = _windows(network, case)
    rates, sizes = zip(*(_one(network, model, *window) for window in windows), strict=True)
    bits = tuple(8 * rate for rate in rates)
    notes = []
    if case == SHARED and len(set(network.rtt)) > 1:
        notes.append("round trips differ: an upper bound, reordering looks like loss")
    if model != RENEWAL and min(sizes) < 4:
        notes.append("E[W] < 4 MTU: outside Assumption 2")
    if model == RENEWAL and min(sizes) < 4:
        notes.append("windows below 4 MTU live on the floor of ssthresh: not compared with simulation there")
    if max(p for p, _, _ in windows) > 1e-2:
        notes.append("p > 1e-2: windows are small and timeouts frequent, too high")
    if network.rate is not None and sum(bits) > 8 * network.rate:
        notes.append("more than the bottleneck carries")
    losses = [p for p, _, _ in windows]
    many = case in (WITHOUT_FCC, WITH_FCC)
    total = sum(bits)
    return Answer(
        case, model, total, total, bits if many else (), min(sizes), min(losses), max(losses), tuple(notes)
    )


def _one(network: Network, model: str, p: float, rtt: float, phi: float) -> tuple[float, float]:
    """Bytes per second and window (MTU) of one congestion window."""
    eta, mtu = network.eta, network.mtu
    if model == STUDY:
        return float(stochastic.throughput(p, rtt, phi, eta, mtu)), float(stochastic.window(p, phi, eta))
    how = renewal.rules(network.engine)
    if model == TIMEOUTS:
        rate = timeouts.throughput(p, rtt, phi, eta, mtu, rto=how.rto_min, reports=how.reports)
        return float(rate), float(stochastic.window(p, phi, eta))
    steady = renewal.steady(p, rtt, phi=phi, eta=eta, mtu=mtu, engine=how)
    return steady.throughput, steady.window_at_loss


def _bottleneck(network: Network, case: str) -> Answer:
    one = case in (ORIGINAL, SHARED)
    assert network.rate is not None
    assert network.queue is not None
    place = deterministic.Bottleneck(
        rate=network.rate,
        base_rtt=network.rtt[0],
        queue=network.queue,
        packet=network.packet,
        mtu=network.mtu,
        n=1 if one else network.n,
        phi=phi_of(network.phi, network.n) if case == WITH_FCC else 1.0,
    )
    window = place.w_full / place.n / network.mtu
    notes = []
    if window < 4:
        notes.append("windows below 4 MTU: timeouts are likely, too high")
    if network.loss:
        notes.append("without the random losses")
    if place.low().small:
        notes.append("the queue runs empty after a cut of all")
    if deterministic.p_low(place) > 1:
        notes.append("more than a loss a packet: a window at its smallest overflows this bottleneck")
    return Answer(
        case,
        BOTTLENECK,
        8 * place.low().throughput,
        8 * place.up().throughput,
        (),
        window,
        deterministic.p_rr(place),
        deterministic.p_low(place),
        tuple(notes),
    )


OVER = {
    "loss": "loss probability of the last subflow",
    "subflows": "subflows",
    "queue": "queue, packets",
    "rate": "rate of the bottleneck, Mbit/s",
    "delay": "delay of one direction, ms",
}
"""The parameters that a plot can vary."""


@functools.cache
def _unit(over: str) -> float:
    return {"rate": 1e6 / 8, "delay": 2e-3}.get(over, 1.0)


def at(network: Network, over: str, x: float) -> Network:
    """This network with one value changed, in the units of `OVER`."""
    if over == "loss":
        if not network.loss:
            raise ValueError("nothing to vary: the network has no random losses (--loss)")
        return replace(network, loss=(*network.each("loss")[:-1].tolist(), x))
    if over == "subflows":
        for name in ("rtt", "loss", "share"):
            if len(getattr(network, name)) > 1:
                raise ValueError(f"subflows can be varied only when one {name} holds for all of them")
        return replace(network, n=int(x))
    if over == "delay":
        return replace(network, rtt=(x * _unit(over),))
    if over in ("queue", "rate"):
        if network.rate is None:
            raise ValueError("nothing to vary: the network has no bottleneck (--rate and --queue)")
        return replace(network, queue=int(x)) if over == "queue" else replace(network, rate=x * _unit(over))
    raise ValueError(f"`{over}` cannot be varied; {', '.join(OVER)} can")


def span(network: Network, over: str) -> list[float]:
    """The values of the axis of a plot: around the network's own value."""
    if over == "loss":
        return np.geomspace(1e-5, 1e-2, 25).tolist()
    if over == "subflows":
        return [float(n) for n in range(1, max(12, 2 * network.n) + 1)]
    if over == "queue":
        top = 2 * (network.queue or 50)
        return sorted({float(max(1, round(x))) for x in np.linspace(1, top, 25)})
    if over == "rate":
        own = (network.rate or 1.25e6) / _unit("rate")
        return np.geomspace(own / 10, own * 10, 25).tolist()
    own = network.rtt[0] / _unit("delay")
    return np.geomspace(own / 5, own * 5, 25).tolist()
