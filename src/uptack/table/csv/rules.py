"""CSV files: text with a header, whose kinds the curator declares. Every row is read by itself.

A text file has no types. What a cell holds is decided by the declared kind of its column and by the cell alone
(`uptack.table.csv.cells`). A row with too few or too many cells is a row of missing values. So no row can change how
another one is read. Rows end where a line ends outside of quotes (RFC 4180).

The header is public. It shows the delimiter, unless a line such as "sep=;" above it does. A name that repeats an
earlier one, in upper or lower case, gets the first free suffix _2, _3 and so on. A column without a name is named after
its position: column_3.

One error at opening looks at the rows. A file in which fewer than half of the rows have as many cells as the header is
refused: nearly all of it would be missing values, and its curator would spend a budget on nothing. Nothing after the
opening depends on it.
"""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.interrupts import without_engine_errors
from uptack.progress import track
from uptack.table.csv import cells, recoding
from uptack.table.csv.cells import Numbers
from uptack.table.csv.time_cells import PATTERNS, null_scalar
from uptack.table.engine.connection import ahead
from uptack.table.names import column_name
from uptack.table.packages import arrow_csv, pa, pc, pq
from uptack.table.values.times import FORMS, TYPES

GUESS = "guess"
Types = Mapping[str, str] | str | None
DELIMITERS = ",;\t|"
"""What may be between two cells if it is not declared. The header decides, which is public; ties go to the first."""
BLOCK, LARGEST_BLOCK = 1 << 23, (1 << 31) - 1
PLAIN = Numbers()
HEAD = 1 << 20
"""Bytes that the header may have."""
UNNAMED = ("first", "last", "none")
"""Where rows have a cell that the header has no name for. "none": the header has an empty cell that rows don't have."""
MOST_MARKS = 2
"""Characters that a comment may begin with."""


@dataclass(frozen=True)
class Dialect:
    """How a text file is written; None stands for the default. See `uptack.table.opening.open_table`."""

    delimiter: str | None = None
    header: bool | None = None
    encoding: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    na: str | Sequence[str] | Mapping[str, str | Sequence[str]] | None = None
    skip_rows: int | None = None
    comment: str | None = None
    unnamed: str | None = None


@dataclass(frozen=True)
class Layout:
    """The public layout of a text file: columns, how it is written, and words for missing values (`na`) by column."""

    names: tuple[str, ...]
    delimiter: str
    above: int
    encoding: str = "utf-8"
    numbers: Numbers = PLAIN
    na: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    comment: str = ""


def read_layout(paths: Sequence[str], how: Dialect, types: Types) -> Layout:
    """The layout that all files have. It looks at the first lines only, and at no line if there is no header."""
    sign, skipped = how.delimiter, 0 if how.skip_rows is None else checks.integer("skip_rows", how.skip_rows, least=0)
    if sign is not None and (not isinstance(sign, str) or len(sign) != 1 or not sign.isascii() or sign in '"\r\n'):
        raise InvalidArgument("delimiter", "one character of ASCII", checks.describe(sign))
    if how.comment is not None and (not isinstance(how.comment, str) or not 0 < len(how.comment) <= MOST_MARKS):
        raise InvalidArgument("comment", "one or two characters, such as '#'", checks.describe(how.comment))
    if how.unnamed not in (None, *UNNAMED):
        raise InvalidArgument("unnamed", f"one of {', '.join(map(repr, UNNAMED))}", checks.describe(how.unnamed))
    header, encoding = how.header is not False, recoding.encoding_name(how.encoding)
    form, comment = cells.numbers(how.decimal, how.thousands), how.comment or ""
    for path in paths:
        recoding.check_compression(path, header)
    if not header:
        if not isinstance(types, Mapping) or not types or GUESS in types.values():
            fix = (
                "Pass types={'age': 'integer', ...} (--type age=integer) for all columns, in their order. "
                "`uptack describe FILE --curator --no-header --write` proposes them."
            )
            raise InvalidArgument("types", "given for a file without a header", checks.describe(types), fix)
        encoding, na = recoding.file_encoding(paths[0], encoding, False), cells.missing_words(how.na, tuple(types))
        return Layout(tuple(types), sign or _usual(paths[0]), skipped, encoding, form, na, comment)
    plain = Layout((), "", skipped, "", form, {}, comment)
    found = [_head(path, how, replace(plain, encoding=recoding.file_encoding(path, encoding, True))) for path in paths]
    for path, other in zip(paths, found, strict=True):
        if other != found[0]:
            fix = f"{Path(path).name!r} has another header than {Path(paths[0]).name!r}, or another encoding."
            raise InvalidArgument("data", "files with the same header", "different ones", fix)
    return found[0]


