"""Frames and sums over them, on tiny universes: scores, sensitivities and laws by brute force."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from tests.helpers import people_column
from uptack.mechanisms.inverse_sensitivity import WeightedCandidates, decay
from uptack.noise import SeededEntropy
from uptack.statistics import moments
from uptack.statistics.means import fourth_powers
from uptack.statistics.moments import (
    Tails,
    cell_weight,
    cells,
    checked_rows,
    count_weight,
    diameter,
    in_frame,
    sensitivity,
    sides,
    whole_numbers,
)
from uptack.table.memory.table import as_column
from uptack.table.unit import U as UNIT

VALUES = (-3.0, 0.0, 0.75, 5.0)
ROWS, LEFT_OUT = 6, 2
TABLES = list(itertools.combinations_with_replacement(VALUES, ROWS))


def replaced(table):
    """Tables with one row replaced."""
    for i, v in itertools.product(range(len(table)), VALUES):
        yield tuple(sorted((*table[:i], v, *table[i + 1 :])))


def removed(table):
    """Tables with one row fewer."""
    return {table[:i] + table[i + 1 :] for i in range(len(table))}


def read(table, n=ROWS, left_out=LEFT_OUT):
    """Both ends of a table, as a release with n public rows reads them."""
    depth = 2 * left_out + 1 + max(len(table) - n, 0)
    return Tails.read(as_column("x", np.array(table)), max(n - 2 * left_out + 1, 1), depth, (n + 1) // 2)


@pytest.fixture
def few(monkeypatch):
    """Cells of a few sizes only."""
    monkeypatch.setattr(moments, "EXPONENTS", (-2, 3))


def brute(table, n=ROWS, left_out=LEFT_OUT):
    """The scores of all cells near the table, by the definition."""

    def out(i, j):
        return n - sum(i * 2.0**j <= x < (i + 2) * 2.0**j for x in table)

    found = {}
    for j in range(-2, 4):
        for i in range(-60, 61):
            around_zero = [-1] if 0 in (i, i + 2) else []  # of the cells that end there
            smaller = [*(2 * i + k for k in range(3)), *around_zero]
            least = left_out + 1 if j == -2 else min(out(k, j - 1) for k in smaller)
            found[i, j] = min(max(0, out(i, j) - left_out, left_out + 1 - least), left_out)
    return found


def test_the_weights_of_all_cells_add_up_to_one():
    for blocks in (1, 3, 6):
        places = range(1 - (1 << blocks), (1 << blocks) - 2)  # all i of the first blocks
        assert sum(cell_weight(i, 0) for i in places) == Fraction(1, 2) * (1 - Fraction(1, blocks + 1))
    sizes = sum(2 * cell_weight(-1, j) for j in range(-9, 10))
    assert sizes == 1 - Fraction(1, 11)


def test_the_listed_cells_are_all_that_score_low(few):
    for table in TABLES:
        listed = cells(read(table), ROWS, LEFT_OUT)
        wanted = {cell: score for cell, score in brute(table).items() if score < LEFT_OUT}
        assert dict(zip(listed.keys, listed.scores.tolist(), strict=True)) == wanted
        assert listed.rest == 1 - sum(map(cell_weight, *zip(*wanted, strict=True))) if wanted else 1


@pytest.mark.parametrize("n", [ROWS, ROWS + 2, ROWS + 3])
@pytest.mark.parametrize("far", [8.0, 1e9, -1e60, 2.0**255, 2.0**256, 1e300])
def test_a_row_that_goes_far_away_moves_no_score_by_more_than_one(far, n):
    """Among all widths: also cells wider than all rows, which are not looked at one by one. They matter where n is more
    than the rows: those that are not there lie outside of every cell.
    """
    for table in TABLES[::3]:
        near, away = (cells(read(rows, n), n, LEFT_OUT) for rows in (table, tuple(sorted((*table[1:], far)))))
        assert near.move(away, Fraction(1, 2)) <= 1


@pytest.mark.parametrize("n", [5, 6, 7])
def test_a_noisy_number_of_rows_lists_the_same(few, n):
    for table in TABLES[::3]:
        listed = cells(read(table, n), n, LEFT_OUT)
        wanted = {cell: score for cell, score in brute(table, n).items() if score < LEFT_OUT}
        assert dict(zip(listed.keys, listed.scores.tolist(), strict=True)) == wanted


def law(made, rho):
    """The exact law of a draw."""
    weights = [p * rho**s for p, s in zip(made.weights, made.scores.tolist(), strict=True)]
    found = dict(zip(made.keys, weights, strict=True)) | {None: made.rest * rho**made.most}
    total = sum(found.values())
    return {key: weight / total for key, weight in found.items()}


def test_anchors_are_private(few):
    """The chance of every listed cell, of ⊥, and of any cell that is ⊥ on one side only, within e^ε = 1/ρ²."""
    rho = Fraction(2, 3)
    laws = {table: cells(read(table), ROWS, LEFT_OUT) for table in TABLES}
    smaller = {t: cells(read(t), ROWS, LEFT_OUT) for table in TABLES for t in removed(table)}
    exact = {table: law(made, rho) for table, made in (laws | smaller).items()}
    pairs = [(t, other) for t in TABLES for other in (*replaced(t), *removed(t))]
    worst = 1
    for t, other in pairs:
        p, q = exact[t], exact[other]
        for cell in p.keys() & q.keys():
            if cell is not None:
                worst = max(worst, p[cell] / q[cell], q[cell] / p[cell])
        alone = sum(p[c] for c in p.keys() - q.keys()), sum(q[c] for c in q.keys() - p.keys())
        ends = p[None] + alone[0], q[None] + alone[1]  # ⊥ of the one holds the cells that only the other tells apart
        worst = max(worst, ends[0] / ends[1], ends[1] / ends[0])
        assert p[None] <= q[None] / rho**2
        assert q[None] <= p[None] / rho**2
    assert 1 / rho < worst <= 1 / rho**2


def test_sides_count_the_rows_outside_and_move_by_one():
    far = moments._side_weights(4)[0]
    moved = 0
    for table in TABLES:
        made = sides(read(table), 1.0, 2.0, LEFT_OUT, 4)
        for (k, j), score in zip(made.keys[::97], made.scores[::97], strict=True):
            below, above = sum(x < 1 - 2 * far[k] for x in table), sum(x > 1 + 2 * far[j] for x in table)
            assert score == min(below, 2 * LEFT_OUT) + min(above, 2 * LEFT_OUT)
        for other in (*replaced(table), *removed(table)):
            change = np.abs(sides(read(other), 1.0, 2.0, LEFT_OUT, 4).scores - made.scores).max()
            moved = max(moved, change)
    assert moved == 1


def shown(table, rank, spare, low=-1.0, high=3.0):
    """What the check looks at, and the same by its definition."""
    inside = [x for x in table if low <= x <= high]
    tie = sorted(table)[rank - 1] if rank <= len(table) else math.inf
    found = checked_rows(len(table), len(inside), sum(x == tie for x in inside), rank, spare)
    fewest = len(inside) - max(Counter(inside).values(), default=0)
    outside = len(table) - len(inside)
    return found, min(fewest, rank - outside, len(inside) - rank + 1, spare - outside)


@pytest.mark.parametrize(("rank", "spare"), [(3, 2), (3, 9), (2, 9), (5, 3), (8, 9)])
def test_the_check_sees_the_fewest_rows_beside_one_value(rank, spare):
    values = {t: shown(t, rank, spare) for table in TABLES for t in (table, *removed(table))}
    assert all(found == wanted for found, wanted in values.values())
    for table in TABLES:
        for other in (*replaced(table), *removed(table)):
            assert abs(values[table][0] - values[other][0]) <= 1


@pytest.mark.parametrize("power", [-2, -1, 0, 1, 2])
def test_two_rows_are_as_far_apart_as_is_said(power):
    bits = 6
    one = 1 << bits
    a, q = whole_numbers(np.arange(-one, one + 1) / one, power, bits)
    apart = np.abs(a[:, None] - a) + np.abs(q[:, None] - q)
    assert diameter(power) * one - 3 <= apart.max() <= sensitivity(power, True, one=one)
    length = (np.abs(a) + q).max()
    assert length == sensitivity(power, False, one=one)
    assert length + 5 == sensitivity(power, False, 5, one)
    assert (
        sensitivity(power, True, 10 * one, one) == length + 10 * one
    )  # a row may come in place of one without a value


def test_every_float_has_numbers_within_range():
    frame = moments.ColumnFrame(1e300, 1e290, 1e295, 3.0)
    for x in (0.0, 1e300, -1.7e308, 1.7e308, 5e-324):
        a, q = whole_numbers(in_frame(np.array([x]), frame), 1)
        assert abs(a[0]) <= 1 << 24
        assert 0 <= q[0] <= 2 << 24
        assert 0 <= fourth_powers(np.array([x]), frame.low, frame.high, frame.centre, frame.half)[0] <= 1 << 24
    assert count_weight(moments.ColumnFrame(1e9, 1.0, 1.0, 1.0), -2) <= 64 << 24


PEOPLE = [(0.0,), (5.0,), (0.0, 5.0), (-3.0, 0.75), (0.75, 0.75, 5.0)]


def of_people(people, at_most=None):
    """A column of people's rows."""
    rows = np.array([x for person in people for x in person])
    codes = np.repeat(np.arange(len(people)), [len(person) for person in people])
    return people_column(rows, codes, len(people), at_most)


