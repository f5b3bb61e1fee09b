"""The exact draw of one of many outcomes, where floats can't decide: by intervals, cheap at every ε."""

import itertools
import math
from bisect import bisect_right
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from scipy import stats

import uptack as ut
from tests.helpers import FALSE_ALARM, CountingEntropy
from uptack.exact import ball, logarithm, lower, upper, working
from uptack.mechanisms.inverse_sensitivity import Boxes, decay
from uptack.mechanisms.quantile_chain import Bin, Chain, chain_decay
from uptack.noise import SeededEntropy, coins
from uptack.noise.coins import _outcome, pick

WEIGHTS = [
    [Fraction(1, 3), Fraction(0), Fraction(1, 2), Fraction(1, 6)],
    [Fraction(1), Fraction(1)],  # the share is a dyadic number
    [Fraction(1, 7), Fraction(2, 7), Fraction(0), Fraction(0)],
    [Fraction(0), Fraction(1)],
    [Fraction(1, 10**40), Fraction(1), Fraction(1, 10**80)],
    [Fraction(2) ** -k for k in range(12)],
]


def holds(enclosure: arb, exact: Fraction) -> bool:
    return lower(enclosure) <= exact <= upper(enclosure)


@pytest.mark.parametrize("weights", WEIGHTS, ids=range(len(WEIGHTS)))
@pytest.mark.parametrize("bits", [1, 4, 9])
def test_every_start_of_u_is_settled_as_rationals_say(weights, bits):
    """Every U of so many digits: the outcome is that of all reals that start so, and is open only where they differ."""
    sums = list(itertools.accumulate(weights))
    shares = [s / sums[-1] for s in sums]
    for drawn in range(1 << bits):
        with working(bits + coins.GUARD):
            found = _outcome(lambda: [ball(w) for w in weights], drawn, bits)
        low, high = Fraction(drawn, 1 << bits), Fraction(drawn + 1, 1 << bits)
        first = bisect_right(shares, low)
        if found is not None:
            assert found == first
            assert high <= shares[found]
            assert weights[found] > 0
        else:
            assert any(low <= s <= high for s in shares[:-1])


def test_a_share_that_balls_cannot_tell_from_u_is_told_by_more_digits():
    """1/3 of the way is 0.010101... to base 2: digits that agree for long are drawn on, at more precision."""

    class Near(CountingEntropy):
        def below(self, bound: int) -> int:
            assert bound == 1 << 64
            self.taken += 1
            return bound // 3 if self.taken < 5 else super().below(bound)

    entropy = Near(1)
    assert pick(np.log([1.0, 2.0]), lambda: [ball(Fraction(1, 7)), ball(Fraction(2, 7))], entropy) in (0, 1)
    assert entropy.taken >= 5


def test_balls_hold_the_rational_weights():
    shells = Boxes(np.array([[40, 20, 20, 3]]), np.array([[50, 60, 61, 99]]), ((-1000, 1000),))
    rho, q = decay(Fraction(1, 3)), chain_decay(Fraction(1, 3))
    rows = np.sort(np.random.default_rng(2).integers(0, 1000, 40))
    chain = Chain.of(Bin(0, 1000, 40, (15, 39, 63), 80), 6, q, lambda i: rows[i - 1])
    with working(128):
        enclosed, rational = chain.exact(ball(q)), chain.exact(q)
        pairs = [(shells.weights(ball(rho)), shells.weights(rho)), (chain.parts(ball(q)), chain.parts(q))]
        pairs += [(enclosed.last(), rational.last()), (enclosed.before(1, 3), rational.before(1, 3))]
        pairs += [(enclosed.weights_of(j, 4), rational.weights_of(j, 4)) for j in range(3)]
        for balls, exact in pairs:
            for enclosure, weight in zip(balls, exact, strict=True):
                assert holds(enclosure, weight)
                assert weight == 0 or upper(enclosure) - lower(enclosure) < weight / 2**100


