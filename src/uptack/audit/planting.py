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
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from types import ModuleType
from typing import Any

How = Callable[[Any], Any]
Place = tuple[Any, str]


@dataclass(frozen=True)
class Plant:
    """`change(original)` in the place of what a path names, for as long as the context that a call of it opens."""

    path: str
    change: How

    def __call__(self) -> AbstractContextManager[None]:
        """Plant it."""
        return patched(self.path, self.change)


# ----------------------------------------------------------------------------------------------------- at the account

DRAW = "uptack.account.Account.draw"


def at(kind: str, place: int | None = None, **changes: How) -> Plant:
    """Mechanisms of this kind with other fields: all of them, or the one that is drawn as so many of its release."""

    def other(mechanism: Any, value: Any, draw: Any) -> Any:
        return draw(replace(mechanism, **{name: how(getattr(mechanism, name)) for name, how in changes.items()}), value)

    return drawn(kind, other, place)


def given(kind: str, how: How) -> Plant:
    """Mechanisms of this kind with another input."""
    return drawn(kind, lambda mechanism, value, draw: draw(mechanism, how(value)))


def computed(kind: str, how: How) -> Plant:
    """What is computed from the data in place of a draw."""
    return drawn(kind, lambda mechanism, value, draw: how(value))


def quieter(place: int, by: int = 2) -> Plant:
    """So many times less noise in the draw of this place, whatever mechanism it is and whichever field says so."""
    fields = {"law": narrower(by), "rho": power(by), "q": power(by), "theta": less(by), "scale": less(by),
              "rate": times(by), "bound": less(by)}  # fmt: skip

    def other(mechanism: Any, value: Any, draw: Any) -> Any:
        name = next(name for name in fields if name in mechanism.__dataclass_fields__)
        return draw(replace(mechanism, **{name: fields[name](getattr(mechanism, name))}), value)

    return drawn("", other, place)


def drawn(kind: str, instead: Callable[..., Any], place: int | None = None) -> Plant:
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

    return Plant(DRAW, change)


def narrower(by: Any = 2) -> How:
    """A law of noise with so many times less of it."""

    def law(one: Any) -> Any:
        if hasattr(one, "variance"):
            return replace(one, variance=one.variance / by**2)
        names = [name for name in ("scale", "up", "down") if name in getattr(one, "__dataclass_fields__", {})]
        return replace(one, **{name: getattr(one, name) / by for name in names})

    return law


def less(by: Any = 2) -> How:
    """A number so many times smaller."""
    return lambda value: value / by


def power(exponent: int) -> How:
    """The decay of a draw at so many times its ε."""
    return lambda rho: rho**exponent


def times(factor: Any) -> How:
    """So many times as much."""
    return lambda value: value * Fraction(factor)


# --------------------------------------------------------------------------------------------------------- one function


def patch(path: str, change: How) -> Plant:
    """`change(original)` in the place of what a path of this package names."""
    return Plant(f"uptack.{path}", change)


def argument(path: str, place: int | str, how: How) -> Plant:
    """A function with one of its arguments changed on the way in, by place or by name."""

    def change(original: Any) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            if isinstance(place, str):
                options = {**options, **({place: how(options[place])} if place in options else {})}
            else:
                arguments = (*arguments[:place], how(arguments[place]), *arguments[place + 1 :])
            return original(*arguments, **options)

        return call

    return patch(path, change)


def result(path: str, how: Callable[..., Any]) -> Plant:
    """What a function returns, changed: `how(result, *arguments)`; of a property, `how(value)`."""

    def change(original: Any) -> Any:
        if isinstance(original, property):
            return property(lambda self: how(original.fget(self)))  # type: ignore[misc]
        return lambda *a, **k: how(original(*a, **k), *a)

    return patch(path, change)


def always(path: str, value: Any) -> Plant:
    """A property, or a function, with the same value whatever its arguments."""
    return patch(
        path, lambda one: property(lambda self: value) if isinstance(one, property) else lambda *_, **__: value
    )


def before(path: str, look: Callable[..., None]) -> Plant:
    """A look at the arguments on the way in, with whatever comes of it."""

    def change(original: Any) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            look(*arguments)
            return original(*arguments, **options)

        return call

    return patch(path, change)


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
    found = [one for one in _modules(owner) if getattr(vars(one).get(name), "__module__", None) == one.__name__]
    if len(found) != 1:
        raise AttributeError(f"{len(found)} modules of {owner.__name__} define {name}")
    return found[0]


@cache
def _modules(room: ModuleType) -> list[ModuleType]:
    """All modules of a room that can be imported."""
    found = []
    for module in pkgutil.walk_packages(getattr(room, "__path__", ()), f"{room.__name__}."):
        with suppress(ImportError):
            found.append(importlib.import_module(module.name))
    return found


@contextmanager
def patched(path: str, change: How) -> Iterator[None]:
    """`change(original)` in the place of what the path names. Names that are first bound in between are put back too.

    >>> import uptack as ut
    >>> with patched("uptack.statistics.quantiles.median", lambda original: lambda *_, **__: "nothing"):
    ...     ut.median([1.0], epsilon=1)
    'nothing'
    """
    owner, name = owner_of(path)
    found = getattr(owner, name)  # which loads what is loaded when it is used, and fails where nothing has the name
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
    for module in [m for key, m in list(sys.modules.items()) if f"{key}.".startswith("uptack.") and m is not None]:
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
