"""How faults are planted: at the account, where every draw is made, or by other code in the place of one function.

`at(kind, ...)` changes what mechanisms of a kind are when the account draws from them; their stated loss stays. The
others replace one function wherever it is bound. A path that leads nowhere is an error, never a fault that is missed.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from fractions import Fraction
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple

Change = Callable[[Any], Any]
Place = tuple[Any, str]


class Plant(NamedTuple):
    """`change(original)` in the place of what a path names, for as long as the context that a call of it opens."""

    path: str
    change: Change

    def __call__(self) -> AbstractContextManager[None]:
        return patched(self.path, self.change)


# ----------------------------------------------------------------------------------------------------- at the account


def draw_by(kind: str, instead: Callable[..., Any], place: int | None = None) -> Plant:
    """`instead(mechanism, value, draw)` for draws of a kind, or of any kind, at a place of their release, or at any."""

    def change(original: Any) -> Any:
        counts: dict[int, list[Any]] = {}  # the draws of each release, by its book, which is held meanwhile

        def call(account: Any, mechanism: Any, value: Any) -> Any:
            earlier = counts.setdefault(id(account._book), [account._book])
            earlier.append(mechanism)
            if (kind and type(mechanism).__name__ != kind) or (place is not None and len(earlier) - 1 != place):
                return original(account, mechanism, value)
            return instead(mechanism, value, lambda other, of: original(account, other, of))

        return call

    return patch("account.Account.draw", change)


def at(kind: str, place: int | None = None, **changes: Change) -> Plant:
    """Mechanisms of this kind with other fields: all of them, or the one that is drawn as so many of its release."""

    def other(one: Any) -> Any:
        return replace(one, **{name: change(getattr(one, name)) for name, change in changes.items()})

    return draw_by(kind, lambda mechanism, value, draw: draw(other(mechanism), value), place)


def on_input(kind: str, change: Change) -> Plant:
    """Mechanisms of this kind with another input."""
    return draw_by(kind, lambda mechanism, value, draw: draw(mechanism, change(value)))


def no_draw(kind: str, compute: Change) -> Plant:
    """What is computed from the data in place of a draw."""
    return draw_by(kind, lambda mechanism, value, draw: compute(value))


def less_noise(place: int, by: int = 2) -> Plant:
    """So many times less noise in the draw of this place, whatever mechanism it is and whichever field says so."""
    fields = {"law": narrower(by), "rho": power(by), "q": power(by), "rate": times(by)}
    fields |= dict.fromkeys(("theta", "scale", "bound"), times(Fraction(1, by)))

    def other(one: Any) -> Any:
        name = next(name for name in fields if name in one.__dataclass_fields__)
        return replace(one, **{name: fields[name](getattr(one, name))})

    return draw_by("", lambda mechanism, value, draw: draw(other(mechanism), value), place)


def narrower(by: Any = 2) -> Change:
    """A law of noise with so many times less of it."""

    def law(one: Any) -> Any:
        if hasattr(one, "variance"):
            return replace(one, variance=one.variance / by**2)
        names = [name for name in ("scale", "up", "down") if name in getattr(one, "__dataclass_fields__", {})]
        return replace(one, **{name: getattr(one, name) / by for name in names})

    return law


def power(exponent: int) -> Change:
    """The decay of a draw at so many times its ε."""
    return lambda rho: rho**exponent


def times(factor: Any) -> Change:
    """So many times as much."""
    return lambda value: value * Fraction(factor)


# --------------------------------------------------------------------------------------------------------- one function


def patch(path: str, change: Change) -> Plant:
    """`change(original)` in the place of what a path of this package names."""
    return Plant(f"uptack.{path}", change)


def argument(path: str, place: int | str, change: Change) -> Plant:
    """A function with one of its arguments changed on the way in, by place or by name."""

    def call(original: Any, arguments: list[Any], options: dict[str, Any]) -> Any:
        where: Any = options if isinstance(place, str) else arguments
        if isinstance(place, int) or place in options:
            where[place] = change(where[place])
        return original(*arguments, **options)

    return patch(path, lambda original: lambda *arguments, **options: call(original, list(arguments), options))


def result(path: str, change: Callable[..., Any]) -> Plant:
    """What a function returns, changed: `change(result, *arguments)`; of a property, `change(value)`."""

    def other(original: Any) -> Any:
        if isinstance(original, property):
            return property(lambda self: change(original.fget(self)))  # type: ignore[misc]
        return lambda *a, **k: change(original(*a, **k), *a)

    return patch(path, other)


def always(path: str, value: Any) -> Plant:
    """A property, or a function, with the same value whatever its arguments."""

    def constant(*_: Any, **__: Any) -> Any:
        return value

    return patch(path, lambda original: property(constant) if isinstance(original, property) else constant)


def before(path: str, look: Callable[..., Any]) -> Plant:
    """A look at the arguments on the way in, with whatever comes of it."""
    return patch(path, lambda original: lambda *a, **k: (look(*a), original(*a, **k))[1])


# ------------------------------------------------------------------------------------------------------------- patches


def owner_of(path: str) -> Place:
    """The module or class of what a path names, and its last name.

    A module may be left out where one module of its room alone defines the name. So faults stay where they are when
    modules are merged.

    >>> owner_of("uptack.mechanisms.Proposal.threshold")
    (<class 'uptack.mechanisms.ptr.Proposal'>, 'threshold')
    """
    root, *names, last = path.split(".")
    owner: Any = importlib.import_module(root)
    for name in names:
        try:
            owner = importlib.import_module(f"{owner.__name__}.{name}")
        except ModuleNotFoundError:
            owner = getattr(_definer(owner, name), name)
    return _definer(owner, last), last


def _definer(owner: Any, name: str) -> Any:
    """The owner itself if it has the name, or the one module of it that defines the name."""
    if hasattr(owner, name) or not isinstance(owner, ModuleType):
        return owner
    definers = [one for one in _modules(owner) if getattr(vars(one).get(name), "__module__", None) == one.__name__]
    if len(definers) != 1:
        raise AttributeError(f"{len(definers)} modules of {owner.__name__} define {name}")
    return definers[0]


@cache
def _modules(room: ModuleType) -> list[ModuleType]:
    """All modules of a room that can be imported."""
    modules = []
    for module in pkgutil.walk_packages(getattr(room, "__path__", ()), f"{room.__name__}."):
        with suppress(ImportError):
            modules.append(importlib.import_module(module.name))
    return modules


@contextmanager
def patched(path: str, change: Change) -> Iterator[None]:
    """`change(original)` in the place of what the path names. Names that are first bound in between are put back too.

    >>> import uptack as ut
    >>> with patched("uptack.statistics.quantiles.median", lambda original: lambda *_, **__: "nothing"):
    ...     ut.median([1.0], epsilon=1)
    'nothing'
    """
    owner, name = owner_of(path)
    current = getattr(owner, name)  # which loads what is loaded when it is used, and fails where nothing has the name
    original = vars(owner).get(name, current)
    other = change(original)
    places = _places(original) if isinstance(owner, ModuleType) else [(owner, name)]
    own = {(id(place), key) for place, key in _places(other)}
    try:
        _bind(places, other)
        yield
    finally:
        _bind([*places, *((place, key) for place, key in _places(other) if (id(place), key) not in own)], original)


def _places(one: Any) -> list[Place]:
    """Which names of modules of ours, and entries of their dictionaries, are this object."""
    places: list[Place] = []
    for module in [m for key, m in list(sys.modules.items()) if f"{key}.".startswith("uptack.") and m is not None]:
        for name, value in list(vars(module).items()):
            if value is one:
                places.append((module, name))
            if type(value) is dict and not name.startswith("__"):
                places += [(value, key) for key, entry in value.items() if entry is one]
    return places


def _bind(places: list[Place], value: Any) -> None:
    for place, key in places:
        if isinstance(place, dict):
            place[key] = value
        else:
            setattr(place, key, value)
