"""Plans: the cost and the expected error of releases from public numbers alone, and releases that are paid together."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from uptack.display import FigureTable, Record, Tabular
from uptack.display.plots import bars, caption
from uptack.errors import BudgetExceeded, UptackError
from uptack.labels import label
from uptack.privacy import Privacy, tight
from uptack.privacy.cost import cost, within
from uptack.privacy.guarantee import short
from uptack.privacy.loss import Loss
from uptack.release import NoReply
from uptack.session.requests import Made, Request

if TYPE_CHECKING:
    from uptack.session.session import Session


@dataclass(frozen=True)
class PlannedRelease:
    """One line of a plan."""

    request: Request
    cost: Privacy
    refusal: NoReply | None
    error: str
    loss: Loss | None = None

    def __str__(self) -> str:
        outcome = f"⊥: a reply needs {self.refusal.advice}" if self.refusal is not None else self.error
        return f"{self.request}: {outcome}" if outcome else str(self.request)

    def record(self) -> Record:
        """The line as a record."""
        note = "" if self.refusal is None else f"⊥: a reply needs {self.refusal.advice}"
        named = {"statistic": self.request.statistic, "columns": ", ".join(map(label, self.request.columns))}
        price = {"epsilon": self.cost.epsilon, "delta": self.cost.delta}
        return {**named, **price, "error": self.error, "note": note}

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "statistic": self.request.statistic,
            "columns": list(self.request.columns),
            "privacy": self.cost.to_dict(),
            "reply": self.refusal is None,
            "advice": self.refusal.advice.to_dict() if self.refusal is not None else None,
            "error": self.error,
        }


@dataclass(frozen=True, repr=False)
class Plan(Tabular):
    """Several releases, fixed before any of them is made."""

    releases: tuple[PlannedRelease, ...]
    total: Privacy
    remaining: Privacy | None
    notes: tuple[str, ...] = ()

    def tight(self, delta: Any) -> Privacy:
        """The joint cost at this δ, by tight composition. It holds because the releases are fixed beforehand."""
        return tight([line.loss for line in self.releases if line.loss is not None], delta, self.total.adjacency)

    @property
    def affordable(self) -> bool:
        """Whether the remaining budget covers it."""
        return self.remaining is None or self.total.under(self.remaining.adjacency) <= self.remaining

    def check_affordable(self) -> None:
        """Refuses a plan that the remaining budget does not cover, before any part of it is paid for."""
        if not self.affordable:
            raise BudgetExceeded(self.total, self.remaining)

    def __str__(self) -> str:
        lines = [str(line) for line in self.releases]
        lines.append(f"total: {self.total}" + ("" if self.remaining is None else f"; left: {self.remaining}"))
        return "\n".join([*lines, *self.notes])

    def records(self) -> list[Record]:
        """One record per release: statistic, columns, cost, expected error and a note."""
        return [one.record() for one in self.releases]

    def table(self) -> FigureTable:
        """The same as a table, with the joint cost."""
        cells = [
            (label(one["statistic"]), ", ".join(map(label, line.request.columns)), short(one["epsilon"]),
             short(one["delta"]), one["error"] or one["note"])
            for one, line in zip(self.records(), self.releases, strict=True)
        ]  # fmt: skip
        notes = [f"total: {self.total}", *([] if self.remaining is None else [f"left: {self.remaining}"]), *self.notes]
        head = ("release", "columns", "ε", "δ", "expected error")
        return FigureTable("Plan: nothing is spent yet", head, tuple(cells), tuple(notes), frozenset({2, 3}))

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """The ε of each release, as bars. Returns the axes.

        With tight composition the joint cost is less than the sum. Further
        arguments go to matplotlib's `barh`. It needs matplotlib: `pip install "uptack[plots]"`.
        """
        names = [f"{one.request.statistic} of {', '.join(map(label, one.request.columns))}" for one in self.releases]
        ax = bars(names, [one.cost.epsilon for one in self.releases], None, ax, **style)
        ax.set_xlabel(caption(f"ε of each; total: {self.total}"))
        return ax

    def __repr__(self) -> str:
        return self.table().text()

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "notes": list(self.notes),
            "releases": [line.to_dict() for line in self.releases],
            "total": self.total.to_dict(),
            "remaining": None if self.remaining is None else self.remaining.to_dict(),
        }


def expected_error(request: Request, rows: int) -> str:
    """A bound on the error with 95% confidence, for any data; "" if it depends on the data."""
    planned = request.declaration.plan
    if planned is None or "by" in request.given:  # how many rows a group has is secret
        return ""
    return planned(request.given, request.cost, rows)


class PaidPlan:
    """A fixed list of losses that has been debited, each good for one release. Made by `Session.pay`.

    **Theorem.** All releases of a plan together have the guarantee `price`. *Proof.* The losses were fixed before the
    first release, so `uptack.privacy.tight` composes them, also where what is asked depends on answers before it. A
    request that may cost more than the loss that it is to use up is refused before rows are read, and a release whose
    own loss is not within that one is withheld. ∎
    """

    def __init__(self, session: Session, trees: Sequence[Loss], price: Privacy) -> None:
        self._session, self._left, self.price = session, Counter(trees), price
        self._using = threading.Lock()

    def run(self, request: Request, tree: Loss) -> Made:
        """Make one release, which uses up one of the plan's losses."""
        full = self._session.complete(request)
        full.check(self._session.source)
        self._use(tree, full)
        with self._session.snapshot():
            reply = self._session.make_paid(full)
        relation = self._session.adjacency
        if reply.loss is None:
            return reply
        if full.cost.adjacency == relation:
            covered = within(reply.loss, tree, relation)
        else:
            covered = isinstance(reply.privacy, Privacy) and reply.privacy.under(relation) <= cost(tree, relation)
        if not covered:
            raise UptackError(f"{full} cost more than was debited, so it is withheld")
        return reply

    def _use(self, tree: Loss, request: Request) -> None:
        """Use up a loss before rows are read. A request that may cost more than it is refused here."""
        relation = self._session.adjacency
        if not cost(self._session.loss_of(request), relation) <= cost(tree, relation):
            raise UptackError(f"{request} may cost more than this plan has paid for it; no rows were read")
        with self._using:
            if self._left[tree] <= 0:
                raise UptackError("this plan does not include such a release, or it was made already")
            self._left[tree] -= 1
