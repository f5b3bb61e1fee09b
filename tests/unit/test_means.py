"""Means, sums, variances and proportions: what they say, and where they are not reliable."""

import itertools
import math
import re
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from scipy import stats

import uptack as ut
from tests.helpers import CountingEntropy
from uptack.noise import IntegerLaplace
from uptack.statistics.moments import FramePlan, enough_rows
from uptack.statistics.proportions import ProportionInterval, _noise_law, indicator, true_and_false
from uptack.table.memory.table import as_column
from uptack.table.protocol import Column
from uptack.table.reads import SHARES
from uptack.table.unit import U

RNG = np.random.default_rng(1)
N = 20_000
LAWS = {
    "normal": (RNG.normal(0, 1, N), 0.0, 1.0),
    "far off": (RNG.normal(1e6, 1, N), 1e6, 1.0),
    "lognormal": (RNG.lognormal(0, 1, N), math.exp(0.5), math.exp(2) - math.e),
    "gamma": (RNG.gamma(2, 1, N), 2.0, 2.0),
    "Poisson": (RNG.poisson(3, N), 3.0, 3.0),
    "tiny": (RNG.normal(0, 1e-30, N), 0.0, 1e-60),
}
SECRET = {"adjacency": ut.ADD_REMOVE}
WAYS = {"": {}, "secret": SECRET, "drop": {"missing": "drop"}, "two rows": {"rows_per_person": 2}}


def seeded(k=1):
    return {"entropy": ut.SeededEntropy(k)}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("law", LAWS)
def test_means_and_their_intervals(law, way):
    x, mean, variance = LAWS[law]
    error = math.sqrt(variance / N)
    for k in range(3):
        found = ut.mean(x, epsilon=1, **WAYS[way], **seeded(k))
        low, high = found.interval(0.999)
        assert abs(found.value - x.mean()) < 2.5 * error
        assert low < mean < high
        assert found.noise.frame[0] < mean < found.noise.frame[1]
        inner = found.interval(0.5)
        assert low < inner[0] < found.value < inner[1] < high
        own = found.noise.of_rows(found.value, 0.95)
        assert own[1] - own[0] < found.interval(0.95)[1] - found.interval(0.95)[0]


@pytest.mark.parametrize("way", WAYS)
def test_sums(way):
    for x in (LAWS["gamma"][0], LAWS["gamma"][0] - 2, LAWS["far off"][0]):
        found = ut.sum(x, epsilon=1, **WAYS[way], **seeded())
        low, high = found.noise.of_rows(found.value, 0.999)
        assert low < x.sum() < high
        if way in ("secret", "drop"):  # about as far off as a row or two of the largest
            assert high - low < 200 * (abs(x).max() + 5)
        else:
            assert high - low < 1200
        assert found.interval(0.95)[0] < found.value < found.interval(0.95)[1]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("law", ["normal", "far off", "gamma", "Poisson", "tiny"])
def test_variances(law, way):
    x, _, variance = LAWS[law]
    found = ut.variance(x, epsilon=2, **WAYS[way], **seeded())
    low, high = found.interval(0.999)
    assert low < variance < high
    assert found.value == pytest.approx(x.var(), rel=0.1)
    root = ut.std(x, epsilon=2, **WAYS[way], **seeded())
    assert (root.value, *root.interval(0.999)) == pytest.approx(tuple(map(math.sqrt, (found.value, low, high))))


