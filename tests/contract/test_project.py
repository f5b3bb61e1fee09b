"""What the project says about itself in several places agrees."""

import re
import tomllib
from pathlib import Path

import pytest

import uptack

ROOT = Path(__file__).parents[2]
CITATION = re.compile(
    r"(?:([A-Z]\w+) et al\.|([A-Z]\w+)(?:, [A-Z]\w+)* and [A-Z]\w+),? \(?((?:19|20)\d\d)\b",
)


def citations(text):
    """First authors and years of the papers that a text cites."""
    return {(one or first, year) for one, first, year in CITATION.findall(re.sub(r"\s+", " ", text))}


def test_the_version_is_in_one_place():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["hatch"]["version"]["path"] == "src/uptack/__init__.py"
    assert "version" not in (ROOT / "CITATION.cff").read_text("utf-8").replace("cff-version", "")


def test_the_changelog_has_the_version_and_what_comes_next():
    heads = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert heads[0] == "Unreleased"
    assert heads[1] == uptack.__version__


@pytest.mark.parametrize("folder", ["src", "docs"])
def test_what_is_cited_is_in_the_bibliography(folder):
    listed = (ROOT / "docs" / "bibliography.md").read_text("utf-8").splitlines()
    texts = [path for suffix in ("py", "md") for path in (ROOT / folder).rglob(f"*.{suffix}")]
    cited = set().union(*(citations(path.read_text("utf-8")) for path in texts))
    assert cited
    missing = {(name, year) for name, year in cited if not any(name in line and year in line for line in listed)}
    assert not missing


def test_the_test_sees_citations():
    assert citations("(Rogers, Roth, Ullman and Vadhan 2016) and Ding et\nal. 2021") == {
        ("Rogers", "2016"),
        ("Ding", "2021"),
    }
