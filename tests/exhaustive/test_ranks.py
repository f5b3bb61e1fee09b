"""Rank statistics and contrasts on whole tiny universes: whatever one row becomes, the loss is within ε."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

import uptack as ut
from tests.exhaustive.test_inverse import LATTICE, assert_private, law
from uptack.account import observed_by
from uptack.mechanisms.inverse_sensitivity import Refusal, boxes, decay
from uptack.noise import IntegerLaplace
from uptack.ranks import pair_counts
from uptack.ranks.null_laws import RankSum, mann_whitney_sum, signed_rank_sum, tail
from uptack.ranks.pair_counts import concordance, exceedance, net_counts, smaller_before, square_sum
from uptack.ranks.rank_tests import noisy_p_value, ranks_without_ties
from uptack.ranks.superiority import weight
from uptack.reach.differences import Difference, PairwiseShift
from uptack.reach.l_statistics import quantile_rank

EPSILON = Fraction(100)
NAN = float("nan")


@pytest.fixture
def spied():
    """Runs a release without noise, and returns all that would have got some, each with the scale of its noise."""

    def run(function, *arguments, **options):
        seen = []

        def spy(mechanism, value, draw):
            seen.extend((int(number), Fraction(mechanism.law.scale)) for number in value)
            return value

        with observed_by(spy):
            function(*arguments, epsilon=EPSILON, **options)
        return tuple(seen)

    return run


def lost(one, other):
    """Σ |v - v'|/scale over everything that got noise. What one of them did not reach has not been released."""
    reached = list(zip(one, other, strict=False))
    assert reached
    assert all(scale == same for (_, scale), (_, same) in reached)
    return sum(Fraction(abs(v - w)) / scale for (v, scale), (w, _) in reached)


def substituted(table, rows):
    return [(*table[:i], row, *table[i + 1 :]) for i in range(len(table)) for row in rows]


def measured(spied, function, tables, **options):
    return {table: spied(function, *map(list, zip(*table, strict=True)), **options) for table in tables}


# ---------------------------------------------------------------------------------------------------------- Kendall's τ

POINTS = list(itertools.product((0.0, 1.0, 2.0), repeat=2))


def tables(rows, n):
    return [tuple(sorted(t)) for t in itertools.combinations_with_replacement(sorted(rows), n)]


@pytest.mark.parametrize("missing", ["error", "drop"])
def test_tau_of_a_public_number_of_rows(spied, missing):
    rows = POINTS if missing == "error" else [*POINTS[::2], (9.0, -1.0)]
    gone = (-1.0, -1.0)

    def released(x, y, **given):
        x = [NAN if (a, b) == gone else a for a, b in zip(x, y, strict=True)]
        return ut.kendall_tau(x, y, **given)

    rows = rows if missing == "error" else [*rows, gone]
    found = measured(spied, released, tables(rows, 4), missing=missing)
    losses = [
        lost(mine, found[tuple(sorted(other))]) for table, mine in found.items() for other in substituted(table, rows)
    ]
    assert max(losses) <= EPSILON
    assert max(losses) > EPSILON * Fraction(3, 5)  # and no more noise than must be


def test_tau_of_a_secret_number_of_rows(spied):
    rows = POINTS[::2]
    options = {"adjacency": ut.ADD_REMOVE}
    found = {}
    for n in (1, 2, 3, 4, 5):
        found |= measured(spied, ut.kendall_tau, tables(rows, n), **options)
    losses = [
        lost(found[table[:i] + table[i + 1 :]], mine)
        for table, mine in found.items()
        if len(table) > 1
        for i in range(len(table))
    ]
    assert max(losses) <= EPSILON


def test_the_bounds_of_tau_are_what_the_proof_says():
    """S by 2(n - 1) and Σs² by 4(n - 1)²; both are reached or nearly so."""
    n = 50
    x = np.arange(n)
    moved = np.r_[x[:-1], -1]  # the last row goes from above all others to below them
    s, t = concordance(x, x), concordance(x, moved)
    assert abs(int(s.sum() - t.sum())) // 2 == 2 * (n - 1)
    assert 3.9 * (n - 1) ** 2 < abs(square_sum(s) - square_sum(t)) <= 4 * (n - 1) ** 2


def test_counts_are_those_of_all_pairs():
    rng = np.random.default_rng(2)
    for n, levels in itertools.product((0, 1, 2, 3, 8, 31, 64), (1, 2, 5, 1000)):
        x, y = rng.integers(0, levels, (2, n))
        signs = np.sign(x[:, None] - x) * np.sign(y[:, None] - y)
        assert (concordance(x, y) == signs.sum(axis=1)).all()
        assert exceedance(x, y) == np.sign(x[:, None] - y).sum()
        assert (smaller_before(x) == [np.sum(x[:i] < x[i]) for i in range(n)]).all()
    assert square_sum(np.full(1000, 2**31 - 1)) == 1000 * (2**31 - 1) ** 2


