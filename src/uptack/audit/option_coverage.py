"""Which release functions there are, which options they have, and which of them no replay covers.

The functions are those that the registry has. Sessions ask the same functions, with the same options. Estimators take a
seed in place of randomness, and fit by the release functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from uptack.audit.replay_request import Ask
from uptack.registry import Declaration, declared
from uptack.session.columns import of_columns
from uptack.session.requests import in_tables

MORE = {
    "uptack.discrete.CountMechanism.release": {"adjacency"},
    "uptack.session.open": {"analyst", "rows_per_person", "missing", "adjacency", "table", "ledger", "types", "person"},
    "uptack.session.Session.count": {"rows_per_person", "adjacency"},
    "uptack.session.Session.run": set[str](),
    "uptack.session.Session.run_all": {"progress"},
    "uptack.session.Session.plan": set[str](),
}
"""What makes releases without being a function of its own, and what it may be told."""


def options_of(declaration: Declaration) -> set[str]:
    """What a function may be told, and need not: its data and what each call must say are in every ask.

    >>> from uptack.registry.options import GROUPING, PEOPLE
    >>> sorted(options_of(declared()["median"]) - {*GROUPING, *PEOPLE})
    ['adjacency', 'delta', 'granularity', 'interval', 'method', 'missing', 'plausible',
    'rows_per_person']
    """
    return {option.name for option in declaration.options if not option.required} - {"entropy"}


def release_functions() -> dict[str, set[str]]:
    """The public paths of all release functions, and the options of each."""
    found = {declaration.path: options_of(declaration) for declaration in declared().values()}
    for name, declaration in declared().items():
        if in_tables(declaration):
            place = f"SessionColumn.{name}" if of_columns(declaration) else f"Session.{declaration.also or name}"
            found[f"uptack.session.{place}"] = options_of(declaration)
    return found | MORE


def uncovered(asks: Iterable[Ask], functions: Mapping[str, set[str]] | None = None) -> list[str]:
    """The release functions, and the options of such, that no ask has."""
    told: dict[str, set[str]] = {}
    for ask in asks:
        own = ({"by"} if ask.data.endswith("by group") else set()) | ({"person"} if ask.of_people else set())
        told.setdefault(ask.function, set()).update(ask.options, own)
    missing = []
    for path, options in (release_functions() if functions is None else functions).items():
        if path not in told:
            missing.append(path)
        else:
            missing += [f"{path}({option}=)" for option in sorted(options - told[path])]
    return missing
