"""Every public release function, with each of its options at least once.

To cover a new function or option add a line; `uptack.audit.coverage` says what is not covered.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from uptack.audit import makers
from uptack.audit.asks import Ask
from uptack.audit.corpus import ROWS
from uptack.audit.people import PEOPLES, of_people
from uptack.audit.sessions import session_asks
from uptack.discrete import Domain, minimax_count_mechanism
from uptack.kernels import FourierBasis, Gaussian, Kernel
from uptack.kernels.minimisers import Huber
from uptack.noise import LInfBall
from uptack.privacy import ADD_REMOVE
from uptack.registry import Declaration, declared
from uptack.registry.reads import COLUMN, LABELLED

EPSILON, DELTA = 20, 0.01
LOUD = {"epsilon": EPSILON}
SECRET = {**LOUD, "adjacency": ADD_REMOVE}
TESTED = {**LOUD, "delta": DELTA}

MAY_REFUSE = frozenset({"⊥"})
COUNTED = frozenset({"⊥", "stamps"})
"""Where the number of rows is secret, ⊥ and what it advises follow from a released one. The same goes for how many
rounds a regression takes, and so for what it spends on each."""
LABELS = frozenset({"labels", "type"})


def statistic(declaration: Declaration, needed: Mapping[str, Any]) -> list[Ask]:
    """The options that statistics of one column have, with one of the examples of its declaration."""
    path, base = declaration.path, {**needed, **LOUD}
    asks = [
        Ask(path, "numbers", base, basic=True),
        Ask(path, "gaps", {**base, "missing": "drop"}, free=COUNTED, basic=True),
        *(Ask(path, "gaps", {**base, "missing": how}) for how in ("low", "high", 0)),
        Ask(path, "numbers", {**base, "rows_per_person": 2}),
        Ask(path, "any numbers", {**needed, **SECRET, "missing": "drop"}, free=COUNTED),
        Ask(path, "by group", {**base, "groups": [1, "a"]}, makers.by, COUNTED | LABELS),
        Ask(path, "by group", {**base, "delta": DELTA, "groups": None}, makers.by, COUNTED | LABELS),
    ]
    if "share" in declaration.allowed:
        more = {**base, "delta": DELTA, "groups": None, "share": 0.5}
        asks += [Ask(path, "by group", more, makers.by, COUNTED | LABELS)]
    if "granularity" in declaration.allowed:
        asks += [
            Ask(path, "numbers", {**base, "granularity": 1}),
            Ask(path, "any numbers", {**base, "granularity": "0.01", "missing": "low"}),
        ]
    if "plausible" in declaration.allowed:
        asks += [Ask(path, "any numbers", {**base, "plausible": (-1, 10**6), "missing": "low"})]
    ways = ("ptr", "dwork-lei") if "method" in declaration.allowed and "interval" not in needed else ()
    asks += [Ask(path, "numbers", {**base, "delta": DELTA, "method": way}, free=MAY_REFUSE) for way in ways]
    return asks


def statistics() -> list[Ask]:
    """Whatever the registry has of one column that can be asked by group: order statistics and means."""
    columns = [one for one in declared().values() if one.reads is COLUMN and one.by]
    asks = [ask for one in columns for example in one.examples for ask in statistic(one, example)]
    ecdf, may, between = "uptack.ecdf", COUNTED, {**LOUD, "p": 0.5, "around": 3}
    return [
        *asks,
        Ask("uptack.quantile_interval", "numbers", {**between, "confidence": 0.9, "delta": DELTA}, free=may),
        Ask("uptack.quantile_interval", "gaps", {**between, "missing": "drop", "rows_per_person": 2}, free=may),
        Ask("uptack.quantile_interval", "any numbers", {**between, **SECRET, "missing": "low"}, free=may),
        Ask(ecdf, "numbers", {**LOUD, "knots": 3}, free=may, basic=True),
        Ask(ecdf, "gaps", {**LOUD, "missing": "drop", "rows_per_person": 2}, free=may),
        Ask(ecdf, "any numbers", {**SECRET, "missing": "low", "granularity": 1, "delta": DELTA}, free=may),
        Ask(
            "uptack.per_group",
            "by group",
            {**LOUD, "f": "uptack.median", "groups": [1]},
            makers.group,
            COUNTED | LABELS,
        ),
        Ask(
            "uptack.per_group",
            "by group",
            {"f": "uptack.median", **TESTED, "share": 0.5, "rows_per_person": 2, "adjacency": ADD_REMOVE, "missing": 0},
            makers.group,
            COUNTED | LABELS,
        ),
    ]


def counts() -> list[Ask]:
    """Counts, histograms, tables."""
    histogram, sparse, domain = "uptack.histogram", "uptack.sparse_histogram", Domain({"a": [1, "a"], "b": [1, "a"]})
    keyed = {**LOUD, "keys": [1, "a"]}
    margin = {**LOUD, "domain": domain}
    return [
        Ask("uptack.count", "flags", LOUD, basic=True),
        Ask("uptack.count", "flags", {**SECRET, "nonnegative": True, "rows_per_person": 2}),
        Ask(histogram, "any numbers", {**LOUD, "edges": [0, 3, 5]}, basic=True),
        Ask(
            histogram, "any numbers", {**LOUD, "edges": [0, 3], "outside": "clamp", "total": True, "nonnegative": True}
        ),
        Ask(histogram, "labels", {**keyed, "rows_per_person": 2}, basic=True),
        Ask(histogram, "labels", {**SECRET, "keys": [1, "a"]}),
        Ask(histogram, "labels", TESTED, free=LABELS, basic=True),
        Ask(sparse, "integers", {**LOUD, "domain_size": 9}, free=LABELS, basic=True),
        Ask(sparse, "integers", {**SECRET, "domain_size": 9, "rule": "adaptive", "rows_per_person": 2}, free=LABELS),
        Ask(sparse, "integers", {**LOUD, "domain_size": 9, "cutoff": 3}, free=LABELS),
        Ask("uptack.margins", "columns", margin, basic=True),
        Ask("uptack.margins", "columns", {**margin, "which": [("a", "b")], "through": "direct", "total": True}),
        Ask("uptack.margins", "columns", {**margin, "through": "sparse", "rows_per_person": 2}),
        Ask("uptack.margins", "columns", {**margin, **SECRET, "through": "table"}),
        Ask(
            "uptack.discrete.CountMechanism.release",
            "integers",
            {"mechanism": minimax_count_mechanism(8, 1), "adjacency": ADD_REMOVE},
            makers.tabled,
        ),
    ]


def mechanisms() -> list[Ask]:
    """Noise, choices, stable values."""
    sized, body = {**LOUD, "sensitivity": 1}, LInfBall(2)
    asks = [
        Ask(f"uptack.mechanisms.{name}", data, {**sized, **more}, basic=True)
        for name, data, more in (
            ("laplace", "number", {}),
            ("laplace", "vector", {"granularity": 1, "adjacency": ADD_REMOVE}),
            ("gaussian", "number", {"delta": DELTA}),
            ("gaussian", "vector", {"delta": DELTA, "granularity": 1, "adjacency": ADD_REMOVE}),
            ("gamma", "vector", {"adjacency": ADD_REMOVE}),
            ("gamma", "vector", {"covariance": [[2.0, 1.0], [1.0, 2.0]]}),
            ("k_norm", "vector", {"body": body, "adjacency": ADD_REMOVE}),
            ("matrix_laplace", "square", {"adjacency": ADD_REMOVE}),
        )
    ]
    for asked in asks:
        object.__setattr__(asked, "make", makers.value)
    for name in ("exponential", "report_noisy_max"):
        more = {"monotone": True, "adjacency": ADD_REMOVE}
        asks += [Ask(f"uptack.mechanisms.{name}", "scores", {**sized, **m}, makers.chosen) for m in ({}, more)]
    stable = {**TESTED, "sensitivity": 2, "adjacency": ADD_REMOVE}
    asks += [Ask("uptack.release_if_stable", "distance", o, makers.two, MAY_REFUSE) for o in (TESTED, stable)]
    return asks


def blocks() -> list[Ask]:
    """Functions of blocks."""
    path, stable = "uptack.subsample_aggregate", "uptack.stable_value"
    here = {"trusted": True}  # a process for every block takes long; those without are a few
    first: dict[str, Any] = {**LOUD, "f": makers.number}
    vote = {**LOUD, **here, "f": makers.outcome, "aggregate": "mode", "fallback": None}
    several = {**first, **here, "blocks": 60, "aggregate": "vector_median", "fallback": [0.0, 0.0], "f": makers.pair}
    mode = {**TESTED, "f": makers.outcome}
    types = MAY_REFUSE | LABELS
    return [
        Ask(path, "blocks", {**first, **here, "blocks": 60, "times": 2}, makers.blocks, basic=True),
        Ask(path, "blocks", {**first, "blocks": 40, "rows_per_person": 2, "progress": False}, makers.blocks),
        Ask(path, "blocks", {**SECRET, **here, "f": makers.number, "blocks": 60}, makers.blocks),
        Ask(path, "blocks", several, makers.blocks),
        Ask(path, "blocks", {**vote, "blocks": 30, "candidates": [1, "a"]}, makers.blocks, types),
        Ask(path, "blocks", {**vote, "blocks": 30, "delta": DELTA}, makers.blocks, types),
        Ask(stable, "blocks", {**mode, **here, "blocks": 20, "fallback": "none"}, makers.blocks, types, basic=True),
        Ask(stable, "blocks", {**mode, "rows_per_person": 2, "progress": False}, makers.blocks, types),
        Ask(stable, "blocks", {**mode, **SECRET, **here, "timeout": 60}, makers.blocks, types),
        Ask(stable, "numbers", {**mode, "blocks": 4, "workers": 2}, makers.blocks, types),
        Ask(path, "numbers", {**first, "blocks": 40, "workers": 2, "timeout": 60}, makers.blocks, types),
    ]


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
    logistic, quantile = (f"uptack.{name}_regression" for name in ("logistic", "quantile"))
    formula = {"formula": "y ~ log(x) + I(x ** 2)", "levels": {"z": [0, 1]}, "missing": "drop"}
    two, plain = makers.two, {**LOUD, "fit_intercept": False}
    one_row = {**plain, "rows_per_person": 2}
    asks = [
        Ask(short, "table", LOUD, two, basic=True),
        *(Ask(short, "table", {**plain, "block_fit": kind, "blocks": 30}, two) for kind in ("lad", "ols")),
        Ask(short, "table", {**plain, "standard_errors": True, "progress": False}, two),
        Ask(short, "table with gaps", {**one_row, "missing": "ignore"}, two),
        Ask(short, "table", {**SECRET, "fit_intercept": False}, two, COUNTED),
        *(Ask(short, "table", {**plain, "delta": DELTA, "method": m}, two, MAY_REFUSE) for m in ("ptr", "dwork-lei")),
        Ask(short, "table", {**plain, "granularity": 1}, two),
        Ask(short, "table", {**plain, "by": ["a"] * ROWS, "groups": ["a"]}, two, COUNTED),
        Ask(linear, "table", LOUD, two, MAY_REFUSE, basic=True),
        Ask(linear, "table with gaps", {**one_row, "missing": "drop", "standard_errors": True}, two, MAY_REFUSE),
        Ask(linear, "table", {**SECRET, "binary": [0]}, two, COUNTED),
        Ask(linear, "table", {**LOUD, **formula}, makers.named, COUNTED),
        Ask(logistic, "table", LOUD, makers.classes, COUNTED, basic=True),
        Ask(logistic, "table with gaps", {**one_row, "missing": "drop", "classes": (1, 0)}, makers.classes, COUNTED),
        Ask(logistic, "table", {**SECRET, "binary": [0]}, makers.classes, COUNTED),
        Ask(logistic, "table", {**LOUD, **formula}, makers.named, COUNTED),
        Ask(quantile, "table", LOUD, two, COUNTED, basic=True),
        Ask(quantile, "table with gaps", {**one_row, "missing": "drop", "quantile": 0.9}, two, COUNTED),
        Ask(quantile, "table", {**SECRET, "binary": [0]}, two, COUNTED),
        Ask(quantile, "table", {**LOUD, **formula}, makers.named, COUNTED),
        Ask("uptack.scatter", "plane", LOUD, makers.one, MAY_REFUSE, basic=True),
        Ask("uptack.scatter", "plane", {**SECRET, "missing": "drop", "rows_per_person": 2}, makers.one, COUNTED),
        Ask(robust, "table", {**plain, "delta": DELTA}, two, MAY_REFUSE, basic=True),
        Ask(robust, "table with gaps", {**one_row, "delta": DELTA, "missing": "ignore"}, two, MAY_REFUSE),
        Ask(robust, "table", {**TESTED, "adjacency": ADD_REMOVE}, two, COUNTED),
    ]
    return asks


def ranks() -> list[Ask]:
    """Rank statistics of two columns, and contrasts of two groups."""
    two = makers.side_by_side
    asks = []
    for name in ("kendall_tau", "correlation"):
        path = f"uptack.{name}"
        asks += [
            Ask(path, "table", {**LOUD, "delta": 0}, two, basic=True),
            Ask(path, "table with gaps", {**LOUD, "missing": "ignore", "rows_per_person": 2}, two, COUNTED),
            Ask(path, "table", SECRET, two, COUNTED),
        ]
    matrix, signed = "uptack.correlation_matrix", "uptack.signed_rank"
    asks += [
        Ask(matrix, "plane", {**LOUD, "delta": 0}, basic=True),
        Ask(matrix, "plane", {**LOUD, "missing": "ignore", "rows_per_person": 2}, free=COUNTED),
        Ask(matrix, "plane", SECRET, free=COUNTED),
        Ask(signed, "numbers", {**LOUD, "delta": 0, "alternative": "less"}, basic=True),
        Ask(signed, "gaps", {**LOUD, "missing": "ignore", "rows_per_person": 2}, free=COUNTED),
        Ask(signed, "numbers", SECRET, free=COUNTED),
    ]
    for declaration in declared().values():
        if declaration.reads is LABELLED:
            asks += [ask for example in declaration.examples for ask in labelled(declaration, example)]
    return asks


def labelled(declaration: Declaration, needed: Mapping[str, Any]) -> list[Ask]:
    """The options that functions of labelled rows have, with one of the examples of its declaration."""
    path, base, two = declaration.path, {**needed, **LOUD}, makers.side_by_side
    asks = [
        Ask(path, "groups", {**base, "delta": 0}, two, COUNTED, basic=True),
        Ask(path, "values of groups", {**base, "public_labels": True}, two, COUNTED),
        Ask(path, "groups with gaps", {**base, "missing": "ignore", "rows_per_person": 2}, two, COUNTED),
        Ask(path, "groups", {**needed, **SECRET}, two, COUNTED),
    ]
    if "granularity" in declaration.allowed:
        asks += [Ask(path, "groups", {**base, "granularity": 1}, two, COUNTED)]
    return asks


def papers() -> list[Ask]:
    """The papers' own algorithms, and random differential privacy."""
    printed: dict[str, Any] = {"eps": 5, "delta": DELTA}
    mean = {"alpha": 0.2, "kappa": 0.3}
    sized, may = makers.sized, MAY_REFUSE
    labels = may | LABELS
    mode = {"g": "mode", **printed}
    far = {"g": makers.number, "distance": makers.distance, **printed}
    samp = {"f": makers.outcome, "eps": 300, "delta": 0.1}
    half = {"epsilon": 2, "gamma": 0.3}
    return [
        *(Ask(f"uptack.papers.{name}", "numbers", printed, sized, may, basic=True) for name in ("S", "M")),
        Ask("uptack.papers.M", "any numbers", {**printed, "s": 1}, sized, may),
        Ask("uptack.papers.TM", "any numbers", {**printed, **mean}, sized, may, basic=True),
        Ask("uptack.papers.Scale", "any numbers", printed, free=may, basic=True),
        *(Ask(f"uptack.papers.{name}", "table", printed, makers.two, may, basic=True) for name in ("R_S", "R_H")),
        Ask("uptack.papers.A_dist", "labels", mode, makers.blocks, labels, basic=True),
        Ask("uptack.papers.A_dist", "numbers", {**printed, "g": "median"}, makers.blocks, labels),
        Ask("uptack.papers.A_dist", "numbers", far, makers.blocks, labels),
        Ask("uptack.papers.A_samp", "labels", {**samp, "limit": None, "fallback": "none"}, makers.blocks, labels),
        Ask("uptack.papers.A_samp", "labels", {**samp, "dry_run": True, "progress": False}, makers.blocks, labels),
        Ask(
            "uptack.papers.A_samp",
            "numbers",
            {**samp, "limit": 10, "workers": 2, "trusted": True, "timeout": 60},
            makers.blocks,
            labels,
        ),
        Ask("uptack.random_dp.binomial_proportion", "proportion", half),
        *(
            Ask("uptack.random_dp.random_sparse_histogram", "integers", {**half, "version": v}, makers.tally)
            for v in ("rare", "empty")
        ),
        Ask("uptack.random_dp.sensitivity_analysis", "function", {**half, "fallback": 1.0}, makers.analysed, may),
    ]


