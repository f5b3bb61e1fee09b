"""`uptack report` and `uptack plan`."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from uptack.cli import command_support as shared
from uptack.errors import InvalidArgument
from uptack.exact import read
from uptack.labels import json_text
from uptack.report import Output, Profile, to_json, to_text
from uptack.report import plan as report_plan
from uptack.report.profile import usual_delta
from uptack.report.section import registered_sections
from uptack.session import Plan, Request
from uptack.wire.text_values import span

SECTIONS = registered_sections()
MOST = 12
"""The most categories of a column that are printed."""


@click.command(
    epilog="""\b
Examples:
  uptack report patients.parquet --epsilon 2
  uptack report patients.csv --epsilon 1 --target cost -o report.html --ledger budget.db
  uptack report patients.csv --epsilon 1 --plan
"""
)
@click.argument("path", metavar="TABLE")
@shared.epsilon
@click.option("--delta", type=shared.EXACT, help=f"0 for pure differential privacy. {shared.USUAL_DELTA}")
@click.option(
    "-o",
    "--output",
    "outputs",
    multiple=True,
    default=("report.html",),
    show_default=True,
    help="An .html, .md or .json file, or a .zip of CSV files. May be given several times.",
)
@click.option("--title", help="The title of the page. [default: that of the schema, or the name of the file]")
@click.option("--author", help="Who publishes it. [default: that of the schema]")
@click.option("--source", help="Where the data come from, as readers should cite them. [default: that of the schema]")
@click.option("--date", help="The date on the page. [default: today]")
@shared.pair_option(
    "--unit", "measures", str, "UNIT, such as age=years", "a column's unit of measurement, for axes and cards."
)
@click.option("--columns", help="Only these columns, separated by commas.")
@click.option("--skip", help="Leave out these columns, separated by commas.")
@shared.pair_option("--share", "shares", read, "WEIGHT, such as age=2", "the weight of a column in the budget.")
@shared.pair_option(
    *("--plausible", "plausible", span, "LOW:HIGH, such as age=0:120"),
    help="a guess of where a column's values lie. It may be wrong.",
)
@shared.stack_decorators(
    *(click.option(f"--{one.option.replace('_', '-')}", is_flag=one.takes is bool, help=one.help) for one in SECTIONS)
)
@click.option(
    "--plan", "only_plan", is_flag=True, help="Show costs and expected errors. Reads no data and spends nothing."
)
@click.option("--open", "show", is_flag=True, help="Open the report when it is written.")
@shared.stack_decorators(shared.as_json, shared.session_options)
def report(path: str, outputs: tuple[str, ...], only_plan: bool, show: bool, **options: Any) -> int:
    """A private profile of a whole table, within one budget.

    TABLE is a CSV, Parquet, Arrow or DuckDB file, or - for CSV from standard input.
    """
    json_wanted, choices = options.pop("as_json"), dict[str, Any]()
    for name in ("columns", "skip"):
        text = options.pop(name)
        choices[name] = None if text is None else [one.strip() for one in text.split(",")]
    choices |= {name: options.pop(name) for name in ("shares", "plausible", "measures")}
    masthead = {name: options.pop(name) for name in ("title", "author", "source", "date")}
    choices |= {one.option: options.pop(one.option) for one in SECTIONS}
    if only_plan:
        with shared.open_source(path, options) as session:
            delta = usual_delta(session) if options["delta"] is None else options["delta"]
            planned = report_plan(session, options["epsilon"], delta, **choices)
        return _show_plan(planned, json_wanted)
    with ExitStack() as held:
        if len({os.path.realpath(output) for output in outputs}) < len(outputs):  # they would overwrite each other
            raise InvalidArgument("output", "different files", "the same file twice")
        places = [held.enter_context(Output(output)) for output in outputs]
        session = held.enter_context(shared.open_source(path, options))
        usual = "standard input" if path == "-" else Path(path).name
        masthead["title"] = masthead["title"] or session.schema.title or usual
        made = session.report(epsilon=options["epsilon"], delta=options["delta"], **masthead, **choices)
        if shared.SIGNALS:
            raise KeyboardInterrupt
        for place in places:
            try:
                place.write(made)
            except Exception as error:
                return _rescue(place, made, error)
    files = ", ".join(str(place.path) for place in places)
    shared.say(to_json(made) if json_wanted else f"{to_text(made, most=MOST)}\nFull report: {files}")
    if show:
        import webbrowser

        webbrowser.open(places[0].path.resolve().as_uri())
    answered = any(figure.value is not None for column in made.columns for figure in column.figures)
    return shared.ANSWER if answered else shared.NO_REPLY


def _rescue(place: Output, made: Profile, error: Exception) -> int:
    """Print a paid report that could not be written, all of it, and save it elsewhere."""
    shared.say(to_json(made))
    try:
        where = f"It is saved as {place.rescue(made)}."
    except OSError:
        where = "It could not be saved elsewhere, so keep the printed one."
    shared.say(f"uptack: {place.path} could not be written ({error}). The report is printed above. {where}", err=True)
    return shared.BROKEN


def _show_plan(plan: Plan, json_wanted: bool) -> int:
    shared.say(json_text(plan.to_dict(), indent=2) if json_wanted else str(plan))
    return shared.ANSWER if all(line.refusal is None for line in plan.releases) else shared.NO_REPLY


def _request(text: str) -> Request:
    """STATISTIC:COLUMN[,COLUMN]:EPSILON[:DELTA], or with a formula in place of columns."""
    try:
        statistic, columns, eps, *rest = text.split(":")
        formula = "~" in columns
        names, delta = [] if formula else filter(None, columns.split(",")), {"delta": read(rest[0])} if rest else {}
        more: dict[str, Any] = {"p": [0.25, 0.5, 0.75]} if statistic == "quantile" else {}
        more |= {"formula": columns} if formula else {}
        return Request(statistic.replace("-", "_"), *names, epsilon=read(eps), **delta, **more)
    except ValueError:
        must = "STATISTIC:COLUMN:EPSILON or STATISTIC:COLUMN:EPSILON:DELTA"
        raise InvalidArgument("request", must, repr(text), "Such as median:age:0.1.") from None


@click.command(epilog="\b\nExample:\n  uptack plan patients.parquet median:age:0.1 iqr:cost:0.2 regression:cost,age:1")
@click.argument("path", metavar="TABLE")
@click.argument("requests", nargs=-1, required=True, metavar="STATISTIC:COLUMN:EPSILON...")
@shared.stack_decorators(shared.as_json, shared.session_options)
def plan(path: str, requests: tuple[str, ...], **options: Any) -> int:
    """The cost and the expected error of releases, before anything is spent."""
    json_wanted, asked = options.pop("as_json"), [_request(text) for text in requests]
    with shared.open_source(path, options) as session:
        return _show_plan(session.plan(asked), json_wanted)
