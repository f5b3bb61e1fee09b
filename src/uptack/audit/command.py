"""The audit as a command: `python -m uptack.audit`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from uptack.audit.battery import cases
from uptack.audit.broken import controls
from uptack.audit.run import run


def main(argv: Sequence[str] | None = None) -> int:
    """Audit all public mechanisms and print the report; 1 if a promise or a control fails, else 0."""
    parser = argparse.ArgumentParser(prog="uptack audit", description="Claimed against found, for every mechanism.")
    parser.add_argument("--draws", type=int, default=4000, help="answers on each of the two neighbours")
    parser.add_argument("--seed", type=int, default=0, help="the report depends on nothing else")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--only", metavar="NAME", help="cases with this in their names")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report as JSON")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the report as Markdown")
    given = parser.parse_args(argv)
    chosen = [case for case in (*cases(), *controls()) if given.only is None or given.only in case.name]
    if not chosen:
        parser.error(f"no case has {given.only!r} in its name")
    report = run(chosen, draws=given.draws, seed=given.seed, workers=given.workers)
    if given.json:
        given.json.write_text(json.dumps(report.to_dict(), indent=2, ensure_ascii=False))
    if given.markdown:
        given.markdown.write_text(report.to_markdown())
    sys.stdout.write(report.table() + "\n")
    return 0 if report.ok else 1
