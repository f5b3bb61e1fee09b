"""The audit as a command: `python -m uptack.audit`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from uptack.audit.audit_run import run
from uptack.audit.battery import cases
from uptack.audit.broken_mechanisms import controls


def main(argv: Sequence[str] | None = None) -> int:
    """Audit all public mechanisms and print the report; 1 if anything is broken, missed or not covered, else 0."""
    parser = argparse.ArgumentParser(prog="uptack audit", description="Claimed against found, for every mechanism.")
    parser.add_argument("--draws", type=int, default=4000, help="answers on each of the two neighbours")
    parser.add_argument("--seed", type=int, default=0, help="the report depends on nothing else")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--only", metavar="NAME", help="cases with this in their names")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report as JSON")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the report as Markdown")
    given = parser.parse_args(argv)
    from uptack.audit.full_audit import whole  # all that is asked in replays: not to be loaded with the library

    chosen = [case for case in (*cases(), *controls()) if given.only is None or given.only in case.name]
    drawn = run(chosen, draws=given.draws, seed=given.seed, workers=given.workers)
    audit = whole(drawn, only=given.only)
    if not chosen and not audit.traces and not any(look.runs for look in audit.looks):
        parser.error(f"no case has {given.only!r} in its name")
    if given.json:
        given.json.write_text(json.dumps(audit.to_dict(), indent=2, ensure_ascii=False))
    if given.markdown:
        given.markdown.write_text(audit.to_markdown())
    sys.stdout.write(audit.table() + "\n")
    return 0 if audit.ok else 1
