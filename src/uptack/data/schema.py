"""What is public of a file, written down once: `FILE.uptack.toml` beside FILE.

A curator writes it, by hand or from proposals (`uptack init`), and it is public from then on. Whoever opens the file
reads it with what it says, unless an option says otherwise. It lists all columns. If the file has others, it is
refused: names of columns are public, so the difference is shown.
"""

from __future__ import annotations

import difflib
import json
import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any

from uptack import checks
from uptack.columns.kinds import LARGEST
from uptack.data import cells
from uptack.errors import InvalidArgument
from uptack.exact import read

END = ".uptack.toml"
FILE_KEYS: Mapping[str, Any] = {
    "delimiter": str, "header": bool, "encoding": str, "decimal": str, "thousands": str, "na": list,
}  # fmt: skip
COLUMN_KEYS = ("kind", "granularity", "plausible", "levels")
TABLE_KEYS = ("person", "noun", "adjacency", "file", "columns")
ADJACENCIES = ("substitute", "add-remove")


@dataclass(frozen=True)
class Said:
    """What a schema says of one column.

    `kind` is what its cells hold. `granularity` and `plausible` are what statistics of it are told where they are told
    nothing else, and `levels` are its categories.
    """

    kind: str | None = None
    granularity: Fraction | None = None
    plausible: tuple[float, float] | None = None
    levels: tuple[str | int | bool, ...] | None = None


@dataclass(frozen=True)
class Schema:
    """What a curator has written down of a file. `dialect` has the options of `uptack.data.source` by their names."""

    name: str = ""
    columns: Mapping[str, Said] = field(default_factory=dict)
    dialect: Mapping[str, Any] = field(default_factory=dict)
    person: tuple[str, ...] = ()
    noun: str | None = None
    adjacency: str | None = None

    @property
    def kinds(self) -> dict[str, str]:
        """The kinds of columns that it says."""
        return {name: said.kind for name, said in self.columns.items() if said.kind is not None}

    def plausible(self, column: str) -> tuple[float, float] | None:
        """Where the values of a column lie, as it says."""
        return self.columns.get(column, Said()).plausible

    def filled(self, options: Any) -> Any:
        """The options of a file, with what nobody said taken from here (`uptack.data.files.Options`)."""
        more = {name: value for name, value in self.dialect.items() if name not in options.given()}
        kinds = self.kinds
        if more.get("header", options.header) is False:  # the names are those that are listed here
            kinds = {name: said.kind or "text" for name, said in self.columns.items()}
        if kinds and (options.types is None or isinstance(options.types, Mapping)):
            more["types"] = {**kinds, **(options.types or {})}
        return replace(options, **more)

    def check(self, names: Iterable[str]) -> None:
        """Whether these are the columns that it is about."""
        found = list(names)
        here, there = [n for n in found if n not in self.columns], [n for n in self.columns if n not in found]
        if here or there:
            only = [f"only the file has {', '.join(map(repr, here))}"] if here else []
            only += [f"only the schema has {', '.join(map(repr, there))}"] if there else []
            fix = f"{' and '.join(only)}. Mend {self.name}, or remove it and run `uptack init` again."
            raise InvalidArgument("schema", "about the columns that the file has", "others", fix[0].upper() + fix[1:])


def place(path: str) -> Path:
    """Where the schema of a file or folder is."""
    named = Path(path)
    return named.with_name(named.name + END)


def beside(path: str) -> Schema | None:
    """The schema that lies beside a file, where there is one.

    A name without a file behind it, such as a link to nowhere, is an error: the schema may say whose the rows are.
    """
    where = place(path)
    if not Path(path).name or not os.path.lexists(where):
        return None
    try:
        text = where.read_text("utf-8") if where.is_file() else None
    except (OSError, UnicodeDecodeError):
        text = None
    if text is None:
        raise InvalidArgument("schema", f"a text file in UTF-8 ({where.name})", "one that can't be read")
    return parse(text, where.name)


def parse(text: str, name: str = "schema") -> Schema:
    """A schema from its text. Numbers are exact: 0.1 is one tenth.

    >>> made = parse('person = "id"\\n[columns.id]\\n[columns.age]\\nkind = "integer"\\nplausible = [0, 120]')
    >>> made.kinds, made.person, made.columns["age"].plausible
    ({'age': 'integer'}, ('id',), (0.0, 120.0))
    """
    try:
        found = tomllib.loads(text, parse_float=read)
    except (tomllib.TOMLDecodeError, ValueError, OverflowError, RecursionError) as error:
        raise InvalidArgument("schema", f"a TOML file ({name})", f"one that can't be read: {error}") from None
    reading = _Reading(name)
    reading.keys(found, TABLE_KEYS, "")
    columns = reading.table(found, "columns")
    if not columns:
        raise InvalidArgument("schema", f"with a table for each column ({name})", "none", "Such as [columns.age].")
    adjacency, noun = found.get("adjacency"), found.get("noun")
    if adjacency is not None and adjacency not in ADJACENCIES:
        reading.refuse("adjacency", "'substitute' or 'add-remove'", adjacency)
    if noun is not None and not isinstance(noun, str):
        reading.refuse("noun", "a word", noun)
    said = {column: reading.column(column, reading.table(columns, column)) for column in columns}
    person = reading.person(found.get("person", []), said)
    dialect = reading.dialect(reading.table(found, "file"))
    return Schema(name, MappingProxyType(said), MappingProxyType(dialect), person, noun, adjacency)


