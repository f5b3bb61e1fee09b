"""Scenarios of declared functions: made from the declaration, so a function is audited by being declared.

Of a function that reads columns (`uptack.table.reads`) every example is tried with every option that it has, on
neighbours that differ in one hostile row or person, or that are next to nobody, by a call and through a session.
`VALUES_OF` has the values of each option, for all functions that have it. Choices and switches need no line there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from uptack.audit.calls import call_of, request_call
from uptack.audit.hostile_tables import DATA, VALUES, small_pairs
from uptack.audit.neighbours import person_pairs, removals
from uptack.audit.scenario import COUNTED, LABELS, Pairs, Scenario
from uptack.privacy import ADD_REMOVE
from uptack.registry import Declaration, declared
from uptack.registry.options import PEOPLE
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
SECRET = {"adjacency": ADD_REMOVE}
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
        {"formula": "y ~ log(x) + I(x ** 2)", "levels": {"z": [0, 1]}, "missing": "drop"},
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


def declared_scenarios() -> list[Scenario]:
    """Whatever the registry has that reads columns."""
    return [one for function in declared().values() if function.reads is not None for one in scenarios_of(function)]


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
