"""The release functions of a session: `session["age"].median(...)` and `session.median("age", ...)`."""

from __future__ import annotations

import difflib
import functools
import itertools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from uptack.errors import InvalidArgument
from uptack.registry import Declaration, declared, find
from uptack.session.requests import Made, Request, in_tables

if TYPE_CHECKING:
    from uptack.session.session import Session


class SessionColumn:
    """One column of a session. Each call is one release, with the options of the function of that name.

    >>> from uptack.session import open
    >>> column = open({"age": [31.5, 44.0]})["age"]
    >>> "median" in dir(column), "stable_value" in dir(column)
    (True, False)
    """

    def __init__(self, session: Session, name: str) -> None:
        self._session, self._name = session, name

    def __getattr__(self, name: str) -> Callable[..., Made]:
        """The release function of that name for this column: any that `uptack.registry` has for one column."""
        declaration = _declared(name, of_columns)
        if declaration is None:
            near = difflib.get_close_matches(name, self._names(), n=1)
            raise AttributeError(f"a column has no {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))

        @functools.wraps(declaration.function)
        def call(*values: Any, **options: Any) -> Made:
            own = [option.name for option in declaration.options if option.positional]
            if len(values) > len(own):
                raise TypeError(f"{name}() takes at most {len(own)} positional arguments, got {len(values)}")
            given = {**dict(zip(own, values, strict=False)), **options}
            return self._session.run(Request(name, self._name, **given))

        return call

    @staticmethod
    def _names() -> list[str]:
        return [name for name, declaration in declared().items() if of_columns(declaration)]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._names()]


def _declared(name: str, where: Callable[[Declaration], bool]) -> Declaration | None:
    """The release function of that name, if there is one that meets a condition."""
    try:
        return None if name.startswith("_") else find(name, where)
    except InvalidArgument:
        return None


def of_columns(declaration: Declaration) -> bool:
    """Whether a release function needs one column only."""
    return in_tables(declaration) and declaration.reads.least <= 1


def of_several(declaration: Declaration) -> bool:
    """Whether a release function needs several columns side by side."""
    return in_tables(declaration) and declaration.reads.least > 1


def column_functions() -> dict[str, Declaration]:
    """The release functions of columns, by name."""
    return {name: declaration for name, declaration in declared().items() if in_tables(declaration)}


def spread(columns: Iterable[Any]) -> tuple[Any, ...]:
    """Names of columns one by one, where some are in a list or a tuple.

    >>> spread(("cost", ["age", "wait"])), spread(("cost", "age"))
    (('cost', 'age', 'wait'), ('cost', 'age'))
    """
    listed = [c if isinstance(c, list | tuple) and c and all(isinstance(n, str) for n in c) else (c,) for c in columns]
    return tuple(itertools.chain.from_iterable(listed))


def is_formula(session: Session, first: object) -> bool:
    """Whether a first argument is a formula such as "cost ~ age" and not the name of a column."""
    return isinstance(first, str) and "~" in first and first not in session.source.kinds


def formula_request(statistic: str, text: object, /, **options: Any) -> Request:
    """The request of a function whose first argument is a formula."""
    if options.get("formula") is not None:
        raise InvalidArgument("formula", "given once", "two formulas")
    return Request(statistic, **{**options, "formula": text})


def column_function(session: Session, name: str) -> Callable[..., Made]:
    """The release function of that name, of columns of a session."""
    declaration = _declared(name, in_tables)
    if declaration is None:
        near = difflib.get_close_matches(name, column_functions(), n=1)
        raise AttributeError(f"a session has no {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))

    @functools.wraps(declaration.function)
    def call(*columns: Any, **options: Any) -> Made:
        if "formula" in declaration.allowed and len(columns) == 1 and is_formula(session, columns[0]):
            return session.run(formula_request(name, columns[0], **options))
        own = [option.name for option in declaration.options if option.positional]
        columns = spread(columns)
        named = tuple(itertools.takewhile(lambda column: isinstance(column, str), columns))
        if len(values := columns[len(named) :]) > len(own):
            raise TypeError(f"{name}() takes names of columns and at most {len(own)} other positional arguments")
        return session.run(Request(name, *named, **dict(zip(own, values, strict=False)), **options))

    return call
