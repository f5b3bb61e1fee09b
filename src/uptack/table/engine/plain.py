"""DuckDB asked in its own words: the four statements that most figures need, of columns of the usual types.

To import ibis takes longer than to read 10^5 rows. A table whose columns are all numbers, truth values or texts is
*plain*: its rows are counted, columns are read, one or several, and values are counted by the statements of this file.
Whatever else is asked of it is asked through ibis, which is told of the connection then. Both ways say the same: see
`tests/backends/test_plain.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from uptack.table import snapshots
from uptack.table.values.kinds import Kind

WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
KINDS: dict[str, Kind] = {
    **dict.fromkeys(WHOLE, "integer"),
    "FLOAT": "number",
    "DOUBLE": "number",
    "BOOLEAN": "boolean",
    "VARCHAR": "text",
}
"""The usual types, and the kinds of columns that have them."""


class Connection:
    """A connection to DuckDB. It looks like one of ibis, as far as it goes."""

    name = "duckdb"

    def __init__(self, path: str = ":memory:", read_only: bool = False, **settings: Any) -> None:
        import duckdb

        self.con = duckdb.connect(path, read_only, settings)
        self.con.execute("SET python_enable_replacements = false")  # a table is one of DuckDB, never a variable
        self.con.execute("SET timezone = 'UTC'")  # ibis does, too: a view may make numbers of times

    def ibis(self) -> Any:
        """The same connection for ibis: the same state, the same locks."""
        with snapshots.state(self).lock:  # ibis asks DuckDB at once, which must not break off what another thread reads
            if "_ibis" not in vars(self):
                import ibis

                made = ibis.duckdb.from_connection(self.con)
                vars(made)["_uptack_state"] = snapshots.state(self)
                self._ibis = made
            return self._ibis

    def table(self, name: str) -> Any:
        """A table or a view by its name: a plain one, or else one of ibis."""
        with snapshots.state(self).lock:
            described = self.con.execute(f"DESCRIBE {quoted(name)}").fetchall()
            types = {column: dtype for column, dtype, *_ in described}
            return Plain(self, name, types) if KINDS.keys() >= set(types.values()) else self.ibis().table(name)

    def compile(self, statement: Statement) -> str:
        """The text of a statement."""
        return statement.text


@dataclass(frozen=True)
class Statement:
    """A question in DuckDB's own words."""

    con: Connection
    text: str

    def op(self) -> Statement:
        """What two questions that are the same have in common."""
        return self


class Plain:
    """A table whose columns are all of the usual types."""

    def __init__(self, con: Connection, name: str, types: Mapping[str, str]) -> None:
        self.con, self.name = con, name
        self.kinds: dict[str, Kind] = {column: KINDS[dtype] for column, dtype in types.items()}

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.kinds)

    def get_name(self) -> str:
        """The name of the table."""
        return self.name

    @cached_property
    def table(self) -> Any:
        """The same table for ibis, which reads its types."""
        with snapshots.state(self.con).lock:
            return self.con.ibis().table(self.name)

    def count(self) -> Statement:
        """How many rows there are."""
        return self._select("COUNT(*) AS rows")

    def floats(self, column: str) -> Statement:
        """A column of numbers as floats of 64 bits. A truth value is 0 or 1."""
        return self._select(f"{self._number(column)} AS v")

    def beside(self, numbers: Sequence[str], others: Sequence[str]) -> Statement:
        """Some columns as floats, and the keys of others, side by side."""
        values = [f"{self._number(column)} AS v{place}" for place, column in enumerate(numbers)]
        keys = [f"{self._key(column)} AS c{place}" for place, column in enumerate(others)]
        return self._select(", ".join([*values, *keys]))

    def counts(self, columns: Sequence[str]) -> Statement:
        """Combinations of values, and how many rows have each."""
        keys = [f"{self._key(column)} AS k{place}" for place, column in enumerate(columns)]
        groups = ", ".join(str(place) for place in range(1, len(keys) + 1))
        return self._select(f"{', '.join(keys)}, COUNT(*) AS rows", f" GROUP BY {groups}")

    def _select(self, what: str, after: str = "") -> Statement:
        return Statement(self.con, f"SELECT {what} FROM {quoted(self.name)}{after}")

    def _number(self, column: str) -> str:
        inner = f"CAST({quoted(column)} AS INTEGER)" if self.kinds[column] == "boolean" else quoted(column)
        return f"CAST({inner} AS DOUBLE)"

    def _key(self, column: str) -> str:
        """Floats, the bytes of texts, and everything else as it is: see `uptack.table.engine.table.EngineTable.key`."""
        kind = self.kinds[column]
        return {"number": self._number(column), "text": f"ENCODE({quoted(column)})"}.get(kind, quoted(column))


def quoted(name: str) -> str:
    """A name in a statement."""
    return '"' + name.replace('"', '""') + '"'
