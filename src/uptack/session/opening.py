"""How a session is opened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from uptack.noise import Entropy
from uptack.noise.entropy import source as entropy_source
from uptack.privacy import ADD_REMOVE, SUBSTITUTE, Adjacency
from uptack.privacy.adjacency import adjacency as check_adjacency
from uptack.registry.guard import SILENCE
from uptack.session.kinds import settled
from uptack.session.session import Session
from uptack.session.units import about, called, check_ledger
from uptack.statistics.column_options import read_question
from uptack.table.csv.rules import Types
from uptack.table.engine.files import FileOptions, schema_of
from uptack.table.opening import open_table
from uptack.table.schema import Schema

if TYPE_CHECKING:
    from uptack.ledger import Ledger


def open(
    data: Any,
    *,
    ledger: Ledger | None = None,
    analyst: str | None = None,
    table: str | None = None,
    adjacency: Adjacency | None = None,
    rows_per_person: int = 1,
    person: str | Sequence[str] | None = None,
    noun: str | None = None,
    missing: Any = "drop",
    types: Types = None,
    delimiter: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    na: str | Sequence[str] | None = None,
    entropy: Entropy | None = None,
) -> Session:
    """A session on data wherever they are: a file, a data frame, a table of a database or cluster.

    `data` is whatever `uptack.table.open_table` takes. With a `ledger` every release is debited, durably, before the
    data are touched; `analyst` says on whose behalf. The other arguments are what each release is made with unless it
    says otherwise; a request may raise `rows_per_person`, not lower it. `types` says what the columns of a CSV file
    hold, and `delimiter`, `header`, `encoding`, `decimal`, `thousands` and `na` how it is written: see
    `uptack.table.open_table`. Types that are guessed are kept by the ledger, and used again the next time. An error
    about missing values is an answer about the data, so `missing="error"` is for a curator who opens a session with it.

    `person` names the column of ids that says whose each row is, or several for an id of several columns. Then people
    are protected, with all their rows, and the number of people takes the place of that of rows, which is secret. Rows
    without an id are left out, and ids can't be asked about. Without `person` rows are protected; `noun` is what
    one row is, for those who read of it, "row" unless given.

    A schema beside a file, `FILE.uptack.toml`, says what no argument says: how the file is written, `person`, `noun`
    and `adjacency`, and what statistics of a column are told, such as its granularity (`uptack.table.schema`).

    Each release reads one state of the table, and counts its rows anew. Threads may share a session: where they share a
    connection to an engine, one release is made after the other.

    >>> import numpy as np
    >>> from uptack import SeededEntropy
    >>> session = open({"age": np.arange(20, 80).repeat(100)}, entropy=SeededEntropy(1))
    >>> session["age"].median(epsilon=0.5).value
    49.0
    >>> session.spent
    Privacy(epsilon=0.5)
    """
    schema = schema_of(data) or Schema()
    usual = ADD_REMOVE if schema.adjacency == "add-remove" else SUBSTITUTE
    relation = check_adjacency(usual if adjacency is None else adjacency, rows_per_person)
    relation = about(relation, person if person is not None or relation.person else schema.person or None)
    if ledger is not None:
        check_ledger(ledger, relation)
    read_question("session", 1, {"missing": missing})
    how = FileOptions(
        table=table, types=types, delimiter=delimiter, header=header, encoding=encoding, decimal=decimal,
        thousands=thousands, na=na,
    )  # fmt: skip
    options = settled(data, schema.filled(how), ledger).given()
    with SILENCE, np.errstate(all="ignore"):  # ids are read here, and no warning may tell of one
        rows = open_table(data, person=relation.person or None, **options)
    schema.fits(rows.kinds)
    word = called((schema.noun or "row") if noun is None else noun)
    return Session(rows, ledger, analyst, relation, missing, entropy_source(entropy), word, schema)
