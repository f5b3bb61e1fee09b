"""Rows of several numbers: what their sums can move by, levels, scales and centres, and the scatter matrix."""

import functools
import itertools
import json
from fractions import Fraction

import numpy as np
import pytest

import uptack as ut
from tests.helpers import sampled
from uptack.account import Account, observed_by
from uptack.mechanisms.inverse_sensitivity import decay
from uptack.multivariate import private_sums as levels
from uptack.multivariate import row_sums as steps
from uptack.multivariate import standardise
from uptack.multivariate.entrance import estimate_frame, read_size
from uptack.multivariate.private_sums import LENGTH, TwoVectors, bounded, noisy_moments, noisy_total
from uptack.multivariate.row_sums import BATCH, Squares, Vectors, lengths, products
from uptack.multivariate.scatter import normal_size
from uptack.multivariate.standardise import DROPPED, Frame, first_copy, number_of, scale_ends
from uptack.noise import Grid, SeededEntropy
from uptack.privacy import loss

HOSTILE = [0.0, -0.0, 1e-320, -1e-320, 5e-324, 1.0, -1.0, 1e150, -1e150, 2.0**200, 1e308, -1e308, np.inf, np.nan]


# ------------------------------------------------------------------------------------------------------------- levels


def brute(counts, share, t):
    below, here = sum(counts[:t]), counts[t]
    above = sum(counts) - below - here
    left = (1 - share) * below - share * (here + above)
    right = share * above - (1 - share) * (below + here)
    return -(-max(Fraction(0), left, right) // 1)


def neighbours(counts):
    for i in range(len(counts)):
        more = list(counts)
        more[i] += 1
        yield tuple(more)
        for j in range(len(counts)):
            if counts[j]:
                moved = list(more)
                moved[j] -= 1
                yield tuple(moved)


TABLES = [c for c in itertools.product(range(4), repeat=4) if sum(c) <= 5]


@pytest.mark.parametrize("share", [Fraction(1, 2), Fraction(3, 4)])
def test_intervals_are_those_of_the_score(share):
    for counts in TABLES:
        lows, highs = levels.intervals(np.array(counts), share, 7)
        for k in range(8):
            inside = [t for t in range(4) if brute(counts, share, t) <= k]
            assert inside == list(range(lows[k], highs[k] + 1))


@pytest.mark.parametrize("share", [Fraction(1, 2), Fraction(3, 4)])
def test_one_row_moves_every_score_by_at_most_one(share):
    for counts in TABLES:
        for other in neighbours(counts):
            assert all(abs(brute(counts, share, t) - brute(other, share, t)) <= 1 for t in range(4))


@functools.cache
def ends(counts, wanted, steps=8):
    line = np.zeros(DROPPED, np.int64)
    line[:4] = counts
    lows, highs = scale_ends(line, wanted, steps)
    return list(zip(lows.tolist(), highs.tolist(), strict=True))


@pytest.mark.parametrize("wanted", [1, 3])
def test_intervals_of_scales_are_a_reach(wanted):
    for counts in TABLES:
        mine = ends(counts, wanted)
        for (a, b), (c, d) in itertools.pairwise(mine):
            assert c <= a <= b <= d
        for other in neighbours(counts):
            for (a, b), (c, d) in zip(ends(other, wanted), mine[1:], strict=False):
                assert c <= a
                assert b <= d


def test_a_column_without_a_scale_is_dropped_and_one_with_enough_is_not():
    assert ends((0, 0, 0, 0), 3)[0] == (DROPPED, DROPPED)
    assert ends((1, 0, 0, 0), 3)[:2] == [(DROPPED, DROPPED)] * 2
    assert ends((5, 0, 0, 0), 3)[0] == (0, 0)


def test_intervals_of_centres_are_a_reach():
    """Replacing, adding and removing a row, for all tables of up to 4 rows of 4 values; in half units."""

    def of(values):
        data = sampled(np.array(values, float).reshape(-1, 1))
        lows, highs = standardise.centre_ends(data, 0, 0.5, 4)
        return list(zip(lows.tolist(), highs.tolist(), strict=True))

    values = (-3, 0, 1, 9)
    tables = [t for n in range(5) for t in itertools.combinations_with_replacement(values, n)]
    found = {t: of(t) for t in tables}
    for t in tables:
        near = [tuple(sorted((*t, v))) for v in values if len(t) < 4]
        near += [tuple(sorted((*t[:i], *t[i + 1 :], v))) for i in range(len(t)) for v in values]
        for other in near:
            for one, two in ((t, other), (other, t)):
                for (a, b), (c, d) in zip(found[two], found[one][1:], strict=False):
                    assert c <= a
                    assert b <= d


def test_the_law_of_a_draw_over_two_columns_is_private():
    """All pairs of levels, exactly: P/P' is at most e^ε between neighbours."""
    listed = levels.Levels(np.array([1, 3, 2, 1]))
    epsilon, steps = Fraction(1), 6
    rho = float(decay(epsilon))

    def law(one, other):
        boxes = listed.boxes([levels.intervals(np.array(c), Fraction(1, 2), steps) for c in (one, other)])
        weights = {}
        for s, t in itertools.product(range(4), repeat=2):
            copies = int(listed.copies[s] * listed.copies[t])
            place = [int(listed.starts[v]) for v in (s, t)]
            inside = (
                k for k in range(steps + 1) if all(a <= v <= b for v, (a, b) in zip(place, boxes.ends(k), strict=True))
            )
            weights[s, t] = copies * rho ** next(inside, steps + 1)
        total = sum(weights.values())
        assert sum(boxes.shells()) == listed.starts[-1] ** 2
        return {k: v / total for k, v in weights.items()}

    tables = [c for c in TABLES if sum(c) == 3]
    worst = 0.0
    for one, other in itertools.product(tables[::3], repeat=2):
        mine = law(one, other)
        for moved, also in itertools.product(list(neighbours(one))[::5], list(neighbours(other))[::5]):
            theirs = law(moved, also)
            worst = max(worst, *(abs(np.log(mine[k] / theirs[k])) for k in mine))
    assert 0.5 < worst <= 1


def test_sizes_fall_on_sixteenths_of_powers_of_two():
    sizes = np.array([1.0, 1.02, 1.03, 2.0 ** (1 / 16), 1.95, 1.97, 2.0, 0.5, 1e-320, 0.0, -1.0, 1e308, np.inf])
    low, high = levels.OCTAVE * levels.BELOW, levels.OCTAVE * levels.ABOVE
    found = np.repeat(np.arange(low + high + 1), levels.SIZES.counts(sizes).total()) - low
    assert found.tolist() == sorted([0, 0, 1, 1, 15, 16, 16, -16, -low, -low, -low, high, high])
    assert levels.NEXT_SIZES.counts(sizes).total().nonzero()[0].tolist() == [0, 1, 15, 16, 32]


def test_private_sizes_are_close():
    x = np.exp(np.random.default_rng(1).normal(size=5000))
    account = Account.open("size", 1, entropy=SeededEntropy(1))
    (found,) = levels.far_quantiles(sampled(x[:, None]), lambda b: [b[0]], (0.5,), account)
    assert 0.8 < found < 1.25
    assert account.spent[0].epsilon == 1


def test_copies_of_whole_numbers_are_in_order():
    numbers = np.unique(
        np.r_[-5:6, [2**k + j for k in range(3, 40) for j in (-1, 0, 1)], -(2**33), 2**40 - 1, -(2**40) + 1]
    )
    firsts, lasts = first_copy(numbers), first_copy(numbers + 1) - 1
    assert (firsts <= lasts).all()
    assert (firsts[1:] > lasts[:-1]).all()
    for number, first, last in zip(numbers.tolist(), firsts.tolist(), lasts.tolist(), strict=True):
        assert number_of(first) == number == number_of(last)
    assert first_copy(np.array([0]))[0] == 0
    assert number_of(-1) == -1


# --------------------------------------------------------------------------------------------------- bounded rows


@pytest.mark.parametrize("radius", [0.0, 1.0, 1e-300, 1e300])
def test_rows_are_integers_of_certified_length_whatever_they_hold(radius):
    columns = np.array(list(itertools.product(HOSTILE, repeat=3))).T
    with np.errstate(all="ignore"):
        found = bounded(columns, radius)
    assert (found == np.rint(found)).all()
    assert max(sum(int(v) ** 2 for v in row) for row in found.T) <= LENGTH**2


def test_directions_are_close_to_the_rows():
    x = np.random.default_rng(0).normal(size=(5, 400))
    assert np.abs(bounded(x) / LENGTH - x / lengths(x)).max() < 4e-5
    assert np.abs(bounded(x, 9.0) / LENGTH - x / 9).max() < 4e-5


def test_sums_move_by_no_more_than_is_claimed():
    rng, frame = (
        np.random.default_rng(0),
        Frame((0, 1, 2), np.array([1.0, 2.0**-40, 2.0**60]), np.array([0.0, 3.0, -1e9])),
    )
    matrix = np.tril(rng.normal(size=(4, 4)))
    table = rng.normal(size=(50, 3)) * [1, 1e-12, 1e18]

    def sums(values):
        def step(b):
            return [Squares(bounded(products(matrix, frame.standardised(b))))]

        data = sampled(values)
        with np.errstate(all="ignore"):
            return data.sums(step)[0], data.sums(
                lambda b: [Vectors(bounded(products(matrix, frame.standardised(b)), 3.0))]
            )[0]

    second, first = sums(table)
    for row in itertools.product([0.0, 1e308, -1e308, 5e-324, np.nan], repeat=3):
        other = table.copy()
        other[7] = row
        second_other, first_other = sums(other)
        assert np.abs(np.linalg.eigvalsh((second_other - second).astype(float))).sum() <= 2 * LENGTH**2 * (1 + 1e-12)
        assert np.linalg.norm((first_other - first).astype(float)) <= 2 * LENGTH
        gone = sums(np.delete(table, 7, axis=0))
        assert np.abs(np.linalg.eigvalsh((gone[0] - second).astype(float))).sum() <= LENGTH**2 * (1 + 1e-12)


def test_a_row_contributes_the_same_wherever_it_stands():
    rng = np.random.default_rng(3)
    x, matrix = rng.normal(size=(4, 1001)) * 10.0 ** rng.integers(-9, 9, (4, 1001)), rng.normal(size=(4, 4))
    whole = products(matrix, x)
    for a, b in ((0, 1), (3, 20), (997, 1001), (1, 1000)):
        assert (products(matrix, np.ascontiguousarray(x[:, a:b])) == whole[:, a:b]).all()
        assert (lengths(x[:, a:b]) == lengths(x)[a:b]).all()


def test_sums_do_not_depend_on_batches_or_order(monkeypatch):
    x = np.random.default_rng(4).normal(size=(BATCH + 77, 3))

    def step(b):
        return [Squares(bounded(b))]

    whole = sampled(x).sums(step)[0]
    assert (sampled(x[::-1]).sums(step)[0] == whole).all()
    monkeypatch.setattr(steps, "BATCH", 100)
    assert (sampled(x).sums(step)[0] == whole).all()
    assert sampled(x[:0]).sums(step)[0].tolist() == [[0] * 3] * 3
    holes = np.r_[x, np.full((5, 3), np.nan)]
    assert (sampled(holes).sums(step)[0] == whole).all()


def changed_pairs(one, other, slots):
    def listed(values):
        seen = []
        data = sampled(values)
        data.pairs(
            lambda a, b: (seen.extend(zip(a.T.tolist(), b.T.tolist(), strict=True)), [np.zeros(1)])[1],
            slots,
            Account.elsewhere("pairs", Coupled(5)),
        )
        return {(tuple(a), tuple(b)) for a, b in seen}

    mine, theirs = listed(one), listed(other)
    return len(mine - theirs), len(theirs - mine), len(mine)


class Coupled(SeededEntropy):
    """Rows that are in both tables choose alike."""

    def integers(self, bound, size):
        return np.random.default_rng(self.seed).integers(bound, size=size)


def test_one_row_changes_one_pair():
    x = np.arange(101.0)[:, None]
    other = x.copy()
    other[-1] = 1e9
    assert max(changed_pairs(x, other, None)[:2]) <= 1
    gone = np.where(x == 100, np.nan, x)
    assert max(changed_pairs(x, gone, None)[:2]) <= 1
    for slots in (1, 7, 50):
        assert max(changed_pairs(x, x[:-1], slots)[:2]) <= 1
        assert changed_pairs(x, x, slots)[2] <= slots
    assert changed_pairs(x, x, None)[2] == 50
    assert changed_pairs(x[:1], x[:1], None)[2] == changed_pairs(x[:1], x[:1], 3)[2] == 0


# -------------------------------------------------------------------------------------------------------------- frames


def frame_of(table, **told):
    account = Account.open("frame", 4, entropy=SeededEntropy(2), **told)
    data = sampled(table)
    size = read_size(data, "drop", account)
    return estimate_frame(data, size, (), size.account.split(Fraction(1, 2), Fraction(1, 2)))


@pytest.mark.parametrize("told", [{}, {"adjacency": ut.ADD_REMOVE}, {"rows_per_person": 3}])
def test_scales_and_centres_are_within_a_factor(told):
    rng = np.random.default_rng(0)
    table = np.column_stack(
        [rng.normal(size=8000) * 1e-30, 2015 + rng.integers(0, 9, 8000), rng.standard_cauchy(8000) * 1e30]
    )
    found = frame_of(table, **told)
    assert found.kept == (0, 1, 2)
    assert (found.units / [1e-30, 3, 1.5e30] < 3).all()
    assert (found.units / [1e-30, 3, 1.5e30] > 1 / 3).all()
    assert np.abs((found.centres * found.units - [0, 2019, 0]) / found.units).max() < 1.5


def test_a_constant_column_is_dropped_and_differences_may_overflow():
    rng = np.random.default_rng(0)
    table = np.column_stack(
        [
            rng.normal(size=4000),
            np.ones(4000),
            rng.choice([-1e140, 1e140], 4000),
            np.r_[np.zeros(3990), rng.normal(size=10)],
            rng.choice([-1.7e308, 1.7e308], 4000),  # differences are beyond all floats
            rng.normal(size=4000) * 5e-309,  # and here they are hardly floats
        ]
    )
    found = frame_of(table)
    assert found.kept == (0, 2, 4)
    with np.errstate(all="raise"):
        assert np.isfinite(found.standardised(table.T)).all()


@pytest.mark.parametrize("leading", [True, False])
def test_rows_far_away_keep_their_direction(leading):
    """Brought near as a whole, by a power of two; others are as they were, whatever is in their batch."""
    frame = Frame((0, 2), np.array([2.0**-900, 4.0]), np.array([3.0, -7.0]), leading)
    near = np.array([[2.0**-899, 5.0, 8.0], [0.0, 0.0, 0.0], [-(2.0**-701), np.nan, 2.0**200]]).T
    far = np.array([[1.5, 1.0, 2.0], [-1.7e308, 0.0, 1.7e308], [2.0**-699, 1.0, 0.0], [0.0, 1.0, 1e70]]).T
    with np.errstate(over="ignore"):
        both = frame.standardised(np.concatenate([near, far], axis=1))
    assert np.array_equal(both[:, :3], frame.standardised(near))
    exact = [
        [Fraction(1), *(Fraction(x[c]) / Fraction(u) - Fraction(m) for c, u, m in ((0, 2.0**-900, 3), (2, 4.0, -7)))]
        for x in far.T
    ]
    for row, wanted in zip(both[:, 3:].T, exact, strict=True):
        full = wanted if leading else wanted[1:]
        assert 2.0**199 <= np.abs(row).max() <= 2.0**200
        factor = max(map(abs, full)) / Fraction(np.abs(row).max())
        assert all(
            abs(Fraction(v) * factor - w) <= abs(w) / 2**50 + factor * Fraction(5e-324)
            for v, w in zip(row, full, strict=True)
        )


def test_noisy_sums_spend_what_they_say():
    account = Account.open("sum", 2, entropy=SeededEntropy(1), rows_per_person=2)
    one, other = account.split(Fraction(1, 2), Fraction(1, 2))
    assert noisy_total(np.array([5 * LENGTH, 0]), one).shape == (2,)
    assert noisy_moments(np.array([[5 * LENGTH**2, 0], [0, 0]], object), other).shape == (2, 2)
    assert sum(part.epsilon for part in account.spent) == 2


def test_two_vectors_have_the_noise_of_one_each_and_cost_both_moves():
    noise = TwoVectors(loss.Pure(Fraction(1)), Fraction(5), Grid(Fraction(1, 1024)))
    value = [Fraction(v) for v in (7, 0, 0, -7)]
    assert noise.price(value, [Fraction(v) for v in (4, 4, 0, -7)], [0] * 4) == pytest.approx(1)
    assert noise.price(value, [Fraction(v) for v in (4, 4, 12, -2)], [0] * 4) == pytest.approx(1 + 13 / 5)
    entropy = SeededEntropy(3)
    off = np.array([noise.draw(value, entropy) for _ in range(400)]) / 1024 - [7, 0, 0, -7]
    for half in (off[:, :2], off[:, 2:]):  # |v|/scale is Gamma(2): its mean is 2, and 1.4 with noise that is 30% less
        assert abs(np.linalg.norm(half, axis=1).mean() / 5 - 2) < 0.3
    assert abs(np.corrcoef(np.linalg.norm(off[:, :2], axis=1), np.linalg.norm(off[:, 2:], axis=1))[0, 1]) < 0.2


@pytest.mark.parametrize("rho", [Fraction(0), Fraction(1, 8)])
@pytest.mark.parametrize("apart", [1.0, 0.5])
@pytest.mark.parametrize(("adjacency", "after"), [(ut.SUBSTITUTE, [[-1.0]]), (ut.ADD_REMOVE, np.empty((0, 1)))])
def test_two_gradients_cost_what_was_paid_where_a_row_moves_farthest(rho, apart, adjacency, after):
    """The row's length is in one of the vectors, or half of it in each. Only a whole one moves as far with δ."""
    delta = Fraction(1, 10**6) if rho else Fraction(0)
    seen = []

    def watch(mechanism, value, draw):
        seen.append((mechanism, value))
        return draw()

    for rows in ([[1.0]], after):
        account = Account.open("sums", 4, delta, adjacency=adjacency, entropy=SeededEntropy(1))
        with observed_by(watch):
            part = levels.Allowance(account.allot(Fraction(4), delta), rho)
            levels.two_gradients(sampled(rows), lambda batch: (apart * batch, (1 - apart) * batch), 1.0, part)
    (mechanism, value), (same, other) = seen
    assert same == mechanism
    part = mechanism.price(value, other, [0] * len(value)) / float(mechanism.epsilon if rho else mechanism.loss.epsilon)
    assert part <= 1 + 1e-9
    assert part > (0.99 if apart == 1 or not rho else 0.49)


# ------------------------------------------------------------------------------------------------------------- scatter


def test_a_draw_that_goes_astray_is_no_error():
    """With few rows scales, radii and spreads may come out anywhere: whatever was drawn, there is a reply or ⊥."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(120, 2))
    for seed in range(15):
        for scale in (1e-300, 1e-9, 1.0, 1e300):
            told = {"epsilon": 20, "adjacency": ut.ADD_REMOVE, "entropy": SeededEntropy(seed)}
            for found in (
                ut.scatter(x * scale, **told),
                ut.linear_regression(x[:, :1] * scale, x[:, 1] / scale, **told),
            ):
                assert isinstance(found, ut.Release | ut.NoReply)


@pytest.mark.parametrize("power", [-600, -500, 500, 600])
def test_variances_are_floats_or_the_answer_is_none(power):
    x = np.random.default_rng(0).normal(size=(20_000, 2))
    found = ut.scatter(np.ldexp(x, [power, 0]), epsilon=3, entropy=SeededEntropy(1))
    assert isinstance(found, ut.Release) == (abs(power) == 500)
    if isinstance(found, ut.Release):
        assert 0.5 < np.ldexp(found.value.matrix[0, 0], -2 * power) < 2
        assert abs(found.value.correlation[0, 1]) < 0.1


def cloud(n, seed=0, outliers=0.0):
    rng = np.random.default_rng(seed)
    half = np.array([[1.0, 0.0, 0.0], [0.9, 0.4, 0.0], [-0.3, 0.1, 1.0]])
    x = rng.normal(size=(n, 3)) @ half.T
    x[: int(outliers * n)] = rng.normal(size=(int(outliers * n), 3)) * 1e6 + 1e7
    scale, centre = np.array([1e-3, 1.0, 1e5]), np.array([5e-3, -40.0, 0.0])
    return x * scale + centre, half @ half.T * np.outer(scale, scale), centre


@pytest.mark.parametrize("told", [{}, {"adjacency": ut.ADD_REMOVE}, {"missing": "drop"}, {"rows_per_person": 2}])
def test_normal_rows_get_their_mean_and_covariance(told):
    x, covariance, centre = cloud(30_000)
    if "missing" in told:
        x[::3, 1] = np.nan
    found = ut.scatter(x, epsilon=2, entropy=SeededEntropy(3), **told)
    scale = np.sqrt(np.diag(covariance))
    assert np.abs((found.value.matrix - covariance) / np.outer(scale, scale)).max() < 0.08
    assert np.abs((found.value.centre - centre) / scale).max() < 0.06
    assert found.value.dropped == ()
    assert found.privacy.epsilon <= 2
    assert not found.private


def test_outliers_hardly_count():
    x, covariance, _ = cloud(30_000, outliers=0.05)
    found = ut.scatter(x, epsilon=2, entropy=SeededEntropy(3)).value
    correlation = covariance / np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
    assert np.abs(found.correlation - correlation).max() < 0.25
    assert np.abs(np.corrcoef(x.T)[0, 2] - correlation[0, 2]) > 0.5


def test_what_follows_from_a_scatter_matrix():
    x, _, _ = cloud(30_000)
    x = np.column_stack([x, np.full(len(x), 3.0)])
    found = ut.scatter(x, epsilon=3, entropy=SeededEntropy(3)).value
    assert found.dropped == (3,)
    assert np.isnan(found.centre[3])
    values, axes = found.principal_axes()
    assert (np.diff(values) <= 0).all()
    assert abs(abs(axes[0, 2]) - 1) < 1e-3
    assert abs(axes[0, 3]) == 0
    assert found.principal_axes(standardised=True)[0].sum() == pytest.approx(3)
    distances = found.mahalanobis(x[:1000])
    assert np.median(distances) == pytest.approx(np.sqrt(2.366), abs=0.1)
    assert found.mahalanobis([*found.centre[:3].tolist(), 0.0])[0] == pytest.approx(0, abs=1e-9)
    with pytest.raises(ut.InvalidArgument, match="4 numbers"):
        found.mahalanobis([1.0, 2.0])
    assert json.loads(ut.scatter(x, epsilon=3, entropy=SeededEntropy(3)).to_json())["value"]["centre"][3] is None


def test_pictures():
    pytest.importorskip("matplotlib").use("Agg")
    x, _, _ = cloud(20_000)
    assert ut.scatter(x[:, :2], epsilon=3).value.plot(names=["a", "b"]).get_xlabel() == "a"
    assert len(ut.scatter(x, epsilon=3).value.plot().images) == 1
    with pytest.raises(ut.InvalidArgument, match="3 names"):
        ut.scatter(x, epsilon=3).value.plot(names=["a"])


def test_too_few_rows_are_refused_for_nothing_and_the_advice_holds():
    x, _, _ = cloud(200)
    refused = ut.scatter(x, epsilon=1)
    assert not refused
    assert refused.privacy.epsilon == 0
    assert ut.scatter(cloud(refused.advice.n)[0], epsilon=1)
    secret = ut.scatter(x, epsilon=1, adjacency=ut.ADD_REMOVE)
    assert not secret
    assert secret.privacy.epsilon == pytest.approx(0.02)


def test_bad_input_is_named():
    for argument, value in (("epsilon", 0), ("missing", "low"), ("adjacency", "x"), ("rows_per_person", 0)):
        with pytest.raises(ut.InvalidArgument, match=f"^{argument} must be"):
            ut.scatter(np.ones((9, 2)), **{"epsilon": 1, argument: value})
    with pytest.raises(ut.InvalidArgument, match="two columns"):
        ut.scatter(np.ones((9, 1)), epsilon=1)
    with pytest.raises(ut.InvalidArgument, match="free of NaN"):
        ut.scatter(np.full((900, 2), np.nan), epsilon=100)


def test_the_size_of_normal_rows():
    rng = np.random.default_rng(0)
    for q in (1, 4, 20):
        v = rng.chisquare(q, 400_000)
        assert (1 / (1 + v / normal_size(q))).mean() == pytest.approx(1 / (q + 1), rel=0.01)


def test_a_session_has_it():
    x, _, _ = cloud(20_000)
    session = ut.open(dict(zip("abc", x.T, strict=True)), entropy=SeededEntropy(1))
    assert session.scatter(epsilon=1).value.matrix.shape == (3, 3)
    assert session.scatter("c", "a", epsilon=1).value.matrix.shape == (2, 2)
