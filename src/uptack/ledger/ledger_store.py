"""Where a ledger is kept: transactions, locks and durability in SQLite and PostgreSQL, through one code path.

- SQLite: a rollback journal with `synchronous=EXTRA`, so that a commit is on the disk before it returns, the end of its
  journal too; writers queue up with `BEGIN IMMEDIATE`. Locks are on the file itself, and there must be one way to it
  (below). The file must be on a local disk: network drives don't keep locks.
- PostgreSQL: `synchronous_commit=on`; writers to one data set queue up with `SELECT ... FOR UPDATE` on its head.

No connection outlives a transaction, so that a ledger may be used across threads and forked processes, and over
restarts of the server.

**The file** must have one path, and the lock must be on the file and not on a name. SQLite keeps the journal of a
transaction *beside* the file, under the file's name. A process that comes to the same file by another name finds no
journal. After a crash it would read half a transaction, and the journal would later undo what it wrote. A write-ahead
log is worse: its lock lies beside the file too, so two names make two locks. Hence:

- Symbolic links are followed first: they end at one name.
- A file with several hard links is refused, whenever it is opened: a link may be made at any time.
- A file that is a mount by itself is refused: it has another name elsewhere. A folder that is mounted twice is fine,
  since the journals in it are the same files.
- There is a rollback journal and no write-ahead log, so that all locks are on the file itself: a process that came by
  another name before these checks could see it still waits for the others.
- After a commit the name must still lead to the file that was opened. Otherwise the debit went into a file that
  will never be read again, and counts as not made.

The file is looked at by its name only and never opened here: POSIX gives up all locks of a process on a file as soon as
that process closes any handle to it, SQLite's own included.
"""

from __future__ import annotations

import os
import re
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, DBAPIError

from uptack import checks
from uptack.errors import InvalidArgument, LedgerError, UptackError
from uptack.ledger.entry_chain import FIELDS, Head, Row

metadata = sa.MetaData()

