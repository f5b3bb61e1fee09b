"""Ways to go wrong: what planted faults do at the account, or to one function.

`at(kind, ...)` changes what mechanisms of a kind are when the account is asked to draw: their loss stays what it was.
The others change one function wherever it is bound (`uptack.audit.patches`).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from fractions import Fraction
from typing import Any

from uptack.audit.patches import patched

Plant = Callable[[], AbstractContextManager[None]]
How = Callable[[Any], Any]
DRAW = "uptack.account.Account.draw"


# ----------------------------------------------------------------------------------------------------- at the account


def at(kind: str, place: int | None = None, **changes: How) -> Plant:
    """Mechanisms of this kind with other fields: all of them, or the one that is drawn as so many of its release."""
    return _drawn(kind, place, lambda draw, account, m, value: draw(account, _changed(m, changes), value))


def given(kind: str, how: How, place: int | None = None) -> Plant:
    """Mechanisms of this kind that are given something else."""
    return _drawn(kind, place, lambda draw, account, m, value: draw(account, m, how(value)))


def computed(kind: str, how: How, place: int | None = None) -> Plant:
    """What is computed from the data in place of a draw."""
    return _drawn(kind, place, lambda draw, account, m, value: how(value))


def following(kind: str, name: str) -> Plant:
    """Noise whose scale follows what it is added to, by a millionth."""

    def change(draw: Any, account: Any, mechanism: Any, value: Any) -> Any:
        law, size = getattr(mechanism, name), abs(int(sum(int(v) for v in value)))
        wider = replace(law, scale=law.scale * (1 + Fraction(size % 1000, 10**6)))
        return draw(account, replace(mechanism, **{name: wider}), value)

    return _drawn(kind, None, change)


def _changed(mechanism: Any, changes: dict[str, How]) -> Any:
    return replace(mechanism, **{name: how(getattr(mechanism, name)) for name, how in changes.items()})


def _drawn(kind: str, place: int | None, instead: Callable[..., Any]) -> Plant:
    def change(draw: Any) -> Any:
        counts: dict[int, list[Any]] = {}  # the draws of each release, by its book, which is held meanwhile

        def call(account: Any, mechanism: Any, value: Any) -> Any:
            drawn = counts.setdefault(id(account._book), [account._book])
            drawn.append(mechanism)
            here = (not kind or type(mechanism).__name__ == kind) and (place is None or len(drawn) - 1 == place)
            return instead(draw, account, mechanism, value) if here else draw(account, mechanism, value)

        return call

    return lambda: patched(DRAW, change)


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


def power(times: int) -> How:
    """The decay of a draw at so many times its ε."""
    return lambda rho: rho**times


def times(factor: Fraction) -> How:
    """So many times as much."""
    return lambda value: value * factor


def quieter(mechanism: Any, by: int = 2) -> Any:
    """Any mechanism with so many times less noise, whichever of its fields says how much there is."""
    for name, how in (
        ("law", narrower(by)),
        ("rho", power(by)),
        ("q", power(by)),
        ("theta", less(by)),
        ("scale", less(by)),
        ("rate", times(Fraction(by))),
        ("bound", less(by)),
    ):
        if name in mechanism.__dataclass_fields__:
            return replace(mechanism, **{name: how(getattr(mechanism, name))})
    return mechanism


def halved(place: int, by: int = 2) -> Plant:
    """Less noise in the draw of this place, whatever mechanism it is."""
    return _drawn("", place, lambda draw, account, m, value: draw(account, quieter(m, by), value))


# --------------------------------------------------------------------------------------------------------- one function


def patch(path: str, change: How) -> Plant:
    """`change(original)` in the place of what a path names."""
    return lambda: patched(f"uptack.{path}", change)


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
    """A property, or a function, that says the same whatever it is asked."""
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
