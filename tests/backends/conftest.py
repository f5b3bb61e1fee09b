"""Every test with the fixture `kept` runs once for each place that rows may be kept in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import ibis
import pyarrow as pa
import pytest

from tests.backends.engines import PLACES, Place, spark_session
from tests.backends.tables import KINDS, table
from tests.postgres import postgres_server
from uptack.table.opening import open_table
from uptack.table.protocol import Table


@dataclass(frozen=True)
class Kept:
    """Rows, the table that was made of them, and how another one is made."""

    rows: pa.Table
    table: Table
    kinds: dict[str, str]
    put: Callable[[pa.Table], Table]

    @property
    def numbers(self) -> list[str]:
        return [name for name, kind in self.kinds.items() if kind in ("integer", "number", "boolean")]


@pytest.fixture(scope="session")
def spark(tmp_path_factory) -> Iterator[Place]:
    """One session for the whole run."""
    session = spark_session(tmp_path_factory.mktemp("spark"))
    yield Place(lambda rows, _: open_table(session.createDataFrame(rows)), without=("unsigned",))
    session.stop()


@pytest.fixture(scope="session")
def postgres_uri() -> Iterator[str]:
    """A PostgreSQL server of its own, thrown away after the run."""
    with postgres_server() as (uri, _):
        yield uri


@pytest.fixture(scope="session")
def postgres_url(postgres_uri) -> str:
    """The same for SQLAlchemy."""
    return postgres_uri.replace("postgresql:", "postgresql+psycopg:", 1)


@pytest.fixture(scope="session")
def postgres(postgres_uri) -> Iterator[Place]:
    """Tables of a PostgreSQL server."""
    import psycopg

    con = ibis.postgres.from_connection(psycopg.connect(postgres_uri))

    def put(rows: pa.Table, _: Path) -> Table:
        return open_table(con.create_table(f"table {uuid4().hex}", rows))

    yield Place(put, without=("unsigned",))
    con.disconnect()


NAMES = [*PLACES, *(pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in ("spark", "postgres"))]


@pytest.fixture(scope="session", params=NAMES)
def panel(request, tmp_path_factory) -> Callable[[pa.Table], Table]:
    """A function that puts a table of people's rows into one place."""
    place = PLACES.get(request.param) or request.getfixturevalue(request.param)
    return lambda rows: place.put(rows, tmp_path_factory.mktemp("panel"))


@pytest.fixture(scope="session", params=NAMES)
def kept(request, tmp_path_factory) -> Kept:
    """The table of `tests.backends.tables` in one place."""
    place = PLACES.get(request.param) or request.getfixturevalue(request.param)

    def put(rows: pa.Table) -> Table:
        return place.put(rows, tmp_path_factory.mktemp("rows"))

    rows = place.alter(table()).drop_columns(list(place.without))
    kinds = {name: kind for name, kind in KINDS.items() if name not in place.without} | dict(place.kinds)
    return Kept(rows, put(rows), kinds, put)
