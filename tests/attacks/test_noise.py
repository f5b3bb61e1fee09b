"""Arguments at the edge, and values that an error or another row's reading must not tell."""

import pickle
import traceback
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import uptack as ut
from tests.helpers import FALSE_ALARM
from uptack import checks, discrete, kernels, limits, mechanisms, papers, privacy, random_dp
from uptack.exact import read
from uptack.mechanisms.stability import median_distance
from uptack.noise import Ellipsoid, Grid, IntegerLaplace, L1Ball, SampledBody, SeededEntropy
from uptack.table.values.entrance import numbers

ROWS = np.random.default_rng(0).normal(size=200)
CODES = np.arange(200) % 3
LONG = Fraction(1, 10**5000)
HUGE = 10**5000

# ------------------------------------------------------------------------------------------------ values that are data


def told(call) -> str:
    """All that an error shows: text, attributes, causes and contexts."""
    with pytest.raises(ut.InvalidArgument) as caught:
        call()
    error = caught.value
    assert error.__cause__ is None
    assert error.__context__ is None
    return "".join(traceback.format_exception(error)).split("InvalidArgument:")[-1] + repr(vars(error))


@pytest.mark.parametrize(
    "value", ["9187", 9187j, b"9187", {"9187": 1}, {9187}, np.array(["9187"]), np.array([[[9187.0]]])]
)
def test_an_error_shows_what_sort_of_object_it_was_and_no_value(value):
    for mechanism in (mechanisms.laplace, mechanisms.gamma):
        assert "9187" not in told(lambda m=mechanism: m(value, sensitivity=1, epsilon=1))


class Shy:
    """An object whose conversion fails with its content."""

    def __array__(self, dtype=None, copy=None):
        raise ValueError("9187")


def test_an_error_of_a_conversion_is_not_passed_on():
    assert "9187" not in told(lambda: mechanisms.laplace(Shy(), sensitivity=1, epsilon=1))


@pytest.mark.parametrize(
    "value", [2**63, 2**64, -(2**64), 10**400, HUGE, Fraction(10**400), Decimal("1e400")], ids=range(7)
)
def test_a_number_of_any_size_is_released(value):
    near = mechanisms.laplace(value, sensitivity=1, epsilon=1, granularity=1, entropy=SeededEntropy(1)).value
    assert np.sign(near) == np.sign(value)
    assert abs(near) >= 2**53 - 100


OTHERS = [
    0,
    1,
    0.5,
    -1,
    2**63,
    2**64,
    -(2**64),
    HUGE,
    True,
    None,
    "a",
    float("nan"),
    np.float32(1),
    Decimal(1),
    np.uint64(3),
]


@pytest.mark.parametrize("first", [1, 2**53, 2**60 + 1, 2**63, 2**64, -(2**63), 0.25, float("inf"), None, "a"])
def test_no_entry_changes_how_another_is_read(first):
    read_alone = numbers("value", [first])[0]
    for other in OTHERS:
        assert numbers("value", [first, other])[0] == read_alone
        assert numbers("value", [other, first])[1] == read_alone
        assert numbers("value", np.array([first, other], object))[0] == read_alone


def test_numbers_are_never_pulled_apart_by_their_reading():
    values = [2**53 - 2, 2**53, 2**53 + 1, 2**60, 2**63 - 1, 2**63, 2**64, 10**400]
    made = numbers("value", values)
    assert (made == [2**53 - 2] + [2**53] * 7).all()


def test_what_is_public_is_checked_entry_by_entry():
    for call in (
        lambda: ut.histogram(ROWS, edges=[0, "a"], epsilon=1),
        lambda: Ellipsoid([[1, "a"], ["a", 1]]),
        lambda: SampledBody(lambda e: [0], ["a"]),
        lambda: ut.optimal_count_mechanism(1, 1, prior=[1, None]),
    ):
        with pytest.raises(ut.InvalidArgument, match="real numbers"):
            call()


# ------------------------------------------------------------------------------------------------- ε and δ at the edge

