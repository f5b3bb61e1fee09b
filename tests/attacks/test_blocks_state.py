"""f is hostile: what it keeps or changes in one block must not reach another one."""

import os

import numpy as np
import pandas as pd
import pytest

from uptack.blocks.block_evaluation import accepting, evaluate

BLOCKS = [np.array([i]) for i in range(5)]


def results(f, data=None, kind="outcome", fallback=None, blocks=BLOCKS, **options):
    return evaluate(f, np.arange(5) if data is None else data, blocks, *accepting(kind, fallback), **options)


# --------------------------------------------------------------------------------------------------------------- state

SEEN: list = []


def global_state(rows):
    SEEN.append(1)
    return len(SEEN)


def default_state(rows, seen=[]):  # noqa: B006
    seen.append(1)
    return len(seen)


def attribute_state(rows):
    attribute_state.calls = getattr(attribute_state, "calls", 0) + 1
    return attribute_state.calls


def module_state(rows):
    np.uptack_calls = getattr(np, "uptack_calls", 0) + 1
    return np.uptack_calls


def environment_state(rows):
    os.environ["UPTACK_CALLS"] = os.environ.get("UPTACK_CALLS", "") + "x"
    return len(os.environ["UPTACK_CALLS"])


class Counts:
    def __init__(self):
        self.calls = 0

    def __call__(self, rows):
        self.calls += 1
        return self.calls


@pytest.mark.parametrize(
    "f",
    [global_state, default_state, attribute_state, module_state, environment_state, Counts()],
    ids=lambda f: getattr(f, "__name__", "object"),
)
@pytest.mark.parametrize("workers", [1, 2])
def test_no_state_survives_a_block(f, workers):
    assert results(f, workers=workers) == [1] * 5
    assert results(f, workers=workers) == [1] * 5


def test_no_state_survives_in_closures_and_random_numbers():
    calls = []

    def f(rows):
        calls.append(1)
        return len(calls), np.random.random()

    found = results(f)
    assert len(set(found)) == 1
    assert found[0][0] == 1


@pytest.mark.parametrize(
    "data",
    [
        [{"x": i, "tags": []} for i in range(5)],
        np.array([{"x": i, "tags": []} for i in range(5)], object),
        pd.Series([{"x": i, "tags": []} for i in range(5)]),
    ],
    ids=["list", "array", "pandas"],
)
@pytest.mark.parametrize("trusted", [True, False])
def test_rows_are_not_shared_between_blocks(data, trusted):
    def greedy(rows):
        for row in rows:
            row["x"] += 1
            row["tags"].append(1)
        return tuple((row["x"], len(row["tags"])) for row in rows)

    twice = [np.arange(5)] * 3
    assert len(set(results(greedy, data, blocks=twice, trusted=trusted))) == 1
    assert [(row["x"], row["tags"]) for row in data] == [(i, []) for i in range(5)]


def test_rows_that_are_shared_by_the_data_are_copied_one_by_one():
    row = {"x": 0}

    def f(rows):
        rows[0]["x"] = 1
        return rows[1]["x"]

    assert results(f, [row] * 5, blocks=[np.arange(2)]) == [0]
    assert row == {"x": 0}
