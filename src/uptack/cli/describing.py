"""`uptack describe`."""

from __future__ import annotations

from typing import Any

import click

from uptack.cli.common import ANSWER, as_json, opened, say, session_options, stacked
from uptack.data.people import Repeats, repeats
from uptack.labels import json_text, label
from uptack.session import Session

WARNING = "FOR THE CURATOR'S EYES ONLY: exact numbers from the rows, not private. Don't pass them on."


@click.command(
    epilog="""\b
Examples:
  uptack describe visits.parquet --person patient_id
  uptack describe visits.parquet --curator
"""
)
@click.argument("path", metavar="TABLE")
@click.option(
    "--curator", is_flag=True, help="Also say which columns have several rows per value, as ids have. NOT PRIVATE."
)
@stacked(as_json, session_options)
def describe(path: str, curator: bool, **options: Any) -> int:
    """What is public of a table: columns and types, the number of rows or people, and whose privacy is meant."""
    json_wanted = options.pop("as_json")
    with opened(path, options) as session:
        found = repeats(session.whole) if curator else []
        if json_wanted:
            say(
                json_text({**session.to_dict(), **({"curator": [line.to_dict() for line in found]} if curator else {})})
            )
        else:
            say("\n".join([session.describe(), *(_lines(session, found) if curator else [])]))
    return ANSWER


def _lines(session: Session, found: list[Repeats]) -> list[str]:
    """What the curator is told of columns that may be ids."""
    ids = session.adjacency.person
    lines = ["", WARNING]
    for line in found:
        names = " and ".join(map(label, line.names))
        many = f"{line.values:,} values in {line.rows:,} rows, at most {line.most:,} rows of one"
        nobody = f"; {line.missing:,} rows have none and are left out" if line.missing else ""
        lines.append(f"  {names}: {many}{nobody}")
    if not found:
        lines.append("  no column looks like ids of people")
    several = [line for line in found if line.most > 1]
    if not ids and several:
        option = " ".join(f"--person {label(name)}" for name in several[0].names)
        lines.append(f"If one of these says whose a row is, people are protected only with {option}, or its like.")
    return lines