def _usual(path: str) -> str:
    return "\t" if ".tsv" in Path(path.lower()).suffixes else ","


def _head(path: str, how: Dialect, layout: Layout) -> Layout:
    """The layout with the header. A header with numbers in it is most likely a row, so the error does not show it."""
    with recoding.open_text(path, layout.encoding) as file:
        raw = without_engine_errors(lambda: bytes(file.read(HEAD)))
    start, stated, above = _preamble(raw.decode("utf-8-sig", "ignore"), layout)  # the last character may be cut
    sign = how.delimiter or stated or ("\t" if _usual(path) == "\t" else _header_delimiter(start))
    found, lines = _first(start, sign)
    must = "a CSV file with a header"
    if not any(found):
        fix = "If it has none, pass header=False and types= (--no-header, --type)."
        raise InvalidArgument("data", must, "an empty first line", fix)
    line = "".join(found)
    if "\0" in line:
        fix = "If it is UTF-16 without a byte order mark, pass encoding='utf-16-le' or 'utf-16-be' (--encoding)."
        raise InvalidArgument("data", must, "null bytes", fix)
    if recoding.LOST in line:
        fix = "Pass its encoding, such as encoding='latin-1' (--encoding latin-1) or 'utf-16'."
        raise InvalidArgument("data", f"{must} in {layout.encoding}", "invalid bytes", fix)
    if how.header is None and _has_numbers(found, layout.numbers.patterns["number"]):
        fix = "If another character separates cells, pass delimiter= (--delimiter). " if len(found) == 1 else ""
        fix += (
            "If these are names, pass header=True (--header). If there is no header, pass header=False and types= for "
            "all columns in their order (--no-header, --type). Lines above the header: skip_rows= (--skip-rows)."
        )
        raise InvalidArgument("data", must, "a first line with numbers", fix)
    if how.unnamed == "none":
        found = [name for name in found if name.strip()]
    elif how.unnamed is not None:
        found = ["", *found] if how.unnamed == "first" else [*found, ""]
    columns = column_names(found)
    na = cells.missing_words(how.na, columns)
    return replace(layout, names=columns, delimiter=sign, above=above + lines, na=na)


def _has_numbers(header: Sequence[str], number: str) -> bool:
    """Whether a header looks like a row. One cell may be a row of several whose delimiter is not known, such as blanks:
    then two numbers in it are enough, as `income 2024` may be a name."""
    if any(re.search(number, cell.strip()) for cell in header):
        return True
    words = re.split(r"[\s,;|:/]+", header[0].strip()) if len(header) == 1 else []
    return sum(re.search(number, word) is not None for word in words) > 1


def _header_delimiter(text: str) -> str:
    """The delimiter that splits the header into most cells; a blank between names in quotes, as R writes them."""
    sign = max(DELIMITERS, key=lambda one: len(_first(text, one)[0]))
    blanks = len(_first(text, sign)[0]) == 1 and re.match(r'"[^"]*"(?: "[^"]*")+ *(?:[\r\n]|$)', text)
    return " " if blanks else sign


def _preamble(text: str, layout: Layout) -> tuple[str, str | None, int]:
    """The text from the header on, the delimiter that a line such as "sep=;" states, and the number of lines above."""
    lines, above = io.StringIO(text, newline=""), layout.above
    line = next(itertools.islice(lines, above, None), "")
    stated = re.fullmatch(r'"?sep=([^"\r\n])"?[\r\n]*', line, re.IGNORECASE)
    while (stated and above == layout.above) or (layout.comment and line.startswith(layout.comment)):
        line, above = next(lines, ""), above + 1
    return line + lines.read(), stated and stated[1], above


def _first(text: str, delimiter: str) -> tuple[list[str], int]:
    """The cells of the first row, and the number of lines that it takes."""
    rows = csv.reader(io.StringIO(text, newline=None), delimiter=delimiter)
    try:
        return next(rows, []), rows.line_num
    except csv.Error:
        return [], 0


