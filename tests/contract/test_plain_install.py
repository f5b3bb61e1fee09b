"""A plain install does the main job: what `dependencies` of pyproject.toml bring is enough for files and reports."""

import contextlib
import importlib.metadata as metadata
import subprocess
import sys
import tomllib
from pathlib import Path

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
BLOCK = """
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ImportError(f"{name} is not installed")
sys.meta_path.insert(0, Block())
sys.path.insert(0, SRC)
"""


def brought(lines, extras=frozenset()):
    """The distributions that requirements bring, and those that these bring."""
    found, waiting = set(), [(line, extras) for line in lines]
    while waiting:
        line, wanted = waiting.pop()
        need = Requirement(line)
        fits = need.marker is None or any(need.marker.evaluate({"extra": one}) for one in (wanted or {""}))
        key = canonicalize_name(need.name), frozenset(need.extras)
        if fits and key not in found:
            found.add(key)
            with contextlib.suppress(metadata.PackageNotFoundError):  # for another system
                waiting += [(line, need.extras) for line in metadata.requires(need.name) or []]
    return {name for name, _ in found}


def blocked():
    """The modules that are installed here and would not be with uptack alone."""
    core = brought(PROJECT["dependencies"])
    homes = metadata.packages_distributions()
    return {module for module, dists in homes.items() if not core & set(map(canonicalize_name, dists))} - {"uptack"}


def run(code):
    head = f"BLOCKED = {sorted(blocked())!r}\nSRC = {str(ROOT / 'src')!r}\n" + BLOCK
    return subprocess.run([sys.executable, "-W", "ignore", "-c", head + code], capture_output=True, text=True)


def test_extras_are_names_and_their_modules_are_known():
    assert {"matplotlib", "sklearn", "pyspark", "polars", "statsmodels"} & set(
        metadata.packages_distributions()
    ) <= blocked()
    assert not {"numpy", "pyarrow", "duckdb", "ibis", "click"} & blocked()


def test_reports_of_files_need_no_extra(tmp_path):
    table = pa.table({"age": [20 + i % 60 for i in range(400)], "ward": [["A", "B"][i % 2] for i in range(400)]})
    rows = "".join(
        f"{age},{ward}\n" for age, ward in zip(*(column.to_pylist() for column in table.columns), strict=True)
    )
    (tmp_path / "rows.csv").write_text("age,ward\n" + rows)
    pq.write_table(table, tmp_path / "rows.parquet")
    feather.write_feather(table, tmp_path / "rows.arrow")
    code = f"""
from uptack.cli import main
assert main(["report", "{tmp_path}/rows.csv", "-e", "2", "--columns", "ward", "-o", "{tmp_path}/report.html"]) == 0
assert main(["init", "{tmp_path}/rows.csv", "--yes", "-e", "2"]) == 0
for name in ("rows.csv", "rows.parquet", "rows.arrow"):
    assert main(["median", f"{tmp_path}/{{name}}", "age", "-e", "2"]) == 0
"""
    made = run(code)
    assert made.returncode == 0, made.stderr
    assert "<!doctype html>" in (tmp_path / "report.html").read_text("utf-8")


def test_importing_uptack_imports_no_engine():
    wanted = "('duckdb', 'pyarrow', 'ibis', 'pandas', 'sqlalchemy', 'matplotlib', 'sklearn')"
    made = run(f"import uptack, uptack.table, uptack.session\nprint([m for m in {wanted} if m in sys.modules])")
    assert made.stdout.strip() == "[]", made.stdout + made.stderr
