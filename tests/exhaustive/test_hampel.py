"""The certificate of R_H against brute force, its constant, attacks on it, and the law of its test."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from flint import ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import lsq_linear

from uptack.exact import ball
from uptack.papers.regression import Q_2
from uptack.privacy import loss
from uptack.reach.hampel import Cell, Hyperplanes
from uptack.regression.hampel import LONGER, RowTest, cells
from uptack.regression.hampel import around as box_around
from uptack.regression.hampel_fit import minimise, minimiser, normalised
from uptack.regression.vertex import vertex

NEAR = 1e-9
"""More than the certificate takes off for rounding at these n."""


def certificate(u, y, cell):
    return Hyperplanes(u, y, cell).certificate(cell)


def shortest(u, y, beta):
    """The length of the shortest subgradient at a point."""
    r = y - u @ beta
    on = (np.abs(r) <= 1e-9 * (1 + np.abs(y))) & u.any(axis=1)
    g = -np.where(on, 0.0, np.sign(r)) @ u
    return np.linalg.norm(lsq_linear(u[on].T, -g, (-1, 1), method="bvls").fun) if on.any() else np.linalg.norm(g)


def brute_force(u, y, cell):
    """The least of these over the vertices of the arrangement of all rows and the cell's sides, outside or on the
    boundary: each face of it, on which subgradients are the same, has a vertex with more of them."""
    p = u.shape[1]
    planes, at = np.vstack([u[u.any(axis=1)], np.eye(p), np.eye(p)]), np.r_[y[u.any(axis=1)], cell.low, cell.high]
    points = []
    for chosen in itertools.combinations(range(len(at)), p):
        if abs(np.linalg.det(planes[list(chosen)])) > 1e-9:
            point = np.linalg.solve(planes[list(chosen)], at[list(chosen)])
            if ((point <= cell.low + 1e-9) | (point >= cell.high - 1e-9)).any():
                points.append(point)
    points = np.unique(np.round(points, 9), axis=0)
    r = y - points @ u.T
    doubt = np.abs(r) <= 1e-8
    bound = np.linalg.norm(np.where(doubt, 0, np.sign(r)) @ u, axis=1) - doubt.sum(axis=1)
    least = np.inf
    for point, floor in sorted(zip(points.tolist(), bound, strict=True), key=lambda pair: pair[1]):
        if floor >= least:
            break
        least = min(least, shortest(u, y, np.array(point)))
    return least


def sample(rng, n, p, kind):
    x = np.column_stack([np.ones(n), rng.normal(size=(n, p - 1))]) if p > 1 else rng.normal(size=(n, 1))
    y = x.sum(axis=1) + 0.3 * rng.normal(size=n)
    if kind == "ties":
        x, y = rng.integers(-2, 3, size=(n, p)).astype(float), rng.integers(-1, 2, size=n).astype(float)
    if kind == "duplicates":
        x[: n // 2], y[: n // 2] = x[0], y[0]
    if kind == "outliers":
        y[: n // 5] = 1e6
    return normalised(x, y)


def around(rng, beta, kind):
    """A cell that holds β, with sides on the grid of the ties if there are ties."""
    low, high = rng.uniform(0.2, 2, beta.size), rng.uniform(0.2, 2, beta.size)
    if kind == "ties":
        return Cell(np.floor(beta - low), np.floor(beta + high) + 1.0)
    return Cell(beta - low, beta + high)


CASES = [(1, 20, 20), (2, 8, 40), (2, 30, 20), (3, 6, 15), (3, 12, 6)]


@pytest.mark.parametrize("kind", ["normal", "ties", "duplicates", "outliers"])
@pytest.mark.parametrize(("p", "n", "times"), CASES)
def test_the_certificate_is_at_most_the_exhaustive_answer(p, n, times, kind):
    rng, values = np.random.default_rng(7 * n + p), []
    for _ in range(times):
        u, y = sample(rng, n, p, kind)
        cell = around(rng, minimise(u, y).beta, kind)
        found, exact = certificate(u, y, cell), brute_force(u, y, cell)
        assert found <= exact
        values.append((found, exact))
        if p <= 2:
            assert Q_2(u, y, cell) == math.ceil(exact - 1e-7)
            assert found <= Q_2(u, y, cell)
    if kind == "normal" and p <= 2:  # and it is not much less
        assert sum(a for a, _ in values) > 0.5 * sum(b for _, b in values)


@pytest.mark.parametrize("kind", ["normal", "ties"])
def test_for_one_coefficient_it_is_exact(kind):
    rng = np.random.default_rng(3)
    for _ in range(20):
        u, y = sample(rng, 15, 1, kind)
        cell = around(rng, minimise(u, y).beta, kind)
        assert certificate(u, y, cell) == pytest.approx(brute_force(u, y, cell), abs=NEAR)


# ---------------------------------------------------------------------------------------------------- the exact vertex


def determinant(m):
    """By Laplace's expansion."""
    if not m:
        return Fraction(1)
    return sum((-1) ** j * m[0][j] * determinant([r[:j] + r[j + 1 :] for r in m[1:]]) for j in range(len(m)))


