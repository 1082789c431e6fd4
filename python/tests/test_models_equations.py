"""Derives every equation of chapter 4 of Zou (2007) again, by computer algebra, and compares the audit with the results."""

import math

import numpy as np
import pytest
import sympy as sp

from anabranch_lab.models import audit, deterministic, renewal, shared, stochastic

p, phi, eta, rtt, w, x, beta = sp.symbols("p phi eta rtt w x beta", positive=True)
n, c, m, k, wq, wl, t = sp.symbols("n C M K W_Q W_L t", positive=True)
h = sp.symbols("h", integer=True, nonnegative=True)

POINTS = [(1e-3, 1.0, 1.0), (1e-3, 4.0, 1.0), (1e-4, 16.0, 2 / 3), (1e-2, 2.0, 0.5), (0.05, 1.0, 1.0)]


def same(expression):
    return sp.simplify(sp.expand(expression)) == 0


def value(expression, *, loss, growth=1.0, size=1.0):
    return float(expression.subs({p: loss, phi: growth, eta: size, rtt: 0.5}).evalf(30))


def agrees(expression, code):
    """The code computes the expression, at several points."""
    for loss, growth, size in POINTS:
        expected = value(expression, loss=loss, growth=growth, size=size)
        assert float(code(loss, growth, size)) == pytest.approx(expected, rel=1e-12)
    return True


# Windows in MTU (M = 1), so K = eta.
before = sp.symbols("before", positive=True)
stairs = sp.summation((before / 2 + h + eta / 2) * phi, (h, 0, x / phi - 1))
period = (stairs + beta) / eta
mean_packets = (3 * phi / 8 * w**2 + (eta * phi + 2 - phi) / 4 * w) / eta
detected = 1 / p + w / eta
base = 2 + phi - eta * phi
s = base + sp.sqrt(base**2 + 24 * phi * eta / p)
window = s / (3 * phi)
printed_4_12 = (6 * eta + 2 * p * s) / (p * (6 + s) * rtt)
derived_4_12 = sp.simplify(detected.subs(w, window) * eta / (rtt * (phi * window / 2 + 1)))
sqrt_law = sp.sqrt(3 * eta / (2 * phi * p)) / rtt


def eq_4_1():
    return float(stochastic.rate(50, 4)) * 4 == 50


def eq_4_2():
    q, en, er, ea, et = sp.symbols("Q EN ER EA ET", positive=True)
    exact, printed = (en + q * er) / (ea + q * et), en / (ea + q * et)
    assert sp.limit(printed / exact, q, 0) == 1
    assert float(stochastic.rate_with_timeouts(50, 4, 0.1, 2, 3)) == pytest.approx(50.2 / 4.3)
    assert float(stochastic.rate_with_timeouts(50, 4, 0.1, 2, 3, approximate=True)) == pytest.approx(50 / 4.3)
    return audit.CORRECT if same(exact - printed) else audit.APPROXIMATE


def eq_4_3():
    rounds = sp.symbols("X", integer=True, positive=True)
    grown = before / 2 + sp.summation(1 / phi, (h, 1, rounds))
    assert float(stochastic.window_after(20, 12, 4)) == float(grown.subs({before: 20, rounds: 12, phi: 4}))
    return same(grown - (before / 2 + rounds / phi))


def eq_4_4():
    steady = sp.solve(sp.Eq(w, w / 2 + x / phi), w)[0]
    assert float(stochastic.window_of_rounds(8, 4)) == 4
    assert float(stochastic.rounds_of_window(4, 4)) == 8
    return same(steady - 2 * x / phi)


def eq_4_5():
    code = float(stochastic.packets_of_period(20, 12, 7, 4, 0.5))
    assert code == float(period.subs({before: 20, x: 12, beta: 7, phi: 4, eta: sp.Rational(1, 2)}))
    # RFC 2960, 6.1 B: a packet leaves while less than cwnd is outstanding: ceil(w/K) of them, not floor(w/K) + 1.
    over = [math.floor(size) + 1 - math.ceil(size) for size in (7.5, 8.0)]
    assert over == [0, 1]
    # The mean over a packet's width is the w + K/2 of the text.
    fine = np.linspace(7, 8, 10_001)[1:-1]
    assert np.mean(np.floor(fine) + 1 - fine) == pytest.approx(0.5, abs=1e-3)
    return audit.APPROXIMATE


