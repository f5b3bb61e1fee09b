"""Hints for the curator: columns of texts that would be numbers, but for a word that may mean a missing value."""

from __future__ import annotations

import os
from collections.abc import Sequence
from fractions import Fraction

from uptack.labels import label, pasted
from uptack.table.csv import cells, rules
from uptack.table.engine.files import FileOptions, text_layout
from uptack.table.snapshots import guarded

NEAR, FREQUENT = Fraction(1, 2), Fraction(1, 100)
"""A hint is given if half of the filled cells are numbers, and one word is 1% of them."""


def near_misses(path: str | os.PathLike[str], options: FileOptions, columns: Sequence[str]) -> list[str]:
    """Hints about columns of texts, from the first rows of a file. **Not private.**"""
    return guarded(lambda: _from_first_rows(path, options, columns)) if columns else []


def _from_first_rows(path: str | os.PathLike[str], options: FileOptions, columns: Sequence[str]) -> list[str]:
    import pyarrow.compute as pc

    paths, made = text_layout(path, options)
    found = []
    for name, texts in zip(made.names, next(rules.batches(paths[:1], made)), strict=True):
        if name not in columns:
            continue
        some, bare = cells.held(texts), pc.ascii_trim_whitespace(texts)
        number = cells.fits(bare, "number", made.numbers)
        filled, numbers = (pc.sum(mask).as_py() or 0 for mask in (some, pc.and_(some, number)))
        words = pc.filter(bare, pc.and_(some, pc.invert(number))).value_counts().to_pylist()
        often, word = max(((one["counts"], one["values"]) for one in words), default=(0, ""))
        if numbers >= NEAR * filled:
            found.append(hint(name, word, often, filled))
    return [one for one in found if one]


def hint(name: str, word: str, often: int, filled: int) -> str:
    """The advice to declare a word a missing value, if it is frequent among the filled cells; else ""."""
    if often < 2 or often < FREQUENT * filled:
        return ""
    option = f"na={{{name!r}: [{word!r}]}} (--na {pasted(f'{name}={word}')})"
    return (
        f"{100 * often / filled:.2g}% of the cells of {label(name)} are {word!r}, among numbers. "
        f"If they are missing values, add {option}."
    )
