"""`uptack synthetic`: a file of synthetic rows."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import click

from uptack.cli import command_support as shared
from uptack.errors import InvalidArgument
from uptack.labels import json_text
from uptack.progress import steps
from uptack.report.profile import usual_delta
from uptack.synthesis.synthetic_table import WRITERS, to_html
from uptack.wire.text_values import levels as written_levels


@click.command(
    epilog="""\b
Examples:
  uptack synthetic patients.parquet --epsilon 1 --delta 1e-6 -o synthetic.parquet
  uptack synthetic patients.csv age ward --epsilon 1 --delta 1e-6 -o synthetic.csv --page synthetic.html
"""
)
@click.argument("path", metavar="TABLE")
@click.argument("columns", nargs=-1, metavar="[COLUMN]...")
@shared.epsilon
@click.option("--delta", type=shared.EXACT, help=f"The chance that the guarantee fails. {shared.USUAL_DELTA}")
@click.option("-o", "--output", required=True, help="A .parquet file, which keeps types, or a .csv file.")
@click.option("--page", help="An .html page that compares the synthetic rows with the private tables.")
@click.option("--rows", type=click.IntRange(1), help="How many rows to draw. [default: as many as in the data]")
@click.option("--levels", multiple=True, help="NAME=A,B,C: the public categories of a column. May be repeated.")
@shared.stack_decorators(shared.as_json, shared.session_options)
def synthetic(
    path: str, columns: tuple[str, ...], output: str, page: str | None, levels: tuple[str, ...], **options: Any
) -> int:
    """Synthetic rows of a table, or of some of its columns, within one budget.

    TABLE is a CSV, Parquet, Arrow or DuckDB file, or - for CSV from standard input.
    """
    json_wanted = options.pop("as_json")
    target = _writable(output, tuple(WRITERS))
    about = None if page is None else _writable(page, (".html",))
    with shared.open_source(path, options) as session:
        given = {"delta": usual_delta(session)} | {name: value for name, value in options.items() if value is not None}
        given |= {"levels": written_levels(session, levels, "--levels")} if levels else {}
        with steps("synthetic rows", 1):
            made = session.synthetic(*columns, **given)
    if not made:
        shared.say(json_text(made.to_dict()) if json_wanted else shared.as_text(made))
        return shared.NO_REPLY
    made.value.write(target)
    if about is not None:
        about.write_text(to_html(made), "utf-8")
    if json_wanted:
        shared.say(json_text({**made.to_dict(), "value": made.value.to_dict(rows=False)}))
    else:
        stamp = "" if made.private else "; NOT PRIVATE: seeded randomness"
        shared.say(f"{made.value.summary()}\nRows: {output}\n({made.mechanism}, {made.privacy}{stamp})")
    return shared.ANSWER


def _writable(path: str, endings: tuple[str, ...]) -> Path:
    """A path that can be written, known before anything is spent."""
    target = Path(path)
    if target.suffix.lower() not in endings:
        raise InvalidArgument("output", f"a file that ends in {' or '.join(endings)}", repr(path))
    try:
        with tempfile.TemporaryFile(dir=target.resolve().parent):
            pass
    except (OSError, RuntimeError, ValueError):
        raise InvalidArgument("output", "in a folder that exists and can be written to", repr(path)) from None
    if target.exists() and not target.is_file():
        raise InvalidArgument("output", "a file, or a new one", repr(path))
    return target
