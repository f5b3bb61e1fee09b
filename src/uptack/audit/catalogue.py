"""One catalogue of scenarios: every release function with its options, on neighbours.

A declared function is in it by its declaration (`declared_scenarios`). Scenarios that move a mechanism as far as its
theorem allows are in `edge_scenarios`. Here are those that a declaration can't say enough for: functions of values, of
blocks and of users' functions, and what is asked of a session or of a report in whole. What no scenario covers is named
by `uncovered`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, partial
from typing import Any

from uptack.audit import calls
from uptack.audit.calls import MEAN, MEDIAN, report_call, session_call
from uptack.audit.declared_scenarios import (
    DELTA,
    EPSILON,
    FEW,
    REFUSED,
    declared_scenarios,
    on,
    option_text,
    some_pairs,
)
from uptack.audit.edge_scenarios import edge_scenarios
from uptack.audit.scenario import COUNTED, LABELS, MAY_REFUSE, Scenario
from uptack.discrete import Domain, minimax_count_mechanism
from uptack.kernels import FourierBasis, GaussianKernel
from uptack.kernels.machine_minimisers import HuberPenalty
from uptack.noise import LInfBall
from uptack.privacy import ADD_REMOVE
from uptack.registry import Declaration, declared
from uptack.report.section import registered_sections

DELTAS: dict[str, Any] = {"delta": DELTA}
SECRET: dict[str, Any] = {"adjacency": ADD_REMOVE}
TRUSTED: dict[str, Any] = {"trusted": True}
TYPES = MAY_REFUSE | LABELS
NONE: dict[str, Any] = {}


@cache
def catalogue() -> dict[str, Scenario]:
    """All scenarios by name."""
    every = (edge_scenarios(), declared_scenarios(), _values(), _rows(), _papers(), _sessions(), _reports())
    return {one.name: one for part in every for one in part}


def _each(
    path: str, kind: str, base: Any, *more: Any, may: frozenset[str] = frozenset(), people: bool = False
) -> Iterator[Scenario]:
    """A function on neighbours of a kind, with each of some options. A process for every block takes long."""
    for options in more or (NONE,):
        options = {**({} if {"eps", "gamma", "mechanism"} & set(base) else {"epsilon": EPSILON}), **base, **options}
        few = 2 if "f" in options and not options.get("trusted") else 2 * FEW
        yield on(f"uptack.{path}", kind, options, may, people, few)


def _values() -> Iterator[Scenario]:
    """Noise, choices, tables of probabilities, and functions that are released."""
    sized, step = {"sensitivity": 1}, {"granularity": 1, **SECRET}
    noisy = {**sized, **DELTAS}
    bumps = {**DELTAS, "kernel": GaussianKernel(0.5), "sensitivity": 0.1, "norm": 20}
    basis = {**DELTAS, "basis": FourierBasis(0.1, 3, ((0.0, 10.0),)), "sensitivity": 0.1}
    fixed = {"error": 1e-9, **SECRET}
    yield from _each("mechanisms.laplace", "number", sized)
    yield from _each("mechanisms.laplace", "vector", sized, step)
    yield from _each("mechanisms.gaussian", "number", noisy)
    yield from _each("mechanisms.gaussian", "vector", noisy, step)
    yield from _each("mechanisms.gamma", "vector", sized, SECRET, {"covariance": [[2.0, 1.0], [1.0, 2.0]]})
    yield from _each("mechanisms.k_norm", "vector", sized, {"body": LInfBall(2), **SECRET})
    yield from _each("mechanisms.matrix_laplace", "square", sized, SECRET)
    for name in ("exponential", "report_noisy_max"):
        yield from _each(f"mechanisms.{name}", "scores", sized, NONE, {"monotone": True, **SECRET})
    yield from _each("release_if_stable", "distance", DELTAS, NONE, {"sensitivity": 2, **SECRET}, may=MAY_REFUSE)
    yield from _each(
        "discrete.CountMechanism.release", "integers", {"mechanism": minimax_count_mechanism(8, 1)}, SECRET
    )
    yield from _each("kernels.release_function", "function", bumps, {"most_points": 9}, {"dimension": 1, **fixed})
    yield from _each("kernels.release_spectral", "function", basis, NONE, fixed)


def _rows() -> Iterator[Scenario]:
    """Functions of rows that read their data themselves: tables of counts, groups, blocks, machines."""
    ways: tuple[Any, ...] = (NONE, *({"weights": way, "at_most": 2} for way in ("any", "rows")))
    sparse, margin = {"domain_size": 9}, {"domain": Domain({"a": [1, "a"], "b": [1, "a"]})}
    adaptive = {"rule": "adaptive", "rows_per_person": 2, **SECRET}
    direct = {"which": [("a", "b")], "through": "direct", "total": True}
    yield from _each("sparse_histogram", "integers", sparse, NONE, adaptive, {"cutoff": 3}, may=LABELS)
    yield from _each("sparse_histogram", "integers", sparse, *ways, may=LABELS, people=True)
    yield from _each("margins", "columns", margin, NONE, direct, {"through": "sparse", "rows_per_person": 2})
    yield from _each("margins", "columns", margin, {"through": "table", **SECRET})
    yield from _each("margins", "columns", margin, *ways, people=True)

    known, may = {"f": "uptack.median", "groups": [1]}, COUNTED | LABELS
    unknown = {"f": "uptack.median", **DELTAS, **SECRET}
    yield from _each("per_group", "by group", known, may=may)
    yield from _each("per_group", "by group", unknown, {"share": 0.5, "rows_per_person": 2}, may=may)
    yield from _each("per_group", "by group", known, NONE, {"groups_per_person": 1}, may=may, people=True)
    yield from _each("per_group", "containers by group", unknown, {"groups": None}, may=may)

    # most functions of blocks are trusted, which needs no processes
    path, first = "subsample_aggregate", {"f": calls.number}
    vote = {**TRUSTED, "f": calls.outcome, "aggregate": "mode", "fallback": None, "blocks": 30}
    several = {**TRUSTED, "f": calls.pair, "aggregate": "vector_median", "fallback": [0.0, 0.0], "blocks": 60}
    here = {**first, **TRUSTED, "blocks": 60}
    yield from _each(path, "blocks", here, {"times": 2}, SECRET)
    yield from _each(path, "blocks", first, {"blocks": 40, "rows_per_person": 2, "progress": False})
    yield from _each(path, "blocks", several)
    yield from _each(path, "blocks", vote, {"candidates": [1, "a"]}, DELTAS, may=TYPES)
    yield from _each(path, "numbers", first, {"blocks": 40, "workers": 2, "timeout": 60}, may=TYPES)
    yield from _each(path, "blocks", {**here, "blocks": 40}, NONE, {"times": 2}, SECRET, people=True)
    mode = {**DELTAS, "f": calls.outcome}
    sure: tuple[Any, ...] = ({"blocks": 20, "fallback": "none"}, {"timeout": 60, **SECRET})
    yield from _each("stable_value", "blocks", {**mode, **TRUSTED}, *sure, may=TYPES)
    yield from _each("stable_value", "blocks", mode, {"rows_per_person": 2, "progress": False}, may=TYPES)
    yield from _each("stable_value", "numbers", mode, {"blocks": 4, "workers": 2}, may=TYPES)
    yield from _each("stable_value", "blocks", {**mode, **TRUSTED}, {"blocks": 20}, may=TYPES, people=True)

    machine = {**DELTAS, "kernel": GaussianKernel(0.5), "loss": "logistic"}
    yield from _each("kernels.kernel_machine", "classes", machine)
    huber = {**DELTAS, "loss": HuberPenalty(2.0), "bandwidth": None}
    yield from _each("kernels.kernel_machine", "table", huber, may=COUNTED)


def _papers() -> Iterator[Scenario]:
    """The papers' own algorithms, and random differential privacy."""
    printed, half = {"eps": 5, "delta": DELTA}, {"epsilon": 2, "gamma": 0.3}
    samp = {"f": calls.outcome, "eps": 300, "delta": 0.1}
    limited = {"limit": 10, "workers": 2, "trusted": True, "timeout": 60}
    own = {"g": calls.number, "distance": calls.distance}
    for name in ("S", "M"):
        yield from _each(f"papers.{name}", "numbers", printed, may=MAY_REFUSE)
    for name, options in {"M": {"s": 1, "n": None}, "TM": {"alpha": 0.2, "kappa": 0.3}, "Scale": NONE}.items():
        yield from _each(f"papers.{name}", "any numbers", printed, options, may=MAY_REFUSE)
    for name in ("R_S", "R_H"):
        yield from _each(f"papers.{name}", "table", printed, may=MAY_REFUSE)
    yield from _each("papers.A_dist", "labels", printed, {"g": "mode"}, may=TYPES)
    yield from _each("papers.A_dist", "numbers", printed, {"g": "median"}, own, may=TYPES)
    ways = {"limit": None, "fallback": "none"}, {"dry_run": True, "progress": False}
    yield from _each("papers.A_samp", "labels", samp, *ways, may=TYPES)
    yield from _each("papers.A_samp", "numbers", samp, limited, may=TYPES)
    yield from _each("random_dp.binomial_proportion", "proportion", half)
    yield from _each("random_dp.random_sparse_histogram", "integers", half, {"version": "rare"}, {"version": "empty"})
    yield from _each("random_dp.sensitivity_analysis", "function", half, {"fallback": 1.0}, may=MAY_REFUSE)


