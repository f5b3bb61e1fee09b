"""Synthetic rows, and how far their one-way and two-way tables may be from those of the data."""

from __future__ import annotations

import html
import importlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack.display import Ends, FigureTable, Record, line
from uptack.errors import InvalidArgument, UptackError
from uptack.labels import label, printable
from uptack.privacy import Privacy
from uptack.privacy.guarantee import promise
from uptack.release import Release
from uptack.table.values.kinds import Kind
from uptack.table.values.times import DAY, Form

CONFIDENCE = 1.645
"""Standard deviations that a normal variable exceeds with probability 5%."""
SHOWN = 12
"""Pairs that a summary lists."""


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as missing:
        raise UptackError(f'a data frame of {name} needs {name}: pip install "uptack[frames]"') from missing


def distance_bound(counts: NDArray[Any], noisy: NDArray[Any], sigma: float, total: float) -> float:
    """A total variation distance that synthetic counts keep to from the true ones, with about 95% confidence.

    With s synthetic, y noisy and t true counts of k cells, Σ|s - t| ≤ Σ|s - y| + Σ|y - t|. The last sum is one of k
    absolute values of normal noise, with mean kσ√(2/π) and variance kσ²(1 - 2/π).
    """
    k = counts.size
    noise = sigma * (k * math.sqrt(2 / math.pi) + CONFIDENCE * math.sqrt(k * (1 - 2 / math.pi)))
    return min(1.0, (float(np.abs(counts - noisy).sum()) + noise) / (2 * max(total, 1.0)))


@dataclass(frozen=True)
class ColumnFit:
    """A column: the noise of each count of its cells, in rows, the distance bound, and whether anything is known.

    `private` are the noisy counts of its cells, from low to high, `synthetic` those of the synthetic rows, brought to
    the same size, and `labels` say what a cell holds.
    """

    name: str
    sigma: float
    distance: float
    status: str
    private: tuple[float, ...]
    synthetic: tuple[float, ...]
    labels: tuple[str, ...]

    @property
    def cells(self) -> int:
        """How many cells were counted."""
        return len(self.private)


@dataclass(frozen=True)
class PairFit:
    """A measured pair of columns: the shape of its table, the noise of each count in rows, and the distance bound."""

    names: tuple[str, str]
    shape: tuple[int, int]
    sigma: float
    distance: float


GAPS = {"integer": "Int64", "boolean": "boolean"}
"""The types that pandas has for whole numbers and truth values with gaps."""


