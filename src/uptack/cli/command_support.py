"""What the commands share: types of values, options, opening a table, standard input, results, and exit codes."""

from __future__ import annotations

import functools
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click
import numpy as np

from uptack.cli.option_words import in_flags
from uptack.display.numbers import figure_text, number, plain, words
from uptack.display.tabular import align_lines
from uptack.errors import InvalidArgument
from uptack.labels import json_text, label, lines, shell_word
from uptack.noise import SeededEntropy
from uptack.privacy import ADD_REMOVE, SUBSTITUTE
from uptack.progress import steps
from uptack.release import NoReply, Release
from uptack.session import Request, Session
from uptack.session import open as open_session
from uptack.session.requests import Made
from uptack.table.csv.rules import GUESS, UNNAMED
from uptack.table.engine import files
from uptack.wire.text_values import READERS, condition

if TYPE_CHECKING:
    from uptack.ledger import Ledger

USUAL_DELTA = "[default: 1e-6, or half of what the ledger has left]"

HANDLES = Path("/proc/self/fd")
"""Where Linux lets a process reopen a file that it has open, even one without a name."""


@contextmanager
def standard_input(stream: BinaryIO) -> Iterator[Path]:
    """The path of a CSV file with the content of the stream, in a folder that only this user may enter.

    If the system allows it, the rows never have a name on the disk, and the path is a link that works in this process
    alone. So they are gone when the process ends, however it ends. On other systems they are removed when the command
    ends or is stopped (Ctrl-C, SIGTERM, SIGHUP: `uptack.cli.main.run`). Only a killed process can leave them behind.
    """
    with tempfile.TemporaryDirectory(prefix="uptack-") as folder, tempfile.TemporaryFile(dir=folder) as unnamed:
        path = Path(folder) / "stdin.csv"
        link = HANDLES / str(unnamed.fileno())
        same = False
        with suppress(OSError):
            same = os.path.samestat(link.stat(), os.fstat(unnamed.fileno()))
        if same:
            path.symlink_to(link)
            shutil.copyfileobj(stream, unnamed)
            unnamed.flush()
        else:
            with path.open("xb") as file:
                shutil.copyfileobj(stream, file)
        yield path


ANSWER, BROKEN, MISUSE, NO_REPLY, INTERRUPTED = 0, 1, 2, 3, 130
SIGNALS: list[int] = []
"""Signals to stop the command that have arrived. An engine may turn one into an error of its own."""
LISTED = 10
"""Up to this many inferred types are listed as options."""

ADJACENCIES = {"substitute": SUBSTITUTE, "add-remove": ADD_REMOVE}


# -------------------------------------------------------------------------------------------------- values and options


