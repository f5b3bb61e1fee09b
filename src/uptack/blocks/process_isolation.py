"""Pieces of work in processes of their own: each starts from the same state, and only its answer comes back.

A *keeper* is split off once (`os.fork`), is silenced, and runs nothing itself. It forks one process for every job, so
every job finds the state in which the keeper was made: what other jobs did to globals, defaults, modules or the data is
not there. An answer is a string of bytes. Whatever else a job does (raise anything, end its process, crash, be too
slow, print, leave threads or processes behind) is no answer, and is seen by nobody. Workers have sessions of their own
and, where the system allows it, no right to signal others (`uptack.blocks.confinement`). A keeper that a job stopped or
ended all the same is replaced: this process checks it while it waits, so it never waits for ever.

Where a library in use does not survive `os.fork` (polars), the keeper is a fresh interpreter. Where there is no
`os.fork` at all, every job gets a fresh interpreter. Then jobs must be such that can be pickled.

Jobs are not locked in. They could still reach files, the network, and the memory that was there when the keeper was
made; how long they take, and addresses in memory, are not hidden from them or from others.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import importlib
import importlib.util
import logging
import multiprocessing
import os
import pickle
import selectors
import signal
import struct
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from os import _exit as leave
from typing import Any, NamedTuple, NoReturn

from uptack.blocks.confinement import confine, die_with
from uptack.errors import InvalidArgument
from uptack.interrupts import attempt

FORKS = hasattr(os, "fork")
HEADER = struct.Struct("!q")
"""The length of an answer; -1 for none."""
LIMIT = 1 << 28
"""The longest answer, in bytes."""
READY = b"ready"
GRACE, LOOK, PATIENCE = 60.0, 0.25, 5.0
"""Seconds that a keeper may be late, between two checks of it, and that it has to end."""
NAP = 3600.0
"""Seconds that a wait may last before the clock is looked at: some systems can't wait for years."""

warnings.filterwarnings("ignore", r"This process .* is multi-threaded", DeprecationWarning)  # by os.fork


class Job(NamedTuple):
    """`run(load())`: what is done, which is public, and what it is done with."""

    run: Callable[[Any], bytes]
    load: Callable[[], Any]

    def answer(self) -> bytes:
        return self.run(self.load())


class Sealed(NamedTuple):
    """A job for another interpreter. What it is done with is unpacked by its worker: rows may fail to be."""

    run: bytes
    load: bytes

    def open(self) -> Job:
        return Job(pickle.loads(self.run), lambda: pickle.loads(self.load)())


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
        yield from _one_by_one(_seal(jobs), workers, timeout)
        return
    split = _spawn_keeper if fresh else _fork_keeper
    sent = 0
    for answer in split(jobs, workers, timeout):
        yield answer
        sent += 1
    for job in jobs[sent:]:  # one of them ended its keeper: now each has its own
        try:
            answer = next(iter(split([job], 1, timeout)), None)
        except InvalidArgument:  # jobs could be loaded before: somebody ended the keeper when it had just begun
            answer = None
        yield answer


# ------------------------------------------------------------------------------------------- where the answers are read


def _fork_keeper(jobs: Sequence[Job], workers: int, timeout: float) -> Iterator[bytes | None]:
    """Answers while the keeper lives."""
    pools = sys.modules.get("threadpoolctl")  # which keeps OpenMP from waiting for threads that a fork leaves behind
    limits = pools.ThreadpoolController() if pools else None
    (reading, writing), parent = os.pipe(), os.getpid()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # until the keeper has handlers of its own
    try:
        pid = os.fork()
        if pid == 0:
            keep(lambda: jobs, writing, workers, timeout, parent, limits)
    finally:
        os.close(writing)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    try:
        answers = Answers(reading, pid, timeout)
        with contextlib.suppress(EOFError):
            for _ in jobs:
                yield answers.next()
    finally:
        os.close(reading)
        dismiss(pid)


def _spawn(target: Callable[..., Any], *arguments: Any) -> tuple[Any, Any]:
    """A fresh interpreter that runs `target` on the end of a pipe, and the other end."""
    context = multiprocessing.get_context("spawn")
    reading, writing = context.Pipe(duplex=False)
    process = context.Process(target=target, args=(writing, *arguments))
    process.start()
    writing.close()
    return process, reading


def _spawn_keeper(jobs: Sequence[Job], workers: int, timeout: float) -> Iterator[bytes | None]:
    """The same with a fresh interpreter."""
    process, reading = _spawn(keep_sealed, _seal(jobs), workers, timeout, os.getpid())
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

    def run(job: Sealed) -> bytes | None:
        process, reading = _spawn(answer_once, job)
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


