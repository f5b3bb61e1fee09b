"""People whose rows move a release as far as its theorem allows: one goes over, with several rows in place of one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from uptack.audit import callers
from uptack.audit.moving_neighbours import table_pairs
from uptack.audit.person_neighbours import MORE, PersonRows, of_people
from uptack.audit.replay import Replay
from uptack.privacy import ADD_REMOVE

N = 60
"""People of the tables that bring mechanisms to their edge."""


def moved(least: float = 0.0, most: float = 1.0, rows: int = MORE, n: int = N, secret: bool = False) -> Any:
    """Half of the people at either of two values; one goes over, with several rows in place of one, or is gone."""
    values = np.repeat([least, most], n // 2)
    d = np.append(values, np.full(rows - 1, least))
    ids = np.append(np.arange(n), np.zeros(rows - 1, np.int64))
    if secret:
        return PersonRows(d, n - ids), PersonRows(values[1:], n - np.arange(1, n))
    e = values.copy()
    e[0] = most
    return PersonRows(d, ids), PersonRows(e, np.arange(n))


def spread(n: int = N, secret: bool = False) -> Any:
    """Everybody in three cells, and one whose rows are in two others, three times as many."""
    x, ids = np.tile([0, 1, 2], n), np.repeat(np.arange(n), 3)
    rest = ids > 0
    other = np.append(x[rest], np.repeat([3, 4], 4)), np.append(ids[rest], np.zeros(8, np.int64))
    return (PersonRows(*other), PersonRows(x[rest], ids[rest])) if secret else (PersonRows(x, ids), PersonRows(*other))


def alone(n: int = N) -> Any:
    """Everybody in the first cell, and one with all her rows in the second, or in the first."""
    x, ids = np.zeros(2 * n, np.int64), np.repeat(np.arange(n), 2)
    return PersonRows(np.where(ids == 0, 1, x), ids), PersonRows(x, ids)


def flagged(n: int = N, rows: int = 9) -> Any:
    """One person with many rows that are all true, or one that is not."""
    first = np.append(np.full(rows, True), np.arange(n) % 2 == 0), np.append(np.zeros(rows, int), np.arange(1, n + 1))
    second = np.append(False, np.arange(n) % 2 == 0), np.arange(n + 1)
    return PersonRows(*first), PersonRows(*second)


def lined(n: int = 240, rows: int = MORE) -> Any:
    """A noisy line of people with two rows each, and one of them far off, with more."""
    rng = np.random.default_rng(3)
    ids = np.repeat(np.arange(n), 2)
    x = rng.choice([-1.0, 1.0], size=(2 * n, 1)) * rng.uniform(0.5, 1.5, size=(2 * n, 1))
    y = 2 * x[:, 0] + 0.1 * rng.normal(size=2 * n)
    rest = ids > 0
    far = np.vstack([np.full((rows, 1), 1.0), x[rest]]), np.append(np.full(rows, 50.0), y[rest])
    return PersonRows((x, y), ids), PersonRows(far, np.append(np.zeros(rows, np.int64), ids[rest]))


def leverage(n: int = 2500, rows: int = MORE, secret: bool = False) -> Any:
    """A noisy line of people with two rows each, and one with all the leverage there can be, above it or below it."""
    (x, y), ids = lined(n)[0]
    rest = ids > 0

    def beside(far: float, times: int) -> PersonRows:
        hers = np.full((times, 1), 100.0), np.full(times, far)
        made = np.vstack([x[rest], hers[0]]), np.append(y[rest], hers[1])
        return PersonRows(made, np.append(ids[rest], np.full(times, n)))

    return beside(200.0, rows), PersonRows((x[rest], y[rest]), ids[rest]) if secret else beside(-200.0, 1)


def turned(n: int = 2500, rows: int = MORE) -> Any:
    """The same as a table, and one person in the middle, or with more rows very far away: another direction."""
    (x, y), ids = lined(n)[0]
    table, rest = np.column_stack([x, y]), ids > 0
    far = np.vstack([table[rest], np.tile([1e9, 0.0], (rows, 1))])
    first = PersonRows(np.vstack([table[rest], [[0.0, 0.0]]]), np.append(ids[rest], n))
    return first, PersonRows(far, np.append(ids[rest], np.full(rows, n)))


def sided(n: int = N, rows: int = MORE, secret: bool = False) -> Any:
    """A classification in which all are in one place and of one class, but for one person and her rows."""
    hers = np.append(np.ones(n - 1), np.full(rows, -1.0))
    first = PersonRows((np.zeros((hers.size, 1)), hers), np.append(np.arange(n - 1), np.full(rows, n)))
    left = n - 1 if secret else n
    return first, PersonRows((np.zeros((left, 1)), np.ones(left)), np.append(np.arange(n - 1), [n])[:left])


def ranked(n: int = N, rows: int = MORE, label: bool = False) -> Any:
    """One person each rank, and the uppermost, with several rows, who goes below all others, or to the other group."""
    x, second = np.arange(float(n)), np.repeat([0, 1], n // 2) if label else np.arange(float(n))
    up = np.append(x, np.full(rows - 1, x[-1])), np.append(second, np.full(rows - 1, second[-1]))
    down = np.append(x[:-1], -1.0), np.append(second[:-1], 0 if label else second[-1])
    return PersonRows(up, np.append(np.arange(n), np.full(rows - 1, n - 1))), PersonRows(down, np.arange(n))


def in_groups(n: int = 2 * N) -> Any:
    """One person with rows in two groups, whose medians she holds, or not there. Her number is the last."""
    x, by, ids = np.tile([0.0, 1.0], n), np.repeat([0, 1], n), np.arange(2 * n)
    more = np.append(x, [0.0, 0.0, 0.0]), np.append(by, [0, 0, 1])
    return PersonRows(more, np.append(ids, [2 * n] * 3)), PersonRows((x, by), ids)


def case(name: str, path: str, pair: Any, make: Callable[..., Any] = callers.one, **options: Any) -> Replay:
    """One release with ids."""
    return table_pairs.case(f"{name}, people", path, pair, of_people(make), **options)


def columns() -> list[Replay]:
    """Statistics of a column, and of ranks."""
    each: dict[str, Any] = {"make": callers.side_by_side, "per_person": "mean"}
    return [
        case("median", "uptack.median", moved()),
        case("median, add/remove", "uptack.median", moved(secret=True), adjacency=ADD_REMOVE),
        case("median, rows", "uptack.median", moved(n=600), weights="rows", at_most=2),
        case("mean per person", "uptack.median", moved(), per_person="mean"),
        case("mean", "uptack.mean", moved(n=600)),
        case("variance", "uptack.variance", moved(n=600)),
        case("range", "uptack.iqr", moved(n=120)),
        case("tau", "uptack.kendall_tau", ranked(), **each),
        case("superiority", "uptack.superiority", ranked(label=True), groups=(1, 0), **each),
        case("difference", "uptack.median_difference", ranked(label=True), groups=(1, 0), **each),
    ]  # fmt: skip


def tables() -> list[Replay]:
    """Counts, groups and blocks."""
    blocks, here, one_group = "uptack.subsample_aggregate", {"trusted": True}, {"groups_per_person": 1}
    return [
        case("count", "uptack.count", flagged()),
        case("count of rows", "uptack.count", flagged(), weights="rows", at_most=3),
        case("histogram", "uptack.histogram", spread(), keys=5, weights="people"),
        case("histogram of rows", "uptack.histogram", spread(), keys=5, weights="rows", at_most=2),
        case("histogram, two cells", "uptack.histogram", spread(), keys=5, weights="any", at_most=2),
        case("histogram, chosen cells", "uptack.histogram", spread(), keys=5),
        case("categories", "uptack.histogram", alone(), delta=0.01, weights="people"),
        case("categories, add/remove", "uptack.histogram", spread(secret=True), delta=0.01, adjacency=ADD_REMOVE),
        case("sparse cells", "uptack.sparse_histogram", spread(), domain_size=2**30),
        case("groups", "uptack.median", in_groups(), callers.by, groups=[0, 1], adjacency=ADD_REMOVE, **one_group),
        case("two groups", "uptack.median", in_groups(), callers.by, groups=[0, 1], adjacency=ADD_REMOVE),
        case("unknown groups", "uptack.median", in_groups(), callers.by, groups=None, delta=0.01, adjacency=ADD_REMOVE),
        case("block median", blocks, moved(n=240), callers.blocks, f=callers.mean, blocks=120, **here),
        case("block median, twice", blocks, moved(n=240), callers.blocks, f=callers.mean, blocks=240, times=2, **here),
        case("stable value", "uptack.stable_value", moved(n=240), callers.blocks, f=callers.mean, blocks=120,
             delta=0.01, **here),
    ]  # fmt: skip


def fits() -> list[Replay]:
    """Regressions, densities and machines."""
    kde, fourier, machine = "uptack.kde", "uptack.fourier_density", "uptack.kernels.kernel_machine"
    box: dict[str, Any] = {"low": 0.0, "high": 10.0}
    poles = moved(0.0, 5.0)
    return [
        case("short cut", "uptack.shortcut_regression", lined(), callers.two, blocks=60, fit_intercept=False),
        case("short cut, standard errors", "uptack.shortcut_regression", lined(), callers.two, blocks=60,
             standard_errors=True, fit_intercept=False),
        case("linear", "uptack.linear_regression", leverage(), callers.two, epsilon=3),
        case("linear, add/remove", "uptack.linear_regression", leverage(secret=True), callers.two, epsilon=3,
             adjacency=ADD_REMOVE),
        case("scatter", "uptack.scatter", turned(), epsilon=3),
        case("density", kde, moved(0.5, 8.5), callers.seen, delta=0.01, bandwidth=0.5),
        case("moments, Gamma noise", fourier, poles, callers.seen, degree=1, **box),
        case("moments, Carathéodory noise", fourier, poles, callers.seen, degree=5, **box),
        case("kernel machine", machine, sided(), callers.fitted, delta=0.01, regularization=4, frequencies=8),
        case("kernel machine, add/remove", machine, sided(secret=True), callers.fitted, delta=0.01, regularization=4,
             frequencies=8, adjacency=ADD_REMOVE),
        case("moments, Laplace noise", fourier, moved(1.25, 6.25), callers.seen, degree=2, noise="laplace", **box),
    ]  # fmt: skip


def people() -> list[Replay]:
    """All of them."""
    return [*columns(), *tables(), *fits()]
