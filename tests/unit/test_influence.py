"""Influence functions: closed forms against derivatives, tables against laws, bounded against unbounded."""

import builtins
import itertools

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import cauchy, expon, lognorm, norm, poisson, uniform

from uptack.errors import InvalidArgument, UptackError
from uptack.influence import Influence, _statistic_of, empirical_influence, gross_error_sensitivity, influence

LAWS = {"normal": norm(3, 2), "exponential": expon(), "lognormal": lognorm(0.8)}
STATISTICS = [
    "mean",
    "median",
    "iqr",
    "midhinge",
    "trimean",
    ("quantile", 0.9),
    ("interquantile_range", 0.1, 0.8),
    ("trimmed_mean", 0.1),
    ("trimmed_mean", 0.25),
    ("winsorized_mean", 0.1),
]


def contaminated(law, t, z):
    """The quantile function of (1-t)F + t·δ_z, and the levels at which z takes over and gives back."""
    start = (1 - t) * law.cdf(z)

    def ppf(u):
        return law.ppf(u / (1 - t)) if u < start else z if u <= start + t else law.ppf((u - t) / (1 - t))

    return ppf, [start, start + t]


def functional(statistic, ppf, breaks, mean):
    """T of a law given by its quantile function, from the definitions."""
    name, *levels = (statistic,) if isinstance(statistic, str) else statistic

    def integral(a, b):
        points = sorted([a, b, *(u for u in breaks if a < u < b)])
        return sum(quad(ppf, u, v, epsabs=1e-12, epsrel=1e-12)[0] for u, v in itertools.pairwise(points))

    match name, levels:
        case "mean", []:
            return mean
        case "median", []:
            return ppf(0.5)
        case "quantile", [p]:
            return ppf(p)
        case "iqr", []:
            return ppf(0.75) - ppf(0.25)
        case "interquantile_range", [a, b]:
            return ppf(b) - ppf(a)
        case "midhinge", []:
            return (ppf(0.75) + ppf(0.25)) / 2
        case "trimean", []:
            return (ppf(0.75) + 2 * ppf(0.5) + ppf(0.25)) / 4
        case "trimmed_mean", [cut]:
            return integral(cut, 1 - cut) / (1 - 2 * cut)
        case "winsorized_mean", [cut]:
            return integral(cut, 1 - cut) + cut * (ppf(cut) + ppf(1 - cut))


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize("statistic", STATISTICS, ids=str)
def test_closed_form_is_the_derivative(statistic, law):
    t, points = 1e-5, law.ppf([0.003, 0.04, 0.17, 0.3, 0.45, 0.6, 0.77, 0.84, 0.93, 0.999])
    before = functional(statistic, law.ppf, [], law.mean())
    slopes = [
        (functional(statistic, *contaminated(law, t, z), (1 - t) * law.mean() + t * z) - before) / t for z in points
    ]
    assert influence(statistic, law, points).values == pytest.approx(slopes, rel=2e-3, abs=2e-4)


def test_the_influence_of_a_quantile_is_zero_at_the_quantile():
    law = LAWS["exponential"]
    assert influence(("quantile", 0.3), law, law.ppf(0.3)).values == [0.0]


@pytest.mark.parametrize("statistic", ["mean", ("trimmed_mean", 0.1), ("trimmed_mean", 0.2)], ids=str)
def test_a_large_sample_comes_close_to_the_law(statistic):
    x = np.random.default_rng(1).normal(size=1_000_000)
    points = np.linspace(-4, 4, 41)
    found = empirical_influence(x, statistic, points).values
    assert found == pytest.approx(influence(statistic, norm(), points).values, abs=0.02)


@pytest.mark.parametrize("statistic", ["median", "iqr", ("quantile", 0.9), ("winsorized_mean", 0.1)], ids=str)
def test_quantiles_come_close_on_average_over_samples_of_many_sizes(statistic):
    """One gap stays random, and its side depends on whether the rank jumps: the mean over both settles."""
    rng, points = np.random.default_rng(2), np.array([-3.0, 3.0])
    sizes = 1000 + np.arange(2000) % 20
    mean = np.mean([empirical_influence(rng.normal(size=n), statistic, points).values for n in sizes], axis=0)
    assert mean == pytest.approx(influence(statistic, norm(), points).values, abs=0.15)


@pytest.mark.parametrize("statistic", STATISTICS, ids=str)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 9, 10, 19, 20, 21])
def test_all_points_at_once_agree_with_rows_appended_one_by_one(statistic, n):
    rng = np.random.default_rng(n)
    x = rng.integers(-5, 6, n).astype(float)
    points = np.arange(-7.0, 8.0) / 1.5

    def direct(rows):
        ordered = np.sort(rows)
        return sum(
            float(s.weight) * ordered[s.first - 1 : s.last].sum()
            for s in _statistic_of(statistic)[0].segments(rows.size)
        )

    slow = empirical_influence(x, direct, points)
    assert empirical_influence(x, statistic, points).values == pytest.approx(slow.values)


def test_any_function_of_an_array_will_do():
    x = np.array([3.0, 1.0, 2.0, 5.0])
    made = empirical_influence(x, np.median, [100.0])
    assert made.values == [5 * (3.0 - 2.5)]
    assert made.statistic == "median"


