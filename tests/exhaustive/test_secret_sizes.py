"""The exact laws of draws by inverse sensitivity where the number of rows is secret, as the releases themselves draw.

Each release runs as it is, but for three things: the noisy number of rows is chosen by the test, often far above the
true one; every draw is written down in place of being made; and chains of quantiles, which need more rows, are left
out. One person has up to 20 rows, so that tables without any, with one, and with just as many as people have are
neighbours.
"""

import itertools
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

import uptack as ut
from uptack.mechanisms.inverse_sensitivity import Boxes, steps_needed
from uptack.statistics import column_options, quantile_trees, statistic
from uptack.statistics.quantiles import OFFSETS, IntervalRanks, rank_bounds

OWNED = 20
SIZES = (0, 1, 19, 20, 21, 40)
ROWS = np.r_[np.linspace(-3.0, 4.0, 29), np.full(11, 0.5)]
RELEASES = {
    "median": lambda x, **given: ut.median(x, **given),
    "median with an interval": lambda x, **given: ut.median(x, interval=0.9, **given),
    "quantile with an interval": lambda x, **given: ut.quantile(x, 0.3, interval=0.9, **given),
    "two quantiles": lambda x, **given: ut.quantile(x, [0.4, 0.6], **given),
    "quantile interval": lambda x, **given: ut.quantile_interval(x, 0.5, 0.0, **given),
    "kde": lambda x, **given: ut.kde(x, delta=1e-6, **given),
    "fourier density": lambda x, **given: ut.fourier_density(x, **given),
    "trimmed mean": lambda x, **given: ut.trimmed_mean(x, **given),
    "trimean": lambda x, **given: ut.trimean(x, **given),
    "iqr": lambda x, **given: ut.iqr(x, **given),
    "mad": lambda x, **given: ut.mad(x, **given),
}
FAR = 40_000
"""A noisy number of rows that lets everything be drawn, from tables that have next to none."""


class Drawn:
    """What would have been drawn from: boxes, ρ and ⊥."""

    def __init__(self, boxes, rho, refusal):
        self.boxes, self.rho = boxes, rho
        self.refusal = None if refusal is None else boxes.cap(rho, refusal)

    def score(self, point):
        for k in range(self.boxes.lows.shape[1]):
            if all(a <= v <= b for v, (a, b) in zip(point, self.boxes.ends(k), strict=True)):
                return k
        return self.boxes.lows.shape[1]

    def corners(self):
        """Per coordinate, points on both sides of every end: the scores are constant in between."""
        for low, high, (a, b) in zip(self.boxes.lows, self.boxes.highs, self.boxes.whole, strict=True):
            ends = {a, b, *(e + d for e in {*low.tolist(), *high.tolist()} for d in (-1, 0, 1))}
            yield {v for v in ends if a <= v <= b}

    def law(self, points):
        """The probabilities of these points, and of ⊥."""
        weights = list(self.boxes.weights(self.rho, self.refusal))
        total = sum(weights, Fraction(0))
        powers = [self.rho**k / total for k in range(len(weights))]
        found = {point: powers[self.score(point)] for point in points}
        return found if self.refusal is None else found | {None: weights[-1] / total}


def furthest(one: Drawn, other: Drawn) -> Fraction:
    """The largest ratio of the probabilities of any outcome, either way."""
    assert one.boxes.whole == other.boxes.whole
    assert one.rho == other.rho
    assert (one.refusal is None) == (other.refusal is None)
    sides = (sorted(a | b) for a, b in zip(one.corners(), other.corners(), strict=True))
    points = list(itertools.product(*sides))
    mine, theirs = one.law(points), other.law(points)
    ratios = [Fraction(p, theirs[y]) if p != theirs[y] else Fraction(1) for y, p in mine.items()]
    return max(max(ratios), 1 / min(ratios))


@pytest.fixture
def draws(monkeypatch):
    """What a release draws from, with a noisy number of rows of the test's choice."""
    seen: list[Drawn] = []

    def draw(self, rho, entropy, refusal=None):
        seen.append(Drawn(self, rho, refusal))
        return [0] * len(self.whole)

    def run(release, rows, noisy, owned=OWNED, **given):
        monkeypatch.setattr(column_options, "noisy_size", noisy if callable(noisy) else lambda n, law, account: noisy)
        seen.clear()
        release(rows, rows_per_person=owned, entropy=ut.SeededEntropy(1), **given)
        return list(seen)

    monkeypatch.setattr(Boxes, "draw", draw)
    monkeypatch.setattr(quantile_trees, "tree_quantiles", lambda *_: None)
    return run


def tables(adjacency):
    """Tables by size; under SUBSTITUTE rows that are not there are missing, and dropped."""
    room = np.full(FAR if adjacency is ut.SUBSTITUTE else 0, np.nan)
    rows = np.random.default_rng(1).permutation(ROWS)
    return {n: np.r_[rows[:n], room[n:]] for n in SIZES}


def worst(draws, release, noisy, adjacency):
    """By how much the log ratio of any draw exceeds what ρ allows, over pairs that differ in one person's rows."""
    given = {"epsilon": 2, "adjacency": adjacency, "missing": "drop"}
    found = {n: draws(release, rows, noisy, **given) for n, rows in tables(adjacency).items()}
    assert len({len(made) for made in found.values()}) == 1  # public numbers decide how many draws there are
    over = Fraction(0)
    for a, b in itertools.combinations(SIZES, 2):
        if b - a <= OWNED:
            over = max([over, *(furthest(*pair) * pair[0].rho ** 2 for pair in zip(found[a], found[b], strict=True))])
    return over


