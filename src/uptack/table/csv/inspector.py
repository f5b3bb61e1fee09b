"""The curator's inspection of a CSV file: how it seems to be written, and what its columns hold. **Not private.**

It reads all rows without noise, and proposes a schema. What the curator saves of it is public from then on. Only
commands for the curator call this. When a file is opened, it is read as declared.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from uptack.errors import InvalidArgument
from uptack.interrupts import without_engine_errors
from uptack.table.csv import cells, recoding, rules
from uptack.table.csv.cells import Numbers
from uptack.table.csv.rules import FORMATS, unambiguous
from uptack.table.csv.time_cells import DURATION, beyond_a_day
from uptack.table.engine.files import NEAR, FileOptions, ambiguous, hint, local_files, text_layout
from uptack.table.packages import pc
from uptack.table.schema import ColumnSchema

SIGNS = ((".", ""), (".", ","), (",", ""), (",", "."), (",", " "), (".", " "), (".", "'"))
FORMS = tuple(Numbers(*signs) for signs in SIGNS)
"""How numbers may be written. Of two that fit alike the first is proposed."""
MOST = Fraction(95, 100)
"""So many of a column's cells must be of a kind for that kind to be proposed; the others will be missing values."""
NUMBERS, TIMES = ("integer", "number"), ("date", "datetime", "datetime-utc", DURATION)
KINDS = ("boolean", *NUMBERS, *TIMES, *FORMATS)
"""Kinds that are tried. If none fits, the column is a text."""
MOST_ABOVE = 20
"""Lines above a header that are looked for."""
SHOWN, KEPT = 3, 1000
BETWEEN = "\t;|, "
"""What may separate cells. Of several that fit the first is proposed, since a comma may be a decimal sign."""
SIGN_AROUND = f"^([+-]?)[{cells.BLANKS}]*[%$€£][{cells.BLANKS}]*|[{cells.BLANKS}]*[%$€£]$"
"""A sign before or after a number. It is ignored where the form of numbers is looked for."""
SAMPLE = 1 << 18
"""Bytes by which that is decided."""
POSTCODE = re.compile(r"(^|[_\W])(zip|zip_?code|post_?code|postal(_?code)?|plz)$", re.IGNORECASE)
"""Names of columns of codes that are digits, of which no median is wanted."""
NONE = "none"
"""Not proposed as a missing value. Among texts it may be a category; among numbers it is missing anyway."""
FINEST = 4
"""Decimal places up to which they are taken for a step of measurement."""


@dataclass(frozen=True)
class ColumnLook:
    """One column: the proposed kind and granularity, how many cells are filled, and how many of them don't fit.

    `na` are words for missing values of this column alone. `hint` is advice for the curator.
    """

    name: str
    kind: str
    granularity: Fraction | None = None
    filled: int = 0
    misfits: int = 0
    words: tuple[str, ...] = ()
    hint: str = ""
    na: tuple[str, ...] = ()

    @property
    def schema(self) -> ColumnSchema:
        return ColumnSchema(self.kind, self.granularity, na=self.na or None)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        step = None if self.granularity is None else float(self.granularity)
        return {**vars(self), "granularity": step, "words": list(self.words), "na": list(self.na)}


@dataclass(frozen=True)
class Look:
    """What was seen of a file. `dialect` are options of `open_table`; `odd` rows have too few or many cells."""

    dialect: Mapping[str, Any]
    columns: tuple[ColumnLook, ...]
    rows: int
    odd: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        columns = [column.to_dict() for column in self.columns]
        return {"file": dict(self.dialect), "columns": columns, "rows": self.rows, "odd": self.odd}


def inspect_file(path: str, options: FileOptions) -> Look:
    """What a CSV file seems to be. Options that are given are taken as they are, kinds of columns among them."""
    return without_engine_errors(lambda: _inspect(path, options))