def eq_4_6():
    expanded = sp.expand(period)
    mean = expanded.subs(x**2, (phi * w / 2) ** 2)
    mean = sp.expand(mean).subs(before * x, phi * w**2 / 2)
    mean = sp.expand(mean).subs({x: phi * w / 2, before: w, beta: w / 2})
    assert same(mean - mean_packets)
    assert float(stochastic.packets_of_window(40, 4, 0.5)) == pytest.approx(
        float(mean_packets.subs({w: 40, phi: 4, eta: 0.5}))
    )
    # E[X^2] = E[X]^2 costs 6.5 % when periods are random.
    return audit.CORRECT if renewal.bernoulli_constant() == renewal.periodic_constant() else audit.APPROXIMATE


def eq_4_7():
    # m - 1 packets came through and the m-th did not: a difference of two chances to come through.
    number = sp.symbols("m", integer=True, positive=True)
    derived = (1 - p) ** (number - 1) - (1 - p) ** number
    assert float(stochastic.first_loss(3, 0.1)) == pytest.approx(0.81 * 0.1)
    return same(sp.powsimp(sp.expand(derived / (1 - p) ** (number - 1)), force=True) - p)


def eq_4_8():
    # First step: one packet, and with probability 1 - p everything again.
    mean = sp.symbols("mean")
    found = sp.solve(sp.Eq(mean, 1 + (1 - p) * mean), mean)[0]
    assert float(stochastic.packets_to_loss(0.01)) == 100
    return same(found - 1 / p)


def eq_4_9():
    padhye = 1 / p + w / eta - 1
    assert float(stochastic.packets_to_detection(0.01, 20, 0.5)) == pytest.approx(140)
    assert same(detected - padhye - 1)
    return audit.APPROXIMATE


def eq_4_10():
    roots = sp.solve(sp.Eq(sp.expand(mean_packets - detected), 0), w)
    right = [root for root in roots if root.subs({p: 0.01, phi: 3, eta: 0.7}).evalf() > 0]
    assert len(roots) == 2
    assert len(right) == 1
    return same(right[0] - window) and agrees(window, stochastic.window)


def eq_4_11():
    small = sp.sqrt(8 * eta / (3 * phi * p))
    ratio = sp.limit(sp.simplify(window * sp.sqrt(p)), p, 0) / sp.simplify(small * sp.sqrt(p))
    return same(sp.simplify(ratio) - 1) and agrees(small, stochastic.window_small_p)


def eq_4_12():
    corrected = (6 * eta + 2 * p * s / phi) / (p * (6 + s) * rtt)
    assert same(sp.simplify(derived_4_12 - corrected))
    agrees(corrected, lambda a, b, d: stochastic.throughput_exact(a, 0.5, b, d, mtu=1))
    agrees(printed_4_12, lambda a, b, d: stochastic.throughput_printed(a, 0.5, b, d, mtu=1))
    assert same((printed_4_12 - corrected).subs(phi, 1))
    return audit.CORRECT if same(printed_4_12 - corrected) else audit.WRONG


def eq_4_13():
    ratios = [
        sp.limit(sp.simplify((each / sqrt_law).subs({eta: size, phi: growth})), p, 0)
        for each in (printed_4_12, derived_4_12)
        for size, growth in ((1, 1), (1, 4), (sp.Rational(2, 3), 3))
    ]
    code = agrees(sqrt_law, lambda a, b, d: stochastic.throughput(a, 0.5, b, d, mtu=1))
    return code and all(same(ratio - 1) for ratio in ratios)


