"""f is hostile: what it keeps, changes, breaks or says in one block must not reach another one, nor whoever waits."""

import contextlib
import ctypes
import datetime as dt
import logging
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from decimal import Decimal
from enum import Enum, IntEnum
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest

import uptack as ut
from uptack.aggregate import isolation, stable_value, subsample_aggregate
from uptack.aggregate.blocks import accepting, evaluate

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
    "f", [global_state, default_state, attribute_state, module_state, environment_state, Counts()], ids=repr
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


# ------------------------------------------------------------------------------------------------------------- failures


class Panic(BaseException):
    """As polars' PanicException."""


def crash(rows):
    ctypes.string_at(0)


def deep(rows):
    return deep(rows)


def raising(error):
    def f(rows):
        raise error

    return f


def killed(rows):
    os.kill(os.getpid(), signal.SIGKILL)


def no_keeper(rows):
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(1)


def in_a_thread(rows):
    threading.Thread(target=lambda: os._exit(0)).start()
    time.sleep(60)


def no_way_out(rows):
    os._exit = lambda code: None
    sys.exit = os._exit
    raise SystemExit


@pytest.mark.parametrize(
    "f",
    [
        *map(raising, (Panic(), KeyboardInterrupt(), GeneratorExit(), SystemExit(0), MemoryError())),
        *(crash, deep, killed, no_keeper, in_a_thread, no_way_out, lambda rows: os._exit(0), lambda rows: os.abort()),
    ],
)
def test_whatever_f_does_is_the_fallback(f, capfd):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = results(lambda rows: f(rows) if rows[0] == 2 else int(rows[0]), fallback="failed")
    assert found == [0, 1, "failed", 3, 4]
    assert capfd.readouterr() == ("", "")


def test_a_panic_of_polars_is_the_fallback(capfd):
    def f(rows):
        raise pl.exceptions.PanicException("a person's row")

    assert results(f, fallback="failed") == ["failed"] * 5
    assert results(f, fallback="failed", trusted=True) == ["failed"] * 5
    assert capfd.readouterr() == ("", "")


def test_a_block_that_takes_too_long_is_the_fallback():
    def f(rows):
        while rows[0] in (1, 3):
            time.sleep(60)
        return int(rows[0])

    assert results(f, timeout="0.5", workers=2) == [0, None, 2, None, 4]


def test_processes_that_f_leaves_behind_are_ended():
    def f(rows):
        if pid := os.fork():
            return pid
        time.sleep(600)

    (pid,) = results(f, blocks=BLOCKS[:1])
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            break
        time.sleep(0.1)
    else:
        pytest.fail("it lives on")


def test_a_copy_of_the_process_that_f_makes_adds_no_results():
    def f(rows):
        os.fork()
        return int(rows[0])

    assert results(f) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("options", [{}, {"trusted": True}])
def test_nothing_is_said(options, capfd):
    def f(rows):
        if not options:
            print("a row")
            print("a row", file=sys.stderr, flush=True)
            os.write(1, b"a row")
            os.system("echo a row")
            logging.getLogger().error("a row")
        warnings.warn("a row", stacklevel=1)
        np.float64(1) / np.zeros(1)
        return 1

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert results(f, **options) == [1] * 5
    assert not caught
    assert capfd.readouterr() == ("", "")


def test_handlers_of_this_process_are_not_run_in_another(tmp_path):
    path = tmp_path / "handled"
    before = signal.signal(signal.SIGUSR1, lambda *_: path.write_text("handled"))
    try:
        assert results(lambda rows: os.kill(os.getpid(), signal.SIGUSR1), fallback="failed") == ["failed"] * 5
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert not path.exists()


def test_a_real_interruption_still_interrupts_and_leaves_nothing_running(tmp_path):
    script = tmp_path / "waits.py"
    script.write_text(
        textwrap.dedent(
            f"""
            import os, signal, threading, time
            import numpy as np
            from uptack.aggregate import subsample_aggregate

            def f(rows):
                with open({str(tmp_path / "pids")!r}, "a") as file:
                    print(os.getpid(), file=file, flush=True)
                time.sleep(600)

            def interrupt():
                while not os.path.exists({str(tmp_path / "pids")!r}):
                    time.sleep(0.05)
                os.kill(os.getpid(), signal.SIGINT)

            threading.Thread(target=interrupt, daemon=True).start()
            subsample_aggregate(f, np.arange(900.0), blocks=900, epsilon=1)
            """
        )
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120)
    assert "KeyboardInterrupt" in done.stderr
    for pid in map(int, (tmp_path / "pids").read_text().split()):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_from_many_threads_at_once():
    found = [None] * 6

    def run(i):
        found[i] = results(lambda rows: int(rows[0]) + 10 * i, workers=2)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[10 * i + k for k in range(5)] for i in range(6)]


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
    assert found[:18] == [*given[:14], 1, *given[15:18]]
    assert found[18:] == [None] * 6
    assert [str(found[7]), str(found[8]), found[10].tzinfo] == ["1.5", "0", dt.UTC]
    assert {type(one) for one in found[:18]} == {
        *(type(None), bool, int, float, str, bytes, Decimal, Fraction, dt.datetime, dt.date, dt.time, dt.timedelta),
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


def first(rows):
    SEEN.append(1)
    return int(rows["x"][0]), len(SEEN), rows.group_by("x").len().height


def test_polars_after_its_threads_have_started():
    frame = pl.DataFrame({"x": range(5)})
    frame.lazy().group_by("x").agg(pl.len()).collect()
    assert results(first, frame) == [(i, 1, 1) for i in range(5)]
    with pytest.raises(ut.InvalidArgument, match="fresh Python"):
        results(raising(threading.Lock()), frame)


def test_without_fork(monkeypatch):
    def f(rows):
        if rows[0] == 1:
            os._exit(0)
        f.calls = getattr(f, "calls", 0) + 1
        return int(rows[0]), f.calls

    monkeypatch.setattr(isolation, "FORKS", False)
    monkeypatch.setattr("uptack.aggregate.blocks.FORKS", False)
    assert results(f, blocks=BLOCKS[:3], workers=3) == [(0, 1), None, (2, 1)]
    with pytest.raises(ut.InvalidArgument, match="fresh Python"):
        results(raising(threading.Lock()))


class Unloadable:
    def __reduce__(self):
        return int, ("no number",)


def test_rows_that_can_not_be_sent_are_the_fallback(monkeypatch):
    job = isolation.Job(len, [Unloadable()].copy)
    assert list(isolation.apart([job, isolation.Job(bytes, [1].copy)], fresh=True)) == [None, b"\x01"]


def test_stable_values_are_what_they_were():
    rows = [{"x": 7}] * 700
    made = stable_value(lambda block: block[0]["x"], rows, epsilon=4, delta=1e-6, entropy=ut.SeededEntropy(1))
    assert made.value == 7