entries = sa.Table(
    "uptack_entries",
    metadata,
    sa.Column("dataset", sa.Text, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    *(sa.Column(name, sa.Text, nullable=False) for name in (*FIELDS[2:], "hash")),
)
sa.Index("uptack_entries_of_analyst", entries.c.dataset, entries.c.kind, entries.c.analyst, entries.c.number)

heads = sa.Table(
    "uptack_heads",
    metadata,
    sa.Column("dataset", sa.Text, primary_key=True),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("hash", sa.Text, nullable=False),
)


_MOVED = "NEW.dataset <> OLD.dataset OR NEW.number <> OLD.number + 1"
_OCCUPIED = "EXISTS (SELECT 1 FROM {0} WHERE {0}.dataset = NEW.dataset{1})"
_REFUSED = (
    (entries, "UPDATE", "1 = 1"),
    (entries, "DELETE", "1 = 1"),
    (heads, "UPDATE", _MOVED),
    (heads, "DELETE", "1 = 1"),
)
"""What may not be done to a row, if a condition holds: a ledger is append-only."""
_REFUSED_IN_SQLITE = (
    *_REFUSED,
    (entries, "INSERT", _OCCUPIED.format(entries.name, " AND number = NEW.number")),
    (heads, "INSERT", _OCCUPIED.format(heads.name, "")),
)
"""A replaced row fires no DELETE trigger in SQLite, so INSERT is watched as well."""

_SQLITE = "CREATE TRIGGER {0}_{2} BEFORE {1} ON {0} WHEN {3} BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END"
_FUNCTION = """CREATE OR REPLACE FUNCTION uptack_append_only() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'a ledger is append-only'; END $$"""
_POSTGRES = "CREATE TRIGGER {0}_{2} BEFORE {1} ON {0} FOR EACH ROW WHEN ({3}) EXECUTE FUNCTION uptack_append_only()"
_TRUNCATE = "CREATE TRIGGER {0}_truncate BEFORE TRUNCATE ON {0} EXECUTE FUNCTION uptack_append_only()"


def _after_create(table: sa.Table, dialect: str, statement: str) -> None:
    sa.event.listen(table, "after_create", sa.DDL(statement).execute_if(dialect=dialect))  # type: ignore[no-untyped-call]


for _table in (entries, heads):
    _after_create(_table, "postgresql", _FUNCTION)
    _after_create(_table, "postgresql", _TRUNCATE.format(_table.name))
for _dialect, _trigger, _rules in (("sqlite", _SQLITE, _REFUSED_IN_SQLITE), ("postgresql", _POSTGRES, _REFUSED)):
    for _table, _when, _condition in _rules:
        _after_create(_table, _dialect, _trigger.format(_table.name, _when, _when.lower(), _condition))


MOUNTS = Path("/proc/self/mountinfo")
"""Where Linux lists what is mounted. Elsewhere single files are not mounted."""

Identity = tuple[int, int]
"""The identity of a file, whatever its name: its device and its inode."""


def resolve_path(place: str | Path) -> Path:
    """The resolved path of an existing or a new file."""
    if str(place) in ("", ".", ":memory:"):
        raise InvalidArgument("place", "the path of a file, or a URL", checks.describe(str(place)))
    try:
        path = Path(place).resolve()
        is_folder, has_folder = path.is_dir(), path.parent.is_dir()
    except (OSError, RuntimeError, ValueError):
        raise LedgerError(str(place), "is not a valid path") from None
    if is_folder:
        raise LedgerError(str(path), "is a directory", "Pass the path of a file in it.")
    if not has_folder:
        raise LedgerError(str(path), "is in a directory that does not exist", f"Create {path.parent} first.")
    return path


def identity(path: Path) -> Identity | None:
    """The identity of the file of that name; None if there is none yet. A file with other names is refused."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise LedgerError(str(path), f"can't be used: {error.strerror}") from None
    if not stat.S_ISREG(found.st_mode):
        raise LedgerError(str(path), "is not a file", "Pass the path of a ledger, or of a new file.")
    if found.st_nlink > 1:
        fix = "Remove all but one of them. A budget must have one file."
        raise LedgerError(str(path), "has several names (hard links)", fix)
    if is_mount(path):
        fix = "Mount its folder instead, because the journal lies beside the file."
        raise LedgerError(str(path), "is mounted as a single file", fix)
    return found.st_dev, found.st_ino


def is_mount(path: Path) -> bool:
    """Whether this path itself is a mount. The kernel writes blanks as a backslash and three octal digits."""
    try:
        lines = MOUNTS.read_bytes().splitlines()
    except OSError:
        return False
    points = (re.sub(rb"\\([0-7]{3})", lambda code: bytes([int(code[1], 8)]), line.split()[4]) for line in lines)
    return os.fsencode(path) in points


APPLICATION = 0x5570546B
"""SQLite's application_id of a ledger file: "UpTk"."""

_WAIT = "Another process holds it. Wait for it to end, or open the ledger with a larger timeout."
_REASONS = {
    "SQLITE_BUSY": ("is locked", _WAIT),
    "SQLITE_NOTADB": ("is not a ledger: it is not an SQLite file", "Pass the path of a ledger, or of a new file."),
    "SQLITE_READONLY": ("can't be written to", "Make the file and its directory writable."),
    "SQLITE_CANTOPEN": ("can't be opened", "Its directory must exist and be writable."),
    "SQLITE_FULL": ("can't be written to: the disk is full", "Free some space on the disk."),
    "SQLITE_CORRUPT": ("is damaged as an SQLite file", "Restore it from a copy."),
    "55P03": ("is locked", _WAIT),
    "42501": ("can't be written to: permission denied", "Grant the user rights on the ledger's tables."),
}


def _reason(error: BaseException) -> tuple[str, str]:
    """The meaning of a driver's error, and what to do."""
    name = str(getattr(error, "sqlite_errorname", None) or getattr(error, "sqlstate", None) or "")
    known = [meaning for code, meaning in _REASONS.items() if name.startswith(code)]
    return known[0] if known else (f"can't be used: {str(error).strip()}", "")


class Store:
    """A database with ledgers, one per data set."""

    def __init__(self, place: str | Path, timeout: float) -> None:
        self.timeout = timeout
        self._path: Path | None = None
        if isinstance(place, str) and "://" in place:
            url = _url(place)
            self.name = url.render_as_string(hide_password=True)
            try:
                self._engine = sa.create_engine(url, poolclass=sa.NullPool)
            except ImportError as missing:
                raise UptackError('a ledger in PostgreSQL needs psycopg: pip install "uptack[postgres]"') from missing
        else:
            self._path = resolve_path(place)
            self.name = str(self._path)
            self._engine = sa.create_engine("sqlite://", creator=lambda: self._connect("rw"), poolclass=sa.NullPool)

    def _connect(self, mode: str) -> sqlite3.Connection:
        """A connection to the file, without automatic transactions. The mode "rwc" creates a missing file."""
        place = f"file:{quote(os.fsencode(str(self._path)))}?mode={mode}"
        raw = sqlite3.connect(place, uri=True, timeout=self.timeout, isolation_level=None, check_same_thread=False)
        try:
            raw.execute("PRAGMA synchronous = EXTRA")
            raw.execute("PRAGMA fullfsync = ON")
            if raw.execute("PRAGMA journal_mode = DELETE").fetchone() != ("delete",):
                raise LedgerError(self.name, *_REASONS["SQLITE_BUSY"])
        except BaseException:
            raw.close()
            raise
        return raw

    def _identity(self) -> Identity | None:
        """The identity of the file now. A file with other names is refused."""
        return None if self._path is None else identity(self._path)

    @contextmanager
    def _clear(self) -> Iterator[None]:
        """Turns errors of the database into `LedgerError`."""
        try:
            yield
        except DBAPIError as error:
            raise LedgerError(self.name, *_reason(error.orig or error)) from error
        except sqlite3.Error as error:
            raise LedgerError(self.name, *_reason(error)) from error

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A transaction that sees one state of the ledger."""
        self._identity()
        with self._clear(), self._engine.begin() as connection:
            if self._path is not None:
                connection.exec_driver_sql("BEGIN")
            else:
                connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """A transaction that is on disk when it ends, and is rolled back on an error."""
        before = self._identity()
        with self._clear(), self._engine.begin() as connection:
            if self._path is not None:
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            else:
                connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
                patience = min(max(1, round(1000 * self.timeout)), 2**31 - 1)
                connection.exec_driver_sql(f"SET LOCAL lock_timeout = {patience}")
                connection.exec_driver_sql("SET LOCAL synchronous_commit = on")
            yield connection
        if self._identity() != before:
            raise LedgerError(self.name, "was moved or replaced during a write", "Nothing is released.")

    def exists(self) -> bool:
        """Whether there are ledgers here. Another file is refused and not changed."""
        if self._path is None:
            with self.reading() as connection:
                return sa.inspect(connection).has_table(heads.name)
        if self._identity() is None or self._path.stat().st_size == 0:
            return False
        with self._clear(), closing(self._connect("rw")) as raw:
            mark = raw.execute("PRAGMA application_id").fetchone()[0]
            tables = {name for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if tables and (mark != APPLICATION or heads.name not in tables):
            fix = "Pass the path of a ledger, or of a new file."
            raise LedgerError(self.name, "is an SQLite file, but not a ledger", fix)
        return bool(tables)

    @contextmanager
    def creating(self) -> Iterator[sa.Connection]:
        """A writing transaction in a database that has the tables, one at a time."""
        if self._path is not None and not self.exists():
            with self._clear(), closing(self._connect("rwc")) as raw:
                raw.execute(f"PRAGMA application_id = {APPLICATION}")  # marked as a ledger
        with self.writing() as connection:
            if self._path is None:  # two that create the same at once would collide
                connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({APPLICATION})")
            metadata.create_all(connection)
            yield connection

    def datasets(self) -> list[str]:
        with self.reading() as connection:
            return list(connection.scalars(sa.select(heads.c.dataset).order_by(heads.c.dataset)))


def _url(text: str) -> sa.URL:
    must, fix = "a path, or a URL of a PostgreSQL server", "Such as postgresql+psycopg://user@host/database."
    try:
        url = sa.make_url(text.replace("postgres://", "postgresql://", 1))
    except ArgumentError:
        raise InvalidArgument("place", must, "an invalid URL", fix) from None
    if url.get_backend_name() != "postgresql":
        raise InvalidArgument("place", must, f"a URL of {url.drivername}", fix)
    return url.set(drivername="postgresql+psycopg") if url.drivername == "postgresql" else url


def head(connection: sa.Connection, dataset: str, lock: bool = False) -> Head | None:
    """The head of a chain, if there is one. With `lock` no other transaction can append until this one ends."""
    query = sa.select(heads.c.number, heads.c.hash).where(heads.c.dataset == dataset)
    found = connection.execute(query.with_for_update() if lock else query).first()
    return None if found is None else Head(found.number, found.hash)


def rows(connection: sa.Connection, dataset: str, latest: int | None = None, **equal: str | int) -> Iterator[Row]:
    """The rows of a data set whose columns have these values, in order: all of them, or the latest."""
    query = sa.select(entries).filter_by(dataset=dataset, **equal)
    if latest is not None:
        newest = query.order_by(entries.c.number.desc()).limit(latest).subquery()
        query = sa.select(newest).order_by(newest.c.number)
    else:
        query = query.order_by(entries.c.number)
    for row in connection.execute(query.execution_options(yield_per=1000)):
        yield row._asdict()


def analysts(connection: sa.Connection, dataset: str) -> list[str]:
    """The names in the rows of a data set, in the order of the alphabet."""
    named = sa.select(entries.c.analyst).distinct().where(entries.c.dataset == dataset, entries.c.analyst != "")
    return list(connection.scalars(named.order_by(entries.c.analyst)))


def last(connection: sa.Connection, dataset: str, **equal: str | int) -> Row | None:
    """The last row of a data set whose columns have these values, if there is one."""
    query = sa.select(entries).filter_by(dataset=dataset, **equal).order_by(entries.c.number.desc()).limit(1)
    row = connection.execute(query).first()
    return None if row is None else row._asdict()


def append(connection: sa.Connection, row: Row) -> None:
    """Add a row, and move the head to it."""
    connection.execute(sa.insert(entries).values(dict(row)))
    place = Head(row["number"], row["hash"])
    if place.number == 1:
        connection.execute(sa.insert(heads).values(dataset=row["dataset"], number=1, hash=place.hash))
    else:
        moved = sa.update(heads).where(heads.c.dataset == row["dataset"])
        connection.execute(moved.values(number=place.number, hash=place.hash))
