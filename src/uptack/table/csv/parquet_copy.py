"""Copies of CSV files: a Parquet file in a private folder, with the declared or inferred kinds of columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from uptack.table.csv import cells
from uptack.table.csv.rules import GUESS, Layout, RowWidths, texts, unread
from uptack.table.csv.time_cells import PATTERNS
from uptack.table.engine.connection import ahead
from uptack.table.snapshots import guarded

UNITS = tuple(f"number:{sign}" for sign in ("%", "$", "€", "£"))
AMBIGUOUS = frozenset({"date:%d/%m/%Y", "date:%m/%d/%Y"})
"""Formats of which both may fit all rows. Then neither is inferred."""
NARROW = ("boolean", "integer", "number", *PATTERNS, "date:%d.%m.%Y", *sorted(AMBIGUOUS), *UNITS)
"""Kinds that are inferred, of two that fit the first; if none fits, the column is a text."""


def guess(paths: Sequence[str], made: Layout) -> dict[str, str]:
    """The narrowest kind that every row fits. It looks at all rows, so the result is not private before it is used."""
    guesses, widths = Guesses(made, dict.fromkeys(made.names, GUESS)), RowWidths()

    def look() -> None:
        for _ in ahead(guesses.read, unread(paths, made, widths, label="inferring types")):
            pass

    guarded(look)
    widths.check(made)
    return guesses.kinds()


def copied(paths: Sequence[str], made: Layout, kinds: Mapping[str, str], folder: Path) -> tuple[Path, dict[str, str]]:
    """The copy, and the kinds of its columns. Kinds that are to be inferred are inferred while rows are copied.

    If later rows change the kind that the first rows fit, all rows are read once more. That takes time, which only the
    curator sees who asked for the inference. If all kinds are declared, the rows are read once.
    """
    copy, guesses, widths = folder / "rows.parquet", Guesses(made, kinds), RowWidths()
    if not guarded(lambda: _write(copy, paths, made, guesses, widths, "converting to Parquet")):
        guesses = Guesses(made, guesses.kinds())
        guarded(lambda: _write(copy, paths, made, guesses, None, None))
    widths.check(made)
    return copy, guesses.kinds()


def _write(
    copy: Path, paths: Sequence[str], made: Layout, guesses: Guesses, widths: RowWidths | None, label: str | None
) -> bool:
    """Write the rows with the kinds that the first batch has; whether all others had them too."""
    import pyarrow.parquet as pq

    found = ahead(guesses.read, unread(paths, made, widths, label=label))
    first = next(found)
    with pq.ParquetWriter(copy, first.schema, **_encoded(first.schema)) as file:
        file.write_batch(first)
        same = True
        for batch in found:
            same = same and batch.schema == first.schema
            if same:
                file.write_batch(batch)
    return same


def _encoded(schema: Any) -> dict[str, Any]:
    """How columns are written, by their types: small, and sooner than by packing what was written plainly."""
    import pyarrow as pa

    words = [field.name for field in schema if field.type == pa.string()]  # only they gain by a dictionary
    others = (pa.string(), pa.float64(), pa.bool_())
    deltas = {field.name: "DELTA_BINARY_PACKED" for field in schema if field.type not in others}
    plain = {"compression": "none", "write_statistics": False}
    return plain | {"use_dictionary": words, "column_encoding": deltas or None}


class Guesses:
    """The kinds of columns: as declared, else the narrowest kind that fits all rows read so far."""

    def __init__(self, made: Layout, kinds: Mapping[str, str]) -> None:
        self._made, self._form, self._declared = made, made.numbers, {name: kinds[name] for name in made.names}
        self._possible = {name: NARROW for name, kind in self._declared.items() if kind == GUESS}
        self._seen = set[str]()

    def kinds(self) -> dict[str, str]:
        """The kinds so far. A column without values is a text."""
        return {name: self._guess(name) if kind == GUESS else kind for name, kind in self._declared.items()}

    def _guess(self, name: str) -> str:
        possible = self._possible[name]
        clear = [kind for kind in possible if kind not in AMBIGUOUS or not set(possible) >= AMBIGUOUS]
        return clear[0] if name in self._seen and clear else "text"

    def read(self, batch: Sequence[Any]) -> Any:
        """Some more rows as a record batch with the kinds that columns have now."""
        import pyarrow as pa

        both = zip(self._declared, texts(batch, self._made), strict=True)
        columns = [self._values(name, found) for name, found in both]
        return pa.RecordBatch.from_arrays(columns, schema=cells.schema(self.kinds()))

    def _values(self, name: str, found: Any) -> Any:
        if self._declared[name] != GUESS:
            return cells.cast(found, self._declared[name], self._form)
        if name not in self._seen and cells.any_held(found):
            self._seen.add(name)
        fit: dict[str, Any] = {}
        for kind in self._possible[name]:
            if cells.base(kind) == "number" and fit.keys() & {"integer", "number"}:  # it fits, and is not chosen
                fit[kind] = None
            elif (values := cells.fitted(found, kind, self._form)) is not None:
                fit[kind] = values
        self._possible[name] = tuple(fit)
        return found if (kind := self._guess(name)) == "text" else fit[kind]
