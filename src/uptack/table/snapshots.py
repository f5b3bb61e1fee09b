"""The state of a connection to an engine: who reads from it, and which state of its tables a release sees."""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from uptack.errors import UptackError
from uptack.interrupts import without_engine_errors

T = TypeVar("T")
CHANGED = "the table changed while it was read, so nothing is released; what was debited stays debited"
ELSEWHERE = "the files have changed since they were opened; open them again"
IDLE = 0
"""psycopg's word for a connection that is in no transaction."""


class State:
    """What threads that share a connection must agree on.

    One thread at a time reads from a connection: `lock` is held for a query, or for a release that reads one state
    of the tables. `reading` is an object of its own for each such state, None where there is none; `isolated` says
    that the engine keeps it, and `fixed` that tables never change, as those in private files. `columns` are those
    of a state that are in memory (`uptack.table.engine.table`), and `answers` what was worked out (`once`). `mend`,
    where there is one, makes files readable that the engine failed on, and is called at most once. `unchanged` says
    whether files are as they were when they were opened. `folder` is a private one. `durations` are columns of
    whole numbers that are ticks of durations, and `csv_kinds` the kinds of a CSV file. `temporary` says how tables that
    queries share are made (`uptack.table.engine.connection.shared_table`), by their names, and `unused` are the names
    of those, and of views, that nobody needs any more. They are dropped before the next query, since the
    last use of one may end in another thread, in the middle of a query.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.reading: object | None = None
        self.isolated = False
        self.fixed = False
        self.columns: OrderedDict[Any, Any] = OrderedDict()
        self.answers: dict[Hashable, Any] = {}
        self.mend: Callable[[], None] | None = None
        self.unchanged: Callable[[], bool] = lambda: True
        self.folder: Path | None = None
        self.durations: frozenset[str] = frozenset()
        self.csv_kinds: dict[str, str] = {}
        self.temporary: dict[str, str] = {}
        self.unused: list[str] = []


def state(con: Any) -> State:
    """The state of a connection."""
    kept: State = vars(con).setdefault("_uptack_state", State())  # one step, so that two threads get the same
    return kept


def once(con: Any, key: Hashable, make: Callable[[], T]) -> T:
    """What `make()` returns: computed once for each state of the tables that is read, and each time outside of one.

    As keys, expressions of ibis stand as their operations (`table.op()`), which are hashable.
    """
    kept = state(con)
    with kept.lock:
        if kept.reading is None and not kept.fixed:
            return make()
        if key not in kept.answers:
            kept.answers[key] = make()
        found: T = kept.answers[key]
        return found


def kept_last(con: Any, key: Hashable, make: Callable[[], T]) -> T:
    """The same for what may be as long as a table: it is kept until another such thing is asked for."""
    last: dict[Hashable, T] = once(con, "last", dict)
    with state(con).lock:
        if key not in last:
            last.clear()
            last[key] = make()
        return last[key]


def run_query(con: Any, read: Callable[[], T]) -> T:
    """What `read()` returns, with no other thread on the connection. After a failure files are mended, once."""
    kept = state(con)
    with kept.lock:
        while kept.unused:
            name = kept.unused.pop()  # a view of Spark, or a table of DuckDB
            kept.temporary.pop(name, None)
            spark = con.name == "pyspark"
            drop = f"DROP {'VIEW' if spark else 'TABLE'} IF EXISTS {name}"
            without_engine_errors(partial(con.raw_sql if spark else con.con.execute, drop))
        if kept.mend is not None:
            with contextlib.suppress(UptackError):
                return without_engine_errors(read)
            without_engine_errors(lambda: _mend(con, kept))
        return without_engine_errors(read)


def _mend(con: Any, kept: State) -> None:
    """Mend outside of the transaction that the failure has spoilt."""
    mend, kept.mend = kept.mend, None
    if kept.reading is not None:
        con.con.rollback()
    if mend is not None:
        mend()
    if kept.reading is not None:
        con.con.begin()
        for making in kept.temporary.values():  # those of this transaction have gone with it
            con.con.execute(making)


@contextlib.contextmanager
def snapshot(con: Any, rows: Callable[[], int], now: Callable[[], int]) -> Iterator[None]:
    """One state of the tables for all that is read inside, and no other thread on the connection.

    DuckDB and PostgreSQL have transactions that see one state. Files must be the same before and after. For other
    engines the rows are counted before and after, by `rows()` and `now()`. A table that changed makes an error, after
    the debit. That is no answer about a row: two tables that differ in one row change alike.
    """
    with one_state(con) as isolated:
        before = 0 if isolated else rows()
        yield
        if not state(con).unchanged() or (not isolated and now() != before):
            raise UptackError(CHANGED)


@contextlib.contextmanager
def one_state(con: Any) -> Iterator[bool]:
    """One state for all snapshots inside, so that none reads again what another has read; True if the engine keeps it.

    Each snapshot checks by itself whether the table has changed. What is held in memory goes at the end.
    """
    kept = state(con)
    with kept.lock:
        if kept.reading is not None:
            yield kept.isolated
            return
        if not kept.unchanged():
            raise UptackError(ELSEWHERE)
        with contextlib.ExitStack() as stack:
            kept.isolated = without_engine_errors(lambda: stack.enter_context(_transaction(con)))
            kept.reading = object()
            try:
                yield kept.isolated
            finally:
                kept.reading = None
                if not kept.fixed:
                    kept.columns.clear()
                    kept.answers.clear()


@contextlib.contextmanager
def _transaction(con: Any) -> Iterator[bool]:
    """A transaction that sees one state, where the engine has such and its owner is in none. Whether there is one."""
    if con.name == "duckdb":
        first, second = (con.con.execute("SELECT txid_current()").fetchall() for _ in range(2))
        if first == second:  # in one already: to begin one inside another would spoil both
            yield True
            return
        con.con.begin()
        try:
            yield True
        finally:
            try:
                con.con.commit()
            except Exception:
                with contextlib.suppress(Exception):
                    con.con.rollback()
    elif con.name == "postgres" and con.con.info.transaction_status == IDLE:
        with con.con.transaction():
            con.con.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            yield True
    else:
        yield False