EPSILONS = [1e-300, LONG, "1e-13", 1e-12, 1e-6, 1e6, 1e9, 1e300, "1e400", float("inf"), float("nan"), -0.0, True, None]
EPSILONS += ["x", 10**400, HUGE, "1e999999999", Decimal("1e999999"), Fraction(HUGE), 1j, [1], np.array([1.0])]
DELTAS = [1e-300, LONG, "1e-301", 0.999999, Fraction(10**30 - 1, 10**30), *EPSILONS[5:]]
LINE = {"kernel": kernels.GaussianKernel(1.0), "sensitivity": 1, "norm": 1}
CALLS = {
    "median": lambda e, d: ut.median(ROWS, epsilon=e),
    "median, ptr": lambda e, d: ut.median(ROWS, epsilon=e, delta=d, method="ptr"),
    "median, dwork-lei": lambda e, d: ut.median(ROWS, epsilon=e, delta=d, method="dwork-lei"),
    "median, secret n": lambda e, d: ut.median(ROWS, epsilon=e, adjacency=ut.ADD_REMOVE, rows_per_person=3),
    "quantile": lambda e, d: ut.quantile(ROWS, [0.25, 0.75], epsilon=e),
    "iqr": lambda e, d: ut.iqr(ROWS, epsilon=e, delta=d, method="ptr"),
    "mean": lambda e, d: ut.mean(ROWS, epsilon=e),
    "trimmed_mean": lambda e, d: ut.trimmed_mean(ROWS, 0.1, epsilon=e),
    "count": lambda e, d: ut.count(ROWS > 0, epsilon=e),
    "histogram": lambda e, d: ut.histogram(ROWS, edges=[-1, 0, 1], epsilon=e),
    "histogram, keys": lambda e, d: ut.histogram(CODES, epsilon=e, delta=d),
    "sparse_histogram": lambda e, d: ut.sparse_histogram(CODES, 2**40, e),
    "margins": lambda e, d: ut.margins({"a": CODES, "b": CODES}, domain=ut.Domain({"a": 3, "b": 3}), epsilon=e),
    "optimal": lambda e, d: ut.optimal_count_mechanism(3, e),
    "risk_body": lambda e, d: discrete.risk_body(e),
    "kde": lambda e, d: ut.kde(ROWS, epsilon=e, delta=d, bandwidth=0.5),
    "kde, secret n": lambda e, d: ut.kde(ROWS, epsilon=e, delta=d, bandwidth=0.5, adjacency=ut.ADD_REMOVE),
    "fourier_density": lambda e, d: ut.fourier_density(ROWS, e, low=-3, high=3),
    "kernel_machine": lambda e, d: kernels.kernel_machine(
        ROWS[:, None], np.sign(ROWS), loss="hinge", epsilon=e, delta=d
    ),
    "release_function": lambda e, d: kernels.release_function(lambda x: x[:, 0] * 0, epsilon=e, delta=d, **LINE),
    "shortcut_regression": lambda e, d: ut.shortcut_regression(ROWS, ROWS, epsilon=e),
    "hampel_regression": lambda e, d: ut.hampel_regression(ROWS, ROWS, epsilon=e, delta=d),
    "per_group": lambda e, d: ut.per_group(ut.median, ROWS, by=CODES, groups=[0, 1], epsilon=e),
    "stable_value": lambda e, d: ut.stable_value(lambda t: 1, ROWS, epsilon=e, delta=d),
    "release_if_stable": lambda e, d: ut.release_if_stable(1, 50, epsilon=e, delta=d),
    "laplace": lambda e, d: mechanisms.laplace(ROWS, sensitivity=1, epsilon=e),
    "gaussian": lambda e, d: mechanisms.gaussian(ROWS, sensitivity=1, epsilon=e, delta=d),
    "gamma": lambda e, d: mechanisms.gamma([1.0, 2.0], sensitivity=1, epsilon=e),
    "k_norm": lambda e, d: mechanisms.k_norm([1.0, 2.0], body=L1Ball(2), sensitivity=1, epsilon=e),
    "exponential": lambda e, d: mechanisms.exponential("abc", [1, 2, 3], sensitivity=1, epsilon=e),
    "report_noisy_max": lambda e, d: mechanisms.report_noisy_max("abc", [1, 2, 3], sensitivity=1, epsilon=e),
    "Privacy": lambda e, d: privacy.Privacy(e, d).explain(),
    "group": lambda e, d: privacy.Privacy(e, d, ut.ADD_REMOVE).under(ut.SUBSTITUTE.per_person(1000)),
    "gaussian_delta": lambda e, d: float(privacy.gaussian_delta(1, e)),
    "gaussian_noise_multiplier": lambda e, d: privacy.gaussian_noise_multiplier(e, d),
    "gaussian_epsilon": lambda e, d: privacy.gaussian_epsilon(e, d),
    "tight": lambda e, d: privacy.tight([privacy.loss.Pure(e)] * 3, d),
    "Subsample": lambda e, d: privacy.cost(privacy.loss.Subsample(privacy.loss.Approximate(e, d), 0.5)),
    "limits.count": lambda e, d: limits.count(100, e),
    "limits.margins": lambda e, d: limits.margins(100, 5, e),
    "limits.sparse_histogram": lambda e, d: limits.sparse_histogram(100, 100, 10, e),
    "papers.M": lambda e, d: papers.M(ROWS, 200, e, 1, delta=d),
    "papers.S": lambda e, d: papers.S(ROWS, 200, e, delta=d),
    "papers.A_samp": lambda e, d: papers.A_samp(lambda t: 1, ROWS, e, d, dry_run=True),
    "papers.Scale": lambda e, d: papers.Scale(ROWS, e, d),
    "binomial_proportion": lambda e, d: random_dp.binomial_proportion(ROWS > 0, epsilon=e, gamma=0.05),
    "failure_probability": lambda e, d: random_dp.failure_probability(lambda t: {0: 1.0}, [1, 2, 3], e),
}