@pytest.mark.parametrize("adjacency", [ut.ADD_REMOVE, ut.SUBSTITUTE], ids=["come and go", "missing"])
@pytest.mark.parametrize("noisy", [0, 30, FAR])
@pytest.mark.parametrize("name", RELEASES)
def test_draws_are_private_whatever_the_noisy_number_of_rows(draws, name, noisy, adjacency):
    loss = worst(draws, RELEASES[name], noisy, adjacency)
    assert loss <= 1
    assert loss > 0 or noisy < FAR  # something was drawn


FOLLOWING = {
    "median": lambda x, **given: ut.median(x, interval="0.9", **given),
    "tail": lambda x, **given: ut.quantile(x, "0.15", interval="0.5", **given),
    "interval": lambda x, **given: ut.quantile_interval(x, "0.6", 0.0, **given),
}


@pytest.mark.parametrize("adjacency", [ut.ADD_REMOVE, ut.SUBSTITUTE], ids=["come and go", "missing"])
@pytest.mark.parametrize("name", FOLLOWING)
def test_intervals_that_follow_the_number_of_rows_are_private(draws, name, adjacency):
    """From no rows to enough for all ends to move out as far as they may; rows come at both sides and in the middle."""
    sizes = [0, 1, 2, 62, 63, 149, 150, 151, 300, 301]
    x = np.random.default_rng(3).permutation(np.r_[np.linspace(-3, 4, 250), np.full(51, 0.5)])
    hidden = np.full(2000 if adjacency is ut.SUBSTITUTE else 0, np.nan)
    given = {"epsilon": 2, "adjacency": adjacency, "missing": "drop", "owned": 1}

    def no_size(*_):
        raise AssertionError("a number of rows was bought")

    found = {n: draws(FOLLOWING[name], np.r_[x[:n], hidden[n:]], no_size, **given) for n in sizes}
    assert {len(made) for made in found.values()} == {2 if name == "interval" else 3}
    pairs = [pair for a, b in itertools.pairwise(sizes) if b - a == 1 for pair in zip(found[a], found[b], strict=True)]
    losses = [furthest(*pair) * pair[0].rho ** 2 for pair in pairs]
    assert max(losses) <= 1
    assert max(losses) > Fraction(1, 2)


@pytest.mark.parametrize("people", [False, True])
@pytest.mark.parametrize("p", [Fraction(1, 2), Fraction(1, 20)])
def test_ranks_that_follow_the_number_of_rows_rise_by_at_most_one(p, people):
    epsilon, confidence = Fraction(1), Fraction(9, 10)
    aimed = [IntervalRanks.following(n, p, confidence, epsilon, people) for n in range(800)]
    for n, (one, two) in enumerate(itertools.pairwise(aimed)):
        assert all(b - a in (0, 1) for a, b in zip(one.ranks[0], two.ranks[0], strict=True))
        (low, high), steps = two.ranks[0], steps_needed(epsilon, OFFSETS.size, (1 - confidence) / 10)
        reach = min(low - 1, n + 1 - high, steps)
        exact = rank_bounds(n + 1, n + 1, p, (1 - confidence) * Fraction(8, 20), people)
        assert reach < 0 or (low + reach <= exact[0] and high - reach >= exact[1])


@pytest.mark.parametrize("release", [ut.median_difference, ut.hodges_lehmann])
def test_differences_between_groups_are_private(draws, release):
    given = {"epsilon": 2, "adjacency": ut.ADD_REMOVE, "groups": (1, 0)}
    labels = {"few": np.arange(len(ROWS)) % 7 == 0, "none": np.zeros(len(ROWS)), "half": np.arange(len(ROWS)) % 2}
    found = {}
    for n, (which, label) in itertools.product(SIZES, labels.items()):
        (found[n, which],) = draws(partial(_of_groups, release, label[:n].astype(int)), ROWS[:n], 0, **given)
    for (a, one), (b, other) in itertools.combinations(found, 2):
        if one == other and abs(b - a) <= OWNED:
            assert furthest(found[a, one], found[b, other]) * found[a, one].rho ** 2 <= 1


def _of_groups(release, labels, x, **given):
    return release(x, labels, **given)


@pytest.mark.parametrize("name", ["median with an interval", "kde"])
def test_a_limit_that_moves_by_more_than_a_step_is_caught(draws, monkeypatch, name):
    """As many steps as rows: twenty steps are gained with one person."""
    monkeypatch.setattr(statistic, "useful_steps", lambda k, n, g: min(k, n + 1))
    assert worst(draws, RELEASES[name], FAR, ut.ADD_REMOVE) > 50


@pytest.mark.parametrize("rows", [1, 3, 20])
def test_the_limit_leaves_the_law_of_ranks_inside_the_table(rows, monkeypatch, draws):
    """With ranks from the true number of rows, all steps and those that are left have one law."""
    given = {"epsilon": 2, "adjacency": ut.ADD_REMOVE}
    for n, release in itertools.product(SIZES, (ut.median, ut.trimean, ut.mad)):
        made = partial(_of_rows, release, rows)
        (short,) = draws(made, ROWS[:n], 0, **given)
        with monkeypatch.context() as planted:
            planted.setattr(statistic, "useful_steps", lambda k, n, g: k)
            (whole,) = draws(made, ROWS[:n], 0, **given)
        assert short.boxes.lows.shape[1] == n // rows + 2 < whole.boxes.lows.shape[1]
        assert furthest(short, whole) == 1


def _of_rows(release, rows, x, **given):
    return release(x, **(given | {"rows_per_person": rows}))
