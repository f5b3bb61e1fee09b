"""Copies of CSV files: the rows with the kinds of their columns, in a Parquet file of a private folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from uptack.table.csv import cells
from uptack.table.csv.rules import GUESS, Layout, texts, unread
from uptack.table.csv.time_cells import PATTERNS
from uptack.table.engine.connection import ahead
from uptack.table.snapshots import guarded

NARROW = ("boolean", "integer", "number", *PATTERNS)
"""Kinds that are guessed, of two that fit the first; what is none of them is a text."""


def guess(paths: Sequence[str], made: Layout) -> dict[str, str]:
    """The narrowest kind that every row fits. It looks at all rows, so what it returns is theirs until it is used."""
    guesses = Guesses(made, dict.fromkeys(made.names, GUESS))

    def look() -> None:
        for _ in ahead(guesses.read, unread(paths, made, label="guessing what columns hold")):
            pass

    guarded(look)
    return guesses.kinds()


def copied(paths: Sequence[str], made: Layout, kinds: Mapping[str, str], folder: Path) -> tuple[Path, dict[str, str]]:
    """The copy, and the kinds of its columns: those that are to be guessed are guessed while they are copied.

    If the first rows fit a kind that later ones don't, all are read once more. That takes time, which only the curator
    sees who lets them be guessed, and it is shown nowhere else. Of kinds that are said the rows are read once.
    """
    copy, guesses = folder / "rows.parquet", Guesses(made, kinds)
    if not guarded(lambda: _write(copy, paths, made, guesses, "converting to Parquet")):
        guesses = Guesses(made, guesses.kinds())
        guarded(lambda: _write(copy, paths, made, guesses, None))
    return copy, guesses.kinds()


def _write(copy: Path, paths: Sequence[str], made: Layout, guesses: Guesses, label: str | None) -> bool:
    """Write the rows with the kinds that the first batch has; whether all others had them too."""
    import pyarrow.parquet as pq

    found = ahead(guesses.read, unread(paths, made, label=label))
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
    """The kinds of columns: as they were said, and else the narrowest that all rows fit which have been read."""

    def __init__(self, made: Layout, kinds: Mapping[str, str]) -> None:
        self._made, self._form, self._said = made, made.numbers, {name: kinds[name] for name in made.names}
        self._possible = {name: NARROW for name, kind in self._said.items() if kind == GUESS}
        self._seen = set[str]()

    def kinds(self) -> dict[str, str]:
        """What they are by now. A column that holds nothing is one of texts."""
        return {name: self._guess(name) if kind == GUESS else kind for name, kind in self._said.items()}

    def _guess(self, name: str) -> str:
        return self._possible[name][0] if name in self._seen and self._possible[name] else "text"

    def read(self, batch: Sequence[Any]) -> Any:
        """Some more rows, as they are written, as a record batch with the kinds that columns have now."""
        import pyarrow as pa

        both = zip(self._said, texts(batch, self._made), strict=True)
        columns = [self._values(name, found) for name, found in both]
        return pa.RecordBatch.from_arrays(columns, schema=cells.schema(self.kinds()))

    def _values(self, name: str, found: Any) -> Any:
        if self._said[name] != GUESS:
            return cells.cast(found, self._said[name], self._form)
        if name not in self._seen and cells.any_held(found):
            self._seen.add(name)
        fit: dict[str, Any] = {}
        for kind in self._possible[name]:
            if kind == "number" and "integer" in fit:  # what is an integer is a number, and need not be read twice
                fit[kind] = None
            elif (values := cells.fitted(found, kind, self._form)) is not None:
                fit[kind] = values
        self._possible[name] = tuple(fit)
        return found if (kind := self._guess(name)) == "text" else fit[kind]
