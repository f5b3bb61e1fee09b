"""Names, versions and sizes that a report must bear."""

import numpy as np

import uptack as ut
from uptack.report import profile, to_markdown, to_text

EVIL = "![x](https://e.org/a.png)<b>|"


def test_names_in_sentences_are_no_marks():
    rng = np.random.default_rng(1)
    table = {EVIL: rng.random(300), "*id*": np.arange(300) // 3}
    for options in ({}, {"person": "*id*"}):
        made = profile(ut.open(table, entropy=ut.SeededEntropy(3), **options), 0.5, 1e-6, title=EVIL)
        assert EVIL in to_text(made)
        written = to_markdown(made)
        assert not [mark for mark in ("![x]", "<b>", "https://", " *id*") if mark in written]
