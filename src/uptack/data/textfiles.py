"""CSV files: text with a line of names, whose kinds the curator says. Every row is read by itself.

A file of text has no types. What a cell holds is decided by its column's declared kind and by the cell alone: one that
does not fit is missing, whether it is a word among numbers, 2.5 among integers, or bytes that are no text. A row with
too few or too many cells is a row of missing values. So no row can change how another one is read, and none can stop
the reading. Rows end where a line ends outside of quotes, as RFC 4180 has it.
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
from uptack.columns.moments import DAY, Form, objects_as_ticks
from uptack.data.protocol import known
from uptack.data.states import guarded
from uptack.errors import InvalidArgument

GUESS = "guess"
TYPES = ("integer", "number", "boolean", "text", "date", "datetime", "datetime-utc")
Types = Mapping[str, str] | str | None
DELIMITERS = ",;\t|"
"""What may be between two cells if nobody says it. The line of names decides, which is public; ties go to the first."""
BLOCK, LARGEST_BLOCK = 1 << 23, (1 << 31) - 1
HEAD = 1 << 20
"""Bytes that the line of names may have."""
PATTERNS = {
    "integer": r"^[+-]?[0-9]+$",
    "number": r"^[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|(?i:inf|infinity|nan))$",
    "date": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
    "datetime": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?)?$",
    "datetime-utc": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?"
    r"(?:Z|[+-][0-9]{2}:?[0-9]{2})?$",
}
"""What a cell of a kind looks like. Times are written as ISO 8601 has it; without a zone they are in UTC where that is
the kind."""
TRUE, FALSE = ("true", "t", "yes", "y", "1"), ("false", "f", "no", "n", "0")
GAPS = ("", "na", "n/a", "nan", "null", "none")
"""Words that a guess takes for a missing value, in upper or lower case."""


@dataclass(frozen=True)
class Layout:
    """What is public of a text file: the names of its columns, the sign between cells, and the lines above the rows."""

    names: tuple[str, ...]
    delimiter: str
    above: int


def layout(paths: Sequence[str], delimiter: str | None, header: bool | None, types: Types) -> Layout:
    """The layout that all files have. It looks at the first line only, and at none if there is no line of names."""
    if delimiter is not None and (not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '"\r\n'):
        raise InvalidArgument("delimiter", "one character", checks.describe(delimiter))
    if header is False:
        if not isinstance(types, Mapping) or not types or GUESS in types.values():
            fix = "Say types={'age': 'integer', ...} for all columns, in their order."
            raise InvalidArgument("types", "given for a file without a line of names", checks.describe(types), fix)
        return Layout(tuple(types), delimiter or _usual(paths[0]), 0)
    found = [_head(path, delimiter, header) for path in paths]
    for path, other in zip(paths, found, strict=True):
        if other != found[0]:
            fix = f"{Path(path).name!r} begins with other names than {Path(paths[0]).name!r}."
            raise InvalidArgument("data", "files with the same line of names", "different ones", fix)
    return found[0]


def _usual(path: str) -> str:
    return "\t" if ".tsv" in Path(path).suffixes else ","


def _stream(path: str) -> Any:
    import pyarrow as pa

    return pa.input_stream(path, compression="detect")


def _head(path: str, delimiter: str | None, header: bool | None) -> Layout:
    """The line of names. One that holds numbers is most likely a row, so it is shown to nobody."""
    with _stream(path) as file:
        start = guarded(lambda: bytes(file.read(HEAD))).decode("utf-8-sig", "replace")
    sign = delimiter or ("\t" if _usual(path) == "\t" else max(DELIMITERS, key=lambda d: len(_first(start, d)[0])))
    cells, above = _first(start, sign)
    if not any(cells):
        raise InvalidArgument("data", "a file that begins with a line of names", "none")
    if header is None and any(re.match(PATTERNS["number"], cell.strip()) for cell in cells):
        fix = "Say header=True if these are names, or header=False and types= for all columns in their order."
        raise InvalidArgument("data", "a file that begins with a line of names", "a line with numbers", fix)
    names = tuple(cell or f"column{place}" for place, cell in enumerate(cells))
    if len({name.casefold() for name in names}) < len(names):
        raise InvalidArgument("data", "a file whose columns have different names, whatever their case", "equal ones")
    return Layout(names, sign, above)


def _first(text: str, delimiter: str) -> tuple[list[str], int]:
    """The cells of the first row, and the number of lines that it takes."""
    rows = csv.reader(io.StringIO(text, newline=None), delimiter=delimiter)
    try:
        return next(rows, []), rows.line_num
    except csv.Error:
        return [], 0


def declared(types: Types, made: Layout, guesses: Callable[[], Mapping[str, str]]) -> dict[str, str]:
    """The kind of each column: as the curator says; text where nothing is said; `guesses` where that was asked for."""
    if types is None:
        like = ", ".join(f"{name!r}: ..." for name in made.names[:3])
        guessing = "or types='guess', if what fits all rows may be public"
        fix = f"Say types={{{like}}}, with {', '.join(map(repr, TYPES))}; {guessing}."
        raise InvalidArgument("types", "given for a CSV file, which has none", "None", fix)
    said = dict.fromkeys(made.names, GUESS) if types == GUESS else types
    if not isinstance(said, Mapping):
        raise InvalidArgument("types", "a dictionary such as {'age': 'integer'}, or 'guess'", checks.describe(types))
    for column, stated in said.items():
        known(column, dict.fromkeys(made.names, "other"))
        if stated not in (*TYPES, GUESS):
            must = f"one of {', '.join(map(repr, (*TYPES, GUESS)))}"
            raise InvalidArgument(f"types[{column!r}]", must, checks.describe(stated))
    kinds = {name: said.get(name, "text") for name in made.names}
    found = guesses() if GUESS in kinds.values() else {}
    return {name: found.get(name, "text") if kind == GUESS else kind for name, kind in kinds.items()}


def guess(paths: Sequence[str], made: Layout) -> dict[str, str]:
    """The narrowest kind that every row fits. It looks at all rows, so what it returns is theirs until it is used."""
    possible = {name: ["boolean", "integer", "number", "date", "datetime"] for name in made.names}
    seen = dict.fromkeys(made.names, False)
    for batch in _batches(paths, made):
        for name, cells in zip(made.names, batch, strict=True):
            texts = _texts(cells)
            seen[name] = seen[name] or bool(_filled(texts, "text"))
            possible[name] = [kind for kind in possible[name] if not _filled(texts, kind)]
    return {name: possible[name][0] if seen[name] and possible[name] else "text" for name in made.names}


def _filled(texts: Any, kind: str) -> int:
    """How many cells hold something: something that is not of the kind, for other kinds than text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    bare = pc.utf8_lower(pc.ascii_trim_whitespace(texts))
    held = pc.and_kleene(pc.is_valid(bare), pc.invert(pc.is_in(bare, pa.array(GAPS))))
    if kind == "boolean":  # 0 and 1 are numbers, if nobody says otherwise
        held = pc.and_(held, pc.invert(pc.is_in(bare, pa.array(["true", "false"]))))
    elif kind != "text":
        held = pc.and_(held, pc.is_null(_cast(texts, kind)))
    return int(pc.sum(held).as_py() or 0)