def eq_4_14():
    parts = [stochastic.throughput(a, r, 4, 2 / 3) for a, r in ((1e-3, 1.0), (1e-5, 0.5))]
    return stochastic.association([1e-3, 1e-5], [1.0, 0.5], 4, 2 / 3) == pytest.approx(sum(map(float, parts)))


def eq_4_15():
    return stochastic.association_without_fcc([1e-3, 1e-5], 1.0) == stochastic.association(
        [1e-3, 1e-5], 1.0, 1.0
    )


def eq_4_16():
    ratio = n * sqrt_law.subs(phi, n**2) / sqrt_law.subs(phi, 1)
    assert same(ratio - 1)  # fair to the original with Phi = n^2
    return float(stochastic.equal_subflows(3, 1e-4, 0.5, 9)) == pytest.approx(
        stochastic.association([1e-4] * 3, 0.5, 9)
    )


def eq_4_17():
    return float(stochastic.equal_subflows(3, 1e-4, 0.5)) == pytest.approx(
        stochastic.association_without_fcc([1e-4] * 3, 0.5)
    )


def eq_4_18():
    return agrees(sqrt_law.subs(phi, 1), lambda a, _, d: stochastic.original(a, 0.5, d, mtu=1))


LOSSES = sp.symbols("p1:4", positive=True)


def exact_mean(losses):
    """E[alpha] by first steps: from subflow i on, one packet, and with 1 - p_i the same from the next on."""
    unknown = sp.symbols(f"T0:{len(losses)}")
    steps = [
        sp.Eq(unknown[i], 1 + (1 - losses[i]) * unknown[(i + 1) % len(losses)]) for i in range(len(losses))
    ]
    solved = sp.solve(steps, unknown)
    return sp.simplify(sum(solved[each] for each in unknown) / len(losses))


def turns(losses):
    """Y(h) with the x of (4.21)."""
    size = len(losses)
    return [
        sum(sp.prod([1 - losses[(i - r) % size] for r in range(1, place)]) * losses[i] for i in range(size))
        / size
        for place in range(1, size + 1)
    ]


def eq_4_19():
    assert shared.mean_loss([1e-3, 1e-5], [3, 1]) == pytest.approx(0.75e-3 + 0.25e-5)
    return shared.mean_loss([1e-3, 1e-5]) == pytest.approx(5.05e-4)


def eq_4_20():
    losses = [1e-3, 1e-5]
    assert shared.packets_to_detection(losses, 20, 0.5) == pytest.approx(shared.packets_to_loss(losses) + 40)
    return audit.APPROXIMATE  # as 4.9


def eq_4_21():
    losses = (0.1, 0.02, 0.3)
    for number in range(1, 11):
        chance = 0.0
        for start in range(3):
            order = [losses[(start + j) % 3] for j in range(number)]
            chance += math.prod(1 - each for each in order[:-1]) * order[-1] / 3
        assert shared.first_loss(number, losses) == pytest.approx(chance, rel=1e-12)
    return True


def eq_4_22():
    losses = (0.1, 0.02, 0.3)
    total = sum(number * shared.first_loss(number, losses) for number in range(1, 2000))
    return shared.packets_to_loss(losses) == pytest.approx(total, rel=1e-10)


def eq_4_23():
    small = sp.symbols("epsilon", positive=True)
    scaled = [small * each for each in LOSSES]
    mean = sum(scaled) / 3
    assert shared.turn((0.1, 0.02, 0.3)) == pytest.approx(
        [float(y.subs(dict(zip(LOSSES, (0.1, 0.02, 0.3), strict=True)))) for y in turns(LOSSES)]
    )
    return all(same(sp.limit(sp.expand(y) / mean, small, 0) - 1) for y in turns(scaled))


def eq_4_24():
    for size in (1, 2, 3):
        losses = LOSSES[:size]
        survive = sp.prod([1 - each for each in losses])
        closed = sum(
            y * (size * survive / (1 - survive) ** 2 + place / (1 - survive))
            for place, y in enumerate(turns(losses), start=1)
        )
        if sp.simplify(closed - exact_mean(losses)) != 0:
            return False
    return True


