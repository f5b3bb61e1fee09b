"""Releases that are fixed before the first of them runs, and debited together."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from uptack.errors import UptackError
from uptack.privacy import Adjacency, Privacy
from uptack.privacy.cost import cost, within
from uptack.privacy.loss import Loss
from uptack.session.plan import total_cost
from uptack.session.requests import Made, Request

if TYPE_CHECKING:
    from uptack.session.session import Session


class Spending:
    """The cost of all releases so far. Sessions on parts of the same rows share it."""

    def __init__(self, relation: Adjacency) -> None:
        self.total, self._adding = Privacy(0, 0, relation), threading.Lock()

    def add(self, price: Privacy) -> None:
        """Add the cost of a release, under the session's adjacency."""
        with self._adding:
            self.total = total_cost([self.total, price], self.total)


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
        """Make one release, which uses up one of the plan's losses. ⊥ by public numbers uses up none."""
        full = self._session.complete(request)
        with self._session.snapshot():
            refusal = full.rehearse(self._session.source)
            if refusal is not None:
                return refusal
            self._use(tree, full)
            made = self._session.paid_for(full)
        if made.loss is not None and not self._covers(made, tree, full):
            raise UptackError(f"{full} cost more than was debited, so it is withheld")
        return made

    def _use(self, tree: Loss, request: Request) -> None:
        """Use up a loss before rows are read. A request that may cost more than it is refused here."""
        relation = self._session.adjacency
        if not cost(self._session.loss_of(request), relation) <= cost(tree, relation):
            raise UptackError(f"{request} may cost more than this plan has paid for it; no rows were read")
        with self._using:
            if self._left[tree] <= 0:
                raise UptackError("this plan does not include such a release, or it was made already")
            self._left[tree] -= 1

    def _covers(self, made: Made, tree: Loss, request: Request) -> bool:
        """Whether the loss of a release is within the debited one, under the same adjacency."""
        relation = self._session.adjacency
        if request.cost.adjacency == relation:
            return made.loss is not None and within(made.loss, tree, relation)
        return isinstance(made.privacy, Privacy) and made.privacy.under(relation) <= cost(tree, relation)
