"""What a report holds beside its columns: releases of several columns, each paid for by itself."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from uptack.data.protocol import known
from uptack.errors import InvalidArgument
from uptack.privacy import Privacy
from uptack.session import Request, Session
from uptack.table.values.kinds import MOST_LEVELS, NUMERIC

REGRESSION, CORRELATIONS = Fraction(1, 3), Fraction(1, 6)
"""Their parts of ε, where they get a reply for it."""


@dataclass(frozen=True)
class Beside:
    """A release of several columns. Without a request, public numbers refuse it: `refused` says what it needs."""

    label: str
    columns: tuple[str, ...]
    share: Fraction
    request: Request | None = None
    cost: Privacy | None = None
    refused: str = ""


def beside(session: Session, epsilon: Fraction, target: str | None, correlations: bool) -> tuple[Beside, ...]:
    """What was asked for beside the columns, for a report of so much ε."""
    found = []
    if target is not None:
        found.append(_planned(session, "regression", REGRESSION, _regression(session, target, epsilon * REGRESSION)))
    if correlations:
        request = _correlations(session, epsilon * CORRELATIONS)
        found.append(_planned(session, "correlations", CORRELATIONS, request))
    return tuple(found)


def _planned(session: Session, label: str, share: Fraction, request: Request) -> Beside:
    (line,) = session.plan([request]).releases
    full = session.complete(request)
    names = (*request.columns[:1], *full.predictors(session.source.columns))
    if line.refusal is not None:
        return Beside(label, names, share, refused=str(line.refusal.advice))
    return Beside(label, names, share, request, full.cost.under(session.adjacency))


def _regression(session: Session, target: str, epsilon: Fraction) -> Request:
    """The target on all other numbers, and on texts whose levels are public."""
    known(target, session.source.columns, NUMERIC)
    levels = {name: len(session.schema.levels(name)) for name in session.texts}
    texts = (name for name, n in levels.items() if 1 < n <= MOST_LEVELS)
    predictors = (*session.predictors(target, None), *texts)
    if not predictors:
        raise InvalidArgument("target", "one of several columns of numbers", repr(target))
    return Request("regression", target, *predictors, epsilon=epsilon)


def _correlations(session: Session, epsilon: Fraction) -> Request:
    """The correlations of all columns of numbers; of people those of their means."""
    names = session.numeric
    if len(names) < 2:
        raise InvalidArgument("correlations", "asked for where there are two columns of numbers", "fewer")
    each = {"per_person": "mean"} if session.adjacency.person else {}
    return Request("correlation_matrix", *names, epsilon=epsilon, **each)
