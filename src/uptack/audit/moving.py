"""Neighbours that really move a release: each brings its mechanisms to the edge of what their theorems allow.

An audit on tables whose answer hardly moves sees no fault. Here a row goes from one side to the other, at the rank, the
lead, the pole or the label that counts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from uptack.audit import makers, people
from uptack.audit.asks import made
from uptack.audit.corpus import fewer
from uptack.audit.neighbours import changed, two_values
from uptack.audit.replay import Replay
from uptack.audit.sessions import asked
from uptack.discrete import Domain
from uptack.kernels import FourierBasis, Gaussian
from uptack.noise import LInfBall
from uptack.privacy import ADD_REMOVE, SUBSTITUTE, Adjacency

N = 120
DELTA = 0.01
TWO = SUBSTITUTE.per_person(2)
Pair = tuple[Any, Any]


def _case(name: str, path: str, pair: Pair, make: Callable[..., Any] = makers.one, **options: Any) -> Replay:
    """One release at ε = 20 unless it says otherwise."""
    told = {} if "eps" in options else {"epsilon": 20}
    return Replay(name, partial(make, made(path), {**told, **options}), pair, frozenset(), path, {**told, **options})


def _ties(n: int = N) -> Pair:
    return two_values(n, n // 2)


def _removed(pair: Pair) -> Pair:
    return fewer({"": pair[::-1]})[""]


def _gap(n: int = N) -> Pair:
    """A column of integers with ties, of which one row goes from the least to the largest."""
    x = np.repeat(np.arange(n // 4), 4).astype(np.float64)
    return changed(x, slice(0, 1), x[-1])


def _leaves(row: int, relation: Adjacency = SUBSTITUTE) -> Pair:
    """A column of integers with ties, of which a person's rows go from inside to far away: all counts outside move."""
    return changed(_gap(400)[0], slice(row, row + relation.rows_per_person), 1e9, relation)


