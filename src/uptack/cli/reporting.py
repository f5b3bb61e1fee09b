"""`uptack report` and `uptack plan`."""

from __future__ import annotations

import json
import webbrowser
from pathlib import Path
from typing import Any

import click

from uptack.cli.common import ANSWER, NO_REPLY, Exact, as_json, epsilon, opened, pairs, session_options, stacked
from uptack.errors import InvalidArgument
from uptack.exact import read
from uptack.report import plan as report_plan
from uptack.report import profile, to_json, to_markdown, write
from uptack.report.writing import check_target
from uptack.session import Plan, Request


@click.command(
    epilog="""\b
Examples:
  uptack report patients.parquet --epsilon 2
  uptack report patients.csv --epsilon 1 --target cost -o report.html --ledger budget.db
  uptack report patients.csv --epsilon 1 --plan
"""
)
@click.argument("path", metavar="TABLE")
@epsilon
@click.option("--delta", type=Exact(), default="1e-6", show_default=True, help="0 for pure differential privacy.")
@click.option("-o", "--output", default="report.html", show_default=True, help="An .html, .md or .json file.")
@click.option("--columns", help="Only these columns, with commas between them.")
@click.option(
    "--share",
    "shares",
    multiple=True,
    callback=pairs(read, "WEIGHT, such as age=2"),
    help="NAME=WEIGHT: a column's part of the budget.",
)
@click.option("--target", help="Also regress this column on all other numbers.")
@click.option("--plan", "only_plan", is_flag=True, help="Show costs and expected errors; touch no data, spend nothing.")
@click.option("--open", "show", is_flag=True, help="Open the report when it is written.")
@stacked(as_json, session_options)
def report(path: str, output: str, only_plan: bool, show: bool, **options: Any) -> int:
    """A private profile of a whole table: one budget, no bounds asked.

    TABLE is a CSV, Parquet, Arrow or DuckDB file, or - for CSV from standard input.
    """
    json_wanted, target = options.pop("as_json"), check_target(output)
    columns = options.pop("columns")
    names = None if columns is None else [name.strip() for name in columns.split(",")]
    with opened(path, options) as session:
        choices = {"columns": names, "shares": options["shares"], "target": options["target"]}
        if only_plan:
            return _show_plan(report_plan(session, options["epsilon"], options["delta"], **choices), json_wanted)
        title = "standard input" if path == "-" else Path(path).name
        made = profile(session, options["epsilon"], options["delta"], title=title, **choices)
    written = write(made, target)
    click.echo(to_json(made) if json_wanted else _summary(to_markdown(made), written))
    if show:
        webbrowser.open(written.resolve().as_uri())
    return ANSWER if any(figure.value is not None for column in made.columns for figure in column.figures) else NO_REPLY


def _summary(markdown: str, written: Path) -> str:
    """The main lines of a report, without the bill."""
    return markdown.partition("## What each figure cost")[0] + f"The whole report: {written}"


def _show_plan(plan: Plan, json_wanted: bool) -> int:
    click.echo(json.dumps(plan.to_dict(), indent=2, ensure_ascii=False) if json_wanted else str(plan))
    return ANSWER if all(line.refusal is None for line in plan.releases) else NO_REPLY


def _request(text: str) -> Request:
    """STATISTIC:COLUMN[,COLUMN]:EPSILON[:DELTA]."""
    try:
        statistic, columns, eps, *rest = text.split(":")
        names, delta = filter(None, columns.split(",")), {"delta": read(rest[0])} if rest else {}
        more = {"p": [0.25, 0.5, 0.75]} if statistic == "quantile" else {}
        return Request(statistic.replace("-", "_"), *names, epsilon=read(eps), **delta, **more)
    except ValueError:
        must = "STATISTIC:COLUMN:EPSILON or STATISTIC:COLUMN:EPSILON:DELTA"
        raise InvalidArgument("request", must, repr(text), "Such as median:age:0.1.") from None


@click.command(epilog="\b\nExample:\n  uptack plan patients.parquet median:age:0.1 iqr:cost:0.2 regression:cost,age:1")
@click.argument("path", metavar="TABLE")
@click.argument("requests", nargs=-1, required=True, metavar="STATISTIC:COLUMN:EPSILON...")
@stacked(as_json, session_options)
def plan(path: str, requests: tuple[str, ...], **options: Any) -> int:
    """What releases would cost and how close they would be, before anything is spent."""
    json_wanted, asked = options.pop("as_json"), [_request(text) for text in requests]
    with opened(path, options) as session:
        return _show_plan(session.plan(asked), json_wanted)