def _seal(jobs: Sequence[Job]) -> list[Sealed]:
    """Jobs for another interpreter; cloudpickle, where it is there, also packs lambdas and what a notebook defines."""
    dumps: Callable[[Any], bytes] = pickle.dumps
    if importlib.util.find_spec("cloudpickle"):
        dumps = importlib.import_module("cloudpickle").dumps
    runs = {id(job.run): _dump(job.run, dumps) for job in jobs}
    if not all(runs.values()):
        raise _unloadable()
    return [Sealed(runs[id(job.run)], _dump(job.load, pickle.dumps)) for job in jobs]


def _dump(what: Any, dumps: Callable[[Any], bytes]) -> bytes:
    """Packed, or nothing: what can't be loaded is no answer."""
    return attempt(lambda: dumps(what), bytes)


def _unloadable() -> InvalidArgument:
    fix = "Put it into a module, install cloudpickle, or pass the rows as a pandas frame or an array."
    return InvalidArgument("f", "a function that a fresh Python can load, for rows of this kind", "another one", fix)


@dataclass(frozen=True)
class Answers:
    """What a keeper writes, as the process that waits for it sees it.

    A keeper that lives has the next answer within `timeout` seconds and a little of the one before: jobs start in
    order, and each is ended when its time is over. One that is stopped, or has none for longer, counts as gone.
    """

    fd: int
    keeper: int
    timeout: float

    def next(self) -> bytes | None:
        """The next answer; EOFError where the keeper is gone."""
        deadline = time.monotonic() + self.timeout + GRACE
        length = HEADER.unpack(self._exactly(HEADER.size, deadline))[0]
        return self._exactly(length, deadline) if length >= 0 else None

    def _exactly(self, size: int, deadline: float) -> bytes:
        parts, missing = [], size
        while missing:
            self._wait(deadline)
            part = os.read(self.fd, min(missing, 1 << 20))
            if not part:
                raise EOFError
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)

    def _wait(self, deadline: float) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self.fd, selectors.EVENT_READ)
            while not selector.select(LOOK):
                if time.monotonic() >= deadline or _is_stopped(self.keeper):
                    raise EOFError


def _is_stopped(pid: int) -> bool:
    """Whether a child is stopped. Its end is left for others to see."""
    try:
        return os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT) is not None
    except (OSError, AttributeError):  # not every system can say; then the time limit does
        return False


def dismiss(pid: int) -> None:
    """End a keeper: it ends its workers if it can. One that does not is killed, and its workers with it on Linux."""
    with contextlib.suppress(OSError):
        if not _is_stopped(pid):
            os.kill(pid, signal.SIGTERM)
            deadline = time.monotonic() + PATIENCE
            pause = 0.0005
            while time.monotonic() < deadline and not _is_stopped(pid):
                if os.waitpid(pid, os.WNOHANG)[0]:
                    return
                time.sleep(pause)
                pause = min(2 * pause, 0.05)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _frame(answer: bytes | None) -> bytes:
    if answer is None or len(answer) > LIMIT:
        return HEADER.pack(-1)
    return HEADER.pack(len(answer)) + answer


