"""The renewal model against a sender that is simulated packet by packet, and against the limits that are known exactly."""

import math

import numpy as np
import pytest

from anabranch_lab.models import renewal, stochastic
from anabranch_lab.models.renewal import Rules


def monte_carlo(p, *, phi=1.0, eta=1.0, how, rounds, seed):
    """Packets per round trip of one sender without a queue, every packet and every SACK on its own.

    Independent of the model: no stationary distribution, no averages, only the rules. A round trip is a burst of SACKs that arrive at
    one instant, in the order in which their packets left. Timeouts are not simulated: a lost retransmission is sent again.
    """
    random = np.random.default_rng(seed)
    cwnd, ssthresh, acked = 40.0, 20.0, 0.0
    exit_at = -1  # recovery ends when this packet is acknowledged
    next_new = 0
    flying = []  # (sequence number, arrives) in the order of sending
    missing = {}  # lost packets that wait for reports: sequence number -> reports
    holes = set()  # sent, not arrived
    outstanding = 0
    sent = 0

    def send_new():
        nonlocal next_new, outstanding, sent
        arrives = random.random() >= p
        if not arrives:
            holes.add(next_new)
            missing[next_new] = 0
        burst.append((next_new, arrives))
        next_new += 1
        outstanding += 1
        sent += 1

    burst = []
    while outstanding * eta < cwnd:
        send_new()
    warm = rounds // 10
    for turn in range(rounds):
        if turn == warm:
            sent = 0
        flying, burst = burst, []
        for number, arrived in flying:
            if not arrived:
                continue
            full = outstanding * eta >= cwnd
            lowest = min(holes) if holes else None
            outstanding -= 1
            was_hole = number in holes
            holes.discard(number)
            moved = lowest is None or number <= lowest
            recovering = (
                how.recovery_point and exit_at >= 0 and (min(holes) if holes else next_new) <= exit_at
            )
            if cwnd <= ssthresh:
                if moved and full and not recovering:
                    cwnd += min(how.boost, 1.0) if how.boost else 0.0
            elif moved or not was_hole:
                acked += eta
                if moved and full and not recovering and acked >= phi * cwnd:
                    acked -= phi * cwnd
                    cwnd += 1.0
            marked = []
            for hole in sorted(missing):
                if hole < number:
                    missing[hole] += 1
                    if missing[hole] == how.reports:
                        marked.append(hole)
            for hole in marked:
                del missing[hole]
                if not (how.recovery_point and (recovering or hole <= exit_at)):
                    ssthresh = cwnd = max(cwnd / 2, how.floor)
                    if how.boost == 0:
                        ssthresh = cwnd - 1e-9
                    acked = 0.0
                    exit_at = next_new - 1
                # The retransmission; its loss is left to the timer, which this sender has not.
                burst.append((hole, True))
            while outstanding * eta < cwnd:
                send_new()
    return sent / (rounds - warm)


NS2 = renewal.without_timeouts("ns2-2.28")
RFC = renewal.without_timeouts("rfc9260")


@pytest.mark.parametrize(
    ("p", "phi", "eta", "how", "rounds"),
    [
        (1e-3, 1.0, 1.0, NS2, 60_000),
        (1e-3, 1.0, 1.0, RFC, 60_000),
        (1e-3, 8.0, 1.0, NS2, 150_000),
        (1e-3, 1.0, 2 / 3, NS2, 60_000),
        (1e-3, 4.0, 1.0, RFC, 120_000),
    ],
)
def test_the_chain_and_a_simulated_sender_agree(p, phi, eta, how, rounds):
    simulated = monte_carlo(p, phi=phi, eta=eta, how=how, rounds=rounds, seed=1)
    model = renewal.steady(p, 1.0, phi=phi, eta=eta, mtu=1.0, engine=how).throughput / eta
    # A run sees about rounds * packets * p cuts; its throughput has a relative error of half their root.
    losses = rounds * simulated * p
    assert simulated == pytest.approx(model, rel=2.5 * 0.5 / math.sqrt(losses) + 0.01)


def test_the_constant_of_random_losses():
    assert renewal.bernoulli_constant() == pytest.approx(1.3098, abs=5e-5)
    assert renewal.periodic_constant() == pytest.approx(math.sqrt(1.5))
    assert renewal.bernoulli_constant(0.7) > renewal.bernoulli_constant(0.5)


@pytest.mark.parametrize("decrease", [0.5, 0.7, 0.875])
def test_the_constant_against_random_numbers(decrease):
    """The recursion W^2/2 -> d^2 (W^2/2 + E) in units of 1/p, step by step."""
    random = np.random.default_rng(3)
    square, lengths, runs = np.full(20_000, 0.3), 0.0, 60
    for turn in range(2 * runs):
        top = square + random.exponential(size=square.size)
        if turn >= runs:
            # A period lasts as many round trips as the window grows by.
            lengths += (np.sqrt(2 * top) - np.sqrt(2 * square)).mean()
        square = decrease**2 * top
    assert runs / lengths == pytest.approx(renewal.bernoulli_constant(decrease), rel=2e-3)


