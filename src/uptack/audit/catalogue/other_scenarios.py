"""Scenarios that a declaration can't say enough for: functions of values, of blocks and of users' functions, and
what is asked of a session or of a report in whole.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from uptack.audit import calls, hostile_tables
from uptack.audit.calls import Caller, ScenarioCall
from uptack.audit.catalogue.declared_scenarios import DELTA, EPSILON, FEW, people_variations, shown, variations
from uptack.audit.catalogue.declared_scenarios import caller as caller_of
from uptack.audit.catalogue.session_calls import OpenedWith, ReportCall, SessionCall, SessionMethod
from uptack.audit.data_kinds import DATA, VALUES
from uptack.audit.person_neighbours import peopled
from uptack.audit.scenario import COUNTED, LABELS, MAY_REFUSE, Pairs, Scenario
from uptack.audit.small_tables import small_pairs
from uptack.discrete import Domain, minimax_count_mechanism
from uptack.kernels import FourierBasis, GaussianKernel
from uptack.kernels.machine_minimisers import HuberPenalty
from uptack.noise import LInfBall
from uptack.privacy import ADD_REMOVE
from uptack.registry import declared
from uptack.report.section import registered

LOUD: dict[str, Any] = {"epsilon": EPSILON}
SECRET = {**LOUD, "adjacency": ADD_REMOVE}
TESTED = {**LOUD, "delta": DELTA}
HERE = {"trusted": True}
"""A process for every block takes long; those without are a few."""


def _of(
    path: str,
    kind: str,
    options: Any,
    caller: Caller | None = None,
    may: frozenset[str] = frozenset(),
    people: bool = False,
) -> Scenario:
    """One scenario, on neighbours of the kind that its adjacency is about."""
    secret = options.get("adjacency") is ADD_REMOVE or kind == "by group"
    few = 2 * FEW if options.get("trusted") or "f" not in options else 2
    name = f"uptack.{path}({shown(options, people)}) on {kind}"
    told = {**options, **({"person": True} if people else {}), **({"by": True} if kind == "by group" else {})}
    pairs = partial(_pairs, name, kind, secret and kind not in VALUES, people, few)
    priced = kind not in (*VALUES, "function")
    return Scenario(
        name, ScenarioCall(f"uptack.{path}", options, caller), pairs, may, f"uptack.{path}", told, priced=priced
    )


def _pairs(name: str, kind: str, secret: bool, people: bool, few: int) -> Pairs:
    pairs = DATA[kind]()
    start = sum(map(ord, name)) % len(pairs)
    chosen = {one: pairs[one] for one in [*pairs, *pairs][start :: max(len(pairs) // few, 1)][:few]}
    if people:
        return peopled(chosen, secret)
    return hostile_tables.fewer(chosen) if secret else chosen


def other_scenarios() -> list[Scenario]:
    """All of them."""
    return [
        *_mechanisms(),
        *_counts(),
        *_blocks(),
        *_functions(),
        *_papers(),
        *_sessions(),
        *_reports(),
        *small_scenarios(),
    ]


def _mechanisms() -> list[Scenario]:
    """Noise, choices, stable values."""
    sized, far = {**LOUD, "sensitivity": 1}, {"adjacency": ADD_REMOVE}
    made = [
        _of(f"mechanisms.{name}", kind, {**sized, **more})
        for name, kind, more in (
            ("laplace", "number", {}),
            ("laplace", "vector", {"granularity": 1, **far}),
            ("gaussian", "number", {"delta": DELTA}),
            ("gaussian", "vector", {"delta": DELTA, "granularity": 1, **far}),
            ("gamma", "vector", far),
            ("gamma", "vector", {"covariance": [[2.0, 1.0], [1.0, 2.0]]}),
            ("k_norm", "vector", {"body": LInfBall(2), **far}),
            ("matrix_laplace", "square", far),
        )
    ]
    for name in ("exponential", "report_noisy_max"):
        made += [
            _of(f"mechanisms.{name}", "scores", {**sized, **m}, calls.chosen) for m in ({}, {"monotone": True, **far})
        ]
    stable = {**TESTED, "sensitivity": 2, **far}
    return made + [_of("release_if_stable", "distance", options, may=MAY_REFUSE) for options in (TESTED, stable)]


def _counts() -> list[Scenario]:
    """Tables of counts that read their data themselves."""
    domain = Domain({"a": [1, "a"], "b": [1, "a"]})
    margin, sparse = {**LOUD, "domain": domain}, {**LOUD, "domain_size": 9}
    ways: list[dict[str, Any]] = [{}, {"weights": "one"}, {"weights": "rows", "at_most": 2}]
    grouped = {"f": "uptack.median", **TESTED, "share": 0.5, "rows_per_person": 2, "adjacency": ADD_REMOVE}
    known = {**LOUD, "f": "uptack.median", "groups": [1]}
    return [
        _of("sparse_histogram", "integers", sparse, may=LABELS),
        _of("sparse_histogram", "integers", {**SECRET, **sparse, "rule": "adaptive", "rows_per_person": 2}, may=LABELS),
        _of("sparse_histogram", "integers", {**sparse, "cutoff": 3}, may=LABELS),
        *(_of("sparse_histogram", "integers", {**sparse, **way}, may=LABELS, people=True) for way in ways),
        _of("margins", "columns", margin),
        _of("margins", "columns", {**margin, "which": [("a", "b")], "through": "direct", "total": True}),
        _of("margins", "columns", {**margin, "through": "sparse", "rows_per_person": 2}),
        _of("margins", "columns", {**margin, **SECRET, "through": "table"}),
        *(_of("margins", "columns", {**margin, **way}, people=True) for way in ways),
        _of("discrete.CountMechanism.release", "integers",
            {"mechanism": minimax_count_mechanism(8, 1), "adjacency": ADD_REMOVE}, calls.tabled),
        _of("per_group", "by group", known, calls.group, COUNTED | LABELS),
        _of("per_group", "by group", grouped, calls.group, COUNTED | LABELS),
        _of("per_group", "by group", known, calls.group, COUNTED | LABELS, people=True),
        _of("per_group", "by group", {**known, "groups_per_person": 2}, calls.group, COUNTED | LABELS, people=True),
        _of("per_group", "containers by group", {**known, **TESTED, "groups": None, "adjacency": ADD_REMOVE},
            calls.group, COUNTED | LABELS),
    ]  # fmt: skip


def _blocks() -> list[Scenario]:
    """Functions of blocks."""
    path, stable, by_blocks, types = "subsample_aggregate", "stable_value", calls.blocks, MAY_REFUSE | LABELS
    first: dict[str, Any] = {**LOUD, "f": calls.number}
    vote = {**LOUD, **HERE, "f": calls.outcome, "aggregate": "mode", "fallback": None, "blocks": 30}
    several = {**first, **HERE, "blocks": 60, "aggregate": "vector_median", "fallback": [0.0, 0.0], "f": calls.pair}
    mode = {**TESTED, "f": calls.outcome}
    ways: list[dict[str, Any]] = [{}, {"times": 2}, {"adjacency": ADD_REMOVE}]
    return [
        _of(path, "blocks", {**first, **HERE, "blocks": 60, "times": 2}, by_blocks),
        _of(path, "blocks", {**first, "blocks": 40, "rows_per_person": 2, "progress": False}, by_blocks),
        _of(path, "blocks", {**SECRET, **HERE, "f": calls.number, "blocks": 60}, by_blocks),
        _of(path, "blocks", several, by_blocks),
        _of(path, "blocks", {**vote, "candidates": [1, "a"]}, by_blocks, types),
        _of(path, "blocks", {**vote, "delta": DELTA}, by_blocks, types),
        _of(path, "numbers", {**first, "blocks": 40, "workers": 2, "timeout": 60}, by_blocks, types),
        *(_of(path, "blocks", {**first, **HERE, "blocks": 40, **m}, by_blocks, people=True) for m in ways),
        _of(stable, "blocks", {**mode, **HERE, "blocks": 20, "fallback": "none"}, by_blocks, types),
        _of(stable, "blocks", {**mode, "rows_per_person": 2, "progress": False}, by_blocks, types),
        _of(stable, "blocks", {**mode, **SECRET, **HERE, "timeout": 60}, by_blocks, types),
        _of(stable, "numbers", {**mode, "blocks": 4, "workers": 2}, by_blocks, types),
        _of(stable, "blocks", {**mode, **HERE, "blocks": 20}, by_blocks, types, people=True),
    ]


def _functions() -> list[Scenario]:
    """Released functions, and kernel machines with options that are objects."""
    of_rows = {**TESTED, "kernel": GaussianKernel(0.5), "sensitivity": 0.1, "norm": 20}
    basis = {**TESTED, "basis": FourierBasis(0.1, 3, ((0.0, 10.0),)), "sensitivity": 0.1}
    machine, penalty = {**TESTED, "kernel": GaussianKernel(0.5), "loss": "logistic"}, {"loss": HuberPenalty(2.0)}
    return [
        _of("kernels.release_function", "function", {**of_rows, "most_points": 9}, calls.process),
        _of("kernels.release_function", "function", {**of_rows, "error": 1e-9, "dimension": 1, "adjacency": ADD_REMOVE},
            calls.process),
        _of("kernels.release_spectral", "function", basis, calls.spectral),
        _of("kernels.release_spectral", "function", {**basis, "error": 1e-9, "adjacency": ADD_REMOVE}, calls.spectral),
        _of("kernels.kernel_machine", "classes", machine),
        _of("kernels.kernel_machine", "table", {**TESTED, **penalty, "bandwidth": None}, may=COUNTED),
    ]  # fmt: skip


def _papers() -> list[Scenario]:
    """The papers' own algorithms, and random differential privacy."""
    printed: dict[str, Any] = {"eps": 5, "delta": DELTA}
    samp, half = {"f": calls.outcome, "eps": 300, "delta": 0.1}, {"epsilon": 2, "gamma": 0.3}
    labels, may = MAY_REFUSE | LABELS, MAY_REFUSE
    return [
        *(_of(f"papers.{name}", "numbers", printed, calls.sized, may) for name in ("S", "M")),
        _of("papers.M", "any numbers", {**printed, "s": 1, "n": None}, _sized, may),
        _of("papers.TM", "any numbers", {**printed, "alpha": 0.2, "kappa": 0.3}, calls.sized, may),
        _of("papers.Scale", "any numbers", printed, may=may),
        *(_of(f"papers.{name}", "table", printed, may=may) for name in ("R_S", "R_H")),
        _of("papers.A_dist", "labels", {"g": "mode", **printed}, calls.blocks, labels),
        _of("papers.A_dist", "numbers", {**printed, "g": "median"}, calls.blocks, labels),
        _of("papers.A_dist", "numbers", {"g": calls.number, "distance": calls.distance, **printed}, calls.blocks,
            labels),
        _of("papers.A_samp", "labels", {**samp, "limit": None, "fallback": "none"}, calls.blocks, labels),
        _of("papers.A_samp", "labels", {**samp, "dry_run": True, "progress": False}, calls.blocks, labels),
        _of("papers.A_samp", "numbers", {**samp, "limit": 10, "workers": 2, **HERE, "timeout": 60}, calls.blocks,
            labels),
        _of("random_dp.binomial_proportion", "proportion", half),
        *(_of("random_dp.random_sparse_histogram", "integers", {**half, "version": v}, calls.tally)
          for v in ("rare", "empty")),
        _of("random_dp.sensitivity_analysis", "function", {**half, "fallback": 1.0}, calls.analysed, may),
    ]  # fmt: skip