def people() -> list[Ask]:
    """Whatever is proved for people, with the ids of its rows."""
    made = [one for one in declared().values() if one.people and one.people != "stated" and one.reads is COLUMN]
    asks = [ask for one in made for ask in _statistic_of_people(one)]
    histogram, domain = "uptack.histogram", Domain({"a": [1, "a"], "b": [1, "a"]})
    ways: list[dict[str, Any]] = [{}, {"weights": "one"}, {"weights": "rows", "at_most": 2}]
    here, louder = {"trusted": True}, {"epsilon": 5 * EPSILON}
    short, linear = "uptack.shortcut_regression", "uptack.linear_regression"
    known, boxed = {**TESTED, "bandwidth": 0.5}, {**LOUD, "low": 0.0, "high": 10.0}
    return [
        *asks,
        *(_of_people("uptack.count", "flags", {**LOUD, **ways[i]}) for i in (0, 2)),
        _of_people("uptack.count", "flags", SECRET),
        *(_of_people(histogram, "any numbers", {**LOUD, "edges": [0, 3, 5], **way}) for way in ways),
        *(_of_people(histogram, "labels", {**LOUD, "keys": [1, "a"], **way}) for way in ways),
        *(_of_people(histogram, "labels", {**TESTED, **way}, free=LABELS) for way in ways),
        _of_people(histogram, "labels", {**TESTED, **SECRET}, free=LABELS),
        *(
            _of_people("uptack.sparse_histogram", "integers", {**LOUD, "domain_size": 9, **way}, free=LABELS)
            for way in ways
        ),
        *(_of_people("uptack.margins", "columns", {**LOUD, "domain": domain, **way}) for way in ways),
        _of_people("uptack.margins", "columns", {**LOUD, "domain": domain, "through": "direct"}),
        _of_people(
            "uptack.per_group", "by group", {**LOUD, "f": "uptack.median", "groups": [1]}, makers.group,
            COUNTED | LABELS,
        ),
        *(
            _of_people(
                "uptack.subsample_aggregate", "blocks", {**LOUD, **here, "f": makers.number, "blocks": 40, **more},
                makers.blocks,
            )
            for more in ({}, {"times": 2}, {"adjacency": ADD_REMOVE})
        ),
        _of_people(
            "uptack.stable_value", "blocks", {**TESTED, **here, "f": makers.outcome, "blocks": 20}, makers.blocks,
            MAY_REFUSE | LABELS,
        ),
        _of_people(short, "table", {**LOUD, "fit_intercept": False}, makers.two),
        _of_people(short, "table", {**louder, "standard_errors": True, "fit_intercept": False}, makers.two, MAY_REFUSE),
        _of_people(short, "table with gaps", {**louder, "missing": "ignore"}, makers.two, COUNTED),
        _of_people(linear, "table", louder, makers.two, MAY_REFUSE),
        _of_people(
            linear, "table with gaps", {**SECRET, **louder, "missing": "drop", "binary": [0]}, makers.two, COUNTED
        ),
        _of_people("uptack.logistic_regression", "table", louder, makers.classes, COUNTED),
        _of_people("uptack.quantile_regression", "table with gaps", {**louder, "missing": "drop"}, makers.two, COUNTED),
        _of_people("uptack.scatter", "plane", louder, free=MAY_REFUSE),
        _of_people("uptack.scatter", "plane", {**SECRET, **louder, "missing": "drop"}, free=COUNTED),
        _of_people("uptack.kde", "any numbers", {**known, "missing": "drop"}, makers.seen, COUNTED),
        _of_people("uptack.kde", "plane", known, makers.seen, MAY_REFUSE),
        _of_people("uptack.fourier_density", "numbers", boxed, makers.seen, MAY_REFUSE),
        _of_people("uptack.fourier_density", "plane", {**boxed, "degree": 1}, makers.seen, MAY_REFUSE),
    ]  # fmt: skip


