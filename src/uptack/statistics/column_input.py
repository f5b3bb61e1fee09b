"""The data of a statistic as a plain column of numbers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

from uptack.errors import InvalidArgument
from uptack.statistics.column_options import Question
from uptack.statistics.time_options import CENTURIES, check_times
from uptack.statistics.time_outcomes import in_form
from uptack.table.arguments import MEASURED, as_column
from uptack.table.protocol import Column
from uptack.table.values.entrance import HELD, field
from uptack.table.values.times import Form


def column(x: Any, question: Question, floats: bool = False, times: str = "") -> tuple[Column, Question]:
    """The data as a column of numbers without NaN or infinities, and the question with its granularity.

    Integer columns have a granularity of 1 by themselves, unless they are to be read as `floats`: that is their type,
    not their content. By default a value that is not a finite number is an error for the curator to see. With `missing`
    each such row is replaced on its own, NaN by the value asked for and ±inf by ±the largest float, which keeps
    neighbours neighbours.

    A column of times or durations is one of ticks from here on (`uptack.table.values.times`). `times` says what an
    answer in ticks is: "place", a moment among the rows, "spread", a duration, or "" where ticks are of no use.
    """
    data = in_memory(x)
    form = data.form
    if form is not None and not times:
        what, fix = HELD[form.kind]
        raise InvalidArgument("x", "a one-dimensional column of numbers", f"a column of {what}", fix)
    check_times(question.time_options, form)
    if form is not None:
        question = _in_ticks(question, form, times, floats)
    if data.of_people != bool(question.adjacency.person):  # the registry has seen to it; nothing else may get through
        must = "by person for people's data, and only for them"
        raise InvalidArgument("adjacency", must, str(question.adjacency), "Pass person=.")
    question = replace(question, capped=data.unit.at_most is not None)
    if floats:
        data = data.floats()
    elif data.integers:
        question = replace(question, granularity=question.granularity or Fraction(1))
    if question.missing == "drop":
        known = data.table.size if question.adjacency.size_is_public and not question.capped else None
        return data.drop(), replace(question, at_most=known)
    if isinstance(question.missing, float):
        return data.filled(question.missing), question
    if not data.finite():
        fix = "Pass missing='drop', or 'low', 'high' or a number to replace each such row."
        raise InvalidArgument("x", "free of NaN and infinities", "some", _untyped(x, fix) if form is None else TIMES)
    return data, question


TIMES = "Pass missing='drop', or 'low', 'high' or a time to replace each such row."


def _untyped(x: Any, fix: str) -> str:
    """The same, and what else there is to do for rows without a declared type."""
    if isinstance(x, Column) or field("x", x).kind != "any":
        return fix
    return f"{fix} Times need a type: pass numpy.array(x, 'datetime64[us]') or pandas.to_datetime(x)."


def _in_ticks(question: Question, form: Form, times: str, floats: bool) -> Question:
    """The same question in ticks, whose answer is shown in the form of the column, or as a duration.

    Without `plausible` times are guessed to be recent: `CENTURIES`.
    """
    account = question.account.showing(partial(in_form, form if times == "place" else form.spread))
    step = question.granularity if floats else question.granularity or form.step
    moments = form.kind == "time" and times == "place" and question.method == "inverse"
    guess = CENTURIES if moments and question.plausible is None else question.plausible
    return replace(question, account=account, granularity=step, plausible=guess)


def in_memory(x: Any) -> Column:
    """Anything like a column of numbers, times or durations, by its declared type: see `uptack.table.values`."""
    return as_column("x", x, MEASURED)