def _sized(function: Any, options: Any, data: Any, entropy: Any) -> Any:
    return calls.sized(function, {key: value for key, value in options.items() if key != "n"}, data, entropy)


def _sessions() -> list[Scenario]:
    """What is asked of a session itself, and how one is opened."""
    ways: list[dict[str, Any]] = [
        {"analyst": "ann", "rows_per_person": 2, "missing": "low", "adjacency": ADD_REMOVE, "table": None},
        {"ledger": True, "missing": "drop", "types": None},
    ]
    whose: list[dict[str, Any]] = [{"person": "id"}, {"person": ["id"], "adjacency": ADD_REMOVE, "missing": "low"}]
    count = {"epsilon": 2, "adjacency": ADD_REMOVE}

    def asked(name: str, call: Any, options: Any, people: bool = False) -> Scenario:
        secret = options.get("adjacency") is ADD_REMOVE
        pairs = partial(_pairs, name, "any numbers", secret, people, 2 * FEW)
        return Scenario(f"{name}({shown(options)})", call, pairs, COUNTED, name, options)

    return [
        *(asked("uptack.session.open", OpenedWith(way), way) for way in ways),
        *(asked("uptack.session.open", OpenedWith(way), way, people=True) for way in whose),
        asked("uptack.session.Session.where", OpenedWith({}, {"x": (">", 0)}), {}),
        asked("uptack.session.Session.where", OpenedWith({"person": "id"}, {"x": (">", 0)}), {"person": "id"}, True),
        asked("uptack.session.Session.count", SessionMethod("count", {**count, "rows_per_person": 2}), count),
        asked("uptack.session.Session.count", SessionMethod("count", {**count, "weights": "rows", "at_most": 2}), count,
              True),
        asked("uptack.session.Session.run_all", SessionMethod("run_all", {"progress": False}), {"progress": False}),
        asked("uptack.session.Session.plan", SessionMethod("plan"), {}),
    ]  # fmt: skip


