"""`by=` on a statistic: the same for every group of rows."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from uptack.groups import per_group
from uptack.statistics.arguments import in_memory

P = ParamSpec("P")
T = TypeVar("T")


def groupable(statistic: Callable[P, T]) -> Callable[P, T]:
    """A statistic that with `by=` (and `groups=`, `share=`) is released per group: see `uptack.per_group`."""

    @functools.wraps(statistic)
    def made(*arguments: P.args, **options: P.kwargs) -> Any:
        if options.get("by") is None:
            return statistic(*arguments, **options)
        by = options.pop("by")
        x, *others = arguments or (options.pop("x"),)

        @functools.wraps(statistic)
        def of_group(rows: Any, **given: Any) -> Any:
            return statistic(rows, *others, **given)  # type: ignore[arg-type]

        return per_group(of_group, in_memory(x), by, **options)  # type: ignore[arg-type]

    return made
