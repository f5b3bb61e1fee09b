"""The private report of a table: plan it, debit it, compute it, show it.

`report` is the call for users, `profile` the same for a session. Columns have cards (`uptack.report.cards`), and what
is about several columns is in sections (`uptack.report.sections`).
"""

from __future__ import annotations

import contextlib
import difflib
import functools
import html
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

from uptack import checks
from uptack.display import FigureTable, Record, Tabular
from uptack.errors import BudgetExceeded, InvalidArgument, NoInterval, UnknownOption, UptackError
from uptack.exact import Rational
from uptack.labels import json_text, label
from uptack.privacy import Privacy
from uptack.progress import Step, steps
from uptack.report.budget import Division, FigureAdvice, divide, hints
from uptack.report.column import CONFIDENCE, ColumnDraw, ColumnProfile, Figure, Part, Quantiles
from uptack.report.output import write
from uptack.report.page import to_html
from uptack.report.section import SectionAnswer, SectionPlan, registered_sections
from uptack.report.text import to_markdown, to_text
from uptack.session import Plan, PlannedRelease, Request, Session
from uptack.session import open as open_session
from uptack.session.plan import PaidPlan, expected_error
from uptack.session.requests import Made
from uptack.table.names import column_name

T = TypeVar("T")

DELTA = Fraction(1, 10**6)
"""The default δ of a report, unless its ledger has little left (`usual_delta`)."""


def usual_delta(session: Session) -> Fraction:
    """The δ of a report that states none: `DELTA`, or half of what the ledger has left if that is less, so that later
    releases can find groups and categories, too.
    """
    left = session.remaining
    return DELTA if left is None else min(DELTA, left.exact_delta / 2)


@dataclass(frozen=True, repr=False)
class Profile(Tabular):
    """A whole report: what is published about each column, and in each section that was asked for, by its name.

    `rows` counts what the `unit` of privacy is: rows, or people. Whatever is made of a report costs nothing more.
    """

    title: str
    rows: int | None
    columns: tuple[ColumnProfile, ...]
    budget: Privacy
    spent: Privacy
    private: bool
    hints: tuple[str, ...] = ()
    unit: str = "rows"
    whose: str = ""
    author: str = ""
    source: str = ""
    date: str = ""
    sections: Mapping[str, SectionAnswer] = field(default_factory=dict)

    def __getitem__(self, name: str) -> ColumnProfile:
        """What is published about a column: `report["age"]["median"].value`."""
        columns = {column.part.name: column for column in self.columns}
        return columns[column_name(name, dict.fromkeys(columns, "other"))]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON. A section that was not asked for is None."""
        answers = {section.name: self.sections.get(section.name) for section in registered_sections()}
        return {
            "table": self.title,
            "author": self.author,
            "source": self.source,
            "date": self.date,
            self.unit: self.rows,
            "whose": self.whose,
            "privacy": {"asked": self.budget.to_dict(), "spent": self.spent.to_dict()},
            "private": self.private,
            "hints": list(self.hints),
            "columns": [column.to_dict() for column in self.columns],
            **{name: None if answer is None else answer.section.to_dict(answer) for name, answer in answers.items()},
        }

    def to_html(self) -> str:
        """One self-contained page: no script, nothing from a network."""
        return to_html(self)

    def to_markdown(self) -> str:
        """The same as Markdown."""
        return to_markdown(self)

    def to_json(self) -> str:
        """The same as JSON, with values exactly as they were released."""
        return json_text(self.to_dict(), indent=2) + "\n"

    def save(self, path: str | Path) -> Path:
        """Write it as the end of the file's name says: .html, .md, .json or .zip. All of it, or nothing."""
        return write(self, path)

    def records(self) -> list[Record]:
        """One line per number: `column`, `figure`, `category` where something is counted, then `value` and so on.

        A figure without a cost was worked out from those that have one. Curves of densities are left out.
        """
        records = [line for column in self.columns for line in column.records()]
        return records + [line for answer in self.sections.values() for line in answer.section.records(answer)]

    def table(self) -> FigureTable:
        title, notes = f"Private report: {label(self.title)}", [f"spent: {self.spent}", *self.hints]
        return FigureTable.of(self.records(), title, notes, private=self.private)

    def _repr_html_(self) -> str:
        """The page in a frame of its own, apart from the notebook's styles. Nothing runs in it."""
        style = "width:100%;border:1px solid currentColor"
        content = html.escape(self.to_html())
        return f'<iframe sandbox="" style="{style}" height="640" srcdoc="{content}"></iframe>'

    def __repr__(self) -> str:
        return to_text(self)


