"""X and y without a formula: what names and types say of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.table.protocol import Column
from uptack.table.values import containers
from uptack.table.values.entrance import field


def named(x: Any, binary: Any) -> tuple[tuple[str, ...], tuple[int, ...]] | None:
    """The names of the columns of a frame, and the numbers of those that are 0 or 1; None of what has no names.

    0 or 1 are columns of truth values, by their types, and those that are declared, by names or by numbers. A column of
    texts is refused by its type: it is a category, for which a formula has dummies.
    """
    names = containers.names(x)
    if not names:
        return None
    kinds = [field(f"X[{name!r}]", part).kind for name, part in containers.frame(x) or ()]
    for name, kind in zip(names, kinds, strict=True):
        if kind == "text":
            fix = f'A formula makes dummies of categories: formula="y ~ {_written(name)}", levels={{{name!r}: [...]}}. '
            fix += "Texts that are numbers are to be converted first."
            raise InvalidArgument(f"X[{name!r}]", "a column of numbers", "a column of texts or categories", fix)
    flags = {place for place, kind in enumerate(kinds) if kind == "boolean"}
    return names, tuple(sorted(flags | {*numbered(binary, names)}))


def _written(name: str) -> str:
    """A name as it is written in a formula."""
    return name if name.isidentifier() else f"`{name}`"


def numbered(binary: Any, names: Sequence[str]) -> tuple[int, ...]:
    """The numbers of columns that are given by names or by numbers.

    >>> numbered(["sex", 0], ("age", "dose", "sex"))
    (0, 2)
    """
    given = (
        [] if binary is None else list(binary) if isinstance(binary, list | tuple | range | np.ndarray) else [binary]
    )
    found = set()
    for one in given:
        if isinstance(one, str) and one not in names:
            raise InvalidArgument("binary", f"columns of X, {', '.join(map(repr, names))}", repr(one))
        if isinstance(one, str) and names.count(one) > 1:
            raise InvalidArgument("binary", "a number where several columns have one name", repr(one))
        found.add(names.index(one) if isinstance(one, str) else checks.integer("binary", one, least=0))
    if found and max(found) >= len(names):
        must = f"numbers of columns, from 0 to {len(names) - 1}, or their names"
        raise InvalidArgument("binary", must, max(found))
    return tuple(sorted(found))


def check_response(y: Any) -> None:
    """Refuses a response that is no column of numbers by its type."""
    if isinstance(y, str):
        fix = f"Pass the column itself, frame[{y!r}], or name it in a formula, as in formula='{y} ~ a + b'."
        raise InvalidArgument("y", "a column of numbers", repr(y), fix)
    try:
        kind = "" if y is None or isinstance(y, Column) else field("y", y).kind
    except InvalidArgument:  # whoever reads it says what is wrong
        return
    if kind == "text":
        fix = "For two classes there is logistic_regression(..., classes=('no', 'yes'))."
        raise InvalidArgument("y", "a column of numbers", "a column of texts or categories", fix)
