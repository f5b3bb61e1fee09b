"""Densities, functions, machines and regressions."""

from __future__ import annotations

from uptack.audit import makers
from uptack.audit.asked.told import COUNTED, DELTA, EPSILON, LABELS, LOUD, MAY_REFUSE, SECRET, TESTED
from uptack.audit.asks import Ask
from uptack.audit.corpus import ROWS
from uptack.kernels import FourierBasis, Gaussian, Kernel
from uptack.kernels.minimisers import Huber
from uptack.privacy import ADD_REMOVE


def curves() -> list[Ask]:
    """Densities, functions, kernel machines."""
    kde, fourier, machine = "uptack.kde", "uptack.fourier_density", "uptack.kernels.kernel_machine"
    known = {**TESTED, "bandwidth": 0.5}
    fast = {**TESTED, "frequencies": 8}
    labels = {**fast, "regularization": 1}
    box = {"epsilon": EPSILON, "low": 0.0, "high": 10.0}
    kernel: Kernel = Gaussian(0.5)
    of_rows = {**TESTED, "kernel": kernel, "sensitivity": 0.1, "norm": 20}
    basis = {**TESTED, "basis": FourierBasis(0.1, 3, ((0.0, 10.0),)), "sensitivity": 0.1}
    return [
        Ask(kde, "numbers", {**known, "points": [0.0, 1.0]}, makers.seen, basic=True),
        Ask(kde, "numbers", {**TESTED, "most_points": 10}, makers.seen, MAY_REFUSE),
        Ask(kde, "gaps", {**known, "missing": "drop"}, makers.seen, COUNTED),
        Ask(kde, "plane", {**known, "rows_per_person": 2}, makers.seen),
        Ask(kde, "any numbers", {**known, "adjacency": ADD_REMOVE, "missing": 0}, makers.seen, COUNTED),
        Ask(fourier, "numbers", {**box, "degree": 2}, makers.seen, basic=True),
        Ask(fourier, "numbers", {**box, "degree": 3, "noise": "caratheodory"}, makers.seen),
        Ask(fourier, "plane", {**box, "noise": "laplace", "rows_per_person": 2}, makers.seen, MAY_REFUSE),
        Ask(fourier, "gaps", {**box, "missing": "drop", "adjacency": ADD_REMOVE}, makers.seen, COUNTED),
        Ask(fourier, "numbers", {"epsilon": 4 * EPSILON}, makers.seen, MAY_REFUSE),
        Ask(machine, "classes", {**labels, "bandwidth": 2.0}, makers.fitted, basic=True),
        Ask(machine, "classes", {**labels, "loss": "logistic", "kernel": kernel, "rows_per_person": 2}, makers.fitted),
        Ask(
            machine, "table", {**labels, "loss": Huber(2.0), "centre": 0, "scale": 3, "bandwidth": None}, makers.fitted
        ),
        Ask(machine, "table", {**labels, "loss": "insensitive", "adjacency": ADD_REMOVE}, makers.fitted, COUNTED),
        Ask(machine, "table with gaps", {**labels, "loss": "huber", "missing": "ignore"}, makers.fitted, COUNTED),
        Ask("uptack.kernels.release_function", "function", {**of_rows, "most_points": 9}, makers.process, basic=True),
        Ask(
            "uptack.kernels.release_function",
            "function",
            {**of_rows, "error": 1e-9, "dimension": 1, "adjacency": ADD_REMOVE},
            makers.process,
        ),
        Ask("uptack.kernels.release_spectral", "function", basis, makers.spectral, basic=True),
        Ask(
            "uptack.kernels.release_spectral",
            "function",
            {**basis, "error": 1e-9, "adjacency": ADD_REMOVE},
            makers.spectral,
        ),
    ]


