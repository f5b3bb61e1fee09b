"""Scenarios at the edge: neighbours that move each mechanism as far as its theorem allows, one line each.

An audit on tables whose answer hardly moves sees no fault. Here a row, or a person, goes from one side to the other, at
the rank, the lead, the pole or the label that counts. Nearly every claim is reached, so a constant that is off by a few
percent shows. Every kind of mechanism and every law of noise is also drawn, some hundred or thousand times: at a small
ε, so that a scale that is off by half shows. First the tables that several scenarios use.
"""
# ruff: noqa: E501 - one line a scenario

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from uptack.audit import calls
from uptack.audit.calls import call_of, request_call
from uptack.audit.price import DRAWS
from uptack.audit.scenario import (
    COUNTED,
    LABELS,
    MORE,
    Pair,
    Pairs,
    PersonRows,
    Scenario,
    change_rows,
    removals,
    two_values,
)
from uptack.discrete import Domain, minimax_count_mechanism, optimal_count_mechanism
from uptack.kernels import FourierBasis, GaussianKernel
from uptack.noise import LInfBall
from uptack.privacy import ADD_REMOVE, SUBSTITUTE, Adjacency

N, PEOPLE = 120, 60
"""Rows, and people, of most tables."""
DELTA = 0.01
FEWER = 600
"""Draws of mechanisms that are slow."""
TWO = SUBSTITUTE.per_person(2)
SECRET: dict[str, Any] = {"adjacency": ADD_REMOVE}
ONE: dict[str, Any] = {"epsilon": 1, "draws": DRAWS}
SLOW: dict[str, Any] = {"epsilon": 2, "draws": FEWER}
Row = tuple[float, float]
ODD, HALVES = "131073/131072", (2.0**-18, 2.0**-18 + 1 + 2.0**-17)
"""An odd number of steps of 2^-17, and two values so far apart, half a step off the grid: they are rounded apart."""


def edge(name: str, path: str, pairs: Any, /, draws: int = 0, **options: Any) -> Scenario:
    """One release on a pair, or on several by name, at ε = 20 unless it says otherwise."""
    named = pairs if isinstance(pairs, dict) else {"": pairs}
    given = {**({} if "eps" in options or "mechanism" in options else {"epsilon": 20}), **options}
    path = f"uptack.{path}"
    return Scenario(name, call_of(path, given), lambda: named, COUNTED | LABELS, path, given, draws)


def edge_scenarios() -> list[Scenario]:
    """All of them."""
    return [*_values(), *_columns(), *_ranks(), *_blocks(), *_curves(), *_fits(), *_people()]


# ------------------------------------------------------------------------------------------------------------- columns


def _without(pair: Pair) -> Pair:
    """The first table, and the same without its last row."""
    return removals({"": pair[::-1]})[""]


