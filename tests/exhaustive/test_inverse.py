"""The exact, rational output law of the inverse engine against the privacy inequality, on whole tiny universes."""

import itertools
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from scipy import stats

from tests.exhaustive.people import FOLLOWING as PEOPLES
from tests.exhaustive.universe import STATISTICS, VALUES, substituted, tables
from tests.helpers import FALSE_ALARM
from uptack.audit import hostile, least_epsilon
from uptack.exact import Real, ball
from uptack.mechanisms.inverse_sensitivity import LATTICES, Boxes, Refusal, boxes, decay, steps_needed
from uptack.mechanisms.plausible_range import MOST, Plausible
from uptack.noise import MachineNumbers, SeededEntropy, coins
from uptack.noise.coins import pick
from uptack.reach import InterquantileRange
from uptack.reach.l_statistics import LStatistic, quantile_rank, quartiles, spread_ranks, trimmed_mean
from uptack.statistics import order_statistics
from uptack.table.memory.table import as_column

LATTICE = MachineNumbers(3, 2)


def law(shells: Boxes, rho: Fraction, refusal: Refusal | None = None) -> dict[tuple[int, ...] | None, Fraction]:
    """The probability of every candidate, from its score alone; that of ⊥ is under None.

    Candidates of one score share one object: whoever compares laws compares few fractions.
    """
    weights = list(shells.weights(rho, refusal))
    total = sum(weights, Fraction(0))
    out: dict[tuple[int, ...] | None, Fraction] = {} if refusal is None else {None: weights[-1] / total}
    for score in range(shells.lows.shape[1], -1, -1):  # from all candidates inwards
        ends = zip(shells.ends(score), shells.whole, strict=True)
        points = itertools.product(*(range(max(a, low), min(b, high) + 1) for (a, b), (low, high) in ends))
        out.update(dict.fromkeys(points, rho**score / total))
    return out


def inside(point, ends):
    return all(a <= v <= b for v, (a, b) in zip(point, ends, strict=True))


def apart(mine, theirs):
    """The different pairs of probabilities that two laws give their outcomes."""
    return {(id(p), id(q)): (p, q) for p, q in ((p, theirs[y]) for y, p in mine.items())}.values()


def added(probabilities):
    """Their sum, which takes long where many are the same."""
    found = {id(p): p for p in probabilities}
    return sum((times * found[key] for key, times in Counter(map(id, probabilities)).items()), Fraction(0))


def assert_private(laws, neighbours, bound):
    for table, mine in laws.items():
        for other in neighbours(table):
            assert all(p <= bound * q for p, q in apart(mine, laws[other]))


@pytest.mark.parametrize("epsilon", [Fraction(1, 4), Fraction(2)])
def test_the_decay_is_on_the_safe_side(epsilon):
    rho = decay(epsilon)
    assert Real(lambda: (-ball(epsilon / 2)).exp()) <= rho < 1


@pytest.mark.parametrize("name", STATISTICS)
@pytest.mark.parametrize("widen", [0.0, 0.5])
def test_every_statistic_is_private(name, widen):
    n, steps, rho = 4, 2, decay(Fraction(1))
    build, scale = STATISTICS[name], name in ("iqr", "range")
    laws = {
        t: law(boxes([build(t, n, steps=steps)], steps, LATTICE, widen=widen, nonnegative=scale), rho)
        for t in tables(n)
    }
    assert all(added([*mine.values()]) == 1 for mine in laws.values())
    assert_private(laws, substituted, rho**-2)  # ρ^-2 ≤ e^ε


@pytest.mark.parametrize("name", STATISTICS)
def test_dropped_rows_keep_neighbours_neighbours(name):
    """A replaced row may come, go or stay once missing ones are dropped; the ranks are those of a public n."""
    n, steps, rho, values = 3, 2, decay(Fraction(1)), (None, *VALUES[1:4])
    build, scale = STATISTICS[name], name in ("iqr", "range")
    laws = {}
    for table in itertools.product(values, repeat=n):
        present = tuple(sorted(v for v in table if v is not None))
        laws[table] = law(boxes([build(present, n, steps=steps)], steps, LATTICE, nonnegative=scale), rho)
    assert_private(laws, lambda t: {(*t[:i], v, *t[i + 1 :]) for i in range(n) for v in values}, rho**-2)


