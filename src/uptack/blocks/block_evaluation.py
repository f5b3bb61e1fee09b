"""Random blocks of rows, and any function of the rows in each of them.

**Lemma.** Let each row be in t blocks, chosen independently of the data, and let each result be a function of the rows
of its block alone. Then one person with up to g rows changes at most t·g of the m results: neighbours stay neighbours,
with a factor of t·g and with the number of results fixed. Under SUBSTITUTE the blocks are of equal size; under
ADD_REMOVE the blocks of each row are drawn independently, so those of all other rows stay the same.

It does not depend on f that a result is a function of its block's rows alone:

- *What f sees* is built from the rows of its block and the declared types alone (`uptack.blocks.block_copies`): fresh
  copies in a random order, without anything that the whole table decides.
- *Where f starts from*: every block has a process of its own, which starts from the same state
  (`uptack.blocks.process_isolation`). What f keeps in itself, in defaults, in globals or in modules is gone with its
  block. NumPy's global generator is part of that state: a random f that wants other numbers in other blocks must seed
  its own.
- *What f leaves*: one plain value (`uptack.blocks.block_evaluation`). A block on which f raises anything, ends or
  crashes its process, takes longer than `timeout` seconds, or returns what can't be used (NaN, another shape, something
  unhashable, an object of a user's class) counts as if f had returned a fixed value, silently. What it prints, warns of
  or logs is lost.

*What f must not do.* It must not read data from elsewhere: from files, the network, other processes, or variables that
hold the table. The running time of f is not hidden, and `timeout` is wall-clock time: choose it far above what f needs.
With `trusted=True` f runs in this process, which is faster, and must also keep no state and terminate.

f may be a list of functions, for example of several independent analysts: block i goes to function i, starting again
after the last.

f returns plain values, in a form that is sent from one process to another. A number or vector is its bytes. An outcome
is made canonical by the worker (`uptack.mechanisms.stability.outcome`), so equal ones look alike, and is written as
JSON, with a name for each type that JSON does not have. Reading an answer can't run code, and takes time in proportion
to its length.
"""

from __future__ import annotations

import datetime as dt
import functools
import itertools
import json
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from uptack import checks, interrupts
from uptack.blocks.block_copies import Indices, library, parcels
from uptack.blocks.partition import rows_of
from uptack.blocks.process_isolation import FORKS, Job, apart
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.mechanisms.stability import outcome
from uptack.progress import track
from uptack.table.reads import OwnedRows

Function = Callable[[Any], Any]
Functions = Function | Sequence[Function]
Accept = Callable[[Any], Any]
TIMEOUT = 600
"""Seconds that f may take on a block."""
VECTOR, TEXT = b"v", b"t"


def encode_answer(value: Any) -> bytes:
    """An accepted value as bytes; TypeError where it is not plain.

    >>> value = (1, 2.5, frozenset({"b", "a"}), dt.date(2024, 2, 29))
    >>> decode_answer(encode_answer(value)) == value
    True
    """
    if isinstance(value, np.ndarray):
        return VECTOR + value.astype("<f8").tobytes()
    return TEXT + json.dumps(_encode(value)).encode()


def decode_answer(answer: bytes) -> Any:
    """The value again."""
    if answer[:1] == VECTOR:
        return np.frombuffer(answer[1:], "<f8").astype(np.float64)
    return _decode(json.loads(answer[1:]))


FORMS: dict[type, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    int: (hex, lambda text: int(text, 16)),
    float: (lambda value: (value + 0.0).hex(), float.fromhex),
    bytes: (bytes.hex, bytes.fromhex),
    tuple: (lambda value: [*map(_encode, value)], lambda parts: tuple(map(_decode, parts))),
    frozenset: (
        lambda value: sorted(map(_encode, value), key=json.dumps),
        lambda parts: frozenset(map(_decode, parts)),
    ),
    **{kind: (kind.isoformat, kind.fromisoformat) for kind in (dt.datetime, dt.date, dt.time)},
    dt.timedelta: (lambda value: [value.days, value.seconds, value.microseconds], lambda parts: dt.timedelta(*parts)),
}
"""How a canonical value of each type that JSON does not have is written and read."""
READERS = {kind.__name__: read for kind, (_, read) in FORMS.items()}


def _encode(value: Any) -> Any:
    if value is None or isinstance(value, bool | str):
        return value
    if type(value) not in FORMS:
        raise TypeError("not a plain value")
    return [type(value).__name__, FORMS[type(value)][0](value)]


def _decode(written: Any) -> Any:
    if written is None or isinstance(written, bool | str):
        return written
    return READERS[written[0]](written[1])


# ---------------------------------------------------------------------------------------- what a result must be like


def _number(result: Any) -> float:
    if isinstance(result, str | bytes) or not math.isfinite(value := float(result)):
        raise ValueError
    return value


