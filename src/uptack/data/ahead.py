"""Work on a batch of rows while the next one is being read."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")
WAITING = 1
"""Batches that wait while one is worked on."""


def ahead(f: Callable[[Any], T], batches: Iterator[Any]) -> Iterator[T]:
    """f of one batch after the other, in a thread of its own: meanwhile the next batch is made, or two."""
    from concurrent.futures import ThreadPoolExecutor

    def quiet(batch: Any) -> T:
        with np.errstate(all="ignore"):  # which a thread does not inherit
            return f(batch)

    with ThreadPoolExecutor(1) as thread:
        waiting: deque[Future[T]] = deque()
        for batch in batches:
            waiting.append(thread.submit(quiet, batch))
            if len(waiting) > WAITING:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
