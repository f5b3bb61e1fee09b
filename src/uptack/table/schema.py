"""The schema of a file, `FILE.uptack.toml` beside FILE: what is public about it, and the ledger that pays for it.

A curator writes it, by hand or from what `uptack init` proposes, and it is public from then on. It holds whenever the
file is opened, also through a symbolic link, unless an option overrides it. The ledger cannot be overridden. A schema
lists all columns. If the file has others, it is refused. Names are public, so the error shows the difference.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, time
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn
from urllib.parse import urlsplit

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.exact import read
from uptack.table.csv import cells
from uptack.table.csv.time_cells import DURATION
from uptack.table.packages import tomlkit, tomllib
from uptack.table.values.kinds import LARGEST
from uptack.table.values.times import FORMS, TYPES, UNITS, parse_time

END = ".uptack.toml"
FILE_KEYS: Mapping[str, Any] = {
    "delimiter": str, "header": bool, "encoding": str, "decimal": str, "thousands": str, "na": list, "skip_rows": int,
    "comment": str, "unnamed": str,
}  # fmt: skip
COLUMN_KEYS = ("kind", "granularity", "plausible", "levels", "na", "unit", "skip")
PAGE_KEYS = ("title", "author", "source", "privacy_unit")
TABLE_KEYS = (*PAGE_KEYS, "person", "noun", "adjacency", "ledger", "dataset", "file", "columns")
ADJACENCIES = ("substitute", "add-remove")
LARGEST_FILE = 1 << 22
"""Bytes that a schema may have: some ten thousand columns."""
LONGEST_LINE = 300
"""Characters of a text for readers, such as a title."""
MOST_LINKS = 40
"""Symbolic links that are followed, as on Linux."""
LEVEL_TYPES = {"text": str, "integer": int, "number": int, "boolean": bool}
"""The type of levels, by the kind of a column. Times have no levels."""
NUMBERS = ("integer", "number")
DATES = {"datetime-utc": '["2020-01-01T00:00Z", "2024-12-31T00:00Z"]', DURATION: '["00:05:00", "03:00:00"]'}
USUAL_DATES = '["2020-01-01", "2024-12-31"]'


@dataclass(frozen=True)
class ColumnSchema:
    """The public description of one column.

    `kind` is the type of its cells. `granularity` and `plausible` are defaults for the options of those names, and
    `levels` are its categories. `na` are words for missing values. For a column of times `granularity` is the name of
    a duration, and `plausible` are two dates or times in ISO 8601. `unit` is the unit of measurement, such as "years".
    `skip` says whether reports leave it out, as an id or a row number; None leaves that to its name.
    """

    kind: str | None = None
    granularity: Fraction | str | None = None
    plausible: tuple[float, float] | tuple[str, str] | None = None
    levels: tuple[str | int | bool, ...] | None = None
    na: tuple[str, ...] | None = None
    unit: str | None = None
    skip: bool | None = None


@dataclass(frozen=True)
class Schema:
    """The schema of a file.

    `dialect` holds options of `uptack.table.open_table` by name. `ledger` is the path or URL of the ledger that every
    release from the file is debited to, and `dataset` the data set in it. `title`, `author` and `source` are the head
    of a report, and `privacy_unit` is a sentence such as "Each row is one visit.", which stands before the guarantee.
    """

    name: str = ""
    columns: Mapping[str, ColumnSchema] = field(default_factory=dict)
    dialect: Mapping[str, Any] = field(default_factory=dict)
    person: tuple[str, ...] = ()
    noun: str | None = None
    adjacency: str | None = None
    ledger: str | None = None
    dataset: str | None = None
    title: str | None = None
    author: str | None = None
    source: str | None = None
    privacy_unit: str | None = None

    @property
    def kinds(self) -> dict[str, str]:
        return {name: column.kind for name, column in self.columns.items() if column.kind is not None}

    def column(self, name: str) -> ColumnSchema:
        return self.columns.get(name, ColumnSchema())

    def filled(self, options: Any) -> Any:
        """Options of a file (`uptack.table.engine.files.FileOptions`), with those not given taken from the schema."""
        more = {name: value for name, value in self.dialect.items() if name not in options.given()}
        kinds = self.kinds
        if more.get("header", options.header) is False:  # the names are those that are listed here
            kinds = {name: column_schema.kind or "text" for name, column_schema in self.columns.items()}
        if kinds and (options.types is None or isinstance(options.types, Mapping)):
            more["types"] = {**kinds, **(options.types or {})}
        own = {name: column.na for name, column in self.columns.items() if column.na}
        if own and options.na is None:
            general = more.get("na", ())
            more["na"] = {name: (*general, *own.get(name, ())) for name in self.columns}
        return replace(options, **more)

    def check(self, names: Iterable[str]) -> None:
        """Refuses columns other than those that the schema lists."""
        found = list(names)
        here, there = [n for n in found if n not in self.columns], [n for n in self.columns if n not in found]
        if here or there:
            only = [f"only the file has {', '.join(map(repr, here))}"] if here else []
            only += [f"only the schema has {', '.join(map(repr, there))}"] if there else []
            fix = f"{' and '.join(only)}. Correct {self.name}, or remove it and run `uptack init` again."
            raise InvalidArgument("schema", "a list of the file's columns", "other columns", fix[0].upper() + fix[1:])

    def fits(self, kinds: Mapping[str, str]) -> None:
        """Refuses a granularity or a plausible range that does not fit the type that the file itself declares."""
        kinds_of, reading = {"time": "date", "number": "number", "integer": "integer"}, _Reading(self.name)
        for name, column_schema in self.columns.items():
            if column_schema.kind is None and kinds.get(name) in kinds_of:
                reading.agree(kinds_of[kinds[name]], column_schema, f" of [columns.{name}]")


def schema_place(path: str) -> Path:
    """Where the schema of a file or folder is."""
    named = Path(path)
    return named.with_name(named.name + END)


def schema_beside(path: str) -> Schema | None:
    """The schema of a file; None if there is none.

    It lies beside the file. If the name is a symbolic link, it may lie beside any name on the way to the file. Two
    different schemas are an error, and so is one that can't be read: each may say whose the rows are.
    """
    if not Path(path).name:
        return None
    names = [str(Path(path))]  # and those that symbolic links lead to, one after the other
    while os.path.islink(names[-1]) and len(names) < MOST_LINKS:
        names.append(os.path.join(os.path.dirname(names[-1]), os.readlink(names[-1])))
    found = {os.path.realpath(where): where for where in map(schema_place, names) if os.path.lexists(where)}
    if not found:
        return None
    (real, where), *others = found.items()
    if others:
        both = " and ".join(str(one) for one in found.values())
        raise InvalidArgument("schema", "one file", both, "One is beside a link, one beside its target. Remove one.")
    text = None
    with contextlib.suppress(OSError, UnicodeDecodeError):
        with where.open("rb") as file:
            start = file.read(LARGEST_FILE + 1)
        if len(start) > LARGEST_FILE:
            must, fix = f"a file of at most {LARGEST_FILE >> 20} MB ({where.name})", "It describes columns, not rows."
            raise InvalidArgument("schema", must, "a larger one", fix)
        text = start.decode("utf-8")
    if text is None:
        raise InvalidArgument("schema", f"a text file in UTF-8 ({where.name})", "one that can't be read")
    made = parse_schema(text, where.name)
    if made.ledger is None or "://" in made.ledger:
        return made
    return replace(made, ledger=str(Path(real).parent / made.ledger))


def shared_schema(paths: Iterable[str]) -> Schema | None:
    """The schema of several files that are read as one table: they must all have the same one, or none.

    A file's schema may say whose its rows are. So a pattern that matches the file must not lose it.
    """
    found = {path: schema_beside(path) for path in paths}
    plain = {path: None if schema is None else replace(schema, name="") for path, schema in found.items()}
    first = next(iter(found), "")
    for path, schema in plain.items():
        if schema != plain[first]:
            fix = f"{Path(path).name!r} has another schema than {Path(first).name!r}, or only one of them has one."
            raise InvalidArgument("schema", "the same for all files of a table", "different ones", fix)
    return found.get(first)


def parse_schema(text: str, name: str = "schema") -> Schema:
    """A schema from its text. Numbers are exact: 0.1 is one tenth.

    >>> made = parse_schema('person = "id"\\n[columns.id]\\n[columns.age]\\nkind = "integer"\\nplausible = [0, 120]')
    >>> made.kinds, made.person, made.columns["age"].plausible
    ({'age': 'integer'}, ('id',), (0.0, 120.0))
    """
    try:
        found = tomllib.loads(text, parse_float=read)
    except (tomllib.TOMLDecodeError, ValueError, OverflowError, RecursionError) as error:
        raise InvalidArgument("schema", f"a TOML file ({name})", f"a file with an error: {error}") from None
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
    ledger, dataset = reading.ledger(found.get("ledger"), found.get("dataset"))
    column_schema = {column: reading.column(column, reading.table(columns, column)) for column in columns}
    person = reading.person(found.get("person", []), column_schema)
    dialect = reading.dialect(reading.table(found, "file"))
    page = {key: reading.line(key, found[key]) for key in PAGE_KEYS if key in found}
    described, written = MappingProxyType(column_schema), MappingProxyType(dialect)
    return Schema(name, described, written, person, noun, adjacency, ledger, dataset, **page)


def check_ledger_place(place: str) -> None:
    """Refuses the URL of a ledger with a password in it: a schema is public."""
    if "://" in place and urlsplit(place).password is not None:
        fix = "A schema is public. Keep the password in ~/.pgpass or PGPASSWORD."
        raise InvalidArgument("ledger", "a URL without a password", "one with a password", fix)


@dataclass(frozen=True)
class _Reading:
    """Checks the parts of a schema. Errors name the file and the key."""

    name: str

    def refuse(self, key: str, must: str, got: object, fix: str = "") -> NoReturn:
        raise InvalidArgument(f"{key} of {self.name}", must, checks.describe(got), fix)

    def keys(self, table: Mapping[str, Any], allowed: Iterable[str], where: str) -> None:
        for key in table:
            if key not in (known := tuple(allowed)):
                self.refuse(f"a key{where}", f"one of {', '.join(known)}", key, checks.did_you_mean(key, known))

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

    def line(self, key: str, found: Any) -> str:
        """A text for readers, in one line."""
        if not isinstance(found, str) or not found.strip() or not found.isprintable() or len(found) > LONGEST_LINE:
            self.refuse(key, f"one line of at most {LONGEST_LINE} characters", found)
        return found

    def ledger(self, place: Any, dataset: Any) -> tuple[str | None, str | None]:
        if place is not None and (not isinstance(place, str) or not place.strip()):
            self.refuse("ledger", "the path or the URL of a ledger", place)
        if place is not None:
            check_ledger_place(place)
        if dataset is not None and (place is None or not isinstance(dataset, str)):
            self.refuse("dataset", "a name, together with ledger", dataset)
        return place, dataset

    def person(self, found: Any, columns: Mapping[str, ColumnSchema]) -> tuple[str, ...]:
        ids = [found] if isinstance(found, str) else found
        if not isinstance(ids, list) or not all(isinstance(one, str) and one in columns for one in ids):
            self.refuse("person", "the name of a column, or a list of names", found)
        return tuple(ids)

    def column(self, column: str, found: dict[str, Any]) -> ColumnSchema:
        where = f" of [columns.{column}]"
        self.keys(found, COLUMN_KEYS, where)
        kind, step, levels, na = (found.get(key) for key in ("kind", "granularity", "levels", "na"))
        if kind is not None and not cells.is_kind(kind):
            must = f"one of {', '.join(map(repr, (*TYPES, *cells.EXAMPLES)))}"
            self.refuse("kind" + where, must, kind)
        if step is not None and not ((_is_number(step) and step > 0) or step in tuple(UNITS)):
            self.refuse("granularity" + where, "a positive number, or for times the name of a duration", step)
        ends = self.ends(found.get("plausible"), where)
        if levels is not None and not _are_levels(levels):
            self.refuse("levels" + where, "a list of different texts, whole numbers or truth values", levels)
        if levels is not None and cells.base(str(kind)) in FORMS:
            self.refuse("levels" + where, f"left out for a column of kind {kind!r}", levels)
        wanted = LEVEL_TYPES.get(cells.base(str(kind)))
        if levels is not None and wanted is not None and type(levels[0]) is not wanted:
            self.refuse("levels" + where, f"values of a column of kind {kind!r}", levels[0])
        if na is not None and not (isinstance(na, list) and all(isinstance(word, str) for word in na)):
            self.refuse("na" + where, "a list of words for missing values", na)
        exact = step if step is None or isinstance(step, str) else Fraction(step)
        unit = self.line("unit" + where, found["unit"]) if "unit" in found else None
        skip = found.get("skip")
        if not isinstance(skip, bool | None):
            self.refuse("skip" + where, "true or false", skip)
        shown, words = (None if one is None else tuple(one) for one in (levels, na))
        column_schema = ColumnSchema(kind, exact, ends, shown, words, unit, skip)
        if kind is not None:
            self.agree(kind, column_schema, where)
        return column_schema

    def ends(self, found: Any, where: str) -> Any:
        """A plausible range: two numbers, or two dates, times or durations. TOML reads 00:05:00 as a time of day."""
        if found is None:
            return None
        both = found if isinstance(found, list) and len(found) == 2 else []
        if both and all(_is_number(end) and abs(end) <= Fraction(LARGEST) for end in both) and both[0] < both[1]:
            return float(both[0]), float(both[1])
        texts = [one.isoformat() if isinstance(one, date | time) else one for one in both]
        spans = [span for one in texts if isinstance(one, str) and (span := parse_time(one)) is not None]
        if len(spans) < 2 or spans[0].word != spans[1].word or not spans[0].ticks < spans[1].ticks:
            self.refuse("plausible" + where, f"two numbers such as [0, 120], or two dates such as {USUAL_DATES}", found)
        return tuple(texts)

    def agree(self, kind: str, column_schema: ColumnSchema, where: str) -> None:
        """Refuses numbers for a column of times, and times for one of numbers."""
        ends, step = column_schema.plausible, column_schema.granularity
        kind = cells.base(kind)
        times, numbers = kind in FORMS, kind in NUMBERS
        zoned = parse_time(ends[0]) if ends is not None and isinstance(ends[0], str) else None
        words = {"datetime-utc": ("utc",), DURATION: ("duration",)}.get(kind, ("clock",))
        wrong = zoned is None or zoned.word not in words
        if ends is not None and ((times and wrong) or (numbers and zoned is not None)):
            what = "durations" if kind == DURATION else "dates or times"
            such = f"two {what} such as {DATES.get(kind, USUAL_DATES)}" if times else "two numbers such as [0, 120]"
            self.refuse("plausible" + where, f"{such}, for a column of kind {kind!r}", list(ends))
        if step is not None and ((times and not isinstance(step, str)) or (numbers and isinstance(step, str))):
            such = "the name of a duration, such as 'day'" if times else "a positive number"
            self.refuse("granularity" + where, f"{such}, for a column of kind {kind!r}", step)


def _is_number(value: object) -> bool:
    return isinstance(value, int | Fraction) and not isinstance(value, bool)


def _are_levels(levels: object) -> bool:
    if not isinstance(levels, list) or not levels:
        return False
    kinds = {type(level) for level in levels}
    return len(kinds) == 1 and kinds <= {str, int, bool} and len(set(levels)) == len(levels)


HEADING = """\
# The schema of {file}: its public description. Edit it as you like.
# Every command and uptack.open read it. `uptack describe {file}` shows the result.
#
# Besides its kind ("integer", "number", "boolean", "text", "date", "datetime", "datetime-utc",
# "duration", or with how cells are written: "boolean:yes/no", "number:€", "number:1.234,5", "date:%d.%m.%Y",
# "duration:%H:%M") a column may have
#   granularity = 0.5        all values, and so all answers, are multiples of this
#   plausible = [0, 120]     a guess of where values lie, from general knowledge; it may be wrong.
#                            For dates and times: ["2020-01-01", "2024-12-31"]
#                            For durations: ["00:05:00", "03:00:00"]
#   levels = ["A", "B"]      its categories, if they are public
#   na = ["-9", "k. A."]     words for missing values in this column, beside those of [file]
#   unit = "years"           its unit of measurement, for the report
#   skip = true              reports leave it out, as an id or a row number
# For the top of a report, in this order, above all tables: title, author, source, and
# privacy_unit = "Each row is one visit."
"""


def schema_text(schema: Schema, file: str) -> str:
    """The schema of a file as TOML, with comments. `uptack.table.schema.parse_schema` reads it.

    >>> from uptack.table.schema import ColumnSchema, parse_schema
    >>> made = Schema(columns={"age": ColumnSchema("integer", Fraction(5))}, dialect={"na": ["NA"]}, noun="visit")
    >>> print(schema_text(made, "visits.csv").split("\\n\\n", 1)[1])
    noun = "visit"
    <BLANKLINE>
    [file]
    na = ["NA"]
    <BLANKLINE>
    [columns.age]
    kind = "integer"
    granularity = 5
    <BLANKLINE>
    >>> dict(parse_schema(schema_text(made, "visits.csv")).columns) == made.columns
    True
    """
    names = (*PAGE_KEYS, "noun", "adjacency", "ledger", "dataset")
    table = {"person": list(schema.person), **{key: getattr(schema, key) for key in names}, "file": schema.dialect}
    columns = {name: _items(vars(column_schema)) for name, column_schema in schema.columns.items()}
    printable = "".join(sign if sign.isprintable() else "?" for sign in file)
    written = tomlkit.dumps({**_items({key: value for key, value in table.items() if value}), "columns": columns})
    return f"{HEADING.format(file=printable)}\n{written}"


def _items(table: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _item(value) for key, value in table.items() if value is not None}


def _item(value: Any) -> Any:
    """A value in TOML. Numbers are written exactly and without an exponent: one tenth is 0.1."""
    if isinstance(value, Mapping):
        return _items(value)
    if isinstance(value, list | tuple):
        return [_item(one) for one in value]
    if isinstance(value, Fraction | float):
        exact = Fraction(value)
        return tomlkit.value(format(Decimal(exact.numerator) / Decimal(exact.denominator), "f"))
    return value