def _of_people(
    path: str, data: str, options: Mapping[str, Any], make: Any = makers.one, free: frozenset[str] = frozenset()
) -> Ask:
    return Ask(path, f"{PEOPLES}{data}", options, of_people(make), free)


def _statistic_of_people(declaration: Declaration) -> list[Ask]:
    """A statistic of one column: people who weigh alike, rows up to a number, one number per person, groups."""
    few = 5 if declaration.name == "mean" else 1  # it has no answer for as few people as there are
    path, base = declaration.path, {**declaration.examples[0], "epsilon": few * EPSILON}
    last = {**base, "per_person": "last", "order": None}
    asks = [
        _of_people(path, "numbers", {**base, "per_person": "mean"}, free=MAY_REFUSE),
        _of_people(path, "gaps", {**last, "missing": "drop"}, free=COUNTED),
    ]
    if declaration.people == "each":
        return asks
    asks += [
        _of_people(path, "numbers", base, free=MAY_REFUSE),
        _of_people(path, "any numbers", {**base, "adjacency": ADD_REMOVE, "missing": "drop"}, free=COUNTED),
        _of_people(path, "numbers", {**base, "weights": "rows", "at_most": 2}, free=COUNTED),
    ]
    if declaration.by:
        asks += [_of_people(path, "by group", {**base, "groups": [1, "a"]}, makers.by, COUNTED | LABELS)]
    return asks


@cache
def asks() -> tuple[Ask, ...]:
    """All of them; sessions ask the same through a source."""
    fits = [*curves(), *regressions(), *ranks()]
    direct = [*statistics(), *counts(), *mechanisms(), *blocks(), *fits, *papers(), *people()]
    return (*direct, *session_asks(direct))
