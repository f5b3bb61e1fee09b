"""What a regression can be told."""

from __future__ import annotations

from uptack.registry.options import Grouping
from uptack.statistics.arguments import Promises


def coefficient_names(count: int, intercept: bool) -> tuple[str, ...]:
    """What coefficients are called as long as nobody says otherwise (`Release.named`): intercept, x0, x1 and so on."""
    return (*(["intercept"] if intercept else []), *(f"x{i}" for i in range(count - intercept)))


class RegressionOptions(Promises, Grouping, total=False):
    """What a regression can be told beside what it promises.

    - `method`: "inverse" (default), "ptr" or "dwork-lei".
    - `missing`: "error" (default) tells the curator of rows without all their values, "ignore" leaves them out.
    """

    method: str
    missing: str