def regressions() -> list[Ask]:
    """Regressions, and the estimators that fit by them."""
    short, robust, linear = (f"uptack.{name}_regression" for name in ("shortcut", "hampel", "linear"))
    logistic, quantile, poisson = (f"uptack.{name}_regression" for name in ("logistic", "quantile", "poisson"))
    formula = {"formula": "y ~ log(x) + I(x ** 2)", "levels": {"z": [0, 1]}, "missing": "drop"}
    found = {"formula": "y ~ x + C(kind)", "missing": "drop", "delta": DELTA}
    two, plain = makers.two, {**LOUD, "fit_intercept": False}
    one_row, louder = {**plain, "rows_per_person": 2}, {"epsilon": 10 * EPSILON}
    dropped = {**one_row, **louder, "missing": "drop"}  # with less of ε it would be ⊥ before any row is read
    unlisted = {"by": (["a"] * ROWS, [1] * ROWS), "groups": None, "delta": DELTA, "share": 0.2}
    asks = [
        Ask(short, "table", LOUD, two, basic=True),
        *(Ask(short, "table", {**plain, "block_fit": kind, "blocks": 30}, two) for kind in ("lad", "ols")),
        Ask(short, "table", {**LOUD, "block_fit": "hampel", "coordinates": "scatter"}, two, MAY_REFUSE),
        Ask(short, "table", {**plain, "standard_errors": True, "progress": False}, two),
        Ask(short, "table with gaps", {**one_row, "missing": "ignore"}, two),
        Ask(short, "table", {**SECRET, "fit_intercept": False}, two, COUNTED),
        *(Ask(short, "table", {**plain, "delta": DELTA, "method": m}, two, MAY_REFUSE) for m in ("ptr", "dwork-lei")),
        Ask(short, "table", {**plain, "granularity": 1}, two),
        *(Ask(fit, "table", {**plain, "by": ["a"] * ROWS, "groups": ["a"]}, two, COUNTED) for fit in (short, linear)),
        *(Ask(fit, "table", {**plain, **unlisted}, two, COUNTED | LABELS) for fit in (short, linear)),
        Ask(linear, "table", LOUD, two, MAY_REFUSE, basic=True),
        Ask(linear, "table with gaps", {**one_row, "missing": "drop", "standard_errors": True}, two, MAY_REFUSE),
        Ask(linear, "table", {**SECRET, "binary": [0]}, two, COUNTED),
        Ask(linear, "table", {**LOUD, **formula}, makers.named, COUNTED),
        Ask(linear, "table", {**LOUD, **found}, makers.with_categories, COUNTED | LABELS),
        Ask(logistic, "table", LOUD, makers.classes, COUNTED, basic=True),
        Ask(logistic, "table with gaps", {**dropped, "classes": (1, 0)}, makers.classes, COUNTED),
        Ask(logistic, "table", {**SECRET, "binary": [0]}, makers.classes, COUNTED),
        Ask(logistic, "table", {**LOUD, **formula}, makers.named, COUNTED),
        Ask(logistic, "table", {**LOUD, **found}, makers.with_categories, COUNTED | LABELS),
        Ask(poisson, "table", louder, two, COUNTED, basic=True),
        Ask(poisson, "table with gaps", dropped, two, COUNTED),
        Ask(poisson, "table", {**SECRET, **louder, "binary": [0]}, two, COUNTED),
        Ask(poisson, "table", {**louder, **formula}, makers.named, COUNTED),
        Ask(poisson, "table", {**louder, **found}, makers.with_categories, COUNTED | LABELS),
        Ask(quantile, "table", LOUD, two, COUNTED, basic=True),
        Ask(quantile, "table with gaps", {**one_row, "missing": "drop", "quantile": 0.9}, two, COUNTED),
        Ask(quantile, "table", {**SECRET, "binary": [0]}, two, COUNTED),
        Ask(quantile, "table", {**LOUD, **formula}, makers.named, COUNTED),
        Ask(quantile, "table", {**LOUD, **found}, makers.with_categories, COUNTED | LABELS),
        Ask("uptack.scatter", "plane", LOUD, makers.one, MAY_REFUSE, basic=True),
        Ask("uptack.scatter", "plane", {**SECRET, "missing": "drop", "rows_per_person": 2}, makers.one, COUNTED),
        Ask(robust, "table", {**plain, "delta": DELTA}, two, MAY_REFUSE, basic=True),
        Ask(robust, "table with gaps", {**one_row, "delta": DELTA, "missing": "ignore"}, two, MAY_REFUSE),
        Ask(robust, "table", {**TESTED, "adjacency": ADD_REMOVE}, two, COUNTED),
    ]
    return asks
