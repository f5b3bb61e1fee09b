"""Other code in the place of a function, wherever it was imported to, for as long as a fault is planted.

Only planted faults do this: the checks themselves look at the account.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

ROOT = "uptack"
Place = tuple[Any, str]


def owner_of(path: str) -> Place:
    """The module or class that a dotted path leads to, and the last name of it."""
    parts = path.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        try:
            owner: Any = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:-1]:
            owner = getattr(owner, part)
        return owner, parts[-1]
    raise ModuleNotFoundError(path)


@contextmanager
def patched(path: str, change: Callable[[Any], Any]) -> Iterator[None]:
    """`change(original)` in the place of what the path names. Names that are first bound in between are put back too.

    >>> import uptack as ut
    >>> with patched("uptack.statistics.quantiles.median", lambda original: lambda *_, **__: "nothing"):
    ...     ut.median([1.0], epsilon=1)
    'nothing'
    """
    owner, name = owner_of(path)
    found = getattr(owner, name)  # which loads what is loaded when it is used
    original = vars(owner).get(name, found)
    other = change(original)
    places = _bound(original) if isinstance(owner, ModuleType) else [(owner, name)]
    own = {(id(place), key) for place, key in _bound(other)}
    try:
        for place in places:
            _put(*place, other)
        yield
    finally:
        loaded = [(place, key) for place, key in _bound(other) if (id(place), key) not in own]
        for place in [*places, *loaded]:
            _put(*place, original)


def _bound(one: Any) -> list[Place]:
    """Which names of modules of ours, and entries of their dictionaries, are this object."""
    found: list[Place] = []
    for module in [m for key, m in list(sys.modules.items()) if f"{key}.".startswith(f"{ROOT}.") and m is not None]:
        for name, value in list(vars(module).items()):
            if value is one:
                found.append((module, name))
            if type(value) is dict and not name.startswith("__"):
                found += [(value, key) for key, entry in value.items() if entry is one]
    return found


def _put(place: Any, key: str, value: Any) -> None:
    if isinstance(place, dict):
        place[key] = value
    else:
        setattr(place, key, value)