def _inspect(path: str, options: FileOptions) -> Look:
    stated = dict(options.types) if isinstance(options.types, Mapping) else {}
    encoding = recoding.encoding_name(options.encoding) or _encoding(path, options)
    lines = _lines(path, encoding)
    types = (stated or _numbered_columns(lines, options)) if options.header is False else rules.GUESS
    preamble = _preamble(lines, options)
    stated_file = replace(options, types=types, encoding=encoding, **preamble)
    paths, layout = text_layout(path, stated_file)
    layout = _with_delimiter(path, lines, layout, stated_file)
    if options.unnamed is None and options.header is not False and (where := _unnamed_column(lines, layout)):
        preamble["unnamed"] = where
        paths, layout = text_layout(path, replace(stated_file, delimiter=layout.delimiter, unnamed=where))
    layout = replace(layout, numbers=_form(paths, layout, options))
    seen, widths = [_ColumnInspector(name, layout.numbers) for name in layout.names], rules.RowWidths()
    for batch in rules.text_batches(paths, layout, widths):
        for column, texts in zip(seen, batch, strict=True):
            column.see(texts)
    gaps = sum((column.gaps for column in seen), Counter[str]())
    frequent = sorted((word for word in gaps if word.lower() != NONE), key=lambda word: (-gaps[word], word))
    own = options.na if isinstance(options.na, Mapping) else {}
    na = frequent if options.na is None else next(iter(layout.na.values()), ())
    dialect = {
        "delimiter": layout.delimiter,
        "header": options.header is not False,
        "encoding": layout.encoding,
        "decimal": layout.numbers.decimal,
        "thousands": layout.numbers.thousands,
        "na": [] if own else list(na),
        **preamble,
    }
    found = tuple(column.propose(stated.get(column.name), layout.na if own else {}) for column in seen)
    return Look(dialect, found, seen[0].rows if seen else 0, widths.others.total())


def _encoding(path: str, options: FileOptions) -> str:
    """What the bytes seem to be: what a mark says, UTF-16 where every other byte is null, else what decodes them."""
    name = local_files(path, "csv")[0]
    if (marked := recoding.file_encoding(name, None, options.header is not False)) != "utf-8":
        return marked
    with recoding.open_bytes(name) as file:
        start = bytes(file.read(4096))
        for parity, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
            if start[parity::2].count(0) * 2 > len(start) // 2:
                return encoding
    for encoding in ("utf-8", "cp1252"):
        if _decodes(name, encoding):
            return encoding
    return "latin-1"


def _with_delimiter(path: str, lines: list[str], layout: rules.Layout, options: FileOptions) -> rules.Layout:
    """The layout with the delimiter that splits nearly all rows alike, if none is given and the header shows none."""
    if options.delimiter is not None or (options.header is not False and len(layout.names) > 1):
        return layout
    for sign in BETWEEN:
        rows = _rows(lines, sign)
        wanted = len(layout.names) if options.header is False else len(rows[0]) if rows else 0
        if wanted > 1 and sum(len(row) == wanted for row in rows) >= MOST * len(rows):
            try:
                return text_layout(path, replace(options, delimiter=sign))[1]
            except InvalidArgument:  # what would be names are none
                continue
    return layout


def _preamble(lines: list[str], options: FileOptions) -> dict[str, Any]:
    """Options that skip what seems to be above the header: comments, or lines with another number of cells."""
    if options.skip_rows is not None or options.comment is not None or options.header is False:
        return {}
    if lines and lines[0].startswith("#"):
        body = [line for line in lines if not line.startswith("#")]
        comment = max(len(row) for sign in rules.DELIMITERS for row in (_rows(body[:1], sign) or [[]])) > 1
        return {"comment": "#"} if comment else {}
    for sign in BETWEEN if options.delimiter is None else (options.delimiter,):
        rows = [next(iter(_rows([line], sign)), []) for line in lines]
        width, often = Counter(len(row) for row in rows if row).most_common(1)[0] if rows else (0, 0)
        filled = [sum(bool(cell.strip()) for cell in row) for row in rows]
        above = next((i for i, row in enumerate(rows) if len(row) == width and filled[i] >= width - 1), 0)
        if width > 1 and not above and often >= MOST * len(rows):  # the first line is the header: nothing is above it
            return {}
        stated = above == 1 and lines[0].lower().startswith(("sep=", '"sep='))
        if width > 2 and often >= MOST * (len(rows) - above) and 0 < above <= MOST_ABOVE and not stated:
            return {"skip_rows": above} if all(few < width - 1 for few in filled[:above]) else {}
    return {}


