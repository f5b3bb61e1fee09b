"""Bundled tables to try things on. They are invented: no row is about a real person."""

from __future__ import annotations

import csv
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack.errors import InvalidArgument

__all__ = ["load"]

NAMES = ("clinic",)


def _column(cells: tuple[str, ...]) -> NDArray[Any]:
    """Integers if all cells are, else floats, else text."""
    text = np.array(cells)
    for kind in (np.int64, np.float64):
        try:
            return text.astype(kind)
        except ValueError:
            continue
    return text


def load(name: str = "clinic") -> dict[str, NDArray[Any]]:
    """The columns of a table by their names, as `examples/make_sample.py` made them.

    `clinic`: age, ward, wait_minutes, cost and readmitted (0 or 1) of 2400 patients. Waits and costs are heavy tailed.

    >>> clinic = load("clinic")
    >>> len(clinic["age"]), clinic["wait_minutes"].dtype, clinic["cost"].dtype
    (2400, dtype('int64'), dtype('float64'))
    >>> bool(clinic["wait_minutes"].max() > 1000 * np.median(clinic["wait_minutes"]))
    True
    """
    if not isinstance(name, str) or name not in NAMES:
        got = repr(name) if isinstance(name, str) else type(name).__name__
        raise InvalidArgument("name", "one of " + ", ".join(map(repr, NAMES)), got)
    text = resources.files(__name__).joinpath(f"{name}.csv").read_text("utf-8")
    header, *rows = csv.reader(text.splitlines())
    return {column: _column(cells) for column, cells in zip(header, zip(*rows, strict=True), strict=True)}