def eq_4_25():
    small = sp.symbols("epsilon", positive=True)
    survive = sp.prod([1 - small * each for each in LOSSES])
    first = sp.series(survive, small, 0, 2).removeO()
    assert shared.all_survive([0.1, 0.02]) == pytest.approx(0.882)
    assert shared.all_survive([0.1, 0.02], approximate=True) == pytest.approx(0.88)
    return same(first - (1 - small * sum(LOSSES)))


def eq_4_26():
    small = sp.symbols("epsilon", positive=True)
    scaled = [small * each for each in LOSSES]
    size, mean = 3, small * sum(LOSSES) / 3
    ys = turns(scaled)

    def expressions(power):
        first = sum(
            y * ((1 - size * mean) / (size * mean**power) + place / (size * mean))
            for place, y in enumerate(ys, 1)
        )
        return first, sum(y / (size * mean**power) for y in ys)

    exact = exact_mean(scaled)
    assert same(sp.limit(exact * mean, small, 0) - 1)  # the result 1/p is right
    for each in expressions(2):
        assert same(sp.limit(each * mean, small, 0) - 1)
    printed = [sp.limit(each, small, 0) for each in expressions(1)]
    # Neither is 1/p.
    assert same(printed[0] - (1 + sp.Rational(size + 1, 2)))
    assert same(printed[1] - 1)
    losses = (0.1, 0.02, 0.3)
    at = dict(zip(LOSSES, losses, strict=True)) | {small: 1}
    assert shared.packets_to_loss_printed(losses) == pytest.approx(
        [float(e.subs(at)) for e in expressions(1)]
    )
    assert shared.packets_to_loss_small_p(losses)[:2] == pytest.approx(
        [float(e.subs(at)) for e in expressions(2)]
    )
    return audit.MISPRINT


def eq_4_27():
    losses = [1e-3, 1e-5]
    expected = float(stochastic.original(5.05e-4, 0.5, 0.7))
    return float(shared.throughput(losses, 0.5, 0.7)) == pytest.approx(expected)


def eq_4_28():
    assert float(stochastic.fcc_ratio(9)) == 3
    return same(sqrt_law.subs(phi, 1) / sqrt_law - sp.sqrt(phi))


# The fluid models.
speed = n * m * c / phi


def large(start):
    """w(t), T and B of the large-queue case: dw/dt = (n M / Phi) / r with r = w / C, from `start`; solved for w^2."""
    square = sp.Function("square")
    # d(w^2)/dt = 2 w dw/dt.
    slope = 2 * w * (n * m / phi) / (w / c)
    solved = sp.dsolve(sp.Eq(square(t).diff(t), slope), square(t), ics={square(0): start**2})
    length = sp.solve(sp.Eq(solved.rhs, wq**2), t)[0]
    sent = sp.integrate(c, (t, 0, length))
    return sp.sqrt(solved.rhs), length, sp.simplify(sent / length)


def small(start):
    """tau, T and B of the small-queue case: linear up to W_L with r = R_L = W_L / C, then as with a large queue."""
    steady = sp.solve(sp.Eq(start + speed / wl * t, wl), t)[0]
    length = steady + (wq**2 - wl**2) / (2 * speed)
    sent = sp.integrate((start + speed / wl * t) / (wl / c), (t, 0, steady)) + c * (length - steady)
    return steady, length, sp.simplify(sent / length)


all_cut, one_cut = wq / 2, (2 * n - 1) * wq / (2 * n)
PLACES = [
    deterministic.Bottleneck(rate=1.25e6, base_rtt=0.1, queue=q, packet=1000, mtu=1500, n=size, phi=growth)
    for q in (10, 100, 200)
    for size, growth in ((1, 1), (4, 1), (4, 16), (12, 12))
]


def holds(expression, code, places=PLACES):
    """The code computes the expression on several networks."""
    assert places
    for b in places:
        at = {n: b.n, phi: b.phi, m: b.mtu, k: b.packet, c: b.rate, wq: b.w_full, wl: b.w_link}
        assert code(b) == pytest.approx(float(expression.subs(at)), rel=1e-12)
    return True


