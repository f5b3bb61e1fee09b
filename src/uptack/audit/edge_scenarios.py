"""Scenarios at the edge: neighbours that move each mechanism as far as its theorem allows (`uptack.audit.edge_tables`).

Nearly every claim is reached here, so a constant that is off by a few percent shows. Every kind of mechanism and every
law of noise is also drawn, some hundred or thousand times: at a small ε, so that a scale that is off by half shows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from uptack.audit import calls
from uptack.audit import edge_tables as tables
from uptack.audit.calls import call_of, request_call
from uptack.audit.draws import DRAWS
from uptack.audit.edge_tables import PEOPLE, TWO, N
from uptack.audit.neighbours import changed, two_values
from uptack.audit.scenario import COUNTED, LABELS, Scenario
from uptack.discrete import Domain, minimax_count_mechanism, optimal_count_mechanism
from uptack.kernels import FourierBasis, GaussianKernel
from uptack.noise import LInfBall
from uptack.privacy import ADD_REMOVE

DELTA = 0.01
FEWER = 600
"""Draws of mechanisms that are slow."""
SECRET: dict[str, Any] = {"adjacency": ADD_REMOVE}
ONE: dict[str, Any] = {"epsilon": 1, "draws": DRAWS}
SLOW: dict[str, Any] = {"epsilon": 2, "draws": FEWER}


def edge(name: str, path: str, pairs: Any, /, draws: int = 0, **options: Any) -> Scenario:
    """One release on a pair, or on several by name, at ε = 20 unless it says otherwise."""
    named = pairs if isinstance(pairs, dict) else {"": pairs}
    given = {**({} if "eps" in options or "mechanism" in options else {"epsilon": 20}), **options}
    path = f"uptack.{path}"
    return Scenario(name, call_of(path, given), lambda: named, COUNTED | LABELS, path, given, draws)


def edge_scenarios() -> list[Scenario]:
    """All of them."""
    rows = [*_noise(), *_counts(), *_columns(), *_trees(), *_ranks(), *_blocks(), *_curves(), *_fits()]
    return [*rows, *_people(), *_fits_of_people()]


def _noise() -> list[Scenario]:
    sized: dict[str, Any] = {"sensitivity": 1, **ONE}
    origin, scores = [0.0, 0.0], ([3, 3, 0], [4, 2, 0])
    ellipse = [[1.0, 0.5], [0.5, 1.0]]
    matrices = np.diag([1.0, 0.0]), np.diag([0.0, 1.0])
    two: dict[str, Any] = {"epsilon": 2, "draws": DRAWS, "delta": 0.02}
    return [
        edge("Laplace noise", "mechanisms.laplace", (0.0, 1.0), **sized),
        edge("Laplace noise at 1e15", "mechanisms.laplace", (1e15, 1e15 + 1), **sized),
        edge("Gaussian noise", "mechanisms.gaussian", (0.0, 1.0), sensitivity=1, **two),
        edge("Gamma noise", "mechanisms.gamma", (origin, [0.6, 0.8]), **sized),
        edge("Gamma noise of an ellipsoid", "mechanisms.gamma", (origin, [1.0, 0.0]), covariance=ellipse, **ONE,
             sensitivity=2),
        edge("K-norm noise", "mechanisms.k_norm", (origin, [1.0, 1.0]), body=LInfBall(2), **sized),
        edge("matrix noise", "mechanisms.matrix_laplace", matrices, sensitivity=2, epsilon=2, draws=DRAWS),
        edge("exponential mechanism", "mechanisms.exponential", scores, **sized),
        edge("noisy max", "mechanisms.report_noisy_max", scores, **sized),
        edge("release if stable", "release_if_stable", (("a", 3), ("a", 4)), delta=0.02, **ONE),
        edge("release if unstable", "release_if_stable", (("a", 0), ("b", 0)), delta=0.12, epsilon=2, draws=DRAWS),
        edge("mode", "papers.A_dist", (80 * "a" + 40 * "b", 79 * "a" + 41 * "b"), g="mode", eps=5, delta=DELTA),
    ]  # fmt: skip


def _counts() -> list[Scenario]:
    cells, moved = np.repeat([0, 1, 2], [40, 40, 40]), np.repeat([0, 1, 2], [39, 41, 40])
    both = np.repeat([0, 1], [N - 2, 2]), np.repeat([0, 1], [N, 0])
    columns = {"a": cells, "b": cells}, {"a": moved, "b": moved}
    few = np.repeat([3, 7], [6, 3]), np.repeat([3, 7], [5, 4])
    crossed = (np.tile([0, 1], 30), np.repeat([0, 1], 30)), (np.tile([0, 1], 30), np.r_[np.repeat([0, 1], 30)[:-1], 0])
    sparse: dict[str, Any] = {"domain_size": 16, **ONE}
    tabled = {"minimax count": minimax_count_mechanism(8, 1), "optimal count": optimal_count_mechanism(8, 1)}
    return [
        edge("count", "count", (5, 6), **ONE),
        edge("count, 2 rows", "count", (5, 7), rows_per_person=2),
        edge("histogram", "histogram", (cells, moved), keys=3, **ONE),
        edge("categories", "histogram", changed(np.zeros(12), slice(0, 1), 1.0), delta=0.02, **ONE),
        edge("categories at the cutoff", "histogram", two_values(20, 8), delta=0.02, **ONE),
        edge("categories, 2 rows", "histogram", both, delta=DELTA, rows_per_person=2),
        edge("independence", "chi_square", crossed, levels=((0, 1), (0, 1))),
        edge("sparse cells", "sparse_histogram", few, cutoff=4, **sparse),
        edge("sparse cells, adaptive", "sparse_histogram", few, rule="adaptive", **sparse),
        edge("margins", "margins", columns, domain=Domain({"a": 3, "b": 3}), through="direct"),
        *(edge(name, "discrete.CountMechanism.release", (4, 5), mechanism=table, draws=DRAWS, **SECRET)
          for name, table in tabled.items()),
    ]  # fmt: skip


def _columns() -> list[Scenario]:
    low, ties = [0.25, 0.75], tables.ties()
    pairs, fewer = two_values(N, N // 2, TWO), two_values(N, 60, ADD_REMOVE.per_person(2))
    gone = ties[0], np.r_[ties[0][1:], np.nan]
    wide = changed(tables.gap(400)[0], slice(0, 2), 99.0, TWO)
    whole = tuple(x.astype(np.int64) for x in two_values(100, 50, low=7, high=8))
    ptr: dict[str, Any] = {"method": "ptr", "delta": DELTA}
    left = tables.removed(tables.leaves(399)[::-1])
    session = request_call("median", {"epsilon": 20, "missing": "low"})
    return [
        edge("median", "median", ties),
        edge("median, drawn", "median", whole, epsilon=2, draws=DRAWS),
        edge("median, 2 rows", "median", pairs, rows_per_person=2),
        edge("median, add/remove, 2 rows", "median", fewer, rows_per_person=2, **SECRET),
        edge("medians, add/remove, 2 rows", "quantile", fewer, p=[k / 26 for k in range(7, 20)], rows_per_person=2,
             **SECRET),
        edge("spread, add/remove", "iqr", tables.thick(), **SECRET),
        edge("median, few rows", "median", tables.removed(two_values(9, 5)), **SECRET),
        edge("median, drop", "median", gone, missing="drop"),
        edge("median, an interval", "median", tables.gap(400), interval=0.9),
        edge("median, an interval, add/remove", "median", left, interval=0.9, **SECRET),
        edge("quartiles", "quantile", tables.gap(400), p=low),
        edge("quartiles, 2 rows", "quantile", wide, p=low, rows_per_person=2),
        edge("quartiles, nanoseconds", "quantile", tables.days(), p=low),
        edge("quantiles, drawn", "quantile", two_values(300, 120), p=[0.4, 0.6], granularity=1, **SLOW),
        edge("quantiles by a chain, drawn", "quantile", two_values(900, 450), p=[0.25, 0.5, 0.75], granularity=1,
             **SLOW),
        edge("many quantiles of one value", "quantile", changed(np.ones(4000), slice(0, 1), 9.0),
             p=[0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7]),
        edge("near quantiles", "quantile", ties, p=[0.45, 0.55]),
        edge("spread", "iqr", two_values(N, 90)),
        edge("trimmed mean", "trimmed_mean", ties, cut=0.25),
        edge("mean", "mean", tables.leaves(0)),
        edge("mean, drawn", "mean", changed(np.arange(1000.0), slice(0, 1), 1e9), epsilon=4, draws=FEWER),
        edge("mean, 2 rows", "mean", tables.leaves(0, TWO), rows_per_person=2),
        edge("mean, add/remove", "mean", left, **SECRET),
        edge("sum, add/remove", "sum", left, **SECRET),
        edge("variance", "variance", tables.leaves(200)),
        edge("proportion", "proportion", ties, above=0.5),
        edge("proportion, drop", "proportion", gone, above=0.5, missing="drop"),
        edge("median, ptr", "median", two_values(N, 64), **ptr),
        edge("median, ptr, drawn", "median", two_values(160, 144), method="ptr", delta=0.02, **SLOW),
        edge("median, ptr, a jump", "median", ties, **ptr),
        edge("median, ptr, a small move", "median", changed(np.arange(400.0), slice(0, 1), 399.0), **ptr),
        edge("spread, ptr", "iqr", tables.gap(), **ptr),
        edge("spread, ptr, drawn", "iqr", two_values(160, 126), method="ptr", delta=0.02, **SLOW),
        edge("median, dwork-lei", "median", two_values(N, 64), method="dwork-lei", delta=DELTA),
        edge("M", "papers.M", two_values(N, 64), eps=5, delta=DELTA),
        edge("TM", "papers.TM", tables.gap(), eps=5, delta=DELTA, alpha=0.2, kappa=None),
        edge("TM, drawn", "papers.TM", tables.gap(), eps=1, delta=0.02, alpha=0.2, kappa=None, draws=FEWER),
        Scenario("a median in a session", session, lambda: {"": ties}, COUNTED, "uptack.median", {"epsilon": 20}),
    ]  # fmt: skip


def _trees() -> list[Scenario]:
    """Trees of two tiers: the row that moves goes past all bins of the second."""
    levels, few, many, ones = [j / 30 for j in range(1, 30)], tables.gap(400), tables.gap(6000), np.ones(4000)
    return [
        edge("quantiles by a tree", "quantile", few, p=levels, epsilon=50),
        edge("quantiles by a tree, 2 rows", "quantile", changed(few[0], slice(0, 2), 99.0, TWO), p=levels, epsilon=100,
             rows_per_person=2),
        edge("quantiles of one value by a tree", "quantile", changed(ones, slice(0, 1), 9.0), p=levels, epsilon=50),
        edge("distribution", "ecdf", few, epsilon=50),
        edge("distribution, drawn", "ecdf", few, epsilon=20, draws=200),
        edge("distribution, drop", "ecdf", few, epsilon=50, missing="drop"),
        edge("distribution, add/remove", "ecdf", tables.removed(few), epsilon=50, **SECRET),
        edge("distribution, blocks", "ecdf", tables.gap(8200), knots=121, epsilon=400),
        edge("distribution, ε = 1", "ecdf", many, knots=9, epsilon=1),
        edge("distribution, ε = 1, drop", "ecdf", many, knots=9, epsilon=1, missing="drop"),
    ]  # fmt: skip


def _ranks() -> list[Scenario]:
    """A row that goes from above all others to below them, from one group to the other, or both."""
    x = np.arange(60.0)
    moved, label = np.r_[x[:-1], -1.0], np.repeat([0, 1], 30)
    two: dict[str, Any] = {"groups": (1, 0)}
    far, down = ((x, label), (moved, np.r_[label[:-1], 0])), ((x, label), (moved, label))
    few = np.r_[np.zeros(50), np.full(5, 2), np.ones(5)].astype(int)
    odd, crossed = np.r_[x, 0.5], np.r_[label, 0]
    apart = (odd, crossed), (np.where(odd == 30, -9.0, odd), np.where(odd == 30, 0, crossed))  # one up, the other down
    square = np.column_stack([x, x, -x])
    other = np.vstack([square[:-1], [-1.0, 99.0, 99.0]])
    return [
        edge("tau", "kendall_tau", ((x, x), (x, moved))),
        edge("tau, missing", "kendall_tau", ((x, x), (x, np.r_[x[:-1], np.nan])), missing="ignore"),
        edge("tau, add/remove", "kendall_tau", ((x, moved), (x[:-1], x[:-1])), **SECRET),
        edge("correlations", "correlation_matrix", (square, other)),
        edge("superiority, over", "superiority", far, **two),
        edge("superiority, down", "superiority", down, **two),
        edge("superiority, public labels", "superiority", down, **two, public_labels=True),
        edge("difference, over", "median_difference", far, **two),
        edge("difference, both medians", "median_difference", apart, **two),
        edge("difference, interval", "median_difference", far, interval=0.9, **two),
        edge("shift, down", "hodges_lehmann", down, **two),
        edge("shift, over", "hodges_lehmann", far, **two),
        edge("shift, add/remove", "hodges_lehmann", ((x, label), (x[:-1], label[:-1])), **two, **SECRET),
        edge("two groups", "mann_whitney", far, **two),
        edge("two groups as several", "kruskal_wallis", far, **two),
        edge("several groups", "kruskal_wallis", ((x, few), (moved, np.r_[few[:-1], 2])), groups=(0, 1, 2)),
        edge("signed ranks", "signed_rank", (x + 1, np.r_[x[:-1] + 1, -99.0])),
    ]


def _blocks() -> list[Scenario]:
    """Functions of blocks. A process for every block takes long, so most are trusted."""
    path, ties, gone = "subsample_aggregate", tables.ties(), tables.removed(tables.gap())
    here: dict[str, Any] = {"trusted": True}
    several: dict[str, Any] = {"aggregate": "vector_median", "fallback": [0.0, 0.0], **here}
    samples: dict[str, Any] = {"f": calls.peak, "eps": 30, "delta": 0.1, "progress": False, **here}
    shared = 2 * [{"v": float(i)} for i in range(N // 2)]  # each twice: a block that changes one changes the other
    records = shared, [*shared[:-1], {"v": 999.0}]
    texts = np.full(N, "a"), np.array(["a"] * (N - 1) + ["a long text"])  # NumPy makes all of them wide
    objects = [float(i) for i in range(N)], [*(float(i) for i in range(N - 1)), None]
    return [
        edge("stable value", "stable_value", two_values(N, 90), f=calls.outcome, blocks=N, delta=DELTA, **here),
        edge("A_samp", "papers.A_samp", changed(np.zeros(N), slice(0, 1), 1.0), **samples),
        edge("block median", path, ties, f=calls.number, blocks=N, **here),
        edge("block median, twice", path, ties, f=calls.number, blocks=2 * N, times=2, **here),
        edge("block median, add/remove", path, gone, f=calls.number, blocks=60, **SECRET, **here),
        edge("vector median", path, ties, f=calls.pair, blocks=N, **several),
        edge("blocks of records", path, records, f=calls.spoil, blocks=24),
        edge("blocks of records, trusted", path, records, f=calls.spoil, blocks=60, **here),
        edge("blocks of texts", path, texts, f=calls.width, blocks=24),
        edge("blocks of objects", path, objects, f=calls.types, blocks=24),
        edge("blocks in turn", path, tables.gap(), f=calls.Keeper(), blocks=24),
    ]


def _curves() -> list[Scenario]:
    """Densities, functions, machines. A row goes from pole to pole, or to where all parts of a moment are large."""
    apart, poles, turn = tables.poles(0.5, 8.5), tables.poles(0.0, 5.0), tables.poles(1.25, 6.25)
    known: dict[str, Any] = {"delta": DELTA, "bandwidth": 0.5}
    box: dict[str, Any] = {"low": 0.0, "high": 10.0}
    near: dict[str, Any] = {"low": -1.0, "high": 2.0, **SLOW}
    outlier, jump = changed(tables.gap(400)[0], slice(0, 1), 500.0), two_values(30, 15)
    x, (y, other) = np.zeros((40, 1)), two_values(40, 20, low=-1.0)
    basis = FourierBasis(0.05, 8, ((0.0, 10.0),))
    bumps: dict[str, Any] = {"kernel": GaussianKernel(0.5), "sensitivity": 2**0.5 / N, "norm": 1, "error": 1e-12}
    machine: dict[str, Any] = {"delta": DELTA, "regularization": 4, "frequencies": 8}
    return [
        edge("density", "kde", apart, **known),
        edge("density, add/remove", "kde", tables.removed(apart[::-1]), **SECRET, **known),
        edge("density, private bandwidth", "kde", tables.gap(400), delta=DELTA),
        edge("moments, Gamma noise", "fourier_density", poles, degree=1, **box),
        edge("moments, Carathéodory noise", "fourier_density", poles, degree=5, **box),
        edge("moments, Laplace noise", "fourier_density", turn, degree=2, noise="laplace", **box),
        edge("moments, Gamma noise, drawn", "fourier_density", jump, degree=1, **near),
        edge("moments, Carathéodory noise, drawn", "fourier_density", jump, degree=4, **near),
        edge("moments, Laplace noise, drawn", "fourier_density", jump, degree=1, noise="laplace", **near),
        edge("moments, private box", "fourier_density", outlier),
        edge("kernel machine", "kernels.kernel_machine", ((x, y), (x, other)), **machine),
        edge("function", "kernels.release_function", apart, delta=DELTA, **bumps),
        edge("spectral", "kernels.release_spectral", poles, delta=DELTA, basis=basis),
    ]


def _fits() -> list[Scenario]:
    """Regressions and groups. No single pair moves all that a fit adds up, so a row goes from place to place."""
    short, robust = "shortcut_regression", "hampel_regression"
    plain: dict[str, Any] = {"fit_intercept": False}
    test: dict[str, Any] = {"delta": DELTA, "fit_intercept": False}
    x, by = np.tile([0.0, 1.0], N), np.repeat([0, 1], N)
    rest = np.delete(np.arange(2 * N), [0, N])  # a zero of each group: both medians jump
    groups: dict[str, Any] = {"rows_per_person": 2, "f": "uptack.median", **SECRET}
    people = (x, by), (x[rest], by[rest])
    far = tables.placed((1e9, 1e12), (1e9, -1e12))
    across, classed, counted, moves = tables.across(), tables.classed(), tables.counted(), tables.moves()
    return [
        edge("short cut", short, tables.split(), block_fit="ols", blocks=N, **plain),
        edge("short cut, huber", short, tables.split(far=50.0), blocks=60, **plain),
        edge("short cut, round coordinates", short, far, epsilon=9, coordinates="scatter", block_fit="hampel"),
        edge("short cut, standard errors", short, tables.line(240), blocks=120, standard_errors=True, **plain),
        edge("short cut, add/remove", short, tables.removed(tables.line(240)), **SECRET, **plain),
        edge("robust", robust, tables.line(400), **test),
        edge("robust, a clear fit", robust, tables.clear(), **test),
        edge("robust, one row far away", robust, tables.far(), **test),
        edge("robust, two lines", robust, tables.split(), **test),
        edge("linear", "linear_regression", across, epsilon=3),
        edge("linear, 3 rows", "linear_regression", tables.across(3), epsilon=9, rows_per_person=3),
        edge("linear, add/remove", "linear_regression", tables.removed(across), epsilon=3, **SECRET),
        edge("logistic", "logistic_regression", classed, epsilon=3),
        edge("logistic, add/remove", "logistic_regression", tables.removed(classed), epsilon=3, **SECRET),
        edge("Poisson", "poisson_regression", counted, epsilon=3),
        edge("Poisson, add/remove", "poisson_regression", tables.removed(counted), epsilon=3, **SECRET),
        edge("quantile", "quantile_regression", across, epsilon=3, quantile=0.9),
        edge("quantile, 3 rows", "quantile_regression", tables.across(3), epsilon=9, rows_per_person=3),
        edge("scatter", "scatter", tables.placed((0.0, 0.0), (1e9, 0.0), table=True), epsilon=3),
        *(edge(f"{fit}, a row that moves", f"{fit.lower()}_regression", moves, epsilon=3)
          for fit in ("linear", "Poisson", "quantile", "logistic")),
        edge("scatter, a row that moves", "scatter", tables.moves(table=True), epsilon=3),
        edge("synthetic", "synthetic", tables.mixed(), delta=DELTA),
        edge("synthetic, add/remove", "synthetic", tables.mixed(secret=True), delta=DELTA, **SECRET),
        edge("synthetic, levels", "synthetic", tables.mixed(), delta=DELTA, levels={"kind": ["a", "b"]}),
        edge("concentrated, a row that moves", "linear_regression", moves, epsilon=3, delta=0.25),
        edge("R_S", "papers.R_S", tables.line(), eps=5, delta=DELTA),
        edge("R_H", "papers.R_H", tables.line(400, columns=2), eps=20, delta=DELTA),
        edge("groups, 2 rows", "per_group", people, groups=[0, 1], **groups),
        edge("unknown groups", "per_group", people, delta=DELTA, **groups),
    ]  # fmt: skip


def _people() -> list[Scenario]:
    """People who go over, with several rows in place of one."""
    each: dict[str, Any] = {"per_person": "mean"}
    two: dict[str, Any] = {"groups": (1, 0), **each}
    known: dict[str, Any] = {"by": True, "groups": [0, 1], **SECRET}
    unknown: dict[str, Any] = {"by": True, "groups": None, "delta": DELTA, **SECRET}
    blocks = "subsample_aggregate"
    here: dict[str, Any] = {"f": calls.mean, "trusted": True}
    moved, spread = tables.person_moved, tables.person_spread
    many, grouped, ranked = moved(n=600), tables.person_groups(), tables.person_ranked(label=True)
    return [
        edge("median, people", "median", moved()),
        edge("median, add/remove, people", "median", moved(secret=True), **SECRET),
        edge("median, rows, people", "median", many, weights="rows", at_most=2),
        edge("mean per person, people", "median", moved(), **each),
        edge("mean, people", "mean", many),
        edge("variance, people", "variance", many),
        edge("range, people", "iqr", moved(n=2 * PEOPLE)),
        edge("tau, people", "kendall_tau", tables.person_ranked(), **each),
        edge("superiority, people", "superiority", ranked, **two),
        edge("difference, people", "median_difference", ranked, **two),
        edge("count, people", "count", tables.person_flags()),
        edge("count of rows, people", "count", tables.person_flags(), weights="rows", at_most=3),
        edge("histogram, people", "histogram", spread(), keys=5),
        edge("histogram of rows, people", "histogram", spread(), keys=5, weights="rows", at_most=2),
        edge("histogram of shares, people", "histogram", spread(), keys=5, weights="people"),
        edge("histogram, any, people", "histogram", spread(), keys=5, weights="any", at_most=2),
        edge("categories, people", "histogram", tables.person_alone(), delta=DELTA),
        edge("categories of shares, people", "histogram", tables.person_alone(), weights="people", delta=DELTA),
        edge("categories, add/remove, people", "histogram", spread(secret=True), delta=DELTA, **SECRET),
        edge("sparse cells, people", "sparse_histogram", spread(), domain_size=2**30),
        edge("groups, people", "median", grouped, **known),
        edge("unknown groups, people", "median", grouped, **unknown),
        edge("groups, two each, people", "median", grouped, groups_per_person=2, **known),
        edge("unknown groups, one each, people", "median", grouped, groups_per_person=1, **unknown),
        edge("unknown groups, two each, people", "median", grouped, groups_per_person=2, **unknown),
        edge("block median, people", blocks, tables.person_over(), blocks=120, **here),
        edge("block median, twice, people", blocks, tables.person_over(), blocks=240, times=2, **here),
        edge("stable value, people", "stable_value", moved(n=240), blocks=120, delta=DELTA, **here),
    ]


def _fits_of_people() -> list[Scenario]:
    """Regressions, densities and machines of people."""
    short: dict[str, Any] = {"blocks": 60, "fit_intercept": False}
    box: dict[str, Any] = {"low": 0.0, "high": 10.0}
    line, poles = tables.person_line(), tables.person_moved(0.0, 5.0)
    across, sided, turn = tables.person_across, tables.person_sided, tables.person_moved(1.25, 6.25)
    machine: dict[str, Any] = {"delta": DELTA, "regularization": 4, "frequencies": 8}
    return [
        edge("short cut, people", "shortcut_regression", line, **short),
        edge("short cut, standard errors, people", "shortcut_regression", line, standard_errors=True, **short),
        edge("linear, people", "linear_regression", across(), epsilon=3),
        edge("linear, add/remove, people", "linear_regression", across(secret=True), epsilon=3, **SECRET),
        edge("scatter, people", "scatter", tables.person_turned(), epsilon=3),
        edge("density, people", "kde", tables.person_moved(0.5, 8.5), delta=DELTA, bandwidth=0.5),
        edge("moments, Gamma noise, people", "fourier_density", poles, degree=1, **box),
        edge("moments, Carathéodory noise, people", "fourier_density", poles, degree=5, **box),
        edge("moments, Laplace noise, people", "fourier_density", turn, degree=2, noise="laplace", **box),
        edge("kernel machine, people", "kernels.kernel_machine", sided(), **machine),
        edge("kernel machine, add/remove, people", "kernels.kernel_machine", sided(secret=True), **machine, **SECRET),
    ]