def _vector(result: Any, size: int) -> NDArray[np.float64]:
    value = np.array(result, np.float64)
    if value.shape != (size,) or not np.isfinite(value).all():
        raise ValueError
    return value


def accepting(kind: str, fallback: Any) -> tuple[Accept, Any]:
    """How results are read ("number", "vector" or "outcome"), and the fallback read in that way.

    The size of a vector is that of the fallback: it must be public, and f's own might depend on the data.
    """
    must = {
        "number": "a finite number",
        "vector": "a vector of finite numbers, as long as what f returns",
        "outcome": "a plain hashable value",
    }[kind]
    try:
        vector = functools.partial(_vector, size=np.size(fallback))
        accept: Accept = {"number": _number, "outcome": outcome}.get(kind, vector)
        return accept, accept(decode_answer(encode_answer(accept(fallback))))
    except (TypeError, ValueError, OverflowError):
        fix = "Pass fallback=np.zeros(p), with p the length of f's results." if kind == "vector" else ""
    raise InvalidArgument("fallback", must, checks.describe(fallback), fix)


# ------------------------------------------------------------------------------------------------ f on every block


class EvaluationOptions(TypedDict, total=False):
    """How f is run.

    - `trusted`: run f in this process, which is faster (False).
    - `timeout`: seconds that f may take on a block (600).
    - `workers`: how many blocks are worked on at a time (1).
    - `progress`: whether to show how far it is; left out, where it takes long.
    """

    trusted: bool
    timeout: Rational
    workers: int | None
    progress: bool | None


def functions(f: Functions, *, workers: int | None = None, timeout: Rational = TIMEOUT, **_: Any) -> list[Function]:
    """f as a list of one or more functions; the number of processes and seconds is checked."""
    if workers is not None:
        checks.integer("workers", workers, least=1)
    checks.positive("timeout", timeout)
    several = list(f) if isinstance(f, Sequence) else [f]
    if not several or not all(map(callable, several)):
        raise InvalidArgument("f", "a function of rows, or a list of such", checks.describe(f))
    return several


def evaluate(
    f: Functions,
    data: Any,
    blocks: Sequence[Indices],
    accept: Accept,
    fallback: Any,
    *,
    trusted: bool = False,
    timeout: Rational = TIMEOUT,
    workers: int | None = None,
    progress: bool | None = None,
) -> list[Any]:
    """f of every block of rows, or of people; the fallback where it fails. `workers` blocks are worked on at a time.

    Rows in polars, and systems without `os.fork`, need a fresh interpreter: f must be such that it can be loaded there,
    and as always a script must start its work under `if __name__ == "__main__":`.

    >>> rows = np.array([4.0, 0.0, 2.0])
    >>> evaluate(lambda x: 1 / x[0], rows, [np.array([0]), np.array([1]), np.array([2])], _number, -1.0)
    [0.25, -1.0, 0.5]
    """
    limit = float(checks.positive("timeout", timeout))
    if isinstance(data, OwnedRows):
        data, blocks = data.data, rows_of(blocks, data.whose.codes)
    runs = [functools.partial(_answer, one, accept) for one in functions(f, workers=workers)]
    built = parcels(data, blocks, shipped=not FORKS and not trusted)
    jobs = [Job(run, parcel) for run, parcel in zip(itertools.cycle(runs), built, strict=False)]
    fresh = library(data) == "polars"
    answers = _here(jobs) if trusted else apart(jobs, workers=workers or 1, timeout=limit, fresh=fresh)
    answers = track(answers, "blocks", show=progress, total=len(blocks))
    return [_result(answer, accept, fallback) for answer in answers]


def attempt(f: Callable[..., Any], arguments: tuple[Any, ...], accept: Accept, fallback: Any) -> Any:
    """f(*arguments), on whole tables, or the fallback where it fails; it can't change what it is given."""
    job = Job(functools.partial(_answer, functools.partial(_spread, f), accept), functools.partial(tuple, arguments))
    fresh = any(library(one) == "polars" for one in arguments)
    (answer,) = apart([job], timeout=TIMEOUT, fresh=fresh)
    return _result(answer, accept, fallback)


def _spread(f: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    return f(*arguments)


def _answer(f: Function, accept: Accept, block: Any) -> bytes:
    with np.errstate(all="ignore"):
        return encode_answer(accept(f(block)))


def _here(jobs: Sequence[Job]) -> Iterator[bytes | None]:
    """The answers of functions that are trusted to keep no state."""

    def answer(job: Job) -> bytes | None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return job.answer()

    return (interrupts.attempt(functools.partial(answer, job), lambda: None) for job in jobs)


def _result(answer: bytes | None, accept: Accept, fallback: Any) -> Any:
    if answer is None:
        return fallback
    return interrupts.attempt(lambda: accept(decode_answer(answer)), lambda: fallback)
