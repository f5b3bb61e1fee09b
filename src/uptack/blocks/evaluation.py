"""Random blocks of rows, and any function of the rows in each of them.

**Lemma.** Let each row be in t blocks, chosen without a look at the data, and let f be a function of the rows of its
block alone. Then one person with up to g rows changes at most t·g of the m results: neighbours stay neighbours, with a
factor of t·g and with the number of results fixed. Under SUBSTITUTE the blocks are of equal size; under ADD_REMOVE each
row chooses its blocks by itself, so that the choices of all other rows stay what they were.

So that a hostile row can't do more than that, a block on which f raises, ends its process, or returns what can't be
used (NaN, another shape, something unhashable) counts as if f had returned a fixed value, and nobody is told.

*What f must keep to.* f sees the rows of one block, in a random order, without index labels, and may change them: they
are copies. A callable that can be pickled is copied for every block too, so what it keeps in itself can't travel
from block to block. What it keeps in global variables can: then its results depend on other blocks, and nothing is
promised. How long f takes is not hidden.

f may be a list of functions, as of several analysts who don't talk to each other: block i goes to number i, and to the
first again after the last.
"""

from __future__ import annotations

import functools
import itertools
import math
import pickle
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.noise import Entropy
from uptack.progress import track
from uptack.reach.mode import outcome
from uptack.regression.blocks import equal_blocks, independent_blocks

Indices = NDArray[np.int64]
Function = Callable[[Any], Any]
Functions = Function | Sequence[Function]
Accept = Callable[[Any], Any]
Result = tuple[Any, ...]
"""One accepted value, or none."""