def _gap(n: int = N) -> Pair:
    """A column of integers with ties, of which one row goes from the least to the largest."""
    x = np.repeat(np.arange(n // 4), 4).astype(np.float64)
    return change_rows(x, slice(0, 1), x[-1])


def _outside(row: int, relation: Adjacency = SUBSTITUTE) -> Pair:
    """A column of integers with ties, of which a person's rows go from inside to far away: all counts outside move."""
    return change_rows(_gap(400)[0], slice(row, row + relation.rows_per_person), 1e9, relation)


def _poles(d: float, e: float) -> Pair:
    """A column at 3, of which the last row goes from one place to another."""
    return np.append(np.full(N - 1, 3.0), d), np.append(np.full(N - 1, 3.0), e)


# --------------------------------------------------------------------------------------------------------------- lines


def _noisy_line(n: int) -> tuple[Any, Any]:
    """y = 2x + noise, at either side of 0."""
    rng = np.random.default_rng(3)
    x = rng.choice([-1.0, 1.0], size=(n, 1)) * rng.uniform(0.5, 1.5, size=(n, 1))
    return x, 2 * x[:, 0] + 0.1 * rng.normal(size=n)


def _response(x: Any, y: Any, row: int, value: float) -> Pair:
    """(X, y), of which one row gets another response."""
    return (x, y), (x, change_rows(y, slice(row, row + 1), value)[1])


def _worst_row(n: int = N, columns: int = 1) -> Pair:
    """A noisy line whose least row goes to the other side; perhaps with a second column, which has no say."""
    x, y = _noisy_line(n)
    least = int(np.argmin(y / x[:, 0]))
    more = np.column_stack([x, np.random.default_rng(1).normal(size=n)])[:, :columns]
    return _response(more, y, least, 9 * x[least, 0])


def _placed(d: Row, e: Row, rows: int = 1, table: bool = False) -> Pair:
    """A noisy line whose last rows (x, y) go from one place to another, as (X, y) or as one table."""
    x, y = _noisy_line(2500)

    def at(row: Row) -> Any:
        a, b = x.copy(), y.copy()
        a[-rows:], b[-rows:] = row
        return np.column_stack([a, b]) if table else (a, b)

    return at(d), at(e)


MOVES: tuple[tuple[Row, Row], ...] = (
    ((0.0, 0.0), (1e9, 1e12)), ((1.0, 9.0), (-1.0, 9.0)), ((1e9, 0.0), (0.0, 1e9)), ((1e9, 1e12), (1.5, -3.0)),
    ((1.0, 9.0), (1.5, -3.0)), ((1.5, 3.0), (1.5, -3.0)), ((0.0, 1e9), (0.0, -1e9)), ((1e9, -1e12), (0.0, -1e9)),
    ((1e9, 1e12), (1e9, -1e12)), ((1.0, 9.0), (1.5, 3.0)), ((0.0, 0.0), (-1.0, 9.0)), ((0.0, 1e9), (1.5, -3.0)),
    ((40.0, 300.0), (40.0, -300.0)),
)  # fmt: skip
"""Where a row (x, y) of a noisy line goes from and to. Together they move nearly every sum of a fit by half or more of
what one row may."""


def _moves(table: bool = False) -> Pairs:
    return {f"{d} to {e}": _placed(d, e, table=table) for d, e in MOVES}


def _linked() -> Pair:
    """Three columns that are alike, but for a row that goes from where the first two agree to where the others do."""
    a = np.arange(600) % 2
    a[-1] = 0
    sides = [{"a": a, "b": np.append(a[:-1], b), "c": np.append(a[:-1], 1)} for b in (0, 1)]
    d, e = ({name: np.array(["no", "yes"])[x] for name, x in side.items()} for side in sides)
    return d, e


# -------------------------------------------------------------------------------------------------------------- people


def person(rest: Any, ids: Any, d: Any, e: Any) -> Pair:
    """The rows of everybody else with their ids, and one person's rows in D and in D'; without any she is gone."""

    def beside(part: Any, rows: Any) -> Any:
        return np.concatenate([part, np.reshape(rows, (len(rows), *part.shape[1:])).astype(part.dtype)])

    def side(rows: Any) -> PersonRows:
        if isinstance(rest, tuple):
            data: Any = tuple(beside(part, [row[i] for row in rows]) for i, part in enumerate(rest))
        else:
            data = beside(rest, rows)
        return PersonRows(data, np.append(ids, np.full(len(rows), np.max(ids) + 1)))

    return side(d), side(e)


def _person_moved(least: float = 0.0, most: float = 1.0, n: int = PEOPLE, secret: bool = False) -> Pair:
    """Half of the people at either of two values; one goes over, with several rows in place of one, or is gone."""
    rest = np.repeat([least, most], n // 2)[1:]
    return person(rest, np.arange(n - 1), [least] * MORE, [] if secret else [most])


def _person_spread(secret: bool = False) -> Pair:
    """Everybody in three cells, and one whose rows are in two others, three times as many."""
    rest, ids, others = np.tile([0, 1, 2], PEOPLE - 1), np.repeat(np.arange(PEOPLE - 1), 3), [3] * 4 + [4] * 4
    return person(rest, ids, others, []) if secret else person(rest, ids, [0, 1, 2], others)


def _person_odd(secret: bool = False) -> Pair:
    """Categories and numbers of people with two rows each, and one with more, who has those of nobody else, or none."""
    kinds, x = np.repeat(["a", "b"], 400), np.repeat(np.r_[np.zeros(150), np.arange(250.0)], 2)

    def side(kind: str, number: float, times: int) -> PersonRows:
        table = {"kind": np.append(kinds, [kind] * times), "x": np.append(x, [number] * times)}
        return PersonRows(table, np.append(np.repeat(np.arange(400), 2), [400] * times))

    return side("c", 1e9, MORE), side("a", 0.0, 0 if secret else 1)


def person_ranked(label: bool = False) -> Pair:
    """One person each rank, and the uppermost, with several rows, who goes below all others, or to the other group."""
    x = np.arange(float(PEOPLE))
    second = np.repeat([0, 1], PEOPLE // 2) if label else x
    below = -1.0, 0 if label else second[-1]
    return person((x[:-1], second[:-1]), np.arange(PEOPLE - 1), [(x[-1], second[-1])] * MORE, [below])


# ------------------------------------------------------------------------------------------------------- the scenarios


# fmt: off
def _values() -> list[Scenario]:
    """Noise, choices, and tables of counts."""
    sized: dict[str, Any] = {"sensitivity": 1, **ONE}
    origin, scores, two = [0.0, 0.0], ([3, 3, 0], [4, 2, 0]), {"epsilon": 2, "draws": DRAWS}
    matrices = np.diag([1.0, 0.0]), np.diag([0.0, 1.0])
    cells, moved = np.repeat([0, 1, 2], [40, 40, 40]), np.repeat([0, 1, 2], [39, 41, 40])
    both = np.repeat([0, 1], [N - 2, 2]), np.repeat([0, 1], [N, 0])
    columns = {"a": cells, "b": cells}, {"a": moved, "b": moved}
    few = np.repeat([3, 7], [6, 3]), np.repeat([3, 7], [5, 4])
    crossed = (np.tile([0, 1], 30), np.repeat([0, 1], 30)), (np.tile([0, 1], 30), np.r_[np.repeat([0, 1], 30)[:-1], 0])
    sparse: dict[str, Any] = {"domain_size": 16, **ONE}
    tabled = {"minimax count": minimax_count_mechanism(8, 1), "optimal count": optimal_count_mechanism(8, 1)}
    return [
        edge("Laplace noise", "mechanisms.laplace", (0.0, 1.0), **sized),
        edge("Laplace noise at 1e15", "mechanisms.laplace", (1e15, 1e15 + 1), **sized),
        edge("Laplace noise, rounded apart", "mechanisms.laplace", HALVES, sensitivity=ODD, epsilon=1),
        edge("Gaussian noise, rounded apart", "mechanisms.gaussian", HALVES, sensitivity=ODD, epsilon=2, delta=0.02),
        edge("Gaussian noise", "mechanisms.gaussian", (0.0, 1.0), sensitivity=1, delta=0.02, **two),
        edge("Gamma noise", "mechanisms.gamma", (origin, [0.6, 0.8]), **sized),
        edge("Gamma noise of an ellipsoid", "mechanisms.gamma", (origin, [1.0, 0.0]), covariance=[[1.0, 0.5], [0.5, 1.0]], **ONE, sensitivity=2),
        edge("K-norm noise", "mechanisms.k_norm", (origin, [1.0, 1.0]), body=LInfBall(2), **sized),
        edge("matrix noise", "mechanisms.matrix_laplace", matrices, sensitivity=2, **two),
        edge("exponential mechanism", "mechanisms.exponential", scores, **sized),
        edge("noisy max", "mechanisms.report_noisy_max", scores, **sized),
        edge("release if stable", "release_if_stable", (("a", 3), ("a", 4)), delta=0.02, **ONE),
        edge("release if unstable", "release_if_stable", (("a", 0), ("b", 0)), delta=0.12, **two),
        edge("mode", "papers.A_dist", (80 * "a" + 40 * "b", 79 * "a" + 41 * "b"), g="mode", eps=5, delta=DELTA),
        edge("count", "count", (5, 6), **ONE),
        edge("count, 2 rows", "count", (5, 7), rows_per_person=2),
        edge("histogram", "histogram", (cells, moved), keys=3, **ONE),
        edge("categories", "histogram", change_rows(np.zeros(12), slice(0, 1), 1.0), delta=0.02, **ONE),
        edge("categories at the cutoff", "histogram", two_values(20, 8), delta=0.02, **ONE),
        edge("categories, 2 rows", "histogram", both, delta=DELTA, rows_per_person=2),
        edge("independence", "chi_square", crossed, levels=((0, 1), (0, 1))),
        edge("sparse cells", "sparse_histogram", few, cutoff=4, **sparse),
        edge("sparse cells, adaptive", "sparse_histogram", few, rule="adaptive", **sparse),
        edge("margins", "margins", columns, domain=Domain({"a": 3, "b": 3}), through="direct"),
        *(edge(name, "discrete.CountMechanism.release", (4, 5), mechanism=table, draws=DRAWS, **SECRET) for name, table in tabled.items()),
    ]


def _columns() -> list[Scenario]:
    """Statistics of a column. In trees of two tiers the row that moves goes past all bins of the second."""
    low, ties, levels, few, many = [0.25, 0.75], two_values(N, N // 2), [j / 30 for j in range(1, 30)], _gap(400), _gap(6000)
    pairs, fewer = two_values(N, N // 2, TWO), two_values(N, 60, ADD_REMOVE.per_person(2))
    gone, left = (ties[0], np.r_[ties[0][1:], np.nan]), _without(_outside(399)[::-1])
    wide, ones = change_rows(few[0], slice(0, 2), 99.0, TWO), change_rows(np.ones(4000), slice(0, 1), 9.0)
    whole = tuple(x.astype(np.int64) for x in two_values(100, 50, low=7, high=8))
    # a column that spreads out from its quartiles, and the same without a row between them
    spread = np.r_[-(2.0 ** np.arange(N // 4))[::-1], np.linspace(-0.5, 0.5, N // 2), 2.0 ** np.arange(N // 4)]
    # days in nanoseconds with ties at the lower quartile: floats of that size are 256 apart
    days = (1_699_920_000 + 86_400 * np.r_[np.zeros(795, int), np.ones(200, int), 2 + np.arange(3005) // 4]) * 10**9
    ptr: dict[str, Any] = {"method": "ptr", "delta": DELTA}
    session = request_call("median", {"epsilon": 20, "missing": "low"})
    return [
        edge("median", "median", ties),
        edge("median, drawn", "median", whole, epsilon=2, draws=DRAWS),
        edge("median, 2 rows", "median", pairs, rows_per_person=2),
        edge("median, add/remove, 2 rows", "median", fewer, rows_per_person=2, **SECRET),
        edge("medians, add/remove, 2 rows", "quantile", fewer, p=[k / 26 for k in range(7, 20)], rows_per_person=2, **SECRET),
        edge("spread, add/remove", "iqr", (spread, np.delete(spread, N // 2)), **SECRET),
        edge("median, few rows", "median", _without(two_values(9, 5)), **SECRET),
        edge("median, drop", "median", gone, missing="drop"),
        edge("median, an interval", "median", few, interval=0.9),
        edge("median, an interval, add/remove", "median", left, interval=0.9, **SECRET),
        edge("median, an interval, few rows", "median", _without(two_values(21, 11)), interval=0.9, **SECRET),
        edge("median, an interval, 2 rows", "median", wide, interval=0.9, epsilon=40, rows_per_person=2),
        edge("quartiles", "quantile", few, p=low),
        edge("quartiles, 2 rows", "quantile", wide, p=low, rows_per_person=2),
        edge("quartiles, nanoseconds", "quantile", change_rows(days, slice(0, 1), days[-1]), p=low),
        edge("quantiles, drawn", "quantile", two_values(300, 120), p=[0.4, 0.6], granularity=1, **SLOW),
        edge("quantiles by a chain, drawn", "quantile", two_values(900, 450), p=[0.25, 0.5, 0.75], granularity=1, **SLOW),
        edge("many quantiles of one value", "quantile", ones, p=[0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7]),
        edge("near quantiles", "quantile", ties, p=[0.45, 0.55]),
        edge("spread", "iqr", two_values(N, 90)),
        edge("trimmed mean", "trimmed_mean", ties, cut=0.25),
        edge("mean", "mean", _outside(0)),
        edge("mean, drawn", "mean", change_rows(np.arange(1000.0), slice(0, 1), 1e9), epsilon=4, draws=FEWER),
        edge("mean, 2 rows", "mean", _outside(0, TWO), rows_per_person=2),
        edge("mean, add/remove", "mean", left, **SECRET),
        edge("sum, add/remove", "sum", left, **SECRET),
        edge("variance", "variance", _outside(200)),
        edge("proportion", "proportion", ties, above=0.5),
        edge("proportion, drop", "proportion", gone, above=0.5, missing="drop"),
        edge("median, ptr", "median", two_values(N, 64), **ptr),
        edge("median, ptr, drawn", "median", two_values(160, 144), method="ptr", delta=0.02, **SLOW),
        edge("median, ptr, a jump", "median", ties, **ptr),
        edge("median, ptr, a small move", "median", change_rows(np.arange(400.0), slice(0, 1), 399.0), **ptr),
        edge("spread, ptr", "iqr", _gap(), **ptr),
        edge("spread, ptr, drawn", "iqr", two_values(160, 126), method="ptr", delta=0.02, **SLOW),
        edge("median, dwork-lei", "median", two_values(N, 64), method="dwork-lei", delta=DELTA),
        edge("M", "papers.M", two_values(N, 64), eps=5, delta=DELTA),
        edge("TM", "papers.TM", _gap(), eps=5, delta=DELTA, alpha=0.2, kappa=None),
        edge("TM, drawn", "papers.TM", _gap(), eps=1, delta=0.02, alpha=0.2, kappa=None, draws=FEWER),
        Scenario("a median in a session", session, lambda: {"": ties}, COUNTED, "uptack.median", {"epsilon": 20}),
        edge("quantiles by a tree", "quantile", few, p=levels, epsilon=50),
        edge("quantiles by a tree, 2 rows", "quantile", wide, p=levels, epsilon=100, rows_per_person=2),
        edge("quantiles of one value by a tree", "quantile", ones, p=levels, epsilon=50),
        edge("distribution", "ecdf", few, epsilon=50),
        edge("distribution, drawn", "ecdf", few, epsilon=20, draws=200),
        edge("distribution, drop", "ecdf", few, epsilon=50, missing="drop"),
        edge("distribution, add/remove", "ecdf", _without(few), epsilon=50, **SECRET),
        edge("distribution, blocks", "ecdf", _gap(8200), knots=121, epsilon=400),
        edge("distribution, ε = 1", "ecdf", many, knots=9, epsilon=1),
        edge("distribution, ε = 1, drop", "ecdf", many, knots=9, epsilon=1, missing="drop"),
    ]


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
        edge("tau, missing", "kendall_tau", ((x, x), (x, np.r_[x[:-1], np.nan])), missing="drop"),
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
    path, ties, gone = "subsample_aggregate", two_values(N, N // 2), _without(_gap())
    here: dict[str, Any] = {"trusted": True}
    several: dict[str, Any] = {"aggregate": "vector_median", "fallback": [0.0, 0.0], **here}
    samples: dict[str, Any] = {"f": partial(np.max, initial=0.0), "eps": 30, "delta": 0.1, "progress": False, **here}
    shared = 2 * [{"v": float(i)} for i in range(N // 2)]  # each twice: a block that changes one changes the other
    records = shared, [*shared[:-1], {"v": 999.0}]
    texts = np.full(N, "a"), np.array(["a"] * (N - 1) + ["a long text"])  # NumPy makes all of them wide
    objects = [float(i) for i in range(N)], [*(float(i) for i in range(N - 1)), None]
    return [
        edge("stable value", "stable_value", two_values(N, 90), f=calls.outcome, blocks=N, delta=DELTA, **here),
        edge("A_samp", "papers.A_samp", change_rows(np.zeros(N), slice(0, 1), 1.0), **samples),
        edge("block median", path, ties, f=calls.number, blocks=N, **here),
        edge("block median, twice", path, ties, f=calls.number, blocks=2 * N, times=2, **here),
        edge("block median, add/remove", path, gone, f=calls.number, blocks=60, **SECRET, **here),
        edge("vector median", path, ties, f=calls.pair, blocks=N, **several),
        edge("blocks of records", path, records, f=calls.spoil, blocks=24),
        edge("blocks of records, trusted", path, records, f=calls.spoil, blocks=60, **here),
        edge("blocks of texts", path, texts, f=calls.width, blocks=24),
        edge("blocks of objects", path, objects, f=calls.types, blocks=24),
        edge("blocks in turn", path, _gap(), f=calls.Keeper(), blocks=24),
    ]


def _curves() -> list[Scenario]:
    """Densities, functions, machines. A row goes from pole to pole, or to where all parts of a moment are large."""
    apart, poles, turn = _poles(0.5, 8.5), _poles(0.0, 5.0), _poles(1.25, 6.25)
    known: dict[str, Any] = {"delta": DELTA, "bandwidth": 0.5}
    box: dict[str, Any] = {"low": 0.0, "high": 10.0}
    near: dict[str, Any] = {"low": -1.0, "high": 2.0, **SLOW}
    outlier, jump = change_rows(_gap(400)[0], slice(0, 1), 500.0), two_values(30, 15)
    x, (y, other) = np.zeros((40, 1)), two_values(40, 20, low=-1.0)
    basis = FourierBasis(0.05, 8, ((0.0, 10.0),))
    bumps: dict[str, Any] = {"kernel": GaussianKernel(0.5), "sensitivity": 2**0.5 / N, "norm": 1, "error": 1e-12}
    machine: dict[str, Any] = {"delta": DELTA, "regularization": 4, "frequencies": 8}
    return [
        edge("density", "kde", apart, **known),
        edge("density, add/remove", "kde", _without(apart[::-1]), **SECRET, **known),
        edge("density, private bandwidth", "kde", _gap(400), delta=DELTA),
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
    test: dict[str, Any] = {"delta": DELTA, **plain}
    groups: dict[str, Any] = {"rows_per_person": 2, "f": "uptack.median", **SECRET}
    x, by = np.tile([0.0, 1.0], N), np.repeat([0, 1], N)
    rest = np.delete(np.arange(2 * N), [0, N])  # a zero of each group: both medians jump
    people, half = ((x, by), (x[rest], by[rest])), two_values(N, N // 2)[0]
    lines, moves, line = (_response(np.ones((N, 1)), half, 0, far) for far in (1.0, 50.0)), _moves(), _noisy_line(400)
    two_lines, apart = lines
    # at the end of a line, to its other side: rows further out are gross errors, and count less
    across, far = _placed((1.5, 3.0), (1.5, -3.0)), _placed((1e9, 1e12), (1e9, -1e12))
    across3 = _placed((1.5, 3.0), (1.5, -3.0), 3)
    # as far out as counts in full, in one class and the other; with a number beyond all others and with none
    place = 1.5 * float(np.quantile(np.abs(_noisy_line(2500)[0]), 0.75))
    classed = _placed((place, 1.0), (place, -1.0))
    numbers = np.append(np.rint(np.abs(classed[0][1]))[:-1], 1e6)
    counted = _response(classed[0][0], numbers, 2499, 0.0)
    # a fit that holds for all rows but a few below it, of which one goes above: all certificates move by two rows
    clear = _response(np.ones((400, 1)), np.r_[np.zeros(10), np.full(390, 2.0)], 0, 4.0)
    kinds, here = np.repeat(["a", "b"], 200), np.r_[np.zeros(150), np.arange(250.0)]
    table = {"kind": kinds, "x": here}
    odd, odder = ((table, {"kind": np.append(kinds[:-k], k * ["c"]), "x": np.append(here[:-k], k * [1e9])}) for k in (1, 2))
    known = {name: ["no", "yes"] for name in "abc"}
    return [
        edge("short cut", short, two_lines, block_fit="ols", blocks=N, **plain),
        edge("short cut, huber", short, apart, blocks=60, **plain),
        edge("short cut, round coordinates", short, far, epsilon=9, coordinates="scatter", block_fit="hampel"),
        edge("short cut, standard errors", short, _worst_row(240), blocks=120, standard_errors=True, **plain),
        edge("short cut, add/remove", short, _without(_worst_row(240)), **SECRET, **plain),
        edge("robust", robust, _worst_row(400), **test),
        edge("robust, a clear fit", robust, clear, **test),
        edge("robust, one row far away", robust, _response(*line, 0, 1e6 * line[0][0, 0]), **test),
        edge("robust, two lines", robust, two_lines, **test),
        edge("linear", "linear_regression", across, epsilon=3),
        edge("linear, 3 rows", "linear_regression", across3, epsilon=9, rows_per_person=3),
        edge("linear, add/remove", "linear_regression", _without(across), epsilon=3, **SECRET),
        edge("logistic", "logistic_regression", classed, epsilon=3),
        edge("logistic, add/remove", "logistic_regression", _without(classed), epsilon=3, **SECRET),
        edge("Poisson", "poisson_regression", counted, epsilon=3),
        edge("Poisson, add/remove", "poisson_regression", _without(counted), epsilon=3, **SECRET),
        edge("quantile", "quantile_regression", across, epsilon=3, quantile=0.9),
        edge("quantile, 3 rows", "quantile_regression", across3, epsilon=9, rows_per_person=3),
        edge("scatter", "scatter", _placed((0.0, 0.0), (1e9, 0.0), table=True), epsilon=3),
        *(edge(f"{fit}, a row that moves", f"{fit.lower()}_regression", moves, epsilon=3) for fit in ("linear", "Poisson", "quantile", "logistic")),
        edge("scatter, a row that moves", "scatter", _moves(table=True), epsilon=3),
        edge("synthetic", "synthetic", odd, delta=DELTA),
        edge("synthetic, add/remove", "synthetic", _without(odd), delta=DELTA, **SECRET),
        edge("synthetic, levels", "synthetic", odd, delta=DELTA, levels={"kind": ["a", "b"]}),
        edge("synthetic, 2 rows", "synthetic", odder, delta=DELTA, rows_per_person=2),
        edge("synthetic, pairs", "synthetic", _linked(), delta=DELTA, levels=known),
        edge("concentrated, a row that moves", "linear_regression", moves, epsilon=3, delta=0.25),
        edge("concentrated, 3 rows", "linear_regression", across3, epsilon=4, delta=0.4, rows_per_person=3),
        edge("R_S", "papers.R_S", _worst_row(), eps=5, delta=DELTA),
        edge("R_H", "papers.R_H", _worst_row(400, columns=2), eps=20, delta=DELTA),
        edge("groups, 2 rows", "per_group", people, groups=[0, 1], **groups),
        edge("unknown groups", "per_group", people, delta=DELTA, **groups),
    ]


def _people() -> list[Scenario]:
    """People who go over, with several rows in place of one."""
    each: dict[str, Any] = {"per_person": "mean"}
    here: dict[str, Any] = {"f": np.mean, "trusted": True}
    known: dict[str, Any] = {"by": True, "groups": [0, 1], **SECRET}
    unknown: dict[str, Any] = {"by": True, "groups": None, "delta": DELTA, **SECRET}
    two: dict[str, Any] = {"groups": (1, 0), **each}
    blocks, moved, spread = "subsample_aggregate", _person_moved, _person_spread
    many, poles, turn, ranked = moved(n=600), moved(0.0, 5.0), moved(1.25, 6.25), person_ranked(label=True)
    # one with rows in two groups, whose medians she holds, or not there
    grouped = person((np.tile([0.0, 1.0], N), np.repeat([0, 1], N)), np.arange(2 * N), [(0.0, 0), (0.0, 0), (0.0, 1)], [])
    # many rows that are all true, or one that is not; all rows in a second cell, or in everybody's; above all others
    flags = person(np.arange(PEOPLE) % 2 == 0, np.arange(PEOPLE), [True] * 9, [False])
    alone = person(np.zeros(2 * PEOPLE - 2, np.int64), np.repeat(np.arange(PEOPLE - 1), 2), [1, 1], [0, 0])
    over = person(np.arange(1.0, 240), np.arange(239), [0.0] * MORE, [9.0 * 240])
    # a line of people with two rows each: one of them far off, on the other side, gone, or in another direction
    (x, y), long, ids = _noisy_line(480), _noisy_line(5000), np.repeat(np.arange(2500), 2)
    line = person((x[2:], y[2:]), np.repeat(np.arange(239), 2), list(zip(x[:2], y[:2], strict=True)), [(1.0, -50.0)] * MORE)
    across, leaves = (person(long, ids, [(1.5, 3.0)] * MORE, rows) for rows in ([(1.5, -3.0)], []))
    turned = person(np.column_stack(long), ids, [(0.0, 0.0)], [(1e9, 0.0)] * MORE)
    # all others are in one place and of one class
    others = np.zeros((PEOPLE - 1, 1)), np.ones(PEOPLE - 1)
    sided, sole = (person(others, np.arange(PEOPLE - 1), [(0.0, -1.0)] * MORE, rows) for rows in ([(0.0, 1.0)], []))
    short: dict[str, Any] = {"blocks": 60, "fit_intercept": False}
    box: dict[str, Any] = {"low": 0.0, "high": 10.0}
    machine: dict[str, Any] = {"delta": DELTA, "regularization": 4, "frequencies": 8}
    return [
        edge("median, people", "median", moved()),
        edge("median, add/remove, people", "median", moved(secret=True), **SECRET),
        edge("median, rows, people", "median", many, weights="rows", at_most=2),
        edge("mean per person, people", "median", moved(), **each),
        edge("mean, people", "mean", many),
        edge("variance, people", "variance", many),
        edge("range, people", "iqr", moved(n=2 * PEOPLE)),
        edge("tau, people", "kendall_tau", person_ranked(), **each),
        edge("superiority, people", "superiority", ranked, **two),
        edge("difference, people", "median_difference", ranked, **two),
        edge("count, people", "count", flags),
        edge("count of rows, people", "count", flags, weights="rows", at_most=3),
        edge("histogram, people", "histogram", spread(), keys=5),
        edge("histogram of rows, people", "histogram", spread(), keys=5, weights="rows", at_most=2),
        edge("histogram of shares, people", "histogram", spread(), keys=5, weights="people"),
        edge("histogram, any, people", "histogram", spread(), keys=5, weights="any", at_most=2),
        edge("categories, people", "histogram", alone, delta=DELTA),
        edge("categories of shares, people", "histogram", alone, weights="people", delta=DELTA),
        edge("categories, add/remove, people", "histogram", spread(secret=True), delta=DELTA, **SECRET),
        edge("sparse cells, people", "sparse_histogram", spread(), domain_size=2**30),
        edge("groups, people", "median", grouped, **known),
        edge("unknown groups, people", "median", grouped, **unknown),
        edge("groups, two each, people", "median", grouped, groups_per_person=2, **known),
        edge("unknown groups, one each, people", "median", grouped, groups_per_person=1, **unknown),
        edge("unknown groups, two each, people", "median", grouped, groups_per_person=2, **unknown),
        edge("block median, people", blocks, over, blocks=120, **here),
        edge("block median, twice, people", blocks, over, blocks=240, times=2, **here),
        edge("synthetic, people", "synthetic", _person_odd(), delta=DELTA),
        edge("synthetic, add/remove, people", "synthetic", _person_odd(secret=True), delta=DELTA, **SECRET),
        edge("stable value, people", "stable_value", moved(n=240), blocks=120, delta=DELTA, **here),
        edge("short cut, people", "shortcut_regression", line, **short),
        edge("short cut, standard errors, people", "shortcut_regression", line, standard_errors=True, **short),
        edge("linear, people", "linear_regression", across, epsilon=3),
        edge("concentrated, people", "linear_regression", across, epsilon=3, delta=0.25),
        edge("linear, add/remove, people", "linear_regression", leaves, epsilon=3, **SECRET),
        edge("scatter, people", "scatter", turned, epsilon=3),
        edge("density, people", "kde", moved(0.5, 8.5), delta=DELTA, bandwidth=0.5),
        edge("moments, Gamma noise, people", "fourier_density", poles, degree=1, **box),
        edge("moments, Carathéodory noise, people", "fourier_density", poles, degree=5, **box),
        edge("moments, Laplace noise, people", "fourier_density", turn, degree=2, noise="laplace", **box),
        edge("kernel machine, people", "kernels.kernel_machine", sided, **machine),
        edge("kernel machine, add/remove, people", "kernels.kernel_machine", sole, **machine, **SECRET),
    ]