@dataclass(frozen=True)
class _Reading:
    """The parts of a schema, checked; errors name the file and the key."""

    name: str

    def refuse(self, key: str, must: str, got: object, fix: str = "") -> None:
        raise InvalidArgument(f"{key} of {self.name}", must, checks.describe(got), fix)

    def keys(self, table: Mapping[str, Any], allowed: Iterable[str], where: str) -> None:
        for key in table:
            if key not in (known := tuple(allowed)):
                near = difflib.get_close_matches(key, known, n=1)
                fix = f"Did you mean {near[0]!r}?" if near else ""
                self.refuse(f"a key{where}", f"one of {', '.join(known)}", key, fix)

    def table(self, outer: Mapping[str, Any], key: str) -> dict[str, Any]:
        found = outer.get(key, {})
        if not isinstance(found, dict):
            self.refuse(key, "a table", found)
        return dict(found)

    def dialect(self, found: dict[str, Any]) -> dict[str, Any]:
        self.keys(found, FILE_KEYS, " of [file]")
        for key, value in found.items():
            if not isinstance(value, FILE_KEYS[key]):
                self.refuse(f"{key} of [file]", f"a {FILE_KEYS[key].__name__}", value)
        return {key: tuple(value) if key == "na" else value for key, value in found.items()}

    def person(self, found: Any, columns: Mapping[str, Said]) -> tuple[str, ...]:
        ids = [found] if isinstance(found, str) else found
        if not isinstance(ids, list) or not all(isinstance(one, str) and one in columns for one in ids):
            self.refuse("person", "the name of a column, or a list of names", found)
        return tuple(ids)

    def column(self, column: str, found: dict[str, Any]) -> Said:
        where = f" of [columns.{column}]"
        self.keys(found, COLUMN_KEYS, where)
        kind, step, levels = found.get("kind"), found.get("granularity"), found.get("levels")
        if kind is not None and not cells.is_kind(kind):
            must = f"one of {', '.join(map(repr, (*cells.TYPES, 'boolean:yes/no')))}"
            self.refuse("kind" + where, must, kind)
        if step is not None and not (_is_number(step) and step > 0):
            self.refuse("granularity" + where, "a positive number", step)
        ends = found.get("plausible")
        pair = isinstance(ends, list) and len(ends) == 2 and all(map(_is_float, ends)) and ends[0] < ends[1]
        if ends is not None and not pair:
            self.refuse("plausible" + where, "two numbers such as [0, 120]", ends)
        if levels is not None and not _are_levels(levels):
            self.refuse("levels" + where, "a list of different texts, whole numbers or truth values", levels)
        return Said(
            kind,
            None if step is None else Fraction(step),
            None if ends is None else (float(ends[0]), float(ends[1])),
            None if levels is None else tuple(levels),
        )


def _is_number(value: object) -> bool:
    return isinstance(value, int | Fraction) and not isinstance(value, bool)


def _is_float(value: object) -> bool:
    return _is_number(value) and abs(value) <= Fraction(LARGEST)  # type: ignore[arg-type]


def _are_levels(levels: object) -> bool:
    if not isinstance(levels, list) or not levels:
        return False
    kinds = {type(level) for level in levels}
    return len(kinds) == 1 and kinds <= {str, int, bool} and len(set(levels)) == len(levels)


HEADING = """\
# What is public of {file}. Whoever may read a release may read this; edit it as you like.
# Every command and uptack.open read it. `uptack describe {file}` shows what they make of it.
#
# Beside its kind ("integer", "number", "boolean", "boolean:yes/no", "text", "date", "datetime",
# "datetime-utc") a column may have
#   granularity = 0.5        a step that all values are multiples of, and answers will be
#   plausible = [0, 120]     where its values lie, by what everybody knows; it need not be right
#   levels = ["A", "B"]      its categories, where they are public
"""


def text(schema: Schema, file: str) -> str:
    """The schema of a file as TOML, with comments. `parse` reads it.

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