def _unnamed_column(lines: list[str], layout: rules.Layout) -> str | None:
    """Where rows seem to have a cell that the header has no name for: see `uptack.table.csv.rules.UNNAMED`."""
    rows, columns = _rows(lines[layout.above :], layout.delimiter), len(layout.names)
    width, often = Counter(map(len, rows)).most_common(1)[0] if rows else (columns, 0)
    if often < MOST * len(rows) or abs(width - columns) != 1:
        return None
    if width < columns:
        return "none" if columns > 1 else None
    return "last" if all(row[-1] == "" for row in rows if len(row) == width) else "first"


def _numbered_columns(lines: list[str], options: FileOptions) -> dict[str, str]:
    """Names for the columns of a file that has none: as many as nearly all rows have cells, by some sign."""
    for sign in BETWEEN if options.delimiter is None else (options.delimiter,):
        counts = Counter(len(row) for row in _rows(lines, sign))
        width, rows = counts.most_common(1)[0] if counts else (0, 0)
        if width > 1 and rows >= MOST * counts.total():
            return dict.fromkeys(rules.column_names([""] * width), "text")
    return dict.fromkeys(rules.column_names([""]), "text")


def _lines(path: str, encoding: str) -> list[str]:
    with recoding.open_text(local_files(path, "csv")[0], encoding) as file:
        start = bytes(file.read(SAMPLE))
    lines = start.decode("utf-8-sig", "ignore").splitlines(keepends=True)
    return lines[:-1] if len(start) == SAMPLE else lines


def _rows(lines: Sequence[str], sign: str) -> list[list[str]]:
    try:
        return [row for row in csv.reader(lines, delimiter=sign) if row]
    except csv.Error:
        return []


def _decodes(path: str, encoding: str) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)()
    with recoding.open_bytes(path) as file:
        try:
            while chunk := bytes(file.read(recoding.CHUNK)):
                decoder.decode(chunk)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
    return True


def _form(paths: Sequence[str], layout: rules.Layout, options: FileOptions) -> Numbers:
    """How numbers seem to be written: so that most columns are numbers, and then most cells."""
    given = options.decimal, options.thousands
    forms = [one for one in FORMS if given[0] in (None, one.decimal) and given[1] in (None, one.thousands)]
    if not forms:
        return layout.numbers
    fit = np.zeros((len(forms), len(layout.names)), np.int64)
    held = np.zeros(len(layout.names), np.int64)
    for batch in rules.text_batches(paths, layout):
        for place, texts in enumerate(batch):
            some = cells.filled_cells(texts)
            held[place] += pc.sum(some).as_py() or 0
            bare = pc.replace_substring_regex(pc.ascii_trim_whitespace(texts), SIGN_AROUND, r"\1")
            for number, form in enumerate(forms):
                fit[number, place] += pc.sum(pc.and_(some, cells.fits(bare, "number", form))).as_py() or 0
    good = (fit >= float(MOST) * held) & (fit > 0)
    return max(zip(forms, good.sum(axis=1), (fit * good).sum(axis=1), strict=True), key=lambda one: one[1:])[0]