# ------------------------------------------------------------------------------------------------- planned, paid, made


def report(
    data: Any,
    *,
    epsilon: Rational,
    delta: Rational | None = None,
    title: str | None = None,
    author: str | None = None,
    source: str | None = None,
    date: str | None = None,
    columns: Sequence[str] | None = None,
    skip: Sequence[str] | None = None,
    shares: Mapping[str, Rational] | None = None,
    plausible: Mapping[str, tuple[Any, Any]] | None = None,
    measures: Mapping[str, str] | None = None,
    progress: bool | None = None,
    **options: Any,
) -> Profile:
    """A private report on a whole table, (ε, δ)-differentially private in all, without bounds on the data.

    **Theorem.** That of `profile`, which makes it: all losses are fixed before the first release, and composed as such.

    `data` is whatever `uptack.open` takes, with its options (`ledger`, `person`, `missing`, `adjacency`, `types` and so
    on), or a session. The other options are those of `uptack report`:

    - `title`, `author`, `source` and `date` stand at the top of the page. By default the first three are those of the
      schema, the title else the name of the file, and the date is today's.
    - `columns`: only these. Without it all but those of `skip`, those with `skip = true` in the schema, and those that
      are ids or row numbers by their names (`id`, `rownames`, a first column without a name).
    - `shares`: a column's weight in the budget, such as `{"age": 2}`.
    - `measures`: units of measurement, such as `{"age": "years"}`, for axes and cards.
    - `target`: also regress this column on all other numbers, for a third of ε.
    - `correlations`: also those of all columns of numbers, by ranks, for a sixth of ε.
    - `plausible`: guesses of where values lie, such as `{"age": (0, 120)}`. They need not be right.
    - `progress`: whether a line shows how far it is; None shows it where standard error is a terminal.

    Without `delta` it is 1e-6, or half of the δ that the ledger has left if that is less.

    The result has `to_html()`, `save("page.html")`, `to_markdown()`, `to_pandas()`, `to_polars()`, `to_dict()`, and is
    a page in a notebook.

    >>> import numpy as np
    >>> from uptack import SeededEntropy
    >>> page = report({"age": np.arange(20, 80).repeat(100)}, epsilon=1, entropy=SeededEntropy(1))
    >>> page.columns[0]["median"].value, page.spent.epsilon <= 1
    (49, True)
    """
    choices: dict[str, Any] = {"columns": columns, "skip": skip, "shares": shares, "plausible": plausible}
    choices["measures"] = measures
    choices |= {one.option: options.pop(one.option) for one in registered_sections() if one.option in options}
    check_options(options, of_session=isinstance(data, Session))
    session = data if isinstance(data, Session) else open_session(data, **options)
    if title is None and session.schema.title is None and isinstance(data, str | Path):
        title = Path(data).name
    masthead: dict[str, Any] = {"title": title, "author": author, "source": source, "date": date}
    delta = usual_delta(session) if delta is None else delta
    return profile(session, epsilon, delta, progress=progress, **masthead, **choices)