def test_two_quantiles_at_once_are_private():
    n, steps, rho, lattice = 3, 1, decay(Fraction(1)), MachineNumbers(2, 2)
    parts = [STATISTICS[name] for name in ("median", "maximum")]
    values = VALUES[1:]
    laws = {t: law(boxes([b(t, n, steps=steps) for b in parts], steps, lattice), rho) for t in tables(n, values)}
    assert_private(laws, lambda t: substituted(t, values), rho**-2)


def test_a_decay_that_is_too_fast_is_caught():
    n, steps = 4, 2
    rho = decay(Fraction(1))
    laws = {t: law(boxes([STATISTICS["median"](t, n)], steps, LATTICE), rho**2) for t in tables(n)}
    with pytest.raises(AssertionError):
        assert_private(laws, substituted, rho**-2)


def pairs_of_probabilities(one: Boxes, other: Boxes, rho: Fraction) -> list[tuple[arb, arb]]:
    """The laws of two tables on the real lattice: candidates with the same two scores are taken together."""
    (first, last), *_ = one.whole
    ends = {int(v) for b in (one, other) for v in b.lows[0]} | {int(v) + 1 for b in (one, other) for v in b.highs[0]}
    starts = sorted({first, *(v for v in ends if first <= v <= last)})
    sizes = [b - a for a, b in itertools.pairwise([*starts, last + 1])]

    def law(shells):  # the score of y is the least k with y in box k; boxes grow
        below = np.searchsorted(-shells.lows[0], -np.array(starts), "left")
        scores = np.maximum(below, np.searchsorted(shells.highs[0], starts, "left")).tolist()
        weights = [size * ball(rho) ** score for score, size in zip(scores, sizes, strict=True)]
        return [w / sum(weights, arb(0)) for w in weights]

    return list(zip(law(one), law(other), strict=True))