def column_names(written: Sequence[str]) -> tuple[str, ...]:
    """The names of columns from those that are written, each different from the others whatever their case.

    >>> column_names(["age", "", "Age", "age_2", "age", " "])
    ('age', 'column_2', 'Age_3', 'age_2', 'age_4', 'column_6')
    """
    called = [name if name.strip() else f"column_{place}" for place, name in enumerate(written, 1)]
    taken, unique = {name.casefold() for name in written}, dict[str, str]()
    for name in called:
        number, unlike = 2, name
        while unlike.casefold() in unique or (unlike != name and unlike.casefold() in taken):
            number, unlike = number + 1, f"{name}_{number}"
        unique[unlike.casefold()] = unlike
    return tuple(unique.values())


def declared_kinds(types: Types, layout: Layout) -> dict[str, str]:
    """The kind of each column as declared: "text" if it is left out, "guess" if it is to be inferred from the rows."""
    if types is None:
        like = ", ".join(f"{name!r}: ..." for name in layout.names[:3])
        fix = (
            f"Pass types={{{like}}}, with {', '.join(map(repr, TYPES))}; or types='guess' to infer them from the rows, "
            "which makes them public; or run `uptack init` on the file."
        )
        raise InvalidArgument("types", "given for a CSV file, which has none", "None", fix)
    stated = dict.fromkeys(layout.names, GUESS) if types == GUESS else types
    must = "a dictionary such as {'age': 'integer'}, or 'guess'"
    kinds: Mapping[str, str] = checks.instance("types", stated, Mapping, must)
    for column, kind in kinds.items():
        column_name(column, dict.fromkeys(layout.names, "other"))
        if not cells.is_kind(kind) and kind != GUESS:
            must = f"one of {', '.join(map(repr, (*TYPES, *cells.EXAMPLES, GUESS)))}"
            raise InvalidArgument(f"types[{column!r}]", must, checks.describe(kind))
    return {name: kinds.get(name, "text") for name in layout.names}


@dataclass
class RowWidths:
    """How many rows have as many cells as there are columns, and how many have another number of cells.

    An empty line fits: it is a row of missing values. Comments of another width are not counted.
    """

    fitting: int = 0
    others: Counter[int] = field(default_factory=Counter)

    def check(self, layout: Layout) -> None:
        """Refuses a file in which fewer than half of the rows have as many cells as the header."""
        if self.others.total() <= self.fitting:
            return
        width, columns = self.others.most_common(1)[0][0], len(layout.names)
        if width == columns + 1:
            fix = (
                "If the first column has no name, as in files that R writes, pass unnamed='first' (--unnamed first). "
                "If rows end with a delimiter, pass unnamed='last' (--unnamed last)."
            )
        elif width == columns - 1:
            fix = "If the header ends with a delimiter and rows do not, pass unnamed='none' (--unnamed none)."
        else:
            fix = "If another character separates cells, pass delimiter= (--delimiter)."
        fix += " If there are lines above the header, pass skip_rows= or comment= (--skip-rows or --comment)."
        must = f"a CSV file whose rows have as many cells as there are columns ({columns})"
        raise InvalidArgument("data", must, f"mostly rows of {width}", fix)


def text_batches(paths: Sequence[str], layout: Layout, widths: RowWidths | None = None) -> Iterator[list[Any]]:
    """The cells of all rows as texts, column by column: see `cell_batches`."""
    return (texts(batch, layout) for batch in cell_batches(paths, layout, widths))


def texts(batch: Sequence[Any], layout: Layout) -> list[Any]:
    """The cells of some rows; those that are missing are null."""
    return [cells.cell_texts(one, layout.na.get(name, ())) for name, one in zip(layout.names, batch, strict=True)]


def cell_batches(
    paths: Sequence[str], layout: Layout, widths: RowWidths | None = None, *, label: str | None = "reading"
) -> Iterator[list[Any]]:
    """The cells of all rows as they are written; then a row of nulls for each row with another number of cells.

    `widths` counts both. `label` names the progress line, which counts files only; None for no such line.
    """
    for path in paths if label is None else track(paths, label, inner=True):
        done, block, skips, others = 0, BLOCK, 0, list[int]()
        while block and not _empty(path, layout):
            try:
                start, skipped = 0, list[int]()
                for batch in _parse(path, layout, block, skipped):
                    end = start + batch.num_rows
                    if end > done:
                        columns = batch.slice(max(done - start, 0)).columns
                        if layout.comment:  # its cells are missing, but the row stays: no cell may change their number
                            gone = pc.starts_with(columns[0], layout.comment)
                            columns = [pc.if_else(gone, null_scalar(pa.string()), column) for column in columns]
                        yield columns
                        done = end
                    start = end
                block, skips, others = 0, len(skipped), [width for width in skipped if width]
            except pa.ArrowInvalid:  # a row is longer than a block: on from there with larger ones
                if block > LARGEST_BLOCK // 4:
                    raise
                block *= 4
        if widths is not None:
            widths.fitting += done
            widths.others.update(others)
        yield [pa.nulls(skips, pa.string())] * len(layout.names)


