"""Other code in the place of a function, wherever it was imported to, for as long as an audit looks.

A function may be bound by name in many modules (`from uptack.noise import ...`). All of them are changed together, and
put back afterwards. Only audits do this: what is released to anybody is never made by patched code.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import ModuleType
from typing import Any

Change = Callable[[Any], Any]
ROOT = "uptack"


def owner_of(path: str) -> tuple[Any, str]:
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


def resolve(path: str) -> tuple[Any, str, Any]:
    """The owner, the name and the object of a dotted path; of a class member as it stands in the class.

    >>> owner, name, found = resolve("uptack.mechanisms.inverse.Boxes.draw")
    >>> owner.__name__, name, callable(found)
    ('Boxes', 'draw', True)
    """
    owner, name = owner_of(path)
    found = getattr(owner, name)  # which loads what is loaded when it is used
    return owner, name, vars(owner).get(name, found)


@contextmanager
def patched(path: str, change: Change) -> Iterator[None]:
    """`change(original)` in the place of what the path names.

    >>> import uptack as ut
    >>> with patched("uptack.statistics.quantiles.median", lambda original: lambda *_, **__: "nothing"):
    ...     ut.median([1.0], epsilon=1)
    'nothing'
    """
    owner, name, original = resolve(path)
    other = change(original)
    places = _bound(original) if isinstance(owner, ModuleType) else [(owner, name)]
    try:
        for place, key in places:
            _put(place, key, other)
        yield
    finally:
        for place, key in places:
            _put(place, key, original)


@contextmanager
def all_patched(changes: Iterator[tuple[str, Change]]) -> Iterator[None]:
    """Several changes together."""
    with ExitStack() as stack:
        for path, change in changes:
            stack.enter_context(patched(path, change))
        yield


def _bound(original: Any) -> list[tuple[Any, str]]:
    """All names of modules of ours, and all entries of their dictionaries, that are this object."""
    found: list[tuple[Any, str]] = []
    for module in [m for key, m in list(sys.modules.items()) if key.split(".")[0] == ROOT and m is not None]:
        for name, value in list(vars(module).items()):
            if value is original:
                found.append((module, name))
            elif type(value) is dict and not name.startswith("__"):
                found += [(value, key) for key, entry in value.items() if entry is original]
    return found


def _put(place: Any, key: str, value: Any) -> None:
    if isinstance(place, dict):
        place[key] = value
    else:
        setattr(place, key, value)
