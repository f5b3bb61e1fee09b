"""f is hostile to other processes: it stops or kills its keeper, other workers, and the process that waits."""

import ctypes
import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import polars as pl
import pytest

from uptack.blocks import confinement, process_isolation
from uptack.blocks.block_evaluation import accepting, evaluate
from uptack.blocks.confinement import confine
from uptack.blocks.process_isolation import Job, apart
from uptack.errors import InvalidArgument

pytestmark = pytest.mark.skipif(os.name == "nt", reason="no such signals")
BLOCKS = [np.array([i]) for i in range(5)]
PATIENT = 300
"""Seconds that are enough on the busiest machine: what is noticed at all is noticed long before."""
ENDS = [signal.SIGSTOP, signal.SIGKILL]
linux = pytest.mark.skipif(sys.platform != "linux", reason="Linux only")


def results(f, blocks=BLOCKS, fallback="failed", **options):
    return evaluate(f, np.arange(5), blocks, *accepting("outcome", fallback), **options)


def ancestors(pid):
    """The processes from the parent on, as Linux tells them to anybody."""
    found = []
    while pid > 1:
        with open(f"/proc/{pid}/stat") as file:
            pid = int(file.read().rpartition(")")[2].split()[1])
        found.append(pid)
    return [one for one in found if one > 1]


@pytest.mark.parametrize("number", ENDS)
@pytest.mark.parametrize("confined", [True, False], ids=["confined", "not confined"])
@pytest.mark.parametrize("workers", [1, 3])
def test_a_keeper_that_f_stops_or_kills_is_the_fallback(number, confined, workers, monkeypatch):
    """Where the system lets f signal its keeper, the process that waits notices."""
    if not confined:
        monkeypatch.setattr(process_isolation, "confine", lambda: False)

    def f(rows):
        if rows[0] == 2:
            os.kill(os.getppid(), number)
            time.sleep(1)
            return "alone"
        return int(rows[0])

    begun = time.monotonic()
    found = results(f, workers=workers, timeout=PATIENT)
    assert found == [0, 1, "failed", 3, 4]
    assert time.monotonic() - begun < PATIENT


def stopping(rows):
    if rows[0] == 1:
        os.kill(os.getppid(), signal.SIGSTOP)
        time.sleep(1)
    return int(rows[0])


def test_a_fresh_interpreter_that_f_stops_is_the_fallback():
    found = evaluate(stopping, pl.Series("x", [0, 1, 2]), BLOCKS[:3], *accepting("outcome", "failed"), timeout=PATIENT)
    assert found == [0, "failed", 2]


def test_a_fresh_interpreter_that_is_stopped_is_replaced(monkeypatch):
    """Not by f, which may not; by whoever waits, when it has begun."""
    seen, start = [], process_isolation.Answers.next
    monkeypatch.setattr(process_isolation, "PATIENCE", 0.5)  # with an interpreter that does not answer

    def following(self):
        if not seen:
            seen.append(self.keeper)
            os.kill(self.keeper, signal.SIGSTOP)
        return start(self)

    monkeypatch.setattr(process_isolation.Answers, "next", following)
    with pytest.raises(InvalidArgument, match="fresh Python"):  # it never came to load f
        evaluate(stopping, pl.Series("x", [0, 1, 2]), BLOCKS[:3], *accepting("outcome", "failed"), timeout=PATIENT)
    assert not running(seen[0])


def test_a_keeper_that_says_nothing_is_given_up(monkeypatch):
    """Also where the system does not say that it is stopped."""
    monkeypatch.setattr(process_isolation, "confine", lambda: False)
    monkeypatch.setattr(process_isolation, "_is_stopped", lambda pid: False)
    for name, seconds in (("GRACE", 0.5), ("PATIENCE", 0.5)):
        monkeypatch.setattr(process_isolation, name, seconds)

    def f(rows):
        if rows[0] == 1:
            os.kill(os.getppid(), signal.SIGSTOP)
            time.sleep(60)
        return int(rows[0])

    assert results(f, BLOCKS[:3], timeout=2) == [0, "failed", 2]


@linux
@pytest.mark.parametrize("number", ENDS)
def test_f_cannot_signal_the_process_that_waits(number):
    """In a process of its own, for the sake of this one."""
    script = f"""
        import os, sys, time
        sys.path.insert(0, {os.getcwd()!r})
        from tests.attacks.test_blocks_signals import ancestors, results

        top = os.getpid()
        def f(rows):
            if rows[0] == 2:
                for pid in ancestors(os.getpid()):
                    os.kill(pid, {int(number)})
                    if pid == top:
                        break
            return int(rows[0])
        print(results(f))
    """
    child = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, text=True)
    try:
        assert child.communicate(timeout=PATIENT)[0] == "[0, 1, 'failed', 3, 4]\n"
    finally:
        child.kill()


