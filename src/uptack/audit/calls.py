"""How a release is called in an audit: by its public path, in a session, or in a report.

What is bound to a path is looked up at each call, so that a planted fault is called too. Where the data go is the same
for most functions; `CALLERS` has the others.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from uptack import session as sessions
from uptack.audit.planting import owner_of
from uptack.audit.scenario import PersonRows, SessionCall
from uptack.errors import UptackError
from uptack.ledger import Ledger
from uptack.noise import Entropy
from uptack.privacy import ADD_REMOVE, SUBSTITUTE, Privacy
from uptack.registry import declared
from uptack.release import Release
from uptack.report import report
from uptack.session.requests import Request

POINTS = np.array([0.5, 3.0, 8.5])
BUDGET = 100_000
MEDIAN = Request("median", "x", epsilon=20)
MEAN = Request("mean", "x", epsilon=1, missing="low")
Options = Mapping[str, Any]
Call = Callable[[Any, Entropy], Any]


def resolve(path: str) -> Any:
    """What is bound to a path at the moment."""
    owner, name = owner_of(path)
    return getattr(owner, name)


def call_of(path: str, options: Options) -> Call:
    """A call of what a path names, with these options; `by` and `order` stand for columns of the data."""
    name = path.rpartition(".")[2]
    how = _by if options.get("by") else _plain if "formula" in options else CALLERS.get(name, _plain)

    def call(data: Any, entropy: Entropy) -> Any:
        keywords = {key: value for key, value in options.items() if key != "by"} | {"entropy": entropy}
        if isinstance(data, PersonRows):
            keywords |= {"person": data.ids} | ({"order": np.arange(len(data.ids))} if "order" in keywords else {})
            data = data.rows
        return how(resolve(path), data, keywords)

    return call


def _plain(function: Any, data: Any, options: dict[str, Any]) -> Any:
    """f(data, ...), or f(X, y, ...), and what a reader asks of the result: its interval, values of a function."""
    answer = function(*(data if isinstance(data, tuple) else (data,)), **options)
    if isinstance(answer, Release) and hasattr(answer.value, "at"):
        table = data[0] if isinstance(data, tuple) else data
        answer.value.at(POINTS if np.ndim(table) < 2 else np.column_stack([POINTS] * np.shape(table)[1]))
    elif isinstance(answer, Release) and answer.noise is not None and "interval" not in options:
        answer.interval(0.9)
    return answer


def _by(function: Any, data: Any, options: dict[str, Any]) -> Any:
    """The last part of the data is the group of every row."""
    *rows, groups = data
    return function(*rows, by=groups, **options)


def _bumps(function: Any, data: Any, options: dict[str, Any]) -> Any:
    """A mean of bumps around the rows, released as a function, and its values at some points."""

    def mean_bump(where: Any) -> Any:
        with np.errstate(all="ignore"):  # a user's own function must see to its own warnings
            return np.exp(-2 * (where - np.asarray(data)[None, :]) ** 2).mean(axis=1)

    answer = function(mean_bump, **options)
    answer.value.at(POINTS)
    return answer


def _spectral(function: Any, data: Any, options: dict[str, Any]) -> Any:
    """The coordinates of a mean embedding."""
    basis = options["basis"]
    sized = {"sensitivity": basis.sensitivity(len(data)), "error": 0, **options}
    answer = function(basis.mean(np.asarray(data)[:, None]), **sized)
    answer.value.at(POINTS)
    return answer


def _first(name: str) -> Callable[..., Any]:
    """What is first in a call is among the options: a function of the rows."""
    return lambda f, data, options: f(options.pop(name), data, **options)


CALLERS: dict[str, Callable[..., Any]] = {
    # two classes: whether y is above 0; a row without a number has no class
    "logistic_regression": lambda f, xy, options: f(xy[0], np.where(np.isnan(xy[1]), np.nan, xy[1] > 0), **options),
    **dict.fromkeys(("S", "M", "TM"), lambda f, data, options: f(data, **{**options, "n": len(data)})),
    **dict.fromkeys(("exponential", "report_noisy_max"), lambda f, data, options: f(range(len(data)), data, **options)),
    **dict.fromkeys(("subsample_aggregate", "stable_value", "A_samp"), _first("f")),
    "A_dist": _first("g"),
    "per_group": lambda f, data, options: f(resolve(options.pop("f")), *data, **options),
    "release_function": _bumps,
    "release_spectral": _spectral,
    # a draw from a table of probabilities: the number of ones, or a number
    "release": lambda f, data, options: f(
        options.pop("mechanism"), int(data if np.ndim(data) == 0 else np.count_nonzero(data == 1) % 8), **options
    ),
    "random_sparse_histogram": lambda f, x, options: f(np.bincount(x[(x >= 0) & (x < 5)], minlength=5), **options),
    "sensitivity_analysis": lambda f, x, options: f(
        np.mean, lambda a, b: np.abs(a - b), np.nan_to_num(x).clip(0, 9), **options
    ),
}
"""Where the data go in functions that take more than columns."""


# ------------------------------------------------------------------------------------------------ sessions and reports


def table_of(data: Any, second: str = "y") -> dict[str, Any]:
    """The data as named columns. The owners of rows are a column too."""
    if isinstance(data, PersonRows):
        return table_of(data.rows, second) | {"id": data.ids, "at": np.arange(len(data.ids))}
    if isinstance(data, tuple):
        x, *more = data
        return table_of(x) | dict(zip(("y", "by") if len(more) == 2 else (second,), more, strict=True))
    if isinstance(data, dict):
        return data
    if isinstance(data, np.ndarray) and data.ndim == 2:
        return {f"x{i}" if i else "x": column for i, column in enumerate(data.T)}
    return {"x": data}


def session_call(ask: Callable[[Any], Any], where: Options | None = None, **how: Any) -> Call:
    """Something asked of a session that is opened with such options, or of some of its rows."""
    return lambda data, entropy: _ask(table_of(data), ask, MEDIAN, where, entropy=entropy, **how)


def _ask(
    columns: Options, ask: Callable[[Any], Any], request: Request, where: Options | None = None, /, **how: Any
) -> SessionCall:
    """What is asked, and what the session, its plan of a request and its ledger show then."""
    folder = tempfile.mkdtemp() if how.pop("ledger", None) else ""
    ledger = Ledger(Path(folder) / "budget.db", epsilon=BUDGET, delta=0.5) if folder else None
    opened = sessions.open(columns, ledger=ledger, **how)
    part = opened.where(where) if where else opened

    def show() -> tuple[Any, ...]:
        try:
            plan = str(part.plan([request]))
        except UptackError as error:
            plan = f"{type(error).__name__}: {error}"
        entries = [] if ledger is None else ledger.entries()
        lines = [(e.kind, e.what, str(e.cost), repr(e.loss), e.analyst) for e in entries]
        visible = part.describe(), plan, str(part.spent), repr(request), lines
        if folder:
            shutil.rmtree(folder)
        return visible

    return SessionCall(lambda: ask(part), show)


def request_call(statistic: str, options: Options) -> Call:
    """One request, as an analyst makes it: of a session, or of its column."""
    shape, grouped = declared()[statistic].reads.shape, bool(options.get("by"))
    keywords = {key: value for key, value in options.items() if key not in ("adjacency", "by")}
    keywords |= ({"by": "by"} if grouped else {}) | ({"order": "at"} if "order" in keywords else {})
    relation = ADD_REMOVE if grouped else options.get("adjacency", SUBSTITUTE)

    def call(data: Any, entropy: Entropy) -> SessionCall:
        table = table_of(data, "by" if grouped else "y")
        # of columns of pandas whose types rows may have chosen, a curator declares the kind
        loose = [n for n, x in table.items() if isinstance(getattr(x, "dtype", None), np.dtype) and hasattr(x, "iloc")]
        types = None if shape == "categories" else dict.fromkeys(loose, "boolean" if shape == "flags" else "number")
        names = [] if "formula" in options else [name for name in table if name not in ("by", "id", "at")]
        names.sort(key=lambda name: shape == "design" and name != "y")
        request = Request(statistic, *names, **keywords)
        person = "id" if "id" in table else None

        def ask(opened: Any) -> Any:
            if shape == "column" and statistic in dir(opened["x"]):
                return getattr(opened["x"], statistic)(**keywords)
            return opened.run(request)

        return _ask(table, ask, request, adjacency=relation, entropy=entropy, types=types or None, person=person)

    return call


class ReportText(NamedTuple):
    """A report: what it claims, and all that it shows."""

    privacy: Privacy
    text: str


def report_call(options: Options) -> Call:
    """A report of the columns, in every form that has text."""

    def call(data: Any, entropy: Entropy) -> ReportText:
        table = table_of(data)
        person: dict[str, Any] = {"person": "id"} if "id" in table else {}
        page = report({key: x for key, x in table.items() if key != "at"}, **options, **person, entropy=entropy)
        return ReportText(page.spent, f"{page!r}\n{page.to_json()}\n{page.to_html()}")

    return call


# -------------------------------------------------------------------------------------------- functions of rows


def number(rows: Any) -> float:
    """The first row, as a number."""
    return float(rows[0]["v"] if isinstance(rows[0], dict) else rows[0])


def pair(rows: Any) -> list[float]:
    """Two numbers."""
    return [number(rows), float(len(rows))]


def outcome(rows: Any) -> Any:
    """The first row, as it is."""
    return rows[0]["v"] if isinstance(rows[0], dict) else rows[0]


def distance(rows: Any) -> int:
    """How many rows must change before the first one does: it may be the very next."""
    return 0


def spoil(rows: Any) -> float:
    """A function that changes what it is given."""
    total = float(sum(row["v"] for row in rows))
    for row in rows:
        row["v"] = total
    return total


def width(rows: Any) -> float:
    """How many bytes an entry of the block takes."""
    return float(rows.dtype.itemsize)


def types(rows: Any) -> float:
    """How many types the block has."""
    return float(len({type(row) for row in rows}))


class Keeper:
    """A function that remembers."""

    def __init__(self) -> None:
        self.total = 0.0

    def __call__(self, rows: Any) -> float:
        self.total += float(np.sum(rows))
        return self.total

    def __reduce__(self) -> Any:
        return Keeper, ()
