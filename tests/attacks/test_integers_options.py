"""Options are hostile too: what no lattice resolves, and what a statistic does not have, is refused by name."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import uptack as ut
from tests.helpers import FALSE_ALARM
from uptack.noise import IntegerLaplace
from uptack.privacy import Privacy
from uptack.statistics import quantiles
from uptack.statistics.column_options import public_size, read_question, size_bounds

NORMAL = np.random.default_rng(4).normal(size=5000)


class Untouchable:
    def __array__(self, *args, **kwargs):
        raise AssertionError("the data were read")


@pytest.mark.parametrize(
    ("ask", "wrong"),
    [
        (lambda x: ut.median(x, epsilon=1, interval="0.9999999999999999999"), "interval"),
        (lambda x: ut.median(x, epsilon=1, interval=1 - Fraction(1, 10**400)), "interval"),
        (lambda x: ut.quantile(x, "1e-300", epsilon=1, interval=0.9), "p"),
        (lambda x: ut.quantile(x, "1e-400", epsilon=1), "p"),
        (lambda x: ut.quantile(x, 1 - Fraction(1, 10**400), epsilon=1), "p"),
        (lambda x: ut.quantile(x, ["1e-400", 0.5], epsilon=1), "p[0]"),
        (lambda x: ut.interquantile_range(x, "1e-400", 0.5, epsilon=1), "low"),
        (lambda x: ut.interquantile_range(x, 0.5, 1 - Fraction(1, 10**400), epsilon=1), "high"),
        (lambda x: ut.trimmed_mean(x, "1e-400", epsilon=1), "cut"),
        (lambda x: ut.trimmed_mean(x, Fraction(1, 2) - Fraction(1, 10**400), epsilon=1), "cut"),
        (lambda x: ut.median(x, epsilon=1, missing=10**400), "missing"),
        (lambda x: ut.median(x, epsilon="1e400"), "epsilon"),
        (lambda x: ut.median(x, epsilon=Fraction(1, 10**5000)), "epsilon"),
        *[
            (lambda x, ask=ask, step=step: ask(x, epsilon=1, granularity=step), "granularity")
            for ask in (ut.median, ut.iqr, ut.trimmed_mean, ut.winsorized_mean, ut.mean)
            for step in ("1e400", "1e-400", 1e300, 1e-300, 10 / 1.8e308)
        ],
        (lambda x: ut.mean(x, epsilon=1, granularity=1), "granularity"),
        (lambda x: ut.median(x, epsilon=1, granularity=1, method="ptr", delta=1e-6), "granularity"),
        (lambda x: ut.iqr(x, epsilon=1, granularity=1, method="dwork-lei", delta=1e-6), "granularity"),
    ],
)
def test_refused_by_name_before_data_are_read(ask, wrong):
    with pytest.raises(ut.InvalidArgument) as caught:
        ask(Untouchable())
    assert caught.value.name == wrong


def test_a_session_refuses_a_granularity_of_the_mean_before_the_debit(tmp_path):
    session = ut.open({"x": NORMAL}, ledger=ut.Ledger(tmp_path / "budget.db", epsilon=1))
    with pytest.raises(ut.InvalidArgument, match="unknown option 'granularity' of mean"):
        session["x"].mean(epsilon=1, granularity=1)
    assert session["x"].mean(epsilon=1)


@pytest.mark.parametrize("epsilon", [10, 100, 10**4, 10**6, 10**9])
@pytest.mark.parametrize("rows_per_person", [1, 3])
def test_a_mean_with_a_large_epsilon_is_answered(epsilon, rows_per_person):
    found = ut.mean(NORMAL, epsilon=epsilon, rows_per_person=rows_per_person)
    assert found.value == pytest.approx(NORMAL.mean(), abs=0.1)


@pytest.mark.parametrize("step", ["1e-75", 1, "1e75"])
def test_granularities_at_the_limits_are_answered(step):
    for ask in (ut.median, ut.iqr, ut.trimmed_mean, lambda x, **o: ut.quantile(x, [0.25, 0.75], **o)):
        assert ask(NORMAL, epsilon=1, granularity=step)


def test_levels_and_confidences_at_the_limits_get_no_reply_and_advice():
    least = Fraction(1, 10**12)
    for p, epsilon in ((least, 1), (1 - least, least)):
        refused = ut.quantile(NORMAL, p, epsilon=epsilon, interval=1 - least)
        assert not refused
        assert refused.advice.n > 10**12


# ------------------------------------------------------------------------ intervals where the number of rows is secret


BLOCK = 16


def ranks(n, p, confidence, options):
    """The ranks that an interval rests on, before its ends are moved out by what they may miss."""
    request = public_size(4000, read_question("median", "0.2", {"entropy": ut.SeededEntropy(0), **options}))[1]
    made = quantiles.IntervalRanks.of(max(n, 0), p, confidence, request.epsilon / 4, request)
    ((low, high),) = made.ranks
    return low + request.rows * made.steps, high - request.rows * made.steps, request


@pytest.mark.parametrize(
    "options", [{}, {"adjacency": ut.ADD_REMOVE}, {"missing": "drop", "rows_per_person": 2}], ids=str
)
@pytest.mark.parametrize(("p", "confidence"), [("1/2", "0.9"), ("0.99", "0.5"), ("1/100", "0.999")])
def test_the_ranks_of_an_interval_hold_with_the_noise_in_n(options, p, confidence):
    """Over the noise z and the sample: the chance that one of two ranks is on the wrong side, from above.

    The lower one goes wrong more often the larger z is, the upper one the smaller z is; so blocks of z will do.
    """
    n, level, sure = 4000, Fraction(p), Fraction(confidence)
    failing, request = float(1 - sure), ranks(n, level, sure, options)[2]
    chances = {(0, 0): 1.0}
    if options:
        noise = IntegerLaplace(request.rows / Fraction(request.spent[0].epsilon))
        least, most = size_bounds(n, request, (1 - sure) / 10)
        off = n - least
        assert most == n + off
        assert 2 * noise.tail(off + 1) <= failing / 10 < 2 * noise.tail(off)
        starts = range(-2 * off, 2 * off, BLOCK)
        chances = {(z, z + BLOCK - 1): noise.tail(z) - noise.tail(z + BLOCK) for z in starts}
    outside = 1 - sum(chances.values())
    for (first, last), chance in chances.items():
        low, high = ranks(n + last, level, sure, options)[0], ranks(n + first, level, sure, options)[1]
        outside += chance * (stats.binom.cdf(low - 1, n, float(level)) + stats.binom.sf(high - 1, n, float(level)))
    assert outside <= 0.8 * failing


@pytest.mark.parametrize("options", [{"adjacency": ut.ADD_REMOVE}, {"missing": "drop"}], ids=str)
@pytest.mark.parametrize("p", [0.5, 0.9])
def test_intervals_cover_where_the_number_of_rows_is_secret(options, p):
    """Values on a few far points, so that an end is often as far off as it may be."""
    runs, covered, points = 200, 0, np.array([0.0, 1.0, 1e3, 1e9, 1e30])
    truth = points[math.ceil(p * 5) - 1]
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        x = rng.choice(points, 4000)
        if "missing" in options:
            x[rng.random(4000) < 0.3] = np.nan
        made = ut.quantile(x, p, epsilon=2, interval="0.8", entropy=ut.SeededEntropy(seed), **options)
        assert made.privacy == Privacy(2, 0, options.get("adjacency", ut.SUBSTITUTE))
        low, high = made.interval("0.8")
        covered += low <= truth <= high
    assert stats.binom.cdf(covered, runs, 0.8) > FALSE_ALARM


def test_chernoffs_bound_is_on_the_safe_side():
    """Where the law of the binomial is bounded and not computed, the ranks are further out."""
    for n, p in ((10**6, Fraction(1, 2)), (10**7, Fraction(1, 1000)), (10**7, Fraction(999, 1000))):
        for q in (Fraction(1, 3), Fraction(1, 10**12)):
            exact = quantiles._below(n, p, q), quantiles._above(n, p, q)
            reach = quantiles._deviation(n, p, q)
            assert n * p - reach < exact[0] < exact[1] < n * p + reach + 2
