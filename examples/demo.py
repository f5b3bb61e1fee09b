"""A private report of a bundled table: person-years of the RAND Health Insurance Experiment.

The randomness is the operating system's, so the figures differ from run to run.

    python examples/demo.py --out out
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from uptack.cli import main
from uptack.samples import path

EPSILON = "2"


def demo() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("out"), help="the folder of the report")
    folder = parser.parse_args().out
    folder.mkdir(parents=True, exist_ok=True)
    return main(
        ["report", str(path("health")), "--epsilon", EPSILON, "--target", "visits", "-o", str(folder / "report.html")]
    )


if __name__ == "__main__":
    sys.exit(demo())