@dataclass
class _ColumnInspector:
    """What was seen of one column so far."""

    name: str
    form: Numbers
    rows: int = 0
    filled: int = 0
    numbers: int = 0
    places: int = 0
    unlike_5: int = 0
    """Decimal places of those numbers that don't end in 5."""
    step: int = 0
    misfits: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    odd: bool = False
    spans: bool = False
    """Whether a duration is among the cells that is no time of day."""
    gaps: Counter[str] = field(default_factory=Counter)
    words: Counter[str] = field(default_factory=Counter)

    def see(self, texts: Any) -> None:
        some, bare = cells.filled_cells(texts), pc.ascii_trim_whitespace(texts)
        self.rows += len(texts)
        self.filled += pc.sum(some).as_py() or 0
        for kind in self.misfits:
            self.misfits[kind] += cells.misfits(texts, kind, self.form)
        self.spans = self.spans or beyond_a_day(bare)
        self._count(self.gaps, pc.filter(bare, pc.and_(pc.is_valid(bare), pc.invert(some))))
        fits = pc.and_(some, cells.fits(bare, "number", self.form))
        if len(self.words) < KEPT:
            self._count(self.words, pc.filter(bare, pc.and_(some, pc.invert(fits))))
        plain = self.form.plain(pc.filter(bare, fits))
        self.odd = self.odd or bool(pc.any(pc.match_substring_regex(plain, r"^[+-]?0[0-9]")).as_py())
        short = pc.replace_substring_regex(plain, r"(\.[0-9]*?)0+$", r"\1")  # 3.0 is no finer than 3
        dots = pc.find_substring(short, ".")
        after = pc.if_else(pc.less(dots, 0), 0, pc.subtract(pc.subtract(pc.utf8_length(short), dots), 1))
        self.numbers += len(plain)
        self.unlike_5 = max(self.unlike_5, pc.max(pc.filter(after, pc.invert(pc.ends_with(short, "5")))).as_py() or 0)
        exponents = pc.any(pc.match_substring_regex(plain, "[eE]")).as_py()
        self.places = max(self.places, FINEST + 1 if exponents else pc.max(after).as_py() or 0)
        whole = pc.drop_null(cells.cast(plain, "integer", cells.Numbers())).to_numpy(zero_copy_only=False)
        self.step = int(np.gcd.reduce(whole, initial=self.step)) if len(whole) else self.step

    @staticmethod
    def _count(into: Counter[str], words: Any) -> None:
        for one in words.value_counts().to_pylist():
            if len(into) < KEPT and one["values"]:
                into[one["values"]] += one["counts"]

    def propose(self, stated: str | None, na: Mapping[str, tuple[str, ...]]) -> ColumnLook:
        """What is proposed: the narrowest kind that nearly all cells fit, unless one is stated."""
        kind = stated or self._kind()
        wrong = self.misfits.get(kind, 0)
        words = tuple(word for word, _ in self.words.most_common(SHOWN)) if wrong and kind in NUMBERS else ()
        step, own = self._granularity(kind), na.get(self.name, ())
        return ColumnLook(self.name, kind, step, self.filled, wrong, words, self.hint(kind), own)

    def hint(self, kind: str) -> str:
        """What the curator may declare: the format of dates that fit two, or the most frequent word among numbers."""
        if kind == "text" and self.filled:
            fitting = {kind for kind, wrong in self.misfits.items() if self.filled - wrong >= MOST * self.filled}
            if advice := ambiguous(self.name, fitting):
                return advice
        word, often = self.words.most_common(1)[0] if self.words else ("", 0)
        numeric = kind in NUMBERS or (kind == "text" and self.numbers >= NEAR * self.filled and not self.odd)
        return hint(self.name, word, often, self.filled) if numeric else ""

    def _kind(self) -> str:
        enough = {kind: self.filled - wrong >= MOST * self.filled for kind, wrong in self.misfits.items()}
        codes = (self.odd and not self.places) or POSTCODE.search(self.name)  # digits that begin with 0 are codes
        if not self.filled or codes:
            return "text"
        if enough["number"]:
            return "integer" if self.misfits["integer"] == self.misfits["number"] else "number"
        enough[DURATION] = enough[DURATION] and self.spans  # 13:45:00 may be a time of day
        fitting = unambiguous([kind for kind in ("boolean", *TIMES, *FORMATS) if enough[kind]])
        return fitting[0] if fitting else "text"

    def _granularity(self, kind: str) -> Fraction | None:
        """A round step that all values are multiples of, where one is seen."""
        if kind == "number":
            last = 5 if self.places > self.unlike_5 else 1
            return Fraction(last, 10**self.places) if self.numbers and self.places <= FINEST else None
        steps = [n * 10**k for k in range(18) for n in (1, 5) if n * 10**k > 1]
        fit = [step for step in steps if self.step and self.step % step == 0]
        return Fraction(max(fit)) if kind == "integer" and fit else None
