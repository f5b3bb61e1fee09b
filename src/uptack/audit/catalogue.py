"""One catalogue of scenarios: every release function with its options, on neighbours.

A declared function is in it by its declaration (`declared_scenarios`). Scenarios that move a mechanism as far as its
theorem allows are in `edge_scenarios`. Here are those that a declaration can't say enough for: functions of values, of
blocks and of users' functions, and what is asked of a session or of a report in whole. What no scenario covers is named
by `uncovered`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache, partial
from typing import Any

from uptack.audit import calls
from uptack.audit.calls import MEAN, MEDIAN, report_call, session_call
from uptack.audit.declared_scenarios import DELTA, EPSILON, FEW, REFUSED, declared_scenarios, on, shown, some_pairs
from uptack.audit.edge_scenarios import edge_scenarios
from uptack.audit.scenario import COUNTED, LABELS, MAY_REFUSE, Scenario
from uptack.discrete import Domain, minimax_count_mechanism
from uptack.kernels import FourierBasis, GaussianKernel
from uptack.kernels.machine_minimisers import HuberPenalty
from uptack.noise import LInfBall
from uptack.privacy import ADD_REMOVE
from uptack.registry import Declaration, declared
from uptack.report.section import registered

LOUD: dict[str, Any] = {"epsilon": EPSILON}
SECRET: dict[str, Any] = {"adjacency": ADD_REMOVE}
TESTED = {**LOUD, "delta": DELTA}
TYPES = MAY_REFUSE | LABELS


@cache
def catalogue() -> dict[str, Scenario]:
    """All scenarios by name."""
    listed = [*_mechanisms(), *_counts(), *_blocks(), *_functions(), *_papers(), *_sessions(), *_reports()]
    return {one.name: one for one in (*edge_scenarios(), *declared_scenarios(), *listed)}


def _of(path: str, kind: str, options: Any, may: frozenset[str] = frozenset(), people: bool = False) -> Scenario:
    """A process for every block takes long: those have two pairs."""
    few = 2 if "f" in options and not options.get("trusted") else 2 * FEW
    return on(f"uptack.{path}", kind, options, may, people, few)


def _mechanisms() -> list[Scenario]:
    """Noise, choices, stable values."""
    sized = {**LOUD, "sensitivity": 1}
    return [
        _of("mechanisms.laplace", "number", sized),
        _of("mechanisms.laplace", "vector", {**sized, "granularity": 1, **SECRET}),
        _of("mechanisms.gaussian", "number", {**sized, "delta": DELTA}),
        _of("mechanisms.gaussian", "vector", {**sized, "delta": DELTA, "granularity": 1, **SECRET}),
        _of("mechanisms.gamma", "vector", {**sized, **SECRET}),
        _of("mechanisms.gamma", "vector", {**sized, "covariance": [[2.0, 1.0], [1.0, 2.0]]}),
        _of("mechanisms.k_norm", "vector", {**sized, "body": LInfBall(2), **SECRET}),
        _of("mechanisms.matrix_laplace", "square", {**sized, **SECRET}),
        *(_of(f"mechanisms.{name}", "scores", {**sized, **more})
          for name in ("exponential", "report_noisy_max") for more in ({}, {"monotone": True, **SECRET})),
        _of("release_if_stable", "distance", TESTED, MAY_REFUSE),
        _of("release_if_stable", "distance", {**TESTED, "sensitivity": 2, **SECRET}, MAY_REFUSE),
    ]  # fmt: skip


def _counts() -> list[Scenario]:
    """Tables of counts that read their data themselves, and groups."""
    sparse, may = {**LOUD, "domain_size": 9}, COUNTED | LABELS
    margin = {**LOUD, "domain": Domain({"a": [1, "a"], "b": [1, "a"]})}
    ways: list[dict[str, Any]] = [{}, *({"weights": way, "at_most": 2} for way in ("any", "rows"))]
    known = {**LOUD, "f": "uptack.median", "groups": [1]}
    unknown = {**TESTED, "f": "uptack.median", **SECRET}
    table = minimax_count_mechanism(8, 1)
    return [
        _of("sparse_histogram", "integers", sparse, LABELS),
        _of("sparse_histogram", "integers", {**sparse, **SECRET, "rule": "adaptive", "rows_per_person": 2}, LABELS),
        _of("sparse_histogram", "integers", {**sparse, "cutoff": 3}, LABELS),
        *(_of("sparse_histogram", "integers", {**sparse, **way}, LABELS, people=True) for way in ways),
        _of("margins", "columns", margin),
        _of("margins", "columns", {**margin, "which": [("a", "b")], "through": "direct", "total": True}),
        _of("margins", "columns", {**margin, "through": "sparse", "rows_per_person": 2}),
        _of("margins", "columns", {**margin, **SECRET, "through": "table"}),
        *(_of("margins", "columns", {**margin, **way}, people=True) for way in ways),
        _of("discrete.CountMechanism.release", "integers", {"mechanism": table, **SECRET}),
        _of("per_group", "by group", known, may),
        _of("per_group", "by group", {**unknown, "share": 0.5, "rows_per_person": 2}, may),
        *(_of("per_group", "by group", {**known, **way}, may, people=True) for way in ({}, {"groups_per_person": 1})),
        _of("per_group", "containers by group", {**unknown, "groups": None}, may),
    ]


def _blocks() -> list[Scenario]:
    """Functions of blocks. Most are trusted, which needs no processes."""
    path, stable, here = "subsample_aggregate", "stable_value", {"trusted": True}
    first = {**LOUD, "f": calls.number}
    vote = {**LOUD, **here, "f": calls.outcome, "aggregate": "mode", "fallback": None, "blocks": 30}
    several = {**LOUD, **here, "f": calls.pair, "aggregate": "vector_median", "fallback": [0.0, 0.0], "blocks": 60}
    mode = {**TESTED, "f": calls.outcome}
    ways: list[dict[str, Any]] = [{}, {"times": 2}, SECRET]
    return [
        _of(path, "blocks", {**first, **here, "blocks": 60, "times": 2}),
        _of(path, "blocks", {**first, "blocks": 40, "rows_per_person": 2, "progress": False}),
        _of(path, "blocks", {**first, **SECRET, **here, "blocks": 60}),
        _of(path, "blocks", several),
        _of(path, "blocks", {**vote, "candidates": [1, "a"]}, TYPES),
        _of(path, "blocks", {**vote, "delta": DELTA}, TYPES),
        _of(path, "numbers", {**first, "blocks": 40, "workers": 2, "timeout": 60}, TYPES),
        *(_of(path, "blocks", {**first, **here, "blocks": 40, **more}, people=True) for more in ways),
        _of(stable, "blocks", {**mode, **here, "blocks": 20, "fallback": "none"}, TYPES),
        _of(stable, "blocks", {**mode, "rows_per_person": 2, "progress": False}, TYPES),
        _of(stable, "blocks", {**mode, **SECRET, **here, "timeout": 60}, TYPES),
        _of(stable, "numbers", {**mode, "blocks": 4, "workers": 2}, TYPES),
        _of(stable, "blocks", {**mode, **here, "blocks": 20}, TYPES, people=True),
    ]


def _functions() -> list[Scenario]:
    """Released functions, and kernel machines with options that are objects."""
    bumps = {**TESTED, "kernel": GaussianKernel(0.5), "sensitivity": 0.1, "norm": 20}
    basis = {**TESTED, "basis": FourierBasis(0.1, 3, ((0.0, 10.0),)), "sensitivity": 0.1}
    machine = "kernels.kernel_machine"
    return [
        _of("kernels.release_function", "function", {**bumps, "most_points": 9}),
        _of("kernels.release_function", "function", {**bumps, "error": 1e-9, "dimension": 1, **SECRET}),
        _of("kernels.release_spectral", "function", basis),
        _of("kernels.release_spectral", "function", {**basis, "error": 1e-9, **SECRET}),
        _of(machine, "classes", {**TESTED, "kernel": GaussianKernel(0.5), "loss": "logistic"}),
        _of(machine, "table", {**TESTED, "loss": HuberPenalty(2.0), "bandwidth": None}, COUNTED),
    ]


def _papers() -> list[Scenario]:
    """The papers' own algorithms, and random differential privacy."""
    printed: dict[str, Any] = {"eps": 5, "delta": DELTA}
    samp, half = {"f": calls.outcome, "eps": 300, "delta": 0.1}, {"epsilon": 2, "gamma": 0.3}
    own = {**printed, "g": calls.number, "distance": calls.distance}
    return [
        *(_of(f"papers.{name}", "numbers", printed, MAY_REFUSE) for name in ("S", "M")),
        _of("papers.M", "any numbers", {**printed, "s": 1, "n": None}, MAY_REFUSE),
        _of("papers.TM", "any numbers", {**printed, "alpha": 0.2, "kappa": 0.3}, MAY_REFUSE),
        _of("papers.Scale", "any numbers", printed, MAY_REFUSE),
        *(_of(f"papers.{name}", "table", printed, MAY_REFUSE) for name in ("R_S", "R_H")),
        _of("papers.A_dist", "labels", {**printed, "g": "mode"}, TYPES),
        _of("papers.A_dist", "numbers", {**printed, "g": "median"}, TYPES),
        _of("papers.A_dist", "numbers", own, TYPES),
        _of("papers.A_samp", "labels", {**samp, "limit": None, "fallback": "none"}, TYPES),
        _of("papers.A_samp", "labels", {**samp, "dry_run": True, "progress": False}, TYPES),
        _of("papers.A_samp", "numbers", {**samp, "limit": 10, "workers": 2, "trusted": True, "timeout": 60}, TYPES),
        _of("random_dp.binomial_proportion", "proportion", half),
        *(_of("random_dp.random_sparse_histogram", "integers", {**half, "version": v}) for v in ("rare", "empty")),
        _of("random_dp.sensitivity_analysis", "function", {**half, "fallback": 1.0}, MAY_REFUSE),
    ]


