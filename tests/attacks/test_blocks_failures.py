"""f is hostile: it raises, ends its process, hangs, forks, talks. All of that is the fallback, and nobody is told."""

import ctypes
import gc
import logging
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings

import numpy as np
import polars as pl
import pytest

from uptack.blocks.block_evaluation import accepting, evaluate

BLOCKS = [np.array([i]) for i in range(5)]


def results(f, data=None, kind="outcome", fallback=None, blocks=BLOCKS, **options):
    return evaluate(f, np.arange(5) if data is None else data, blocks, *accepting(kind, fallback), **options)


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

    assert results(f, timeout="2", workers=2) == [0, None, 2, None, 4]


def test_processes_that_f_leaves_behind_are_ended():
    def f(rows):
        if pid := os.fork():
            return pid
        time.sleep(600)

    (pid,) = results(f, blocks=BLOCKS[:1])
    for _ in range(3000):
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
            from uptack.blocks import subsample_aggregate

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
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=600)
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


def test_threads_of_openmp_are_not_waited_for():
    cluster = pytest.importorskip("sklearn.cluster")
    x = np.random.default_rng(0).normal(size=(3000, 4))

    def f(rows):
        return int(cluster.KMeans(3, n_init=1, random_state=0).fit(rows).labels_.size)

    assert f(x) == 3000  # starts threads that a fork leaves behind
    assert results(f, x, blocks=[np.arange(2000)] * 2, timeout=600) == [2000] * 2


class Threads:
    """An object that is garbage, and whose end is the end of a process that it was not made in: as of a pool of threads
    that a fork leaves behind.
    """

    def __init__(self):
        self.itself, self.home = self, os.getpid()

    def __del__(self):
        if os.getpid() != self.home:
            os.kill(os.getpid(), signal.SIGKILL)


def collecting(rows):
    gc.collect()
    return int(rows[0])


def test_garbage_of_the_process_that_asks_is_not_collected_in_others():
    """One such object, and every block was the fallback."""
    collects = gc.isenabled()
    gc.disable()
    try:
        Threads()
        assert results(collecting) == [0, 1, 2, 3, 4]
    finally:
        gc.collect()
        if collects:
            gc.enable()
