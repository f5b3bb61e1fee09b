"""CSV files: text with a line of names, whose kinds the curator says. Every row is read by itself.

A file of text has no types. What a cell holds is decided by its column's declared kind and by the cell alone
(`uptack.table.csv.cells`). A row with too few or too many cells is a row of missing values. So no row can change how
another one is read, and none can stop the reading. Rows end where a line ends outside of quotes, as RFC 4180 has it.

The line of names is public. It says what is between two cells. A name that an earlier column has, in upper or lower
case, gets _2, _3 and so on, the first that no column has; a column without a name is called by its place, column_3.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.progress import track
from uptack.table.csv import cells, recoding
from uptack.table.csv.cells import TYPES, Numbers
from uptack.table.names import known
from uptack.table.snapshots import guarded

GUESS = "guess"
Types = Mapping[str, str] | str | None
DELIMITERS = ",;\t|"
"""What may be between two cells if nobody says it. The line of names decides, which is public; ties go to the first."""
BLOCK, LARGEST_BLOCK = 1 << 23, (1 << 31) - 1
PLAIN = Numbers()
HEAD = 1 << 20
"""Bytes that the line of names may have."""


@dataclass(frozen=True)
class Dialect:
    """How a text file is written, as far as somebody said it; None is what nobody said. See `open_table`."""

    delimiter: str | None = None
    header: bool | None = None
    encoding: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    na: str | Sequence[str] | None = None


@dataclass(frozen=True)
class Layout:
    """What is public of a text file: the names of its columns, how it is written, and the lines above the rows."""

    names: tuple[str, ...]
    delimiter: str
    above: int
    encoding: str = "utf-8"
    numbers: Numbers = PLAIN
    na: tuple[str, ...] = ()


def layout(paths: Sequence[str], how: Dialect, types: Types) -> Layout:
    """The layout that all files have. It looks at the first line only, and at none if there is no line of names."""
    sign = how.delimiter
    if sign is not None and (not isinstance(sign, str) or len(sign) != 1 or not sign.isascii() or sign in '"\r\n'):
        raise InvalidArgument("delimiter", "one character of ASCII", checks.describe(sign))
    names, encoding = how.header is not False, recoding.known(how.encoding)
    form, na = cells.numbers(how.decimal, how.thousands), cells.gaps(how.na)
    for path in paths:
        recoding.check(path, names)
    if not names:
        if not isinstance(types, Mapping) or not types or GUESS in types.values():
            fix = (
                "Say types={'age': 'integer', ...} (--type age=integer) for all columns, in their order. "
                "`uptack describe FILE --curator --no-header --write` proposes them."
            )
            raise InvalidArgument("types", "given for a file without a line of names", checks.describe(types), fix)
        return Layout(tuple(types), sign or _usual(paths[0]), 0, recoding.found(paths[0], encoding, False), form, na)
    found = [_head(path, how, Layout((), "", 0, recoding.found(path, encoding, True), form, na)) for path in paths]
    for path, other in zip(paths, found, strict=True):
        if other != found[0]:
            fix = f"{Path(path).name!r} begins with other names than {Path(paths[0]).name!r}, or is encoded otherwise."
            raise InvalidArgument("data", "files with the same line of names", "different ones", fix)
    return found[0]


def _usual(path: str) -> str:
    return "\t" if ".tsv" in Path(path.lower()).suffixes else ","


def _head(path: str, how: Dialect, made: Layout) -> Layout:
    """The line of names. One that holds numbers is most likely a row, so it is shown to nobody."""
    with recoding.opened(path, made.encoding) as file:
        start = guarded(lambda: bytes(file.read(HEAD))).decode("utf-8-sig", "ignore")  # the last character may be cut
    tabs = _usual(path) == "\t"
    sign = how.delimiter or ("\t" if tabs else max(DELIMITERS, key=lambda d: len(_first(start, d)[0])))
    found, above = _first(start, sign)
    must = "a file that begins with a line of names"
    if not any(found):
        raise InvalidArgument("data", must, "none", "Say header=False and types= (--no-header, --type) if it has none.")
    line = "".join(found)
    if "\0" in line:
        fix = "Say encoding='utf-16-le' or 'utf-16-be' (--encoding) if it is UTF-16 without a byte order mark."
        raise InvalidArgument("data", must, "null bytes", fix)
    if recoding.LOST in line:
        fix = "Say what it is written in: encoding='latin-1' (--encoding latin-1), or 'utf-16'."
        raise InvalidArgument("data", f"{must} in {made.encoding}", "bytes that are none", fix)
    if how.header is None and any(re.search(made.numbers.patterns["number"], cell.strip()) for cell in found):
        fix = (
            "Say header=True (--header) if these are names, or header=False and types= for all columns in their order "
            "(--no-header, --type)."
        )
        raise InvalidArgument("data", must, "a line with numbers", fix)
    return Layout(names(found), sign, above, made.encoding, made.numbers, made.na)


def _first(text: str, delimiter: str) -> tuple[list[str], int]:
    """The cells of the first row, and the number of lines that it takes."""
    rows = csv.reader(io.StringIO(text, newline=None), delimiter=delimiter)
    try:
        return next(rows, []), rows.line_num
    except csv.Error:
        return [], 0


def names(written: Sequence[str]) -> tuple[str, ...]:
    """The names of columns from those that are written, each different from the others whatever their case.

    >>> names(["age", "", "Age", "age_2", "age", " "])
    ('age', 'column_2', 'Age_3', 'age_2', 'age_4', 'column_6')
    """
    called = [name if name.strip() else f"column_{place}" for place, name in enumerate(written, 1)]
    taken, made = {name.casefold() for name in written}, dict[str, str]()
    for name in called:
        number, unlike = 2, name
        while unlike.casefold() in made or (unlike != name and unlike.casefold() in taken):
            number, unlike = number + 1, f"{name}_{number}"
        made[unlike.casefold()] = unlike
    return tuple(made.values())


def declared(types: Types, made: Layout) -> dict[str, str]:
    """The kind of each column as the curator says: text where nothing is said, "guess" where that was asked for."""
    if types is None:
        like = ", ".join(f"{name!r}: ..." for name in made.names[:3])
        guessing = "or types='guess', if what fits all rows may be public, or `uptack init` on its file"
        fix = f"Say types={{{like}}}, with {', '.join(map(repr, TYPES))}; {guessing}."
        raise InvalidArgument("types", "given for a CSV file, which has none", "None", fix)
    said = dict.fromkeys(made.names, GUESS) if types == GUESS else types
    if not isinstance(said, Mapping):
        raise InvalidArgument("types", "a dictionary such as {'age': 'integer'}, or 'guess'", checks.describe(types))
    for column, stated in said.items():
        known(column, dict.fromkeys(made.names, "other"))
        if not cells.is_kind(stated) and stated != GUESS:
            must = f"one of {', '.join(map(repr, (*TYPES, 'boolean:yes/no', GUESS)))}"
            raise InvalidArgument(f"types[{column!r}]", must, checks.describe(stated))
    return {name: said.get(name, "text") for name in made.names}


def batches(
    paths: Sequence[str], made: Layout, odd: Callable[[int], None] = lambda rows: None, *, label: str = "reading"
) -> Iterator[list[Any]]:
    """The cells of all rows as texts, column by column: see `unread`."""
    return (texts(batch, made) for batch in unread(paths, made, odd, label=label))


def texts(batch: Sequence[Any], made: Layout) -> list[Any]:
    """The cells of some rows without what is missing."""
    return [cells.texts(one, made.na) for one in batch]


def unread(
    paths: Sequence[str], made: Layout, odd: Callable[[int], None] = lambda rows: None, *, label: str | None = "reading"
) -> Iterator[list[Any]]:
    """The cells of all rows as they are written; then as many rows of nothing as had another number of cells.

    `odd` is told how many those are. `label` is what progress is called, which counts files and nothing in them; with
    None there is none.
    """
    import pyarrow as pa

    for path in paths if label is None else track(paths, label, inner=True):
        done, block, skips = 0, BLOCK, 0
        while block and not _empty(path, made):
            try:
                start, skipped = 0, list[int]()
                for batch in _parsed(path, made, block, skipped):
                    end = start + batch.num_rows
                    if end > done:
                        yield batch.slice(max(done - start, 0)).columns
                        done = end
                    start = end
                block, skips = 0, len(skipped)
            except pa.ArrowInvalid:  # a row is longer than a block: on from there with larger ones
                if block > LARGEST_BLOCK // 4:
                    raise
                block *= 4
        odd(skips)
        yield [pa.nulls(skips, pa.string())] * len(made.names)


def _empty(path: str, made: Layout) -> bool:
    """Whether nothing follows the line of names."""
    with recoding.opened(path, made.encoding) as file:
        start = bytes(file.read(HEAD))
        more = len(start) == HEAD or bool(file.read(1))
    return not more and not b"".join(re.split(rb"\r\n|\r|\n", start, maxsplit=made.above)[made.above :])


def _parsed(path: str, made: Layout, block: int, skipped: list[int]) -> Iterator[Any]:
    """Record batches of texts. Rows with another number of cells are left out, and noted down.

    That they are UTF-8 need not be checked: what is not has been replaced (`uptack.table.csv.recoding`).
    """
    import pyarrow as pa
    from pyarrow import csv as arrow

    def skip(row: Any) -> str:
        skipped.append(row.actual_columns)
        return "skip"

    numbered = [str(place) for place in range(len(made.names))]
    parsing = arrow.ParseOptions(
        delimiter=made.delimiter, newlines_in_values=True, ignore_empty_lines=False, invalid_row_handler=skip
    )
    reading = arrow.ReadOptions(block_size=block, use_threads=False, column_names=numbered, skip_rows=made.above)
    types = dict.fromkeys(numbered, pa.string())
    kinds = arrow.ConvertOptions(column_types=types, strings_can_be_null=False, check_utf8=False)
    with recoding.opened(path, made.encoding, rows=True) as file:
        yield from arrow.open_csv(file, reading, parsing, kinds)
