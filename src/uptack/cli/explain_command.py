"""`uptack explain`: a guarantee in words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from uptack.cli.command_support import ANSWER, say
from uptack.cli.parameter_types import Exact
from uptack.errors import InvalidArgument, UptackError
from uptack.labels import lines
from uptack.privacy import Adjacency, Privacy
from uptack.privacy.guarantee import promise

LARGEST = 1 << 28
"""The most bytes that a report may have."""


@click.command(
    epilog="""\b
Examples:
  uptack explain report.json
  uptack explain report.json --epsilon 0.5
"""
)
@click.argument("path", metavar="REPORT.JSON", type=click.Path(path_type=Path))
@click.option("--epsilon", type=Exact(), help="Compare with this ε.")
def explain(path: Path, epsilon: Any) -> int:
    """The guarantee of a report in words. It reads no data and spends nothing."""
    whose, spent = _read(path)
    say("\n".join(part for part in (whose, promise(spent), _tested(spent)) if part))
    if epsilon is not None:
        other = Privacy(epsilon, spent.exact_delta, spent.adjacency)
        say("\n".join(["", promise(other), _tested(other)]))
    return ANSWER


def _tested(privacy: Privacy) -> str:
    text = privacy.explain().replace("\n", " ").partition(": ")[2]
    return text[:1].upper() + text[1:]


def _read(path: Path) -> tuple[str, Privacy]:
    """Whose privacy a report protects, and what it spent."""
    must = "a report saved by `uptack report -o report.json`"
    try:
        if path.stat().st_size > LARGEST:
            raise ValueError
        held = json.loads(path.read_text("utf-8"))
        spent = held["privacy"]["spent"]
        relation = Adjacency(spent["adjacency"], spent["rows_per_person"], tuple(spent.get("person", ())))
        return lines(str(held["whose"])), Privacy(spent["epsilon"], spent["delta"], relation)
    except (OSError, ValueError, KeyError, TypeError, RecursionError, UptackError):
        raise InvalidArgument("REPORT.JSON", must, repr(str(path))) from None
