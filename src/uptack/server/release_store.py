"""What a server remembers: releases, tokens and settings, in the database of the ledger.

A release is a record with a state:

    waiting    above the curator's threshold: nothing is debited yet
    refused    by the curator
    running    debited, or about to be; the answer is not there yet
    answered   the answer is stored, and is the same whenever it is asked for
    withheld   there will be no answer; a debit that was made stands

A record is written before the debit, and its key is unique for its analyst. So a request that is sent again finds the
record, and is debited once. An answer is written at the end of its time slot, and then sent: what is here may be seen,
and the time of no write depends on rows. A record that is running when it is due becomes withheld: its process was
killed, or was too slow. From then on no answer can be stored for it, so nobody computes a second one from the same
debit.

Every change is one transaction of `uptack.ledger.ledger_store.Store`: on disk when it returns.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

import sqlalchemy as sa

from uptack.errors import InvalidArgument, LedgerError
from uptack.ledger.ledger_store import Store

State = Literal["waiting", "refused", "running", "answered", "withheld"]
Role = Literal["analyst", "curator"]
Purpose = Literal["token", "cookie", "link"]

LONGEST_NAME = 200
LONG = ("request", "answer")
"""Columns that may have megabytes: lists of records do without."""
MIGRATIONS: tuple[tuple[str, ...], ...] = ()
"""Steps that bring older tables up to date, each a few SQL statements: the first from version 1 to 2, and so on. All
that are needed run in one transaction. A change to the tables below needs a step here."""


@dataclass(frozen=True)
class Record:
    """A request and what became of it: a row of the table of releases.

    `request` is the body as JSON, `line` the same in words. `made` and `due` are seconds since 1970; `due` is the end
    of the last time slot, and of an answer when it may be seen. `answer` is a text of `uptack.wire.answers`.
    """

    id: str
    dataset: str
    analyst: str
    key: str
    statistic: str
    request: str
    line: str
    epsilon: str
    delta: str
    state: State
    made: float
    due: float
    answer: str = ""

    def to_dict(self) -> dict[str, Any]:
        """What a list of releases shows: what may be long, the request and the answer, is left out."""
        apart = ("key", "request", "due", "answer")
        return {name: value for name, value in vars(self).items() if name not in apart}


@dataclass(frozen=True)
class Token:
    """Who somebody is: a row of the table of tokens, with the data sets as JSON. It has only the hash of the secret."""

    hash: str
    name: str
    role: Role
    purpose: Purpose
    datasets: tuple[str, ...]
    made: float
    expires: float
    revoked: bool = False

    def valid(self, now: float) -> bool:
        """Whether it has neither expired nor been revoked."""
        return not self.revoked and now < self.expires


metadata = sa.MetaData()


def _columns(row: type, key: str) -> Iterator[sa.Column[Any]]:
    """A column for each field of a row. What is neither a number nor a truth value is a text."""
    for field in fields(row):
        kind = {"float": sa.Float, "bool": sa.Boolean}.get(str(field.type), sa.Text)
        yield sa.Column(field.name, kind, primary_key=field.name == key, nullable=False)


versions = sa.Table("uptack_server", metadata, sa.Column("version", sa.Integer, primary_key=True))
unique = sa.UniqueConstraint("dataset", "analyst", "key")
releases = sa.Table("uptack_releases", metadata, *_columns(Record, "id"), unique)
sa.Index("uptack_releases_of_analyst", releases.c.analyst, releases.c.made)
tokens = sa.Table("uptack_tokens", metadata, *_columns(Token, "hash"))
names = sa.Column("name", sa.Text, primary_key=True), sa.Column("value", sa.Text, nullable=False)
settings = sa.Table("uptack_settings", metadata, *names)


def fingerprint(secret: str) -> str:
    """The hash of a secret. A secret has 256 random bits, so one round of SHA-256 is enough."""
    return hashlib.sha256(secret.encode()).hexdigest()


class ReleaseStore:
    """The tables of a server."""

    def __init__(self, place: str | Path, timeout: float = 30.0) -> None:
        self.place, self._store = place, Store(place, timeout)
        if "://" not in str(place):  # it holds answers, so a new file is for its owner alone
            with contextlib.suppress(OSError):
                os.close(os.open(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        with self._store.creating() as connection:
            _migrate(connection)

    def budgets(self) -> list[str]:
        return self._store.datasets()

    def check(self) -> None:
        """Raise `LedgerError` unless the database answers."""
        with self._store.reading() as connection:
            connection.execute(sa.select(versions.c.version)).first()

    # ------------------------------------------------------------------------------------------------------- releases

    def add(self, record: Record) -> Record:
        """Add a record, unless its analyst has one with this key: then that one is returned."""
        with self._store.writing() as connection:
            if connection.dialect.name == "postgresql":  # two that add the same key at once take turns
                lock = int(fingerprint(f"{record.dataset}\0{record.analyst}\0{record.key}")[:15], 16)
                connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({lock})")
            mine = _key(record.dataset, record.analyst, record.key)
            found = connection.execute(sa.select(releases).where(*mine)).first()
            if found is not None:
                return Record(**found._asdict())
            connection.execute(sa.insert(releases).values(vars(record)))
        return record

    def by_key(self, dataset: str, analyst: str, key: str) -> Record | None:
        return next(iter(self._releases(*_key(dataset, analyst, key))), None)

    def move(self, id: str, before: State, after: State, **changes: Any) -> bool:
        """Change the state of a record, and other columns, if it is still what it was. An answer is stored in time."""
        change = sa.update(releases).where(releases.c.id == id, releases.c.state == before)
        if after == "answered":
            change = change.where(releases.c.due > time.time())
        with self._store.writing() as connection:
            return connection.execute(change.values(state=after, **changes)).rowcount == 1

    def release(self, id: str) -> Record | None:
        return next(iter(self._releases(releases.c.id == id)), None)

    def list_releases(
        self, analyst: str | None = None, state: State | None = None, limit: int = 500, datasets: Sequence[str] = ("*",)
    ) -> list[Record]:
        """Records without requests and answers, the latest first: of one analyst, in one state, of these data sets."""
        conditions = [] if analyst is None else [releases.c.analyst == analyst]
        conditions += [] if state is None else [releases.c.state == state]
        conditions += [] if "*" in datasets else [releases.c.dataset.in_(datasets)]
        return self._releases(*conditions, limit=limit, without=LONG)

    def _releases(self, *conditions: Any, limit: int = 1, without: Sequence[str] = ()) -> list[Record]:
        parts = [sa.literal("").label(one.name) if one.name in without else one for one in releases.c]
        query = sa.select(*parts).where(*conditions).order_by(releases.c.made.desc(), releases.c.id).limit(limit)
        with self._store.reading() as connection:
            made = [Record(**row._asdict()) for row in connection.execute(query)]
        late = [one.id for one in made if one.state == "running" and one.due <= time.time()]
        for id in late:
            self.move(id, "running", "withheld")
        return self._releases(*conditions, limit=limit, without=without) if late else made

    # --------------------------------------------------------------------------------------------------------- tokens

    def issue(
        self, name: str, role: Role, datasets: tuple[str, ...] = ("*",), *, days: float = 90, purpose: Purpose = "token"
    ) -> str:
        """A new secret. It is shown once: the store keeps its hash."""
        if not 0 < len(name) <= LONGEST_NAME or not name.isprintable():  # in the ledger "" is the curator
            raise InvalidArgument("name", f"1 to {LONGEST_NAME} printable characters", "another text")
        secret, now = secrets.token_urlsafe(32), time.time()
        token = Token(fingerprint(secret), name, role, purpose, datasets, now, now + 86_400 * days)
        with self._store.writing() as connection:
            connection.execute(sa.insert(tokens).values({**vars(token), "datasets": json.dumps(datasets)}))
        return secret

    def token(self, secret: str) -> Token | None:
        """The token of a secret, if it is valid."""
        query = sa.select(tokens).where(tokens.c.hash == fingerprint(secret))
        with self._store.reading() as connection:
            row = connection.execute(query).first()
        made = None if row is None else _token(row._asdict())
        return made if made is not None and made.valid(time.time()) else None

    def use(self, secret: str) -> Token | None:
        """The token of a one-time link, which is revoked by this."""
        made = self.token(secret)
        if made is None or made.purpose != "link" or not self.revoke(made.hash):
            return None
        return made

    def revoke(self, hash: str) -> bool:
        """Revoke a token, and with it the cookies and links of its holder. False if there is none that is valid."""
        change = sa.update(tokens).where(tokens.c.revoked.is_(False)).values(revoked=True)
        with self._store.writing() as connection:
            found = connection.execute(sa.select(tokens).where(tokens.c.hash == hash)).first()
            if found is None or connection.execute(change.where(tokens.c.hash == hash)).rowcount != 1:
                return False
            if found.purpose == "token":  # a browser that has signed in with it, or with the link beside it
                same = (tokens.c[name] == getattr(found, name) for name in ("name", "role", "datasets"))
                connection.execute(change.where(*same, tokens.c.purpose != "token"))
        return True

    def tokens(self) -> list[Token]:
        """The tokens that people hold, the latest first; not the cookies of browsers."""
        query = sa.select(tokens).where(tokens.c.purpose == "token").order_by(tokens.c.made.desc())
        with self._store.reading() as connection:
            return [_token(row._asdict()) for row in connection.execute(query)]

    def setting(self, name: str, default: str = "") -> str:
        with self._store.reading() as connection:
            found = connection.scalar(sa.select(settings.c.value).where(settings.c.name == name))
        return default if found is None else str(found)

    def first(self, name: str, value: str) -> str:
        """The value of a setting, which is this one if nobody was faster: processes that start together agree."""
        if not self.setting(name):
            with self._store.creating() as connection:  # one at a time
                if connection.scalar(sa.select(settings.c.value).where(settings.c.name == name)) is None:
                    connection.execute(sa.insert(settings).values(name=name, value=value))
        return self.setting(name)

    def set(self, name: str, value: str) -> None:
        with self._store.creating() as connection:  # one at a time
            changed = connection.execute(sa.update(settings).where(settings.c.name == name).values(value=value))
            if changed.rowcount == 0:
                connection.execute(sa.insert(settings).values(name=name, value=value))


def _key(dataset: str, analyst: str, key: str) -> tuple[Any, ...]:
    return releases.c.dataset == dataset, releases.c.analyst == analyst, releases.c.key == key


def _token(row: dict[str, Any]) -> Token:
    return Token(**{**row, "datasets": tuple(json.loads(row["datasets"]))})


def _migrate(connection: sa.Connection) -> None:
    """Create the tables, or bring older ones up to date. What a newer uptack has written is refused."""
    newest = 1 + len(MIGRATIONS)
    if not sa.inspect(connection).has_table(versions.name):
        metadata.create_all(connection)
        connection.execute(sa.insert(versions).values(version=newest))
        return
    version = connection.scalar(sa.select(versions.c.version))
    if version is None or not 1 <= version <= newest:
        reason = f"has version {version} of its tables, and this uptack knows versions up to {newest}"
        raise LedgerError("the store of releases", reason, "Install a newer uptack, or restore a backup.")
    for statement in (one for step in MIGRATIONS[version - 1 :] for one in step):
        connection.exec_driver_sql(statement)
    connection.execute(sa.update(versions).values(version=newest))
