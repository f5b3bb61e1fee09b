"""Packages that take long to import, and are imported when they are first used."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class LazyPackage:
    """A package by its name. It can be pickled, as what is sent to executors must be."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__") or attribute == "_name":  # which pickle looks for
            raise AttributeError(attribute)
        found = vars(self)[attribute] = getattr(import_module(self._name), attribute)
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return LazyPackage, (self._name,)


ibis: Any = LazyPackage("ibis")
ops: Any = LazyPackage("ibis.expr.operations")
pa: Any = LazyPackage("pyarrow")
pc: Any = LazyPackage("pyarrow.compute")
pads: Any = LazyPackage("pyarrow.dataset")
pq: Any = LazyPackage("pyarrow.parquet")
arrow_csv: Any = LazyPackage("pyarrow.csv")
pd: Any = LazyPackage("pandas")
pl: Any = LazyPackage("polars")
duckdb: Any = LazyPackage("duckdb")
tomlkit: Any = LazyPackage("tomlkit")
tomllib: Any = LazyPackage("tomllib")
