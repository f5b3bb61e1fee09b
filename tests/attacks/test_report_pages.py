"""Names, versions and sizes that a report must bear."""

import subprocess
import sys

import numpy as np
import pytest

import uptack as ut
from uptack.report import profile, to_markdown, to_text
from uptack.report.sections.regression import Coefficient, on_scale

EVIL = "![x](https://e.org/a.png)<b>|"


def test_names_in_sentences_are_no_marks():
    rng = np.random.default_rng(1)
    table = {EVIL: rng.random(300), "*id*": np.arange(300) // 3}
    for options in ({}, {"person": "*id*"}):
        made = profile(ut.open(table, entropy=ut.SeededEntropy(3), **options), 0.5, 1e-6, title=EVIL)
        assert EVIL in to_text(made)
        written = to_markdown(made)
        assert not [mark for mark in ("![x]", "<b>", "https://", " *id*") if mark in written]


@pytest.mark.parametrize("size", [5e-324, 1e-310, 1.2e308, 1.7e308])
def test_coefficients_that_no_scale_holds_are_not_drawn(size):
    found = on_scale([Coefficient("x", size, (0.0, size))], [(0.0, size, size)], "unit")
    assert found.ticks == []
    assert found.rows[0].low is None


def test_a_command_that_ends_says_nothing_of_its_engine(tmp_path):
    table = tmp_path / "ages.csv"
    table.write_text("age\n" + "".join(f"{20 + i % 50}\n" for i in range(300)))
    command = [sys.executable, "-m", "uptack", "median", str(table), "age", "--epsilon", "1", "--type", "age=integer"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0
    assert "leaked" not in ended.stderr