def test_settled_by_intervals_alone_boxes_have_their_law(monkeypatch):
    monkeypatch.setattr(coins, "SHARE_SLACK", 1.0)  # so that floats never decide
    shells, rho = Boxes(np.array([[40, 20, 20]]), np.array([[50, 60, 61]]), ((0, 99),)), Fraction(9, 10)
    entropy, runs = SeededEntropy(4), 6000
    seen = Counter(shells.draw(rho, entropy)[0] for _ in range(runs))
    ends = [shells.ends(k)[0] for k in range(4)]
    scores = [next(k for k, (a, b) in enumerate(ends) if a <= y <= b) for y in range(100)]
    weights = np.array([float(rho**s) for s in scores])
    observed = np.bincount([scores[y] for y in seen.elements()], minlength=4)
    expected = runs * np.bincount(scores, weights, minlength=4) / weights.sum()
    wrong = runs * np.bincount(scores, weights**2, minlength=4) / (weights**2).sum()
    assert stats.chisquare(observed, expected).pvalue > FALSE_ALARM
    assert stats.chisquare(observed, wrong).pvalue < FALSE_ALARM


# ------------------------------------------------------------------------------------------------------ at every ε


@pytest.fixture
def precisions(monkeypatch):
    """Floats never decide; the working precisions that intervals then took."""
    taken: list[int] = []

    def noted(bits: int):
        taken.append(bits)
        return working(bits)

    monkeypatch.setattr(coins, "SHARE_SLACK", 1.0)
    monkeypatch.setattr(coins, "working", noted)
    return taken


@pytest.mark.parametrize("epsilon", [1, "0.03", "0.001"])
def test_a_median_is_settled_with_few_digits_at_every_epsilon(epsilon, precisions):
    rows = np.random.default_rng(1).normal(size=300_000)
    assert abs(ut.median(rows, epsilon=epsilon, entropy=SeededEntropy(1)).value) < 0.1
    assert precisions == [128]


@pytest.mark.parametrize("epsilon", [1, "0.03"])
def test_quantiles_are_settled_with_few_digits_at_every_epsilon(epsilon, precisions):
    rows = np.random.default_rng(1).normal(size=60_000)
    made = ut.quantile(rows, [0.25, 0.75], epsilon=epsilon, entropy=SeededEntropy(1)).value
    assert np.allclose(made, [-0.6745, 0.6745], atol=0.2)
    assert set(precisions) == {128}
    assert len(precisions) <= 12


def test_floats_are_within_their_slack_at_a_small_epsilon():
    """The share of each score in floats, as `Boxes.draw` computes it, against intervals, for K above 100,000."""
    steps, rho = 120_000, decay(Fraction(1, 1000))
    half = np.arange(1, steps + 1) ** 2 * 50
    shells = Boxes(-half[None, :], half[None, :], ((-(2**61), 2**61),))
    logs = np.array([math.log(c) for c in shells.shells()]) + logarithm(rho) * np.arange(steps + 1)
    ends = np.cumsum(np.exp(logs - logs.max()))
    with working(128):
        sums = list(itertools.accumulate(shells.weights(ball(rho))))
        exact = np.array([float((s / sums[-1]).mid()) for s in sums])
    assert np.abs(ends / ends[-1] - exact).max() < coins.SHARE_SLACK / 100


@pytest.mark.parametrize("epsilon", ["1e-3", "1e-6", "1e-12", 1, 1000, 10**9])
def test_the_decay_is_below_1_and_its_logarithm_exact(epsilon):
    eps = Fraction(epsilon)
    for rho, share in ((decay(eps), eps / 2), (chain_decay(eps), eps / 8)):
        assert 0 < rho < 1
        if share < 30:  # further out it is 2^-64, the least there is
            slip = float(share) * 1e-15 + 2.0**-63 * math.exp(share)
            assert abs(logarithm(rho) + float(share)) <= slip


def test_weights_below_all_floats_are_drawn_by_balls():
    """Of such weights floats know nothing, and the first outcome is no more likely than its weight says."""
    entropy, logs = SeededEntropy(5), np.full(3, -np.inf)
    seen = [pick(logs, lambda: [ball(Fraction(w, 2**5000)) for w in (1, 2, 5)], entropy) for _ in range(4000)]
    for count, share in zip(np.bincount(seen, minlength=3), (1 / 8, 1 / 4, 5 / 8), strict=True):
        assert abs(count - 4000 * share) < 6 * (4000 * share * (1 - share)) ** 0.5
