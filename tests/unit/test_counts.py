"""Counts: the geometric mechanism, and the best ones by linear programming."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import uptack as ut
from tests.helpers import FALSE_ALARM, CountingEntropy, assert_fits
from uptack.discrete import count, minimax_count_mechanism, optimal_count_mechanism, risk_body
from uptack.discrete.count_mechanism import TOTAL, CountMechanism, Problem, growth, is_private, optimal_table, repair
from uptack.noise import IntegerLaplace, SeededEntropy

DISTANCES = np.abs(np.subtract.outer(np.arange(71), np.arange(71))).astype(float)


def geometric(n, epsilon):
    """The two-sided geometric mechanism with its answers taken to 0..n."""
    q = math.exp(-epsilon)
    table = (1 - q) / (1 + q) * q ** np.abs(np.subtract.outer(np.arange(n + 1), np.arange(n + 1)))
    table[:, [0, n]] /= 1 - q
    return table


# -------------------------------------------------------------------------------------------------------------- count


def test_what_is_counted():
    def value(rows, **options):
        return count(rows, epsilon=50, entropy=SeededEntropy(1), **options).value

    flags = np.array([True, False, True])
    assert value(17) == value(np.int32(17)) == 17
    assert value(flags) == value([True, False, True]) == value((True, True, False)) == 2
    assert value(np.array([1.5, 2.5]), adjacency=ut.ADD_REMOVE) == value(np.zeros((2, 5)), adjacency=ut.ADD_REMOVE) == 2
    assert value([], adjacency=ut.ADD_REMOVE) == value({}, adjacency=ut.ADD_REMOVE) == 0
    assert value([True, 5, "yes", 1.0]) == 1  # only what is True
    assert value([None, True]) == value([None, True], adjacency=ut.ADD_REMOVE) == 1  # never its length
    assert value(-5) == 0
    assert value(10**30) == 2**52
    assert isinstance(value(flags), int)


def test_frames():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    for flags in (
        pandas.Series([True, False, True]),
        pandas.Series([True, None, True], dtype="boolean"),
        polars.Series([True, None, True]),
    ):
        assert count(flags, epsilon=50).value == 2
    assert count(pandas.DataFrame({"a": range(9)}), epsilon=50, adjacency=ut.ADD_REMOVE).value == 9


def test_noise_law():
    draws = np.array([count(1000, epsilon=0.5, entropy=e).value for e in map(SeededEntropy, range(1200))]) - 1000
    assert_fits(draws, IntegerLaplace(2), IntegerLaplace(3))
    shared = SeededEntropy(3)
    draws = np.array([count(1000, epsilon=1, rows_per_person=3, entropy=shared).value for _ in range(1200)]) - 1000
    assert_fits(draws, IntegerLaplace(3), IntegerLaplace(4.5))


def test_price_interval_and_clipping():
    release = count(100, epsilon=0.5, rows_per_person=2, adjacency=ut.ADD_REMOVE)
    assert release.privacy == ut.Privacy(0.5, 0, ut.ADD_REMOVE.per_person(2))
    assert (release.mechanism, release.private) == ("count", True)
    low, high = release.interval(0.99)
    assert low <= release.value <= high
    small = [count(0, epsilon=0.1, nonnegative=True) for _ in range(50)]
    assert min(r.value for r in small) == 0
    assert sum(r.interval(0.9)[0] <= 0 <= r.interval(0.9)[1] for r in small) >= 30


@pytest.mark.parametrize(
    ("argument", "options"),
    [
        ("epsilon", {"epsilon": 0}),
        ("epsilon", {"epsilon": "much"}),
        ("rows", {"rows": 1.5}),
        ("rows", {"rows": "abc"}),
        ("rows", {"rows": None}),
        ("rows", {"rows": True}),
        ("rows", {"rows": np.array([1.0, 2.0])}),
        ("rows", {"rows": np.zeros((2, 2), bool)}),
        ("rows_per_person", {"rows_per_person": 0}),
        ("adjacency", {"adjacency": "add"}),
        ("entropy", {"entropy": 3}),
    ],
)
def test_bad_counts(argument, options):
    entropy = CountingEntropy()
    with pytest.raises(ut.InvalidArgument) as caught:
        count(**{"rows": 5, "epsilon": 1, "entropy": entropy} | options)
    assert caught.value.name == argument
    assert entropy.taken == 0


# ------------------------------------------------------------------------------------------------- optimal mechanisms


@pytest.mark.parametrize(("epsilon", "risk"), [(1, 0.8509), (0.1, 8.264)])
def test_minimax_risk_at_70(epsilon, risk):
    table, value = optimal_table(Problem.of(70, epsilon, "absolute"))
    assert value == pytest.approx(risk, abs=6e-4 if epsilon == 0.1 else 6e-5)
    mechanism = CountMechanism(repair(table, Fraction(str(epsilon))), epsilon, DISTANCES)
    assert value - 1e-6 <= mechanism.worst_risk <= value * (1 + 1e-5)  # privacy made exact costs next to nothing
    assert value <= 1 / math.sinh(epsilon) + 1e-6  # the geometric mechanism's


@pytest.mark.parametrize(("n", "epsilon"), [(1, 1), (6, 0.5), (25, 0.3)])
def test_equalizer_rules_are_minimax(n, epsilon):
    plain, equal = (minimax_count_mechanism(n, epsilon, equalizer=e) for e in (False, True))
    assert equal.is_equalizer()
    assert equal.worst_risk == pytest.approx(plain.worst_risk, rel=1e-5)
    if n > 1:
        assert not optimal_count_mechanism(n, epsilon).is_equalizer()


def test_a_loss_without_equalizer_is_refused():
    with pytest.raises(ut.InvalidArgument, match=r"^loss must be one with an equalizer rule"):
        minimax_count_mechanism(2, 1, lambda i, j: float(i == 0), equalizer=True)


@pytest.mark.parametrize("loss", ["absolute", "squared", "zero-one"])
@pytest.mark.parametrize("prior", [None, [8, 4, 2, 1, 1, 1, 1, 2, 9], [0, 0, 0, 0, 1, 0, 0, 0, 0]])
def test_bayes_optima_are_remapped_geometric_mechanisms(loss, prior):
    """Ghosh, Roughgarden and Sundararajan: the best remapping of the geometric mechanism is optimal for any prior."""
    mechanism = optimal_count_mechanism(8, 0.7, loss, prior)
    weights = np.full(9, 1 / 9) if prior is None else np.array(prior) / np.sum(prior)
    joint = geometric(8, 0.7).T @ (weights[:, None] * mechanism.losses)  # [geometric answer, remapped to]
    best = joint.min(axis=1).sum()
    assert mechanism.bayes_risk(prior) == pytest.approx(best, abs=1e-6)


def test_other_losses():
    def too_low(i, j):
        return 3.0 * (i - j) if j < i else float(j - i)

    mechanism = minimax_count_mechanism(10, 0.5, too_low)
    assert "too_low" in repr(mechanism)
    plain = CountMechanism(repair(geometric(10, 0.5), Fraction(1, 2)), 0.5, mechanism.losses)
    assert mechanism.worst_risk < plain.worst_risk
    assert mechanism.table[5] @ np.arange(11) > 5.2  # it leans to the side that costs less


@pytest.mark.parametrize("epsilon", [1e-4, 0.01, 3, 20, 45, 1000])
def test_extreme_epsilon(epsilon):
    mechanism = minimax_count_mechanism(6, epsilon)
    assert 0 <= mechanism.worst_risk <= 3.001
    assert mechanism.worst_risk < 1e-5 or epsilon < 20


def test_tables_that_are_not_private_are_refused():
    losses = np.zeros((2, 2))
    with pytest.raises(ut.InvalidArgument, match="private at ε = 1"):
        CountMechanism(np.array([[TOTAL, 0], [0, TOTAL]]), 1, losses)
    with pytest.raises(ut.InvalidArgument, match="add up to"):
        CountMechanism(np.full((2, 2), 5), 1, losses)
    with pytest.raises(ut.InvalidArgument, match="shape of losses"):
        CountMechanism(np.full((2, 2), TOTAL // 2), 1, np.zeros((3, 3)))
    least = math.ceil(TOTAL / (1 + growth(Fraction(1))))  # 1/(1 + e), the tight table for n = 1
    for weight, fits in ((least, True), (least - 1, False)):
        table = np.array([[TOTAL - weight, weight], [weight, TOTAL - weight]])
        assert is_private(table, Fraction(1)) == fits


def test_sampling_law():
    mechanism = minimax_count_mechanism(12, 0.5)
    draws = mechanism.sample(4, 20_000, entropy=SeededEntropy(5))
    observed = np.bincount(draws, minlength=13)

    def p_value(law):
        kept = law * len(draws) >= 5
        cells = [np.append(v[kept], v[~kept].sum()) for v in (observed, law * len(draws))]
        cells = [v if cells[1][-1] >= 5 else np.append(v[:-2], v[-2:].sum()) for v in cells]
        return stats.chisquare(*cells).pvalue

    assert p_value(mechanism.table[4]) > FALSE_ALARM
    assert p_value(mechanism.table[5]) < FALSE_ALARM
    assert p_value(geometric(12, 0.5)[4]) < FALSE_ALARM
    assert mechanism.sample(4, entropy=SeededEntropy(5)) == draws[0]
    assert mechanism.sample(-3, entropy=SeededEntropy(1)) == mechanism.sample(0, entropy=SeededEntropy(1))


def test_release_and_intervals_cover():
    mechanism = minimax_count_mechanism(20, 0.5)
    release = mechanism.release(7, adjacency=ut.ADD_REMOVE.per_person(2), entropy=SeededEntropy(1))
    assert release.privacy == ut.Privacy(1, 0, ut.ADD_REMOVE.per_person(2))
    assert not release.private
    noise = release.noise
    for confidence in (0.5, 0.95):
        ends = [noise.around(j, confidence) for j in range(21)]
        for i in range(21):
            covered = sum(mechanism.probability(i, j) for j, (a, b) in enumerate(ends) if a <= i <= b)
            assert covered >= confidence - Fraction(1, 10**9)


@pytest.mark.parametrize(
    ("argument", "options"),
    [
        ("n", {"n": 0}),
        ("n", {"n": 201}),
        ("n", {"n": 2.5}),
        ("epsilon", {"epsilon": 0}),
        ("epsilon", {"epsilon": 1e-5}),
        ("loss", {"loss": "relative"}),
        ("loss", {"loss": 3}),
        ("loss", {"loss": lambda i, j: math.inf}),
        ("loss", {"loss": lambda i, j: -1.0}),
        ("prior", {"prior": [1, 2]}),
        ("prior", {"prior": [1, 2, -1, 0]}),
        ("prior", {"prior": [0, 0, 0, 0]}),
    ],
)
def test_bad_programs(argument, options):
    with pytest.raises(ut.InvalidArgument) as caught:
        optimal_count_mechanism(**{"n": 3, "epsilon": 1} | options)
    assert caught.value.name == argument


@pytest.mark.parametrize("count_", [1.5, True, "a", None])
def test_bad_counts_for_a_mechanism(count_):
    entropy = CountingEntropy()
    with pytest.raises(ut.InvalidArgument, match=r"^count must be an integer"):
        minimax_count_mechanism(2, 1).release(count_, entropy=entropy)
    assert entropy.taken == 0


def test_risk_body_is_what_the_programs_reach():
    body = risk_body(1)
    for weight in (0.1, 0.3, 0.5, 0.7, 0.9):
        prior = np.array([weight, 1 - weight])
        mechanism = optimal_count_mechanism(1, 1, prior=prior)
        assert mechanism.bayes_risk(prior) == pytest.approx((body.vertices @ prior).min(), abs=1e-8)
    assert minimax_count_mechanism(1, 1).worst_risk == pytest.approx(1 / (1 + math.e), abs=1e-8)


def test_plots():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    ax = risk_body(1).plot()
    assert risk_body(2).plot(ax) is ax
    assert minimax_count_mechanism(3, 1).plot().get_xlabel() == "output"
    matplotlib.pyplot.close("all")