def empties(b, cycle):
    return cycle(b).small


def eq_4_29():
    delay = wl / c + (w - wl) / c
    b = PLACES[-1]
    assert float(b.low().rtt(b.low().length * 0.999)) == pytest.approx(
        float(b.low().window(b.low().length * 0.999)) / b.rate
    )
    return same(delay - w / c)


def eq_4_30():
    # n M / Phi more after a round trip of w / C.
    assert holds(speed, lambda b: b.slope)
    return same((n * m / phi) / (w / c) - n * m * c / (phi * w))


def eq_4_31():
    path = large(all_cut)[0]
    found = same(path**2 - (wq**2 / 4 + 2 * speed * t))
    return found and _path(path, lambda b: b.low(), False)


def _path(path, cycle, is_small):
    """The code's w(t) is the expression, over a cycle."""
    used = 0
    for b in PLACES:
        if cycle(b).small is not is_small:
            continue
        used += 1
        at = {n: b.n, phi: b.phi, m: b.mtu, c: b.rate, wq: b.w_full, wl: b.w_link}
        for part in (0.0, 0.3, 0.9, 0.999):
            time = part * cycle(b).length
            assert float(cycle(b).window(time)) == pytest.approx(
                float(path.subs(at).subs(t, time)), rel=1e-12
            )
    assert used
    return True


def eq_4_32():
    printed = 3 * phi * wq**2 / (8 * n * m * c)
    places = [b for b in PLACES if not b.low().small]
    holds(printed, lambda b: b.low().length, places)
    return same(large(all_cut)[1] - printed) and holds(printed, deterministic.t_low_large)


def eq_4_33():
    return same(large(all_cut)[2] - c)


def eq_4_34():
    _, length, sent = large(all_cut)
    return same((n / length) / (sent / k) - 8 * n**2 * k * m / (3 * phi * wq**2))


def eq_4_35():
    b = PLACES[0]
    assert b.low().small
    assert float(b.low().rtt(0)) == b.base_rtt
    return same((wl / c) - (wl / c)) and float(b.low().rtt(b.low().length * 0.999)) > b.base_rtt


def eq_4_36():
    steady, length, _ = small(all_cut)
    printed = phi * (2 * wl**2 - wq * wl) / (2 * n * m * c)
    path = sp.Piecewise(
        (wq / 2 + speed / wl * t, t <= printed), (sp.sqrt(wl**2 + 2 * speed * (t - printed)), True)
    )
    assert same(sp.simplify(path.args[1][0].subs(t, length) ** 2 - wq**2))
    holds(printed, lambda b: b.low().steady, [b for b in PLACES if b.low().small])
    return (
        same(steady - printed)
        and holds(printed, deterministic.tau_low)
        and _path(path, lambda b: b.low(), True)
    )


def eq_4_37():
    printed = phi * (wq**2 - wq * wl + wl**2) / (2 * n * m * c)
    holds(printed, lambda b: b.low().length, [b for b in PLACES if b.low().small])
    return same(small(all_cut)[1] - printed) and holds(printed, deterministic.t_low_small)


def eq_4_38():
    printed = 3 * wq**2 * c / (4 * wq**2 - 4 * wq * wl + 4 * wl**2)
    holds(printed, lambda b: b.low().throughput, [b for b in PLACES if b.low().small])
    return same(small(all_cut)[2] - printed) and holds(printed, deterministic.b_low_small)


def eq_4_39():
    _, length, sent = small(all_cut)
    return same((n / length) / (sent / k) - 8 * n**2 * k * m / (3 * phi * wq**2))


def eq_4_40():
    printed = 8 * n**2 * k * m / (3 * phi * wq**2)
    return holds(printed, deterministic.p_low) and holds(printed, lambda b: b.low().loss_rate)


