"""Types of values on a command line: numbers, ranges, dates, and NAME=VALUE."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from uptack.exact import read
from uptack.table.values.times import UNITS, spoken


class Exact(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """An exact number: 0.1 is one tenth."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The text as a rational."""
        try:
            return read(value)
        except ValueError:
            self.fail(f"{value!r} is not a number", param, ctx)


class StepSize(Exact):
    """A number, or a duration: its name such as day, or hours, minutes and seconds."""

    name = "number|day|hour|..."

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """A number, or the text of a duration, which the function parses."""
        parsed = spoken(value)
        duration = value in UNITS or (parsed is not None and parsed.word == "duration")
        return value if duration else super().convert(value, param, ctx)


class Edge(Exact):
    """A number, or a date or time as ISO 8601 writes it."""

    name = "number|date"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """A number, or the text of a date, which the function parses."""
        return value if spoken(value) is not None else super().convert(value, param, ctx)


class Range(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """Two numbers, LOW:HIGH."""

    name = "LOW:HIGH"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The text as two floats. The function checks their order."""
        try:
            return span(value)
        except ValueError:
            self.fail(f"{value!r} is not LOW:HIGH, such as 0:120", param, ctx)


def span(text: str) -> tuple[Any, Any]:
    """LOW:HIGH as two numbers, dates, times or durations. The colon in the middle separates them.

    >>> span("0:120"), span("0:05:00:3:00:00")
    ((0.0, 120.0), ('0:05:00', '3:00:00'))
    """
    parts = text.split(":")
    both = ":".join(parts[: len(parts) // 2]), ":".join(parts[len(parts) // 2 :])
    if all(spoken(part) is not None for part in both):
        return both
    try:
        low, high = (float(read(end)) for end in text.split(":"))
    except OverflowError:
        raise ValueError(text) from None
    return low, high


class Missing(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """What to do with missing values."""

    name = "drop|error|low|high|NUMBER"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """One of the words, a number, or a time."""
        words = ("drop", "error", "low", "high")
        try:
            return value if value in words or spoken(value) is not None else read(value)
        except ValueError:
            self.fail(f"{value!r} is not one of {', '.join(words)}, nor a number", param, ctx)


def pairs(read: Callable[[str], Any], example: str) -> Callable[..., dict[str, Any]]:
    """A callback for repeated options of the form NAME=SOMETHING."""

    def found(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, Any]:
        made = {}
        for value in values:
            name, equals, text = value.rpartition("=")
            try:
                made[name] = read(text)
            except ValueError:
                equals = ""
            if not equals:
                raise click.BadParameter(f"{value!r} is not of the form NAME={example}", ctx, param)
        return made

    return found


def stacked(*decorators: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Several decorators as one, in the given order."""
    return lambda f: functools.reduce(lambda inner, decorate: decorate(inner), reversed(decorators), f)
