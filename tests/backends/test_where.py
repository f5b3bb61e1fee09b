"""Conditions on rows hold for the same rows wherever these are kept."""

import numpy as np

from tests.answers import matrix
from tests.backends.tables import ROWS, keys
from uptack.table.conditions import conditions
from uptack.table.engine import connection
from uptack.table.engine.table import EngineTable, rows_meeting
from uptack.table.memory.table import rows_meeting as met_in_memory
from uptack.table.values.kinds import canonical

HUGE = 90071992547409931
WANTED = [
    ("visits", ("in", [HUGE, None])),
    ("visits", ("not in", [HUGE - 1, 1])),
    ("whole", (">=", 2**62 - 100.5)),
    ("unsigned", ("<", 2**64 - 100)),
    ("one; value", ("<", 10**9)),  # beyond the type of the column
    ("select", ("!=", 2.5)),
    ("real", ("between", (0, 0.1))),
    ("real", (">", 0.1)),
    ("gaps in it", ("<=", 0)),
    ("gaps in it", None),
    ("price's", ("<", 0.29)),
    ("größe ⊥", (">", 0.1)),
    ('a "flag"', ("!=", True)),
    ("text", ("<", "grüße")),
    ("text", ("in", ["O'Brien", "back\\slash", None])),
]


def met(table, wanted):
    """For each condition the rows that meet it: an engine is asked once for all."""
    if not isinstance(table, EngineTable):
        rows = matrix(table, "row")[:, 0]
        return [sorted(rows[met_in_memory(table.fields, [one])].tolist()) for one in wanted]
    parts = {f"c{i}": rows_meeting(lambda one: table.key(one.column), [one]) for i, one in enumerate(wanted)}
    lines = connection.result_rows(table.table.select("row", **parts))
    assert all(line[name] in (True, False) for line in lines for name in parts)
    return [sorted(line["row"] for line in lines if line[name]) for name in parts]


def test_conditions_hold_for_the_same_rows_everywhere(kept):
    given = [(name, what) for name, what in WANTED if name in kept.kinds]
    wanted = [conditions({name: what}, kept.table.kinds)[0] for name, what in given]
    for condition, found in zip(wanted, met(kept.table, wanted), strict=True):
        values = keys(kept.rows[condition.column])
        if condition.kind == "number":  # in pandas integers with a gap are floats
            values = [None if value is None else float(value) for value in values]
        rows = zip(kept.rows["row"].to_pylist(), values, strict=True)
        assert found == sorted(row for row, value in rows if condition.holds_for(canonical(value))), condition
        assert 0 < len(found) < ROWS or condition.column in ("one; value", "select", "unsigned")
    narrowed = kept.table.where(wanted[:2])
    found = matrix(narrowed, "row")[:, 0]
    assert found.size == narrowed.size == ROWS
    assert np.count_nonzero(~np.isnan(found)) == narrowed.trues(None)
