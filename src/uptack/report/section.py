"""A section of a report: what it asks of several columns, and how its answer is text, HTML, records, CSV and JSON.

A section is a value of the class `Section`, declared in one module of `uptack.report.sections`. From the declaration
follow the argument of `uptack.report` and the option of the command, the plan and its price, the heading and the table
in text and Markdown, the card on the page, the key in JSON, the lines of a data frame, the CSV file of the package and
the lines of the bill. `docs/adding-a-section.md` shows how to write one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from uptack.display import Record
from uptack.errors import InvalidArgument, UptackError
from uptack.labels import label
from uptack.privacy import Privacy
from uptack.privacy.guarantee import total
from uptack.release import NoReply
from uptack.report.column import Figure
from uptack.session import Request, Session

if TYPE_CHECKING:
    from uptack.report.profile import Profile

NameText = Callable[[object], str]
"""How a name out of the data is written: `uptack.labels.label`, or `markdown`."""


class SectionTable(NamedTuple):
    """A table of a section: all columns but the first `left` are numbers, and right-aligned."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 1


Row = Mapping[str, Any]
Source = TypeVar("Source")


@dataclass(frozen=True)
class CsvTable(Generic[Source]):
    """A table of the data package: what it holds, its fields with their types (Frictionless Data), and its rows.

    A table about columns has the rows of a profile, one of a section those of its answer.
    """

    about: str
    fields: Mapping[str, str]
    rows: Callable[[Source], Iterable[Row]]


@dataclass(frozen=True)
class SectionAnswer:
    """What was released for a section: one figure per request. `columns` are those that it is about."""

    section: Section
    columns: tuple[str, ...]
    requests: tuple[Request, ...]
    figures: tuple[Figure, ...]

    @property
    def figure(self) -> Figure:
        """The figure of a section that has one."""
        return self.figures[0]

    @property
    def value(self) -> Any:
        return self.figure.value

    @property
    def replied(self) -> bool:
        """Whether there is anything to show: of answers by group, whether a group has one."""
        groups = [list(f.value.values()) if isinstance(f.value, Mapping) else [f.value] for f in self.figures]
        return any(one is not None and not isinstance(one, NoReply) for replies in groups for one in replies)

    @property
    def note(self) -> str:
        """What the figures say of themselves, or what would help."""
        notes = dict.fromkeys(figure.note for figure in self.figures if figure.note)
        return "; ".join(notes) or ("" if self.replied else "no group has enough rows")

    @property
    def subject(self) -> str | None:
        """The column that the section is named after, where there is one."""
        return self.columns[0] if self.section.of_column else None

    def title(self, name_text: NameText = label) -> str:
        of = "" if self.subject is None else f" of {name_text(self.subject)}"
        return f"{self.section.label.capitalize()}{of}"


def _figures_json(answer: SectionAnswer) -> Any:
    figures = [figure.to_dict() for figure in answer.figures]
    return figures[0] if len(figures) == 1 else figures


def _figures_records(answer: SectionAnswer) -> list[Record]:
    pairs = zip(answer.requests, answer.figures, strict=True)
    return [line for request, figure in pairs for line in figure.records(answer.section.about(request))]


RECORDS: CsvTable[SectionAnswer] = CsvTable(
    "A line per number, with its interval where it has one.",
    {"column": "string", "figure": "string", "category": "string", "value": "number", "low": "number", "high": "number",
     "note": "string"},
    lambda answer: answer.section.records(answer),
)  # fmt: skip