def refusal(call, *arguments) -> ut.UptackError | None:
    """The typed error of a call, or None where there was an answer. Any other error fails the test."""
    try:
        call(*arguments)
    except ut.UptackError as error:
        return error
    return None


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("error")
def test_an_answer_or_a_typed_error_at_every_epsilon_and_delta(name, capsys):
    for epsilon, delta in [*((e, 1e-6) for e in EPSILONS), *((1, d) for d in DELTAS)]:
        error = refusal(CALLS[name], epsilon, delta)
        if error is not None:
            assert len(str(error)) < 1000
            assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_the_bounds_are_named():
    for epsilon in (LONG, 1e-13, 1e10, 10**400):
        with pytest.raises(ut.InvalidArgument, match=r"^epsilon must be a (number between 2\^-40|positive number)"):
            ut.median(ROWS, epsilon=epsilon)
    assert checks.epsilon(Fraction(1, 2**40)) == Fraction(1, 2**40)
    assert checks.epsilon(10**9) == 10**9


@pytest.mark.parametrize("text", ["1e999999999", "-1e-999999999", Decimal("1e999999"), "1e1_000_000", "9" * 5000])
def test_a_long_number_is_refused_before_it_is_written_out(text):
    with pytest.raises(ValueError, match="finite"):
        read(text)


def test_a_guarantee_for_many_rows_is_found_at_once():
    made = privacy.Privacy(Fraction(1, 10**6), Fraction(1, 10**9)).group(10**6)
    assert made.exact_epsilon == 1
    exact = 1e-9 * np.expm1(1) / np.expm1(1e-6)
    assert exact * (1 - 1e-12) <= made.delta <= exact * (1 + 1e-12)
    assert privacy.Privacy(10**6, 1e-9).group(10**6).exact_delta == 1


# ------------------------------------------------------------------------------------------------ sensitivity and grids


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("sensitivity", [LONG, 5e-324, 1e-300, 1.7e308, HUGE, "1e400"], ids=range(6))
@pytest.mark.parametrize("mechanism", ["laplace", "gaussian", "gamma", "exponential", "report_noisy_max"])
def test_an_answer_or_a_typed_error_at_every_sensitivity(mechanism, sensitivity):
    for epsilon in (1e-9, 1, 1e9):
        options = {"sensitivity": sensitivity, "epsilon": epsilon}
        if mechanism in ("exponential", "report_noisy_max"):
            for scores in ([0, 1], [1.7e308, -1.7e308], [5e-324, 0]):
                error = refusal(lambda o=options, s=scores: getattr(mechanisms, mechanism)("ab", s, **o))
        else:
            error = refusal(_noisy, mechanism, options | ({"delta": 1e-6} if mechanism == "gaussian" else {}))
        assert error is None or error.name in (
            "sensitivity",
            "epsilon",
            "step",
            "epsilon over sensitivity",
            "sensitivity over epsilon",
        )


