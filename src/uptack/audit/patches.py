"""Other code in the place of a function, wherever it was imported to, for as long as an audit looks.

A function may be bound by name in many modules (`from uptack.noise import ...`). All of them are changed together, and
put back afterwards. Only audits do this: what is released to anybody is never made by patched code.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any

Change = Callable[[Any], Any]
Place = tuple[Any, str]
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

    >>> owner, name, found = resolve("uptack.mechanisms.inverse_sensitivity.Boxes.draw")
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
    with all_patched(iter([(path, change)])):
        yield


@contextmanager
def all_patched(changes: Iterator[tuple[str, Change]]) -> Iterator[None]:
    """Several changes together, of different objects. Names are looked through for all of them together."""
    asked = list(changes)
    resolved = [resolve(path) for path, _ in asked]
    before = _bound(id(original) for _, _, original in resolved)
    made = [
        _Patch(original, change(original), before[id(original)] if isinstance(owner, ModuleType) else [(owner, name)])
        for (owner, name, original), (_, change) in zip(resolved, asked, strict=True)
    ]
    assert len({id(one.original) for one in made}) == len(made), "one object is changed twice"
    others = [id(one.other) for one in made]
    own = {other: {(id(place), key) for place, key in places} for other, places in _bound(others).items()}
    try:
        for one in made:
            one.put(one.other, one.places)
        yield
    finally:
        after = _bound(others)  # names that were first asked for in between
        for one in reversed(made):
            loaded = [(p, key) for p, key in after[id(one.other)] if (id(p), key) not in own[id(one.other)]]
            one.put(one.original, [*one.places, *loaded])


@dataclass(frozen=True)
class _Patch:
    """An object, what takes its place, and where. (The other may be a function that has names of its own.)"""

    original: Any
    other: Any
    places: list[Place]

    @staticmethod
    def put(value: Any, places: list[Place]) -> None:
        for place, key in places:
            _put(place, key, value)


def _bound(objects: Iterable[int]) -> dict[int, list[Place]]:
    """Which names of modules of ours, and entries of their dictionaries, are one of these objects, by its `id`."""
    found: dict[int, list[Place]] = {one: [] for one in objects}
    for module in [m for key, m in list(sys.modules.items()) if f"{key}.".startswith(f"{ROOT}.") and m is not None]:
        for name, value in list(vars(module).items()):
            if id(value) in found:
                found[id(value)].append((module, name))
            if type(value) is dict and not name.startswith("__"):
                for key, entry in value.items():
                    if id(entry) in found:
                        found[id(entry)].append((value, key))
    return found


def _put(place: Any, key: str, value: Any) -> None:
    if isinstance(place, dict):
        place[key] = value
    else:
        setattr(place, key, value)