def _sessions() -> Iterator[Scenario]:
    """What is asked of a session itself, and how one is opened."""

    def ask(path: str, question: Any, how: dict[str, Any], where: Any = None) -> Scenario:
        """A question to a session that is opened with such options."""
        path = f"uptack.session.{path}"
        pairs = partial(some_pairs, path, "any numbers", how.get("adjacency") is ADD_REMOVE, "person" in how, 2 * FEW)
        call = session_call(question, where, **how)
        return Scenario(f"{path}({option_text(how)})", call, pairs, COUNTED, path, how)

    person = {"person": "id"}
    secret = {"analyst": "ann", "rows_per_person": 2, "missing": "low", "table": None, **SECRET}
    ways: list[dict[str, Any]] = [secret, {"ledger": True, "missing": "drop", "types": None}, person]
    for way in (*ways, {"person": ["id"], "missing": "low", **SECRET}):
        yield ask("open", lambda session: session.run(MEDIAN), way)
    for way in (NONE, person):
        yield ask("Session.where", lambda session: session.run(MEDIAN), way, {"x": (">", 0)})
    yield ask("Session.count", lambda session: session.count(epsilon=2, rows_per_person=2), SECRET)
    yield ask("Session.count", lambda session: session.count(epsilon=2, weights="rows", at_most=2), person | SECRET)
    yield ask("Session.run_all", lambda session: session.run_all([MEDIAN, MEAN], progress=False), {})
    yield ask("Session.plan", lambda session: session.plan([MEDIAN, MEAN]), {})


