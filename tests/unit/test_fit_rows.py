"""What rows contribute to the sums of a fit: bounded whatever they hold, and by themselves."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, stats

from tests.helpers import sampled
from uptack.account import Account
from uptack.multivariate.private_sums import (
    LENGTH,
    NEAR_SIZES,
    NEXT_SIZES,
    Allowance,
    bounded,
    far_quantiles,
    gradient,
    intervals,
    second_moments,
    shared,
    shares_of,
    two_gradients,
    variances,
)
from uptack.multivariate.standardise import Frame
from uptack.noise import SeededEntropy
from uptack.regression import tuning
from uptack.regression.linear import HuberLoss, LeastSquaresLoss
from uptack.regression.logistic import LogisticLoss
from uptack.regression.poisson import PoissonLoss
from uptack.regression.quantile import CheckLoss
from uptack.regression.solver import FitBudget, FitProblem, FitRows, RowWeights, Tail, clip, cut

RNG = np.random.default_rng(0)
LOSSES = (LeastSquaresLoss(), HuberLoss(), CheckLoss(0.9), LogisticLoss(), PoissonLoss())
HOSTILE = (0.0, -0.0, 5e-324, 1e-9, 1.0, 200.0, -250.0, 1e9, 1.7e308, -1.7e308)
ROWS = np.array(list(itertools.product(HOSTILE, repeat=3))).T
WILD = tuple(
    map(np.array, ([0.0, 0.0, 0.0], [1.0, -1.0, 2.0], [1e300, 1e300, 0.0], [np.inf, 0.0, 1.0], [np.nan, 1.0, 0.0]))
)


def model(loss, first=0):
    frame = Frame((0, 1, 2), np.array([1.0, 2.0**-60, 2.0**60]), np.array([0.0, 3.0, -1.0]))
    turn = RNG.normal(size=(3 - first, 3 - first))
    return FitRows(frame, first, loss, turn, RowWeights(turn, np.ones(3 - first), 2.5))


def vectors(rows, b, s):
    """All vectors that are summed, with the length that each is cut to."""
    yield rows.scatter, 2.0
    yield lambda batch: rows.equations(batch, b, s, 0.7, 3.0), 3.0
    yield lambda batch: rows.hessian_vectors(batch, b, s), 2.5
    yield lambda batch: rows.gradients(batch, b, s), 1.5


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("b", WILD, ids=str)
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_no_row_adds_more_than_one_whatever_was_released_before(loss, b):
    for s in (1e-70, 1.0, 1e70):
        for of_rows, longest in vectors(model(loss), b, s):
            u = bounded(of_rows(ROWS), longest)
            assert (u == np.rint(u)).all()
            assert (np.square(u).sum(axis=0) <= LENGTH**2).all()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_a_row_adds_the_same_in_any_batch(loss):
    rows, b = model(loss), np.array([0.3, -0.2, 0.1])
    chosen = ROWS[:, RNG.permutation(ROWS.shape[1])[:60]]
    for of_rows, longest in vectors(rows, b, 0.7):
        whole = bounded(of_rows(chosen), longest)
        for i in range(60):
            assert (bounded(of_rows(chosen[:, i : i + 1]), longest)[:, 0] == whole[:, i]).all()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("b", WILD, ids=str)
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_both_gradients_of_a_row_share_one_length(loss, b):
    """Exactly, in integers: |v|² ≤ (Λ - ⌈|u|⌉)²."""
    for s in (1e-70, 1.0, 1e70):
        whole = shared(*model(loss).split_gradients(ROWS, b, s, 1.5), 1.5)
        assert (whole == np.rint(whole)).all()
        for row in whole.T.astype(np.int64).tolist():
            first, second = (sum(v * v for v in half) for half in (row[:3], row[3:]))
            root = math.isqrt(first - 1) + 1 if first else 0
            assert root <= LENGTH
            assert second <= (LENGTH - root) ** 2


def test_what_is_left_of_a_length_is_used():
    first, second = np.array([[0.0, 0.5, 1.0, 3.0], [0.0] * 4]), np.array([[0.0] * 4, [9.0] * 4])
    found = shared(first, second, 1.0) / LENGTH
    assert np.abs(found - [[0, 0.5, 1, 1], [0] * 4, [0] * 4, [1, 0.5, 0, 0]]).max() < 1e-4
    for i in range(4):
        assert (shared(first[:, i : i + 1], second[:, i : i + 1], 1.0)[:, 0] == found[:, i] * LENGTH).all()


def test_rows_with_less_weight_leave_room_for_what_it_leaves_out():
    """Both parts fit, or the first is 1 - 1/FAR of the clip; both together are the whole gradient."""
    rows, b = model(LeastSquaresLoss()), np.array([0.3, -0.2, 0.1])
    batch = RNG.normal(size=(3, 400)) * np.array([[3.0], [2.0**-60], [2.0**60]]) + np.array(
        [[0.0], [3.0 * 2**-60], [0]]
    )
    near, far = rows.split_gradients(batch, b, 1.0, 1.5)
    whole, weighted = near + tuning.FAR * far, rows.gradients(batch, b, 1.0)
    less = np.linalg.norm(weighted, axis=0) < np.linalg.norm(whole, axis=0) * (1 - 1e-9)
    assert 20 < less.sum() < 400
    first, both = np.linalg.norm(near, axis=0), np.linalg.norm(near, axis=0) + np.linalg.norm(far, axis=0)
    short = np.linalg.norm(whole, axis=0) <= 1.5
    assert (less & short).any()
    assert np.allclose(near[:, short], weighted[:, short])
    assert (less & (first > 1.5 * (1 - 1 / tuning.FAR) * (1 + 1e-9))).any()
    assert ((both <= 1.5 * (1 + 1e-9)) | (first <= 1.5 * (1 - 1 / tuning.FAR) * (1 + 1e-9)))[less].all()
    assert first.max() <= 1.5 * (1 + 1e-9)
    assert np.allclose(whole[:, ~less], weighted[:, ~less])


def test_gross_errors_add_nothing_but_their_number():
    rows, b = model(LeastSquaresLoss()), np.zeros(3)
    calm, gross = np.array([[1.0], [2.0**-60], [2.0**60]]), np.array([[301.0], [0.0], [0.0]])
    assert np.abs(rows.equations(calm, b, 1.0, 1.0, 2.0)[:4]).max() > 0
    assert rows.equations(calm, b, 1.0, 1.0, 2.0)[4].tolist() == [0]
    assert rows.equations(gross, b, 1.0, 1.0, 2.0)[:, 0].tolist() == [0, 0, 0, 0, 2]
    for of_rows in (rows.scatter, lambda x: rows.hessian_vectors(x, b, 1.0), lambda x: rows.gradients(x, b, 1.0)):
        assert not of_rows(gross).any()


def test_shares_add_up_to_at_most_one():
    parts = np.abs(RNG.normal(size=(4, 500))) * np.geomspace(1e-3, 1e300, 500)
    found = shares_of(np.hstack([parts, np.full((4, 2), np.nan), -np.ones((4, 1))]), 1.0)
    assert (found.sum(axis=0) <= LENGTH).all()
    assert (found >= 0).all()
    assert found[:, :100].sum() > 0


def test_sums_are_about_what_they_are_without_noise():
    x = RNG.normal(size=(5_000, 2))
    rows = sampled(np.column_stack([x, x[:, 0]]))
    whole = Account.open("sums", 7000, entropy=SeededEntropy(1))
    account = whole.part(Fraction(1, 7))
    moments = second_moments(rows, lambda b: b[:2], 10.0, 5_000, Allowance(account))
    assert np.abs(moments.matrix - x.T @ x / 5_000).max() < 0.01
    assert (
        np.abs(gradient(rows, lambda b: cut(b[:2], 2.0), 2.0, Allowance(account))[0] - cut(x.T, 2.0).sum(axis=1)).max()
        < 1
    )
    near, far, _ = two_gradients(rows, lambda b: (b[:2] / 4, -b[:2] / 4), 20.0, Allowance(account))
    assert np.abs(np.array([near, -far]) - x.sum(axis=0) / 4).max() < 1
    v, scale = variances(rows, lambda b: cut(b[:2], 2.0) ** 2, 4.0, 5_000, Allowance(account))
    assert np.abs(v - (cut(x.T, 2.0) ** 2).mean(axis=1)).max() < 20 * scale + 1e-4
    sizes = np.linalg.norm(x, axis=1)
    (near,) = far_quantiles(rows, lambda b: [np.sqrt(b[0] ** 2 + b[1] ** 2)], (0.1,), account)
    (far,) = far_quantiles(rows, lambda b: [np.sqrt(b[0] ** 2 + b[1] ** 2)], (0.01,), account, (near,), NEXT_SIZES)
    assert near == pytest.approx(np.quantile(sizes, 0.9), rel=0.05)
    assert far == pytest.approx(np.quantile(sizes, 0.99), rel=0.08)
    pair = far_quantiles(rows, lambda b: [np.abs(b[0]), np.abs(b[1])], (0.1, 0.02), account, (1.0, 1.0), NEAR_SIZES)
    usual = np.quantile(np.abs(x[:, 0]), 0.9), np.quantile(np.abs(x[:, 1]), 0.98)
    assert pair == pytest.approx(usual, rel=0.08)


def test_a_far_quantile_is_hardly_ever_beyond_all_rows():
    """There are many levels beyond all rows, so each weighs little: with equal weights 3.8% of the draws are there."""
    sizes = np.concatenate([np.ones(19_000), np.linspace(1.0, 1.5, 1_000)])
    rows, share = sampled(sizes[:, None]), 200 / 20_000
    counts = rows.sums(lambda batch: [NEXT_SIZES.counts(batch[0])])
    steps = NEXT_SIZES.steps(Fraction(6, 100), 1)
    boxes = NEXT_SIZES.boxes([intervals(counts[0], 1 - Fraction(share).limit_denominator(10**6), steps)])
    chances = np.array([float(w) for w in boxes.weights(math.exp(-0.03))])
    assert chances[200:].sum() / chances.sum() < 0.016


LAWS = {
    "exponential": (stats.expon(), 0.0),
    "Pareto, with four moments": (stats.genpareto(0.25), 0.25),
    "Pareto, with a variance": (stats.genpareto(0.45), 0.45),
    "half normal": (stats.halfnorm(), -0.1),
    "Pareto, without a variance": (stats.genpareto(0.8), 0.8),
}


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("n", [3_500, 100_000])
def test_the_tail_of_a_law_follows_from_three_of_its_quantiles(name, n):
    """Its shape is found, and what is beyond a length, where the shape is in range; else that of the nearest shape."""
    law, shape = LAWS[name]
    beyond, within = 200.0, min(16 * 200.0, n / 2)
    tail = Tail(*(float(law.isf(rows / n)) for rows in (within, 4 * beyond, beyond)), within, beyond)
    least, most = tuning.SHAPES
    assert tail.shape == pytest.approx(min(max(shape, least), most), abs=0.03)
    for times in (1.0, 1.5, 3.0):
        length = times * tail.far
        there = n * integrate.quad(law.sf, length, np.inf, limit=200)[0]
        if least <= shape <= most:
            assert tail.excess(length) == pytest.approx(there, rel=0.12)
        elif shape < least:
            assert tail.excess(length) > there
        else:
            assert tail.excess(length) < there


def test_rows_with_given_squares_have_no_more_beyond_a_length():
    """Whatever the lengths of up to 30 rows beyond the far one: random ones, and some that reach the bound."""
    tail, rng, worst = Tail(1.0, 2.0, 3.0, 900.0, 30.0), np.random.default_rng(8), 0.0
    for _ in range(2_000):
        lengths = 3.0 + rng.exponential(10 ** rng.uniform(-1, 2), rng.integers(1, 31)) * rng.integers(0, 2)
        lengths += rng.exponential(5.0)
        length = rng.uniform(3.0, 1.2 * lengths.max())
        most = tail.most_excess(length, float(np.sum(lengths**2 - 9.0)))
        there = float(np.maximum(lengths - length, 0).sum())
        assert there <= most * 1.02 + 1e-9
        worst = max(worst, there / max(most, 1e-9))
    assert worst > 0.9


def test_a_clip_is_where_noise_and_what_it_loses_are_least():
    """It is farther out where noise is less, and where more is lost; and no other length has a smaller error."""
    frame, loss = Frame((0, 1, 2), np.ones(3), np.zeros(3)), LeastSquaresLoss()

    def clip_of(epsilon, far):
        account = Account.open("clips", epsilon, entropy=SeededEntropy(1))
        budget, tail = FitBudget.of(loss, 3, account), Tail(1.0, 2.0, far, 800.0, 50.0)
        found = clip(FitProblem(sampled(np.zeros((9, 3))), frame, True, loss, 4_000, budget), tail, 3)
        noise = budget.sum("last").vector_noise(3)
        lengths = np.geomspace(1.0, 100.0, 999)
        errors = tuning.NOISE_WEIGHT * 3 * (noise * lengths) ** 2 + tuning.AGREE * np.array(
            [tail.excess(length) ** 2 for length in lengths]
        )
        assert found == pytest.approx(lengths[np.argmin(errors)], rel=0.03)
        return found

    assert clip_of(1, 3.0) < clip_of(4, 3.0)
    assert clip_of(1, 3.0) < clip_of(1, 4.0)