N, STEPS = 82, 40  # the last interval looks at every row
HOSTILE = hostile(N, N // 2)
REAL = {
    "median": (lambda x: LStatistic.quantile(x, N // 2, STEPS), HOSTILE),
    "trimmed mean": (lambda x: LStatistic.of(x, trimmed_mean(Fraction(1, 4), N), STEPS), HOSTILE),
    "range": (lambda x: InterquantileRange(x, quartiles(N), STEPS), hostile(N, quartiles(N)[1])),
}


@pytest.mark.parametrize("widen", [0.0, 0.5])
@pytest.mark.parametrize("name", REAL)
def test_the_real_lattice_is_private_on_hostile_columns(name, widen):
    build, pairs = REAL[name]
    worst = {}
    for what, pair in pairs.items():
        both = [boxes([build(x)], STEPS, LATTICES[-1], widen=widen, nonnegative=name == "range") for x in pair]
        worst[what] = least_epsilon(lambda both=both: pairs_of_probabilities(*both, decay(Fraction(1))))
    assert all(epsilon <= 1 + 1e-9 for epsilon in worst.values())
    assert max(worst.values()) > 0.4


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_draws_have_the_law(dimension):
    """Chi-square against the exact law, and a law with another ε is rejected."""
    lattice, steps, rho = MachineNumbers(2, 2), 2, Fraction(7, 10)
    tables_ = ((-3.0, 0.0, 0.5, 1.0, 4.0), (0.0, 0.25, 0.5, 0.75, 1.0), (0.5, 0.5, 0.5, 2.0, 3.0))[:dimension]
    shells = boxes([STATISTICS["median"](t, 5) for t in tables_], steps, lattice)
    entropy, runs = SeededEntropy(5), 8_000 if dimension == 2 else 4_000
    seen = Counter(tuple(shells.draw(rho, entropy)) for _ in range(runs))
    exact, wrong = law(shells, rho), law(shells, rho * (Fraction(4, 5) if dimension < 3 else Fraction(1, 2)))
    assert set(seen) <= set(exact)
    steps_of = {y: next(k for k in range(steps + 2) if inside(y, shells.ends(k))) for y in exact}
    observed, expected, off = (np.zeros(2 * (steps + 2)) for _ in range(3))
    for y in exact:
        cell = 2 * steps_of[y] + (sum(y) % 2)  # the score, and a half of the points that have it
        observed[cell] += seen[y]
        expected[cell] += runs * exact[y]
        off[cell] += runs * wrong[y]
    used = expected > 0
    assert stats.chisquare(observed[used], expected[used]).pvalue > FALSE_ALARM
    assert stats.chisquare(observed[used], off[used]).pvalue < FALSE_ALARM


def test_a_uniform_point_of_a_shell_is_uniform():
    shells = Boxes(np.array([[4, 2], [3, 3]]), np.array([[5, 6], [4, 5]]), ((0, 7), (0, 7)))
    entropy, runs = SeededEntropy(6), 10_000
    seen = Counter(tuple(shells.draw(Fraction(1), entropy)) for _ in range(runs))
    assert len(seen) == 64
    assert stats.chisquare(list(seen.values())).pvalue > FALSE_ALARM


def test_the_exact_way_of_picking_has_the_same_law(monkeypatch):
    weights = [Fraction(1, 3), Fraction(0), Fraction(1, 2), Fraction(1, 6)]
    with np.errstate(divide="ignore"):
        logs = np.log(np.array([float(w) for w in weights]))
    for slack in (coins.SHARE_SLACK, 2.0):  # as it is; and so that floats never decide
        monkeypatch.setattr(coins, "SHARE_SLACK", slack)
        entropy = SeededEntropy(7)
        seen = Counter(pick(logs, lambda: [ball(w) for w in weights], entropy) for _ in range(5_000))
        assert seen[1] == 0
        observed = [seen[0], seen[2], seen[3]]
        assert stats.chisquare(observed, [5_000 * float(weights[i]) for i in (0, 2, 3)]).pvalue > FALSE_ALARM


def test_the_guarantee_of_k_steps():
    """P(score > K) ≤ failure whatever the data, also where all weight lies outside."""
    epsilon, failure = Fraction(8), Fraction(1, 100)
    steps = steps_needed(epsilon, LATTICE.size, failure)
    assert steps <= 3
    for name in ("median", "iqr"):
        for table in tables(5):
            shells = boxes([STATISTICS[name](table, 5)], steps, LATTICE)
            weights = list(shells.weights(decay(epsilon)))
            assert weights[-1] <= failure * sum(weights)


# ------------------------------------------------------------------------------------------------- ⊥ as a candidate

FEW = (-3.0, 0.0, 1.0, 4.0)
FOLLOWING = PEOPLES | {"mad": order_statistics._deviation()}


def outside(shells, mine, k):
    """The chance of a reply from outside box k; of any reply for k = -1."""
    ends = shells.ends(k) if k >= 0 else None
    return added([p for y, p in mine.items() if y is not None and (ends is None or not inside(y, ends))])


def refusing(statistic, table, failure, *, n=None, rows=1, secret, rho, steps=9):
    """The exact law, and the chance of a reply from outside what the data bear."""
    n = len(table) if n is None else n
    reach = statistic.reach(as_column("x", np.array(table, float)), n, steps, rows)
    shells = boxes([reach], steps, LATTICE, nonnegative=statistic.scale)
    bears = statistic.room(n, len(table)) // rows
    mine = law(shells, rho, shells.cap(rho, Refusal(bears, secret, failure)))
    return mine, outside(shells, mine, min(max(bears, -1), steps))


FAILURES = (Fraction(1, 3), Fraction(1, 100), Fraction(1, 10**6))


@pytest.mark.parametrize(
    ("name", "failure"),
    [*((name, FAILURES[i % 3]) for i, name in enumerate(STATISTICS)), *itertools.product(("median", "iqr"), FAILURES)],
)
def test_with_a_public_refusal_it_is_private_and_never_silent(name, failure):
    n, rho, rises = 4, decay(Fraction(3)), set()
    build, scale = STATISTICS[name], name in ("iqr", "range", "mad")
    values = VALUES if name in ("median", "iqr") else FEW  # as many as rows: every order of them
    for room in (0, 1, 2):  # what n allows, and less
        laws = {}
        for table in tables(n, values):
            shells = boxes([build(table, n, steps=room)], room, LATTICE, nonnegative=scale)
            laws[table] = law(shells, rho, shells.cap(rho, Refusal(room, failure=failure)))
            assert added([*laws[table].values()]) == 1
            assert outside(shells, laws[table], room) <= failure
            rises.add(laws[table][None] > 0)
        assert_private(laws, lambda table: substituted(table, values), rho**-2)
    assert True in rises


@pytest.mark.parametrize("name", FOLLOWING)
def test_ranks_and_refusals_may_follow_a_secret_number_of_rows(name):
    """Every table of up to five rows, with a row more, a row fewer, and a row replaced."""
    rho, failure, statistic, laws = decay(Fraction(2)), Fraction(1, 100), FOLLOWING[name], {}
    for n in range(6):
        for table in tables(n, FEW):
            laws[table], far = refusing(statistic, table, failure, secret=True, rho=rho)
            assert far <= failure

    def neighbours(table):
        longer = {tuple(sorted((*table, v))) for v in FEW}
        return [t for t in longer | substituted(table, FEW) if t in laws]

    assert_private(laws, neighbours, rho**-2)
    assert_private(laws, lambda t: {(*t[:i], *t[i + 1 :]) for i in range(len(t))}, rho**-2)


@pytest.mark.parametrize("levels", [(1, 3), (1, 2)])
def test_several_quantiles_may_follow_a_secret_number_of_rows(levels):
    """Every table of up to five rows: the whole law of two quantiles and ⊥ together."""
    rho, failure, laws, coarse = decay(Fraction(2)), Fraction(1, 100), {}, MachineNumbers(2, 2)
    for n in range(6):
        ranks = [quantile_rank(Fraction(p, 4), n) for p in levels]
        for table in tables(n, FEW):
            column = as_column("x", np.array(table, float))
            shells = boxes([LStatistic.quantile(column, rank, 5) for rank in ranks], 5, coarse)
            bears = min(ranks[0] - 1, n - ranks[-1])
            laws[table] = law(shells, rho, shells.cap(rho, Refusal(bears, True, failure)))
            assert outside(shells, laws[table], min(max(bears, -1), 5)) <= failure
    longer = {t: [u for v in FEW if (u := tuple(sorted((*t, v)))) in laws] for t in laws}
    shorter = {t: [s for s in laws if t in longer[s]] for t in laws}
    assert_private(laws, lambda t: [*longer[t], *shorter[t], *substituted(t, FEW)], rho**-2)


@pytest.mark.parametrize("name", ["median", "trimmed mean", "iqr"])
def test_people_with_two_rows_come_and_go(name):
    rho, failure, statistic, laws = decay(Fraction(2)), Fraction(1, 100), FOLLOWING[name], {}
    for n in range(7):
        for table in tables(n, FEW[1:]):
            laws[table], far = refusing(statistic, table, failure, rows=2, secret=True, rho=rho)
            assert far <= failure
    pairs = tables(2, FEW[1:])
    longer = {t: [u for pair in pairs if (u := tuple(sorted((*t, *pair)))) in laws] for t in laws}
    assert_private(laws, lambda t: [*longer[t], *(s for s in laws if t in longer[s])], rho**-2)


def test_the_usual_ranks_of_a_range_do_not_follow():
    usual = order_statistics.range_between(Fraction(1, 4), Fraction(3, 4))
    moves = {}
    for statistic in (usual, usual.near):
        three, four = (
            boxes([statistic.reach(as_column("x", np.array(t)), len(t), 3, 1)], 3, LATTICE, nonnegative=True)
            for t in ((-3.0, 0.0, 0.5), (-3.0, 0.0, 0.0, 0.5))
        )
        low, high = three.whole[0]
        scores = [
            [next(k for k in range(5) if inside((y,), s.ends(k))) for y in range(low, high + 1)] for s in (three, four)
        ]
        moves[statistic.follows] = max(abs(a - b) for a, b in zip(*scores, strict=True))
    assert moves == {False: 2, True: 1}


def test_ranks_of_a_noisy_number_of_rows_with_a_refusal_that_follows_the_true_one():
    """The ranks are those of 5 rows, whatever there are: K comes from what is there, and is secret."""
    rho, failure, statistic, laws = decay(Fraction(2)), Fraction(1, 100), FOLLOWING["quartile"], {}
    for n in range(7):
        for table in tables(n, FEW):
            laws[table], far = refusing(statistic, table, failure, n=5, secret=True, rho=rho)
            assert far <= failure
    assert_private(laws, lambda t: [u for v in FEW if (u := tuple(sorted((*t, v)))) in laws], rho**-2)


def test_a_steady_range_is_within_a_rank_of_the_usual_one():
    for low, high in itertools.combinations([Fraction(k, 12) for k in range(1, 12)], 2):
        for n in range(1, 80):
            (a, b), (c, d) = order_statistics.steady_ranks(low, high, n), spread_ranks(low, high, n)
            assert a == c
            assert a <= b <= n
            assert abs(b - d) <= 1


@pytest.mark.parametrize("slack", [coins.SHARE_SLACK, 2.0])
@pytest.mark.parametrize("refusal", [Refusal(1, failure=Fraction(1, 2)), Refusal(2, True, Fraction(2, 3))])
def test_draws_with_a_refusal_have_the_law(monkeypatch, slack, refusal):
    monkeypatch.setattr(coins, "SHARE_SLACK", slack)  # as it is; and so that floats never decide
    rho, runs, entropy = Fraction(7, 10), 4_000, SeededEntropy(8)
    shells = boxes([STATISTICS["median"]((-3.0, 0.0, 0.5, 1.0, 4.0), 5)], 2, MachineNumbers(2, 2))
    mine = law(shells, rho, shells.cap(rho, refusal))
    assert 0.1 < mine[None] < 0.9
    draws = (replace(shells, refusal=refusal).draw(rho, entropy) for _ in range(runs))
    seen = Counter(None if drawn is None else tuple(drawn) for drawn in draws)
    expected = [runs * float(p) for p in mine.values()]
    assert stats.chisquare([seen[y] for y in mine], expected).pvalue > FALSE_ALARM
    wrong = law(shells, rho, Refusal(refusal.bears, refusal.secret, refusal.failure * Fraction(3, 5)))
    assert stats.chisquare([seen[y] for y in mine], [runs * float(p) for p in wrong.values()]).pvalue < FALSE_ALARM


def test_with_enough_rows_nothing_is_refused():
    epsilon, rho = Fraction(1), decay(Fraction(1))
    steps = steps_needed(epsilon, LATTICE.size)
    shells = boxes([STATISTICS["median"]((0.0,) * 5, 5, steps=steps)], steps, LATTICE)
    assert list(shells.weights(rho, Refusal(steps)))[-1] < Fraction(1, 10**9)  # K is rounded to a float
    assert list(shells.weights(rho, Refusal(steps + 1)))[-1] == 0


# -------------------------------------------------------------------------------------------------- plausible values

GUESSES = [(0.0, 1.0), (-3.0, 4.0), (0.5, 0.5), (100.0, 200.0), (-1e300, 1e300), (0.3, 0.4)]


@pytest.mark.parametrize("guess", GUESSES, ids=str)
@pytest.mark.parametrize("lattice", [LATTICE, MachineNumbers(4, 3), MachineNumbers(9, 2)], ids=str)
def test_a_guess_is_so_many_copies_of_each_number(lattice, guess):
    held = Plausible(lattice, *guess)
    values = lattice.values(np.arange(-lattice.top, lattice.top + 1))
    first, last = held.floors(values), held.ceils(values)
    times = last - first + 1
    assert first[0] == 0
    assert last[-1] == held.top == held.size - 1
    assert (first[1:] == last[:-1] + 1).all()
    assert (held.values(np.arange(held.size)) == np.repeat(values, times)).all()
    inside = (values >= lattice.value(lattice.floor(guess[0]))) & (values <= lattice.value(lattice.ceil(guess[1])))
    assert (times[~inside] == 1).all()
    assert 1 <= times.min() <= times.max() <= MOST
    assert held.size <= 2 * lattice.size + inside.sum() / 2
    near = np.nextafter(values, 0)
    assert (held.floors(near) == first[lattice.floors(near) + lattice.top]).all()
    assert (held.ceils(near) == last[lattice.ceils(near) + lattice.top]).all()


def test_inside_and_outside_weigh_about_the_same():
    for low, high in ((0.0, 120.0), (1900.0, 2100.0), (-50.0, 50.0), (1e4, 1e6)):
        held = Plausible(LATTICES[-1], low, high)
        inside = held.ceil(high) - held.floor(low) + 1
        assert 0.4 < inside / held.size < 0.75


@pytest.mark.parametrize("guess", GUESSES, ids=str)
@pytest.mark.parametrize("name", ["median", "iqr", "trimmed mean"])
def test_with_a_guess_it_is_private_and_never_silent(name, guess):
    n, room, rho, failure = 4, 1, decay(Fraction(3)), Fraction(1, 50)
    held, laws = Plausible(LATTICE, *guess), {}
    for table in tables(n):
        shells = boxes([STATISTICS[name](table, n, steps=room)], room, held, nonnegative=name == "iqr")
        laws[table] = law(shells, rho, shells.cap(rho, Refusal(room, failure=failure)))
        assert added([*laws[table].values()]) == 1
        assert outside(shells, laws[table], room) <= failure
    assert_private(laws, substituted, rho**-2)
