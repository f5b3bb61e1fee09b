"""What a regression can be told."""

from __future__ import annotations

from uptack.registry.options import Grouping
from uptack.statistics.arguments import Promises


class RegressionOptions(Promises, Grouping, total=False):
    """What a regression can be told beside what it promises.

    - `method`: "inverse" (default), "ptr" or "dwork-lei".
    - `missing`: "error" (default) tells the curator of rows without all their values, "ignore" leaves them out.
    """

    method: str
    missing: str