def check_options(options: Mapping[str, Any], *, of_session: bool) -> None:
    """Refuse options that neither a report nor `uptack.open` has, and for a session those of `uptack.open`."""
    opening = [*inspect.signature(open_session).parameters][1:]
    own = [name for name, one in inspect.signature(report).parameters.items() if one.kind is one.KEYWORD_ONLY]
    own += [section.option for section in registered_sections()]
    for name in options:
        if name in opening and of_session:
            fix = f"Pass it where the session is opened: uptack.open(..., {name}=...)."
            raise InvalidArgument(name, "left out of a session's report", checks.describe(options[name]), fix)
        if name not in own and name not in opening:
            near = difflib.get_close_matches(name, own if of_session else [*own, *opening], n=1, cutoff=0.7)
            fix = f"Did you mean {near[0]!r}?" if near else f"Its options are {', '.join(own)}."
            raise UnknownOption(name, "report", fix)


def plan(session: Session, /, epsilon: Rational, delta: Rational = 0, **choices: Any) -> Plan:
    """The costs and expected errors of a report, from public numbers alone. `choices` are those of `profile`."""
    with session.one_state():
        division = divide(session, epsilon, delta, **choices)
        planned, free = session.plan(division.requests()), Privacy(0, 0, session.adjacency)
        refused = [
            PlannedRelease(part.request(draw), free, part.refusals[draw.label], "")
            for part in division.parts
            for draw in part.draws
            if draw.label in part.refusals
        ]
        return Plan((*planned.releases, *refused), division.cost, planned.remaining, hints(division))


def profile(
    session: Session,
    /,
    epsilon: Rational,
    delta: Rational = 0,
    *,
    public: Session | None = None,
    title: str | None = None,
    author: str | None = None,
    source: str | None = None,
    date: str | None = None,
    progress: bool | None = None,
    **choices: Any,
) -> Profile:
    """The private profile of a table for (ε, δ) in all. `choices` are `columns`, `skip`, `shares`, `plausible`,
    `measures` and the options of sections: see `report`. `public`, if given, is the same session on the public side of
    its table. It is planned on that one, so that no debit waits until another thread has read rows.

    **Theorem.** The losses of all columns' releases are fixed before the first of them, and composed as such
    (`uptack.session.paid`); what is asked may depend on released values. Sections are releases of their own, and all
    add up to no more than what was asked for. All debits are made before rows are read: so their times, which are on
    record, do not depend on rows.
    """
    schema, today = session.schema, datetime.now().date().isoformat()
    masthead = {"title": (title, schema.title, "Private report"), "author": (author, schema.author, ""),
                "source": (source, schema.source, ""), "date": (date, None, today)}  # fmt: skip
    texts = {name: next(text for text in choice if text is not None) for name, choice in masthead.items()}
    for name, text in texts.items():
        if not isinstance(text, str):
            raise InvalidArgument(name, "a text", checks.describe(text))
    facts, before = session if public is None else public, session.spent
    with facts.one_state():
        with steps("planning", 1, show=progress):
            division = divide(facts, epsilon, delta, **choices)
        rows = facts.source.size if session.adjacency.size_is_public else None
        if rows == 0:
            raise InvalidArgument("data", "a table with at least one row", "none", "Nothing was spent.")
        price = division.cost
        if session.remaining is not None and not price.under(session.remaining.adjacency) <= session.remaining:
            raise BudgetExceeded(price, session.remaining)
        trees, paid = division.losses.of_parts(division.parts), None
        if trees:
            paid = session.pay(trees, division.budget.exact_delta, f"report of {len(division.parts)} columns")
        releases = _Releases(session, division, paid)
        with (
            session.one_state(),
            steps("figures of columns", len(division.parts) + len(division.sections), show=progress) as step,
        ):
            columns = tuple(releases.column(part) for part in _each(division.parts, step))
            answers = {one.section.name: releases.section(one) for one in _each(division.sections, step)}
    spent = session.spent.exact_epsilon - before.exact_epsilon, session.spent.exact_delta - before.exact_delta
    unanswered = sum("median" in column.part.figures and column["median"].value is None for column in columns)
    return Profile(
        **texts,
        rows=rows,
        columns=columns,
        sections=answers,
        budget=division.budget,
        spent=Privacy(*spent, session.adjacency),
        private=session.private,
        hints=hints(division, unanswered),
        unit=session.adjacency.unit,
        whose=session.whose,
    )