def _reports() -> Iterator[Scenario]:
    """A report of its columns alone, and with each section that is registered."""
    sections = [{section.option: "y" if section.takes is str else True} for section in registered_sections()]
    for section, people in itertools.product((NONE, *sections), (False, True)):
        options = {"epsilon": 100, **section}
        name = f"report({option_text(options, people)})"
        pairs = partial(some_pairs, name, "table", False, people, 4)
        yield Scenario(name, report_call(options), pairs, COUNTED, "uptack.report", options)


# ------------------------------------------------------------------------------------------------------------ coverage

MORE = {
    "uptack.discrete.CountMechanism.release": {"adjacency"},
    "uptack.session.open": {"analyst", "rows_per_person", "missing", "adjacency", "table", "ledger", "types", "person"},
    "uptack.session.Session.count": {"adjacency"},
    "uptack.session.Session.run_all": set[str](),
    "uptack.session.Session.plan": set[str](),
    "uptack.session.Session.where": set[str](),
    "uptack.report": {"epsilon"},
}
"""What makes releases without being a function of its own, and its options."""


def options_of(declaration: Declaration) -> set[str]:
    """The options that need not be given: data and what each call must say are in every scenario.

    >>> from uptack.registry.options import GROUPING, PEOPLE
    >>> sorted(options_of(declared()["median"]) - {*GROUPING, *PEOPLE})
    ['adjacency', 'delta', 'granularity', 'interval', 'method', 'missing', 'plausible',
    'rows_per_person']
    """
    names = {option.name for option in declaration.options if not option.required} - {"entropy"}
    only_people = {"groups_per_person"} if declaration.people is False else set()
    return names - REFUSED.get(declaration.name, set()) - only_people


def release_functions() -> dict[str, set[str]]:
    """The public paths of all release functions, and the options of each."""
    return {one.path: options_of(one) for one in declared().values()} | MORE


def uncovered(scenarios: Iterable[Scenario], functions: Mapping[str, set[str]] | None = None) -> list[str]:
    """The release functions, and the options of such, that no scenario has."""
    covered: dict[str, set[str]] = {}
    for one in scenarios:
        covered.setdefault(one.function, set()).update(one.options)
    missing = []
    for path, options in (release_functions() if functions is None else functions).items():
        lacking = sorted(options - covered.get(path, set()))
        missing += [f"{path}({option}=)" for option in lacking] if path in covered else [path]
    return missing
