"""The same requests through a session: what it, its plan and its ledger show is seen too."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from uptack import session as sessions
from uptack.audit.person_neighbours import PersonRows
from uptack.audit.scenario import Shown
from uptack.errors import UptackError
from uptack.ledger import Ledger
from uptack.noise import Entropy
from uptack.privacy import ADD_REMOVE, SUBSTITUTE, Privacy
from uptack.registry import declared
from uptack.report import report
from uptack.session.requests import Request

BUDGET = 100_000


def table_of(data: Any, second: str = "y") -> dict[str, Any]:
    """The data as named columns. The owners of rows are a column too."""
    if isinstance(data, PersonRows):
        return table_of(data.rows, second) | {"id": data.ids, "at": np.arange(len(data.ids))}
    if isinstance(data, tuple):
        x, *more = data
        return table_of(x) | dict(zip((second, "by"), more, strict=False))
    if isinstance(data, np.ndarray) and data.ndim == 2:
        return {f"x{i}" if i else "x": column for i, column in enumerate(data.T)}
    return {"x": data}


def declared_kinds(table: Mapping[str, Any], flags: bool = False) -> dict[str, str] | None:
    """The kinds that a curator declares of columns of pandas whose types rows may have chosen."""
    loose = [n for n, x in table.items() if isinstance(getattr(x, "dtype", None), np.dtype) and hasattr(x, "iloc")]
    return dict.fromkeys(loose, "boolean" if flags else "number") or None


@dataclass(frozen=True)
class SessionCall:
    """One request, as an analyst makes it: of a session, or of its column."""

    statistic: str
    options: Mapping[str, Any] = field(default_factory=dict)
    by: bool = False

    def __call__(self, data: Any, entropy: Entropy) -> Shown:
        """Open a session, ask, and look at what it shows."""
        made = declared()[self.statistic]
        shape = made.reads.shape
        table = table_of(data, "by" if self.by and shape != "design" else "y")
        if self.by and shape == "design":
            table["by"] = np.repeat("a", len(table["y"]))
        if self.by and shape == "flags":
            table["x"] = table["x"] > 3
        if "formula" in self.options:
            table["kind"] = np.where(np.arange(len(table["x"])) % 2, "a", "b")
        relation = ADD_REMOVE if self.by else self.options.get("adjacency", SUBSTITUTE)
        kinds = None if shape == "categories" else declared_kinds(table, shape == "flags")
        person = "id" if "id" in table else None
        opened = sessions.open(table, adjacency=relation, entropy=entropy, types=kinds, person=person)
        given = {key: value for key, value in self.options.items() if key != "adjacency"}
        given |= ({"by": "by"} if self.by else {}) | ({"order": "at"} if "order" in given else {})
        if self.by and shape == "design" and given["groups"]:
            given["groups"] = ["a"]
        request = Request(self.statistic, *self._columns(shape, table, given), **given)
        if shape == "column" and self.statistic in dir(opened["x"]):
            return Shown(lambda: getattr(opened["x"], self.statistic)(**given), lambda: session_shows(opened, request))
        return Shown(lambda: opened.run(request), lambda: session_shows(opened, request))

    def _columns(self, shape: str, table: Mapping[str, Any], given: Mapping[str, Any]) -> tuple[str, ...]:
        if "formula" in given:
            return ()
        names = [name for name in table if name not in ("by", "id", "at")]
        return tuple(sorted(names, key=lambda name: name != "y")) if shape == "design" else tuple(names)


def session_shows(opened: sessions.Session, request: Request) -> tuple[str, ...]:
    """What a session has to show once a request was made."""
    try:
        plan = str(opened.plan([request]))
    except UptackError as error:
        plan = f"{type(error).__name__}: {error}"
    return opened.describe(), plan, str(opened.spent), repr(request)


MEDIAN = Request("median", "x", epsilon=20)


@dataclass(frozen=True)
class OpenedWith:
    """A median in a session with options of its own, and a ledger if asked for; perhaps of some rows."""

    options: Mapping[str, Any] = field(default_factory=dict)
    where: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, data: Any, entropy: Entropy) -> Shown:
        """Open it, ask, and look at the session and the ledger."""
        given, folder = dict(self.options), tempfile.mkdtemp()
        if given.pop("ledger", None):
            given["ledger"] = Ledger(Path(folder) / "budget.db", epsilon=BUDGET, delta=0.5)
        opened = sessions.open(table_of(data), **given, entropy=entropy)
        part = opened.where(self.where) if self.where else opened

        def show() -> tuple[Any, ...]:
            lines = [] if opened.ledger is None else opened.ledger.entries()
            text = [(e.kind, e.what, str(e.cost), repr(e.loss), e.analyst) for e in lines]
            seen = (*session_shows(part, MEDIAN), text)
            shutil.rmtree(folder)
            return seen

        return Shown(lambda: part.run(MEDIAN), show)


@dataclass(frozen=True)
class SessionMethod:
    """A method of a session that is given requests: `run_all`, `plan`, `count`."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, data: Any, entropy: Entropy) -> Shown:
        """Several requests, or the options alone."""
        table = table_of(data)
        person, relation = "id" if "id" in table else None, self.options.get("adjacency", SUBSTITUTE)
        given = {key: value for key, value in self.options.items() if key != "adjacency"}
        opened = sessions.open(table, adjacency=relation, entropy=entropy, person=person)
        listed = [] if self.name == "count" else [[MEDIAN, Request("mean", "x", epsilon=1, missing="low")]]
        return Shown(lambda: getattr(opened, self.name)(*listed, **given), lambda: session_shows(opened, MEDIAN))


@dataclass(frozen=True)
class ReportSeen:
    """A report: what it claims, and all that it shows."""

    privacy: Privacy
    text: str


@dataclass(frozen=True)
class ReportCall:
    """A report with one of its sections."""

    options: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, data: Any, entropy: Entropy) -> ReportSeen:
        """Made of the columns, in every form that has text."""
        table = table_of(data)
        person: dict[str, Any] = {"person": "id"} if "id" in table else {}
        made = report({key: x for key, x in table.items() if key != "at"}, **self.options, **person, entropy=entropy)
        return ReportSeen(made.spent, f"{made!r}\n{made.to_json()}\n{made.to_html()}")