def _thick(n: int = N) -> Pair:
    """A column that spreads out from its quartiles, and the same without a row between them: n is a multiple of 4."""
    quarter = 2.0 ** np.arange(n // 4)
    x = np.r_[-quarter[::-1], np.linspace(-0.5, 0.5, n // 2), quarter]
    return x, np.delete(x, n // 2)


def _times() -> Pair:
    """Days in nanoseconds, int64, with ties at the lower quartile. Floats of that size are 256 apart."""
    day, start = 86_400 * 10**9, 1_699_920_000 * 10**9
    x = start + day * np.r_[np.zeros(795, int), np.ones(200, int), 2 + np.arange(3005) // 4]
    other = x.copy()
    other[0] = x[-1]
    return x, other


def _line(n: int = N, seed: int = 3, intercept: bool = False) -> Pair:
    """A noisy line, and one row of it on the other side."""
    rng = np.random.default_rng(seed)
    x = rng.choice([-1.0, 1.0], size=(n, 1)) * rng.uniform(0.5, 1.5, size=(n, 1))
    y = 2 * x[:, 0] + 0.1 * rng.normal(size=n)
    other = y.copy()
    far = int(np.argmin(y / x[:, 0]))
    other[far] = 9 * x[far, 0]
    return (x, y), (x, other)


def _far() -> Pair:
    """A noisy line, of which one row goes very far away."""
    (x, y), _ = _line(400)
    return (x, y), (x, changed(y, slice(0, 1), 1e6 * x[0, 0])[1])


def _leverage(rows: int = 1, n: int = 2500) -> Pair:
    """Rows with all the leverage there can be, above the line, which go below it."""
    (x, y), _ = _line(n)
    x, y, far = x.copy(), y.copy(), y.copy()
    x[-rows:], y[-rows:], far[-rows:] = 1e9, 1e12, -1e12
    return (x, y), (x, far)


def _classed(n: int = 2500) -> Pair:
    """A row as far out as counts in full, in one class and in the other."""
    (x, y), _ = _line(n)
    x, y, other = x.copy(), y.copy(), y.copy()
    x[-1], y[-1], other[-1] = 1.5 * np.quantile(np.abs(x), 0.75), 1.0, -1.0
    return (x, y), (x, other)


def _away() -> Pair:
    """A row in the middle, which goes very far away: another direction."""
    (x, y), _ = _line(2500)
    table = np.column_stack([x, y])
    middle, far = table.copy(), table.copy()
    middle[-1], far[-1] = 0.0, [1e9, 0.0]
    return middle, far


def _clear(n: int = 400) -> Pair:
    """A fit that holds for all rows but a few below it, of which one goes above: all certificates move by two rows."""
    x = np.ones((n, 1))
    y = np.r_[np.zeros(10), np.full(n - 10, 2.0)]
    return (x, y), (x, changed(y, slice(0, 1), 4.0)[1])


def _split(n: int = N, far: float = 1.0) -> Pair:
    """Half of the rows on either of two lines: one row, which goes far, decides."""
    x, y = np.ones((n, 1)), two_values(n, n // 2)[0]
    return (x, y), (x, changed(y, slice(0, 1), far)[1])


def _plane(n: int = N) -> Pair:
    (x, y), (_, other) = _line(n)
    wide = np.column_stack([x[:, 0], np.random.default_rng(1).normal(size=n)])
    return (wide, y), (wide, other)


def _trees() -> list[Replay]:
    """Trees of two tiers: the row that moves goes past all bins of the second."""
    ecdf, levels, few, many = "uptack.ecdf", [j / 30 for j in range(1, 30)], _gap(400), _gap(6000)
    return [
        _case("quantiles by a tree", "uptack.quantile", few, p=levels, epsilon=50),
        _case("quantiles by a tree, 2 rows", "uptack.quantile", changed(few[0], slice(0, 2), 99.0, TWO), p=levels,
              epsilon=100, rows_per_person=2),
        _case("quantiles of one value by a tree", "uptack.quantile", changed(np.ones(4000), slice(0, 1), 9.0), p=levels,
              epsilon=50),
        _case("distribution", ecdf, few, epsilon=50),
        _case("distribution, drop", ecdf, few, epsilon=50, missing="drop"),
        _case("distribution, add/remove", ecdf, _removed(few), epsilon=50, adjacency=ADD_REMOVE),
        _case("distribution, blocks", ecdf, _gap(8200), knots=121, epsilon=400),
        _case("distribution, ε = 1", ecdf, many, knots=9, epsilon=1),
        _case("distribution, ε = 1, drop", ecdf, many, knots=9, epsilon=1, missing="drop"),
    ]  # fmt: skip


def statistics() -> list[Replay]:
    """Order statistics and means."""
    q, low = "uptack.quantile", [0.25, 0.75]
    pairs = two_values(N, N // 2, TWO)
    gone = _ties()[0], np.r_[_ties()[0][1:], np.nan]
    wide = changed(_gap(400)[0], slice(0, 2), 99.0, TWO)
    return [
        _case("median", "uptack.median", _ties()),
        _case("median, 2 rows", "uptack.median", pairs, rows_per_person=2),
        _case("median, add/remove, 2 rows", "uptack.median", two_values(N, 60, ADD_REMOVE.per_person(2)),
              adjacency=ADD_REMOVE, rows_per_person=2),
        _case("medians, add/remove, 2 rows", q, two_values(N, 60, ADD_REMOVE.per_person(2)),
              p=[k / 26 for k in range(7, 20)], adjacency=ADD_REMOVE, rows_per_person=2),
        _case("spread, add/remove", "uptack.iqr", _thick(), adjacency=ADD_REMOVE),
        _case("median, few rows", "uptack.median", _removed(two_values(9, 5)), adjacency=ADD_REMOVE),
        _case("median, drop", "uptack.median", gone, missing="drop"),
        _case("median, an interval", "uptack.median", _gap(400), interval=0.9),
        _case("quartiles", q, _gap(400), p=low),
        _case("quartiles, 2 rows", q, wide, p=low, rows_per_person=2),
        _case("quartiles, nanoseconds", q, _times(), p=low),
        _case("many quantiles of one value", q, changed(np.ones(4000), slice(0, 1), 9.0),
              p=[0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7]),
        _case("near quantiles", q, _ties(), p=[0.45, 0.55]),
        *_trees(),
        _case("spread", "uptack.iqr", two_values(N, 90)),
        _case("trimmed mean", "uptack.trimmed_mean", _ties(), cut=0.25),
        _case("mean", "uptack.mean", _leaves(0)),
        _case("mean, 2 rows", "uptack.mean", _leaves(0, TWO), rows_per_person=2),
        _case("mean, add/remove", "uptack.mean", _removed(_leaves(399)[::-1]), adjacency=ADD_REMOVE),
        _case("sum, add/remove", "uptack.sum", _removed(_leaves(399)[::-1]), adjacency=ADD_REMOVE),
        _case("variance", "uptack.variance", _leaves(200)),
        _case("proportion", "uptack.proportion", _ties()),
        _case("proportion, drop", "uptack.proportion", gone, missing="drop"),
        _case("median, ptr", "uptack.median", two_values(N, 64), method="ptr", delta=DELTA),
        _case("median, ptr, a jump", "uptack.median", _ties(), method="ptr", delta=DELTA),
        _case("spread, ptr", "uptack.iqr", _gap(), method="ptr", delta=DELTA),
        _case("median, dwork-lei", "uptack.median", two_values(N, 64), method="dwork-lei", delta=DELTA),
        _case("M", "uptack.papers.M", two_values(N, 64), makers.sized, eps=5, delta=DELTA),
        _case("TM", "uptack.papers.TM", _gap(), makers.sized, eps=5, delta=DELTA, alpha=0.2, kappa=None),
        _case("a median in a session", "uptack.session.SessionColumn.median", _ties(), partial(_asked, "median")),
    ]  # fmt: skip


def _asked(statistic: str, function: Any, options: dict[str, Any], data: Any, entropy: Any) -> Any:
    return asked(statistic, function, {**options, "missing": "low"}, data, entropy).result()


def counts() -> list[Replay]:
    """Counts, tables, noise, choices."""
    cells = np.repeat([0, 1, 2], [40, 40, 40])
    moved = np.repeat([0, 1, 2], [39, 41, 40])
    domain = Domain({"a": 3, "b": 3})
    both = np.repeat([0, 1], [N - 2, 2]), np.repeat([0, 1], [N, 0])
    zero, one = np.zeros(2), np.array([0.6, 0.8])
    half, sides = np.array([0.0, 0.0]), np.array([1.0, 1.0])
    sized: dict[str, Any] = {"sensitivity": 1}
    return [
        _case("count", "uptack.count", (5, 6)),
        _case("count, 2 rows", "uptack.count", (5, 7), rows_per_person=2),
        _case("histogram", "uptack.histogram", (cells, moved), keys=3),
        _case("categories", "uptack.histogram", (cells, moved), delta=DELTA),
        _case("categories, 2 rows", "uptack.histogram", both, delta=DELTA, rows_per_person=2),
        _case("sparse cells", "uptack.sparse_histogram", (cells, moved), domain_size=9, rule="adaptive"),
        _case("margins", "uptack.margins", ({"a": cells, "b": cells}, {"a": moved, "b": moved}),
              domain=domain, through="direct"),
        _case("Laplace noise", "uptack.mechanisms.laplace", (0.0, 1.0), **sized),
        _case("Gaussian noise", "uptack.mechanisms.gaussian", (zero, one), delta=DELTA, **sized),
        _case("Gamma noise", "uptack.mechanisms.gamma", (zero, one), **sized),
        _case("K-norm noise", "uptack.mechanisms.k_norm", (half, sides), body=LInfBall(2), **sized),
        _case("matrix noise", "uptack.mechanisms.matrix_laplace", (np.diag(zero), np.diag([0.6, -0.4])), **sized),
        _case("exponential mechanism", "uptack.mechanisms.exponential", ([3, 3], [4, 2]), makers.chosen, **sized),
        _case("noisy max", "uptack.mechanisms.report_noisy_max", ([3, 3], [4, 2]), makers.chosen, **sized),
        _case("mode", "uptack.papers.A_dist", (80 * "a" + 40 * "b", 79 * "a" + 41 * "b"), makers.blocks,
              g="mode", eps=5, delta=DELTA),
    ]  # fmt: skip


def _spoiler(rows: Any) -> float:
    """A function that changes what it is given."""
    total = float(sum(row["v"] for row in rows))
    for row in rows:
        row["v"] = total
    return total


def _peak(rows: Any) -> float:
    """The largest row."""
    return float(np.max(rows))


class Keeper:
    """A function that remembers."""

    def __init__(self) -> None:
        self.total = 0.0

    def __call__(self, rows: Any) -> float:
        """Everything so far."""
        self.total += float(np.sum(rows))
        return self.total

    def __reduce__(self) -> Any:
        return Keeper, ()


def _records(n: int = N) -> Pair:
    rows = [{"v": float(i)} for i in range(n // 2)]
    shared = [*rows, *rows]  # each twice: a block that changes one changes the other
    return shared, [*shared[:-1], {"v": 999.0}]


def _texts(n: int = N) -> Pair:
    """A column of short texts, and the same with a long one: NumPy makes all of them wide."""
    return np.full(n, "a"), np.array(["a"] * (n - 1) + ["a long text"])


def _width(rows: Any) -> float:
    return float(rows.dtype.itemsize)


def _mixed(n: int = N) -> Pair:
    """A list of numbers, and the same with one that is missing."""
    return [float(i) for i in range(n)], [*(float(i) for i in range(n - 1)), None]


def _kinds(rows: Any) -> float:
    return float(len({type(row) for row in rows}))


def blocks() -> list[Replay]:
    """Functions of blocks."""
    votes = two_values(N, 90)
    path, stable = "uptack.subsample_aggregate", "uptack.stable_value"
    here: dict[str, Any] = {"trusted": True}  # a process for every block takes long
    pair = {"f": makers.pair, "aggregate": "vector_median", "fallback": [0.0, 0.0]}
    return [
        _case("stable value", stable, votes, makers.blocks, f=makers.outcome, blocks=N, delta=DELTA, **here),
        _case("A_samp", "uptack.papers.A_samp", changed(np.zeros(N), slice(0, 1), 1.0), makers.blocks, f=_peak, eps=30,
              delta=0.1, progress=False, **here),
        _case("block median", path, _ties(), makers.blocks, f=makers.number, blocks=N, **here),
        _case("block median, twice", path, _ties(), makers.blocks, f=makers.number, blocks=2 * N, times=2, **here),
        _case("block median, add/remove", path, _removed(_gap()), makers.blocks, f=makers.number, blocks=60,
              adjacency=ADD_REMOVE, **here),
        _case("vector median", path, _ties(), makers.blocks, blocks=N, **pair, **here),
        _case("blocks of records", path, _records(), makers.blocks, f=_spoiler, blocks=24),
        _case("blocks of records, trusted", path, _records(), makers.blocks, f=_spoiler, blocks=60, **here),
        _case("blocks of texts", path, _texts(), makers.blocks, f=_width, blocks=24),
        _case("blocks of objects", path, _mixed(), makers.blocks, f=_kinds, blocks=24),
        _case("blocks in turn", path, _gap(), makers.blocks, f=Keeper(), blocks=24),
    ]  # fmt: skip


def curves() -> list[Replay]:
    """Densities, functions, machines."""
    apart = np.r_[np.full(N - 1, 3.0), 0.5], np.r_[np.full(N - 1, 3.0), 8.5]
    poles = np.r_[np.full(N - 1, 3.0), 0.0], np.r_[np.full(N - 1, 3.0), 5.0]
    known: dict[str, Any] = {"delta": DELTA, "bandwidth": 0.5}
    box: dict[str, Any] = {"low": 0.0, "high": 10.0}
    outlier = changed(_gap(400)[0], slice(0, 1), 500.0)
    x, (y, other) = np.zeros((40, 1)), two_values(40, 20, low=-1.0)
    basis = FourierBasis(0.05, 8, ((0.0, 10.0),))
    bumps: dict[str, Any] = {"kernel": Gaussian(0.5), "sensitivity": 2**0.5 / N, "norm": 1, "error": 1e-12}
    kde, fourier = "uptack.kde", "uptack.fourier_density"
    return [
        _case("density", kde, apart, makers.seen, **known),
        _case("density, add/remove", kde, _removed(apart[::-1]), makers.seen, adjacency=ADD_REMOVE, **known),
        _case("density, private bandwidth", kde, _gap(400), makers.seen, delta=DELTA),
        _case("moments, Gamma noise", fourier, poles, makers.seen, degree=1, **box),
        _case("moments, Carathéodory noise", fourier, poles, makers.seen, degree=5, **box),
        _case("moments, Laplace noise", fourier, _diagonal(), makers.seen, degree=2, noise="laplace", **box),
        _case("moments, private box", fourier, outlier, makers.seen),
        _case("kernel machine", "uptack.kernels.kernel_machine", ((x, y), (x, other)), makers.fitted,
              delta=DELTA, regularization=4, frequencies=8),
        _case("function", "uptack.kernels.release_function", apart, makers.process, delta=DELTA, **bumps),
        _case("spectral", "uptack.kernels.release_spectral", poles, _embedded, delta=DELTA, basis=basis),
    ]  # fmt: skip


def _diagonal() -> Pair:
    """A row that goes to where all real and imaginary parts are large: an eighth of a turn, and five."""
    return np.r_[np.full(N - 1, 3.0), 1.25], np.r_[np.full(N - 1, 3.0), 6.25]


def _embedded(function: Any, options: dict[str, Any], data: Any, entropy: Any) -> Any:
    basis = options["basis"]
    return makers.spectral(function, {**options, "sensitivity": basis.sensitivity(N), "error": 0}, data, entropy)


def regressions() -> list[Replay]:
    """Regressions and groups."""
    short, robust, linear = (f"uptack.{name}_regression" for name in ("shortcut", "hampel", "linear"))
    plain: dict[str, Any] = {"fit_intercept": False}
    x, by = np.tile([0.0, 1.0], N), np.repeat([0, 1], N)
    rest = np.delete(np.arange(2 * N), [0, N])  # a zero of each group: both medians jump
    groups: dict[str, Any] = {"rows_per_person": 2, "f": "uptack.median", "adjacency": ADD_REMOVE}
    people = (x, by), (x[rest], by[rest])
    return [
        _case("short cut", short, _split(), makers.two, block_fit="ols", blocks=N, **plain),
        _case("short cut, huber", short, _split(far=50.0), makers.two, blocks=60, **plain),
        _case("short cut, standard errors", short, _line(240), makers.two, blocks=120, standard_errors=True, **plain),
        _case("short cut, add/remove", short, _removed(_line(240)), makers.two, adjacency=ADD_REMOVE, **plain),
        _case("robust", robust, _line(400), makers.two, delta=DELTA, **plain),
        _case("robust, a clear fit", robust, _clear(), makers.two, delta=DELTA, **plain),
        _case("robust, one row far away", robust, _far(), makers.two, delta=DELTA, **plain),
        _case("robust, two lines", robust, _split(), makers.two, delta=DELTA, **plain),
        _case("linear", linear, _leverage(), makers.two, epsilon=3),
        _case("linear, 3 rows", linear, _leverage(3), makers.two, epsilon=9, rows_per_person=3),
        _case("linear, add/remove", linear, _removed(_leverage()), makers.two, epsilon=3, adjacency=ADD_REMOVE),
        _case("logistic", "uptack.logistic_regression", _classed(), makers.classes, epsilon=3),
        _case("logistic, add/remove", "uptack.logistic_regression", _removed(_classed()), makers.classes, epsilon=3,
              adjacency=ADD_REMOVE),
        _case("quantile", "uptack.quantile_regression", _leverage(), makers.two, epsilon=3, quantile=0.9),
        _case("quantile, 3 rows", "uptack.quantile_regression", _leverage(3), makers.two, epsilon=9,
              rows_per_person=3),
        _case("scatter", "uptack.scatter", _away(), epsilon=3),
        _case("R_S", "uptack.papers.R_S", _line(), makers.two, eps=5, delta=DELTA),
        _case("R_H", "uptack.papers.R_H", _plane(400), makers.two, eps=20, delta=DELTA),
        _case("groups, 2 rows", "uptack.per_group", people, makers.group, groups=[0, 1], **groups),
        _case("unknown groups", "uptack.per_group", people, makers.group, delta=DELTA, **groups),
    ]  # fmt: skip


def ranks() -> list[Replay]:
    """Rank statistics: a row that goes from above all others to below them, from one group to the other, or both."""
    n = 60
    x = np.arange(float(n))
    moved = np.r_[x[:-1], -1.0]
    label = np.repeat([0, 1], n // 2)
    over = np.r_[label[:-1], 0]
    groups: dict[str, Any] = {"groups": (1, 0)}
    far = (x, label), (moved, over)
    few = np.r_[np.zeros(50), np.full(5, 2), np.ones(5)].astype(int)
    odd, crossed = np.r_[x, 0.5], np.r_[label, 0]
    apart = (odd, crossed), (np.where(odd == 30, -9.0, odd), np.where(odd == 30, 0, crossed))  # one up, the other down
    two, square = makers.side_by_side, np.column_stack([x, x, -x])
    other = square.copy()
    other[-1] = -1.0, 99.0, 99.0
    return [
        _case("tau", "uptack.kendall_tau", ((x, x), (x, moved)), two),
        _case("tau, missing", "uptack.kendall_tau", ((x, x), (x, np.r_[x[:-1], np.nan])), two, missing="ignore"),
        _case("tau, add/remove", "uptack.kendall_tau", ((x, moved), (x[:-1], x[:-1])), two, adjacency=ADD_REMOVE),
        _case("correlations", "uptack.correlation_matrix", (square, other)),
        _case("superiority, over", "uptack.superiority", far, two, **groups),
        _case("superiority, down", "uptack.superiority", ((x, label), (moved, label)), two, **groups),
        _case("superiority, public labels", "uptack.superiority", ((x, label), (moved, label)), two, **groups,
              public_labels=True),
        _case("difference, over", "uptack.median_difference", far, two, **groups),
        _case("difference, both medians", "uptack.median_difference", apart, two, **groups),
        _case("shift, down", "uptack.hodges_lehmann", ((x, label), (moved, label)), two, **groups),
        _case("difference, interval", "uptack.median_difference", far, two, interval=0.9, **groups),
        _case("shift, over", "uptack.hodges_lehmann", far, two, **groups),
        _case("shift, add/remove", "uptack.hodges_lehmann", ((x, label), (x[:-1], label[:-1])), two,
              adjacency=ADD_REMOVE, **groups),
        _case("two groups", "uptack.mann_whitney", far, two, **groups),
        _case("two groups as several", "uptack.kruskal_wallis", far, two, **groups),
        _case("several groups", "uptack.kruskal_wallis", ((x, few), (moved, np.r_[few[:-1], 2])), two,
              groups=(0, 1, 2)),
        _case("signed ranks", "uptack.signed_rank", (x + 1, np.r_[x[:-1] + 1, -99.0])),
    ]  # fmt: skip


@cache
def moving() -> dict[str, Replay]:
    """All of them, by name."""
    every = [*statistics(), *counts(), *blocks(), *curves(), *regressions(), *ranks(), *people.cases(made)]
    return {case.name: case for case in every}
