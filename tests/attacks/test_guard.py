"""The rim around every release: no warning, no foreign error and no error behind an error leaves it."""

import sys
import threading
import traceback
import warnings

import numpy as np
import pytest

import uptack as ut
from uptack.errors import Failed, InvalidArgument
from uptack.interrupts import SILENCE, guard
from uptack.table.unread import DataNeeded

SECRET = 48151623.42


def seen(error):
    """Everything that a traceback shows of an error and of what stands behind it."""
    return "".join(traceback.format_exception(error))


@pytest.mark.parametrize(
    "kind",
    [ValueError, RecursionError, MemoryError, OSError, KeyError, KeyboardInterrupt, SystemExit, GeneratorExit],
)
def test_foreign_errors_say_nothing(kind):
    @guard
    def release(x):
        raise kind(f"{x}")

    with pytest.raises(Failed) as caught:
        release(SECRET)
    assert str(SECRET) not in seen(caught.value)
    assert caught.value.__context__ is caught.value.__cause__ is None


def test_our_errors_leave_without_what_is_behind_them():
    @guard
    def release(x):
        try:
            float(f"row {x}")
        except ValueError:
            raise InvalidArgument("x", "a number", "text") from None

    with pytest.raises(InvalidArgument) as caught:
        release(SECRET)
    assert str(SECRET) not in seen(caught.value)
    assert caught.value.__context__ is None


def test_rehearsals_pass():
    @guard
    def release():
        raise DataNeeded

    with pytest.raises(DataNeeded):
        release()


def test_a_curator_can_look(monkeypatch):
    monkeypatch.setenv("UPTACK_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        guard(lambda: 1 / 0)()


@guard
def loud(x):
    warnings.warn(f"row {x}", UserWarning, stacklevel=1)
    return (np.array([x]) / np.array([0.0])).item()


@pytest.mark.parametrize("action", ["always", "error"])
def test_warnings_stay_inside(action):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter(action)
        with np.errstate(all="raise" if action == "error" else "warn"):
            assert loud(SECRET) == np.inf
            warnings.simplefilter("always")
            warnings.warn("outside", UserWarning, stacklevel=1)
    assert [str(w.message) for w in caught] == ["outside"]


def test_filters_are_as_before_when_the_last_thread_has_left():
    before, switch = list(warnings.filters), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=lambda: [loud(float(i)) for i in range(200)]) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(switch)
    assert warnings.filters == before
    assert SILENCE._inside == 0


def test_a_release_is_behind_the_rim():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = ut.median(np.r_[np.arange(2_000.0), 1e308, -1e308, 5e-324], epsilon=1, entropy=ut.SeededEntropy(1))
    assert made
