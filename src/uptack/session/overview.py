"""How a session is displayed, and its report: public facts, and what was paid for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from uptack.display import FigureTable
from uptack.display.align import aligned
from uptack.labels import label

if TYPE_CHECKING:
    from uptack.session.session import Session


INFERRED = "Types were inferred from the data and are now public. Correct them with types=, or save them in a schema."


class SessionOverview:
    """How a session is displayed."""

    def report(self, *, epsilon: Any, **options: Any) -> Any:
        """A private profile of the whole table, paid from this session's budget: `uptack.report`, with its options."""
        from uptack.report import report  # which imports sessions

        return report(self, epsilon=epsilon, **options)

    def table(self) -> FigureTable:
        """The columns and their kinds, and the budget."""
        session = cast("Session", self)
        cells = [(label(name), kind) for name, kind in session.source.kinds.items()]
        left = session.remaining
        notes = (session.whose, f"spent: {session.spent}", *(() if left is None else (f"left: {left}",)))
        return FigureTable(_size(session), ("column", "kind"), tuple(cells), notes, private=session.private)

    def describe(self) -> str:
        """What is public about the session: whose privacy it protects, columns and their types, the budget.

        The number of rows, or of people, is shown if it is public.

        >>> import numpy as np
        >>> from uptack.session import open
        >>> print(open({"age": np.array([31.5, 44.0]), "town": np.array(["a", "b"])}).describe())
        2 rows (substitute)
        Each row is protected. People with several rows are less protected than ε suggests.
          age   number
          town  text
        spent: ε = 0.0 (substitute)
        """
        session = cast("Session", self)
        columns = [(label(name), kind) for name, kind in session.source.kinds.items()]
        lines = [_size(session), session.whose, *(f"  {line}" for line in aligned(columns))]
        lines += [f"schema: {label(session.schema.name)}"] if session.schema.name else []
        lines += [INFERRED] if session.inferred else []
        lines.append(f"spent: {session.spent}")
        if session.remaining is not None:
            lines.append(f"left:  {session.remaining}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values, for JSON."""
        session = cast("Session", self)
        public = session.adjacency.size_is_public
        return {
            "columns": dict(session.source.kinds),
            session.adjacency.unit: session.source.size if public else None,
            "whose": session.whose,
            "where": [str(condition) for condition in session.conditions],
            "schema": session.schema.name or None,
            "inferred": session.inferred,
            "spent": session.spent.to_dict(),
            "remaining": None if session.remaining is None else session.remaining.to_dict(),
        }

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return self.table().html()

    def __repr__(self) -> str:
        return self.describe()


def _size(session: Session) -> str:
    """The number of rows or people, if it is public, and the adjacency."""
    size = f"{session.source.size:,}" if session.adjacency.size_is_public else "a secret number of"
    return f"{size} {session.adjacency.unit} ({session.adjacency})"
