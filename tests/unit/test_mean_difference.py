"""The difference of two means: what it estimates, what it costs, and that interval and p-value belong together."""

import re

import numpy as np
import pytest

import uptack as ut
from uptack.errors import InvalidArgument
from uptack.privacy.loss import Composed

GROUPS = {"groups": ("a", "b")}


def table(seed, first=2000, second=1500, shift=3.0):
    rng = np.random.default_rng(seed)
    ward = np.repeat(["a", "b"], [first, second])
    return 50 + rng.normal(np.where(ward == "a", shift, 0), np.where(ward == "a", 2, 6)), ward


@pytest.mark.parametrize("shift", [0.0, 3.0])
def test_intervals_cover_the_difference(shift):
    made = [
        ut.mean_difference(*table(seed, shift=shift), **GROUPS, epsilon=2, entropy=ut.SeededEntropy(seed))
        for seed in range(25)
    ]
    ends = np.array([one.interval(0.95) for one in made if one])
    assert len(ends) >= 24
    assert np.count_nonzero((ends[:, 0] <= shift) & (shift <= ends[:, 1])) >= 23
    assert np.median(ends[:, 1] - ends[:, 0]) < 2.5
    assert np.count_nonzero([one.noise.p_value < 0.05 for one in made if one]) <= 2 or shift


def test_the_p_value_is_that_of_the_interval():
    made = ut.mean_difference(*table(1, shift=0.35), **GROUPS, epsilon=4, entropy=ut.SeededEntropy(1))
    p = made.noise.p_value
    assert 1e-4 < p < 1
    for alpha, outside in ((p * 1.001, True), (p * 0.999, False)):
        low, high = made.interval(1 - alpha)
        assert (low > 0 or high < 0) == outside
    strong = ut.mean_difference(*table(1, shift=9), **GROUPS, epsilon=4, entropy=ut.SeededEntropy(1))
    assert strong.noise.p_value == 1e-4
    assert strong.notes[-1] == "Welch's test of equal means: p ≤ 0.0001."


def test_each_mean_costs_half():
    x, ward = table(2)
    for options in ({}, {"adjacency": ut.ADD_REMOVE}, {"public_labels": True}):
        made = ut.mean_difference(x, ward, **GROUPS, epsilon=2, **options)
        assert made.privacy.epsilon == pytest.approx(2)
        assert isinstance(made.loss, Composed)
        assert sum(float(part.epsilon) for part in made.loss.parts) == pytest.approx(2)


def test_few_rows_are_refused_for_free_and_orders_are_exchanged():
    refused = ut.mean_difference([1.0, 2.0, 3.0, 4.0], list("aabb"), **GROUPS, epsilon=1)
    assert not refused
    assert refused.privacy.epsilon == 0
    x, ward = table(3)
    one = ut.mean_difference(x, ward, groups=("a", "b"), epsilon=4, entropy=ut.SeededEntropy(1)).value
    other = ut.mean_difference(x, ward, groups=("b", "a"), epsilon=4, entropy=ut.SeededEntropy(1)).value
    assert one == pytest.approx(3, abs=1)
    assert other == pytest.approx(-3, abs=1)


def test_sessions_and_people_have_it():
    x, ward = table(4)
    session = ut.open({"x": np.append(x, np.nan), "ward": np.append(ward, "c")}, entropy=ut.SeededEntropy(1))
    assert session.mean_difference("x", "ward", **GROUPS, epsilon=3).value == pytest.approx(3, abs=1)
    people = np.arange(x.size)
    made = ut.mean_difference(np.repeat(x, 2), np.repeat(ward, 2), **GROUPS, epsilon=3, person=np.repeat(people, 2),
                              per_person="mean", entropy=ut.SeededEntropy(1))  # fmt: skip
    assert made.value == pytest.approx(3, abs=1)
    with pytest.raises(InvalidArgument, match="groups must be"):
        ut.mean_difference(x, ward, groups=("a",), epsilon=1)


def test_notes_and_refusals_name_the_group():
    x, ward = table(1)
    made = ut.mean_difference(x, ward, **GROUPS, epsilon=4, entropy=ut.SeededEntropy(1))
    assert re.search(r"about \d+ rows of a and \d+ rows of b at each end", made.notes[0])
    ward = np.where(np.arange(x.size) < 300, "b", "a")
    made = ut.mean_difference(x, ward, **GROUPS, epsilon=0.5, missing="drop", entropy=ut.SeededEntropy(1))
    assert made.privacy.epsilon > 0
    assert made.reason.startswith("group b: there are too few rows at this ε")
    assert re.search(r"at least [\d,]+ rows of group b with a value \(n·ε ≈", made.reason)
    people = np.arange(x.size)
    made = ut.mean_difference(x, ward, **GROUPS, epsilon=0.5, person=people, per_person="mean")
    assert re.search(r"at least [\d,]+ people of group b", made.reason)
