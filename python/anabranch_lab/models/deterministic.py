"""The deterministic models of Zou (2007) for one Drop-Tail bottleneck: equations 4.29 to 4.55, and the bound P_rr.

One SF-SCTP association with n equal subflows has the bottleneck for itself. Its aggregate window grows by n M / Phi a round trip; at
W_Q, which is the capacity of link and queue, packets are dropped and some subflows are halved. Then everything repeats. The lower model
(of throughput) halves all n subflows, the upper model one of them.

Bytes, seconds, bytes per second. C is the rate of the bottleneck, R_L the round trip without a queue, W_L = C R_L. Fluid: windows
are continuous; and the window is assumed to reach W_Q, not more.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .check import positive

Array = NDArray[np.float64]

VICTIMS = ("all", "one", "largest")


@dataclass(frozen=True)
class Bottleneck:
    """The network of Fig. 4.3, and the association in it."""

    rate: float
    """C, bytes per second."""
    base_rtt: float
    """R_L = 2 (D1 + D2), s."""
    queue: int
    """Q, packets."""
    packet: float = 1500.0
    """K, bytes on the wire."""
    mtu: float = 1500.0
    """M, bytes: the step by which a window grows."""
    n: int = 1
    """Subflows."""
    phi: float = 1.0
    """Phi: round trips for each MTU of growth of a subflow."""

    def __post_init__(self) -> None:
        """Refuses values that no network can have."""
        for name in ("rate", "base_rtt", "queue", "packet", "mtu"):
            positive(name, getattr(self, name))
        if self.n < 1 or self.n != int(self.n):
            raise ValueError(f"n {self.n}: a whole number from 1 is needed")
        if self.phi < 1:
            raise ValueError(f"phi {self.phi:g}: at least 1 is needed (WGR = 1/Phi is at most 1)")

    @property
    def w_link(self) -> float:
        """W_L = C R_L, bytes on the way without a queue."""
        return self.rate * self.base_rtt

    @property
    def w_full(self) -> float:
        """W_Q = W_L + Q K, bytes on the way with a full queue."""
        return self.w_link + self.queue * self.packet

    @property
    def queue_delay(self) -> float:
        """D_Q = Q K / C, s."""
        return self.queue * self.packet / self.rate

    @property
    def largest_rtt(self) -> float:
        """R_Q = R_L + D_Q, s."""
        return self.base_rtt + self.queue_delay

    @property
    def slope(self) -> float:
        """n M C / Phi, bytes^2 per second: half the speed of w^2 while there is a queue (4.30)."""
        return self.n * self.mtu * self.rate / self.phi

    def low(self) -> "Cycle":
        """The lower model of throughput (4.29 to 4.40): every subflow is halved."""
        return cycle(self, "all")

    def up(self) -> "Cycle":
        """The upper model of throughput (4.41 to 4.50): one subflow is halved, and holds W_Q/n then."""
        return cycle(self, "one")

    def largest(self) -> "Cycle":
        """The model behind P_rr: one subflow is halved, the one with the largest window, in turn."""
        return cycle(self, "largest")


@dataclass(frozen=True)
class Cycle:
    """One queue cycle: from a cut to the next, alike for ever."""

    bottleneck: Bottleneck
    victims: str
    cuts: int
    """Subflows that are halved in a cycle."""
    start: float
    """Aggregate window after the cut, bytes."""
    small: bool = field(init=False)
    """The small-queue case: the queue runs empty (QSD)."""

    def __post_init__(self) -> None:
        """Says which of the two cases it is."""
        object.__setattr__(self, "small", self.start < self.bottleneck.w_link)

    @property
    def steady(self) -> float:
        """tau (4.36, 4.46): how long the queue is empty (QSD), s."""
        b = self.bottleneck
        return b.w_link * (b.w_link - self.start) / b.slope if self.small else 0.0

    @property
    def busy(self) -> float:
        """How long the queue grows (QBU), s; the draining that the fluid model does at once is `draining`."""
        b = self.bottleneck
        return (b.w_full**2 - max(self.start, b.w_link) ** 2) / (2 * b.slope)

    @property
    def draining(self) -> float:
        """QDN, s: until the queue has come to the level of the new window; the sender waits for it, so it costs no throughput.

        A sender whose window is cut by D bytes sends nothing until D bytes are acknowledged, which the bottleneck does at C; the queue
        cannot give more than it holds.
        """
        b = self.bottleneck
        return min(b.w_full - self.start, b.queue * b.packet) / b.rate

    @property
    def length(self) -> float:
        """T (4.32, 4.37, 4.42, 4.47, 4.53), s."""
        return self.steady + self.busy

    @property
    def bytes_sent(self) -> float:
        """Bytes sent in a cycle: the integral of w / r (4.33, 4.38, 4.43, 4.48)."""
        b = self.bottleneck
        return (b.w_full**2 - self.start**2) * b.rate / (2 * b.slope)

    @property
    def throughput(self) -> float:
        """B (4.33, 4.38, 4.43, 4.48, 4.54), bytes per second."""
        return self.bytes_sent / self.length

    @property
    def utilisation(self) -> float:
        """B / C."""
        return self.throughput / self.bottleneck.rate

    @property
    def loss_rate(self) -> float:
        """Fast retransmits for each packet (4.34, 4.39, 4.40, 4.44, 4.49, 4.50, 4.55): the same with and without QSD."""
        return self.cuts * self.bottleneck.packet / self.bytes_sent

    @property
    def start_rate(self) -> float:
        """Rate just after the queue has run empty, bytes per second: window over R_L, at most C (9 Mbit/s in IV)."""
        b = self.bottleneck
        return min(self.start / b.base_rtt, b.rate)

    def window(self, time: ArrayLike) -> Array:
        """w(t), bytes (4.31, 4.36, 4.41, 4.46, 4.51, 4.52); t = 0 after a cut, times beyond a cycle repeat it."""
        b = self.bottleneck
        t = np.mod(np.asarray(time, float), self.length)
        linear = self.start + b.slope / b.w_link * t
        squared = max(self.start, b.w_link) ** 2 + 2 * b.slope * np.maximum(t - self.steady, 0)
        return np.where(t < self.steady, linear, np.sqrt(squared))

    def rtt(self, time: ArrayLike) -> Array:
        """r(t), s (4.29, 4.35, 4.45): R_L while the queue is empty, else w / C."""
        return np.maximum(self.window(time) / self.bottleneck.rate, self.bottleneck.base_rtt)

    def queue(self, time: ArrayLike) -> Array:
        """Packets in the queue: the part of the window beyond W_L."""
        b = self.bottleneck
        return np.maximum(self.window(time) - b.w_link, 0) / b.packet

    def sending_rate(self, time: ArrayLike) -> Array:
        """w(t) / r(t), bytes per second."""
        return self.window(time) / self.rtt(time)


def cycle(bottleneck: Bottleneck, victims: str = "all") -> Cycle:
    """The cycle when all subflows are halved, one of average size (`one`), or the largest one (`largest`)."""
    n, full = bottleneck.n, bottleneck.w_full
    if victims == "all":
        return Cycle(bottleneck, victims, n, full / 2)
    if victims == "one":
        return Cycle(bottleneck, victims, 1, (2 * n - 1) / (2 * n) * full)
    if victims == "largest":
        return Cycle(bottleneck, victims, 1, (3 * n - 1) / (3 * n + 1) * full)
    raise ValueError(f"victims `{victims}`; there are {', '.join(VICTIMS)}")


def p_low(bottleneck: Bottleneck) -> float:
    """P_low (4.40) = 8 n^2 K M / (3 Phi W_Q^2): fast retransmits a packet when every overflow halves all subflows."""
    b = bottleneck
    return 8 * b.n**2 * b.packet * b.mtu / (3 * b.phi * b.w_full**2)


def p_up(bottleneck: Bottleneck) -> float:
    """P_up (4.50) = 8 n^3 K M / ((4n - 1) Phi W_Q^2): when every overflow halves one subflow of average size."""
    b = bottleneck
    return 8 * b.n**3 * b.packet * b.mtu / ((4 * b.n - 1) * b.phi * b.w_full**2)


def p_rr(bottleneck: Bottleneck) -> float:
    """P_rr = (3n + 1)^2 K M / (6 Phi W_Q^2), ours: when every overflow halves the largest subflow.

    P_up is no lower bound: it lets the victim hold W_Q / n. When the largest is cut, in turn, each of the n windows grows by the same
    g between two cuts; the one that is cut holds V, falls to V/2 and is cut again n cuts later, so V/2 = n g. Just before a cut the
    windows are V, V - g, ..., V - (n-1) g, whose sum W_Q = n V - n (n-1) g / 2 = V (3n + 1) / 4. So the victim holds
    4 W_Q / (3n + 1), and the aggregate falls to (3n - 1) / (3n + 1) of W_Q: a larger fall, a longer cycle, fewer losses than P_up
    for n > 1. As n grows it approaches 1.5 n^2 K M / (Phi W_Q^2), the square-root law; P_up approaches 2 n^2.
    """
    b = bottleneck
    return (3 * b.n + 1) ** 2 * b.packet * b.mtu / (6 * b.phi * b.w_full**2)


# The equations as they are printed, each on its own: `Cycle` computes all of them from one integral, and tests hold the two together.


def t_low_large(b: Bottleneck) -> float:
    """(4.32): 3 Phi W_Q^2 / (8 n M C), s."""
    return 3 * b.phi * b.w_full**2 / (8 * b.n * b.mtu * b.rate)


def t_low_small(b: Bottleneck) -> float:
    """(4.37): Phi (W_Q^2 - W_Q W_L + W_L^2) / (2 n M C), s."""
    return b.phi * (b.w_full**2 - b.w_full * b.w_link + b.w_link**2) / (2 * b.n * b.mtu * b.rate)


def b_low_small(b: Bottleneck) -> float:
    """(4.38): 3 W_Q^2 C / (4 W_Q^2 - 4 W_Q W_L + 4 W_L^2), bytes per second."""
    return 3 * b.w_full**2 * b.rate / (4 * (b.w_full**2 - b.w_full * b.w_link + b.w_link**2))


def t_up_large(b: Bottleneck) -> float:
    """(4.42): (4n - 1) Phi W_Q^2 / (8 n^3 M C), s."""
    return (4 * b.n - 1) * b.phi * b.w_full**2 / (8 * b.n**3 * b.mtu * b.rate)


def t_up_small(b: Bottleneck) -> float:
    """(4.47): Phi (n W_Q^2 + n W_L^2 - (2n-1) W_Q W_L) / (2 n^2 M C), s."""
    n, q, link = b.n, b.w_full, b.w_link
    return b.phi * (n * q**2 + n * link**2 - (2 * n - 1) * q * link) / (2 * n**2 * b.mtu * b.rate)


def b_up_small(b: Bottleneck) -> float:
    """(4.48): (4n-1) W_Q^2 C / (4 n^2 W_Q^2 + 4 n^2 W_L^2 - 4 n (2n-1) W_Q W_L), bytes per second."""
    n, q, link = b.n, b.w_full, b.w_link
    return (4 * n - 1) * q**2 * b.rate / (4 * n**2 * (q**2 + link**2) - 4 * n * (2 * n - 1) * q * link)


def tau_low(b: Bottleneck) -> float:
    """tau of (4.36): Phi (2 W_L^2 - W_Q W_L) / (2 n M C), s; negative when there is no QSD."""
    return b.phi * (2 * b.w_link**2 - b.w_full * b.w_link) / (2 * b.n * b.mtu * b.rate)


def tau_up(b: Bottleneck) -> float:
    """tau of (4.46): Phi (2n W_L^2 - (2n-1) W_Q W_L) / (2 n^2 M C), s; negative when there is no QSD."""
    n, link = b.n, b.w_link
    return b.phi * (2 * n * link**2 - (2 * n - 1) * b.w_full * link) / (2 * n**2 * b.mtu * b.rate)


def t_sctp(b: Bottleneck) -> float:
    """(4.53), one window (n = 1, Phi = 1), s."""
    if b.w_full >= 2 * b.w_link:
        return 3 * b.w_full**2 / (8 * b.mtu * b.rate)
    return (b.w_full**2 + b.w_link**2 - b.w_full * b.w_link) / (2 * b.mtu * b.rate)


def b_sctp(b: Bottleneck) -> float:
    """(4.54), one window, bytes per second."""
    if b.w_full >= 2 * b.w_link:
        return b.rate
    return 3 * b.w_full**2 * b.rate / (4 * (b.w_full**2 + b.w_link**2 - b.w_full * b.w_link))


def p_sctp(b: Bottleneck) -> float:
    """(4.55), one window: 8 K M / (3 W_Q^2) fast retransmits a packet."""
    return 8 * b.packet * b.mtu / (3 * b.w_full**2)