def eq_4_41():
    path = large(one_cut)[0]
    found = same(path**2 - ((2 * n - 1) ** 2 / (4 * n**2) * wq**2 + 2 * speed * t))
    return found and _path(path, lambda b: b.up(), False)


def eq_4_42():
    printed = (4 * n - 1) * phi * wq**2 / (8 * n**3 * m * c)
    holds(printed, lambda b: b.up().length, [b for b in PLACES if not b.up().small])
    return same(large(one_cut)[1] - printed) and holds(printed, deterministic.t_up_large)


def eq_4_43():
    return same(large(one_cut)[2] - c)


def eq_4_44():
    _, length, sent = large(one_cut)
    return same((1 / length) / (sent / k) - 8 * n**3 * k * m / ((4 * n - 1) * phi * wq**2))


def eq_4_45():
    b = PLACES[0]
    assert b.up().small
    return float(b.up().rtt(0)) == b.base_rtt


def eq_4_46():
    steady, _, _ = small(one_cut)
    printed = phi * (2 * n * wl**2 - (2 * n - 1) * wq * wl) / (2 * n**2 * m * c)
    path = sp.Piecewise(
        (one_cut + speed / wl * t, t <= printed), (sp.sqrt(wl**2 + 2 * speed * (t - printed)), True)
    )
    holds(printed, lambda b: b.up().steady, [b for b in PLACES if b.up().small])
    return (
        same(steady - printed)
        and holds(printed, deterministic.tau_up)
        and _path(path, lambda b: b.up(), True)
    )


def eq_4_47():
    printed = phi * (n * wq**2 + n * wl**2 - (2 * n - 1) * wq * wl) / (2 * n**2 * m * c)
    holds(printed, lambda b: b.up().length, [b for b in PLACES if b.up().small])
    return same(small(one_cut)[1] - printed) and holds(printed, deterministic.t_up_small)


def eq_4_48():
    printed = (4 * n - 1) * wq**2 * c / (4 * n**2 * wq**2 + 4 * n**2 * wl**2 - 4 * n * (2 * n - 1) * wq * wl)
    holds(printed, lambda b: b.up().throughput, [b for b in PLACES if b.up().small])
    return same(small(one_cut)[2] - printed) and holds(printed, deterministic.b_up_small)


def eq_4_49():
    _, length, sent = small(one_cut)
    return same(sp.simplify((1 / length) / (sent / k) - 8 * n**3 * k * m / ((4 * n - 1) * phi * wq**2)))


def eq_4_50():
    printed = 8 * n**3 * k * m / ((4 * n - 1) * phi * wq**2)
    return holds(printed, deterministic.p_up) and holds(printed, lambda b: b.up().loss_rate)


ONE = {n: 1, phi: 1}
SINGLE = [b for b in PLACES if b.n == 1]


def eq_4_51():
    low, up = large(all_cut)[0].subs(ONE), large(one_cut)[0].subs(ONE)
    return same(low**2 - (wq**2 / 4 + 2 * m * c * t)) and same(low - up)


def eq_4_52():
    low, up = small(all_cut)[0].subs(ONE), small(one_cut)[0].subs(ONE)
    return same(low - up) and all(b.low().start == b.up().start for b in SINGLE)


def eq_4_53():
    cases = [
        (large, 3 * wq**2 / (8 * m * c)),
        (small, (wq**2 + wl**2 - wq * wl) / (2 * m * c)),
    ]
    found = [same(case(cut)[1].subs(ONE) - printed) for case, printed in cases for cut in (all_cut, one_cut)]
    return all(found) and all(deterministic.t_sctp(b) == pytest.approx(b.low().length) for b in SINGLE)


def eq_4_54():
    printed = 3 * wq**2 * c / (4 * wq**2 + 4 * wl**2 - 4 * wq * wl)
    found = same(small(all_cut)[2].subs(ONE) - printed) and same(large(all_cut)[2].subs(ONE) - c)
    return found and all(deterministic.b_sctp(b) == pytest.approx(b.low().throughput) for b in SINGLE)


