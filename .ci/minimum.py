"""Prints the lowest version of every library that pyproject.toml allows, as constraints for pip.

Tools (pytest, ruff and the like) are left out: what matters is what uptack itself runs on.
"""

import re
import sys
import tomllib
from pathlib import Path

TOOLS = ("docs", "bench")
TOLD_APART = ("pandas", "polars")
"""Libraries that uptack reads but does not need: they are listed among the tests' own."""


def constraints(project: dict) -> list[str]:
    """name==version for each requirement with a lower bound."""
    extras = {name: lines for name, lines in project["optional-dependencies"].items() if name not in TOOLS}
    tests = [line for line in extras.pop("test") if line.startswith(TOLD_APART)]
    found = [*project["dependencies"], *tests, *(line for lines in extras.values() for line in lines)]
    bounds = (re.match(r"([A-Za-z0-9_-]+)(?:\[.*?\])?\s*>=\s*([0-9.]+)", line) for line in found)
    return sorted({f"{bound[1]}=={bound[2]}" for bound in bounds if bound})


if __name__ == "__main__":
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))["project"]
    sys.stdout.write("\n".join(constraints(project)) + "\n")
