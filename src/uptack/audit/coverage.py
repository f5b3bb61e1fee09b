"""Which public functions make releases, which options they have, and which of them no replay covers.

A release function is one that takes randomness: it has a parameter `entropy`, by name or among the options that it
unpacks. `SPACES` is where public names are looked for. Estimators take a seed in place of randomness, and fit by the
release functions.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, get_args, get_type_hints

from uptack.audit.asks import Ask
from uptack.session.requests import KINDS

SPACES = ("uptack", "uptack.papers", "uptack.mechanisms", "uptack.kernels", "uptack.random_dp", "uptack.statistics")
METHODS = {
    "uptack.discrete.CountMechanism": ("release",),
    "uptack.session.SessionColumn": None,
    "uptack.session.Session": ("count", "regression", "robust_regression", "run", "run_all", "plan"),
}
"""Classes of which some methods, or all public ones (None), make releases."""

RANDOMNESS = {"entropy"}


def options_of(function: Callable[..., Any]) -> set[str]:
    """What a function may be told, and need not: its data and what each call must say are in every ask.

    >>> from uptack import median
    >>> sorted(options_of(median) - {"by", "groups"})
    ['adjacency', 'delta', 'granularity', 'interval', 'method', 'missing', 'rows_per_person']
    """
    return _parameters(function) - RANDOMNESS


def _parameters(function: Callable[..., Any]) -> set[str]:
    plain = inspect.unwrap(function)
    found: set[str] = set()
    for parameter in inspect.signature(plain).parameters.values():
        if parameter.kind is not parameter.VAR_KEYWORD:
            found |= {parameter.name} if parameter.default is not parameter.empty else set()
        elif unpacked := get_args(get_type_hints(plain).get(parameter.name)):
            found |= set(unpacked[0].__annotations__)
    return found


def release_functions() -> dict[str, set[str]]:
    """The public paths of all release functions, and the options of each."""
    found: dict[str, set[str]] = {}
    seen: set[int] = set()
    for space in SPACES:
        module = importlib.import_module(space)
        for name in getattr(module, "__all__", None) or _own(module):
            made = vars(module).get(name)
            if inspect.isfunction(made) and id(made) not in seen and RANDOMNESS & _parameters(made):
                seen.add(id(made))
                found[f"{space}.{name}"] = options_of(made)
    found["uptack.session.open"] = found.pop("uptack.open")
    for path, names in METHODS.items():
        found |= _methods(path, names)
    return found


def _own(module: Any) -> list[str]:
    """The public names of a module that lists none."""
    return [n for n, made in vars(module).items() if n[0] != "_" and getattr(made, "__module__", "") == module.__name__]


def _methods(path: str, names: Iterable[str] | None) -> dict[str, set[str]]:
    """The methods of a class; those of sessions have the options of the function that they ask."""
    module, _, name = path.rpartition(".")
    kind = getattr(importlib.import_module(module), name)
    chosen = [n for n in vars(kind) if not n.startswith("_")] if names is None else names
    found = {}
    for method in chosen:
        asked = KINDS.get(method) if "Session" in name else None
        found[f"{path}.{method}"] = options_of(asked.function if asked else vars(kind)[method])
    return found


def uncovered(asks: Iterable[Ask], functions: Mapping[str, set[str]] | None = None) -> list[str]:
    """The release functions, and the options of such, that no ask has."""
    told: dict[str, set[str]] = {}
    for ask in asks:
        own = {"by"} if ask.data == "by group" else set()
        told.setdefault(ask.function, set()).update(ask.options, own)
    missing = []
    for path, options in (release_functions() if functions is None else functions).items():
        if path not in told:
            missing.append(path)
        else:
            missing += [f"{path}({option}=)" for option in sorted(options - told[path])]
    return missing
