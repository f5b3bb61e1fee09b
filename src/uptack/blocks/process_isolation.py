"""Pieces of work in processes of their own: each starts from the same state, and only its answer comes back.

A *keeper* is split off once (`os.fork`), is silenced, and runs nothing itself. It forks one process for every job, so
every job finds the state in which the keeper was made: what other jobs did to globals, defaults, modules or the data is
not there. An answer is a string of bytes. Whatever else a job does (raise anything, end its process, crash, be too
slow, print, leave threads or processes behind) is no answer, and is seen by nobody. Workers have sessions of their own
and, where the system allows it, no right to signal others (`uptack.blocks.confinement`). A keeper that a job stopped or
ended all the same is replaced: this process looks at it while it waits, so it never waits for ever.

Where a library in use does not survive `os.fork` (polars), the keeper is a fresh interpreter. Where there is no
`os.fork` at all, every job gets a fresh interpreter. Then jobs must be such that can be pickled.

Jobs are not locked in. They could still reach files, the network, and the memory that was there when the keeper was
made; how long they take, and addresses in memory, are not hidden from them or from others.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import multiprocessing
import os
import pickle
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from uptack import interrupts
from uptack.blocks.fork_server import (
    GRACE,
    LIMIT,
    NAP,
    PATIENCE,
    READY,
    Answers,
    Job,
    Sealed,
    answer_once,
    dismiss,
    keep,
    keep_sealed,
    thread_limits,
)
from uptack.errors import InvalidArgument

FORKS = hasattr(os, "fork")

warnings.filterwarnings("ignore", r"This process .* is multi-threaded", DeprecationWarning)  # said of os.fork


def apart(
    jobs: Sequence[Job], *, workers: int = 1, timeout: float = NAP, fresh: bool = False
) -> Iterator[bytes | None]:
    """The answers of the jobs, in order, None where there is none; `workers` of them at a time.

    `fresh` asks for an interpreter that has run nothing yet.

    >>> steps = [lambda row: row, lambda row: 1 / 0, lambda row: os._exit(0), lambda row: 2 * row]
    >>> list(apart([Job(step, lambda: b"a row") for step in steps]))
    [b'a row', None, None, b'a rowa row']
    """
    if not FORKS:
        yield from _one_by_one(_sealed(jobs), workers, timeout)
        return
    split = _spawned if fresh else _forked
    told = 0
    for answer in split(jobs, workers, timeout):
        yield answer
        told += 1
    for job in jobs[told:]:  # one of them ended its keeper: now each has its own
        try:
            answer = next(iter(split([job], 1, timeout)), None)
        except InvalidArgument:  # jobs could be loaded before: somebody ended the keeper when it had just begun
            answer = None
        yield answer


# ------------------------------------------------------------------------------------------- where the answers are read


def _forked(jobs: Sequence[Job], workers: int, timeout: float) -> Iterator[bytes | None]:
    """Answers while the keeper lives."""
    limits = thread_limits()
    (reading, writing), parent = os.pipe(), os.getpid()
    held = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # until the keeper has handlers of its own
    try:
        pid = os.fork()
        if pid == 0:
            keep(lambda: jobs, writing, workers, timeout, parent, limits)
    finally:
        os.close(writing)
        signal.pthread_sigmask(signal.SIG_SETMASK, held)
    try:
        answers = Answers(reading, pid, timeout)
        with contextlib.suppress(EOFError):
            for _ in jobs:
                yield answers.next()
    finally:
        os.close(reading)
        dismiss(pid)


def _spawned(jobs: Sequence[Job], workers: int, timeout: float) -> Iterator[bytes | None]:
    """The same with a fresh interpreter."""
    context = multiprocessing.get_context("spawn")
    reading, writing = context.Pipe(duplex=False)
    process = context.Process(target=keep_sealed, args=(writing, _sealed(jobs), workers, timeout, os.getpid()))
    process.start()
    writing.close()
    loaded, answers = False, Answers(reading.fileno(), process.pid or 0, timeout)
    try:
        with contextlib.suppress(EOFError):
            loaded = answers.next() == READY
            for _ in jobs:
                yield answers.next()
    finally:
        reading.close()
        process.terminate()
        process.join(PATIENCE)
        process.kill()  # one that is stopped does not hear of its end
        process.join()
    if not loaded:
        raise _unloadable()


def _one_by_one(jobs: Sequence[Sealed], workers: int, timeout: float) -> Iterator[bytes | None]:
    """An interpreter for every job."""
    context = multiprocessing.get_context("spawn")

    def run(job: Sealed) -> bytes | None:
        reading, writing = context.Pipe(duplex=False)
        process = context.Process(target=answer_once, args=(writing, job))
        process.start()
        writing.close()
        loaded, last = False, threading.Timer(min(timeout + GRACE, threading.TIMEOUT_MAX), process.kill)
        last.daemon = True
        last.start()
        try:
            with contextlib.suppress(EOFError, OSError), reading:
                loaded = reading.recv_bytes() == READY
                return reading.recv_bytes(LIMIT) if reading.poll(timeout) else None
        finally:
            last.cancel()
            process.kill()
            process.join()
        if not loaded:
            raise _unloadable()
        return None

    with ThreadPoolExecutor(workers) as pool:
        yield from pool.map(run, jobs)


def _sealed(jobs: Sequence[Job]) -> list[Sealed]:
    """Jobs for another interpreter; cloudpickle, where it is there, also packs lambdas and what a notebook defines."""
    dumps: Callable[[Any], bytes] = pickle.dumps
    if importlib.util.find_spec("cloudpickle"):
        dumps = importlib.import_module("cloudpickle").dumps
    runs = {id(job.run): _dumped(job.run, dumps) for job in jobs}
    if not all(runs.values()):
        raise _unloadable()
    return [Sealed(runs[id(job.run)], _dumped(job.load, pickle.dumps)) for job in jobs]


def _dumped(what: Any, dumps: Callable[[Any], bytes]) -> bytes:
    """Packed, or nothing: what can't be loaded is no answer."""
    try:
        return dumps(what)
    except BaseException:  # a row's own methods
        interrupts.check()
        return b""


def _unloadable() -> InvalidArgument:
    fix = "Put it into a module, install cloudpickle, or pass the rows as a pandas frame or an array."
    return InvalidArgument("f", "a function that a fresh Python can load, for rows of this kind", "another one", fix)