def test_gross_error_sensitivity_of_the_median_is_one_over_twice_the_density():
    for law in LAWS.values():
        assert gross_error_sensitivity("median", law) == pytest.approx(1 / (2 * law.pdf(law.ppf(0.5))))


@pytest.mark.parametrize("cut", [0.05, 0.1, 0.25, 0.4])
def test_gross_error_sensitivity_of_the_trimmed_mean_on_a_symmetric_law(cut):
    assert gross_error_sensitivity(("trimmed_mean", cut), norm(7)) == pytest.approx(norm.ppf(1 - cut) / (1 - 2 * cut))


def test_bounded_against_unbounded():
    far = [-1e9, 1e9]
    for statistic in STATISTICS:
        bounded = statistic != "mean"
        for law in LAWS.values():
            most = gross_error_sensitivity(statistic, law)
            assert np.isfinite(most) == bounded
            values = np.abs(influence(statistic, law, np.linspace(-20, 20, 999)).values)
            assert values.max() <= most * (1 + 1e-12)
        assert (np.abs(empirical_influence(np.arange(100.0), statistic, far).values).max() < 1e3) == bounded


def test_the_mean_is_unbounded_even_on_a_bounded_law():
    assert gross_error_sensitivity("mean", uniform()) == np.inf
    assert influence("mean", uniform(), [100.0]).values == [99.5]


def test_without_density_at_the_median_its_influence_is_infinite():
    class TwoLumps:
        """Half of the mass on [0, 1], half on [3, 4]."""

        def ppf(self, u):
            return np.where(np.asarray(u) <= 0.5, 2 * np.asarray(u), 2 * np.asarray(u) + 2) + 0.5 * (
                np.asarray(u) == 0.5
            )

        def pdf(self, x):
            return 0.5 * ((0 <= x <= 1) | (3 <= x <= 4))

        def mean(self):
            return 2.0

    assert gross_error_sensitivity("median", TwoLumps()) == np.inf


def test_heavy_tails_are_no_trouble_but_for_the_mean():
    assert gross_error_sensitivity("trimmed_mean", cauchy()) == pytest.approx(cauchy.ppf(0.9) / 0.8)
    with pytest.raises(InvalidArgument, match="distribution must be a law with a finite mean"):
        influence("mean", cauchy(), [0.0])


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: influence("mode", norm(), [0]), "statistic"),
        (lambda: influence(np.median, norm(), [0]), "statistic"),
        (lambda: influence("quantile", norm(), [0]), "statistic"),
        (lambda: influence((), norm(), [0]), "statistic"),
        (lambda: influence(("quantile", 0.1, 0.2), norm(), [0]), "statistic"),
        (lambda: influence(("quantile", 1.5), norm(), [0]), "p"),
        (lambda: influence(("trimmed_mean", 0.5), norm(), [0]), "cut"),
        (lambda: influence(("interquantile_range", 0.9, 0.1), norm(), [0]), "high"),
        (lambda: influence("median", poisson(3), [0]), "distribution"),
        (lambda: influence("median", "normal", [0]), "distribution"),
        (lambda: influence("median", norm(), []), "points"),
        (lambda: influence("median", norm(), [np.nan]), "points"),
        (lambda: gross_error_sensitivity("mode", norm()), "statistic"),
        (lambda: empirical_influence([1.0], "median", "abc"), "points"),
        (lambda: empirical_influence([], "median", [0]), "x"),
        (lambda: empirical_influence([[1.0]], "median", [0]), "x"),
        (lambda: empirical_influence([1.0, np.nan], "median", [0]), "x"),
        (lambda: empirical_influence([1.0, np.inf], "median", [0]), "x"),
    ],
)
def test_bad_input_names_the_argument(call, argument):
    with pytest.raises(InvalidArgument) as error:
        call()
    assert error.value.name == argument


def test_results_are_marked_and_frozen():
    made = empirical_influence([1.0, 2.0, 3.0], "median", [0.0])
    assert made.private is False
    assert "not private: for the curator only" in repr(made)
    with pytest.raises(ValueError, match="read-only"):
        made.values[0] = 1.0


def test_many_points_cost_one_sort(monkeypatch):
    x, sorts, sort = np.random.default_rng(3).normal(size=2000), [], np.sort
    monkeypatch.setattr(np, "sort", lambda rows, *rest, **options: (sorts.append(1), sort(rows, *rest, **options))[1])
    empirical_influence(x, ("winsorized_mean", 0.1), np.linspace(-5, 5, 1000))
    assert len(sorts) == 1


def test_the_plot_draws():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    points = [2.0, -2.0, 0.0]
    ax = influence("median", norm(), points).plot()
    assert influence("mean", norm(), points).plot(ax, color="red") is ax
    assert [line.get_label() for line in ax.get_lines()][::2] == ["median", "mean"]
    assert ax.get_lines()[0].get_xdata().tolist() == sorted(points)
    assert "not private" in ax.get_title(loc="right")
    ax.figure.canvas.draw()
    plt.close(ax.figure)


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(UptackError, match=r'pip install "uptack\[plots\]"'):
        Influence(np.zeros(1), np.zeros(1), "median", "influence").plot()