def exact_objective(u, y, beta):
    rows = ((map(Fraction, r), Fraction(t)) for r, t in zip(u.tolist(), y.tolist(), strict=True))
    return sum((abs(t - sum(a * b for a, b in zip(r, beta, strict=True))) for r, t in rows), Fraction(0))


def exact_least(u, y):
    """The least sum over all vertices of the rows and the planes β_j = 0: some minimiser is one of them."""
    p = u.shape[1]
    planes = [[*map(Fraction, r)] for r in np.vstack([u, np.eye(p)]).tolist()]
    at, sums = [*map(Fraction, y.tolist()), *[Fraction(0)] * p], []
    for chosen in itertools.combinations(range(len(at)), p):
        m = [planes[i] for i in chosen]
        if (d := determinant(m)) != 0:
            cramer = [[[*r[:j], at[i], *r[j + 1 :]] for r, i in zip(m, chosen, strict=True)] for j in range(p)]
            sums.append(exact_objective(u, y, [determinant(c) / d for c in cramer]))
    return min(sums)


HOSTILE = {
    "normal": lambda rng, x, y: (x, y),
    "ties": lambda rng, x, y: (rng.integers(-2, 3, x.shape) * 1.0, rng.integers(-2, 3, y.size) * 1.0),
    "huge and tiny": lambda rng, x, y: (
        x * 10.0 ** rng.integers(-300, 300, x.shape),
        y * 10.0 ** rng.integers(-300, 300, y.size),
    ),
    "wide": lambda rng, x, y: (10.0 ** rng.integers(-9, 9, x.shape), y * 10.0 ** rng.integers(-9, 9, y.size)),
    "duplicates": lambda rng, x, y: (x[np.arange(y.size) // 2], y[np.arange(y.size) // 2]),
    "zero rows": lambda rng, x, y: (x * (np.arange(y.size) % 3 > 0)[:, None], y),
    "rank one": lambda rng, x, y: (np.outer(rng.integers(-2, 3, y.size), np.arange(1, x.shape[1] + 1.0)), y),
    "nearly rank one": lambda rng, x, y: (x[:, :1] + 2.0 ** -rng.integers(20, 52) * rng.integers(-1, 2, x.shape), y),
    "exact": lambda rng, x, y: (x, x.sum(axis=1)),
}


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("p", [1, 2, 3])
def test_the_vertex_is_a_minimiser_on_every_table(kind, p):
    rng = np.random.default_rng(p)
    for _ in range(24):
        n = int(rng.integers(0, 9 if p < 3 else 8))
        u, y = normalised(*HOSTILE[kind](rng, rng.normal(size=(n, p)), rng.normal(size=n)))
        least = exact_least(u, y)
        assert exact_objective(u, y, minimiser(u, y)) == least
        assert exact_objective(u, y, vertex(u, y)) == least  # from any rows
        assert exact_objective(u, y, vertex(u, y, guesses=False)) == least  # Bland's rule alone
        assert exact_objective(u, y, vertex(u, y, np.full(p, 1e300), guesses=False)) == least


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("p", [1, 2, 3])
def test_a_cell_certified_for_more_than_delta_holds_the_neighbours_fits(kind, p):
    """A of a table and of its neighbour differ by at most 2; above 2 the fit of the neighbour is in the same cell."""
    rng, sure = np.random.default_rng(10 + p), 0
    for _ in range(12):
        n = int(rng.integers(8, 25))
        x, y = HOSTILE[kind](rng, rng.normal(size=(n, p)), rng.normal(size=n) / 8)
        other_x, other_y = x.copy(), y.copy()
        other_x[-1], other_y[-1] = rng.normal(size=p), rng.choice([1e9, -1e9, 0.0])
        widths = np.full(p, rng.choice([0.5, 4.0, 64.0, 1e4]))
        tables = [normalised(x, y), normalised(other_x, other_y)]
        fits = [minimiser(*t) for t in tables]
        families = [[*cells(fit, widths, 2)] for fit in fits]
        a = [certificates(*t, family) for t, family in zip(tables, families, strict=True)]
        assert abs(max(a[0].values(), default=0) - max(a[1].values(), default=0)) <= 2 + NEAR
        for one, two in ((a[0], a[1]), (a[1], a[0])):
            for cell, value in one.items():
                sure += value > 2 + NEAR
                assert value <= 2 + NEAR or abs(two[cell] - value) <= 2 + NEAR
    assert sure or kind != "normal"


def certificates(u, y, family):
    planes = Hyperplanes(u, y, box_around(family)) if family else None
    return {(*c.low, *c.high): planes.certificate(c) for c in family}


# -------------------------------------------------------------------------------------------------------- the constant

ENTRY = st.sampled_from([-2.0, -1.0, 0.0, 0.5, 1.0, 3.0, 1e-8, 1e8])
VALUE = st.sampled_from([-1.0, 0.0, 1.0, 2.0, 0.3, 1e9, -1e-9])


@st.composite
def tables(draw):
    p = draw(st.sampled_from([1, 2, 2, 3]))
    row = st.tuples(*[ENTRY] * p, VALUE)
    low = [draw(st.sampled_from([-2.0, -1.0, -0.7])) for _ in range(p)]
    high = [draw(st.sampled_from([0.3, 1.0, 2.0])) for _ in range(p)]
    rows = draw(st.lists(row, min_size=1, max_size=12))
    return np.array(rows), np.array(draw(row)), Cell(np.array(low), np.array(high))


def of(rows, cell):
    return certificate(*normalised(rows[:, :-1], rows[:, -1]), cell)


@settings(max_examples=250, deadline=None)
@given(tables())
def test_a_row_moves_the_certificate_by_at_most_one_and_a_replaced_one_by_two(case):
    rows, extra, cell = case
    value = of(rows, cell)
    assert abs(of(np.vstack([rows, extra]), cell) - value) <= 1 + NEAR
    assert abs(of(np.vstack([rows[1:], extra]), cell) - value) <= 2 + NEAR
    assert of(rows[::-1], cell) == pytest.approx(value, abs=NEAR)


@settings(max_examples=60, deadline=None)
@given(tables(), st.floats(0.001, 12))
def test_holds_is_the_certificate_and_no_more_work_than_needed(case, rows):
    table, _, cell = case
    u, y = normalised(table[:, :-1], table[:, -1])
    value = certificate(u, y, cell)
    if abs(value - rows) > NEAR:
        assert Hyperplanes(u, y, cell).holds(cell, rows) == (value >= rows or rows <= 0)


def test_rows_of_zeros_count_for_nothing():
    rng = np.random.default_rng(1)
    u, y = sample(rng, 20, 2, "normal")
    cell = Cell(np.zeros(2), np.full(2, 2.0))
    more = certificate(np.vstack([u, np.zeros((5, 2))]), np.r_[y, np.zeros(5)], cell)
    assert more == pytest.approx(certificate(u, y, cell), abs=NEAR)


# ------------------------------------------------------------------------------------------------------------- attacks


@pytest.mark.parametrize("p", [1, 2, 3])
def test_no_minimiser_leaves_before_so_many_rows_have_changed(p):
    """Added rows pull as in Lemma 22, to points outside and beyond; rows that pull back most are removed."""
    rng = np.random.default_rng(p)
    tried, left = 0, 0
    for _ in range(25):
        u, y = sample(rng, 14, p, "normal")
        cell = around(rng, minimise(u, y).beta, "normal")
        value = certificate(u, y, cell)
        for _ in range(12):
            out = rng.uniform(cell.low, cell.high)
            axis = rng.integers(p)
            out[axis] = rng.choice([cell.low[axis] - 0.01, cell.high[axis] + 0.01])
            pull = np.sign(y - u @ out) @ u
            k = rng.integers(0, 12)
            removed = rng.integers(0, k + 1)
            order = np.argsort((np.sign(y - u @ out)[:, None] * u) @ -pull)  # the strongest pull back first
            rows = np.tile(-pull / max(np.linalg.norm(pull), 1e-9), (k - removed, 1))
            v, z = np.vstack([u[order[removed:]], rows]), np.r_[y[order[removed:]], rows @ out + 3]
            beta = minimise(v, z).beta
            escaped = bool(((beta < cell.low) | (beta >= cell.high)).any())
            assert not (escaped and k < value)
            tried, left = tried + 1, left + escaped
    assert 0.1 * tried < left < 0.9 * tried  # the attacks are no straw men


# ------------------------------------------------------------------------------------------- the test's law, universe

ROWS = [(1.0, 0.0, 0.0), (1.0, 0.0, 1.0), (0.0, 1.0, 0.0), (0.0, 1.0, 3.0), (1.0, 1.0, 1.0), (0.0, 0.0, 5.0)]
SIZE = 5


@pytest.mark.parametrize("width", [0.9, 2.5, 8.0])
def test_the_test_is_private(width):
    """A moves by at most Δ; where a neighbour's fit is not within h, A ≤ Δ; so p ≤ e^ε·p', and p ≤ δ there."""
    test = RowTest(loss.Test(Fraction(1), Fraction(1, 20)), 2)
    widths = np.full(2, width)
    a, fits = {}, {}
    for table in itertools.combinations_with_replacement(range(len(ROWS)), SIZE):
        rows = np.array([ROWS[i] for i in table])
        u, y = normalised(rows[:, :2], rows[:, 2])
        fits[table] = minimiser(u, y)
        a[table] = math.floor(1024 * max(0.0, *(certificate(u, y, cell) for cell in cells(fits[table], widths, 2))))
    pairs, exposed = set(), set()
    for table in a:
        for i, row in itertools.product(range(SIZE), range(len(ROWS))):
            other = tuple(sorted((*table[:i], row, *table[i + 1 :])))
            pairs.add((a[table], a[other]))
            if any(abs(b - c) > width * (1 + LONGER) for b, c in zip(fits[table], fits[other], strict=True)):
                exposed.add(a[table])
    assert max(abs(k - m) for k, m in pairs) <= test.sensitivity
    assert max(exposed, default=0) <= test.sensitivity
    threshold = test.sensitivity + test.noise.cutoff(test.test.delta)
    with ctx.workprec(120):
        rise = ball(Fraction(1)).exp() * (1 + ball(Fraction(1, 2**80)))
        chance = {k: test.noise.exact_tail(threshold - k).expression() for k in set(a.values())}
        for k, m in pairs:
            assert chance[k] <= rise * chance[m]
            assert 1 - chance[k] <= rise * (1 - chance[m])
        assert test.noise.exact_tail(threshold - test.sensitivity) <= test.test.delta