def test_counts_of_all_columns_are_those_of_each_two(monkeypatch):
    """All permutations of five rows, and tables with few, many and no ties, by SciPy and by rows."""
    line = np.arange(5.0)
    for order in itertools.permutations(range(5)):
        (found,) = net_counts(np.column_stack([line, line[list(order)]]))
        assert found == 10 - 2 * sum(a > b for a, b in itertools.combinations(order, 2))
    rng = np.random.default_rng(2)
    for n, most in itertools.product((0, 1, 2, 3, 64, 500, 1500), (1, 1 << 24)):
        monkeypatch.setattr(pair_counts, "MOST_ROWS", most)
        levels = (1, 2, n // 4 + 1, 10**9)
        table = np.column_stack([*(rng.integers(0, level, n) for level in levels), np.sort(rng.normal(size=n))])
        table = np.where(table == 0, rng.choice([0.0, -0.0], table.shape), table)
        alone = [int(concordance(x, y).sum()) // 2 for x, y in itertools.combinations(table.T, 2)]
        assert list(net_counts(table)) == alone
    wide = rng.permutation(70_000) // 1.01  # with ties
    x, y = wide // 1, np.roll(wide, 1) // 1
    assert list(net_counts(np.column_stack([x, y]))) == [int(concordance(x, y).sum()) // 2]


# ---------------------------------------------------------------------------------------------------------- superiority

LABELLED = [(v, g) for v in (0.0, 1.0, 2.0) for g in ("a", "b", "c")]


def test_superiority_with_secret_labels(spied):
    options = {"groups": ("a", "b")}
    found = {}
    for n in range(2, 6):
        found |= measured(spied, ut.superiority, tables(LABELLED, n), **options, adjacency=ut.ADD_REMOVE)
    added = [lost(found[t[:i] + t[i + 1 :]], mine) for t, mine in found.items() if len(t) > 2 for i in range(len(t))]
    assert max(added) <= EPSILON
    for n in (3, 5):
        same = {table: mine for table, mine in found.items() if len(table) == n}
        losses = [
            lost(mine, same[tuple(sorted(other))])
            for table, mine in same.items()
            for other in substituted(table, LABELLED)
        ]
        assert EPSILON * Fraction(9, 10) < max(losses) <= EPSILON


@pytest.mark.parametrize("missing", ["error", "drop"])
def test_superiority_with_public_labels(spied, missing):
    labels, values = ["a", "b", "a", "b", "b"], [0.0, 1.0, 2.0] + [NAN] * (missing == "drop")
    found = {}
    for x in itertools.product(values, repeat=5):
        key = tuple(map(str, x))
        found[key] = spied(ut.superiority, list(x), labels, groups=("a", "b"), public_labels=True, missing=missing)
    losses = [lost(mine, found[other]) for x, mine in found.items() for other in substituted(x, map(str, values))]
    assert EPSILON * Fraction(9, 10) < max(losses) <= EPSILON


def test_the_weight_is_bounded_as_proved_for_all_sizes():
    """The three bounds of `uptack.ranks.superiority`, worked out exactly."""
    for u, v in itertools.product(range(60), repeat=2):
        h = weight(u, v)
        assert h * 2 * max(u, v) <= 2
        assert h == weight(v, u)
        moved, more = weight(u, v + 1), weight(u + 1, v)
        assert abs(moved - more) * u * v + more * v + moved * u <= Fraction(7, 4)
        assert abs(more - h) * u * v + more * v <= Fraction(3, 2)


# ----------------------------------------------------------------------------------------------------------- contrasts

VALUES = (-3.0, 0.0, 4.0)
RHO, STEPS, HALF = decay(Fraction(1)), 3, Fraction(1, 2)


def difference(a, b, together):
    sizes = len(a), len(b)
    ranks = quantile_rank(HALF, sizes[0]), quantile_rank(HALF, sizes[1])
    reach = Difference(np.array(a, float), np.array(b, float), ranks, STEPS, 1, together)
    bears = min(min(r - 1, n - r) for r, n in zip(ranks, sizes, strict=True))
    return reach, bears


def shift(a, b, moves, public=None):
    most = len(a) * len(b)
    h = weight(len(a), len(b))
    step = Fraction(2 * max(public)) if public else Fraction(moves) / h if h else None
    bears = -1 if step is None else -(-most // step) - 1
    reach = PairwiseShift(
        np.array(a, float), np.array(b, float), step or Fraction(1), STEPS, LATTICE.values, LATTICE.top
    )
    return reach, int(bears)


def drawn(reach, bears, secret):
    return law(boxes([reach], STEPS, LATTICE), RHO, Refusal(bears, secret))


def parts(table):
    return [v for v, g in table if g == "a"], [v for v, g in table if g == "b"]


ROWS = [(v, g) for v in VALUES for g in ("a", "b")] + [(0.0, "c")]


@pytest.mark.parametrize("build", [lambda a, b: difference(a, b, True), lambda a, b: shift(a, b, 2)])
def test_contrasts_of_rows_that_may_go_over(build):
    laws = {t: drawn(*build(*parts(t)), secret=True) for t in tables(ROWS, 4)}
    assert all(sum(mine.values()) == 1 for mine in laws.values())
    assert_private(laws, lambda t: [tuple(sorted(o)) for o in substituted(t, ROWS)], RHO**-2)


@pytest.mark.parametrize("build", [lambda a, b: difference(a, b, False), lambda a, b: shift(a, b, Fraction(3, 2))])
def test_contrasts_of_rows_that_come_and_go(build):
    laws = {t: drawn(*build(*parts(t)), secret=True) for n in range(5) for t in tables(ROWS[:-1], n)}
    less = {t: [t[:i] + t[i + 1 :] for i in range(len(t))] for t in laws}
    more = {t: [tuple(sorted((*t, row))) for row in ROWS[:-1]] for t in laws if len(t) < 4}
    assert_private(laws, lambda t: less[t] + more.get(t, []), RHO**-2)


@pytest.mark.parametrize("build", [lambda a, b: difference(a, b, False), lambda a, b: shift(a, b, 2, (2, 2))])
def test_contrasts_with_public_labels(build):
    rows = list(itertools.product(VALUES, repeat=4))
    laws = {t: drawn(*build(t[:2], t[2:]), secret=False) for t in rows}
    assert_private(laws, lambda t: substituted(t, VALUES), RHO**-2)


def test_one_row_can_move_both_sides():
    """The example of the docstring: with k split over both sides a replaced row would be seen."""
    before, after = ([0, 10, 20], [0, 10, 20, 30]), ([0, 10], [0, 10, 20, 30, 100])
    (split, _), (now, _) = difference(*before, False), difference(*after, False)
    assert not split.interval(1)[0] <= now.interval(0)[0]
    assert difference(*before, True)[0].interval(1)[0] <= now.interval(0)[0]


@pytest.mark.parametrize("together", [True, False])
def test_a_difference_without_rows_is_anything(together):
    reach, bears = difference([], [1.0, 2.0], together)
    assert bears == -1
    assert reach.interval(2) == (-np.inf, np.inf)


# ------------------------------------------------------------------------------------------------- matrices and tests


def test_a_matrix_moves_by_what_it_says():
    """In ℓ∞, on rows that tie and rows that don't, where n is public and where it is secret."""
    seen = {}

    def spy(mechanism, value, draw):
        seen["value"], seen["sensitivity"] = np.array(value), mechanism.scale * EPSILON
        return draw()

    rows = [(0.0, 0.0, 2.0), (1.0, 0.0, 1.0), (0.0, 2.0, 0.0), (2.0, 1.0, 1.0), (NAN, 0.0, 0.0)]
    for missing, universe in (("error", rows[:-1]), ("drop", rows)):
        found = {}
        for table in itertools.combinations_with_replacement(range(len(universe)), 4):
            with observed_by(spy):
                ut.correlation_matrix(np.array([universe[i] for i in table]), epsilon=EPSILON, missing=missing)
            found[table] = dict(seen)
        apart = []
        for table, mine in found.items():
            for other in substituted(table, range(len(universe))):
                theirs = found[tuple(sorted(other))]
                apart.append(int(np.abs(mine["value"] - theirs["value"]).max()))
                assert apart[-1] <= mine["sensitivity"] == theirs["sensitivity"]
        assert max(apart) > 0.6 * mine["sensitivity"]


@pytest.mark.parametrize("d", range(2, 40))
def test_no_other_norm_is_cheaper(d):
    p = d * (d - 1) // 2
    one, two, many = 2**0.5 * 4 * (d * d // 4), 2 * d * (p + 1) ** 0.5, 4 * ((p + 1) * (p + 2) / 3) ** 0.5
    assert many <= min(one, two) + 1e-9
    signs = [np.array(s) for s in itertools.product((-1, 1), repeat=min(d, 7))]
    upper = np.triu_indices(min(d, 7), 1)
    moved = [np.abs(np.outer(s, s) - np.outer(signs[0], signs[0]))[upper] for s in signs]
    assert max(m.sum() for m in moved) == 2 * (min(d, 7) ** 2 // 4)
    assert max(np.sqrt((m**2).sum()) for m in moved) <= min(d, 7)


APART = (-4.0, -3.0, -1.0, 2.0, 5.0, 6.0)


@pytest.mark.parametrize("secret", [False, True])
def test_signed_ranks(spied, secret):
    found = {}
    for n in range(2, 6):
        for table in itertools.combinations(APART, n):
            options = {"adjacency": ut.ADD_REMOVE} if secret else {}
            found[table] = spied(ut.signed_rank, list(table), **options)
    losses = []
    for table, mine in found.items():
        fewer = [table[:i] + table[i + 1 :] for i in range(len(table))]
        other = [tuple(sorted((*rest, v))) for rest in fewer for v in APART if v not in table]
        losses += [lost(mine, found[t]) for t in (fewer if secret else other) if t in found]
    assert EPSILON / 2 < max(losses) <= EPSILON


@pytest.mark.parametrize("groups", ["ab", "abc"])
def test_several_groups(spied, monkeypatch, groups):
    monkeypatch.setattr("uptack.ranks.rank_tests.DRAWS", 1)
    found = {}
    for n, relation in itertools.product((3, 4), (ut.SUBSTITUTE, ut.ADD_REMOVE)):
        for values in itertools.combinations(APART[:5], n):
            for labels in itertools.product("abc", repeat=n):
                made = spied(ut.kruskal_wallis, list(values), list(labels), groups=list(groups), adjacency=relation)
                found[relation, tuple(zip(values, labels, strict=True))] = made
    losses = []
    for (relation, table), mine in found.items():
        fewer = [table[:i] + table[i + 1 :] for i in range(len(table))]
        rows = [(v, g) for v in APART[:5] for g in "abc"]
        other = [tuple(sorted((*t, row))) for t in fewer for row in rows if row[0] not in [v for v, _ in t]]
        near = other if relation is ut.SUBSTITUTE else [t for t in fewer if len(t) >= 3]
        losses += [lost(mine, found[relation, t]) for t in near]
    assert EPSILON / 2 < max(losses) <= EPSILON


LEVELS = (0.001, 0.01, 0.05, 0.1, 0.3, 0.5)


def falls_below(law, chances, scale, unit, side):
    """P(p ≤ α) for each α, worked out over every rank sum and every noise."""
    noise = IntegerLaplace(scale)
    span = noise.cutoff(1e-9)
    below = dict.fromkeys(LEVELS, 0.0)
    for k in range(-span, span + 1):
        weight_of = noise.pmf(k)
        for value, chance in chances.items():
            p = noisy_p_value(side, law, value + k, float(scale), unit)
            for level in LEVELS:
                below[level] += weight_of * chance * (p <= level)
    return below


@pytest.mark.parametrize("side", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("which", ["two groups", "signed"])
def test_p_values_are_valid_and_not_wasteful(which, side):
    n, scale = 5, Fraction(4)
    if which == "signed":
        law = signed_rank_sum(n)
        sums = [
            sum(s * r for s, r in zip(signs, range(1, n + 1), strict=True))
            for signs in itertools.product((-1, 1), repeat=n)
        ]
    else:
        law = mann_whitney_sum(3, 4)
        sums = [
            sum(-1 if i < j else 1 for i in a for j in set(range(7)) - set(a))
            for a in itertools.combinations(range(7), 3)
        ]
    chances = {value: sums.count(value) / len(sums) for value in set(sums)}
    below = falls_below(law, chances, scale, 0.5, side)
    assert all(below[level] <= level for level in LEVELS)
    assert all(below[level] >= 0.6 * level for level in LEVELS[2:])


def test_null_laws_by_both_ways():
    """The characteristic function finds what the polynomial says."""
    for null in (mann_whitney_sum(60, 90), mann_whitney_sum(5, 200), signed_rank_sum(120)):
        other = RankSum(null.sd, None, null.cf, null.last)
        assert null.chances is not None
        assert null.chances.sum() == pytest.approx(1, abs=1e-9)
        for z, scale in itertools.product((0.2, 1.0, 3.0), (null.sd / 3, null.sd * 2)):
            exact, found = null.tail(z * null.sd, scale), other.tail(z * null.sd, scale)
            assert exact - 1e-7 <= found <= exact + 1 / null.sd  # it is a little more: t is moved by 1
    big = mann_whitney_sum(4000, 5000)
    assert big.chances is None
    assert big.tail(2 * big.sd, 10_000) == pytest.approx(tail(2 * big.sd, big.sd, 10_000) / 2, rel=1e-2)


def test_ties_are_broken_at_random():
    first = [ranks_without_ties([np.zeros(2), np.zeros(1)], ut.SeededEntropy(i))[1][0] for i in range(300)]
    counts = np.bincount(np.array(first, int), minlength=4)[1:]
    assert counts.sum() == 300
    assert counts.min() > 50  # 100 each, a deviation of 8 standard deviations
