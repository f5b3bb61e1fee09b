"""A row's own methods can raise what interrupts raise; a real interrupt is told by its signal."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import traceback

import numpy as np
import pandas as pd
import pytest

import uptack as ut
from uptack import interrupts
from uptack.errors import InvalidArgument, UptackError
from uptack.table.unread import DataNeeded
from uptack.table.values.entrance import objects
from uptack.table.values.kinds import canonical, number

SECRET = "the row of alice"
THROWN = [KeyboardInterrupt, SystemExit, GeneratorExit, ImportError, UptackError, DataNeeded]


class Row:
    """All of its methods raise, with what it holds."""

    def __init__(self, kind):
        self.kind = kind

    def _raise(self, *_, **__):
        raise self.kind(SECRET)

    __str__ = __repr__ = __float__ = __int__ = __index__ = __eq__ = __hash__ = __bool__ = __lt__ = __len__ = _raise
    __iter__ = __array__ = __reduce_ex__ = __deepcopy__ = __format__ = __complex__ = _raise


class Number(float):
    """A subclass of a type that canonical values know."""

    kind: type = KeyboardInterrupt

    def _raise(self, *_):
        raise self.kind(SECRET)

    __float__ = __str__ = __repr__ = __eq__ = __hash__ = is_integer = _raise


class Column:
    """A container that says it is an array."""

    def __init__(self, kind):
        self.kind = kind

    def __array__(self, *_, **__):
        raise self.kind(SECRET)


RELEASES = {
    "median": lambda x: ut.median(x, epsilon=1.0, missing="drop", entropy=ut.SeededEntropy(1)),
    "count": lambda x: ut.count(x, epsilon=1.0, entropy=ut.SeededEntropy(1)),
    "histogram": lambda x: ut.histogram(x, keys=["a", 1], epsilon=1.0, entropy=ut.SeededEntropy(1)),
    "stable histogram": lambda x: ut.histogram(x, epsilon=1.0, delta=1e-6, entropy=ut.SeededEntropy(1)),
    "people": lambda x: ut.median(
        np.arange(float(len(x))), person=x, epsilon=1.0, missing="drop", entropy=ut.SeededEntropy(1)
    ),
    "groups": lambda x: ut.median(
        np.arange(float(len(x))), by=x, groups=["a", 1], epsilon=1.0, missing="drop", entropy=ut.SeededEntropy(1)
    ),
    "superiority": lambda x: ut.superiority(
        np.arange(float(len(x))), x, groups=("a", 1), epsilon=1.0, entropy=ut.SeededEntropy(1)
    ),
    "session": lambda x: ut.open(pd.DataFrame({"x": pd.Series(objects(list(x)))}), entropy=ut.SeededEntropy(1))[
        "x"
    ].histogram(keys=["a", 1], epsilon=1.0),
    "blocks": lambda x: ut.subsample_aggregate(
        len, x, blocks=20, fallback=0.0, epsilon=1.0, aggregate="median", entropy=ut.SeededEntropy(1)
    ),
    "trusted blocks": lambda x: ut.subsample_aggregate(
        lambda rows: len(str(rows)), x, blocks=20, fallback=0.0, epsilon=1.0, trusted=True, entropy=ut.SeededEntropy(1)
    ),
}


def seen(release, x):
    """What an observer sees."""
    try:
        made = release(x)
    except BaseException as error:
        return type(error).__name__, "".join(traceback.format_exception(error))
    return (type(made).__name__,)


@pytest.mark.parametrize("container", [list, objects, lambda x: pd.Series(objects(x))], ids=["list", "NumPy", "pandas"])
@pytest.mark.parametrize("name", RELEASES)
def test_a_row_cannot_throw_through_a_release(name, container):
    """The release ends in the same way with a row that throws and without it."""
    (plain,) = seen(RELEASES[name], container(["b", *range(199)]))
    assert plain in ("Release", "NoReply")
    for kind in THROWN:
        thrown = container([Row(kind), *range(199)])
        assert seen(RELEASES[name], thrown) == (plain,), kind


@pytest.mark.parametrize("kind", THROWN)
def test_values_and_containers_cannot_throw(kind):
    Number.kind = kind
    for value in (Row(kind), [Row(kind)], {"a": Row(kind)}, Number(2.5), {1: [Number(3)]}):
        canonical(value)
    assert np.isnan(number(Row(kind)))
    with pytest.raises(InvalidArgument) as caught:
        ut.median(Column(kind), epsilon=1.0)
    assert SECRET not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("kind", THROWN)
def test_rows_cannot_throw_in_other_threads(kind):
    found = []
    thread = threading.Thread(target=lambda: found.append(seen(RELEASES["median"], [Row(kind), 1.0, 2.0])))
    thread.start()
    thread.join()
    assert SECRET not in str(found)
    assert found[0][0] in ("Release", "NoReply")


# ---------------------------------------------------------------------------------------------------- real interrupts


@pytest.fixture(autouse=True)
def _control_c():
    """Python's own handler: a shell that starts the tests in the background has its children ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Slow:
    """A row in whose method a signal comes."""

    def __init__(self, then=None):
        self.then = then

    def __str__(self):
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            if self.then is None:
                raise
            if isinstance(self.then, BaseException):
                raise self.then from None
        return "a row"


@pytest.mark.parametrize("then", [None, "swallowed", ValueError(SECRET)], ids=["passes", "swallowed", "replaced"])
@pytest.mark.parametrize("name", ["median", "histogram", "session"])
def test_a_signal_gets_through(name, then):
    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt) as caught:
        RELEASES[name]([Slow(then), *range(99)])
    assert caught.value.__context__ is caught.value.__cause__ is None
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    assert signal.getsignal(signal.SIGINT) is handler
    assert interrupts.STATE.depth == 0
    assert RELEASES["count"]([True]) is not None  # and it is over


def test_a_signal_gets_through_without_a_release():
    with pytest.raises(KeyboardInterrupt):
        canonical(Slow())
    with pytest.raises(KeyboardInterrupt):
        canonical([1, Slow(ValueError(SECRET))])


def test_other_handlers_get_through():
    def stop(*_):
        raise SystemExit(143)

    before = signal.signal(signal.SIGUSR1, stop)
    try:
        with pytest.raises(SystemExit) as caught:
            interrupts.watched(lambda: canonical(Signalling(signal.SIGUSR1)))
        assert caught.value.code == 143
        assert signal.getsignal(signal.SIGUSR1) is stop
    finally:
        signal.signal(signal.SIGUSR1, before)


class Signalling:
    def __init__(self, number):
        self.number = number

    def __str__(self):
        signal.raise_signal(self.number)
        return ""


def test_a_handler_that_is_set_meanwhile_stays():
    before = signal.getsignal(signal.SIGINT)

    def other(*_):
        return None

    try:
        interrupts.watched(lambda: signal.signal(signal.SIGINT, other))
        assert signal.getsignal(signal.SIGINT) is other
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(os.name == "nt", reason="no such signals")
def test_control_c_ends_a_script():
    """From outside, while rows of their own types are being read."""
    script = """
        import signal, sys, time
        import uptack as ut
        signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background are started without one
        class Row:
            def __str__(self):
                print("reading", flush=True)
                time.sleep(0.01)
                return "x"
        ut.histogram([Row() for _ in range(10_000)], keys=["x"], epsilon=1.0)
    """
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout.readline() == "reading\n"
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=600)
    assert child.returncode == -signal.SIGINT
    assert errors.strip().endswith("KeyboardInterrupt")