def _reports() -> list[Scenario]:
    """A report of its columns alone, and with each section that is registered."""
    made = []
    for section in (None, *registered()):
        more = {} if section is None else {section.option: "y" if section.takes is str else True}
        for people in (False, True):
            options = {"epsilon": 100, **more}
            name = f"report({shown(options, people)})"
            pairs = partial(_pairs, name, "table", False, people, 4)
            made.append(Scenario(name, ReportCall(options), pairs, COUNTED, "uptack.report", options))
    return made


def small_scenarios() -> list[Scenario]:
    """Every declared function on tables of next to nobody, by a call and through a session."""
    made = []
    for one in (one for one in declared().values() if one.reads is not None):
        told = [(options, False) for options in variations(one) if not {"formula", "by", "every"} & set(options)]
        told += [(options, True) for options in people_variations(one) if "by" not in options]
        for options, people in told:
            if "missing" in one.allowed and "missing" not in options:
                continue
            pairs = partial(small_pairs, one, "adjacency" in options, people)
            name = f"{one.path}({shown(options, people)}) on small tables"
            may, call = COUNTED | LABELS, ScenarioCall(one.path, options, caller_of(one, options))
            made.append(Scenario(name, call, pairs, may, one.path, options))
            if one.reads.shape != "categories":
                made.append(Scenario(f"session: {name}", SessionCall(one.name, options), pairs, may, one.path, options))
    return made
