"""Types of values on a command line: numbers, ranges, dates and NAME=VALUE (`uptack.wire.text_values`)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from uptack.exact import read
from uptack.wire.text_values import MISSING_WORDS, edge, missing, span, step


class TextValue(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A value that `parse` reads from a text; a ValueError says that it is none."""

    def __init__(self, name: str, parse: Callable[[Any], Any], problem: str = "is not a number") -> None:
        self.name, self._parse, self._problem = name, parse, problem

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The value of a text."""
        try:
            return self._parse(value)
        except ValueError:
            self.fail(f"{value!r} {self._problem}", param, ctx)


EXACT = TextValue("number", read)
"""An exact number: 0.1 is one tenth."""
STEP = TextValue("number|day|hour|...", step)
"""A number, or a duration, which the function parses: its name such as day, or hours, minutes and seconds."""
EDGE = TextValue("number|date", edge)
"""A number, or a date or time as ISO 8601 writes it, which the function parses."""
RANGE = TextValue("LOW:HIGH", span, "is not LOW:HIGH, such as 0:120")
"""Two numbers. The function checks their order."""
MISSING = TextValue("drop|error|low|high|NUMBER", missing, f"is not one of {', '.join(MISSING_WORDS)}, nor a number")
"""What to do with missing values."""


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