def copied(paths: Sequence[str], made: Layout, kinds: Mapping[str, str], folder: Path) -> Path:
    """The rows with their kinds in a Parquet file of a private folder."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([(name, _arrow(kinds[name])) for name in made.names])
    copy = folder / "rows.parquet"

    def write() -> None:
        with pq.ParquetWriter(copy, schema) as file:
            for batch in _batches(paths, made):
                cells = [_cast(_texts(c), kinds[name]) for name, c in zip(made.names, batch, strict=True)]
                file.write_batch(pa.RecordBatch.from_arrays(cells, schema=schema))

    guarded(write)
    return copy


def _arrow(kind: str) -> Any:
    """The type that a kind has in Arrow."""
    import pyarrow as pa

    plain = {"integer": pa.int64(), "number": pa.float64(), "boolean": pa.bool_(), "text": pa.string()}
    times = {"date": pa.date32(), "datetime": pa.timestamp("us"), "datetime-utc": pa.timestamp("us", "UTC")}
    return (plain | times)[kind]


def _batches(paths: Sequence[str], made: Layout) -> Iterator[list[Any]]:
    """The cells of all rows as bytes, column by column; then as many rows of nothing as had another number of cells."""
    import pyarrow as pa

    for path in paths:
        done, block, odd = 0, BLOCK, 0
        while block and not _empty(path, made.above):
            try:
                start, skipped = 0, list[int]()
                for batch in _parsed(path, made, block, skipped):
                    end = start + batch.num_rows
                    if end > done:
                        yield batch.slice(max(done - start, 0)).columns
                        done = end
                    start = end
                block, odd = 0, len(skipped)
            except pa.ArrowInvalid:  # a row is longer than a block: on from there with larger ones
                if block > LARGEST_BLOCK // 4:
                    raise
                block *= 4
        yield [pa.nulls(odd, pa.binary())] * len(made.names)


def _empty(path: str, above: int) -> bool:
    """Whether nothing follows the line of names."""
    with _stream(path) as file:
        start = bytes(file.read(HEAD))
    return len(start) < HEAD and not b"".join(re.split(rb"\r\n|\r|\n", start, maxsplit=above)[above:])


def _parsed(path: str, made: Layout, block: int, skipped: list[int]) -> Iterator[Any]:
    """Record batches of bytes. Rows with another number of cells are left out, and noted down."""
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
    kinds = arrow.ConvertOptions(column_types=dict.fromkeys(numbered, pa.binary()), strings_can_be_null=False)
    with _stream(path) as file:
        yield from arrow.open_csv(file, reading, parsing, kinds)


def _texts(cells: Any) -> Any:
    """Bytes as text; what is not UTF-8, or empty, is missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        texts = cells.cast(pa.string())
    except pa.ArrowInvalid:
        texts = pa.array([_decoded(cell) for cell in cells.to_pylist()], pa.string())
    return pc.if_else(pc.equal(pc.binary_length(texts), 0), pa.scalar(None, pa.string()), texts)