def _empty(path: str, layout: Layout) -> bool:
    with recoding.open_text(path, layout.encoding) as file:
        start = bytes(file.read(HEAD))
        more = len(start) == HEAD or bool(file.read(1))
    return not more and not b"".join(re.split(rb"\r\n|\r|\n", start, maxsplit=layout.above)[layout.above :])


def _parse(path: str, layout: Layout, block: int, skipped: list[int]) -> Iterator[Any]:
    """Record batches of texts. Rows with another number of cells are left out, and their widths are put into `skipped`,
    0 for a comment.

    That they are UTF-8 need not be checked: what is not has been replaced (`uptack.table.csv.recoding`).
    """

    def skip(row: Any) -> str:
        comment = layout.comment and row.text.startswith(layout.comment)
        skipped.append(0 if comment else row.actual_columns)
        return "skip"

    numbered = [str(place) for place in range(len(layout.names))]
    parsing = arrow_csv.ParseOptions(
        delimiter=layout.delimiter, newlines_in_values=True, ignore_empty_lines=False, invalid_row_handler=skip
    )
    reading = arrow_csv.ReadOptions(block_size=block, use_threads=False, column_names=numbered, skip_rows=layout.above)
    types = dict.fromkeys(numbered, pa.string())
    kinds = arrow_csv.ConvertOptions(column_types=types, strings_can_be_null=False, check_utf8=False)
    with recoding.open_text(path, layout.encoding, rows=True) as file:
        yield from arrow_csv.open_csv(file, reading, parsing, kinds)


# ------------------------------------------------------------------ copies in a private folder, and inference of kinds

SIGNS = ("", " %", " $", " €", " £")
UNITS = tuple(f"number:{sign.strip()}" for sign in SIGNS if sign)
COMMAS = {form: tuple(f"number:{form}{sign}" for sign in SIGNS) for form in ("1,234.5", "1.234,5", "1 234,5")}
DATES = tuple((f"date:%d{sign}%m{sign}%Y", f"date:%m{sign}%d{sign}%Y") for sign in "/-")
AMBIGUOUS = (
    *DATES,
    *(("integer:1,234.5", COMMAS[form][0]) for form in ("1.234,5", "1 234,5")),
    *(pair for form in ("1.234,5", "1 234,5") for pair in zip(COMMAS["1,234.5"], COMMAS[form], strict=True)),
)
"""Pairs of formats of which both may fit all rows, as they fit 1/2/2024 and 1,234. Then neither is inferred."""
FORMATS = (
    "date:%Y/%m/%d", "date:%d.%m.%Y", *(format for pair in DATES for format in pair), "date:%d-%b-%Y",
    "datetime:%Y/%m/%d %H:%M", "datetime:%Y/%m/%d %H:%M:%S", "datetime:%d.%m.%Y %H:%M", *UNITS,
    "integer:1,234.5", *(kind for kinds in COMMAS.values() for kind in kinds),
)  # fmt: skip
NARROW = ("boolean", "integer", "number", *PATTERNS, *FORMATS)
"""Kinds that are inferred, of two that fit the first; if none fits, the column is a text."""
LETTERS = re.compile(r"(?i)(?:[\W\d_]|[tze]|inf(?:inity)?|nan|(?<=-)[a-z]{3}(?=-))*")
"""What a cell of those kinds may be, `boolean` aside: no letters but those of times, exponents, months and infinity."""
DATE = re.compile(r"\d[-/.]\w{1,3}[-/.]\d")
"""What is in each date and time of those kinds."""


def possible_kinds(found: Any, kinds: Sequence[str]) -> list[str]:
    """The kinds that the first cells may be of, by their letters and signs: to try all others would take longer."""
    few = found.slice(0, cells.FEW)
    texts = [text.strip() for text in few.filter(cells.filled_cells(few)).to_pylist()]
    if not all(map(LETTERS.fullmatch, texts)):
        return [kind for kind in kinds if kind == "boolean"]
    dates = all(map(DATE.search, texts))
    return [kind for kind in kinds if dates or cells.base(kind) not in FORMS]


