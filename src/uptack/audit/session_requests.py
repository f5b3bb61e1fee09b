"""The same asks through a session: what it, its plan and its ledger show is seen too."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from uptack import session as sessions
from uptack.audit.person_neighbours import PEOPLES, PersonRows
from uptack.audit.replay import Shown
from uptack.audit.replay_request import Ask
from uptack.errors import UptackError
from uptack.ledger import Ledger
from uptack.noise import Entropy
from uptack.privacy import ADD_REMOVE, SUBSTITUTE
from uptack.registry import declared
from uptack.session.columns import of_several
from uptack.session.requests import Request, in_tables

REGRESSIONS = {
    "shortcut_regression": "shortcut_regression",
    "hampel_regression": "robust_regression",
    "linear_regression": "regression",
}
COLUMN, WHOLE = "uptack.session.SessionColumn", "uptack.session.Session"
BUDGET = 10_000


def session_asks(direct: Iterable[Ask]) -> list[Ask]:
    """Each ask that a session can be asked, of the column "x", or of "y" and "x" for regressions."""
    made = []
    for ask in direct:
        name = ask.function.rpartition(".")[2]
        statistic, declaration = REGRESSIONS.get(name, name), declared().get(name)
        if declaration is None or not in_tables(declaration):
            continue
        place = WHOLE if of_several(declaration) else COLUMN
        made.append(replace(ask, function=f"{place}.{statistic}", make=partial(asked, statistic), basic=False))
    return [*made, *_whole()]


def _whole() -> list[Ask]:
    """What is asked of a session itself, and how one is opened."""
    secret = {"epsilon": 2, "adjacency": ADD_REMOVE}
    opened = {"analyst": "ann", "rows_per_person": 2, "missing": "low", "adjacency": ADD_REMOVE, "table": None}
    ways = [opened, {"ledger": True, "missing": "drop", "types": None}]
    peoples: list[dict[str, Any]] = [{"person": "id"}, {"person": ["id"], "adjacency": ADD_REMOVE, "missing": "low"}]
    whole, free = partial(asked, "rows"), frozenset({"⊥", "stamps"})
    runs = {"run": one_request, "run_all": requests, "plan": requests}
    return [
        Ask(f"{WHOLE}.count", "numbers", {**secret, "nonnegative": True, "rows_per_person": 2}, whole),
        *(Ask("uptack.session.open", "any numbers", way, opening, free) for way in ways),
        *(Ask("uptack.session.open", f"{PEOPLES}any numbers", way, opening, free) for way in peoples),
        Ask(f"{WHOLE}.count", f"{PEOPLES}numbers", {**secret, "weights": "rows", "at_most": 2}, whole),
        *(Ask(f"{WHOLE}.{name}", "any numbers", {"progress": False}, make, free) for name, make in runs.items()),
        *(Ask(f"{WHOLE}.where", f"{whose}any numbers", {"x": (">", 0)}, narrowing, free) for whose in ("", PEOPLES)),
    ]


def _tabled(statistic: str, data: Any) -> Any:
    """The data as named columns; a matrix as one. The owners of rows are a column too."""
    if isinstance(data, PersonRows):
        return _tabled(statistic, data.rows) | {"id": data.ids, "at": np.arange(len(data.ids))}
    if isinstance(data, tuple):
        x, y = data
        second = "label" if declared().get(statistic) is not None and of_several(declared()[statistic]) else "by"
        return {"x": x[:, 0], "y": y} if np.ndim(x) == 2 else {"x": x, second: y}
    if isinstance(data, np.ndarray) and data.ndim == 2:
        return {f"x{i}": column for i, column in enumerate(data.T)}
    return {"x": data}


def _types(statistic: str, table: Any) -> dict[str, str] | None:
    """The kinds that a curator declares of columns of pandas, whose types rows may have chosen."""
    kind = "boolean" if statistic == "count" else "number"
    loose = (
        name for name, x in table.items() if isinstance(getattr(x, "dtype", None), np.dtype) and hasattr(x, "iloc")
    )
    return None if statistic in ("histogram", "rows") else dict.fromkeys(loose, kind) or None


def asked(statistic: str, function: Any, options: dict[str, Any], data: Any, entropy: Entropy) -> Shown:
    """One request, as an analyst asks it: `function` is a method of the session, or of its column."""
    table, person = _tabled(statistic, data), "id" if isinstance(data, PersonRows) else None
    relation = ADD_REMOVE if "by" in table else options.get("adjacency", SUBSTITUTE)
    kinds = _types(statistic, table)
    opened = sessions.open(table, adjacency=relation, entropy=entropy, types=kinds, person=person)
    given = {key: value for key, value in options.items() if key != "adjacency"}
    given |= ({"by": "by"} if "by" in table else {}) | ({"order": "at"} if "order" in given else {})
    columns = ("y", "x") if "y" in table else tuple(name for name in table if name not in ("by", "id", "at"))
    several = statistic in REGRESSIONS.values() or (statistic in declared() and of_several(declared()[statistic]))
    columns, statistic = ((), "count") if statistic == "rows" else (columns, statistic)
    request = Request(statistic, *columns, **given)
    if len(columns) == 1:
        return Shown(lambda: function(opened["x"], **given), lambda: _shown(opened, request))
    if columns and not several:
        return Shown(lambda: opened.run(request), lambda: _shown(opened, request))
    return Shown(lambda: function(opened, *columns, **given), lambda: _shown(opened, request))


def _shown(opened: sessions.Session, request: Request) -> tuple[str, ...]:
    """What a session has to show once a request was made."""
    try:
        plan = str(opened.plan([request]))
    except UptackError as error:
        plan = f"{type(error).__name__}: {error}"
    return opened.describe(), plan, str(opened.spent), repr(request)


def opening(function: Any, options: dict[str, Any], data: Any, entropy: Entropy) -> Shown:
    """A session with options of its own, and a ledger if asked for."""
    given, folder = dict(options), tempfile.mkdtemp()
    if given.pop("ledger", None):
        given["ledger"] = Ledger(Path(folder) / "budget.db", epsilon=BUDGET, delta=0.5)
    opened = function(_tabled("median", data), **given, entropy=entropy)
    request = Request("median", "x", epsilon=20)

    def show() -> tuple[Any, ...]:
        lines = [] if opened.ledger is None else opened.ledger.entries()
        text = [(e.kind, e.what, str(e.cost), repr(e.loss), e.analyst) for e in lines]
        seen = (*_shown(opened, request), text)
        shutil.rmtree(folder)
        return seen

    return Shown(lambda: opened.run(request), show)


def one_request(function: Any, options: dict[str, Any], data: Any, entropy: Entropy) -> Shown:
    """A request of one's own making."""
    opened, request = sessions.open({"x": data}, entropy=entropy), Request("median", "x", epsilon=20)
    return Shown(lambda: function(opened, request), lambda: _shown(opened, request))


def narrowing(function: Any, options: dict[str, Any], data: Any, entropy: Entropy) -> Shown:
    """A request about the rows that meet a condition."""
    table, person = _tabled("median", data), "id" if isinstance(data, PersonRows) else None
    part, request = (
        function(sessions.open(table, entropy=entropy, person=person), options),
        Request("median", "x", epsilon=20),
    )
    return Shown(lambda: part.run(request), lambda: _shown(part, request))


def requests(function: Any, options: dict[str, Any], data: Any, entropy: Entropy) -> Shown:
    """Several of them."""
    opened = sessions.open({"x": data}, entropy=entropy)
    listed = [Request("median", "x", epsilon=20), Request("mean", "x", epsilon=1, missing="low")]
    return Shown(lambda: function(opened, listed), lambda: _shown(opened, listed[0]))
