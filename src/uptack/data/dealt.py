"""Rows dealt to parts of a table that is never in memory as a whole: they wait on a disk, part by part.

It takes *one* scan. Which row has which place may differ from scan to scan, so with one scan per part a row could come
to two of them. The parts are files in a private folder (`uptack.table.engine.private_folders`), which goes when the
last one was read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from uptack.columns.batched import Picked, Places
from uptack.errors import UptackError
from uptack.table import snapshots
from uptack.table.engine import private_folders

Fold = Callable[[Iterator[Picked]], int]


def dealt(scan: Callable[[Fold], int], width: int, rows: int, size: int, parts: int) -> Iterator[Picked]:
    """The slots and the rows of each part, part after part. Part j has slots from j·size on, so many of them.

    `scan` calls a function, maybe more than once, with all rows in batches of so many columns, and the slot of each
    row, which is negative for one that is left out. If there are not so many rows, the table has changed.
    """
    with private_folders.temporary() as folder:
        paths = [folder / str(part) for part in range(parts)]
        if scan(lambda batches: _written(batches, size, paths)) != rows:
            raise UptackError(snapshots.CHANGED)
        for path in paths:
            lines = np.fromfile(path).reshape(-1, width + 1)
            path.unlink()
            yield lines[:, 0].astype(np.int64), lines[:, 1:].T


def _written(batches: Iterator[Picked], size: int, paths: list[Path]) -> int:
    """Every row in the file of its part, after its slot; and how many rows there are."""
    with ExitStack() as stack:
        files = [stack.enter_context(path.open("wb")) for path in paths]
        found = 0
        for slots, rows in batches:
            found += rows.shape[1]
            if slots.size < rows.shape[1]:
                return -1
            order, ends = _by_part(slots, size, len(paths))
            lines = np.concatenate([slots[None, order].astype(np.float64), np.take(rows, order, axis=1)]).T
            for file, some in zip(files, np.split(lines, ends)[1:], strict=True):
                file.write(np.ascontiguousarray(some).tobytes())
    return found


def _by_part(slots: Places, size: int, parts: int) -> tuple[Places, Places]:
    """Rows in the order of their parts, and where each part begins. First come those that are left out."""
    part = np.maximum(slots // size, -1).astype(np.int16)  # small numbers are sorted in one pass
    order = np.argsort(part, kind="stable")
    return order, np.searchsorted(part[order], np.arange(parts))