def eq_4_55():
    printed = 8 * k * m / (3 * wq**2)
    upper = (8 * n**3 * k * m / ((4 * n - 1) * phi * wq**2)).subs(ONE)
    return same(printed - upper) and all(
        deterministic.p_sctp(b) == pytest.approx(deterministic.p_up(b)) for b in SINGLE
    )


@pytest.mark.parametrize("row", audit.ROWS, ids=lambda row: row.equation)
def test_the_audit_says_what_the_derivation_finds(row):
    found = globals()["eq_" + row.equation.replace(".", "_")]()
    assert isinstance(found, (bool, str))
    verdict = {True: audit.CORRECT, False: audit.WRONG}.get(found, found)
    assert verdict == row.verdict


def test_every_equation_is_audited():
    assert [row.equation for row in audit.ROWS] == [f"4.{number}" for number in range(1, 56)]


def test_the_code_that_the_audit_names_exists():
    from anabranch_lab import models

    for row in audit.ROWS:
        place = models
        for name in row.code.split("."):
            place = getattr(place, name)


@pytest.mark.parametrize(
    ("loss", "growth", "percent", "tolerance"),
    [
        (1e-3, 2, 3.6, 0.05),
        (1e-3, 4, 7.6, 0.05),
        (1e-3, 16, 19, 0.5),
        (1e-4, 16, 6, 0.5),
        (1e-4, 144, 19, 0.5),
        (1e-4, 729, 44, 0.5),
        (1e-2, 4, 23, 0.5),
    ],
)
def test_how_much_4_12_is_too_high(loss, growth, percent, tolerance):
    by_algebra = value(printed_4_12 / derived_4_12, loss=loss, growth=growth) - 1
    assert 100 * by_algebra == pytest.approx(percent, abs=tolerance)
    assert audit.overestimate(loss, growth) == pytest.approx(by_algebra)


def test_4_12_is_right_for_phi_1():
    assert audit.overestimate(1e-3, 1) == pytest.approx(0, abs=1e-14)


def test_the_exact_mean_of_a_shared_window():
    assert shared.packets_to_loss([1e-3, 1e-5]) == pytest.approx(1979.7, abs=0.05)
    assert shared.packets_to_loss_small_p([1e-3, 1e-5])[2] == pytest.approx(1980.2, abs=0.05)
    assert shared.packets_to_loss([0.1, 1e-3]) == pytest.approx(19.32, abs=0.005)
    assert shared.packets_to_loss_small_p([0.1, 1e-3])[2] == pytest.approx(19.80, abs=0.005)


def test_p_rr():
    """Windows V, V - g, ... with V/2 = n g, which add up to W_Q: the victim, the fall, the rate of losses."""
    v, g = sp.symbols("V g", positive=True)
    found = sp.solve([sp.Eq(v / 2, n * g), sp.Eq(n * v - g * n * (n - 1) / 2, wq)], (v, g), dict=True)[0]
    assert same(found[v] - 4 * wq / (3 * n + 1))
    start = sp.simplify(wq - found[v] / 2)
    assert same(start - (3 * n - 1) / (3 * n + 1) * wq)
    printed = (3 * n + 1) ** 2 * k * m / (6 * phi * wq**2)
    assert same(sp.simplify(1 / (large(start)[1] * c / k) - printed))
    _, length, sent = small(start)
    assert same(sp.simplify((1 / length) / (sent / k) - printed))
    holds(printed, deterministic.p_rr)
    holds(printed, lambda b: b.largest().loss_rate)
    # Between two cuts every window grows by g.
    assert same(sp.simplify(found[g] * n - (wq - start)))
    # The limits: 1.5 n^2 is the square-root law for n windows of W_Q / n on average, P_up goes to 2 n^2.
    unit = k * m / (phi * wq**2)
    assert sp.limit(printed / unit / n**2, n, sp.oo) == sp.Rational(3, 2)
    assert sp.limit(8 * n**3 / (4 * n - 1) / n**2, n, sp.oo) == 2
