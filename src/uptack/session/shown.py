"""How a session is shown, and its report: nothing but public things, and what was paid for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from uptack.labels import label
from uptack.later import Later
from uptack.shown import Table

if TYPE_CHECKING:
    from uptack.session.session import Session

reports = Later("uptack.report.call")


class ShownSession:
    """A session as people see it."""

    def report(self, *, epsilon: Any, **options: Any) -> Any:
        """A private profile of the whole table, paid from this session's budget: `uptack.report`, with its options."""
        return reports.report(self, epsilon=epsilon, **options)

    def table(self) -> Table:
        """The columns and their kinds, and the budget."""
        session = cast("Session", self)
        rows = f"{session.source.rows:,}" if session.adjacency.size_is_public else "a secret number of"
        cells = [(label(name), kind) for name, kind in session.source.columns.items()]
        left = session.remaining
        said = (session.whose, f"spent: {session.spent}", *(() if left is None else (f"left: {left}",)))
        title = f"{rows} {session.adjacency.unit} ({session.adjacency})"
        return Table(title, ("column", "kind"), tuple(cells), said, private=session.private)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return self.table().html()

    def __repr__(self) -> str:
        return cast("Session", self).describe()
