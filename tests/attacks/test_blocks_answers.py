"""What comes back from f: plain values, also from fresh interpreters."""

import contextlib
import datetime as dt
import os
import threading
from decimal import Decimal
from enum import Enum, IntEnum
from fractions import Fraction
from functools import partial

import numpy as np
import polars as pl
import pytest

import uptack as ut
from uptack.blocks import process_isolation, stable_value, subsample_aggregate
from uptack.blocks.block_evaluation import accepting, evaluate
from uptack.mechanisms.stability import outcome

BLOCKS = [np.array([i]) for i in range(5)]


def results(f, data=None, kind="outcome", fallback=None, blocks=BLOCKS, **options):
    return evaluate(f, np.arange(5) if data is None else data, blocks, *accepting(kind, fallback), **options)


# -------------------------------------------------------------------------------------------------------------- answers


class Colour(Enum):
    RED = 1


class Level(IntEnum):
    LOW = 1


class Loads:
    """Runs code where it is unpickled."""

    def __hash__(self):
        return 1

    def __eq__(self, other):
        return True

    def __reduce__(self):
        return os._exit, (3,)


def test_only_plain_values_come_back():
    moment = dt.datetime(2024, 5, 1, 12, tzinfo=dt.timezone(dt.timedelta(hours=2)))
    given = [
        *(None, True, 2**5000, -1.5, float("inf"), "\ud800 text", b"\x00", Decimal("1.500"), Decimal("-0.00")),
        *(Fraction(1, 3), moment, dt.date(2024, 1, 1), dt.time(1, 2), dt.timedelta(-1, 5), Level.LOW),
        *((1, ("a",)), frozenset({1, "a"}), np.str_("x")),
        *(Loads(), Colour.RED, object, len, (Loads(),), dt.time(tzinfo=dt.UTC)),
    ]
    found = results(lambda rows: given[rows[0]], np.arange(len(given)), blocks=np.arange(len(given))[:, None])
    assert found[:18] == [outcome(value) for value in given[:18]]
    plain = (type(None), str, tuple, dt.time)  # what has no plain form of its own is its text
    assert {type(value) for value in found[18:]} <= set(plain)
    assert [str(found[7]), str(found[8]), found[10].tzinfo] == ["1.5", "0", dt.UTC]
    assert {type(one) for one in found[:18]} == {
        *(type(None), bool, int, float, str, bytes, dt.datetime, dt.date, dt.time, dt.timedelta),
        *(tuple, frozenset),
    }


def test_forged_answers_stay_within_their_block(capfd):
    forged = [b"\x00" * 7 + b"\x05tnull", b"\xff" * 90, b"\x00" * 7 + b"\x02v1", b"x", b"\x00" * 7 + b"\x02t7"]

    def f(rows):
        for fd in range(60):
            with contextlib.suppress(OSError):
                os.write(fd, forged[rows[0]])
        os._exit(0)

    assert results(f, fallback="failed") == [None, *["failed"] * 4]
    assert results(f, fallback="failed", blocks=BLOCKS[3:]) == ["failed"] * 2
    assert capfd.readouterr() == ("", "")


def test_what_an_aggregate_returns_is_not_shown():
    with pytest.raises(ut.InvalidArgument) as caught:
        subsample_aggregate(np.mean, np.full(50, 1234.5), blocks=9, epsilon=1, aggregate=np.median, trusted=True)
    assert "1234" not in str(caught.value)


# -------------------------------------------------------------------------------------------------- fresh interpreters


SEEN: list = []


def first(rows):
    SEEN.append(1)
    return int(rows["x"][0]), len(SEEN), rows.group_by("x").len().height


def test_polars_after_its_threads_have_started():
    frame = pl.DataFrame({"x": range(5)})
    frame.lazy().group_by("x").agg(pl.len()).collect()
    assert results(first, frame) == [(i, 1, 1) for i in range(5)]
    with pytest.raises(ut.InvalidArgument, match="fresh Python"):
        results(partial(len, threading.Lock()), frame)


def test_without_fork(monkeypatch):
    def f(rows):
        if rows[0] == 1:
            os._exit(0)
        f.calls = getattr(f, "calls", 0) + 1
        return int(rows[0]), f.calls

    monkeypatch.setattr(process_isolation, "FORKS", False)
    monkeypatch.setattr("uptack.blocks.block_evaluation.FORKS", False)
    assert results(f, blocks=BLOCKS[:3], workers=3) == [(0, 1), None, (2, 1)]
    with pytest.raises(ut.InvalidArgument, match="fresh Python"):
        results(partial(len, threading.Lock()))


class Unloadable:
    def __reduce__(self):
        return int, ("no number",)


def test_rows_that_can_not_be_sent_are_the_fallback(monkeypatch):
    job = process_isolation.Job(len, [Unloadable()].copy)
    assert list(process_isolation.apart([job, process_isolation.Job(bytes, [1].copy)], fresh=True)) == [None, b"\x01"]


def test_stable_values_are_what_they_were():
    rows = [{"x": 7}] * 700
    made = stable_value(lambda block: block[0]["x"], rows, epsilon=4, delta=1e-6, entropy=ut.SeededEntropy(1))
    assert made.value == 7
