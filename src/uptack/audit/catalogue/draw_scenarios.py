"""Scenarios whose mechanisms are also drawn, thousands of times: every kind of mechanism and every law of noise once.

At a small ε, so that a scale that is off by half shows with few draws.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from uptack.audit import calls, edge_tables
from uptack.audit.catalogue.edge_scenarios import edge
from uptack.audit.draws import DRAWS
from uptack.audit.neighbours import changed, two_values
from uptack.audit.scenario import Scenario
from uptack.discrete import minimax_count_mechanism, optimal_count_mechanism
from uptack.noise import LInfBall
from uptack.privacy import ADD_REMOVE

DELTA = 0.02
FEWER = 600
"""Draws of mechanisms that are slow."""


def draw_scenarios() -> list[Scenario]:
    """All of them. Their names begin with "drawn"."""
    one: dict[str, Any] = {"epsilon": 1, "draws": DRAWS}
    two: dict[str, Any] = {"epsilon": 2, "draws": DRAWS}
    slow: dict[str, Any] = {"epsilon": 2, "draws": FEWER}
    sized: dict[str, Any] = {"sensitivity": 1, **one}
    plane, corner, origin = [0.6, 0.8], [1.0, 1.0], [0.0, 0.0]
    replaced = np.diag([1.0, 0.0]), np.diag([0.0, 1.0])
    d, e = two_values(100, 50, low=7, high=8)
    whole = d.astype(np.int64), e.astype(np.int64)
    cells = np.repeat([3, 7], [6, 3]), np.repeat([3, 7], [5, 4])
    ptr: dict[str, Any] = {"method": "ptr", "delta": DELTA, **two}
    box: dict[str, Any] = {"low": -1.0, "high": 2.0, **slow}
    jump = two_values(30, 15)
    secret: dict[str, Any] = {"adjacency": ADD_REMOVE, "draws": DRAWS}
    made = [
        edge("count", "count", (5, 6), **one),
        edge("Laplace noise", "mechanisms.laplace", (0.0, 1.0), **sized),
        edge("Laplace noise at 1e15", "mechanisms.laplace", (1e15, 1e15 + 1), **sized),
        edge("Gaussian noise", "mechanisms.gaussian", (0.0, 1.0), sensitivity=1, delta=DELTA, **two),
        edge("Gamma noise", "mechanisms.gamma", (origin, plane), **sized),
        edge("Gamma noise of an ellipsoid", "mechanisms.gamma", (origin, [1.0, 0.0]),
             covariance=[[1.0, 0.5], [0.5, 1.0]], sensitivity=2, **one),
        edge("K-norm noise", "mechanisms.k_norm", (origin, corner), body=LInfBall(2), **sized),
        edge("matrix Laplace noise", "mechanisms.matrix_laplace", replaced, sensitivity=2, **two),
        edge("exponential mechanism", "mechanisms.exponential", ([3, 3, 0], [4, 2, 0]), calls.chosen, **sized),
        edge("noisy max", "mechanisms.report_noisy_max", ([3, 3, 0], [4, 2, 0]), calls.chosen, **sized),
        edge("median", "median", whole, **two),
        edge("vector of quantiles", "quantile", two_values(300, 120), p=[0.4, 0.6], granularity=1, **slow),
        edge("quantiles by a chain", "quantile", two_values(900, 450), p=[0.25, 0.5, 0.75], granularity=1, **slow),
        edge("mean", "mean", changed(np.arange(1000.0), slice(0, 1), 1e9), epsilon=4, draws=FEWER),
        edge("distribution", "ecdf", edge_tables.gap(400), epsilon=20, draws=200),
        edge("histogram", "histogram", (np.array([0.5, 0.5, 1.5]), np.array([0.5, 1.5, 1.5])), edges=[0.0, 1.0, 2.0],
             **one),
        edge("categories", "histogram", changed(np.zeros(12), slice(0, 1), 1.0), delta=DELTA, **one),
        edge("categories at the cutoff", "histogram", two_values(20, 8), delta=DELTA, **one),
        edge("sparse cells", "sparse_histogram", cells, domain_size=16, cutoff=4, **one),
        edge("sparse cells, adaptive", "sparse_histogram", cells, domain_size=16, rule="adaptive", **one),
        *(edge(f"{name} count", "discrete.CountMechanism.release", (4, 5), calls.tabled, mechanism=table(8, 1),
               **secret)
          for name, table in (("minimax", minimax_count_mechanism), ("optimal", optimal_count_mechanism))),
        edge("stable value", "release_if_stable", (("a", 3), ("a", 4)), delta=DELTA, **one),
        edge("unstable value", "release_if_stable", (("a", 0), ("b", 0)), delta=0.12, **two),
        edge("median, ptr", "median", two_values(160, 144), **ptr),
        edge("spread, ptr", "iqr", two_values(160, 126), **ptr),
        edge("TM", "papers.TM", edge_tables.gap(), calls.sized, eps=1, delta=DELTA, alpha=0.2, kappa=None, draws=FEWER),
        edge("moments, Gamma noise", "fourier_density", jump, degree=1, **box),
        edge("moments, Carathéodory noise", "fourier_density", jump, degree=4, **box),
        edge("moments, Laplace noise", "fourier_density", jump, degree=1, noise="laplace", **box),
    ]  # fmt: skip
    return [Scenario(f"drawn: {s.name}", s.call, s.pairs, s.may, s.function, s.options, s.draws) for s in made]