ONE_VALUE = {
    "a constant": np.full(N, 5.0),
    "zeros": np.zeros(N),
    "nearly all zeros": np.r_[np.zeros(N - 150), RNG.lognormal(0, 1, 150)],
    "the largest floats": np.full(N, 1.7e308),
    "both ends": np.r_[np.full(N // 2, -1.7e308), np.full(N // 2, 1.7e308)],
    "many gross errors": np.r_[RNG.normal(0, 1, N - 2000), RNG.choice([-1e9, 1e9], 2000) * RNG.pareto(0.3, 2000)],
}


@pytest.mark.parametrize("what", ONE_VALUE)
def test_what_it_cant_stand_behind(what):
    """No reply, or an interval without an end. Seeds are fixed: a wrong reply has a chance of some percent."""
    for ask in (ut.mean, ut.variance):
        for k in range(2):
            found = ask(ONE_VALUE[what], epsilon=1, **seeded(k))
            assert not found or not np.isfinite(found.interval(0.95)).all()
            if not found:
                assert found.privacy.epsilon < 1  # the sums were not looked at
                assert "trimmed mean" in str(found.advice)


def test_a_tail_without_variance_has_no_end_or_a_far_one():
    x = 1 + np.random.default_rng(3).pareto(1.1, 100_000)
    for k in range(3):
        assert ut.mean(x, epsilon=1, **seeded(k)).interval(0.95)[1] == math.inf
        assert ut.variance(x, epsilon=1, **seeded(k)).interval(0.95)[1] == math.inf


def test_too_few_rows_are_free():
    refused = ut.mean(np.arange(100.0), epsilon=1)
    assert refused.privacy.epsilon == 0
    assert enough_rows(refused.advice.n, Fraction(1))
    assert ut.mean(LAWS["normal"][0][: refused.advice.n], epsilon=1, **seeded())
    assert not enough_rows(refused.advice.n // 2, Fraction(1))
    assert not ut.sum(np.arange(100.0), epsilon=1, **SECRET)


def test_the_plan_spends_all_and_no_more():
    for n in (0, 1, 400, 3000, 10**5, 10**9):
        for epsilon in (Fraction(1, 100), Fraction(1), Fraction(20)):
            plan = FramePlan.of(n, epsilon)
            shares = plan.anchor, plan.sides, plan.check, plan.sums
            assert sum(shares) == 1
            assert min(shares) > 0
            assert 6 * plan.left_out <= n


def test_notes_say_what_is_clipped_and_nothing_of_the_rows():
    found = [ut.mean(LAWS[law][0], epsilon=1, **seeded()).notes for law in ("normal", "lognormal")]
    assert found[0] == found[1]
    assert "were clipped to it" in found[0][0]


def test_the_order_and_partition_of_rows_have_no_say():
    class Halves(Column):
        """Adds up two halves, the second first."""

        def sum(self, f):
            values = self.rows.lines[0]
            parts = [f(values[values.size // 3 :]), f(values[: values.size // 3])]
            return [a + b for a, b in zip(*parts, strict=True)]

    def halves(x):
        made = as_column("x", x)
        return Halves(made.table, made.expr, made.kind)

    x = LAWS["gamma"][0]
    for ask in (ut.mean, ut.sum, ut.variance, partial(ut.proportion, above=2)):
        values = {ask(data, epsilon=1, **seeded()).value for data in (x, x[::-1].copy(), halves(x))}
        assert len(values) == 1


def test_an_engine_gives_the_same(tmp_path):
    pytest.importorskip("duckdb")
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    x = np.where(np.arange(N) % 10 == 0, np.nan, LAWS["gamma"][0])
    pq.write_table(pa.table({"x": x}), tmp_path / "x.parquet")
    for statistic, how in (("mean", {}), ("variance", {}), ("proportion", {"above": 2}), ("proportion", {"equals": 1})):
        session = ut.open(tmp_path / "x.parquet", **seeded(4))
        engine = getattr(session["x"], statistic)(epsilon=1, missing="drop", **how)
        here = getattr(ut, statistic)(x, epsilon=1, missing="drop", **how, **seeded(4))
        assert engine.value == here.value
        assert engine.interval(0.9) == here.interval(0.9)


# ----------------------------------------------------------------------------------------------------------- people


def test_an_interval_for_people_is_about_people():
    """A hundred rows of one person are alike: the interval is as wide as that of one row for each."""
    rng = np.random.default_rng(5)
    own = rng.normal(0, 1, 2000)
    ids, x = np.repeat(np.arange(2000), 30), np.repeat(own, 30) + rng.normal(0, 0.01, 60_000)
    rows = ut.mean(x, epsilon=2, **seeded()).interval(0.95)
    people = ut.mean(x, epsilon=2, person=ids, **seeded()).interval(0.95)
    each = ut.mean(own, epsilon=2, **seeded()).interval(0.95)
    assert people[1] - people[0] == pytest.approx(each[1] - each[0], rel=0.3)
    assert people[1] - people[0] > 3 * (rows[1] - rows[0])
    with pytest.raises(ut.errors.NoInterval):
        ut.mean(x, epsilon=2, person=ids, weights="rows", at_most=30, **seeded()).interval(0.95)


def test_what_is_not_proved_for_peoples_rows_is_refused():
    ids = np.repeat(np.arange(N // 2), 2)
    with pytest.raises(ut.InvalidArgument, match="per_person must be given with person"):
        ut.sum(LAWS["gamma"][0], epsilon=1, person=ids)
    assert ut.sum(LAWS["gamma"][0], epsilon=1, person=ids, per_person="sum")


# ------------------------------------------------------------------------------------------------------ proportions


@pytest.mark.parametrize("epsilon", ["0.7", "2"])
def test_the_interval_of_a_proportion_covers(epsilon):
    """The exact chance to cover, over all counts and all noise, for any share."""
    n, scale = 25, 1 / Fraction(epsilon)
    law = IntegerLaplace(scale)
    most = law.cutoff(Fraction(1, 10**7))
    seen = np.arange(-most, n + most + 1)
    ends = np.array([ProportionInterval(int(y), n, law, False).around(min(max(y / n, 0), 1), 0.9) for y in seen])
    noise = np.exp(-abs(np.arange(-most, most + 1)) / float(scale))
    for p in (0.0, 0.02, 0.1, 0.33, 0.5, 0.9, 1.0):
        chances = np.convolve(stats.binom.pmf(np.arange(n + 1), n, p), noise / noise.sum())
        covered = chances[(ends[:, 0] <= p) & (p <= ends[:, 1])].sum()
        assert covered >= 0.9 - 1e-6
        assert covered <= (0.99 if 0.1 <= p <= 0.9 else 1.001)


def test_the_interval_of_a_proportion_of_a_secret_number_of_rows_covers():
    """The same where the other rows are counted with noise as well, over all pairs of counts."""
    n, law = 12, IntegerLaplace(Fraction(1, 2))
    z = np.arange(-6, 7)
    noise = np.exp(-2.0 * abs(z)) / np.exp(-2.0 * abs(np.arange(-40, 41))).sum()
    shown = {}
    for y in range(-6, n + 7):
        for rest in range(-6, n + 7):
            value = min(max(y / max(y + rest, 1), 0), 1)
            shown[y, rest] = ProportionInterval(y, max(y + rest, 0), law, True).around(value, 0.9)
    for p in (0.0, 0.05, 0.3, 0.5, 0.8, 1.0):
        covered = 0.0
        for true, chance in enumerate(stats.binom.pmf(np.arange(n + 1), n, p)):
            for (a, first), (b, second) in itertools.product(zip(z, noise, strict=True), repeat=2):
                low, high = shown[true + int(a), n - true + int(b)]
                covered += chance * first * second * (low <= p <= high)
        assert covered >= 0.9 - 1e-4


def test_proportions():
    x = np.arange(2000) < 300
    for way in WAYS.values():
        found = ut.proportion(x, epsilon=1, **way, **seeded())
        assert found.value == pytest.approx(0.15, abs=0.01)
        low, high = found.interval(0.95)
        assert 0.12 < low < 0.15 < high < 0.18
    assert ut.proportion(np.zeros(0, bool), epsilon=1, **SECRET, **seeded()).interval(0.95)[1] > 0.3
    holes = np.where(np.arange(2000) < 1000, np.nan, 1.0)
    for missing, wanted in (("low", 0.5), ("high", 1.0), (0, 0.5), ("drop", 1.0)):
        found = ut.proportion(holes, equals=1, epsilon=1, missing=missing, **seeded())
        assert found.value == pytest.approx(wanted, abs=0.02)


CODES = np.where(np.arange(2000) < 500, 1, 2)  # 1 = yes, 2 = no


@pytest.mark.parametrize("x", [CODES, CODES.astype(float), CODES.tolist(), CODES.astype(str)], ids=lambda x: type(x[0]))
def test_a_proportion_says_what_counts(x):
    """In a column that is coded 1 = yes, 2 = no, "above 0" would be everybody."""
    entropy = CountingEntropy()
    with pytest.raises(ut.InvalidArgument, match="x must be a column of truth values unless equals= or above="):
        ut.proportion(x, epsilon=1, entropy=entropy)
    assert entropy.taken == 0
    yes = "1" if isinstance(x[0], str) else 1
    for equals in (yes, [yes]):
        assert ut.proportion(x, equals=equals, epsilon=5, **seeded()).value == pytest.approx(0.25, abs=0.005)
    if not isinstance(x[0], str):
        assert ut.proportion(x, above=1, epsilon=5, **seeded()).value == pytest.approx(0.75, abs=0.005)
    for wrong in ({"equals": yes, "above": 1}, {"equals": [None]}, {"equals": b"1"}, {"above": None}):
        with pytest.raises(ut.InvalidArgument):
            ut.proportion(x, epsilon=1, entropy=entropy, **wrong)
    assert entropy.taken == 0


@pytest.mark.parametrize("of", ["memory", "duckdb"])
def test_proportions_of_people(of, tmp_path):
    """People weigh alike: each with the share of her rows, or with whether she has such a row at all."""
    rng = np.random.default_rng(5)
    many = rng.integers(1, 40, 3000)
    ids, often = np.repeat(np.arange(3000), many), np.repeat(rng.random(3000) < 0.5, many)
    x = (rng.random(ids.size) < np.where(often, 0.4, 0.1)) & (rng.random(ids.size) < 0.9)
    share = np.bincount(ids, x) / many
    data = {"id": ids, "x": x, "code": np.where(x, 1, 2), "time": np.arange(ids.size)}
    if of == "duckdb":
        pytest.importorskip("duckdb")
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        pq.write_table(pa.table(data), tmp_path / "x.parquet")
    session = ut.open(tmp_path / "x.parquet" if of == "duckdb" else data, person="id", **seeded())
    last = np.append(ids[1:] != ids[:-1], True)
    wanted = {None: share.mean(), "mean": share.mean(), "any": (share > 0).mean(), "last": x[last].mean()}
    for how, truth in wanted.items():
        more = {"order": "time"} if how == "last" else {}
        for column, equals in (("x", {}), ("code", {"equals": 1})):
            found = session[column].proportion(epsilon=20, per_person=how, **more, **equals)
            assert found.value == pytest.approx(truth, abs=0.001)
            low, high = found.interval(0.9999)
            assert low < truth < high < low + 0.1
            assert any("people" in note.lower() for note in found.notes)
    for how in ("sum", "max", "median", "count"):
        with pytest.raises(ut.InvalidArgument, match="per_person must be 'mean' or 'any' or 'last'"):
            session["x"].proportion(epsilon=1, per_person=how)
    with pytest.raises(ut.InvalidArgument, match="per_person must be"):
        session["code"].mean(epsilon=1, per_person="any")


def test_the_share_of_people_has_the_sensitivity_that_it_is_priced_for():
    """Whatever rows one person has instead, the units of true rows move by at most U, and both sums by at most 2U."""
    worlds = [rows for m in (1, 2, 3) for rows in itertools.product((0.0, 1.0, np.nan), repeat=m)]
    largest = 0
    for missing in ("low", "drop"):
        sums = []
        for rows in worlds:
            x, ids = np.array([1.0, 0.0, 1.0, *rows]), ["a", "a", "b", *["c"] * len(rows)]
            read = SHARES.enter({"x": x}, ids)
            data = indicator(read.arguments["x"], 1, None)
            data = data.drop() if missing == "drop" else data.filled(-1.0)
            sums.append([int(s) for s in data.rows.sum(true_and_false)])
        for one, two in itertools.combinations(sums, 2):
            moves = [abs(a - b) for a, b in zip(one, two, strict=True)]
            assert moves[0] <= U
            assert sum(moves) <= 2 * U
            largest = max(largest, sum(moves))
    assert largest == 2 * U


@pytest.mark.parametrize("scale", [Fraction(1, 3), 1, 7, 10**5])
def test_the_noise_of_a_proportion_is_the_law(scale):
    law = IntegerLaplace(scale)
    z, chances = _noise_law(law)
    assert chances.sum() == pytest.approx(1, abs=1e-11)
    assert (np.diff(z) == z[1] - z[0]).all()
    for i in (0, z.size // 3, z.size // 2, z.size - 2):
        assert chances[: i + 1].sum() == pytest.approx(law.cdf(int(z[i])), rel=1e-6, abs=2e-12)


def test_noise_that_is_wide_is_no_trouble():
    found = ut.proportion(np.ones(10**6, bool), epsilon="1e-5", **seeded())
    assert found.interval(0.95)[0] < 1
    assert ut.proportion(np.ones(10, bool), epsilon="1e-5", **seeded()).interval(0.95) == (0.0, 1.0)


def test_python_keeps_its_sum():
    space = {}
    exec("from uptack import *; from uptack.statistics import *", space)
    assert "sum" not in space
    assert ut.sum is ut.statistics.sum
    assert sum([1, 2]) == 3


def test_an_infinite_interval_is_explained_and_a_refusal_names_an_epsilon():
    x = np.random.default_rng(1).standard_cauchy(3000)
    heavy = ut.mean(x, epsilon=1, **seeded())
    assert np.isinf(heavy.interval(0.95)).any()
    assert "The interval is infinite on a side where the tail" in heavy.notes[-1]
    spread = ut.variance(np.random.default_rng(1).standard_t(3, 3000), epsilon=1, **seeded())
    assert "too heavy for a variance" in spread.notes[-1]
    few = ut.mean(np.arange(50.0), epsilon=1, **seeded())
    assert not few
    assert few.privacy.epsilon == 0
    assert ut.mean(np.arange(50.0), epsilon=few.advice.epsilon, **seeded()).privacy.epsilon > 0  # rows are read now


def test_the_note_on_clipped_values_counts_what_is_protected():
    person = np.arange(3000).repeat(2)
    values = np.random.default_rng(1).normal(50, 9, 6000)
    for options, unit in (({}, "rows"), ({"person": person}, "people")):
        made = ut.mean(values, epsilon=1, entropy=ut.SeededEntropy(1), **options)
        assert re.search(rf"about \d+ {unit} at each end", made.notes[0])