def random_blocks(n: int, blocks: int, entropy: Entropy, *, times: int = 1, substitute: bool = True) -> list[Indices]:
    """The positions of the rows of each block: `times` random partitions, each into blocks/times of them.

    >>> from uptack import SeededEntropy
    >>> np.bincount(np.concatenate(random_blocks(7, 6, SeededEntropy(1), times=3))).tolist()
    [3, 3, 3, 3, 3, 3, 3]
    """
    part = equal_blocks if substitute else independent_blocks
    lines = (line for _ in range(times) for line in part(n, blocks // times, entropy))
    return [line[line >= 0] for line in lines]


def check_times(times: int, blocks: int) -> int:
    """How many blocks each row is in: a divisor of the number of blocks."""
    t = checks.integer("times", times, least=1)
    if blocks % t:
        raise InvalidArgument("times", f"a divisor of blocks, {blocks}", t, f"Take {blocks - blocks % t or t} blocks.")
    return t


def number_of_rows(data: Any) -> int:
    """How many rows a table has, of a kind from which rows can be picked by position."""
    array = isinstance(data, np.ndarray) and data.ndim > 0
    frame = hasattr(data, "iloc") or type(data).__module__.partition(".")[0] == "polars"
    if not (array or isinstance(data, list | tuple) or (frame and hasattr(data, "__len__"))):
        must = "a NumPy array, a pandas or polars frame or column, or a list of rows"
        raise InvalidArgument("data", must, checks.describe(data), "Collect a lazy frame first.")
    return len(data)


def select(data: Any, rows: Indices) -> Any:
    """Copies of these rows, in the form that the data have. Index labels are left out: they would count other rows."""
    if isinstance(data, list | tuple):
        return [data[i] for i in rows.tolist()]
    return data.iloc[rows].reset_index(drop=True) if hasattr(data, "iloc") else data[rows]


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
        "outcome": "a hashable value",
    }[kind]
    try:
        vector = functools.partial(_vector, size=np.size(fallback))
        accept: Accept = {"number": _number, "outcome": outcome}.get(kind, vector)
        return accept, accept(fallback)
    except (TypeError, ValueError, OverflowError):
        fix = "Pass fallback=np.zeros(p), with p the length of f's results." if kind == "vector" else ""
        raise InvalidArgument("fallback", must, checks.describe(fallback), fix) from None


# ------------------------------------------------------------------------------------------------ f on every block


def functions(f: Functions, workers: int | None = None) -> list[Function]:
    """f as a list of one or more functions, for so many processes."""
    if workers is not None:
        checks.integer("workers", workers, least=1)
    given = list(f) if isinstance(f, Sequence) else [f]
    if not given or not all(map(callable, given)):
        raise InvalidArgument("f", "a function of rows, or a list of such", checks.describe(f))
    return given


def evaluate(
    f: Functions,
    data: Any,
    blocks: Sequence[Indices],
    accept: Accept,
    fallback: Any,
    *,
    workers: int | None = None,
    progress: bool | None = None,
) -> list[Any]:
    """f of every block; the fallback where it fails.

    With `workers` of 2 or more the blocks are spread over so many processes; a callable that can't be pickled, or not
    be loaded over there, runs in this process all the same. As always with processes, a script must start its work
    under `if __name__ == "__main__":`.

    >>> rows = np.array([4.0, 0.0, 2.0])
    >>> evaluate(lambda x: 1 / x[0], rows, [np.array([0]), np.array([1]), np.array([2])], _number, -1.0)
    [0.25, -1.0, 0.5]
    """
    analysts = functions(f)
    packed = [_packed(one) for one in analysts]
    tables = (select(data, rows) for rows in blocks)
    results = (
        _spread(list(filter(None, packed)), tables, accept, workers) if all(packed) and (workers or 1) > 1 else None
    )
    if results is None:
        turns = zip(itertools.cycle(zip(packed, analysts, strict=True)), tables, strict=False)
        results = (_attempt(pickle.loads(copy) if copy else one, table, accept) for (copy, one), table in turns)
    return [r[0] if r else fallback for r in track(results, "blocks", show=progress, total=len(blocks))]


def _packed(f: Function) -> bytes | None:
    try:
        packed = pickle.dumps(f)
        return packed if callable(pickle.loads(packed)) else None
    except Exception:
        return None


def _attempt(f: Function, table: Any, accept: Accept) -> Result:
    try:
        with np.errstate(all="ignore"):
            return (accept(f(table)),)
    except (Exception, SystemExit):
        return ()


def _remote(packed: bytes, table: Any, accept: Accept) -> Result:
    return _attempt(pickle.loads(packed), table, accept)


def _load(packed: list[bytes]) -> int:
    return len([pickle.loads(one) for one in packed])


def _spread(packed: list[bytes], tables: Iterator[Any], accept: Accept, workers: int | None) -> Iterator[Result] | None:
    """Results from processes, in order; None where they can't load f."""
    pool = ProcessPoolExecutor(workers)
    try:
        pool.submit(_load, packed).result()
    except Exception:
        pool.shutdown()
        return None

    def results() -> Iterator[Result]:
        with pool:
            turns = zip(itertools.cycle(packed), tables, strict=False)
            waiting = [(_submit(pool, one, table, accept), one, table) for one, table in turns]
            for future, one, table in waiting:
                found = _collect(future)
                yield _alone(one, table, accept) if found is None else found

    return results()


def _submit(pool: ProcessPoolExecutor, packed: bytes, table: Any, accept: Accept) -> Future[Result] | None:
    try:
        return pool.submit(_remote, packed, table, accept)
    except BrokenExecutor:
        return None


def _collect(future: Future[Result] | None) -> Result | None:
    """What a process found; None where some process died, which takes all others of its pool along."""
    try:
        return None if future is None else future.result()
    except BrokenExecutor:
        return None
    except Exception:  # what f returned could not be sent
        return ()


def _alone(packed: bytes, table: Any, accept: Accept) -> Result:
    """A block in a process of its own: whether it ends that process is its own affair."""
    with ProcessPoolExecutor(1) as pool:
        return _collect(_submit(pool, packed, table, accept)) or ()