def _write(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


# -------------------------------------------------------------------------------------------------------- in the keeper


def _stop(*_: Any) -> NoReturn:
    """Nobody waits for answers any longer."""
    raise SystemExit


def keep(
    load: Callable[[], Sequence[Job]], out: int, workers: int, timeout: float, parent: int, limits: Any = None
) -> NoReturn:
    """The life of a keeper. It must never return: it may be a copy of a process that has other things to do."""
    try:
        gc.freeze()  # what was garbage before may end threads of its own, which are not here: that would be a crash
        os.setsid()  # Ctrl-C is for the process that waits
        die_with(parent)
        _quiet()
        _empty_files(out)
        if limits is not None:
            limits.limit(limits=1)
        signal.signal(signal.SIGTERM, _stop)
        for answer in _answers(load(), out, workers, timeout):
            _write(out, _frame(answer))
    finally:
        leave(0)


def _empty_files(out: int) -> None:
    """Every open file but the standard ones and `out` becomes an empty one: nothing that was open is there.

    The numbers stay open, since a library may close files of its own in every process that is forked. Arrow ends the
    process where it can't, once it has read a CSV file.
    """
    try:
        numbers = [int(name) for name in os.listdir("/dev/fd")]
    except OSError:  # where they are not listed, they are closed
        os.closerange(3, out)
        os.closerange(max(out + 1, 3), min(os.sysconf("SC_OPEN_MAX"), 1 << 20))
        return
    empty = os.open(os.devnull, os.O_RDWR)
    for number in numbers:
        if number > 2 and number not in (out, empty):
            os.dup2(empty, number, inheritable=False)
    os.close(empty)


def keep_sealed(writing: Any, jobs: Sequence[Sealed], workers: int, timeout: float, parent: int) -> NoReturn:
    """The life of a keeper that is a fresh interpreter. It says when it could load what is to be done."""

    def load() -> list[Job]:
        opened = [job.open() for job in jobs]
        _write(writing.fileno(), _frame(READY))
        return opened

    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    keep(load, writing.fileno(), workers, timeout, parent)


def answer_once(writing: Any, job: Sealed) -> None:
    """The life of an interpreter for one job, where nothing can be forked."""
    try:
        _quiet()
        opened = job.open()
        writing.send_bytes(READY)
        writing.send_bytes(opened.answer())
    finally:
        leave(0)


def _quiet() -> None:
    """No output, log lines or core files. Handlers of signals that were set for another process are unset."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for fd in range(3):
        os.dup2(nowhere, fd)
    empty = open(1, "r+", closefd=False)  # noqa: SIM115
    sys.stdin = sys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = empty  # type: ignore[misc]
    logging.disable(sys.maxsize)
    warnings.simplefilter("ignore")
    faulthandler.disable()
    if importlib.util.find_spec("resource"):
        resource: Any = importlib.import_module("resource")
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)


def _answers(jobs: Sequence[Job], out: int, workers: int, timeout: float) -> Iterator[bytes | None]:
    """Answers in order, from up to `workers` processes at a time."""
    left, done, sent = iter(enumerate(jobs)), dict[int, bytes | None](), 0
    running: list[_Worker] = []
    try:
        while sent < len(jobs):
            while len(running) < workers and (job := next(left, None)):
                running.append(_Worker.start(*job, timeout, [out, *(worker.fd for worker in running)]))
            _wait(running)
            for worker in [worker for worker in running if worker.finished]:
                running.remove(worker)
                done[worker.number] = worker.end()
            while sent in done:
                yield done.pop(sent)
                sent += 1
    finally:
        for worker in running:
            worker.end()


def _wait(running: list[_Worker]) -> None:
    """Read what has come, once something has or a time limit is over."""
    with selectors.DefaultSelector() as selector:
        for worker in running:
            selector.register(worker.fd, selectors.EVENT_READ, worker)
        patience = min([NAP, *(worker.deadline - time.monotonic() for worker in running)])
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        try:
            ready = selector.select(max(patience, 0.0))
        finally:
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    for key, _ in ready:
        key.data.read()


@dataclass
class _Worker:
    """A process with one job, as its keeper sees it."""

    number: int
    pid: int
    fd: int
    deadline: float
    received: bytearray = field(default_factory=bytearray)
    closed: bool = False

    @classmethod
    def start(cls, number: int, job: Job, timeout: float, private: list[int]) -> _Worker:
        """Fork. The new process holds none of the keeper's own pipes."""
        (reading, writing), keeper = os.pipe(), os.getpid()
        pid = os.fork()
        if pid == 0:
            _work(job, writing, [reading, *private], keeper)
        os.close(writing)
        return cls(number, pid, reading, time.monotonic() + timeout)

    def read(self) -> None:
        """Take what has come; an end, or too much, closes the worker."""
        part = os.read(self.fd, 1 << 20)
        self.received += part
        self.closed = not part or len(self.received) > HEADER.size + LIMIT

    @property
    def _length(self) -> int:
        return HEADER.unpack_from(self.received)[0] if len(self.received) >= HEADER.size else LIMIT

    @property
    def finished(self) -> bool:
        whole = len(self.received) - HEADER.size >= self._length
        return whole or self.closed or time.monotonic() >= self.deadline

    def end(self) -> bytes | None:
        """The answer; what is left of the worker, and of processes that it started, is killed."""
        os.close(self.fd)
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(OSError):
                kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        length, answer = self._length, bytes(self.received[HEADER.size :])
        return answer[:length] if 0 <= length <= len(answer) else None


def _work(job: Job, out: int, private: list[int], keeper: int) -> NoReturn:
    """The life of a worker. Only the references of this module are used after the job: it may have changed others."""
    try:
        die_with(keeper)
        for fd in private:
            os.close(fd)
        with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as first_to_go:
            first_to_go.write("1000")  # where memory runs out, this process ends and no other
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        confine()
        _write(out, _frame(job.answer()))
    finally:
        leave(0)
