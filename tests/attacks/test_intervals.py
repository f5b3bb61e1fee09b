"""Intervals of any confidence, of coefficients without a spread, of functions, and of people's fits."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import uptack
from uptack.errors import InvalidArgument
from uptack.noise import SeededEntropy
from uptack.papers.block_fits import CoefficientErrors, ScoreDraw
from uptack.regression.coefficients import LinearErrors
from uptack.regression.formulas import elementary

CONFIDENCES = ("1e-300", "1e-17", "0.5", "0.95", "0.999999999999", "0.99999999999999999", "0.9999999999999999999999")


@pytest.mark.filterwarnings("error")
def test_intervals_of_any_confidence() -> None:
    """No error of a solver: wider for a larger confidence, also where no finite width has it."""
    for blocks in (3, 50, 4000):
        errors = CoefficientErrors((1.0, 0.0), ScoreDraw(blocks, 2, 1, 1.0), ScoreDraw(blocks, 2, 1, 0.5))
        found = [errors.around(np.zeros(2), confidence)[1] for confidence in CONFIDENCES]
        assert all(b[0] >= a[0] > 0 == a[1] for a, b in itertools.pairwise(found))
        assert (found[-1][0] < math.inf) == (blocks > 50)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("drawn", [1, 2, 3, 100])
def test_intervals_of_coefficients_that_are_not_resolved(drawn: int) -> None:
    """They are infinite, also for no confidence at all."""
    told = LinearErrors((1.0, math.inf), (1,), True, "", (0.0, 1.0), (0.5, 0.0), (0.0, 0.0), drawn)
    found = [told.around(np.zeros(2), confidence)[1] for confidence in CONFIDENCES]
    assert all(b[0] >= a[0] > 0 and a[1] == math.inf for a, b in itertools.pairwise(found))


@pytest.mark.parametrize("seed", range(4))
def test_round_coordinates_of_people_are_the_same_in_memory(seed: int, tmp_path: Path) -> None:
    """Which row of a person tells the scale of a column hung on y where rows come in batches, and not in memory."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(2000, 2))
    table = pa.table({"a": x[:, 0], "b": x[:, 1], "y": x[:, 0] + rng.normal(size=2000), "who": np.arange(2000) % 300})
    pq.write_table(table, tmp_path / "t.parquet")
    asked = {"epsilon": 60, "coordinates": "scatter"}
    found = [
        repr(
            uptack.open(data, person="who", adjacency=uptack.ADD_REMOVE, entropy=SeededEntropy(5)).shortcut_regression(
                "y", ["a", "b"], **asked
            )
        )
        for data in (table, tmp_path / "t.parquet")
    ]
    assert found[0] == found[1]


def test_functions_are_as_near_as_they_say() -> None:
    """log10 was off by more than three units in the last place, and high powers by more than was said of them."""
    rng = np.random.default_rng(1)
    x = rng.uniform(2.5, 3.2, 2000)
    assert max(_units(elementary.log10(x), [Decimal(one).log10() for one in x.tolist()])) < 2.5
    x = np.exp(rng.uniform(-9, 9, 300))
    for power in (65, 66, -65, 7.5, -2.5):
        with np.errstate(all="ignore"):
            found = elementary.power(x, power)
        off = _units(found, [Decimal(one) ** Decimal(power) for one in x.tolist()])
        assert all(off <= abs(power) + 2 * np.abs(power * np.log(x)) + 2)


def _units(found: Any, exact: list[Decimal]) -> list[float]:
    """How far floats are from what they should be, in units of their last place."""
    both = zip(found.tolist(), exact, strict=True)
    return [float(abs(Decimal(one) - other) / Decimal(math.ulp(one))) for one, other in both]


def test_what_is_advised_where_blocks_are_too_few() -> None:
    """More rows, of which there were enough, would not have helped."""
    x = np.random.default_rng(0).normal(size=2000)
    refused = uptack.shortcut_regression(x, x, epsilon=2, blocks=5)
    assert isinstance(refused, uptack.NoReply)
    assert refused.advice.n is None
    blocks = int(refused.advice.other.split()[0])
    assert uptack.shortcut_regression(x, x + x**2, epsilon=2, blocks=blocks)


@pytest.mark.parametrize("classes", [(2, 2**53), (-(2**53) - 1, 0), (np.int64(2**62), 1), (0.0, 1e300)])
def test_classes_that_floats_do_not_tell_apart_are_refused(classes):
    """A function compared integers exactly, and a session as floats: 2^53 + 1 was 2^53 there."""
    table = {"a": np.arange(50.0), "y": [2, 2**53 + 1] * 25}
    for ask in (
        lambda: uptack.logistic_regression(table["a"][:, None], table["y"], epsilon=1, classes=classes),
        lambda: uptack.open(table).logistic_regression(formula="y ~ a", epsilon=1, classes=classes),
    ):
        with pytest.raises(InvalidArgument, match=r"^classes must be numbers below 2\^53"):
            ask()
