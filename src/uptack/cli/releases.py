"""Commands for single releases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from uptack.cli.common import Exact, as_json, delta, epsilon, release, session_options, stacked
from uptack.data.protocol import known
from uptack.errors import InvalidArgument
from uptack.session import Request, Session

Finish = Callable[[Any], Any]
table = click.argument("path", metavar="TABLE")
column = click.argument("column", metavar="COLUMN")
method = click.option(
    "--method", type=click.Choice(["inverse", "ptr", "dwork-lei"]), default="inverse", show_default=True
)
granularity = click.option("--granularity", type=Exact(), help="A public step that all values are multiples of.")
grouping = stacked(
    click.option("--by", help="One answer for each value of this column, all for one ε."),
    click.option(
        "--group",
        "groups",
        multiple=True,
        help="A public group, once for each. Without any: those with enough rows (needs δ).",
    ),
)
numbers = stacked(table, column, epsilon, delta, method, granularity, grouping, as_json, session_options)


def _example(text: str) -> str:
    return f"\b\nExample:\n  uptack {text}"


def _ask(statistic: str, path: str, column: str, options: dict[str, Any], finish: Finish | None = None) -> int:
    groups = options.pop("groups", ())

    def request(session: Session, name: str, **given: Any) -> Request:
        if groups:
            given["groups"] = [_key(session, str(given.get("by")), group) for group in groups]
        return Request(statistic, name, **given)

    return release(path, options, request, column, finish=finish)


def _key(session: Session, column: str, text: str) -> Any:
    """A value as the column has them."""
    known(column, session.source.columns)
    return KEYS[session.source.columns[column]](text)


@click.command(epilog=_example("median patients.parquet age --epsilon 0.5 --interval 0.95"))
@numbers
@click.option("--interval", type=Exact(), help="Spend half on an interval for the population, at this confidence.")
def median(path: str, column: str, **options: Any) -> int:
    """The median of a column."""
    return _ask("median", path, column, options)


@click.command(epilog=_example("quantile patients.parquet cost 0.1 0.5 0.9 --epsilon 1"))
@table
@column
@click.argument("p", nargs=-1, required=True, type=Exact())
@stacked(epsilon, delta, method, granularity, grouping, as_json, session_options)
def quantile(path: str, column: str, p: tuple[Any, ...], **options: Any) -> int:
    """One or several quantiles of a column, in one release."""
    return _ask("quantile", path, column, {**options, "p": p[0] if len(p) == 1 else list(p)})


@click.command(epilog=_example("iqr patients.parquet cost --epsilon 0.5"))
@numbers
def iqr(path: str, column: str, **options: Any) -> int:
    """The interquartile range of a column."""
    return _ask("iqr", path, column, options)


@click.command("trimmed-mean", epilog=_example("trimmed-mean patients.parquet cost --cut 0.05 --epsilon 0.5"))
@numbers
@click.option("--cut", type=Exact(), default="0.1", show_default=True, help="The share taken off each end.")
def trimmed_mean(path: str, column: str, **options: Any) -> int:
    """The mean of what is left when a share of rows is taken off each end."""
    return _ask("trimmed_mean", path, column, options)


@click.command(epilog=_example("mean patients.parquet age --epsilon 0.5"))
@stacked(table, column, epsilon, delta, grouping, as_json, session_options)
def mean(path: str, column: str, **options: Any) -> int:
    """The mean of a column, clamped to private quantiles far out in the tails."""
    return _ask("mean", path, column, options)


@click.command(epilog=_example("count patients.parquet readmitted --epsilon 0.1"))
@table
@click.argument("column", required=False, metavar="[COLUMN]")
@stacked(epsilon, as_json, session_options)
def count(path: str, column: str | None, **options: Any) -> int:
    """How many rows are true in COLUMN; without one, how many rows there are (--adjacency add-remove)."""
    names = () if column is None else (column,)
    return release(path, options, lambda _, *names, **given: Request("count", *names, **given), *names)


@click.command(epilog=_example("histogram patients.parquet ward --epsilon 1 --delta 1e-6"))
@stacked(table, column, epsilon, delta, as_json, session_options)
@click.option(
    "--key", "keys", multiple=True, help="A category, once for each. Without any: whatever there is (needs δ)."
)
@click.option("--edge", "edges", multiple=True, type=Exact(), help="An edge of a bin, for numbers, from low to high.")
def histogram(path: str, column: str, keys: tuple[str, ...], edges: tuple[Any, ...], **options: Any) -> int:
    """How many rows of each category, or between edges."""
    if keys or edges:
        options["delta"] = options["delta"] or None

    def request(session: Session, name: str, **given: Any) -> Request:
        if keys:
            given["keys"] = [_key(session, name, key) for key in keys]
        if edges:
            given["edges"] = list(map(float, edges))
        return Request("histogram", name, **given)

    return release(path, options, request, column)


def _truth(text: str) -> bool:
    words = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    if text.lower() not in words:
        raise InvalidArgument("key", "true or false for a column of truth values", repr(text))
    return words[text.lower()]


def _number(text: str) -> int | float:
    try:
        return float(text) if set(text.lower()) & set(".e") else int(text)
    except ValueError:
        raise InvalidArgument("key", "a number for a column of numbers", repr(text)) from None


KEYS: dict[str, Callable[[str], Any]] = {
    "integer": _number,
    "number": _number,
    "boolean": _truth,
    "text": str,
    "other": str,
}


@click.command(epilog=_example("regression patients.parquet cost age wait_minutes --epsilon 1"))
@table
@click.argument("target")
@click.argument("predictors", nargs=-1)
@stacked(epsilon, delta, as_json, session_options)
@click.option("--robust", is_flag=True, help="Hampel's regression, for up to four coefficients; needs δ.")
@click.option("--standard-errors", is_flag=True, default=None, help="Spend a third on standard errors.")
def regression(path: str, target: str, predictors: tuple[str, ...], robust: bool, **options: Any) -> int:
    """The coefficients of TARGET on PREDICTORS (or all other numbers), intercept first."""

    def request(session: Session, *names: str, **given: Any) -> Request:
        kind = "robust_regression" if robust else "regression"
        return Request(kind, target, *session.predictors(target, names or None), missing="ignore", **given)

    return release(path, options, request, *predictors)


@click.command(epilog=_example("density patients.parquet age --epsilon 1 --delta 1e-6 --low 0 --high 100"))
@stacked(table, column, epsilon, delta, as_json, session_options)
@click.option("--low", type=Exact(), help="Where the curve begins; from private quantiles if left out.")
@click.option("--high", type=Exact(), help="Where it ends.")
def density(path: str, column: str, low: Any, high: Any, **options: Any) -> int:
    """The density of a column as points of a curve: bumps with Gaussian-process noise, or a Fourier series if δ = 0."""
    if low is not None and high is not None and not low < high:
        raise InvalidArgument("high", "above low", str(high))
    if not options["delta"]:
        options = {**options, "delta": None, "low": low, "high": high}
        return _ask("fourier_density", path, column, options, lambda value: value.curve)
    ends = [None if end is None else float(end) for end in (low, high)]
    return _ask("kde", path, column, options, lambda value: value.on_grid(*ends).density())


COMMANDS = (median, quantile, iqr, trimmed_mean, mean, count, histogram, regression, density)
