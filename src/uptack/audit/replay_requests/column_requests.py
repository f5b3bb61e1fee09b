"""Statistics of one column, counts and tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from uptack.audit import callers
from uptack.audit.replay_request import Ask
from uptack.audit.replay_requests.request_options import COUNTED, DELTA, LABELS, LOUD, MAY_REFUSE, SECRET, TESTED
from uptack.discrete import Domain, minimax_count_mechanism
from uptack.privacy import ADD_REMOVE
from uptack.registry import Declaration, declared
from uptack.table.reads import COLUMN, MOMENTS, SHARES


def statistic(declaration: Declaration, needed: Mapping[str, Any]) -> list[Ask]:
    """The options that statistics of one column have, with one of the examples of its declaration."""
    path, base = declaration.path, {**needed, **LOUD}
    asks = [
        Ask(path, "numbers", base, basic=True),
        Ask(path, "gaps", {**base, "missing": "drop"}, free=COUNTED, basic=True),
        *(Ask(path, "gaps", {**base, "missing": how}) for how in ("low", "high", 0)),
        Ask(path, "numbers", {**base, "rows_per_person": 2}),
        Ask(path, "any numbers", {**needed, **SECRET, "missing": "drop"}, free=COUNTED),
        Ask(path, "by group", {**base, "groups": [1, "a"]}, callers.by, COUNTED | LABELS),
        Ask(path, "by group", {**base, "delta": DELTA, "groups": None}, callers.by, COUNTED | LABELS),
    ]
    if "share" in declaration.allowed:
        more = {**base, "delta": DELTA, "groups": None, "share": 0.5}
        asks += [Ask(path, "by group", more, callers.by, COUNTED | LABELS)]
    if declaration.reads is MOMENTS:
        asks += [
            Ask(path, "times", {**base, "missing": "drop"}, free=COUNTED),
            Ask(path, "times", {**needed, **SECRET, "missing": "high"}, free=COUNTED),
        ]
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
    columns = [one for one in declared().values() if one.reads in (COLUMN, MOMENTS, SHARES) and one.by]
    asks = [ask for one in columns for example in one.examples for ask in statistic(one, example)]
    ecdf, may, between = "uptack.ecdf", COUNTED, {**LOUD, "p": 0.5, "around": 3}
    return [
        *asks,
        Ask("uptack.quantile_interval", "numbers", {**between, "confidence": 0.9, "delta": DELTA}, free=may),
        Ask("uptack.quantile_interval", "gaps", {**between, "missing": "drop", "rows_per_person": 2}, free=may),
        Ask("uptack.quantile_interval", "any numbers", {**between, **SECRET, "missing": "low"}, free=may),
        Ask("uptack.quantile_interval", "numbers", {**between, "granularity": 1}, free=may),
        Ask("uptack.proportion", "any numbers", {**LOUD, "equals": [3, "a"], "missing": "drop"}, free=may),
        Ask("uptack.proportion", "labels", {**LOUD, "equals": "a", "missing": "low"}, free=may),
        Ask(ecdf, "numbers", {**LOUD, "knots": 3}, free=may, basic=True),
        Ask(ecdf, "gaps", {**LOUD, "missing": "drop", "rows_per_person": 2}, free=may),
        Ask(ecdf, "any numbers", {**SECRET, "missing": "low", "granularity": 1, "delta": DELTA}, free=may),
        Ask(
            "uptack.per_group",
            "by group",
            {**LOUD, "f": "uptack.median", "groups": [1]},
            callers.group,
            COUNTED | LABELS,
        ),
        Ask(
            "uptack.per_group",
            "by group",
            {"f": "uptack.median", **TESTED, "share": 0.5, "rows_per_person": 2, "adjacency": ADD_REMOVE, "missing": 0},
            callers.group,
            COUNTED | LABELS,
        ),
    ]


def counts() -> list[Ask]:
    """Counts, histograms, tables."""
    histogram, sparse, domain = "uptack.histogram", "uptack.sparse_histogram", Domain({"a": [1, "a"], "b": [1, "a"]})
    keyed = {**LOUD, "keys": [1, "a"]}
    margin = {**LOUD, "domain": domain}
    return [
        Ask(histogram, "times", {**LOUD, "delta": DELTA, "every": "month"}, free=LABELS),
        Ask(histogram, "times", {**LOUD, "edges": ["2024-01-01", "2024-05-01"], "every": "week"}),
        Ask("uptack.count", "flags", LOUD, basic=True),
        Ask("uptack.count", "flags", {**SECRET, "nonnegative": True, "rows_per_person": 2}),
        Ask("uptack.count", "by group", {**LOUD, "groups": [1, "a"]}, callers.by, LABELS),
        Ask("uptack.count", "by group", {**TESTED, "groups": None, "share": 0.5}, callers.by, LABELS),
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
            callers.tabled,
        ),
    ]