def _each(items: Iterable[T], step: Step) -> Iterator[T]:
    for item in items:
        step()
        yield item


class _Releases:
    """The releases of a report, one after the other, all paid for before the first.

    What can be wrong with a request is found before the debit, but for one that is made from released values: if it is
    refused, the others go on. Where rows can't be read, what was made stays in the report, and no more is tried.
    """

    def __init__(self, session: Session, division: Division, paid: PaidPlan | None) -> None:
        self._session, self._losses, self._paid = session, division.losses, paid
        self._advice = FigureAdvice(division)
        self._failure, self._any, self._paid_sections = "", False, 0
        for request in (one for section in division.sections for one in section.accepted):
            try:
                session.debit(session.complete(request))
            except BudgetExceeded:  # others were faster
                if paid is None and not self._paid_sections:
                    raise
                break
            self._paid_sections += 1

    def column(self, part: Part) -> ColumnProfile:
        """What is published about a column."""
        return part.card.run(part, functools.partial(self._draw, part))

    def _draw(self, part: Part, draw: ColumnDraw, released: Quantiles) -> Figure:
        """One figure of a column, which uses up its loss of the plan; ⊥ for nothing where public numbers refuse it."""
        if (refusal := part.refusals.get(draw.label)) is not None:
            return Figure.of(draw.label, refusal, None, self._advice(refusal, part.epsilon(draw)))
        request, tree, paid = part.request(draw, released), self._losses.of(part, draw), self._paid
        assert paid is not None, "a part without draws"
        figure, refused = self._attempt(draw.label, request, lambda: paid.run(request, tree))
        if refused is not None:
            return Figure.of(draw.label, refused, figure.cost, self._advice(refused, part.epsilon(draw)))
        if part.rows is None or draw.label not in ("quantiles", "tails") or figure.note:
            return figure
        return replace(figure, note=expected_error(self._session.complete(request), part.rows))

    def section(self, plan: SectionPlan) -> SectionAnswer:
        """The figures of a section, each of which was paid for by itself."""
        name, figures = plan.section.label, list[Figure]()
        for request, refusal in zip(plan.requests, plan.refusals, strict=True):
            if refusal is not None:
                figures.append(Figure(name, None, None, self._advice.of_section(refusal, request)))
            elif not self._paid_sections:
                figures.append(Figure(name, None, None, "Not computed: the budget was used up by other requests."))
            else:
                self._paid_sections -= 1
                figures.append(self._attempt(name, request, functools.partial(self._read, request))[0])
        return SectionAnswer(plan.section, plan.columns, plan.requests, tuple(figures))

    def _read(self, request: Request) -> Made:
        with self._session.snapshot():
            return self._session.make_paid(self._session.complete(request))

    def _attempt(self, label: str, request: Request, make: Callable[[], Made]) -> tuple[Figure, Made | None]:
        """A figure, and the ⊥ that it is of."""
        cost, failure = self._session.complete(request).cost, self._failure
        try:
            reply = None if failure else make()
        except UptackError as error:
            if not self._any:
                raise
            reply, failure = None, f"Not computed: {error}"
            if not isinstance(error, InvalidArgument):  # that is of this figure alone
                failure = self._failure = "Not computed: the rows could not be read."
        if reply is None:
            return Figure(label, None, None, failure, "withheld", cost), None
        self._any = True
        figure = Figure.of(label, reply, cost if reply.loss is not None else None)
        if reply.value is None:
            return figure, reply
        if label != "n":  # that of n is of its noise
            with contextlib.suppress(NoInterval):
                low, high = reply.interval(CONFIDENCE)
                figure = replace(figure, interval=(low, high))
        return figure, None
