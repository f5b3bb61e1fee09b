"""When an answer is sent: at a time that is fixed before rows are read.

How long a release takes depends on the rows and on the noise. So an answer waits for the end of a time slot: s, 2s, 4s,
... seconds after the request, where s follows from public facts alone. What an observer of the clock learns is the
number of the slot. If s is generous, that is always the first. A release that is not done by the last slot is withheld:
its debit stands, and there is no answer.

**Theorem.** Given the number of the slot, the time of an answer is independent of rows and noise, up to the scheduling
of the operating system. *Proof.* The end of a slot is computed from public numbers. What came of the release is written
to the store then, and the reply is sent: before, nothing but the thread that computes it has it. ∎
The number of the slot is not protected. With k slots it is at most log2(k + 1) bits for each release, and `/metrics`
counts how often a release missed the first one: `seconds` is then too small. A release that goes on beyond the last
slot keeps its place until the end of a later one, of twice the length, and so on: its caller sees when a place is free.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

SECONDS_PER_COLUMN = 0.5
"""Seconds of the first slot for each column of few rows. With 8 releases at once, the slowest of 2,000 rows took 0.23 s
for each of its columns (`benchmarks/server.py --slots --clients 8`)."""
SECONDS_PER_CELL = 1e-6
"""Seconds per cell that is read. Of a million rows, the slowest alone took 1.06 µs, and most a tenth of that."""
SECONDS_PER_GROUP = 0.02
"""Seconds for each group that the request lists: a standard deviation takes 1.9 ms of a processor; 8 run at once."""
SECRET_SECONDS = 2.0
"""The same for each column where the number of rows is secret, unless the curator sets it."""
SLOTS = 7
"""How many slots there are: the last ends after 64 times the first."""


@dataclass(frozen=True)
class TimeSlots:
    """Slots that end `first`, 2·`first`, 4·`first`, ... seconds after the debit."""

    first: float
    count: int = SLOTS

    @staticmethod
    def of(rows: int | None, columns: int, groups: int = 0, seconds: float | None = None) -> TimeSlots:
        """The slots of a request about so many columns and groups; `rows` is None where their number is secret."""
        if seconds is not None:
            return TimeSlots(seconds)
        first = SECRET_SECONDS if rows is None else SECONDS_PER_COLUMN + SECONDS_PER_CELL * rows
        return TimeSlots(first * max(columns, 1) + SECONDS_PER_GROUP * groups)

    def end(self, elapsed: float) -> float:
        """The end of the slot in which a release is done. Beyond the last there is no answer, and its place is kept.

        >>> TimeSlots(1.0).end(0.2), TimeSlots(1.0).end(2.5), TimeSlots(1.0).end(65), TimeSlots(1.0).last
        (1.0, 4.0, 128.0, 64.0)
        """
        return next(end for k in itertools.count() if elapsed <= (end := self.first * 2.0**k))

    @property
    def last(self) -> float:
        return self.first * (1 << (self.count - 1))
