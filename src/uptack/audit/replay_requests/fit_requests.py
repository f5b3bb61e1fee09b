"""Densities, functions, machines and regressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from uptack.audit import callers
from uptack.audit.hostile_tables import ROWS
from uptack.audit.replay_request import Ask
from uptack.audit.replay_requests.request_options import (
    COUNTED,
    DELTA,
    EPSILON,
    LABELS,
    LOUD,
    MAY_REFUSE,
    SECRET,
    TESTED,
)
from uptack.kernels import FourierBasis, GaussianKernel, Kernel
from uptack.kernels.machine_minimisers import HuberPenalty
from uptack.privacy import ADD_REMOVE

KERNEL: Kernel = GaussianKernel(0.5)


def curves() -> list[Ask]:
    """Densities, functions, kernel machines."""
    return [*_densities(), *_machines(), *_functions()]


def _densities() -> list[Ask]:
    kde, fourier, known = "uptack.kde", "uptack.fourier_density", {**TESTED, "bandwidth": 0.5}
    box = {"epsilon": EPSILON, "low": 0.0, "high": 10.0}
    return [
        Ask(kde, "numbers", {**known, "points": [0.0, 1.0]}, callers.seen, basic=True),
        Ask(kde, "numbers", {**TESTED, "most_points": 10}, callers.seen, MAY_REFUSE),
        Ask(kde, "gaps", {**known, "missing": "drop"}, callers.seen, COUNTED),
        Ask(kde, "plane", {**known, "rows_per_person": 2}, callers.seen),
        Ask(kde, "any numbers", {**known, "adjacency": ADD_REMOVE, "missing": 0}, callers.seen, COUNTED),
        Ask(fourier, "numbers", {**box, "degree": 2}, callers.seen, basic=True),
        Ask(fourier, "numbers", {**box, "degree": 3, "noise": "caratheodory"}, callers.seen),
        Ask(fourier, "plane", {**box, "noise": "laplace", "rows_per_person": 2}, callers.seen, MAY_REFUSE),
        Ask(fourier, "gaps", {**box, "missing": "drop", "adjacency": ADD_REMOVE}, callers.seen, COUNTED),
        Ask(fourier, "numbers", {"epsilon": 4 * EPSILON}, callers.seen, MAY_REFUSE),
    ]


def _machines() -> list[Ask]:
    machine, labels = "uptack.kernels.kernel_machine", {**TESTED, "frequencies": 8, "regularization": 1}
    return [
        Ask(machine, "classes", {**labels, "bandwidth": 2.0}, callers.fitted, basic=True),
        Ask(machine, "classes", {**labels, "loss": "logistic", "kernel": KERNEL, "rows_per_person": 2}, callers.fitted),
        Ask(
            machine,
            "table",
            {**labels, "loss": HuberPenalty(2.0), "centre": 0, "scale": 3, "bandwidth": None},
            callers.fitted,
        ),
        Ask(machine, "table", {**labels, "loss": "insensitive", "adjacency": ADD_REMOVE}, callers.fitted, COUNTED),
        Ask(machine, "table with gaps", {**labels, "loss": "huber", "missing": "ignore"}, callers.fitted, COUNTED),
    ]


def _functions() -> list[Ask]:
    process, spectral = "uptack.kernels.release_function", "uptack.kernels.release_spectral"
    of_rows = {**TESTED, "kernel": KERNEL, "sensitivity": 0.1, "norm": 20}
    basis = {**TESTED, "basis": FourierBasis(0.1, 3, ((0.0, 10.0),)), "sensitivity": 0.1}
    return [
        Ask(process, "function", {**of_rows, "most_points": 9}, callers.process, basic=True),
        Ask(process, "function", {**of_rows, "error": 1e-9, "dimension": 1, "adjacency": ADD_REMOVE}, callers.process),
        Ask(spectral, "function", basis, callers.spectral, basic=True),
        Ask(spectral, "function", {**basis, "error": 1e-9, "adjacency": ADD_REMOVE}, callers.spectral),
    ]


SHORT, ROBUST, LINEAR, LOGISTIC, QUANTILE, POISSON = (
    f"uptack.{name}_regression" for name in ("shortcut", "hampel", "linear", "logistic", "quantile", "poisson")
)
PLAIN = {**LOUD, "fit_intercept": False}
ONE_ROW = {**PLAIN, "rows_per_person": 2}


def regressions() -> list[Ask]:
    """Regressions, and the estimators that fit by them."""
    two, louder = callers.two, {"epsilon": 10 * EPSILON}
    dropped = {**ONE_ROW, "missing": "drop"}
    seen = {**dropped, **louder}  # with less of ε it would be ⊥ before any row is read
    one_group = {"groups": ["a"], "groups_per_person": 1}  # refused, since a row is in one group
    unlisted = {"by": (["a"] * ROWS, [1] * ROWS), "groups": None, "delta": DELTA, "share": 0.2}
    return [
        *_by_blocks(),
        *(Ask(fit, "table", {**PLAIN, "by": ["a"] * ROWS, "groups": ["a"]}, two, COUNTED) for fit in (SHORT, LINEAR)),
        *(Ask(fit, "table", {**PLAIN, "by": ["a"] * ROWS, **one_group}, two) for fit in (SHORT, LINEAR)),
        *(Ask(fit, "table", {**PLAIN, **unlisted}, two, COUNTED | LABELS) for fit in (SHORT, LINEAR)),
        *_by_sums(LINEAR, two, LOUD, {**dropped, "standard_errors": True}, MAY_REFUSE),
        *_by_sums(LOGISTIC, callers.classes, LOUD, {**seen, "classes": (1, 0)}),
        *_by_sums(POISSON, two, louder, seen),
        *_by_sums(QUANTILE, two, LOUD, {**dropped, "quantile": 0.9}),
        Ask("uptack.scatter", "plane", LOUD, callers.one, MAY_REFUSE, basic=True),
        Ask("uptack.scatter", "plane", {**SECRET, "missing": "drop", "rows_per_person": 2}, callers.one, COUNTED),
        Ask(ROBUST, "table", {**PLAIN, "delta": DELTA}, two, MAY_REFUSE, basic=True),
        Ask(ROBUST, "table with gaps", {**ONE_ROW, "delta": DELTA, "missing": "ignore"}, two, MAY_REFUSE),
        Ask(ROBUST, "table", {**TESTED, "adjacency": ADD_REMOVE}, two, COUNTED),
    ]


def _by_blocks() -> list[Ask]:
    """The short cut."""
    two, tested = callers.two, {**PLAIN, "delta": DELTA}
    return [
        Ask(SHORT, "table", LOUD, two, basic=True),
        *(Ask(SHORT, "table", {**PLAIN, "block_fit": kind, "blocks": 30}, two) for kind in ("lad", "ols")),
        Ask(SHORT, "table", {**LOUD, "block_fit": "hampel", "coordinates": "scatter"}, two, MAY_REFUSE),
        Ask(SHORT, "table", {**PLAIN, "standard_errors": True, "progress": False}, two),
        Ask(SHORT, "table with gaps", {**ONE_ROW, "missing": "ignore"}, two),
        Ask(SHORT, "table", {**SECRET, "fit_intercept": False}, two, COUNTED),
        *(Ask(SHORT, "table", {**tested, "method": method}, two, MAY_REFUSE) for method in ("ptr", "dwork-lei")),
        Ask(SHORT, "table", {**PLAIN, "granularity": 1}, two),
    ]


def _by_sums(
    fit: str, data: Callable[..., Any], loud: Mapping[str, Any], gaps: Mapping[str, Any], may: frozenset[str] = COUNTED
) -> list[Ask]:
    """A regression by bounded sums, at so much of ε."""
    formula = {"formula": "y ~ log(x) + I(x ** 2)", "levels": {"z": [0, 1]}, "missing": "drop"}
    found = {"formula": "y ~ x + C(kind)", "missing": "drop", "delta": DELTA}
    return [
        Ask(fit, "table", loud, data, may, basic=True),
        Ask(fit, "table with gaps", gaps, data, may),
        Ask(fit, "table", {**SECRET, **loud, "binary": [0]}, data, COUNTED),
        Ask(fit, "table", {**loud, **formula}, callers.named, COUNTED),
        Ask(fit, "table", {**loud, **found}, callers.with_categories, COUNTED | LABELS),
    ]