def unambiguous(kinds: Sequence[str]) -> list[str]:
    """The kinds, without pairs of formats that both fit.

    >>> unambiguous(["date:%d-%m-%Y", "date:%m/%d/%Y", "date:%d/%m/%Y"])
    ['date:%d-%m-%Y']
    """
    both = {kind for pair in AMBIGUOUS if set(pair) <= set(kinds) for kind in pair}
    return [kind for kind in kinds if kind not in both]


def infer_kinds(paths: Sequence[str], layout: Layout) -> dict[str, str]:
    """The narrowest kind that every row fits. It looks at all rows, so the result is not private before it is used."""
    guesses, widths = Guesses(layout, dict.fromkeys(layout.names, GUESS)), RowWidths()
    batches = cell_batches(paths, layout, widths, label="inferring types")
    without_engine_errors(lambda: deque(ahead(guesses.read, batches), maxlen=0))
    widths.check(layout)
    return guesses.kinds()


def copy_rows(
    paths: Sequence[str], layout: Layout, kinds: Mapping[str, str], folder: Path
) -> tuple[Path, dict[str, str]]:
    """The copy, and the kinds of its columns. Kinds that are not declared are inferred while rows are copied.

    If later rows change a kind, all rows are read again. Only the curator who asked for the inference sees the time.
    """
    copy, guesses, widths = folder / "rows.parquet", Guesses(layout, kinds), RowWidths()
    if not without_engine_errors(lambda: _write(copy, paths, layout, guesses, widths, "converting to Parquet")):
        guesses = Guesses(layout, guesses.kinds())
        without_engine_errors(lambda: _write(copy, paths, layout, guesses, None, None))
    widths.check(layout)
    return copy, guesses.kinds()


def _write(
    copy: Path, paths: Sequence[str], layout: Layout, guesses: Guesses, widths: RowWidths | None, label: str | None
) -> bool:
    """Write the rows with the kinds that the first batch has; whether all others had them too.

    Columns are encoded by their types: small, and sooner than by packing what was written plainly.
    """
    batches = ahead(guesses.read, cell_batches(paths, layout, widths, label=label))
    first = next(batches)
    types = {field.name: field.type for field in first.schema}
    words = [name for name, dtype in types.items() if dtype == pa.string()]  # only they gain by a dictionary
    deltas = {n: "DELTA_BINARY_PACKED" for n, t in types.items() if t not in (pa.string(), pa.float64(), pa.bool_())}
    encoding = {"use_dictionary": words, "column_encoding": deltas or None}
    with pq.ParquetWriter(copy, first.schema, compression="none", write_statistics=False, **encoding) as file:
        file.write_batch(first)
        same = True
        for batch in batches:
            same = same and batch.schema == first.schema
            if same:
                file.write_batch(batch)
    return same


class Guesses:
    """The kinds of columns: as declared, else the narrowest kind that fits all rows read so far."""

    def __init__(self, layout: Layout, kinds: Mapping[str, str]) -> None:
        self._layout, self._form, self._declared = layout, layout.numbers, {name: kinds[name] for name in layout.names}
        self._possible = {name: NARROW for name, kind in self._declared.items() if kind == GUESS}
        self._seen = set[str]()

    def kinds(self) -> dict[str, str]:
        """The kinds so far. A column without values is a text."""
        return {name: self._guess(name) if kind == GUESS else kind for name, kind in self._declared.items()}

    def _guess(self, name: str) -> str:
        possible = self._possible[name]
        clear = unambiguous(list(possible))
        return clear[0] if name in self._seen and clear else "text"

    def read(self, batch: Sequence[Any]) -> Any:
        """Some more rows as a record batch with the kinds that columns have now."""
        both = zip(self._declared, texts(batch, self._layout), strict=True)
        columns = [self._values(name, found) for name, found in both]
        return pa.RecordBatch.from_arrays(columns, schema=cells.schema(self.kinds()))

    def _values(self, name: str, found: Any) -> Any:
        if self._declared[name] != GUESS:
            return cells.cast(found, self._declared[name], self._form)
        if name not in self._seen and cells.any_filled(found):
            self._seen.add(name)
        fit: dict[str, Any] = {}
        for kind in possible_kinds(found, self._possible[name]):
            numeric = cells.base(kind) in ("integer", "number")
            if numeric and kind != "integer" and fit.keys() & {"integer", "number"}:  # it fits, and is not chosen
                fit[kind] = None
            elif (values := cells.cast_if_fitting(found, kind, self._form)) is not None:
                fit[kind] = values
        self._possible[name] = tuple(fit)
        return found if (kind := self._guess(name)) == "text" else fit[kind]
