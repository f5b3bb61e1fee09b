"""Tables of next to nobody, and how every declared release function is asked about them."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

import uptack as ut
from uptack.discrete import Domain
from uptack.registry import Declaration, declared

EPSILON = 4
TABLES = {"no rows": 0, "nobody": 3, "one row": 1, "one person": 3, "all missing": 3}
"""Tables of next to nobody, with their numbers of rows."""


def frame(name: str) -> pd.DataFrame:
    """Numbers a, b and c, labels g, truth values t and ids, of one of the tables."""
    rows, gone = TABLES[name], name == "all missing"
    values = {"a": 0.5, "b": 1.0, "c": 2.0, "g": 1.0}
    owners = {"nobody": np.full(rows, np.nan), "one person": np.zeros(rows)}  # an id that is missing is nobody's
    columns = {key: np.full(rows, np.nan if gone else value) for key, value in values.items()}
    flags = pd.arrays.BooleanArray(np.ones(rows, bool), np.full(rows, gone))
    return pd.DataFrame(columns).assign(id=owners.get(name, np.arange(rows) * 1.0), t=flags)


def columns_of(declaration: Declaration) -> tuple[str, ...]:
    """The names of the columns that a session asks it about."""
    shape = declaration.reads.shape
    widths = {"columns": max(declaration.reads.least, 1), "sides": declaration.reads.least, "design": 3, "labelled": 2}
    if shape == "labelled":
        return ("a", "g")
    return ("t",) if shape == "flags" else tuple("abc"[: widths.get(shape, 1)])


def arguments_of(declaration: Declaration, data: pd.DataFrame) -> tuple[Any, ...]:
    """The same columns as data arguments of a call."""
    names = columns_of(declaration)
    shape = declaration.reads.shape
    if shape == "columns":
        return (data[list(names)],)
    if shape == "design":
        return data[list(names[1:])], data[names[0]]
    return tuple(data[name] for name in names)


def people_options(declaration: Declaration) -> list[dict[str, Any]]:
    """What is said of people; none where it is not proved for them."""
    if declaration.people is False or declaration.people == "stated":
        return []
    hows = ("mean", "any") if declaration.people == "share" else ("mean", "count")
    each: list[dict[str, Any]] = [{"per_person": how} for how in hows]
    if declaration.people == "each":
        return each
    found: list[dict[str, Any]] = [{}]
    if "weights" in declaration.allowed:
        found += [{"weights": "rows", "at_most": 2}]
    return found + (each if "per_person" in declaration.allowed else [])


def variations(declaration: Declaration) -> Iterator[dict[str, Any]]:
    """The examples of a declaration, with neighbours of both kinds, each with what it says of missing values."""
    allowed = declaration.allowed
    for example in declaration.examples:
        for relation in (ut.SUBSTITUTE, ut.ADD_REMOVE):
            base = {**example, "epsilon": EPSILON, "adjacency": relation}
            yield base
            if "missing" in allowed and declaration.missing is not None:
                yield {**base, "missing": "drop"}
            if "method" in allowed and "standard_errors" not in example:
                yield {**base, "method": "ptr", "delta": 1e-6}
        if declaration.by:
            yield {**example, "epsilon": EPSILON, "by": "g", "groups": [1, 2], "adjacency": ut.ADD_REMOVE}
            yield {**example, "epsilon": EPSILON, "by": "g", "delta": 1e-6, "adjacency": ut.ADD_REMOVE}


def _total(rows: Any) -> float:
    return float(np.sum(rows))


def _count(rows: Any) -> int:
    return len(rows)


def _zero(rows: Any) -> float:
    return 0.0


DOMAIN = Domain({"a": [0.5, 1.0], "g": 2})
APART: dict[str, Callable[[pd.DataFrame, Mapping[str, Any]], Any]] = {
    "margins": lambda d, o: ut.discrete.margins(d[["a", "g"]], 1, domain=DOMAIN, epsilon=EPSILON, **o),
    "sparse_histogram": lambda d, o: ut.discrete.sparse_histogram(np.zeros(len(d), np.int64), 64, epsilon=EPSILON, **o),
    "stable_value": lambda d, o: ut.stable_value(_zero, d["a"], epsilon=EPSILON, delta=1e-6, trusted=True, **o),
    "subsample_aggregate": lambda d, o: ut.subsample_aggregate(
        _total, d["a"], blocks=10, epsilon=EPSILON, trusted=True, **o
    ),
    "per_group": lambda d, o: ut.per_group(
        ut.median, d["a"], d["g"], groups=[1, 2], epsilon=EPSILON, **(o | {"adjacency": ut.ADD_REMOVE})
    ),
}
"""Functions that take something else than columns of a table, and still rows."""
VALUES = {
    "laplace", "gaussian", "k_norm", "gamma", "exponential", "report_noisy_max", "matrix_laplace", "release_if_stable",
    "release_function", "release_spectral",
}  # fmt: skip
"""Functions of a value that was computed elsewhere: they have no rows."""
PAPERS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "S": lambda d: ut.papers.S(d["a"], n=len(d), eps=EPSILON),
    "Scale": lambda d: ut.papers.Scale(d["a"], eps=EPSILON, delta=1e-6),
    "M": lambda d: ut.papers.M(d["a"], n=len(d), eps=EPSILON),
    "TM": lambda d: ut.papers.TM(d["a"], n=len(d), eps=EPSILON, alpha=0.1, kappa=0.5),
    "R_S": lambda d: ut.papers.R_S(d[["a", "b"]], d["c"], eps=EPSILON),
    "R_H": lambda d: ut.papers.R_H(d[["a", "b"]], d["c"], eps=EPSILON),
    "A_dist": lambda d: ut.papers.A_dist(_zero, d["a"], eps=EPSILON, delta=1e-6, distance=_count),
    "binomial_proportion": lambda d: ut.random_dp.binomial_proportion(d["t"], epsilon=EPSILON, gamma=0.1),
    "random_sparse_histogram": lambda d: ut.random_dp.random_sparse_histogram(
        np.zeros(len(d), np.int64), epsilon=EPSILON, gamma=0.1
    ),
    "sensitivity_analysis": lambda d: ut.random_dp.sensitivity_analysis(
        _total, _zero, d["a"], epsilon=EPSILON, gamma=0.1
    ),
}
"""Functions under the names of papers, where the number of rows is public."""
SLOW = {"A_samp"}
"""The same rows as `stable_value`, in some 700,000 subsamples."""


def tabular() -> list[Declaration]:
    """The functions that sessions can be asked for."""
    return [made for made in declared().values() if made.reads is not None]


def calls(declaration: Declaration, name: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Ways in which it is asked about one of the tables.

    Of neighbours, missing values, method, people, and call or session, every two occur together; half of all five do.
    """
    data, seed = frame(name), ut.SeededEntropy
    few = "missing" not in declaration.allowed or declaration.missing is None
    for options in variations(declaration):
        said = ", ".join(f"{key}={value}" for key, value in options.items())
        plain = {key: data["g"] if key == "by" else value for key, value in options.items()}
        direct, rows = declaration.public, arguments_of(declaration, data)
        odd, every = (options["adjacency"] is ut.ADD_REMOVE) ^ ("missing" in options), few or "by" in options
        if odd or every:
            yield f"call {said}", partial(_called, direct, rows, {**plain, "entropy": seed(1)})
        if not odd or every:
            yield f"session {said}", partial(_asked, declaration, data, options, None)
        for number, people in enumerate(people_options(declaration)):
            if "rows" in people.values() and "by" in options:
                continue
            told = f"{said}, {people}"
            if number == 0 and (not odd or every):  # a session makes the same call, with every option below
                more = {**plain, **people, "entropy": seed(1), "person": data["id"]}
                yield f"call of people {told}", partial(_called, direct, rows, more)
            if odd == bool(number % 2) or every:
                yield f"session of people {told}", partial(_asked, declaration, data, {**options, **people}, "id")


def _called(function: Callable[..., Any], rows: tuple[Any, ...], options: Mapping[str, Any]) -> Any:
    return function(*rows, **options)


def _asked(declaration: Declaration, data: pd.DataFrame, options: Mapping[str, Any], person: str | None) -> Any:
    session = ut.open(data, person=person, entropy=ut.SeededEntropy(1))
    return session.run(ut.Request(declaration.name, *columns_of(declaration), **options))


def observed(ask: Callable[[], Any]) -> str:
    """What a caller sees beside the value: ⊥ or an answer is one outcome, and each error is another one."""
    try:
        made = ask()
    except ut.errors.Failed:
        return "FAILED"
    except ut.UptackError as error:
        return f"{type(error).__name__}: {error}"
    except Exception as error:  # what must not happen
        return f"RAW {type(error).__name__}: {error}"
    return "reply" if isinstance(made, ut.Release | ut.NoReply) else f"ODD {type(made).__name__}"