def _noisy(mechanism, options):
    release = getattr(mechanisms, mechanism)([1.0, 1e308, -1e308, 5e-324], **options)
    assert np.isfinite(release.value).all()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # post-processing of a released value
        release.interval(0.95)


def test_scores_that_are_further_apart_than_floats_reach_have_the_right_law():
    """The exponent is 2·1.5e308/3e308 = 1: the coin is e^-1, though the difference of the scores is no float."""
    scores, entropy = [1.5e308, -1.5e308], SeededEntropy(3)
    options = {"sensitivity": 10**308, "epsilon": Fraction(1, 3), "monotone": True, "entropy": entropy}
    seen = sum(mechanisms.exponential("ab", scores, **options).value == "b" for _ in range(3000))
    rate = np.exp(-1) / (1 + np.exp(-1))
    assert stats.binomtest(seen, 3000, rate).pvalue > FALSE_ALARM
    assert stats.binomtest(seen, 3000, 0.5).pvalue < FALSE_ALARM


@pytest.mark.parametrize(
    "step", [Fraction(1, 2**1201), Fraction(1, 2**20000), 2**1024, 2**20000, 0, -1, 0.3], ids=range(7)
)
def test_a_step_that_floats_do_not_have_is_refused(step):
    with pytest.raises(ut.InvalidArgument, match=r"^step must be a power of two"):
        Grid(step)


def test_a_confidence_next_to_1_is_refused():
    for confidence in ("0.9999999999999999999", "1e-301", 0, 1):
        with pytest.raises(ut.InvalidArgument, match=r"^confidence must be "):
            IntegerLaplace(1).interval(confidence)
    assert IntegerLaplace(1).quantile(1e-20) < IntegerLaplace(1).quantile(1e-10)


# ------------------------------------------------------------------------------------------------------------ densities


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("width", [1e-300, 1e-81, 1e81, 1e300, LONG, "1e400", (1e-50, 1e-50), (1e60, 1e60)])
def test_a_bandwidth_out_of_all_bounds_is_refused(width):
    rows = np.column_stack([ROWS, ROWS]) if isinstance(width, tuple) else ROWS
    with pytest.raises(ut.InvalidArgument, match=r"^bandwidth must be "):
        ut.kde(rows, epsilon=1, delta=1e-6, bandwidth=width)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("low", "high"), [(-1e308, 1e308), (0, 1e308), (0, 1e90), (0, 1e-90), (0, 5e-324), (0, LONG)], ids=range(6)
)
def test_a_box_out_of_all_bounds_is_refused(low, high):
    with pytest.raises(ut.InvalidArgument, match=r"^(low|high) must be "):
        ut.fourier_density(ROWS, 1, low=low, high=high)


# ------------------------------------------------------------------------------------------------ the median's distance


@pytest.mark.parametrize("column", [np.array, list, tuple], ids=["array", "list", "tuple"])
def test_integers_that_floats_cannot_tell_apart_are_not_ties(column):
    """Nanoseconds: as floats they would all be one value, and a median that one row moves would pass for stable."""
    times = 1_700_000_000 * 10**9 + np.arange(2001)
    assert median_distance(column(times.tolist())) == 0
    assert median_distance(column([2**53, 2**53 + 1, 2**53 + 1])) == 0
    assert median_distance(column([2**60] * 9)) == 4


def test_the_papers_median_of_large_integers_is_theirs():
    times = 1_700_000_000 * 10**9 + np.repeat([0, 10**9, 2 * 10**9], [300, 1400, 300])
    made = papers.A_dist("median", times, 1, 1e-6, entropy=SeededEntropy(1))
    assert made.value == float(times[1000])
