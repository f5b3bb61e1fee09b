"""The tables of a ledger, and the triggers that keep them append-only, for SQLite and PostgreSQL."""

from __future__ import annotations

from sqlalchemy import DDL, Column, Index, Integer, MetaData, Table, Text, event

metadata = MetaData()

entries = Table(
    "uptack_entries",
    metadata,
    Column("dataset", Text, primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("time", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("analyst", Text, nullable=False),  # "" is the curator
    Column("what", Text, nullable=False),
    Column("epsilon", Text, nullable=False),
    Column("delta", Text, nullable=False),
    Column("spent_epsilon", Text, nullable=False),
    Column("spent_delta", Text, nullable=False),
    Column("own_epsilon", Text, nullable=False),
    Column("own_delta", Text, nullable=False),
    Column("details", Text, nullable=False),
    Column("previous", Text, nullable=False),
    Column("hash", Text, nullable=False),
)
Index("uptack_entries_of_analyst", entries.c.dataset, entries.c.kind, entries.c.analyst, entries.c.number)

heads = Table(
    "uptack_heads",
    metadata,
    Column("dataset", Text, primary_key=True),
    Column("number", Integer, nullable=False),
    Column("hash", Text, nullable=False),
)


def _refuse(table: str, when: str, condition: str = "1") -> str:
    """An SQLite trigger that refuses what is done to a row."""
    name = f"{table}_{when.lower()}"
    return (
        f"CREATE TRIGGER {name} BEFORE {when} ON {table} WHEN {condition} "
        f"BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END"
    )


# A replaced row fires no DELETE trigger in SQLite, so INSERT is watched as well.
_OCCUPIED = "EXISTS (SELECT 1 FROM {0} WHERE {0}.dataset = NEW.dataset{1})"
_LITE = {
    entries: [
        _refuse("uptack_entries", "UPDATE"),
        _refuse("uptack_entries", "DELETE"),
        _refuse("uptack_entries", "INSERT", _OCCUPIED.format("uptack_entries", " AND number = NEW.number")),
    ],
    heads: [
        _refuse("uptack_heads", "UPDATE", "NEW.dataset <> OLD.dataset OR NEW.number <> OLD.number + 1"),
        _refuse("uptack_heads", "DELETE"),
        _refuse("uptack_heads", "INSERT", _OCCUPIED.format("uptack_heads", "")),
    ],
}

_FUNCTION = """CREATE OR REPLACE FUNCTION uptack_append_only() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'a ledger is append-only'; END $$"""
_TRIGGER = "CREATE TRIGGER {0}_{1} BEFORE {2} ON {0} FOR EACH {3} EXECUTE FUNCTION uptack_append_only()"
_POSTGRES = {
    entries: [
        _FUNCTION,
        _TRIGGER.format("uptack_entries", "rows", "UPDATE OR DELETE", "ROW"),
        _TRIGGER.format("uptack_entries", "truncate", "TRUNCATE", "STATEMENT"),
    ],
    heads: [
        _FUNCTION,
        _TRIGGER.format("uptack_heads", "delete", "DELETE", "ROW"),
        _TRIGGER.format("uptack_heads", "truncate", "TRUNCATE", "STATEMENT"),
        _TRIGGER.format(
            "uptack_heads",
            "update",
            "UPDATE",
            "ROW WHEN (NEW.dataset <> OLD.dataset OR NEW.number <> OLD.number + 1)",
        ),
    ],
}

for _dialect, _triggers in (("sqlite", _LITE), ("postgresql", _POSTGRES)):
    for _table, _statements in _triggers.items():
        for _statement in _statements:
            event.listen(_table, "after_create", DDL(_statement).execute_if(dialect=_dialect))  # type: ignore[no-untyped-call]
