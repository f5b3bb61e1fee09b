"""Robust regression: the fit, the release, the papers' R_S and R_H, costs, edges and misuse."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import uptack as ut
from tests.helpers import CountingEntropy
from uptack.mechanisms.additive_noise import k_norm
from uptack.noise import Box
from uptack.papers import R_H, R_S, hampel_regression
from uptack.papers.block_fits import finite, seat_rows
from uptack.papers.hampel import RUNGS, SCALES, cells, vertex_noise
from uptack.papers.hampel_fit import minimiser, normalise
from uptack.privacy import Privacy, cost
from uptack.reach.hampel_certificate import GridCell, Hyperplanes

E1 = {"epsilon": 1, "delta": 1e-6}


def data(n, p, seed=0, outliers=0.0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p - 1))
    y = 1 + x @ np.arange(2, p + 1) + rng.normal(size=n)
    y[: round(outliers * n)] = 1e6
    return x, y


# ------------------------------------------------------------------------------------------------------------- the fit


def objective(u, y, beta):
    return np.abs(y - u @ beta).sum()


def least(u, y):
    """The least sum, by a linear program in its plain form."""
    n, p = u.shape
    sides = np.block([[u, -np.eye(n)], [-u, -np.eye(n)]])
    free = [(None, None)] * p + [(0, None)] * n
    problem = {"c": np.r_[np.zeros(p), np.ones(n)], "A_ub": sides, "b_ub": np.r_[y, -y], "bounds": free}
    found = (linprog(**problem, method=method) for method in ("highs", "highs-ipm"))  # some versions fail by the first
    return next(result.fun for result in found if result.success)


KINDS = {
    "normal": lambda rng, x, y: (x, y),
    "integers": lambda rng, x, y: (rng.integers(-2, 3, x.shape) * 1.0, rng.integers(-3, 4, y.size) * 1.0),
    "exact": lambda rng, x, y: (x, x.sum(axis=1)),
    "outliers": lambda rng, x, y: (x, np.where(np.arange(y.size) % 5 == 0, 1e9, y)),
    "duplicates": lambda rng, x, y: (np.where(np.arange(y.size)[:, None] % 2 == 0, x[:1], x), y),
    "rank one": lambda rng, x, y: (x[:, :1] * np.ones(x.shape[1]), y),
    "zero rows": lambda rng, x, y: (x * (np.arange(y.size) % 3 > 0)[:, None], y),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_fit_is_a_minimiser(kind):
    rng = np.random.default_rng(11)
    for n in (*rng.integers(1, 60, size=12), 700):  # the last one is fitted from every eighth row on
        p = rng.integers(1, 5)
        x = rng.normal(size=(n, p))
        u, y = normalise(*KINDS[kind](rng, x, x.sum(axis=1) + rng.standard_cauchy(n)))
        fit = minimiser(u, y)
        assert objective(u, y, np.array(fit, float)) <= least(u, y) * (1 + 1e-7) + 1e-6
        assert minimiser(u, y) == fit


def test_the_fit_of_many_rows():
    x, y = data(50_000, 3, outliers=0.1)
    u, z = normalise(np.column_stack([np.ones(len(y)), x]), y)
    beta = np.array(minimiser(u, z), float)
    for move in np.vstack([np.eye(3), -np.eye(3)]):
        assert objective(u, z, beta) <= objective(u, z, beta + 1e-6 * move)


def test_extreme_numbers_fit_all_the_same():
    x = np.array([[1e308, -1e308], [1e-308, 0], [1, 1], [0, 0], [3, 1]])
    u, y = normalise(x, np.array([1e308, 1e308, 1.0, 7.0, 2.0]))
    assert np.isfinite(u).all()
    assert np.isfinite(y).all()
    assert np.allclose((u**2).sum(axis=1), [1, 1, 1, 0, 1])
    assert np.isfinite(np.array(minimiser(u, y), float)).all()
    assert minimiser(np.zeros((4, 2)), np.zeros(4)) == (0, 0)


# ----------------------------------------------------------------------------------------------------------- the cells


def test_cells_hold_the_point_and_the_middle_ones_come_first():
    beta, widths = np.array([0.3, -17.0]), np.array([0.25, 2.0])
    found = list(cells([Fraction(b) for b in beta], widths, 4))
    assert len(found) == 16
    for cell in found:
        assert ((cell.low <= beta) & (beta < cell.high)).all()
        assert np.allclose(cell.high - cell.low, widths, rtol=2**-12)
    off = [np.abs((beta - cell.centre) / widths).max() for cell in found]
    assert off == sorted(off)
    assert off[0] <= 1 / 8 + 1e-3
    assert list(cells([Fraction(1e300)], np.array([1e-20]), 2)) == []  # too far from 0


@settings(max_examples=300, deadline=None)
@given(st.fractions(-(10**6), 10**6), st.floats(1e-2, 1e3), st.integers(1, 8), st.integers(-3, 3))
def test_cells_part_the_line_exactly(beta, width, shifts, ulps):
    """A point at, or a hair beside, an end is in the one cell of each shift that holds it; and all parts are floats."""
    for cell in [*cells([beta], np.array([width]), shifts)]:
        low, high = Fraction(cell.low[0]), Fraction(cell.high[0])
        assert low <= beta < high
        assert Fraction(cell.centre[0]) == (low + high) / 2
        assert abs(high - low - Fraction(width)) <= Fraction(width) / 2**13
        point = low + ulps * Fraction(1, 10**40)
        again = [c for c in cells([point], np.array([width]), shifts) if (c.low[0], c.high[0]) == (low, high)]
        assert len(again) == (low <= point < high)


def test_the_noise_is_that_of_the_k_norm_mechanism():
    """The same draws as `k_norm` gives, where the point is a float."""
    box = Box((Fraction(1, 2), Fraction(3)))
    noise = vertex_noise(box, Fraction(2))
    value = noise.grid.points(noise.draw([Fraction(1, 4), Fraction(-5)], ut.SeededEntropy(3)))
    known = k_norm([0.25, -5.0], body=box, sensitivity=1, epsilon=2, entropy=ut.SeededEntropy(3)).value
    assert (value == known).all()


def test_the_certificate_is_sharp_on_many_rows():
    """φ at a point of the boundary, by its definition, is never below it, and somewhere hardly above."""
    x, y = data(3000, 2)
    u, z = normalise(np.column_stack([np.ones(len(y)), x]), y)
    beta = np.array(minimiser(u, z), float)
    cell = GridCell(*(np.round(np.array([beta - 0.15, beta + np.array([0.1, 0.2])]) * 2**20) / 2**20))
    value = Hyperplanes(u, z, cell).certificate(cell)
    t = np.linspace(0, 1, 400)[:, None]
    low, high = cell.low, cell.high
    corners = [low, np.array([high[0], low[1]]), high, np.array([low[0], high[1]])]
    edge = np.vstack([a + t * (b - a) for a, b in zip(corners, corners[1:] + corners[:1], strict=True)])
    d = edge - cell.centre
    d /= np.linalg.norm(d, axis=1)[:, None]
    phi = (-np.sign(z - edge @ u.T) * (d @ u.T)).sum(axis=1)
    assert value <= phi.min() <= value + 6


# --------------------------------------------------------------------------------------------------------- the release


@pytest.mark.parametrize(("outliers", "far"), [(0.0, 0.0), (0.1, 0.2)])
def test_replies_close_to_the_truth(outliers, far):
    x, y = data(20_000, 2, outliers=outliers)
    errors = []
    for seed in range(7):
        r = hampel_regression(x, y, **E1, entropy=ut.SeededEntropy(seed))
        assert r
        assert r.privacy == Privacy(1, 1e-6)
        errors.append(np.abs(r.value - [1, 2]).max())
    assert np.median(errors) < 0.6 + far  # a tenth of outliers moves the median of the errors by 0.14 on its own


def test_more_rows_more_precise():
    x, y = data(200_000, 2)
    r = hampel_regression(x, y, **E1, entropy=ut.SeededEntropy(3))
    low, high = r.interval(0.95)
    assert np.abs(r.value - [1, 2]).max() < 0.1
    assert (np.array(high) - low < 0.2).all()


@pytest.mark.parametrize("p", [1, 3])
def test_other_numbers_of_coefficients(p):
    x, y = data(30_000, max(p, 2))
    r = hampel_regression(x, y if p > 1 else y - 1, **E1, fit_intercept=p > 1, entropy=ut.SeededEntropy(1))
    assert r
    assert r.value.shape == (p,)
    assert np.abs(r.value - np.arange(1, p + 1)[-p:] - (p == 1)).max() < 2.5


def test_the_whole_budget_is_spent_and_no_more():
    assert SCALES + sum(part for part, _ in RUNGS) == Fraction(3, 5)
    x, y = data(20_000, 2)
    for options in ({}, {"adjacency": ut.ADD_REMOVE}, {"rows_per_person": 2}):
        r = hampel_regression(x, y, epsilon=2, delta=1e-6, **options, entropy=ut.SeededEntropy(4))
        assert r
        assert r.privacy == cost(r.loss, r.privacy.adjacency)
        assert (r.privacy.exact_epsilon, r.privacy.exact_delta) == (2, Fraction(1, 10**6))


def test_no_reply_costs_the_tests_and_too_few_rows_cost_nothing():
    x, y = data(300, 2)
    r = hampel_regression(x, y, **E1)
    assert not r
    assert (r.privacy.epsilon, r.privacy.delta) == (0, 0)
    assert r.advice.n > 300
    torn = np.random.default_rng(0).choice([-1e6, 1e6], size=8000)  # the intercept's median is anywhere in between
    r = hampel_regression(np.zeros((8000, 1)), torn, **E1, entropy=ut.SeededEntropy(1))
    assert not r
    assert r.privacy.exact_epsilon == SCALES + sum(part for part, _ in RUNGS)
    assert r.advice == hampel_regression(np.zeros((8000, 1)), torn * 0 + np.arange(8000) % 2, **E1).advice


def test_more_than_four_coefficients_get_no_reply_for_free():
    x, y = data(2000, 5)
    for r in (hampel_regression(x, y, **E1), R_H(np.column_stack([x, y]), y, 1)):
        assert not r
        assert (r.privacy.epsilon, r.privacy.delta, r.loss) == (0, 0, None)
        assert "short-cut regression" in str(r.advice)
    assert hampel_regression(x[:, :3], y, **E1).advice.n > 2000  # four are too many for so few rows only


def test_rows_that_choose_their_blocks_are_seated_alike_in_whichever_order_they_come():
    """Blocks have a public width and lose no row but in a crowd; one row that goes changes its own block only."""
    rng = np.random.default_rng(1)
    data = finite(rng.integers(-1, 2, (3000, 1)) * -1.0, rng.integers(-1, 2, 3000) / 2, True)
    rows, chosen = np.arange(3000), rng.integers(0, 1500, 3000)
    wide = seat_rows(data, rows, chosen, 1500, 16)
    assert wide.shape == (1500, 16)
    assert sorted(wide[wide >= 0]) == list(range(3000))
    assert (seat_rows(data, rows, chosen, 1500, 1)[:, 0] == wide[:, 0]).all()

    def lines(members):
        return [np.where(members >= 0, column[members].view(np.int64), 7) for column in (data.x[:, 1].copy(), data.y)]

    order = rng.permutation(3000)
    for one, other in zip(lines(wide), lines(seat_rows(data, rows[order], chosen[order], 1500, 16)), strict=True):
        assert (one == other).all()
    fewer = seat_rows(data, order[1:], chosen[order[1:]], 1500, 16)
    changed = [np.flatnonzero((one != other).any(axis=1)) for one, other in zip(lines(wide), lines(fewer), strict=True)]
    assert set(np.concatenate(changed)) == {chosen[order[0]]}


def test_exact_data_has_scale_zero_and_replies():
    x, _ = data(20_000, 2)
    r = hampel_regression(x, 1 + 2 * x[:, 0], **E1, entropy=ut.SeededEntropy(1))
    assert r
    assert np.abs(r.value - [1, 2]).max() < 0.5


def test_broken_rows_are_named_or_left_out():
    x, y = data(20_000, 2)
    y[:50] = np.nan
    with pytest.raises(ut.InvalidArgument, match="X and y must be free of NaN"):
        hampel_regression(x, y, **E1)
    assert hampel_regression(x, y, **E1, missing="drop", entropy=ut.SeededEntropy(1))


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"delta": 0}, "delta"),
        ({"missing": "low"}, "missing"),
        ({"rows_per_person": 0}, "rows_per_person"),
        ({"adjacency": "substitute"}, "adjacency"),
        ({"y": np.zeros(3)}, "y"),
        ({"x": np.zeros((20, 1), dtype=complex)}, "X"),
    ],
)
def test_misuse_names_the_argument_and_draws_nothing(change, name):
    entropy = CountingEntropy()
    options = {"x": np.zeros((20, 1)), "y": np.zeros(20), **E1, "entropy": entropy, **change}
    with pytest.raises(ut.InvalidArgument) as caught:
        hampel_regression(options.pop("x"), options.pop("y"), **options)
    assert caught.value.name == name
    assert entropy.taken == 0


# ---------------------------------------------------------------------------------------------------------- the papers


@pytest.mark.parametrize("p", [1, 2, 3])
def test_the_papers_regressions_cost_what_the_repaired_theorems_say(p):
    x, y = data(60_000, max(p, 2))
    design = np.column_stack([np.ones(len(y)), x])[:, -p:]
    seeded = {"delta": 1e-6, "entropy": ut.SeededEntropy(2)}
    short, robust = R_S(design, y, 1, **seeded), R_H(design, y, 1, **seeded)
    assert short.privacy == Privacy(4 * p, Fraction(4 * p, 10**6)) == cost(short.loss)
    assert robust.privacy == Privacy(2 * p + 2**p, Fraction(2 * p + 2**p, 10**6)) == cost(robust.loss)
    assert not short.private
    truth = np.arange(1, p + 1) if p > 1 else [2]
    assert np.abs(short.value - truth).max() < 1.5
    assert np.abs(robust.value - truth).max() < 2.5


def test_the_papers_thresholds_give_the_delta_of_their_tails():
    x, y = data(40_000, 2)
    design = np.column_stack([np.ones(len(y)), x])
    r = R_H(design, y, 1, entropy=ut.SeededEntropy(1))
    assert r.privacy.epsilon == 8
    assert 0 < r.privacy.delta < 1e-20
    assert R_S(design, y, 1, entropy=ut.SeededEntropy(1)).privacy.epsilon == 8


def test_few_rows_are_answered_or_refused():
    x, y = data(50, 2)
    r = R_H(np.column_stack([np.ones(50), x]), y, 200, delta=0.01, entropy=ut.SeededEntropy(1))
    assert r.privacy == cost(r.loss)
    assert R_H(np.ones((2, 1)), np.zeros(2), 1, delta=1e-6).privacy.epsilon == 0
    assert R_S(np.ones((3, 2)), np.zeros(3), 1, delta=1e-6).advice.n >= 6
    noise = R_H(np.column_stack([np.ones(50), x]), y, 1, delta=1e-6, entropy=ut.SeededEntropy(1))
    assert not noise
    assert noise.advice.n >= 100


@pytest.mark.parametrize("run", [R_S, R_H])
def test_the_papers_misuse(run):
    for change, name in (({"eps": 0}, "eps"), ({"delta": 2}, "delta"), ({"D_y": np.zeros(3)}, "y")):
        options = {"D_x": np.ones((20, 2)), "D_y": np.zeros(20), "eps": 1, "delta": 1e-6} | change
        with pytest.raises(ut.InvalidArgument) as caught:
            run(**options)
        assert caught.value.name == name


def test_the_limit_on_rows_is_no_error_where_their_number_is_secret(monkeypatch):
    monkeypatch.setattr("uptack.papers.hampel.LARGEST", 1000)
    x = np.random.default_rng(1).normal(size=1500)
    with pytest.raises(ut.InvalidArgument, match="at most 1000 rows"):
        hampel_regression(x, x, epsilon=1, delta=1e-6)
    refused = hampel_regression(x, x, epsilon=1, delta=1e-6, adjacency=ut.ADD_REMOVE)
    assert not refused
    assert refused.privacy.epsilon == 0.1  # the number of rows was paid for
