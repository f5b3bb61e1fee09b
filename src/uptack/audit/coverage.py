"""Which release functions and options no scenario has. The functions are those that the registry has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from uptack.audit.catalogue.declared_scenarios import options_tried
from uptack.audit.scenario import Scenario
from uptack.registry import Declaration, declared

MORE = {
    "uptack.discrete.CountMechanism.release": {"adjacency"},
    "uptack.session.open": {"analyst", "rows_per_person", "missing", "adjacency", "table", "ledger", "types", "person"},
    "uptack.session.Session.count": {"adjacency"},
    "uptack.session.Session.run_all": {"progress"},
    "uptack.session.Session.plan": set[str](),
    "uptack.session.Session.where": set[str](),
    "uptack.report": {"epsilon"},
}
"""What makes releases without being a function of its own, and what it may be told."""

REFUSED = {"uptack.quantile_interval": {"weights", "at_most"}}
"""Options that are refused but for what is their default."""


def options_of(declaration: Declaration) -> set[str]:
    """What a function may be told, and need not: its data and what each call must say are in every scenario.

    >>> from uptack.registry.options import GROUPING, PEOPLE
    >>> sorted(options_of(declared()["median"]) - {*GROUPING, *PEOPLE})
    ['adjacency', 'delta', 'granularity', 'interval', 'method', 'missing', 'plausible',
    'rows_per_person']
    """
    return {option.name for option in declaration.options if not option.required} - {"entropy"}


def release_functions() -> dict[str, set[str]]:
    """The public paths of all release functions, and the options of each."""
    found = {made.path: options_of(made) - REFUSED.get(made.path, set()) for made in declared().values()}
    return found | MORE


def uncovered(scenarios: Iterable[Scenario], functions: Mapping[str, set[str]] | None = None) -> list[str]:
    """The release functions, and the options of such, that no scenario has."""
    tried, missing = options_tried(scenarios), []
    for path, options in (release_functions() if functions is None else functions).items():
        missing += [f"{path}({option}=)" for option in sorted(options - tried[path])] if path in tried else [path]
    return missing
