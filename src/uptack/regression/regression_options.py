"""What a regression can be told."""

from __future__ import annotations

from typing import Any

from uptack.registry.options import Grouping
from uptack.statistics.column_options import Promises
from uptack.table.values import containers


def coefficient_names(count: int, intercept: bool, x: Any = None) -> tuple[str, ...]:
    """What coefficients are called as long as nobody says otherwise (`Release.named`): by the columns of a frame, else
    intercept, x0, x1 and so on."""
    columns = containers.names(x) or tuple(f"x{i}" for i in range(count - intercept))
    return (*(["intercept"] if intercept else []), *columns)


class RegressionOptions(Promises, Grouping, total=False):
    """What a regression can be told beside what it promises.

    - `method`: "inverse" (default), "ptr" or "dwork-lei".
    - `missing`: "error" (default) tells the curator of rows without all their values, "ignore" leaves them out.
    """

    method: str
    missing: str
