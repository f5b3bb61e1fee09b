"""A schema as the TOML file that a curator reads and edits: see `uptack.data.schema`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from uptack.data.schema import Schema

HEADING = """\
# What is public of {file}. Whoever may read a release may read this; edit it as you like.
# Every command and uptack.open read it. `uptack describe {file}` shows what they make of it.
#
# Beside its kind ("integer", "number", "boolean", "boolean:yes/no", "text", "date", "datetime",
# "datetime-utc", "duration") a column may have
#   granularity = 0.5        a step that all values are multiples of, and answers will be
#   plausible = [0, 120]     where its values lie, by what everybody knows; it need not be right.
#                            Of dates and times: ["2020-01-01", "2024-12-31"]
#                            Of durations: ["00:05:00", "03:00:00"]
#   levels = ["A", "B"]      its categories, where they are public
"""


def text(schema: Schema, file: str) -> str:
    """The schema of a file as TOML, with comments. `uptack.data.schema.parse` reads it.

    >>> from uptack.data.schema import Said, parse
    >>> made = Schema(columns={"age": Said("integer", Fraction(5))}, dialect={"na": ["NA"]}, noun="visit")
    >>> print(text(made, "visits.csv").split("\\n\\n", 1)[1])
    noun = "visit"
    <BLANKLINE>
    [file]
    na = ["NA"]
    <BLANKLINE>
    [columns.age]
    kind = "integer"
    granularity = 5
    <BLANKLINE>
    >>> dict(parse(text(made, "visits.csv")).columns) == made.columns
    True
    """
    table = {"person": list(schema.person), "noun": schema.noun, "adjacency": schema.adjacency}
    parts = [HEADING.format(file=_printable(file)), _lines({key: value for key, value in table.items() if value})]
    if schema.dialect:
        parts.append("[file]\n" + _lines(schema.dialect))
    parts += [f"[columns.{_key(name)}]\n{_lines(vars(said))}" for name, said in schema.columns.items()]
    return "\n".join(part for part in parts if part)


def _lines(table: Mapping[str, Any]) -> str:
    return "".join(f"{key} = {_value(value)}\n" for key, value in table.items() if value is not None)


def _printable(file: str) -> str:
    return "".join(sign if sign.isprintable() else "?" for sign in file)


def _key(name: str) -> str:
    return name if name.isascii() and name.replace("-", "a").replace("_", "a").isalnum() else _value(name)


def _value(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, Fraction | float):
        exact = Fraction(value)
        return format(Decimal(exact.numerator) / Decimal(exact.denominator), "f")
    written = json.dumps(value, ensure_ascii=False)  # texts, whole numbers and truth values are written alike
    return written.replace("\x7f", "\\u007f")
