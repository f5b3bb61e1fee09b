"""One declaration per release function: what follows from it, and that nothing is left out."""

import functools
import inspect
import itertools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import uptack as ut
from uptack.cli.release_commands import commands
from uptack.errors import InvalidArgument, UnknownOption
from uptack.privacy import Privacy
from uptack.registry import declared, find, in_tables, names, of_columns, release
from uptack.registry.options import KNOWN, unpacked_keys
from uptack.session.session import SessionColumn

ROOT = Path(__file__).parents[2]
ALL = declared()
SIZES = {"epsilon", "delta", "eps"}


@pytest.mark.parametrize("name", ALL)
def test_it_says_what_it_is(name):
    text = ALL[name].function.__doc__ or ""
    assert "Theorem" in text or "private" in text or "see" in text.lower(), "a release states its guarantee"
    assert ALL[name].public.__wrapped__, "it runs behind the rim"
    assert SIZES & set(ALL[name].allowed) or name == "R_H"


@pytest.mark.parametrize("name", [name for name, one in ALL.items() if one.plan or one.spends])
def test_a_plan_does_not_depend_on_a_secret_number_of_rows(name):
    declaration, relation = ALL[name], ut.ADD_REMOVE
    for example, people in itertools.product(declaration.examples, (False, True)):
        cost = Privacy(1, example.get("delta", 0), relation.by_person("id") if people else relation)
        for made in filter(None, (declaration.plan, declaration.spends)):
            assert len({repr(made({**example, "epsilon": 1}, cost, rows)) for rows in (30, 1000, 50_000)}) == 1


@pytest.mark.parametrize("name", [name for name, one in ALL.items() if in_tables(one)])
def test_what_reads_tables_is_in_sessions_and_on_the_command_line(name):
    declaration = ALL[name]
    command = commands()[(declaration.also or name).replace("_", "-")]
    taken = {p.name for p in command.params}
    wanted = {o.name for o in declaration.options if o.form != "object"}
    assert wanted <= taken
    assert {"epsilon", "adjacency", "rows_per_person", "entropy"} <= set(declaration.allowed)
    if of_columns(declaration):
        assert name in dir(SessionColumn(None, "x"))
    else:
        assert hasattr(ut.open({"x": [1.0]}), declaration.also or name)


@pytest.mark.parametrize("name", ALL)
def test_an_option_that_it_has_not_is_refused_by_name(name):
    declaration = ALL[name]
    if unpacked_keys(declaration.function) == ():
        return
    with pytest.raises(UnknownOption, match="colour"):
        declaration.public(*[None] * len(declaration.data), colour="red")
    with pytest.raises(TypeError):
        declaration.public(*[None] * len(declaration.data), colour="red")


def test_every_shared_option_is_used_and_described():
    used = {option.name for one in ALL.values() for option in one.options}
    assert set(KNOWN) <= used
    assert all(option.help for option in KNOWN.values())


def test_public_release_functions_are_declared():
    """Whatever returns a Release, in a public list of names, has a declaration."""
    missing = []
    for room in ("statistics", "discrete", "densities", "regression", "blocks", "kernels", "mechanisms", "papers"):
        module = getattr(ut, room)
        for name in module.__all__:
            thing = getattr(module, name)
            gives = str(inspect.signature(thing).return_annotation) if inspect.isfunction(thing) else ""
            if re.search(r"\bRelease\[|NoReply", gives) and not hasattr(thing, "declaration"):
                missing.append(f"{room}.{name}")
    assert not missing


def test_unknown_statistics_are_named():
    with pytest.raises(InvalidArgument, match="Did you mean 'median'"):
        find("mediam")


def test_a_function_of_ones_own_is_guarded(monkeypatch):
    monkeypatch.setattr(names, "_DECLARED", {})  # it is for this test alone

    def clumsy(x, *, epsilon):
        """It is not private: it shows a row."""
        raise ValueError(f"row {x[0]} is odd")

    public = release()(clumsy)
    with pytest.raises(ut.UptackError) as caught:
        public([4711], epsilon=1)
    assert "4711" not in str(caught.value)
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None


def _own(module, name="own"):
    def own(x, *, epsilon):
        """It is not private."""

    own.__module__, own.__name__ = module, name
    return own


def test_a_name_belongs_to_one_module(monkeypatch):
    monkeypatch.setattr(names, "_DECLARED", dict(names._DECLARED))
    release(also="short")(_own("one"))
    again = release(also="short")(_own("one"))  # a module that is loaded again
    for taken in (_own("two"), _own("two", "short"), _own("two", "median"), _own("two", "regression")):
        with pytest.raises(InvalidArgument, match=r"two\.\w+ must be new, got .*, which (one|uptack)\."):
            release()(taken)
    for also in ("own", "short", "median"):
        with pytest.raises(InvalidArgument, match=also):
            release(also=also)(_own("two", "other"))
    assert find("own").public is find("short").public is again
    assert find("median").public is ut.median


def _installed(folder):
    """The example package as an installer would leave it in a folder."""
    source = ROOT / "examples" / "own_statistic"
    shutil.copy(source / "midrange_of_quarters.py", folder)
    info = folder / "own_statistic-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: own-statistic\nVersion: 0.1\n")
    lines = (source / "pyproject.toml").read_text()
    (point,) = re.findall(r'^(midrange_of_quarters) = "(.*)"$', lines, re.M)
    (info / "entry_points.txt").write_text(f"[uptack.statistics]\n{point[0]} = {point[1]}\n")


SCRIPT = """
import numpy as np, uptack as ut
from uptack.session import Request
session = ut.open({"x": np.arange(10_001)}, entropy=ut.SeededEntropy(1))
print(round(session["x"].midrange_of_quarters(epsilon=1).value, -2))
print(session.plan([Request("midrange_of_quarters", "x", epsilon=1)]))
"""


def test_a_package_of_ones_own_gets_session_plan_and_command(tmp_path):
    _installed(tmp_path)
    np.savetxt(tmp_path / "table.csv", np.arange(10_001), header="x", comments="", fmt="%d")
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT / 'src'}"}
    run = {"capture_output": True, "text": True, "env": env, "cwd": tmp_path, "check": True}
    said = subprocess.run([sys.executable, "-c", SCRIPT], **run).stdout
    assert said.startswith("5000.0\nmidrange_of_quarters of x")
    words = ["midrange-of-quarters", "table.csv", "x", "--type", "x=integer", "--epsilon", "1", "--json"]
    assert '"reply": true' in subprocess.run([sys.executable, "-m", "uptack", *words], **run).stdout


def test_a_function_that_is_dressed_up_as_ours_does_not_get_its_name(monkeypatch):
    monkeypatch.setattr(names, "_DECLARED", dict(names._DECLARED))

    @functools.wraps(ut.median)
    def own(x, *, epsilon):
        return max(x)

    with pytest.raises(InvalidArgument, match="median"):
        release()(own)
    assert find("median").public is ut.median
