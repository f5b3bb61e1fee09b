"""Rank statistics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from uptack.audit import callers
from uptack.audit.replay_request import Ask
from uptack.audit.replay_requests.request_options import COUNTED, LOUD, SECRET
from uptack.registry import Declaration, declared
from uptack.table.reads import LABELLED


def ranks() -> list[Ask]:
    """Rank statistics of two columns, and contrasts of two groups."""
    two = callers.side_by_side
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
    path, base, two = declaration.path, {**needed, **LOUD}, callers.side_by_side
    asks = [
        Ask(path, "groups", {**base, "delta": 0}, two, COUNTED, basic=True),
        Ask(path, "values of groups", {**base, "public_labels": True}, two, COUNTED),
        Ask(path, "groups with gaps", {**base, "missing": "ignore", "rows_per_person": 2}, two, COUNTED),
        Ask(path, "groups", {**needed, **SECRET}, two, COUNTED),
    ]
    if "granularity" in declaration.allowed:
        asks += [Ask(path, "groups", {**base, "granularity": 1}, two, COUNTED)]
    return asks