@linux
@pytest.mark.parametrize("number", ENDS)
def test_f_cannot_end_the_work_of_other_blocks(number):
    """All workers run at a time, and one signals whatever has the same keeper."""

    def f(rows):
        if rows[0] != 0:
            time.sleep(1.5)
            return int(rows[0])
        time.sleep(0.5)
        for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
            try:
                if pid != os.getpid() and ancestors(pid)[:1] == [os.getppid()]:
                    os.kill(pid, number)
            except OSError:
                pass
        return 0

    assert results(f, workers=5, timeout=PATIENT) == [0, 1, 2, 3, 4]


def ways_to_signal(pid):
    """How a process can be signalled, other than by os.kill."""
    libc = ctypes.CDLL(None, use_errno=True)
    if hasattr(os, "pidfd_open"):
        yield "pidfd", lambda: signal.pidfd_send_signal(os.pidfd_open(pid), signal.SIGTERM)
    yield "group", lambda: os.killpg(pid, signal.SIGTERM)
    calls = confinement.MACHINES[os.uname().machine][1]
    for name in ("tkill", "tgkill"):
        given = (pid, pid, int(signal.SIGTERM))[name == "tkill" :]
        yield name, lambda name=name, given=given: _called(libc, calls[name], *given)
    yield "ptrace", lambda: _called(libc, calls["ptrace"], 16, pid, 0, 0)
    yield "prlimit", lambda: __import__("resource").prlimit(pid, 0, (0, 0))


def _called(libc, *given):
    if libc.syscall(*given) < 0:
        raise OSError(ctypes.get_errno(), "refused")


def refused(pid):
    """Which ways are refused."""
    found = []
    for name, way in ways_to_signal(pid):
        try:
            way()
        except OSError:
            found.append(name)
    return ",".join(found).encode()


@linux
@pytest.mark.skipif(
    not hasattr(os, "uname") or os.uname().machine not in confinement.MACHINES, reason="another machine"
)
@pytest.mark.parametrize("landlock", [True, False], ids=["as it is", "without Landlock"])
def test_no_way_to_signal_others_is_left(landlock, monkeypatch):
    if not landlock:
        monkeypatch.setattr(confinement, "_scope_signals", lambda libc: False)
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as other:
        try:
            (found,) = apart([Job(refused, lambda: other.pid)])
            names = {name for name, _ in ways_to_signal(other.pid)}
            assert set(found.decode().split(",")) == names
            assert other.poll() is None
        finally:
            other.kill()


@linux
@pytest.mark.parametrize("landlock", [True, False], ids=["as it is", "without Landlock"])
def test_a_worker_may_signal_itself_and_its_group(landlock, monkeypatch):
    if not landlock:
        monkeypatch.setattr(confinement, "_scope_signals", lambda libc: False)

    def f(rows):
        seen = []
        signal.signal(signal.SIGUSR1, lambda *_: seen.append(1))
        os.kill(os.getpid(), signal.SIGUSR1)
        os.kill(0, signal.SIGUSR1)
        signal.raise_signal(signal.SIGUSR1)
        return len(seen), os.getsid(0) == os.getpid()

    assert results(f, BLOCKS[:1]) == [(3, True)]


@linux
def test_workers_end_with_their_keeper_and_keepers_with_who_waits(tmp_path):
    path = tmp_path / "pids"
    script = f"""
        import os, sys, time
        sys.path.insert(0, {os.getcwd()!r})
        from tests.attacks.test_blocks_signals import results

        def f(rows):
            with open({str(path)!r}, "w") as file:
                print(os.getpid(), os.getppid(), file=file, flush=True)
            time.sleep(600)
        results(f)
    """
    child = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)])
    while not path.exists() or not path.read_text().endswith("\n"):
        time.sleep(0.05)
    child.kill()
    child.wait()
    for pid in map(int, path.read_text().split()):
        for _ in range(20 * PATIENT):
            if not running(pid):
                break
            time.sleep(0.05)
        else:
            pytest.fail("it lives on")


def running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@linux
def test_what_is_refused_is_said():
    """In a copy of this process: there is no way back."""
    reading, writing = os.pipe()
    if (pid := os.fork()) == 0:
        os.write(writing, b"refused" if confine() else b"allowed")
        os._exit(0)
    os.close(writing)
    assert os.read(reading, 10) in (b"refused", b"allowed")
    os.close(reading)
    os.waitpid(pid, 0)
