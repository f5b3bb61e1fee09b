"""One column of a session, and which release functions can be asked about one column, or about several."""

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
    """One column of a session. Each call is a release of its own, with the options of the function of that name.

    >>> from uptack.session import open
    >>> column = open({"age": [31.5, 44.0]})["age"]
    >>> "median" in dir(column), "stable_value" in dir(column)
    (True, False)
    """

    def __init__(self, session: Session, name: str) -> None:
        self._session, self._name = session, name

    def __getattr__(self, name: str) -> Callable[..., Made]:
        """The release function of that name, of this column: whatever `uptack.registry` has for one column."""
        declaration = _declared(name, of_columns)
        if declaration is None:
            near = difflib.get_close_matches(name, self._names(), n=1)
            raise AttributeError(f"a column has no {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))

        @functools.wraps(declaration.function)
        def ask(*values: Any, **options: Any) -> Made:
            own = [option.name for option in declaration.options if option.positional]
            if len(values) > len(own):
                raise TypeError(f"{name}() takes at most {len(own)} positional arguments, got {len(values)}")
            given = {**dict(zip(own, values, strict=False)), **options}
            return self._session.run(Request(name, self._name, **given))

        return ask

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


def of_several(declaration: Declaration) -> bool:
    """Whether a release function is asked about several columns side by side."""
    return in_tables(declaration) and declaration.reads.least > 1


def of_columns(declaration: Declaration) -> bool:
    """Whether a release function can be asked about one column."""
    return in_tables(declaration) and declaration.reads.least <= 1


def several() -> dict[str, Declaration]:
    """The release functions of several columns, by name."""
    return {name: declaration for name, declaration in declared().items() if of_several(declaration)}


def spread(columns: Iterable[Any]) -> tuple[Any, ...]:
    """Names of columns one by one, where some are in a list or a tuple.

    >>> spread(("cost", ["age", "wait"])), spread(("cost", "age"))
    (('cost', 'age', 'wait'), ('cost', 'age'))
    """
    listed = [c if isinstance(c, list | tuple) and c and all(isinstance(n, str) for n in c) else (c,) for c in columns]
    return tuple(itertools.chain.from_iterable(listed))


def asking(session: Session, name: str) -> Callable[..., Made]:
    """The release function of that name, of several columns of a session."""
    declaration = _declared(name, of_several)
    if declaration is None:
        near = difflib.get_close_matches(name, several(), n=1)
        raise AttributeError(f"a session has no {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))

    @functools.wraps(declaration.function)
    def ask(*columns: Any, **options: Any) -> Made:
        own = [option.name for option in declaration.options if option.positional]
        columns = spread(columns)
        named = tuple(column for column in columns if isinstance(column, str))
        if len(values := columns[len(named) :]) > len(own):
            raise TypeError(f"{name}() takes names of columns and at most {len(own)} other positional arguments")
        return session.run(Request(name, *named, **dict(zip(own, values, strict=False)), **options))

    return ask