def peoples_tails(people):
    return Tails.read(of_people(people), ROWS - 2 * LEFT_OUT + 1, 9, 3)


def test_a_person_moves_all_scores_by_one_at_most(few):
    some = list(itertools.combinations_with_replacement(PEOPLE, 4))[::4]
    for people in some:
        base = [*people, PEOPLE[0], PEOPLE[2]]
        one, made = cells(peoples_tails(base), ROWS, LEFT_OUT), sides(peoples_tails(base), 1.0, 2.0, LEFT_OUT, 4)
        mine = dict(zip(one.keys, one.scores.tolist(), strict=True))
        for person in PEOPLE:
            other = [person, *base[1:]]
            two = cells(peoples_tails(other), ROWS, LEFT_OUT)
            theirs = dict(zip(two.keys, two.scores.tolist(), strict=True))
            moves = [mine.get(c, LEFT_OUT) - theirs.get(c, LEFT_OUT) for c in {**mine, **theirs}]
            assert max(map(abs, moves), default=0) <= 1
            assert np.abs(sides(peoples_tails(other), 1.0, 2.0, LEFT_OUT, 4).scores - made.scores).max() <= 1


@pytest.mark.parametrize("at_most", [None, 2])
def test_people_inside_are_counted_in_units(at_most):
    for people in itertools.product(PEOPLE, repeat=3):
        data = of_people(people, at_most)
        inside, outside, largest = data.mass(-1.0, 3.0)
        share = [Fraction(1, len(p) if at_most is None else max(len(p), at_most)) for p in people]
        rows = [(x, s) for person, s in zip(people, share, strict=True) for x in person]
        held = [s for x, s in rows if -1 <= x <= 3]
        by_value = Counter()
        for x, s in rows:
            by_value[x] += s if -1 <= x <= 3 else 0
        assert (inside, outside) == (sum(held) * UNIT, sum(s for _, s in rows) * UNIT - sum(held) * UNIT)
        assert largest == max(by_value.values()) * UNIT
        means = [sum(p) / (len(p) if at_most is None else max(len(p), at_most)) for p in people]
        assert data.person_means(lambda x: x).tolist() == pytest.approx(means)


def test_draws_follow_the_weights():
    made = WeightedCandidates(["a", "b"], (Fraction(1, 2), Fraction(1, 8)), np.array([3, 0]), Fraction(3, 8), 4)
    rho, bits, draws = decay(Fraction(1)), SeededEntropy(5), 3000
    seen = Counter(made.draw(rho, bits) for _ in range(draws))
    counts = [seen[key] for key in ("a", "b", None)]
    for rate, accepted in ((rho, True), (rho**2, False)):
        exact = law(made, rate)
        expected = [float(exact[key]) * draws for key in ("a", "b", None)]
        assert bool(stats.chisquare(counts, expected).pvalue > 1e-7) is accepted


def test_rows_below_zero_make_no_cell_of_any_size_an_anchor():
    """0 ends cells of all sizes. With as many rows below it as an anchor leaves out, each would have a score near 0."""
    left_out, rows = 20, np.linspace(1.0, 9.0, 180)
    for below in (left_out - 3, left_out, left_out + 3):
        listed = cells(read((*[-1.0] * below, *rows), below + rows.size, left_out), below + rows.size, left_out)
        assert 0 < len(listed.keys) < 30
        assert max(j for _, j in listed.keys) <= 6