class TextValue(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A value of a form of options, as `READERS` reads it."""

    def __init__(self, form: str) -> None:
        self._parse, self._must, self.name = READERS[form]

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return self._parse(value)
        except ValueError:
            self.fail(f"{value!r} is not {self._must}", param, ctx)


EXACT = TextValue("number")
"""An exact number: 0.1 is one tenth."""
MISSING = TextValue("missing")
"""What to do with missing values."""


def pair_option(flag: str, name: str, read: Callable[[str], Any], example: str, help: str) -> Callable[[Any], Any]:
    """A repeated option of the form NAME=SOMETHING; the example begins with what that is called."""

    def callback(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, Any]:
        parsed = {}
        for value in values:
            name, equals, text = value.rpartition("=")
            try:
                parsed[name] = read(text)
            except ValueError:
                equals = ""
            if not equals:
                raise click.BadParameter(f"{value!r} is not of the form NAME={example}", ctx, param)
        return parsed

    return click.option(flag, name, multiple=True, callback=callback, help=f"NAME={example.split(',')[0]}: {help}")


def stack_decorators(*decorators: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Several decorators as one, in the given order."""
    return lambda f: functools.reduce(lambda inner, decorate: decorate(inner), reversed(decorators), f)


epsilon = click.option("--epsilon", "-e", type=EXACT, required=True, help="The privacy budget, such as 0.5.")
delta = click.option(
    "--delta",
    type=EXACT,
    default="0",
    show_default=True,
    help="δ of (ε, δ)-differential privacy; 0 for pure differential privacy.",
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")

file_options = stack_decorators(
    click.option("--table", help="Which table of a DuckDB file."),
    pair_option("--type", "types", str, "KIND, such as age=integer",
                "the type of a column of a CSV file (integer, number, boolean, text, date, datetime, datetime-utc, "
                "duration, or with how cells are written: boolean:ja/nein, number:€, number:1.234,5, date:%d.%m.%Y, "
                "duration:%H:%M). Without a schema (uptack init) the others are inferred from the rows, and printed."),
    click.option("--delimiter", help="The character between cells of a CSV file, if its header does not show it."),
    click.option("--header/--no-header", default=None,
                 help="Whether a CSV file has a header. If not: --type for all columns, in order."),
    click.option("--skip-rows", type=click.IntRange(0), metavar="N",
                 help="Skip N lines above the header of a CSV file."),
    click.option("--comment", metavar="MARK", help="Lines of a CSV file that begin with this are comments, such as #."),
    click.option("--unnamed", type=click.Choice(UNNAMED),
                 help="Which column of a CSV file has no name in the header: the first, as in files that R writes, or "
                      "the last. none: the header ends with a delimiter, and rows do not."),
    click.option("--encoding", help="The encoding of a CSV file, such as latin-1 or utf-16. [default: utf-8]"),
    click.option("--decimal", type=click.Choice([".", ","]), help="The decimal sign of a CSV file. [default: .]"),
    click.option("--thousands", help="The separator between groups of three digits in a CSV file."),
    click.option("--na", multiple=True, metavar="[NAME=]WORD",
                 help="A word for missing values in a CSV file, such as NA; age=-9 for one column. May be repeated."),
)  # fmt: skip

session_options = stack_decorators(
    file_options,
    click.option("--ledger", help="A ledger that every release is debited to before data are read: a file, or the URL "
                                  "of a PostgreSQL database. [default: the one that the schema names]"),
    click.option("--dataset", help="Which data set of the ledger. [default: data]"),
    click.option("--analyst", help="The analyst who spends, for a ledger with allowances."),
    click.option("--adjacency", type=click.Choice(list(ADJACENCIES)),
                 help="Whether the number of rows, or of people, is public (substitute, the default) or secret "
                      "(add-remove)."),
    click.option("--rows-per-person", type=click.IntRange(1), default=1, show_default=True,
                 help="How many rows one person may have."),
    click.option("--person", multiple=True, metavar="COLUMN",
                 help="The column with the id of each row's person. People are then protected, with all their rows. "
                      "May be repeated, for an id of several columns."),
    click.option("--noun", help="What one row is called, such as visit. [default: row]"),
    click.option("--missing", type=MISSING, default="drop", show_default=True,
                 help="What to do with missing values."),
    click.option("--where", multiple=True, metavar="CONDITION",
                 help="Only rows that meet this condition, such as ward=Surgery, age>=18, ward!=, age=18..65, ward=a|b "
                      "or \"age >= 18 and ward == 'Surgery'\". May be repeated; all conditions must be met."),
    click.option("--seed", type=click.IntRange(0), help="Reproducible noise, for tests. NOT PRIVATE."),
)  # fmt: skip

SESSION: dict[str, Any] = {
    **dict.fromkeys(("table", "types", *files.DIALECT, "dataset", "ledger", "analyst", "adjacency", "noun", "seed")),
    **{"rows_per_person": 1, "person": (), "missing": "drop", "where": ()},
}
"""The options of a session, and their defaults for commands that do not have them."""


@contextmanager
def open_source(path: str, options: dict[str, Any]) -> Iterator[Session]:
    """A session on a file, or on CSV from standard input. It removes its own options from `options`."""
    own = {name: options.pop(name, default) for name, default in SESSION.items()}
    with standard_input(sys.stdin.buffer) if path == "-" else nullcontext(path) as data:
        split_missing_words(data, own)
        with steps(f"opening {'standard input' if path == '-' else Path(path).name}", 1):
            session = _session(data, own)
        _say_inferred(session, data, own)
        for text in own["where"]:
            session = session.where(condition(session, text, "--where"))
        yield session


def open_ledger(place: str | Path, *budget: Any, **options: Any) -> Ledger:
    """A ledger. Commands without one need not import SQLAlchemy."""
    from uptack.ledger import Ledger

    return Ledger(place, *budget, **options)


def _session(data: str | Path, own: dict[str, Any]) -> Session:
    place, dataset = own["ledger"], own["dataset"]
    if place is None and dataset is not None:
        raise InvalidArgument("--dataset", "used together with --ledger", repr(dataset))
    return open_session(
        data,
        **{name: own[name] for name in ("table", "analyst", "rows_per_person", "noun", "missing")},
        types=_types(data, own),
        **dialect_options(own),
        ledger=None if place is None else open_ledger(place, dataset=dataset or "data"),
        adjacency=ADJACENCIES.get(own["adjacency"]),
        person=own["person"] or None,
        entropy=None if own["seed"] is None else SeededEntropy(own["seed"]),
    )


def dialect_options(own: dict[str, Any]) -> dict[str, Any]:
    """The options that say how a CSV file is written."""
    return {name: own[name] or None if name == "na" else own[name] for name in files.DIALECT}


def split_missing_words(data: str | Path, own: dict[str, Any]) -> None:
    """Puts the words for missing values into the options: NAME=WORD is for one column, if there is one of that name."""
    words = own["na"]
    if isinstance(words, dict) or not any("=" in word for word in words) or not files.is_text(data):
        return
    schema = files.schema_of(data)
    plain = files.FileOptions(types=own["types"] or GUESS, **{**dialect_options(own), "na": None})
    names = files.text_layout(data, plain if schema is None else schema.filled(plain))[1].names
    by_column = {name: list[str]() for name in names}
    for word in words:
        name = max((one for one in names if word.startswith(f"{one}=")), key=len, default=None)
        for column in names if name is None else (name,):
            by_column[column].append(word if name is None else word[len(name) + 1 :])
    own["na"] = by_column


def _types(data: str | Path, own: dict[str, Any]) -> dict[str, str] | None:
    """The declared types. For a CSV file without a schema the others are inferred: the caller is its curator."""
    stated: dict[str, str] = own["types"]
    if not files.is_text(data) or own["header"] is False or files.schema_of(data) is not None:
        return stated or None
    names = files.text_layout(data, files.FileOptions(types=GUESS, **dialect_options(own)))[1].names
    return {**dict.fromkeys(names, GUESS), **stated}


def _say_inferred(session: Session, data: str | Path, own: dict[str, Any]) -> None:
    """Print the inferred types, as the options that would declare them, and hints for the curator."""
    kinds = session.inferred
    if not kinds:
        return
    texts = [name for name, kind in kinds.items() if kind == "text"]
    hints = files.near_misses(data, files.FileOptions(types=GUESS, **dialect_options(own)), texts)
    ways = " ".join(f"--type {shell_word(f'{name}={kind}')}" for name, kind in kinds.items())
    listed = f"pass them with each command: {ways}" if len(kinds) <= LISTED else "see them with `uptack describe TABLE`"
    say(
        "uptack: Types of columns were inferred from the data and are now public. Save them with "
        f"`uptack init TABLE`, or {listed}",
        err=True,
    )
    for hint in hints:
        say(f"uptack: FOR THE CURATOR: {hint}", err=True)


def say(text: str, *, err: bool = False) -> None:
    """Print lines. Control characters, which might act on a terminal, are shown as escapes."""
    click.echo(lines(text), err=err)


def release(
    path: str,
    options: dict[str, Any],
    request: Callable[..., Request],
    *columns: str,
    finish: Callable[[Any], Any] | None = None,
) -> int:
    """Make one release and print it; the exit code says whether there was an answer.

    `request(session, *columns, **options)` gets the options of the release that were given. `finish` turns the value
    into something that can be printed.
    """
    json_wanted = options.pop("as_json")
    with open_source(path, options) as session:
        given = {name: value for name, value in options.items() if value is not None}
        asked = request(session, *columns, **given)
        with steps(asked.statistic.replace("_", " "), 1):
            result = session.run(asked)
        if finish is not None and isinstance(result, Release):
            shown = finish(result.value)
            result = result if shown is result.value else replace(result, value=shown, noise=None)
    if json_wanted:
        ends, _ = result.interval_at_hand() if result else (None, "")
        say(json_text(result.to_dict() | ({} if ends is None else {"interval": [plain(end) for end in ends]})))
    else:
        say(as_text(result))
    return ANSWER if result else NO_REPLY


def as_text(result: Made) -> str:
    """A result as text: the value, then the mechanism and the cost."""
    if not result:
        return f"⊥  no reply ({result.mechanism}, {result.privacy}); {in_flags(result.reason)}"
    fit = getattr(result, "lines", None)  # of a regression: estimates and their errors
    shown = _value_lines(result) if fit is None else fit()
    stamp = "" if result.private else "; NOT PRIVATE: seeded randomness"
    rows = [] if result.rows is None else [str(result.rows)]
    return "\n".join([*shown, *rows, *map(in_flags, result.notes), f"({result.mechanism}, {result.privacy}{stamp})"])


def _value_lines(result: Release[Any]) -> list[str]:
    """One line for each number, with its name and its interval if it has them."""
    value, names, (ends, percent) = result.value, result.labels, result.interval_at_hand()
    counted = isinstance(value, Mapping)
    if counted and not value:
        return ["nothing is frequent enough to be listed"]
    if hasattr(value, "points"):
        return [f"{number(x)}\t{number(y)}" for x, y in zip(value.points, value.values, strict=True)]
    if hasattr(value, "table") and not counted:
        return str(value.table().text(sys.maxsize)).splitlines()
    if np.ndim(value) == 0 and not counted:  # of a function JSON has all
        return [str(value) if hasattr(value, "to_dict") else _with_interval(value, ends, percent)]
    pairs = [None] * len(value) if ends is None else list(zip(*ends, strict=True))
    if counted:
        shown = [_entry(one, pair, percent) for one, pair in zip(value.values(), pairs, strict=True)]
        bins = getattr(value, "of_edges", False)
        cells = [f"{number(name[0])} to {number(name[1])}" if bins else label(name) for name in value]
        return [f"{cell}\t{text}" for cell, text in zip(cells, shown, strict=True)]
    shown = [_with_interval(one, pair, percent) for one, pair in zip(value, pairs, strict=True)]
    called = [label(name) for name in names] if len(names) == len(shown) else []
    return align_lines(list(zip(called, shown, strict=True))) if called else shown


def _with_interval(value: Any, ends: Any, percent: str, apart: str = "   ") -> str:
    text, interval = figure_text(value, *((None, None) if ends is None else ends))
    return f"{text}{apart}{percent} interval {interval}" if interval else text


def _entry(value: Any, ends: Any, percent: str) -> str:
    """An entry of a table: a count, or a group's own answer."""
    if isinstance(value, NoReply):
        return f"⊥  a reply needs {value.advice}"
    if isinstance(value, Release):
        ends, percent = value.interval_at_hand()
    held = value.value if isinstance(value, Release) else value
    if np.ndim(held) == 0:
        return _with_interval(held, ends, percent, "\t")
    numbers = [words(one) if isinstance(one, date | timedelta) else number(one) for one in held]
    if isinstance(value, Release) and len(value.labels) == len(numbers) > 1:
        return "  ".join(f"{label(name)}: {text}" for name, text in zip(value.labels, numbers, strict=True))
    return " ".join(numbers)