@dataclass(frozen=True, eq=False)
class SyntheticTable:
    """Synthetic rows: `columns` by name, with the types of the data, and what is known of their errors.

    Which rows have no value is in `missing`. Times and durations are ticks of a microsecond there; `to_arrow`,
    `to_pandas`, `to_polars`, `to_parquet` and `to_csv` show them as what they are. `margins` has an entry for each
    column, `pairs` one for each measurement of two columns. `size` is the number of rows, or people, of the data: with
    noise where it is secret.
    """

    columns: Mapping[str, NDArray[Any]]
    missing: Mapping[str, NDArray[np.bool_]]
    kinds: Mapping[str, Kind]
    forms: Mapping[str, Form]
    margins: tuple[ColumnFit, ...]
    pairs: tuple[PairFit, ...]
    size: float
    rows: int

    def __post_init__(self) -> None:
        for held in (*self.columns.values(), *self.missing.values()):
            held.setflags(write=False)
        for name in ("columns", "missing", "kinds", "forms"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    def __len__(self) -> int:
        return self.rows

    def __reduce__(self) -> tuple[Any, ...]:
        mappings = (dict(held) for held in (self.columns, self.missing, self.kinds, self.forms))
        return SyntheticTable, (*mappings, self.margins, self.pairs, self.size, self.rows)

    def __repr__(self) -> str:
        return f"SyntheticTable({self.rows:,} rows of {', '.join(map(label, self.columns))})"

    # ------------------------------------------------------------------------------------------------------ the rows

    def to_arrow(self) -> Any:
        """The rows as a table of Arrow. Its metadata say what `summary` says."""
        import pyarrow as pa

        held = {name: self._array(name) for name in self.columns}
        about = json.dumps(self.to_dict(rows=False))
        return pa.table(held).replace_schema_metadata({"uptack.synthetic": about})

    def _array(self, name: str) -> Any:
        import pyarrow as pa

        values, gone, kind = self.columns[name], self.missing[name], self.kinds[name]
        if kind in ("time", "duration"):
            word = self.forms[name].word
            types = {"date": pa.date32(), "clock": pa.timestamp("us"), "utc": pa.timestamp("us", "UTC")}
            ticks = (values // DAY).astype(np.int32) if word == "date" else values
            return pa.array(ticks, mask=gone).cast(types.get(word, pa.duration("us")))
        if kind in ("integer", "number", "boolean"):
            return pa.array(values, mask=gone)
        texts = [None if out else value for value, out in zip(values, gone, strict=True)]
        if all(value is None or isinstance(value, str) for value in texts):
            return pa.array(texts, pa.string())
        return pa.array([value if value is None else label(value) for value in texts], pa.string())

    def to_pandas(self) -> Any:
        """The rows as a data frame of pandas: whole numbers stay whole also where some are missing.

        It needs pandas: `pip install "uptack[frames]"`.
        """
        pandas, frame = _library("pandas"), self.to_arrow().to_pandas()
        for name, kind in self.kinds.items():
            if kind in ("integer", "boolean") and self.missing[name].any():
                held = {"integer": pandas.arrays.IntegerArray, "boolean": pandas.arrays.BooleanArray}[kind]
                frame[name] = held(self.columns[name].copy(), self.missing[name].copy())
        return frame

    def to_polars(self) -> Any:
        """The rows as a data frame of Polars. It needs Polars: `pip install "uptack[frames]"`."""
        return _library("polars").from_arrow(self.to_arrow())

    def to_parquet(self, path: str | Path) -> Path:
        """Write a Parquet file, which keeps types and says in its metadata what was measured.

        Its metadata for pandas give whole numbers and truth values with gaps the types of `to_pandas`, so that
        `pandas.read_parquet` does not turn them into floats and objects.
        """
        import pyarrow.parquet as pq

        table = self.to_arrow()
        gaps = {name: GAPS[kind] for name, kind in self.kinds.items() if kind in GAPS and self.missing[name].any()}
        about = [{"name": name, "field_name": name, "pandas_type": "unicode", "numpy_type": gaps.get(name, "object"),
                  "metadata": None} for name in table.column_names]  # fmt: skip
        frame = json.dumps({"index_columns": [], "column_indexes": [], "columns": about})
        pq.write_table(table.replace_schema_metadata({**(table.schema.metadata or {}), "pandas": frame}), str(path))
        return Path(path)

    def to_csv(self, path: str | Path) -> Path:
        """Write a CSV file. It keeps no types: declare them again where it is read."""
        import pyarrow as pa
        import pyarrow.csv as arrow_csv

        table = self.to_arrow()
        for i, field in enumerate(table.schema):
            if pa.types.is_duration(field.type):  # which CSV writers of Arrow do not know
                shown = [None if v is None else _clock(v) for v in table.column(i).cast(pa.int64()).to_pylist()]
                table = table.set_column(i, field.name, pa.array(shown, pa.string()))
        arrow_csv.write_csv(table, str(path))
        return Path(path)

    def write(self, path: str | Path) -> Path:
        """Write a .parquet or .csv file, as its name says."""
        suffix = Path(path).suffix.lower()
        if suffix not in WRITERS:
            raise InvalidArgument("path", "a file that ends in .parquet or .csv", repr(str(path)))
        return WRITERS[suffix](self, path)

    # ----------------------------------------------------------------------------------------------------- its errors

    def figures(self, ends: Ends = None) -> list[Record]:
        """One line per column and per measured pair: its distance bound."""
        columns = [line({"table": label(one.name), "cells": one.cells}, one.distance) for one in self.margins]
        return columns + [
            line({"table": " × ".join(map(label, one.names)), "cells": math.prod(one.shape)}, one.distance)
            for one in self.pairs
        ]

    def table(self) -> FigureTable:
        """The same for people."""
        title = f"{self.rows:,} synthetic rows; value: 95% bound on the total variation distance"
        return FigureTable.of(self.figures(), title)

    def to_dict(self, rows: bool = True) -> dict[str, Any]:
        """Plain values, for JSON; without the rows, what is known of them."""
        about = {
            "rows": self.rows,
            "size": self.size,
            "columns": [
                {name: getattr(one, name) for name in ("name", "cells", "sigma", "distance", "status")}
                for one in self.margins
            ],
            "pairs": [{**vars(one), "names": list(one.names), "shape": list(one.shape)} for one in self.pairs],
        }
        return {**about, "values": _plain(self.to_arrow())} if rows else about

    def summary(self) -> str:
        """What the rows keep of the data, and what they do not, in plain words.

        Counts and distances are of released numbers, so that all of it may be published.
        """
        lines, best = (
            self.facts(),
            sorted({one.names: one for one in self.pairs}.values(), key=lambda one: one.distance),
        )
        if best:
            lines.append("Pairs that were measured, with a 95% bound on the total variation distance of their tables:")
            lines += [f"  {label(a)} × {label(b)}: {one.distance:.3f}" for one in best[:SHOWN] for a, b in [one.names]]
            lines += [f"  and {len(best) - SHOWN} more"] if len(best) > SHOWN else []
        return "\n".join([*map(printable, lines), *WARNINGS])

    def facts(self) -> list[str]:
        """How many rows there are, and which columns are not as in the data."""
        linked = {name for pair in self.pairs for name in pair.names}
        alone = [one.name for one in self.margins if one.name not in linked and one.status == "measured"]
        nothing = [one.name for one in self.margins if one.status != "measured"]
        lines = [f"{self.rows:,} synthetic rows. The data have about {self.size:,.0f} rows (or people)."]
        if nothing:
            lines.append(f"No value was frequent enough: {', '.join(map(label, nothing))}.")
        if len(self.columns) > 1 and alone:
            lines.append(f"Drawn without regard to other columns: {', '.join(map(label, alone))}.")
        return lines


WARNINGS = (
    "Only tables that were measured are kept; other relations between columns may be lost.",
    'Rare categories became "(other)".',
    "Standard errors from synthetic rows are too small, and more rows add no information.",
)


def _clock(ticks: int) -> str:
    """A duration as files write it: hours, minutes, seconds."""
    whole, parts = divmod(abs(ticks), 10**6)
    minutes, seconds = divmod(whole, 60)
    tail = f".{parts:06}" if parts else ""
    return f"{'-' if ticks < 0 else ''}{minutes // 60:02}:{minutes % 60:02}:{seconds:02}{tail}"


def _plain(table: Any) -> dict[str, list[Any]]:
    """Columns as JSON can hold them."""
    plain = (int, float, str, bool, type(None))
    return {
        name: [value if isinstance(value, plain) else str(value) for value in table.column(name).to_pylist()]
        for name in table.column_names
    }


WRITERS = {".parquet": SyntheticTable.to_parquet, ".csv": SyntheticTable.to_csv}


# ------------------------------------------------------------------------------------------------------------- the page


BARS = 40
"""Cells of a column that are drawn: those with most synthetic rows."""
NAMED = 6
"""So many cells have their names below; of more of them only the first and the last have."""
STYLE = """body{font:16px/1.5 system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem;color:#222}
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%}
td,th{padding:.2rem .6rem;text-align:left;border-bottom:1px solid #ddd}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
td{overflow-wrap:anywhere}svg{width:100%;height:7rem;display:block}
.ends,.each{color:#555;font-size:.85rem}.ends{display:flex;justify-content:space-between;gap:1rem}
.each{display:grid;grid-auto-flow:column;grid-auto-columns:1fr;text-align:center}
.each span{overflow-wrap:anywhere}
.private{fill:#9bb8d3;color:#9bb8d3}.rows{fill:#c4633a;color:#c4633a}h3{margin-bottom:0;overflow-wrap:anywhere}
h3+p{margin-top:0;color:#555}"""
LEGEND = (
    "<p><span class=private>■</span> private count <span class=rows>■</span> count of the synthetic rows. "
    f"Each pair of bars is a cell: a value, an interval, other or missing values. At most {BARS} cells are shown, "
    "those with most synthetic rows. The bound is on the total variation distance between the synthetic column and "
    "that of the data; it holds with 95% confidence.</p>"
)


def to_html(made: Release[SyntheticTable]) -> str:
    """One file without scripts. All of it is made of released numbers."""
    table = made.value
    promised = promise(made.privacy) if isinstance(made.privacy, Privacy) else ""
    stamp = "" if made.private else "<p><strong>NOT PRIVATE: seeded randomness.</strong></p>"
    facts = "".join(f"<p>{html.escape(printable(line))}</p>" for line in (*table.facts(), *WARNINGS))
    return (
        "<!doctype html><html lang=en><meta charset=utf-8>"
        '<meta name=viewport content="width=device-width,initial-scale=1">'
        f"<title>Synthetic rows</title><style>{STYLE}</style><h1>Synthetic rows and the private tables</h1>{stamp}"
        f"<p>{html.escape(promised)}</p>{facts}"
        f"<h2>Columns</h2>{LEGEND}{''.join(map(_column, table.margins))}{_pairs(table)}</html>\n"
    )


def _text(name: Any) -> str:
    return html.escape(printable(label(name)))


def _cell(one: ColumnFit, place: int) -> str:
    return html.escape(printable(one.labels[place]))


def _pairs(table: SyntheticTable) -> str:
    """A line for each measurement of two columns."""
    if not table.pairs:
        return "<h2>Pairs</h2><p>No pair of columns was measured: columns are independent of each other.</p>"
    lines = "".join(
        f"<tr><td>{_text(a)}</td><td>{_text(b)}</td><td class=n>{one.shape[0]} × {one.shape[1]}</td>"
        f"<td class=n>{one.sigma:,.1f}</td><td class=n>{one.distance:.3f}</td></tr>"
        for one in sorted(table.pairs, key=lambda one: one.distance)
        for a, b in [one.names]
    )
    heads = "<th>column<th>column<th class=n>groups<th class=n>noise (rows)<th class=n>95% bound"
    return (
        "<h2>Pairs</h2><p>Each line is one measurement: into how many groups both columns were divided, the standard "
        "deviation of the noise of each count, and a bound on the total variation distance of the two-way table of "
        "synthetic rows from that of the data. Relations between other pairs are not measured.</p>"
        f"<div class=wide><table><tr>{heads}{lines}</table></div>"
    )


def _column(one: ColumnFit) -> str:
    """The name of a column, its error, and bars of its cells."""
    said = "nothing is known of its values (⊥)" if one.status != "measured" else f"95% bound {one.distance:.3f}"
    top = max([*one.private, *one.synthetic, 1.0])
    chosen = sorted(sorted(range(one.cells), key=lambda i: (-one.synthetic[i], -one.private[i]))[:BARS])
    width, bars = 100 / max(len(chosen), 1), []
    for place, i in enumerate(chosen):
        told = f"{_cell(one, i)}: {one.private[i]:,.0f} private, {one.synthetic[i]:,.0f} synthetic"
        for name, count, shift in (("private", one.private[i], 0.05), ("rows", one.synthetic[i], 0.5)):
            high = 30 * max(count, 0.0) / top
            x, y = (place + shift) * width, 30 - high
            bars.append(
                f'<rect class={name} x="{x:.2f}" y="{y:.2f}" width="{0.42 * width:.2f}" height="{high:.2f}">'
                f"<title>{told}</title></rect>"
            )
    picture = f'<svg viewBox="0 0 100 30" preserveAspectRatio="none" role=img>{"".join(bars)}</svg>'
    each = len(chosen) <= NAMED
    ends = "".join(f"<span>{_cell(one, i)}</span>" for i in (chosen if each else (chosen[0], chosen[-1])))
    below = f"<div class={'each' if each else 'ends'}>{ends}</div>"
    return f"<h3>{_text(one.name)}</h3><p>{one.cells} cells, {said}</p>{picture}{below}"
