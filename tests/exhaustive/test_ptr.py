"""Propose-test-release: the exact law of the whole mechanism against (ε, δ), on whole tiny universes."""

import itertools
import math
import sys
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx

from tests.exhaustive.universe import STATISTICS, substituted, tables
from uptack.exact import ball, upper
from uptack.mechanisms.ptr import LOG_SLACK, SMALLEST, diameter, grid, log_grid, ratio, same_bin
from uptack.noise import IntegerLaplace

VALUES = (0.0, 1.0, 2.0, 5.0)
N, STEPS = 5, 6
TEST, ANSWER, DELTA = Fraction(1), Fraction(1), Fraction(1, 20)
NOISE = IntegerLaplace(1 / TEST)


def distance(reach, holds):
    """A: the least k on which the proposal fails; STEPS + 1 for never, as far as anybody looks."""
    return next((k for k in range(STEPS + 1) if not holds(*reach.interval(k))), STEPS + 1)


def passing(a, t):
    """P(A + z ≥ 1 + t)."""
    return NOISE.exact_tail(1 + t - a).expression()


def excess(pass_d, pass_e, centre_d, centre_e, bound):
    """Σ(P - e^ε·P')₊ over ⊥ and all integer answers, for integer values and integer noise of scale bound/ε_answer."""
    rise, noise = ball(TEST + ANSWER).exp(), IntegerLaplace(bound / ANSWER)
    total = ((1 - pass_d) - rise * (1 - pass_e)).nonnegative_part()
    reach = range(int(min(centre_d, centre_e)) - 40, int(max(centre_d, centre_e)) + 41)
    for y in reach:
        p = pass_d * noise.exact_pmf(y - int(centre_d)).expression()
        q = pass_e * noise.exact_pmf(y - int(centre_e)).expression()
        total += (p - rise * q).nonnegative_part()
    outside = pass_d * 2 * noise.exact_tail(40).expression()
    return total + outside


@pytest.mark.parametrize("bound", [1, 2])
@pytest.mark.parametrize("kind", ["diameter", "grid"])
def test_the_median_is_private(bound, kind):
    holds = diameter(bound) if kind == "diameter" else same_bin(grid(bound, Fraction(1, 2)))
    t = NOISE.cutoff(DELTA)
    reaches = {d: STATISTICS["median"](d, N, steps=STEPS) for d in tables(N, VALUES)}
    far = {d: distance(r, holds) for d, r in reaches.items()}
    cache: dict = {}
    with ctx.workprec(80):
        for d, e in [(one, other) for one in reaches for other in substituted(one, VALUES)]:
            assert abs(far[d] - far[e]) <= 1
            key = (far[d], far[e], reaches[d].value, reaches[e].value)
            if key not in cache:
                cache[key] = excess(passing(far[d], t), passing(far[e], t), key[2], key[3], bound)
            assert upper(cache[key]) <= DELTA
    assert len(set(far.values())) > 2  # the universe has tables near and far


def test_a_cutoff_one_too_small_is_caught():
    """P(z ≥ t) ≤ δ, not P(z > t): discrete noise has mass at the threshold."""
    t = NOISE.cutoff(DELTA) - 1
    with ctx.workprec(80):
        assert upper(excess(passing(1, t), passing(0, t), 0, 100, 1)) > DELTA


@pytest.mark.parametrize("name", STATISTICS)
def test_proposals_are_inherited_by_inner_intervals_and_fail_in_time(name):
    """The two things the theorem asks of a proposal, for every kind of it."""
    build = STATISTICS[name]
    scale = name in ("iqr", "range")
    kinds = [diameter(1.0), diameter(3.0), same_bin(grid(0.7, Fraction(0))), same_bin(grid(2.0, Fraction(1, 2)))]
    bounds = [1.0, 3.0, 0.7, 2.0]
    if scale:
        kinds, bounds = [ratio(0.5), same_bin(log_grid(0.5, Fraction(1, 2)))], [0.5, 0.5]
    reaches = {table: build(table, 4) for table in tables(4)}
    for holds, bound in zip(kinds, bounds, strict=True):
        far = {table: distance(reach, holds) for table, reach in reaches.items()}
        for table, reach in reaches.items():
            a = far[table]
            assert a >= 1  # a point has no length
            assert not any(holds(*reach.interval(k)) for k in range(a, STEPS + 1))
            for other in substituted(table):
                assert abs(far[other] - a) <= 1
                low, high = sorted((reach.value, reaches[other].value))
                if scale:
                    apart = high > 0 and (low == 0 or high / low > float(arb(bound).exp().upper()))
                else:
                    apart = high - low > bound
                assert not apart or a <= 1


def test_pass_probabilities_of_neighbours_stay_within_e_to_the_epsilon():
    t, rise = NOISE.cutoff(DELTA), ball(TEST).exp() * (1 + arb(2) ** -40)
    for a, b in itertools.product(range(1, 12), repeat=2):
        if abs(a - b) <= 1:
            assert passing(a, t) <= rise * passing(b, t)
            assert 1 - passing(a, t) <= rise * (1 - passing(b, t))
    assert upper(passing(1, t)) <= DELTA


@pytest.mark.parametrize("width", [0.01, 0.07, 0.26, 0.69])
@pytest.mark.parametrize("shift", [Fraction(0), Fraction(1, 2)])
def test_bins_of_logarithms_are_as_wide_as_they_say_where_the_floats_end(width, shift):
    """The bound of the answer's noise is a bin. The last bin below the largest float was up to 0.78 wider."""
    index, largest = log_grid(width, shift), math.log(sys.float_info.max)
    ends = np.concatenate([np.linspace(705, largest - 1e-9, 2000), np.linspace(-745, -700, 2000)])
    scales = sorted({math.exp(x) for x in ends.tolist()} | {sys.float_info.max, 5e-324, 1e-323} - {0.0})
    bins = [index(x) for x in scales]
    assert bins == sorted(bins)
    for _, some in itertools.groupby(zip(bins, scales, strict=True), key=lambda pair: pair[0]):
        inside = [math.log(max(x, SMALLEST)) for _, x in some]
        assert inside[-1] - inside[0] <= width + LOG_SLACK