def test_the_chain_becomes_the_square_root_law():
    for phi in (1.0, 4.0):
        found = renewal.throughput(1e-6, 1.0, phi=phi, mtu=1.0) * math.sqrt(1e-6 * phi)
        assert float(found) == pytest.approx(renewal.bernoulli_constant(), rel=5e-3)


def test_beyond_the_chain_there_is_the_law():
    edge = 8 * 4.5**2 / (3 * renewal._LONGEST**2)
    inside, outside = renewal.steady(edge * 1.02, 1.0), renewal.steady(edge * 0.98, 1.0)
    assert outside.throughput * math.sqrt(0.98) == pytest.approx(
        inside.throughput * math.sqrt(1.02), rel=3e-3
    )
    assert outside.window_at_loss * math.sqrt(0.98) == pytest.approx(
        inside.window_at_loss * math.sqrt(1.02), rel=1e-2
    )


def test_finer_cells_change_nothing(monkeypatch):
    before = renewal.steady(1e-3, 0.5).throughput
    made = renewal._Chain.__init__

    def coarse(self, p, rtt, phi, eta, how, longest):
        made(self, p, rtt, phi, eta, how, longest)
        fine = self.per_mtu // 4
        self.per_mtu = self.step = fine
        self.rows = math.ceil(longest)
        self.w = np.arange(1, self.rows * fine + 1) / fine
        self._stairs()
        self._cuts()

    monkeypatch.setattr(renewal._Chain, "__init__", coarse)
    renewal._solve.cache_clear()
    after = renewal.steady(1e-3, 0.5).throughput
    renewal._solve.cache_clear()
    assert after != before
    assert after == pytest.approx(before, rel=5e-3)


def test_what_each_rule_is_worth():
    def gets(**rules):
        return renewal.steady(1e-3, 0.5, phi=4, engine=Rules(timeouts=False, **rules)).throughput

    assert gets(boost=1) > 1.02 * gets(boost=0)
    assert gets(recovery_point=True) > gets(recovery_point=False)
    assert gets(reports=3) >= gets(reports=4)
    assert gets(growth="linear") == pytest.approx(gets(growth="staircase"), rel=0.02)
    small = [renewal.steady(1e-4, 0.5, phi=1458, engine=Rules(floor=f)).throughput for f in (2, 4)]
    assert small[1] > 1.1 * small[0]


def test_the_model_of_the_study_is_low_by_7_to_14_percent():
    for p, phi in ((1e-4, 1), (1e-3, 1), (1e-3, 4), (1e-3, 8)):
        ratio = float(renewal.throughput(p, 0.5, phi=phi) / stochastic.throughput(p, 0.5, phi))
        assert 1.06 < ratio < 1.15


def test_timeouts_cost():
    slow = renewal.steady(1e-2, 0.5)
    fast = renewal.steady(1e-2, 0.5, engine=renewal.without_timeouts("ns2-2.28"))
    assert 0 < slow.timeout_share < 0.1
    assert fast.timeout_share == 0
    assert slow.throughput < fast.throughput
    # A longer timer costs more.
    longer = renewal.steady(1e-2, 0.5, engine=Rules(rto_min=3.0))
    assert longer.throughput < slow.throughput


def test_answers_fit_together():
    found = renewal.steady(1e-3, 0.5)
    # One cut a period; packets of a period are 1 / cut rate.
    assert found.throughput / 1500 * found.period == pytest.approx(1 / found.cut_rate, rel=2e-3)
    assert found.window_mean < found.window_at_loss
    # Windows over time and packets in flight: they differ by ceil, and by packets that wait during recovery.
    assert found.throughput / 1500 * 0.5 == pytest.approx(found.window_mean, rel=0.05)


def test_it_is_vectorised():
    found = renewal.throughput([[1e-3], [1e-2]], 0.5, phi=[1, 2, 4])
    assert found.shape == (2, 3)
    assert np.all(np.diff(found, axis=1) < 0)
    assert np.all(found[0] > found[1])


@pytest.mark.parametrize(
    ("values", "match"),
    [
        ({"p": 0}, "probability"),
        ({"rtt": 0}, "rtt"),
        ({"phi": 0.5}, "WGR"),
        ({"eta": -1}, "eta"),
        ({"engine": "tcp"}, "no engine `tcp`"),
    ],
)
def test_nonsense_is_refused(values, match):
    with pytest.raises(ValueError, match=match):
        renewal.steady(**{"p": 1e-3, "rtt": 0.5, **values})


@pytest.mark.parametrize(
    ("values", "match"),
    [
        ({"growth": "fast"}, "growth"),
        ({"reports": 0}, "reports"),
        ({"boost": -1}, "boost"),
        ({"rto_max": 0.5}, "rto_max"),
    ],
)
def test_wrong_rules_are_refused(values, match):
    with pytest.raises(ValueError, match=match):
        Rules(**values)
