"""Order statistics, means, counts and noise."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from uptack.audit import callers
from uptack.audit.moving_neighbours.table_pairs import DELTA, TWO, N, case, gap, leaves, removed, thick, ties, times
from uptack.audit.neighbours import changed, two_values
from uptack.audit.replay import Replay
from uptack.audit.session_requests import asked
from uptack.discrete import Domain
from uptack.noise import LInfBall
from uptack.privacy import ADD_REMOVE


def _trees() -> list[Replay]:
    """Trees of two tiers: the row that moves goes past all bins of the second."""
    ecdf, levels, few, many = "uptack.ecdf", [j / 30 for j in range(1, 30)], gap(400), gap(6000)
    return [
        case("quantiles by a tree", "uptack.quantile", few, p=levels, epsilon=50),
        case("quantiles by a tree, 2 rows", "uptack.quantile", changed(few[0], slice(0, 2), 99.0, TWO), p=levels,
              epsilon=100, rows_per_person=2),
        case("quantiles of one value by a tree", "uptack.quantile", changed(np.ones(4000), slice(0, 1), 9.0), p=levels,
              epsilon=50),
        case("distribution", ecdf, few, epsilon=50),
        case("distribution, drop", ecdf, few, epsilon=50, missing="drop"),
        case("distribution, add/remove", ecdf, removed(few), epsilon=50, adjacency=ADD_REMOVE),
        case("distribution, blocks", ecdf, gap(8200), knots=121, epsilon=400),
        case("distribution, ε = 1", ecdf, many, knots=9, epsilon=1),
        case("distribution, ε = 1, drop", ecdf, many, knots=9, epsilon=1, missing="drop"),
    ]  # fmt: skip


def statistics() -> list[Replay]:
    """Order statistics and means."""
    q, low = "uptack.quantile", [0.25, 0.75]
    pairs = two_values(N, N // 2, TWO)
    gone = ties()[0], np.r_[ties()[0][1:], np.nan]
    wide = changed(gap(400)[0], slice(0, 2), 99.0, TWO)
    return [
        case("median", "uptack.median", ties()),
        case("median, 2 rows", "uptack.median", pairs, rows_per_person=2),
        case("median, add/remove, 2 rows", "uptack.median", two_values(N, 60, ADD_REMOVE.per_person(2)),
              adjacency=ADD_REMOVE, rows_per_person=2),
        case("medians, add/remove, 2 rows", q, two_values(N, 60, ADD_REMOVE.per_person(2)),
              p=[k / 26 for k in range(7, 20)], adjacency=ADD_REMOVE, rows_per_person=2),
        case("spread, add/remove", "uptack.iqr", thick(), adjacency=ADD_REMOVE),
        case("median, few rows", "uptack.median", removed(two_values(9, 5)), adjacency=ADD_REMOVE),
        case("median, drop", "uptack.median", gone, missing="drop"),
        case("median, an interval", "uptack.median", gap(400), interval=0.9),
        case("quartiles", q, gap(400), p=low),
        case("quartiles, 2 rows", q, wide, p=low, rows_per_person=2),
        case("quartiles, nanoseconds", q, times(), p=low),
        case("many quantiles of one value", q, changed(np.ones(4000), slice(0, 1), 9.0),
              p=[0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7]),
        case("near quantiles", q, ties(), p=[0.45, 0.55]),
        *_trees(),
        case("spread", "uptack.iqr", two_values(N, 90)),
        case("trimmed mean", "uptack.trimmed_mean", ties(), cut=0.25),
        case("mean", "uptack.mean", leaves(0)),
        case("mean, 2 rows", "uptack.mean", leaves(0, TWO), rows_per_person=2),
        case("mean, add/remove", "uptack.mean", removed(leaves(399)[::-1]), adjacency=ADD_REMOVE),
        case("sum, add/remove", "uptack.sum", removed(leaves(399)[::-1]), adjacency=ADD_REMOVE),
        case("variance", "uptack.variance", leaves(200)),
        case("proportion", "uptack.proportion", ties(), above=0),
        case("proportion, drop", "uptack.proportion", gone, above=0, missing="drop"),
        case("median, ptr", "uptack.median", two_values(N, 64), method="ptr", delta=DELTA),
        case("median, ptr, a jump", "uptack.median", ties(), method="ptr", delta=DELTA),
        case("spread, ptr", "uptack.iqr", gap(), method="ptr", delta=DELTA),
        case("median, dwork-lei", "uptack.median", two_values(N, 64), method="dwork-lei", delta=DELTA),
        case("M", "uptack.papers.M", two_values(N, 64), callers.sized, eps=5, delta=DELTA),
        case("TM", "uptack.papers.TM", gap(), callers.sized, eps=5, delta=DELTA, alpha=0.2, kappa=None),
        case("a median in a session", "uptack.session.SessionColumn.median", ties(), partial(_asked, "median")),
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
        case("count", "uptack.count", (5, 6)),
        case("count, 2 rows", "uptack.count", (5, 7), rows_per_person=2),
        case("histogram", "uptack.histogram", (cells, moved), keys=3),
        case("categories", "uptack.histogram", (cells, moved), delta=DELTA),
        case("categories, 2 rows", "uptack.histogram", both, delta=DELTA, rows_per_person=2),
        case("sparse cells", "uptack.sparse_histogram", (cells, moved), domain_size=9, rule="adaptive"),
        case("margins", "uptack.margins", ({"a": cells, "b": cells}, {"a": moved, "b": moved}),
              domain=domain, through="direct"),
        case("Laplace noise", "uptack.mechanisms.laplace", (0.0, 1.0), **sized),
        case("Gaussian noise", "uptack.mechanisms.gaussian", (zero, one), delta=DELTA, **sized),
        case("Gamma noise", "uptack.mechanisms.gamma", (zero, one), **sized),
        case("K-norm noise", "uptack.mechanisms.k_norm", (half, sides), body=LInfBall(2), **sized),
        case("matrix noise", "uptack.mechanisms.matrix_laplace", (np.diag(zero), np.diag([0.6, -0.4])), **sized),
        case("exponential mechanism", "uptack.mechanisms.exponential", ([3, 3], [4, 2]), callers.chosen, **sized),
        case("noisy max", "uptack.mechanisms.report_noisy_max", ([3, 3], [4, 2]), callers.chosen, **sized),
        case("mode", "uptack.papers.A_dist", (80 * "a" + 40 * "b", 79 * "a" + 41 * "b"), callers.blocks,
              g="mode", eps=5, delta=DELTA),
    ]  # fmt: skip
