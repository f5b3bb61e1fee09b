"""One catalogue of scenarios: every release function with its options, on neighbours.

A declared function that reads columns (`uptack.table.reads`) is in it by its declaration. Every example is tried with
every option that it has, on neighbours that differ in one hostile row or person, or that are next to nobody, by a call
and through a session. `VALUES_OF` has the values of each option, for all functions that have it. Choices and switches
need no line there. Scenarios that move a mechanism as far as its theorem allows are in `edge_scenarios`. Those that a
declaration can't say enough for are listed: functions of values, of blocks and of users' functions, and what is asked
of a session or of a report in whole. What no scenario covers is named by `uncovered`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Any

from uptack.audit import calls
from uptack.audit.calls import MEAN, MEDIAN, call_of, report_call, request_call, session_call
from uptack.audit.edge_scenarios import edge_scenarios
from uptack.audit.hostile_tables import DATA, VALUES, small_pairs
from uptack.audit.scenario import COUNTED, LABELS, MAY_REFUSE, Pairs, Scenario, person_pairs, removals
from uptack.discrete import Domain, minimax_count_mechanism
from uptack.kernels import FourierBasis, GaussianKernel
from uptack.kernels.machine_minimisers import HuberPenalty
from uptack.noise import LInfBall
from uptack.privacy import ADD_REMOVE
from uptack.registry import Declaration, declared
from uptack.registry.options import PEOPLE
from uptack.report.section import registered_sections
from uptack.table.reads import MOMENTS

EPSILON, DELTA = 20, 0.01
LARGER = {"design": 10, "columns": 5}
"""By how much ε of a fit is larger, so that it replies on as few rows as there are."""
FEW = 5
"""Pairs that an option is tried on where all are too many."""
SESSION_PAIRS = 3
WHOLE = ("median", "histogram")
"""Functions that are tried on every container."""

Options = Mapping[str, Any]
SECRET: dict[str, Any] = {"adjacency": ADD_REMOVE}
UNKNOWN = {"groups": None, "delta": DELTA}

VALUES_OF: dict[str, tuple[Options, ...]] = {
    "rows_per_person": ({"rows_per_person": 2},),
    "adjacency": (SECRET,),
    "granularity": ({"granularity": 1}, {"granularity": "0.01", "missing": "low"}),
    "plausible": ({"plausible": (-1, 10**6), "missing": "low"},),
    "method": ({"method": "ptr", "delta": DELTA}, {"method": "dwork-lei", "delta": DELTA}),
    "by": ({"by": True, "groups": [1, "a"]}, {"by": True, **UNKNOWN}, {"by": True, **UNKNOWN, "share": 0.5}),
    "delta": ({"delta": 0},),
    "total": ({"total": True, "nonnegative": True, "outside": "clamp"},),
    "outside": ({"outside": "clamp"},),
    "every": ({"every": "month", "delta": DELTA}, {"every": "week", "edges": ["2024-01-01", "2024-05-01"]}),
    "confidence": ({"confidence": 0.9, "delta": DELTA},),
    "knots": ({"knots": 3},),
    "bandwidth": ({"bandwidth": 0.5, "points": [0.0, 1.0]}, {"bandwidth": None}),
    "points": ({"points": [0.0, 1.0]},),
    "most_points": ({"most_points": 10},),
    "degree": ({"degree": 2, "low": 0.0, "high": 10.0},),
    "low": ({"low": 0.0, "high": 10.0},),
    "noise": tuple({"noise": law, "degree": 3, "low": 0.0, "high": 10.0} for law in ("caratheodory", "laplace")),
    "fit_intercept": ({"fit_intercept": False},),
    "binary": ({"binary": [0]},),
    "formula": (
        {"formula": "y ~ log(x) + I(x ** 2)", "levels": {"kind": ["a", "b"]}, "missing": "drop"},
        {"formula": "y ~ x + C(kind)", "delta": DELTA, "missing": "drop"},
    ),
    "classes": ({"classes": (1, 0)},),
    "quantile": ({"quantile": 0.9},),
    "blocks": ({"blocks": 30},),
    "rows": ({"rows": 7},),
    "progress": ({"progress": False},),
    "public_labels": ({"public_labels": True},),
    "kernel_machine.loss": tuple({"loss": loss} for loss in ("logistic", "huber", "insensitive")),
    "centre": ({"loss": "huber", "centre": 0, "scale": 3},),
    "frequencies": ({"frequencies": 8, "regularization": 1},),
}
"""Values of options in audits. `by` stands for a column of groups."""

PEOPLE_OPTIONS: tuple[Options, ...] = (
    {},
    SECRET,
    {"weights": "rows", "at_most": 2},
    {"weights": "people"},
    {"weights": "any", "at_most": 2},
    {"per_person": "mean"},
    {"per_person": "last", "order": True, **SECRET},
    {"by": True, "groups": [1, "a"]},
    {"by": True, "groups": [1, "a"], "groups_per_person": 1},
    {"by": True, "groups": [1, "a"], "groups_per_person": 2, "per_person": "mean"},
)
"""Options about people. `order` stands for a column of order."""

DEPENDENT = {
    *("epsilon", "entropy", "groups", "share", "high", "scale", "regularization", "levels", "interval", "p", "cut"),
    *("edges", "keys", "kernel", *PEOPLE),
}
"""Options that come with another one, with an example, or with people."""

REFUSED = {"completeness": {"order"}, "count": {"share"}, "quantile_interval": {"weights", "at_most"}}
"""Options that a function has, and refuses but for their default."""


def scenarios_of(function: Declaration) -> Iterator[Scenario]:
    """All scenarios of one function, by its declaration: by a call and through a session."""
    requests = [(options, False) for options in variations(function)]
    requests += [(options, True) for options in people_variations(function)]
    for options, people in requests:
        may = may_differ(function, options, people)
        plain = not people and (not VALUES_OF.keys() & options or options.get("missing") == "drop")
        for kind in data_kinds(function, options, people):
            small = kind == "small tables"
            few = (None if function.name in WHOLE else FEW) if kind == "containers" else None if plain else FEW
            one = on(function.path, kind, options, may | COUNTED | LABELS if small else may, people, few)
            if small:
                one = replace(one, pairs=partial(small_pairs, function, "adjacency" in options, people))
            yield one
            if ("formula" in options and people) or "public_labels" in options:
                continue
            if small and function.reads.shape == "categories":
                continue
            fewest = one if small else on(function.path, kind, options, may, people, SESSION_PAIRS)
            call = request_call(function.name, options)
            yield replace(one, name=f"session: {one.name}", call=call, pairs=fewest.pairs, may=one.may | COUNTED)


def on(
    path: str,
    kind: str,
    options: Options,
    may: frozenset[str] = frozenset(),
    people: bool = False,
    few: int | None = 2 * FEW,
) -> Scenario:
    """A function on neighbours of a kind of data: all of them, or a few."""
    grouped = kind.endswith("by group") or bool(options.get("by"))
    secret = (grouped or options.get("adjacency") is ADD_REMOVE) and kind not in VALUES
    name = f"{path}({option_text(options, people)}) on {kind}"
    covered = {**options, **({"person": True} if people else {}), **({"by": True} if grouped else {})}
    pairs = partial(some_pairs, name, kind, secret, people, few)
    return Scenario(name, call_of(path, options), pairs, may, path, covered, priced=kind not in (*VALUES, "function"))


def some_pairs(name: str, kind: str, secret: bool, people: bool, few: int | None) -> Pairs:
    """Neighbours of a kind of data, rows or people, replaced or removed; where they are few, by the scenario's name."""
    pairs = DATA[kind]()
    if few is not None:
        start = sum(map(ord, name)) % len(pairs)
        pairs = {one: pairs[one] for one in [*pairs, *pairs][start :: max(len(pairs) // few, 1)][:few]}
    if people:
        return person_pairs(pairs, secret)
    return removals(pairs) if secret else pairs


def option_text(options: Options, people: bool = False) -> str:
    """Options as text."""
    texts = {key: getattr(value, "__name__", None) or repr(value) for key, value in options.items()}
    every = {**({"person": "'ids'"} if people else {}), **texts}
    return ", ".join(f"{key}={text if len(text) <= 30 else text[:29] + '…'}" for key, text in every.items())


# ------------------------------------------------------------------------------------------------------------ options


def variations(function: Declaration) -> Iterator[dict[str, Any]]:
    """Each example by itself, and with each option; with all options only the first."""
    names = [name for name in function.allowed if name not in DEPENDENT]
    for place, example in enumerate(function.examples):
        base = _base(function, example)
        yield base
        for more in (one for name in names if name not in example for one in option_values(function, name)):
            if place and not {"missing", "adjacency", "method"} & set(more):
                continue
            if "every" in more and place == 0:  # times have no other cells
                yield {"epsilon": base["epsilon"], **more}
            elif "every" not in more and compatible(function, base, more):
                yield {**base, **more}


def people_variations(function: Declaration) -> Iterator[dict[str, Any]]:
    """Options about people of a function that is proved for them."""
    if function.people is False or function.people == "stated":
        return
    base = _base(function, function.examples[0], 5)
    allowed = {*function.allowed, "adjacency"} - REFUSED.get(function.name, set())
    for more in PEOPLE_OPTIONS:
        if more.get("weights") in ("people", "any") and "per_person" in function.allowed:
            continue  # rows share a person there, and counts alone may differ
        if set(more) <= allowed and (function.people != "each" or "per_person" in more):
            gaps = {"missing": "drop"} if "missing" in function.allowed and "per_person" not in more else {}
            yield {**base, **gaps, **more}


def _base(function: Declaration, example: Options, times: int = 1) -> dict[str, Any]:
    """An example with its ε, of which fits get more, and its δ."""
    epsilon = times * EPSILON * LARGER.get(function.reads.shape, 1)
    return {**example, "epsilon": epsilon, **({"delta": DELTA} if "delta" in example else {})}


def option_values(function: Declaration, name: str) -> Iterable[Options]:
    """The values of an option: listed by name, or each choice, or True."""
    shape = function.reads.shape
    if name == "missing":
        every = function.missing == "replace" and shape == "column"
        return [{"missing": how} for how in (("drop", "low", "high", 0) if every else ("drop",))]
    listed = VALUES_OF.get(f"{function.name}.{name}", VALUES_OF.get(name))
    if listed is not None:
        fit = {*function.allowed, "missing"} - REFUSED.get(function.name, set())
        gaps = shape in ("column", "design")
        return [one for one in listed if set(one) <= fit and (gaps or "missing" not in one)]
    option = next(one for one in function.options if one.name == name)
    return [{name: choice} for choice in option.choices] or [{name: True}] * (option.form == "flag")


def compatible(function: Declaration, base: Options, more: Options) -> bool:
    """Whether an option goes with an example: some are for one of two ways to ask."""
    if "method" in more and {"interval", "standard_errors", "coordinates"} & set(base):
        return False
    if "standard_errors" in more and {"interval", "standard_errors"} & set(base):
        return False
    if more.get("delta") == 0:
        return function.by is None and "delta" not in base and function.people == "each"
    return not ("outside" in more and "edges" not in base and "total" not in more)


# --------------------------------------------------------------------------------------------------------------- data


def data_kinds(function: Declaration, options: Options, people: bool = False) -> Iterator[str]:
    """The kinds of data that a function is asked about, with such options."""
    shape, gaps, missing = function.reads.shape, " with gaps" if "missing" in options else "", options.get("missing")
    column = shape in ("column", "sides", "columns") and function.reads.least == 1
    if options.get("by"):
        more = {"design": "table ", "flags": "flags "}.get(shape, "sides " if shape == "sides" and not column else "")
        yield f"{more}by group"
    elif "formula" in options:
        yield f"formula{gaps}"
    elif column or "above" in options:
        yield "gaps" if gaps else "numbers"
    elif shape == "categories":
        labels = "numbers" if "missing" in function.allowed and not gaps else "labels"  # those have gaps
        yield "times" if "every" in options else "any numbers" if "edges" in options else labels
    elif shape == "labelled":
        yield "values of groups" if "public_labels" in options else f"groups{gaps}"
    elif function.name == "kernel_machine" and options.get("loss", "logistic") == "logistic":
        yield "classes"
    else:
        yield {"flags": "flags", "columns": f"plane{gaps}", "design": f"table{gaps}", "sides": f"sides{gaps}"}[shape]
    if column and not options.get("by"):
        if (missing == "drop" or function.missing is None) and not people and "adjacency" not in options:
            yield "containers"
        if shape == "columns" and not {"noise", "points", "low"} & set(options):
            yield f"plane{gaps}"
        if function.reads is MOMENTS and missing in ("drop", "high") and "around" not in options:
            yield "times"
    if shape == "categories" and set(options) == {"delta", "epsilon"} and not people:
        yield "containers"
    if not {"formula", "by", "every"} & set(options) and ("missing" in options or "missing" not in function.allowed):
        yield "small tables"


def may_differ(function: Declaration, options: Options, people: bool) -> frozenset[str]:
    """What is part of the value: ⊥ and what follows from a noisy number of rows; labels that are released."""
    shape = function.reads.shape
    plain = shape in ("column", "flags", "categories") and not people and function.name != "ecdf"
    counted = options.get("missing") == "drop" or {"by", "adjacency", "method"} & set(options)
    unlisted = (shape == "categories" and "delta" in options) or options.get("by") or "formula" in options
    return (frozenset() if plain and not counted else COUNTED) | (LABELS if unlisted else frozenset())


# -------------------------------------------------------------------------------------------------------- the catalogue


DELTAS: dict[str, Any] = {"delta": DELTA}
TRUSTED: dict[str, Any] = {"trusted": True}
TYPES = MAY_REFUSE | LABELS
NONE: dict[str, Any] = {}


@cache
def catalogue() -> dict[str, Scenario]:
    """All scenarios by name."""
    by_declaration = [scenarios_of(function) for function in declared().values() if function.reads is not None]
    every = (edge_scenarios(), *by_declaration, _values(), _rows(), _papers(), _sessions(), _reports())
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