def _decoded(cell: bytes | None) -> str | None:
    try:
        return None if cell is None else cell.decode()
    except UnicodeDecodeError:
        return None


def _cast(texts: Any, kind: str) -> Any:
    """Texts as values of a kind; what does not fit is missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if kind == "text":
        return texts
    bare = pc.ascii_trim_whitespace(texts)
    if kind == "boolean":
        lower = pc.utf8_lower(bare)
        known_words = pc.is_in(lower, pa.array(TRUE + FALSE))
        return pc.if_else(known_words, pc.is_in(lower, pa.array(TRUE)), pa.scalar(None, pa.bool_()))
    fits = pc.fill_null(pc.match_substring_regex(bare, PATTERNS[kind]), False)
    cells, dtype = pc.if_else(fits, bare, pa.scalar(None, pa.string())), _arrow(kind)
    if kind in TIMES:
        return _times(cells, kind)
    try:
        return cells.cast(dtype)
    except pa.ArrowInvalid:
        return pa.array([_number(text, kind) for text in cells.to_pylist()], dtype)


TIMES = {"date": Form("date"), "datetime": Form("clock"), "datetime-utc": Form("utc")}


def _times(cells: Any, kind: str) -> Any:
    """Texts that look like times as such. The 30th of February is missing, and makes Arrow fail for all."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if kind == "datetime-utc":
        zoned = pc.match_substring_regex(cells, "(?:Z|[+-][0-9]{2}:?[0-9]{2})$")
        cells = pc.if_else(zoned, cells, pc.binary_join_element_wise(cells, "Z", ""))
    try:
        return cells.cast(_arrow(kind))
    except pa.ArrowInvalid:
        ticks, gone = objects_as_ticks(cells.to_pylist(), TIMES[kind])
    found = pa.array(ticks // DAY if kind == "date" else ticks, mask=gone)
    return (found.cast(pa.int32()) if kind == "date" else found).cast(_arrow(kind))


def _number(text: str | None, kind: str) -> int | float | None:
    if text is None or kind == "number":
        return None if text is None else float(text)
    digits = text.lstrip("+-").lstrip("0")
    whole = (-1 if text.startswith("-") else 1) * int(digits or "0") if len(digits) < 20 else 1 << 63
    return whole if -(1 << 63) <= whole < 1 << 63 else None
