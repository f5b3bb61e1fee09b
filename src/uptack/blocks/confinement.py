"""What a worker may do to other processes: nothing, where the system lets it give up the right.

A function that could signal others could stop or kill the workers of other blocks, and with them their results; one row
would then change more results than its own. It could stop the process that waits for answers, or end it. So before it
runs f, a worker gives up the right, for itself and for all that it starts. Nothing gives it back.

- *A session of its own* (everywhere but on Windows): signals to a group stay among the worker and what it started.
- *Landlock* (Linux 6.12 or later): signals to processes outside of the worker and what it started are refused.
- *seccomp* (Linux on x86-64 and ARM64): system calls that look into or change other processes are refused. Where there
  is no Landlock, so are signals to any process but the worker itself and its group.
- *A death signal* (Linux): a worker ends with its keeper, and a keeper with the process that waits.

Each is optional. If the system refuses, f can signal whatever its user can, and
`uptack.blocks.process_isolation` only sees to it that the release ends. `confine` says whether signals are refused.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import signal
import struct
import sys
from collections.abc import Iterator
from typing import Any

PR_SET_PDEATHSIG, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 1, 22, 38
LANDLOCK_CREATE_RULESET, LANDLOCK_RESTRICT_SELF = 444, 446
SCOPES_SIGNALS = 6
"""The version of Landlock from which on signals can be scoped."""
SCOPE_SIGNAL = 2

LOAD, JUMP_IF_EQUAL, JUMP_IF_AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06
ALLOW, REFUSE = 0x7FFF0000, 0x00050000 | errno.EPERM
NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16
OTHER_NUMBERS = 0x40000000
"""From here on x86-64 has the same calls once more."""

CALLS = (
    *("kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal", "ptrace"),
    *("process_vm_readv", "process_vm_writev", "pidfd_getfd", "prlimit64", "fcntl", "ioctl", "process_madvise"),
)
NUMBERS = {
    "x86_64": (62, 200, 234, 129, 297, 424, 101, 310, 311, 438, 302, 72, 16, 440),
    "aarch64": (129, 130, 131, 138, 240, 424, 117, 270, 271, 438, 261, 25, 29, 440),
}
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
MACHINES = {name: (ARCHITECTURES[name], dict(zip(CALLS, ours, strict=True))) for name, ours in NUMBERS.items()}
"""The architecture as seccomp calls it, and the numbers of its system calls."""

F_SETOWN, F_SETOWN_EX, FIOSETOWN, SIOCSPGRP = 8, 15, 0x8901, 0x8902
"""Who gets a signal when a file is ready."""

LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None
"""Loaded before anything is forked."""


def die_with(parent: int) -> None:
    """End when the parent does, where the system can do that; also where it has ended already."""
    if LIBC is not None:
        LIBC.prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        if os.getppid() != parent:
            os._exit(0)


def confine() -> bool:
    """Give up the right to signal others or to look into them; whether signals to others are refused from now on."""
    with contextlib.suppress(OSError):
        os.setsid()
    if LIBC is None or LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        return False
    scoped = _scope_signals(LIBC)
    filtered = _filter_calls(LIBC, signals=not scoped)
    return scoped or filtered


def _scope_signals(libc: Any) -> bool:
    """Landlock: a domain that no signal leaves."""
    libc.syscall.restype = ctypes.c_long
    if libc.syscall(LANDLOCK_CREATE_RULESET, None, 0, 1) < SCOPES_SIGNALS:
        return False
    rules = ctypes.create_string_buffer(struct.pack("=QQQ", 0, 0, SCOPE_SIGNAL), 24)
    ruleset = libc.syscall(LANDLOCK_CREATE_RULESET, rules, ctypes.c_size_t(24), 0)
    if ruleset < 0:
        return False
    refused = libc.syscall(LANDLOCK_RESTRICT_SELF, ctypes.c_long(ruleset), 0)
    os.close(ruleset)
    return bool(refused == 0)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))


def _filter_calls(libc: Any, signals: bool) -> bool:
    """seccomp: a filter of system calls."""
    known = MACHINES.get(os.uname().machine)
    if known is None or struct.calcsize("P") != 8 or sys.byteorder != "little":
        return False
    code = b"".join(_instructions(*known, os.getpid(), signals))
    buffer = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(code) // 8, ctypes.addressof(buffer))
    return bool(libc.prctl(PR_SET_SECCOMP, 2, ctypes.byref(program), 0, 0) == 0)


def _instruction(code: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("=HBBI", code, then, otherwise, value)


def _instructions(architecture: int, numbers: dict[str, int], pid: int, signals: bool) -> Iterator[bytes]:
    """Calls of another architecture are refused, then each of some calls unless its argument is one that is allowed."""
    yield _instruction(LOAD, ARCHITECTURE)
    yield _instruction(JUMP_IF_EQUAL, architecture, 1, 0)
    yield _instruction(RETURN, REFUSE)
    yield _instruction(LOAD, NUMBER)
    yield _instruction(JUMP_IF_AT_LEAST, OTHER_NUMBERS, 0, 1)
    yield _instruction(RETURN, REFUSE)
    for name in ("ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "process_madvise"):
        yield from _unless(numbers[name])
    yield from _unless(numbers["prlimit64"], (0, pid))
    yield from _check(numbers["fcntl"], 1, (F_SETOWN, F_SETOWN_EX), REFUSE, ALLOW)
    yield from _check(numbers["ioctl"], 1, (FIOSETOWN, SIOCSPGRP), REFUSE, ALLOW)
    if signals:
        yield from _unless(numbers["kill"], (0, pid))
        for name in ("tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo"):
            yield from _unless(numbers[name], (pid,))
        yield from _unless(numbers["pidfd_send_signal"])
    yield _instruction(RETURN, ALLOW)


def _check(number: int, argument: int, values: tuple[int, ...], matched: int, otherwise: int) -> Iterator[bytes]:
    """What becomes of a call by an argument, of which 32 bits are looked at, as the values have: one of them or not."""
    body = [_instruction(LOAD, ARGUMENTS + 8 * argument)]
    for place, value in enumerate(values):
        body.append(_instruction(JUMP_IF_EQUAL, value, len(values) - place, 0))
    body += [_instruction(RETURN, otherwise), _instruction(RETURN, matched)]
    yield _instruction(JUMP_IF_EQUAL, number, 0, len(body))
    yield from body


def _unless(number: int, allowed: tuple[int, ...] = ()) -> Iterator[bytes]:
    """Refuse a call, but for these values of its first argument."""
    return _check(number, 0, allowed, ALLOW, REFUSE)
