"""What every benchmark does: time a function, print a table, keep the numbers as JSON."""

from __future__ import annotations

import bz2
import importlib
import io
import json
import os
import platform
import sys
import tarfile
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Row = Mapping[str, Any]


class Ratio(float):
    """A number that is shown as "20×"."""

    def __str__(self) -> str:
        return f"{self:.0f}×" if self >= 10 else f"{self:.2g}×"


def rate(fn: Callable[[], object], count: int = 1, seconds: float = 0.5, rounds: int = 3) -> float:
    """Items a second of a function that makes `count` of them a call: the best round, each of so many seconds or more.

    The first call is not timed, as it may fill caches. The best round is the one that other processes disturbed least.
    """
    fn()

    def once() -> float:
        calls, start = 0, time.perf_counter()
        while (elapsed := time.perf_counter() - start) < seconds or not calls:
            fn()
            calls += 1
        return calls * count / elapsed

    return max(once() for _ in range(rounds))


def best_seconds(fn: Callable[[], object], rounds: int = 5, clock: Callable[[], float] = time.perf_counter) -> float:
    """Seconds of one call: the best of so many, the one that other processes disturbed least."""

    def once() -> float:
        start = clock()
        fn()
        return clock() - start

    return min(once() for _ in range(rounds))


def without_package(name: str) -> Any:
    """A module whose packages are found but not run: diffprivlib's models fail to import beside a new scikit-learn."""
    parents = name.split(".")[:-1]
    for depth in range(1, len(parents) + 1):
        package = ".".join(parents[:depth])
        if package not in sys.modules:
            spec = find_spec(package)
            assert spec is not None
            sys.modules[package] = module = ModuleType(package)
            module.__path__, module.__spec__ = list(spec.submodule_search_locations or ()), spec
    return importlib.import_module(name)


def with_ratios(row: Row, ours: str, headings: Mapping[str, str]) -> dict[str, Any]:
    """The row with one more column for each peer, under its heading: ours over the peer's, None where it has none."""
    return dict(row) | {h: Ratio(row[ours] / row[peer]) if row[peer] else None for peer, h in headings.items()}


def percent(share: float) -> str:
    """Never 0% or 100% for a share that is not."""
    return "<1%" if 0 < share < 0.01 else ">99%" if 0.99 < share < 1 else f"{share:.0%}"


def rank_errors(ordered: NDArray[Any], ranks: ArrayLike, values: ArrayLike) -> NDArray[np.int64]:
    """Ranks from each to the nearest one where the value is right; none for an order statistic and its ties."""
    ranks, values = np.asarray(ranks), np.asarray(values)
    least, most = np.searchsorted(ordered, values, "left") + 1, np.searchsorted(ordered, values, "right")
    return np.maximum(np.maximum(least - ranks, ranks - most), 0)


def file_bytes(place: str) -> bytes:
    """A file that comes with a package, without its compression: package/file, or package/archive:file.

    The package is not imported: one of them writes into the home directory.
    """
    package, _, rest = place.partition("/")
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(f'{place} is in {package}: pip install -e ".[bench]"')
    file, _, member = rest.partition(":")
    data = (Path(spec.submodule_search_locations[0]) / file).read_bytes()
    if member:
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            found = next(one for one in archive if one.name.endswith(member))
            data = archive.extractfile(found).read()  # type: ignore[union-attr]
    return bz2.decompress(data) if file.endswith(".bz2") else data


def cell(value: Any) -> str:
    """Three digits and a unit for a float, nothing for None."""
    if value is None:
        return ""
    if not isinstance(value, float) or isinstance(value, Ratio):
        return str(value)
    for unit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= 0.9995 * unit:
            return f"{value / unit:#.3g}".rstrip(".") + f" {letter}"
    return f"{value:.3g}"


def table(rows: Sequence[Row]) -> str:
    """Rows as aligned text, under the keys of the first; text to the left and numbers to the right."""
    keys = list(rows[0])
    lines = [keys, *([cell(row[key]) for key in keys] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    left = [isinstance(rows[0][key], str) for key in keys]

    def line(cells: Sequence[str]) -> str:
        aligned = (c.ljust(w) if to_left else c.rjust(w) for c, w, to_left in zip(cells, widths, left, strict=True))
        return "  ".join(aligned).rstrip()

    return "\n".join([line(lines[0]), "  ".join("─" * w for w in widths), *map(line, lines[1:])])


def _version(library: str) -> str | None:
    try:
        return version(library)
    except PackageNotFoundError:
        return None


def machine(*libraries: str) -> dict[str, Any]:
    """What a reader must know to compare the numbers with others."""
    return {
        "cpus": os.cpu_count(),
        "machine": platform.machine(),
        "system": platform.system(),
        "python": platform.python_version(),
        "libraries": {library: _version(library) for library in libraries},
    }


def write_json(path: Path, rows: Sequence[Row], meta: Mapping[str, Any]) -> None:
    """The numbers behind a table, with where they were measured."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"meta": meta, "rows": rows}, indent=2, ensure_ascii=False) + "\n", "utf-8")
