"""Imports point one way (data flow source → reach → engine → release → reader)."""

import ast
import graphlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src" / "uptack"
GROUND = {"errors", "exact", "checks", "interrupts", "labels", "progress"}
KERNEL = {"noise", "privacy", "release", "account", "registry", "table", "reach", "mechanisms"}
FITS = GROUND | KERNEL | {"statistics", "blocks", "display", "grouping"}
ALLOWED = {
    "errors": set(),
    "exact": set(),
    "interrupts": {"errors"},
    "labels": set(),
    "progress": set(),
    "checks": {"errors", "exact"},
    "table": GROUND,  # where rows are: no noise, no privacy, no release
    "noise": GROUND,  # nothing of ours but the ground
    "privacy": GROUND,  # no data, no randomness
    "registry": GROUND | {"privacy"},  # declarations, options and the guard: no data
    "display": GROUND,  # for people: released values and public numbers
    "release": GROUND | {"display", "privacy"},
    "account": GROUND | {"noise", "privacy", "release"},
    "reach": GROUND | {"table"},
    "mechanisms": GROUND | KERNEL,
    "discrete": GROUND | KERNEL | {"display", "grouping"},
    "grouping": GROUND | KERNEL | {"display", "discrete"},
    "statistics": GROUND | KERNEL | {"display", "grouping"},
    "blocks": GROUND | KERNEL | {"statistics"},
    "multivariate": FITS,
    "regression": FITS | {"discrete", "multivariate"},
    "ranks": FITS,
    "synthesis": GROUND | KERNEL | {"display"},
    "kernels": FITS | {"multivariate", "regression"},
    "densities": FITS | {"kernels"},
    "papers": FITS | {"multivariate", "regression"},
    "random_dp": GROUND | KERNEL | {"blocks"},
    "limits": GROUND | {"discrete"},
    "influence": GROUND | {"display", "reach", "registry", "statistics", "regression"},
    "ledger": GROUND | {"display", "privacy"},
    "session": GROUND | KERNEL | {"discrete", "display", "grouping", "ledger", "statistics"},
    "report": GROUND | KERNEL | {"discrete", "display", "kernels", "session", "statistics"},
    # requests and answers as JSON, and as people type them
    "wire": GROUND | {"display", "privacy", "registry", "session", "table"},
    "client": GROUND | {"display", "noise", "privacy", "registry", "release", "session", "table", "wire"},
    "server": GROUND | KERNEL | {"display", "kernels", "ledger", "report", "session", "wire"},
    "samples": {"errors"},
    "audit": None,  # attacks everything
    "cli": None,  # commands for everything
    "__main__": {"cli"},
    "__init__": {"registry", "statistics", "regression"},  # what is declared there is public; hints for other names
}
WHEN_CALLED = {("session", "report")}
"""Imports of a function that are made when it is called: `Session.report` is `uptack.report`."""


def layer(path: Path) -> str:
    return path.relative_to(SRC).parts[0].removesuffix(".py")


def imported(node: ast.AST) -> set[str]:
    """The modules that a statement imports, also by a name in a string."""
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names}
    if isinstance(node, ast.ImportFrom):
        assert node.level == 0, "relative import"
        return {node.module} if node.module != "uptack" else {f"uptack.{alias.name}" for alias in node.names}
    if isinstance(node, ast.Call) and "import_module" in ast.unparse(node.func):
        return {part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str)}
    return set()


def imported_layers(path: Path) -> set[str]:
    found = {name for node in ast.walk(ast.parse(path.read_text())) for name in imported(node)}
    return {name.split(".")[1] for name in found if name.startswith("uptack.")}


def test_imports_point_one_way():
    wrong = set()
    for path in SRC.rglob("*.py"):
        if (allowed := ALLOWED[layer(path)]) is not None:
            others = imported_layers(path) - {layer(path)} - allowed
            wrong |= {
                (path.name, *pair) for pair in ((layer(path), other) for other in others) if pair not in WHEN_CALLED
            }
    assert not wrong


def test_rooms_have_an_order():
    """Whoever is above may import whoever is below, and no room is above itself, but for what is said in so many
    words."""
    arrows = {room: (allowed or set()) & ALLOWED.keys() for room, allowed in ALLOWED.items()}
    used = {room: set() for room in arrows}
    for path in SRC.rglob("*.py"):
        used[layer(path)] |= imported_layers(path) - {layer(path)}
    used["discrete"] -= {"grouping"}  # counts are asked per group, and unknown groups are counted
    used["session"] -= {"report"}
    graphlib.TopologicalSorter(used).prepare()


def test_the_test_sees_imports():
    assert imported_layers(SRC / "mechanisms" / "additive_noise.py") >= {"noise", "privacy", "release"}
    assert imported(ast.parse("importlib.import_module('uptack.grouping')").body[0].value) == {"uptack.grouping"}


NEEDLESS = (
    *("ibis", "sqlglot", "pandas", "polars", "scipy", "matplotlib", "sklearn", "statsmodels", "formulaic"),
    *("sqlalchemy", "pyspark", "rich", "uptack.regression", "uptack.multivariate", "uptack.ranks"),
    *("uptack.blocks", "uptack.papers", "uptack.random_dp", "uptack.audit", "uptack.ledger", "uptack.influence"),
    *(
        "uptack.cli.schema_commands",
        "uptack.cli.release_commands",
        "uptack.table.csv.inspector",
    ),
    *(
        "uptack.kernels.kernel",
        "uptack.kernels.machine_release",
        "uptack.kernels.spectral_release",
        "uptack.densities.kernel_density",
    ),
    *("webbrowser", "tomllib", "tomlkit"),
)
"""What takes long to import, and is needed for other commands, other engines and other figures."""
ONLY_CSV = ["concurrent.futures", "pyarrow.compute", "pyarrow.csv", "pyarrow.parquet"]
"""What reads and copies files of text, and is not needed for others."""
REPORTS = """
import sys
from uptack.cli import main
for form in ("parquet", "csv"):
    code = main(["report", f"{sys.argv[1]}.{form}", "--epsilon", "20", "-o", f"{sys.argv[1]}.html"])
    print(form, code, sorted(set(sys.argv[2:]) & set(sys.modules)))
"""


def test_reports_of_files_load_what_they_need(tmp_path):
    """Imports are most of the time that a report of a small file takes."""
    duckdb, path = pytest.importorskip("duckdb"), tmp_path / "rows"
    made = "SELECT i AS n, i / 7 AS x, i % 2 = 0 AS b, 'ward ' || i % 3 AS t FROM range(4000) AS rows(i)"
    for form in ("parquet", "csv"):
        duckdb.execute(f"COPY ({made}) TO '{path}.{form}'")
    command, places = [sys.executable, "-c", REPORTS, str(path), *NEEDLESS, *ONLY_CSV], {"PYTHONPATH": str(SRC.parent)}
    ended = subprocess.run(command, capture_output=True, text=True, env=os.environ | places)
    assert {"parquet 0 []", f"csv 0 {ONLY_CSV}"} <= set(ended.stdout.splitlines()), ended.stdout + ended.stderr
    assert "Not computed" not in ended.stdout  # so all figures have been made
