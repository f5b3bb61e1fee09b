"""One number per person from rows that an engine keeps: those of `uptack.table.memory.per_person`, to the bit.

Counts, least and largest values come from the engine's own `group by`. An engine adds floats in any order, and the last
bits of one person's sum would then depend on others' rows. So for sums, means, medians and last rows the engine sorts
by id and value, and they are folded as they come, in the order of their size. What is kept is one number per person.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack.table.engine import connection
from uptack.table.engine.expressions import missing, number
from uptack.table.engine.rows import EngineRows
from uptack.table.exact_sum import Floats
from uptack.table.memory.rows import MemoryRows
from uptack.table.protocol import PerPerson, Steps, apply_steps
from uptack.table.unit import Integers, PrivacyUnit
from uptack.table.values.kinds import LARGEST

Run = tuple[NDArray[np.bool_], Floats, Floats]
"""Rows in a row: whether a person begins with each, the values, and how many rows that person has."""

ORDER = ("o0", "o1")


def ordering(key: Any) -> dict[str, Any]:
    """The columns by which rows of a person are ordered before their values: those without a key come first."""
    ibis, gone = connection.ibis(), missing(key)
    return {"o0": ibis.ifelse(gone, 0, 1), "o1": ibis.ifelse(gone, ibis.null().cast(key.type()), key)}


def in_memory(rows: EngineRows, own: PerPerson, after: Sequence[Steps]) -> MemoryRows:
    """The numbers of all who have a row, in the order of their ids, and what is done to them; one line per column."""
    made = [apply_steps(steps, _numbers(rows, i, own)) for i, steps in enumerate(after)]
    return MemoryRows(made, PrivacyUnit(rows.unit.ids), rows.size, None, _there(rows))


def _there(rows: EngineRows) -> Integers | None:
    """The places of those who have a complete row among all people; None where all have one."""
    if rows.drops is None:
        return None
    theirs, everybody = rows.people.table, rows.everybody.table
    theirs = theirs.select(**{f"p{i}": theirs[k] for i, k in enumerate(rows.ids)}, complete=theirs.m).view()
    both = everybody.left_join(theirs, [everybody[k] == theirs[f"p{i}"] for i, k in enumerate(rows.ids)])
    there = both.order_by(rows.ids).select(
        there=connection.ibis().ifelse(both.complete.isnull(), number(0.0), number(1.0))
    )
    places = np.flatnonzero(connection.read(there))
    return None if places.size == rows.size else places


def _numbers(rows: EngineRows, column: int, own: PerPerson) -> Floats:
    """Of one column. Rows that stay without a value are NaN, which is above all numbers."""
    ids, complete, people = rows.ids, rows.complete, rows.people.table
    if own.how == "count":
        return connection.read(people.order_by(ids).select(v=people.m.cast("float64")))
    beside = ORDER if own.order is not None else ()
    v = complete[f"v{column}"]
    if rows.drops is None and not rows.valued:
        v = connection.ibis().ifelse(missing(v), number(np.nan), v)
    read = complete.select(*ids, *beside, v=v)
    if own.how in ("min", "max"):
        made = read.group_by(ids).aggregate(v=read.v.min() if own.how == "min" else read.v.max())
        return connection.read(made.order_by(ids).select("v"))
    both = read.join(people.select(*ids, "m"), ids).order_by([*ids, *beside, "v"]).select(*ids, "v", "m")
    if own.how in ("mean", "sum"):
        sums, many = connection.folded(both, lambda batches: _added(_runs(batches, len(ids))))
        return np.clip(sums / many if own.how == "mean" else sums, -LARGEST, LARGEST)
    fold: Callable[[Iterator[Run]], Floats] = _medians if own.how == "median" else _lasts
    return connection.folded(both, lambda batches: fold(_runs(batches, len(ids))))


def _runs(batches: Iterator[Any], keys: int) -> Iterator[Run]:
    """Batches that are sorted by person."""
    import pyarrow.compute as pc

    before: list[Any] | None = None
    for batch in batches:
        if not batch.num_rows:
            continue
        begins = np.zeros(batch.num_rows, bool)
        ids = [batch.column(place) for place in range(keys)]
        for place, part in enumerate(ids):
            begins[1:] |= pc.not_equal(part[1:], part[:-1]).to_numpy(zero_copy_only=False)
            begins[0] |= before is None or part[0].as_py() != before[place]
        before = [part[-1].as_py() for part in ids]
        yield begins, connection.floats(batch.column(keys)), connection.floats(batch.column(keys + 1))


def _added(runs: Iterator[Run]) -> tuple[Floats, Floats]:
    """Sums, and numbers of rows. A sum that goes on in the next batch is its first summand there."""
    sums, counts, going_on = [np.empty(0)], [np.empty(0)], 0.0
    for begins, values, many in runs:
        found = np.bincount(np.append(0, np.cumsum(begins)), weights=np.append(going_on, values))
        sums.append(found[:-1].astype(np.float64, copy=False))
        counts.append(many[begins])
        going_on = float(found[-1])
    return np.concatenate([*sums, [going_on]])[1:], np.concatenate(counts)  # the first one was nobody's


def _medians(runs: Iterator[Run]) -> Floats:
    """The middle row of each person, the lower one of two."""
    found: list[Floats] = [np.empty(0)]
    done = 0
    for begins, values, many in runs:
        places = np.arange(values.size)
        place = places - np.maximum.accumulate(np.where(begins, places, -done))
        found.append(values[place == (many - 1) // 2])
        done = int(place[-1]) + 1
    return np.concatenate(found)


def _lasts(runs: Iterator[Run]) -> Floats:
    """The last row of each person."""
    found: list[Floats] = [np.empty(0)]
    last: Floats = np.empty(0)
    for begins, values, _ in runs:
        found += [last[: int(begins[0])], values[:-1][begins[1:]]]
        last = values[-1:]
    return np.concatenate([*found, last])
