"""Private reports of two bundled tables, and the words that say whose privacy each of them keeps.

`health` are person-years of the RAND Health Insurance Experiment. It has no ids, so each person-year is protected.
`visits` are visits to an invented clinic, with a column that says whose they are, so each person is, with all visits.
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
    tables = {
        "report.html": ("health", ["--target", "visits", "--noun", "person-year"]),
        "people.html": ("visits", ["--person", "patient_id"]),
    }
    codes = []
    for file, (name, options) in tables.items():
        print(f"\n{name}: uptack report {name}.csv --epsilon {EPSILON} {' '.join(options)}\n")
        codes.append(main(["report", str(path(name)), "--epsilon", EPSILON, *options, "-o", str(folder / file)]))
    return max(codes)


if __name__ == "__main__":
    sys.exit(demo())
