"""Imports point one way (data flow source → reach → engine → release → reader)."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src" / "uptack"
GROUND = {"errors", "exact", "checks", "labels"}
BASE = {"noise", "privacy", "release", "account", "registry", "columns", "reach", "mechanisms"}
SHOWN = {"display"}
ALLOWED = {
    "errors": set(),
    "exact": set(),
    "labels": set(),
    "checks": {"errors", "exact"},
    "table": None,
    "columns": GROUND | {"table"},  # what data look like
    "noise": GROUND,  # nothing of ours but the ground
    "privacy": GROUND,  # no data, no randomness
    "noisy_size": GROUND | SHOWN,
    "release": GROUND | SHOWN | {"noisy_size", "privacy"},
    "account": GROUND | {"noise", "noisy_size", "privacy", "release"},
    "registry": GROUND | {"privacy", "columns", "data"},
    "reach": GROUND | {"columns"},
    "mechanisms": GROUND | {"noise", "privacy", "release", "registry", "reach", "columns"},
    "statistics": GROUND | BASE | SHOWN | {"data"},
    "papers": GROUND | BASE | {"statistics", "regression", "blocks", "progress"},
    "progress": set(),
    "plot_axes": {"errors", "labels"},
    "shown": GROUND,  # for people: released values and public numbers
    "data": GROUND | {"noise", "columns", "progress"},
    "discrete": GROUND | SHOWN | {"noise", "privacy", "release", "registry", "columns", "mechanisms"},
    "groups": GROUND | SHOWN | {"noise", "privacy", "release", "registry", "columns", "discrete", "progress"},
    "limits": GROUND | {"discrete"},
    "random_dp": GROUND | BASE | {"blocks"},
    "multivariate": GROUND | BASE | SHOWN | {"blocks", "statistics", "progress"},
    "regression": GROUND | BASE | SHOWN | {"blocks", "discrete", "statistics", "multivariate", "progress"},
    "ranks": GROUND | BASE | SHOWN | {"statistics", "progress"},
    "blocks": GROUND | BASE | {"statistics", "progress"},
    "kernels": GROUND | BASE | SHOWN | {"statistics"},
    "densities": GROUND | BASE | {"statistics", "kernels"},
    "ledger": GROUND | SHOWN | {"privacy"},
    "session": GROUND | BASE | SHOWN | {"data", "discrete", "groups", "ledger", "statistics", "progress"} | {"report"},
    # `Session.report` is `uptack.report`, imported when it is called
    "report": (GROUND | SHOWN)
    | {"columns", "data", "kernels", "mechanisms", "privacy", "release", "session", "statistics", "progress"},
    "samples": {"errors"},
    "influence": GROUND | {"reach", "registry", "statistics", "plot_axes"},
    "audit": None,  # attacks everything
    "cli": None,  # commands for everything
    "__main__": {"cli"},
    "__init__": set(),  # the list of public names
}


def layer(path: Path) -> str:
    return path.relative_to(SRC).parts[0].removesuffix(".py")


def imported_layers(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found |= {node.module} if node.module != "uptack" else {f"uptack.{alias.name}" for alias in node.names}
    return {name.split(".")[1] for name in found if name.startswith("uptack.")}


@pytest.mark.parametrize("path", sorted(SRC.rglob("*.py")), ids=lambda p: str(p.relative_to(SRC)))
def test_imports_point_one_way(path):
    allowed = ALLOWED[layer(path)]
    if allowed is not None:
        assert imported_layers(path) - {layer(path), "table"} <= allowed


def test_the_test_sees_imports():
    assert imported_layers(SRC / "mechanisms" / "additive_noise.py") >= {"noise", "privacy", "release"}


NEEDLESS = (
    *("ibis", "sqlglot", "pandas", "polars", "scipy", "matplotlib", "sklearn", "statsmodels", "formulaic"),
    *("dp_accounting", "sqlalchemy", "pyspark", "rich", "uptack.regression", "uptack.multivariate", "uptack.ranks"),
    *("uptack.blocks", "uptack.papers", "uptack.random_dp", "uptack.audit", "uptack.ledger", "uptack.influence"),
    *(
        "uptack.cli.describe_command",
        "uptack.cli.init_command",
        "uptack.cli.explain_command",
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
    assert "Left out" not in ended.stdout  # so all figures have been made
