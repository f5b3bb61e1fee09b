"""The audit as a command: `python -m uptack.audit`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path


def main(argv: Sequence[str] | None = None) -> int:
    """Audit everything and print the report; 1 if anything is broken, missed or not covered, else 0."""
    parser = argparse.ArgumentParser(prog="uptack audit", description="Replay, price and draws of every release.")
    parser.add_argument("--only", metavar="NAME", help="scenarios, laws and faults with this in their names")
    parser.add_argument("--workers", type=int, help="processes; as many as there are cores by default")
    parser.add_argument("--state", type=Path, metavar="FILE", help="keep what is done, and go on from there")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report as JSON")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the report as Markdown")
    given = parser.parse_args(argv)
    from uptack.audit.audit_run import run, tasks  # the catalogue: not to be loaded with the library

    if not tasks(given.only):
        parser.error(f"nothing has {given.only!r} in its name")
    audit = run(given.only, workers=given.workers, state=given.state)
    if given.json:
        given.json.write_text(json.dumps(audit.to_dict(), indent=2, ensure_ascii=False))
    if given.markdown:
        given.markdown.write_text(audit.to_markdown())
    sys.stdout.write(audit.table() + "\n")
    return 0 if audit.ok else 1