def _sessions() -> list[Scenario]:
    """What is asked of a session itself, and how one is opened."""
    person, above = {"person": "id"}, {"x": (">", 0)}
    secret = {"analyst": "ann", "rows_per_person": 2, "missing": "low", "table": None, **SECRET}
    ways: list[dict[str, Any]] = [secret, {"ledger": True, "missing": "drop", "types": None}]
    whose: list[dict[str, Any]] = [person, {"person": ["id"], "missing": "low", **SECRET}]

    def asked(path: str, ask: Any, how: dict[str, Any], where: Any = None) -> Scenario:
        """Something asked of a session that is opened with such options."""
        path, people = f"uptack.session.{path}", "person" in how
        pairs = partial(some_pairs, path, "any numbers", how.get("adjacency") is ADD_REMOVE, people, 2 * FEW)
        return Scenario(f"{path}({shown(how)})", session_call(ask, where, **how), pairs, COUNTED, path, how)

    return [
        *(asked("open", lambda session: session.run(MEDIAN), way) for way in (*ways, *whose)),
        *(asked("Session.where", lambda session: session.run(MEDIAN), way, above) for way in ({}, person)),
        asked("Session.count", lambda session: session.count(epsilon=2, rows_per_person=2), SECRET),
        asked("Session.count", lambda session: session.count(epsilon=2, weights="rows", at_most=2), person | SECRET),
        asked("Session.run_all", lambda session: session.run_all([MEDIAN, MEAN], progress=False), {}),
        asked("Session.plan", lambda session: session.plan([MEDIAN, MEAN]), {}),
    ]


def _reports() -> list[Scenario]:
    """A report of its columns alone, and with each section that is registered."""
    made = []
    for section in (None, *registered()):
        more = {} if section is None else {section.option: "y" if section.takes is str else True}
        options = {"epsilon": 100, **more}
        for people in (False, True):
            name = f"report({shown(options, people)})"
            pairs = partial(some_pairs, name, "table", False, people, 4)
            made.append(Scenario(name, report_call(options), pairs, COUNTED, "uptack.report", options))
    return made


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
    return {made.path: options_of(made) for made in declared().values()} | MORE


def uncovered(scenarios: Iterable[Scenario], functions: Mapping[str, set[str]] | None = None) -> list[str]:
    """The release functions, and the options of such, that no scenario has."""
    tried: dict[str, set[str]] = {}
    for one in scenarios:
        tried.setdefault(one.function, set()).update(one.options)
    missing = []
    for path, options in (release_functions() if functions is None else functions).items():
        missing += [f"{path}({option}=)" for option in sorted(options - tried[path])] if path in tried else [path]
    return missing
