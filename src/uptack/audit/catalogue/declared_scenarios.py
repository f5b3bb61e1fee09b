"""Scenarios of declared functions: made from the declaration, so a function is audited by being declared.

Of a function that reads columns (`uptack.table.reads`) every example is tried with every option that it has, on
neighbours that differ in one hostile row or person, by a call and through a session. What an option is told is said
once, in `TOLD`, for all functions that have it. Options that are choices or switches need no line there.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from uptack.audit import calls, hostile_tables
from uptack.audit.calls import ScenarioCall
from uptack.audit.catalogue.session_calls import SessionCall
from uptack.audit.data_kinds import DATA
from uptack.audit.person_neighbours import peopled
from uptack.audit.scenario import COUNTED, LABELS, Pairs, Scenario
from uptack.privacy import ADD_REMOVE
from uptack.registry import Declaration, declared
from uptack.registry.options import PEOPLE
from uptack.table.reads import MOMENTS

EPSILON, DELTA = 20, 0.01
LARGER = {"design": 10, "columns": 5}
"""By how much more of ε fits are asked for, so that they reply on as few rows as there are."""
FEW = 5
"""Pairs that an option is tried on where all are too many."""
CALL = 3
"""The same in a session."""
WHOLE = ("median", "histogram")
"""Functions that are tried on every container."""

Told = Mapping[str, Any]
SECRET = {"adjacency": ADD_REMOVE}
UNKNOWN = {"groups": None, "delta": DELTA}

TOLD: dict[str, tuple[Told, ...]] = {
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
        {"formula": "y ~ log(x) + I(x ** 2)", "levels": {"z": [0, 1]}, "missing": "drop"},
        {"formula": "y ~ x + C(kind)", "delta": DELTA, "missing": "drop"},
    ),
    "classes": ({"classes": (1, 0)},),
    "quantile": ({"quantile": 0.9},),
    "blocks": ({"blocks": 30},),
    "progress": ({"progress": False},),
    "public_labels": ({"public_labels": True},),
    "loss": tuple({"loss": loss} for loss in ("logistic", "huber", "insensitive")),
    "centre": ({"loss": "huber", "centre": 0, "scale": 3},),
    "frequencies": ({"frequencies": 8, "regularization": 1},),
}
"""What an option is told in audits. `by` stands for a column of groups."""

PEOPLES: tuple[Told, ...] = (
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
"""What is said of people. `order` stands for a column of order."""

IGNORED = (
    "epsilon",
    "entropy",
    "groups",
    "share",
    "high",
    "scale",
    "regularization",
    "levels",
    "interval",
    "p",
    "cut",
    "edges",
    "keys",
    "kernel",
    *PEOPLE,
)
"""Options that come with another one, with an example, or with people."""


def declared_scenarios() -> list[Scenario]:
    """Whatever the registry has that reads columns."""
    return [one for made in declared().values() if made.reads is not None for one in scenarios_of(made)]


def scenarios_of(made: Declaration) -> Iterator[Scenario]:
    """All scenarios of one function, by its declaration."""
    for options in variations(made):
        basic = not any(key in TOLD for key in options) or options.get("missing") == "drop"
        yield from _both(made, options, None if basic else FEW)
    for options in people_variations(made):
        yield from _both(made, options, FEW, people=True)


def _both(made: Declaration, options: Told, few: int | None, people: bool = False) -> Iterator[Scenario]:
    """By a call and through a session."""
    kinds = list(data_kinds(made, options, people))
    may = may_differ(made, options, people)
    secret = bool(options.get("by")) or "adjacency" in options
    for kind in kinds:
        some = few if kind != "containers" else None if made.name in WHOLE else FEW
        pairs = partial(chosen_pairs, made.name, kind, secret, people, some)
        told = {key: value for key, value in options.items() if key != "by"}
        name = f"{made.path}({shown(options, people)}) on {kind}"
        call = ScenarioCall(made.path, told, caller(made, options))
        yield Scenario(name, call, pairs, may, made.path, _covered(options, people))
        pairs = partial(chosen_pairs, made.name, kind, secret, people, CALL)
        if not ("formula" in options and people) and "public_labels" not in options:
            asked = SessionCall(made.name, told, by="by" in options)
            yield Scenario(f"session: {name}", asked, pairs, may | COUNTED, made.path, _covered(options, people))


def _covered(options: Told, people: bool) -> dict[str, Any]:
    return {**options, **({"person": True} if people else {})}


def shown(options: Told, people: bool = False) -> str:
    """Options as text."""
    said = {**({"person": "ids"} if people else {}), **options}
    return ", ".join(f"{key}={_short(value)}" for key, value in said.items())


def _short(value: Any) -> str:
    text = getattr(value, "__name__", None) or repr(value)
    return text if len(text) <= 30 else text[:29] + "…"


# ------------------------------------------------------------------------------------------------------------ options


def variations(made: Declaration) -> Iterator[dict[str, Any]]:
    """Each example by itself, and with each option."""
    allowed = [name for name in made.allowed if name not in IGNORED]
    for place, example in enumerate(made.examples):
        base = {**example, "epsilon": epsilon(made)} | ({"delta": DELTA} if "delta" in example else {})
        yield base
        told = [one for name in allowed if name not in example for one in option_values(made, name)]
        for one in told if place == 0 else [one for one in told if set(one) & {"missing", "adjacency", "method"}]:
            if "every" in one and place == 0:
                yield {"epsilon": base["epsilon"], **one}
            elif fits(made, base, one):
                yield {**base, **one}


def option_values(made: Declaration, name: str) -> Iterable[Told]:
    """What an option is told: by name, or each choice, or True."""
    if name == "missing":
        return [
            {"missing": how}
            for how in (
                ("drop", "low", "high", 0)
                if made.missing == "drop" and made.reads.shape == "column"
                else (made.missing,)
            )
        ]
    if name in TOLD:
        return [
            one
            for one in TOLD[name]
            if set(one) - {"missing"} <= set(made.allowed)
            and ("missing" not in one or made.reads.shape in ("column", "design"))
        ]
    option = next(one for one in made.options if one.name == name)
    return [{name: choice} for choice in option.choices] or [{name: True}] * (option.form == "flag")


def fits(made: Declaration, base: Told, one: Told) -> bool:
    """Whether an option goes with an example: some are for one of two ways to ask."""
    if {"interval", "standard_errors"} & set(base) and {"method", "standard_errors"} & set(one):
        return False
    if "method" in one and {"coordinates"} & set(base):
        return False
    if "delta" in one and one["delta"] == 0:
        return made.by is None and "delta" not in base and made.people == "each"
    if "every" in one:
        return False  # times have no other cells
    return not ("outside" in one and "edges" not in base and "total" not in one)


def epsilon(made: Declaration) -> int:
    """Fits get more."""
    return EPSILON * LARGER.get(made.reads.shape, 1)


def people_variations(made: Declaration) -> Iterator[dict[str, Any]]:
    """What can be said of people to a function that is proved for them."""
    if made.people is False or made.people == "stated":
        return
    base = {**made.examples[0], "epsilon": 5 * epsilon(made)} | (
        {"delta": DELTA} if "delta" in made.examples[0] else {}
    )
    for told in PEOPLES:
        if told.get("weights") in ("people", "any") and "per_person" in made.allowed:
            continue  # rows share a person there, and counts alone may differ
        if "at_most" in told and "around" in base:
            continue  # of rows there is no interval
        if set(told) - {"adjacency"} <= set(made.allowed) and (made.people != "each" or "per_person" in told):
            gaps = {"missing": made.missing} if "missing" in made.allowed and "per_person" not in told else {}
            yield {**base, **gaps, **told}


# --------------------------------------------------------------------------------------------------------------- data


def data_kinds(made: Declaration, options: Told, people: bool = False) -> Iterator[str]:
    """The kinds of data that a function is asked about, with such options."""
    shape, gaps = made.reads.shape, " with gaps" if "missing" in options else ""
    if options.get("by"):
        yield {"design": "table"}.get(shape, "by group")
    elif shape in ("column", "sides", "columns") and made.reads.least == 1:
        yield "gaps" if gaps else "numbers"
        if options.get("missing") == made.missing and not people and "adjacency" not in options:
            yield "containers"
        if shape == "columns" and not {"noise", "points", "low"} & set(options):
            yield f"plane{gaps}"
        if gaps and made.reads is MOMENTS and options["missing"] in ("drop", "high") and "around" not in options:
            yield "times"
    elif "above" in options:
        yield "gaps" if gaps else "numbers"
    elif shape == "categories":
        labels = "numbers" if "missing" in made.allowed and not gaps else "labels"  # those have gaps
        yield "times" if "every" in options else "any numbers" if "edges" in options else labels
        if set(options) == {"delta", "epsilon"} and not people:
            yield "containers"
    elif shape == "labelled":
        yield "values of groups" if "public_labels" in options else f"groups{gaps}"
    elif made.name == "kernel_machine" and options.get("loss", "logistic") == "logistic":
        yield "classes"
    else:
        yield {"flags": "flags", "columns": f"plane{gaps}", "design": f"table{gaps}", "sides": f"sides{gaps}"}[shape]


def chosen_pairs(name: str, kind: str, secret: bool, people: bool, few: int | None) -> Pairs:
    """The neighbours of a kind of data: of rows or of people, replaced or removed; all of them, or a few."""
    pairs = DATA[kind]()
    if few is not None:
        start = sum(map(ord, name + kind)) % len(pairs)
        names = [*pairs, *pairs][start :: max(len(pairs) // few, 1)][:few]
        pairs = {one: pairs[one] for one in names}
    if people:
        return peopled(pairs, secret)
    return hostile_tables.fewer(pairs) if secret else pairs


def may_differ(made: Declaration, options: Told, people: bool) -> frozenset[str]:
    """What is part of the value: ⊥ and what follows from a noisy number of rows; labels that are released."""
    plain = made.reads.shape in ("column", "flags", "categories") and not people
    counted = options.get("missing") in ("drop", "ignore") or {"by", "adjacency", "method"} & set(options)
    may = frozenset() if plain and not counted and made.name != "ecdf" else COUNTED
    unlisted = (made.reads.shape == "categories" and "delta" in options) or options.get("by") or "formula" in options
    return may | LABELS if unlisted else may


def caller(made: Declaration, options: Told) -> calls.Caller | None:
    """Where the data go."""
    if "by" in options:
        return partial(_grouped, made.reads.shape == "design")
    if "formula" in options:
        return calls.named
    return calls.classes if made.name == "logistic_regression" else None


def _grouped(design: bool, function: Any, options: Told, data: Any, entropy: Any) -> Any:
    """f(x, by=groups, ...); of a design all rows are in one group."""
    if not design:
        return calls.by(function, options, data, entropy)
    x, y = data
    return calls.by(
        function, {**options, **({"groups": ["a"]} if options["groups"] else {})}, (x, y, ["a"] * len(y)), entropy
    )


def options_tried(scenarios: Iterable[Scenario]) -> dict[str, set[str]]:
    """Which options of which functions some scenario has."""
    found: dict[str, set[str]] = {}
    for path, group in itertools.groupby(sorted(scenarios, key=lambda one: one.function), key=lambda one: one.function):
        found[path] = {key for one in group for key in one.options}
    return found