@dataclass(frozen=True)
class Section:
    """The declaration of a section.

    - `name`: the heading, the key in JSON, the anchor on the page and the CSV file. `place` orders sections.
    - `option` and `help`: the argument of `uptack.report` that asks for it, and what the command says of it. It `takes`
      the name of a column (str), or is a switch (bool).
    - `share`: its part of ε. It is paid for by itself; the columns get what is left.
    - `ask(session, columns, wanted, epsilon)`: the requests, given the columns of the report and what the option was
      set to. It reads no data: what is wrong with them is an error before anything is spent, and what public numbers
      refuse is ⊥ and costs nothing.
    - `table(answer, name_text)`: the answer as cells. Names out of the data go through `name_text`.
    - `of_column`: whether it is about its first column more than about the others: "Regression of cost".

    All that is below has defaults:

    - `example`: a column that the option may name, of the table that every section is tested with: y and z are numbers,
      flag has truth values (`tests/contract/test_sections.py`).
    - `columns(session, requests)`: the columns that it is about. `long`: whether a terminal shows only the first lines.
    - `html`: its part of the page, in Jinja, for an answer that is not ⊥; `view(answer, profile)` is `shown.view` in
      it. `style` is its part of the style sheet.
    - `to_dict(answer)` for JSON, and `records(answer)`, a line per number.
    - `csv`: its table of the data package. By default it has what `records` has.
    """

    name: str
    place: int
    option: str
    help: str
    share: Fraction
    ask: Callable[[Session, Sequence[str], Any, Fraction], Sequence[Request]]
    table: Callable[[SectionAnswer, NameText], SectionTable]
    takes: type = bool
    example: str = "y"
    of_column: bool = False
    long: bool = True
    columns: Callable[[Session, Sequence[Request]], tuple[str, ...]] = lambda session, requests: tuple(
        dict.fromkeys(name for request in requests for name in request.columns)
    )
    html: str = "{{ cells(shown.cells) }}"
    view: Callable[[SectionAnswer, Profile], Any] = lambda answer, profile: None
    style: str = ""
    to_dict: Callable[[SectionAnswer], Any] = _figures_json
    records: Callable[[SectionAnswer], list[Record]] = _figures_records
    csv: CsvTable[SectionAnswer] = RECORDS

    def __post_init__(self) -> None:
        for word in (self.name, self.option):
            if not word.isidentifier():
                raise InvalidArgument("name", "such as missing_values, for files and options are named after it", word)

    @property
    def label(self) -> str:
        return self.name.replace("_", " ")

    def about(self, request: Request) -> str:
        """What a line of the bill says that a request is about: a column, or so many."""
        names = request.columns[:1] if self.of_column else request.columns
        return names[0] if len(names) == 1 else f"{len(names)} columns" if names else "all rows"


@dataclass(frozen=True)
class SectionPlan:
    """A section that was asked for: its requests, and for each the ⊥ that public numbers alone give, or None."""

    section: Section
    columns: tuple[str, ...]
    requests: tuple[Request, ...]
    refusals: tuple[NoReply | None, ...]
    cost: Privacy

    @property
    def accepted(self) -> list[Request]:
        """The requests that will be made."""
        return [request for request, refused in zip(self.requests, self.refusals, strict=True) if refused is None]


def plan_section(
    session: Session, section: Section, columns: Sequence[str], wanted: Any, epsilon: Fraction
) -> SectionPlan:
    """A section about columns of the report, for so much of ε, which it does not exceed."""
    requests, relation = tuple(section.ask(session, columns, wanted, epsilon)), session.adjacency
    refusals = tuple(line.refusal for line in session.plan(requests).releases)
    accepted = [request for request, refused in zip(requests, refusals, strict=True) if refused is None]
    cost = total([session.complete(request).cost.under(relation) for request in accepted], relation)
    if not cost <= Privacy(epsilon, 0, relation):
        raise UptackError(f"the section {section.name} asks for {cost}, more than its part of the budget")
    return SectionPlan(section, section.columns(session, requests), requests, refusals, cost)


# ----------------------------------------------------------------------------------------------------------- the list

_DECLARED: dict[str, Section] = {}


def register(section: Section) -> Section:
    """Add a section to those that a report may have. One of the same name takes the place of the other."""
    _DECLARED[section.name] = section
    return section


def unregister(section: Section) -> None:
    """Take a section out again, as tests do."""
    _DECLARED.pop(section.name, None)


def registered_sections() -> list[Section]:
    """The sections in their order."""
    return sorted(_DECLARED.values(), key=lambda section: section.place)
