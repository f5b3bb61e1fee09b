"""Densities, functions, machines, regressions and groups."""

from __future__ import annotations

from typing import Any

import numpy as np

from uptack.audit import callers
from uptack.audit.moving_neighbours.table_pairs import (
    DELTA,
    N,
    Pair,
    away,
    case,
    classed,
    clear,
    counted,
    far,
    gap,
    leverage,
    line,
    plane,
    removed,
    split,
)
from uptack.audit.neighbours import changed, two_values
from uptack.audit.replay import Replay
from uptack.kernels import FourierBasis, GaussianKernel
from uptack.privacy import ADD_REMOVE


def curves() -> list[Replay]:
    """Densities, functions, machines."""
    apart = np.r_[np.full(N - 1, 3.0), 0.5], np.r_[np.full(N - 1, 3.0), 8.5]
    poles = np.r_[np.full(N - 1, 3.0), 0.0], np.r_[np.full(N - 1, 3.0), 5.0]
    known: dict[str, Any] = {"delta": DELTA, "bandwidth": 0.5}
    box: dict[str, Any] = {"low": 0.0, "high": 10.0}
    outlier = changed(gap(400)[0], slice(0, 1), 500.0)
    x, (y, other) = np.zeros((40, 1)), two_values(40, 20, low=-1.0)
    basis = FourierBasis(0.05, 8, ((0.0, 10.0),))
    bumps: dict[str, Any] = {"kernel": GaussianKernel(0.5), "sensitivity": 2**0.5 / N, "norm": 1, "error": 1e-12}
    kde, fourier = "uptack.kde", "uptack.fourier_density"
    return [
        case("density", kde, apart, callers.seen, **known),
        case("density, add/remove", kde, removed(apart[::-1]), callers.seen, adjacency=ADD_REMOVE, **known),
        case("density, private bandwidth", kde, gap(400), callers.seen, delta=DELTA),
        case("moments, Gamma noise", fourier, poles, callers.seen, degree=1, **box),
        case("moments, Carathéodory noise", fourier, poles, callers.seen, degree=5, **box),
        case("moments, Laplace noise", fourier, _diagonal(), callers.seen, degree=2, noise="laplace", **box),
        case("moments, private box", fourier, outlier, callers.seen),
        case("kernel machine", "uptack.kernels.kernel_machine", ((x, y), (x, other)), callers.fitted,
              delta=DELTA, regularization=4, frequencies=8),
        case("function", "uptack.kernels.release_function", apart, callers.process, delta=DELTA, **bumps),
        case("spectral", "uptack.kernels.release_spectral", poles, _embedded, delta=DELTA, basis=basis),
    ]  # fmt: skip


def _diagonal() -> Pair:
    """A row that goes to where all real and imaginary parts are large: an eighth of a turn, and five."""
    return np.r_[np.full(N - 1, 3.0), 1.25], np.r_[np.full(N - 1, 3.0), 6.25]


def _embedded(function: Any, options: dict[str, Any], data: Any, entropy: Any) -> Any:
    basis = options["basis"]
    return callers.spectral(function, {**options, "sensitivity": basis.sensitivity(N), "error": 0}, data, entropy)


def regressions() -> list[Replay]:
    """Regressions and groups."""
    short, robust, linear = (f"uptack.{name}_regression" for name in ("shortcut", "hampel", "linear"))
    plain: dict[str, Any] = {"fit_intercept": False}
    x, by = np.tile([0.0, 1.0], N), np.repeat([0, 1], N)
    rest = np.delete(np.arange(2 * N), [0, N])  # a zero of each group: both medians jump
    groups: dict[str, Any] = {"rows_per_person": 2, "f": "uptack.median", "adjacency": ADD_REMOVE}
    people = (x, by), (x[rest], by[rest])
    return [
        case("short cut", short, split(), callers.two, block_fit="ols", blocks=N, **plain),
        case("short cut, huber", short, split(far=50.0), callers.two, blocks=60, **plain),
        case("short cut, round coordinates", short, leverage(), callers.two, epsilon=9, coordinates="scatter",
             block_fit="hampel"),
        case("short cut, standard errors", short, line(240), callers.two, blocks=120, standard_errors=True, **plain),
        case("short cut, add/remove", short, removed(line(240)), callers.two, adjacency=ADD_REMOVE, **plain),
        case("robust", robust, line(400), callers.two, delta=DELTA, **plain),
        case("robust, a clear fit", robust, clear(), callers.two, delta=DELTA, **plain),
        case("robust, one row far away", robust, far(), callers.two, delta=DELTA, **plain),
        case("robust, two lines", robust, split(), callers.two, delta=DELTA, **plain),
        case("linear", linear, leverage(), callers.two, epsilon=3),
        case("linear, 3 rows", linear, leverage(3), callers.two, epsilon=9, rows_per_person=3),
        case("linear, add/remove", linear, removed(leverage()), callers.two, epsilon=3, adjacency=ADD_REMOVE),
        case("logistic", "uptack.logistic_regression", classed(), callers.classes, epsilon=3),
        case("logistic, add/remove", "uptack.logistic_regression", removed(classed()), callers.classes, epsilon=3,
             adjacency=ADD_REMOVE),
        case("Poisson", "uptack.poisson_regression", counted(), callers.two, epsilon=3),
        case("Poisson, add/remove", "uptack.poisson_regression", removed(counted()), callers.two, epsilon=3,
             adjacency=ADD_REMOVE),
        case("quantile", "uptack.quantile_regression", leverage(), callers.two, epsilon=3, quantile=0.9),
        case("quantile, 3 rows", "uptack.quantile_regression", leverage(3), callers.two, epsilon=9, rows_per_person=3),
        case("scatter", "uptack.scatter", away(), epsilon=3),
        case("R_S", "uptack.papers.R_S", line(), callers.two, eps=5, delta=DELTA),
        case("R_H", "uptack.papers.R_H", plane(400), callers.two, eps=20, delta=DELTA),
        case("groups, 2 rows", "uptack.per_group", people, callers.group, groups=[0, 1], **groups),
        case("unknown groups", "uptack.per_group", people, callers.group, delta=DELTA, **groups),
    ]  # fmt: skip
