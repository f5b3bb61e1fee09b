"""Whatever is proved for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from uptack.audit import callers
from uptack.audit.person_neighbours import PEOPLES, of_people
from uptack.audit.replay_request import Ask
from uptack.audit.replay_requests.request_options import COUNTED, EPSILON, LABELS, LOUD, MAY_REFUSE, SECRET, TESTED
from uptack.discrete import Domain
from uptack.privacy import ADD_REMOVE
from uptack.registry import Declaration, declared
from uptack.table.reads import COLUMN, LABELLED, MOMENTS, PAIR, ROWS, SHARES, WIDE

WAYS: list[dict[str, Any]] = [
    {},
    {"weights": "any", "at_most": 2},
    {"weights": "people"},
    {"weights": "rows", "at_most": 2},
]
"""How people count in tables."""
LOUDER = {"epsilon": 5 * EPSILON}


def people() -> list[Ask]:
    """All of it, with the ids of its rows."""
    made = [
        one
        for one in declared().values()
        if one.people and one.people != "stated" and one.reads in (COLUMN, MOMENTS, SHARES)
    ]
    return [
        *(ask for one in made for ask in _statistic(one)),
        *_tables(),
        *_blocks(),
        *_regressions(),
        *_curves(),
        *_ranks(),
    ]


def _tables() -> list[Ask]:
    """Counts, histograms, margins."""
    histogram, domain = "uptack.histogram", Domain({"a": [1, "a"], "b": [1, "a"]})
    sparse, margin = {**LOUD, "domain_size": 9}, {**LOUD, "domain": domain}
    return [
        *(_ask("uptack.count", "flags", {**LOUD, **WAYS[i]}) for i in (0, 3)),
        _ask("uptack.count", "flags", SECRET),
        _ask("uptack.count", "by group", {**LOUD, "groups": [1, "a"]}, callers.by, LABELS),
        _ask("uptack.count", "by group", {**TESTED, "groups": None, "groups_per_person": 2}, callers.by, LABELS),
        *(_ask(histogram, "any numbers", {**LOUD, "edges": [0, 3, 5], **way}) for way in WAYS),
        *(_ask(histogram, "labels", {**LOUD, "keys": [1, "a"], **way}) for way in WAYS),
        *(_ask(histogram, "labels", {**TESTED, **way}, free=LABELS) for way in WAYS),
        _ask(histogram, "labels", {**TESTED, **SECRET}, free=LABELS),
        *(_ask("uptack.sparse_histogram", "integers", {**sparse, **way}, free=LABELS) for way in WAYS),
        *(_ask("uptack.margins", "columns", {**margin, **way}) for way in WAYS),
        _ask("uptack.margins", "columns", {**margin, "through": "direct"}),
    ]


def _blocks() -> list[Ask]:
    """Groups, and functions of blocks."""
    grouped = {**LOUD, "f": "uptack.median", "groups": [1]}
    numbers = {**LOUD, "trusted": True, "f": callers.number, "blocks": 40}
    stable = {**TESTED, "trusted": True, "f": callers.outcome, "blocks": 20}
    ways: list[dict[str, Any]] = [{}, {"times": 2}, {"adjacency": ADD_REMOVE}]
    return [
        _ask("uptack.per_group", "by group", grouped, callers.group, COUNTED | LABELS),
        _ask("uptack.per_group", "by group", {**grouped, "groups_per_person": 2}, callers.group, COUNTED | LABELS),
        *(_ask("uptack.subsample_aggregate", "blocks", {**numbers, **more}, callers.blocks) for more in ways),
        _ask("uptack.stable_value", "blocks", stable, callers.blocks, MAY_REFUSE | LABELS),
    ]


def _regressions() -> list[Ask]:
    """Regressions and scatter."""
    short, linear = "uptack.shortcut_regression", "uptack.linear_regression"
    plain, secret = {"fit_intercept": False}, {**SECRET, **LOUDER, "missing": "drop"}
    return [
        _ask("uptack.logistic_regression", "table", LOUDER, callers.classes, COUNTED),
        _ask("uptack.poisson_regression", "table with gaps", {**LOUDER, "missing": "drop"}, callers.two, COUNTED),
        _ask("uptack.quantile_regression", "table with gaps", {**LOUDER, "missing": "drop"}, callers.two, COUNTED),
        _ask(short, "table", {**LOUD, **plain}, callers.two),
        _ask(short, "table", {**LOUDER, "standard_errors": True, **plain}, callers.two, MAY_REFUSE),
        _ask(short, "table with gaps", {**LOUDER, "missing": "ignore"}, callers.two, COUNTED),
        _ask(linear, "table", LOUDER, callers.two, MAY_REFUSE),
        _ask(linear, "table with gaps", {**secret, "binary": [0]}, callers.two, COUNTED),
        _ask("uptack.scatter", "plane", LOUDER, free=MAY_REFUSE),
        _ask("uptack.scatter", "plane", secret, free=COUNTED),
    ]


def _curves() -> list[Ask]:
    """Densities and kernel machines."""
    known, boxed = {**TESTED, "bandwidth": 0.5}, {**LOUD, "low": 0.0, "high": 10.0}
    machine = "uptack.kernels.kernel_machine"
    small = {**TESTED, "frequencies": 8, "regularization": 1}
    measured = {**small, "loss": "huber", "bandwidth": None, "adjacency": ADD_REMOVE}
    return [
        _ask("uptack.kde", "any numbers", {**known, "missing": "drop"}, callers.seen, COUNTED),
        _ask("uptack.kde", "plane", known, callers.seen, MAY_REFUSE),
        _ask("uptack.fourier_density", "numbers", boxed, callers.seen, MAY_REFUSE),
        _ask("uptack.fourier_density", "plane", {**boxed, "degree": 1}, callers.seen, MAY_REFUSE),
        _ask(machine, "classes", small, callers.fitted),
        _ask(machine, "table with gaps", {**measured, "missing": "ignore"}, callers.fitted, COUNTED),
    ]


def _ranks() -> list[Ask]:
    """Rank statistics of one line per person."""
    kinds = {PAIR: ("table", callers.side_by_side), ROWS: ("any numbers", callers.one), WIDE: ("plane", callers.one)}
    kinds[LABELLED] = "groups with gaps", callers.side_by_side
    asks = []
    for one in (one for one in declared().values() if one.people == "each" and one.reads in kinds):
        (data, make), base = kinds[one.reads], {**one.examples[0], **LOUDER, "missing": "ignore"}
        asks += [
            _ask(one.path, data, {**base, "per_person": "mean"}, make, COUNTED),
            _ask(one.path, data, {**base, "per_person": "last", "order": None, "adjacency": ADD_REMOVE}, make, COUNTED),
        ]
    return asks


def _ask(
    path: str, data: str, options: Mapping[str, Any], make: Any = callers.one, free: frozenset[str] = frozenset()
) -> Ask:
    return Ask(path, f"{PEOPLES}{data}", options, of_people(make), free)


def _statistic(declaration: Declaration) -> list[Ask]:
    """A statistic of one column: people who weigh alike, rows up to a number, one number per person, groups."""
    few = (
        5 if declaration.name in ("mean", "variance", "std") else 1
    )  # they have no answer for as few people as there are
    path, base = declaration.path, {**declaration.examples[0], "epsilon": few * EPSILON}
    last = {**base, "per_person": "last", "order": None}
    asks = [
        _ask(path, "numbers", {**base, "per_person": "mean"}, free=MAY_REFUSE),
        _ask(path, "gaps", {**last, "missing": "drop"}, free=COUNTED),
    ]
    ways: list[dict[str, Any]] = [{}, {"groups_per_person": 2}, {"groups_per_person": 1, "adjacency": ADD_REMOVE}]
    grouped = [{**base, "per_person": "mean", "groups": [1, "a"], **way} for way in ways if declaration.by]
    asks += [_ask(path, "by group", one, callers.by, COUNTED | LABELS) for one in grouped]
    if declaration.people == "each":
        return asks
    asks += [
        _ask(path, "numbers", base, free=MAY_REFUSE),
        _ask(path, "any numbers", {**base, "adjacency": ADD_REMOVE, "missing": "drop"}, free=COUNTED),
    ]
    if declaration.people != "share":
        asks += [_ask(path, "numbers", {**base, "weights": "rows", "at_most": 2}, free=COUNTED)]
    if declaration.by:
        asks += [_ask(path, "by group", {**base, "groups": [1, "a"]}, callers.by, COUNTED | LABELS)]
    return asks
