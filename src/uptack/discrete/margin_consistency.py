"""Noisy margins of one table, made to agree."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Names = tuple[str, ...]
Floats = NDArray[np.float64]


def _component(array: Floats, keep: Sequence[int]) -> Floats:
    """The part of an array that belongs to the interaction of these axes: its means over the others, centred."""
    others = tuple(axis for axis in range(array.ndim) if axis not in keep)
    part: Floats = array.mean(axis=others, keepdims=True)
    for axis in keep:
        part = part - part.mean(axis=axis, keepdims=True)
    return part


def _spread(component: Floats, own: Names, names: Names) -> Floats:
    """A component of some columns with axes of length 1 for the columns of a margin that it is not about."""
    return component.reshape([component.shape[own.index(n)] if n in own else 1 for n in names])


def consistent(noisy: Mapping[Names, NDArray[Any]], total: int | None = None) -> dict[Names, Floats]:
    """The nearest margins, in least squares, that one table has; and one of this total, where it is given.

    **Theorem.** Let margin S of a table have N_S cells. It is the sum over T ⊆ S of interactions a_T/N_S, orthogonal
    to each other, where a_T depends on the table and not on S. So the sum of squares splits by T, and is least at
    a_T = Σ ĝ_ST / Σ 1/N_S, sums over the margins S that contain T, with ĝ_ST the interaction T of the noisy margin S.

    Columns must come in one order in all margins.

    >>> fit = consistent({("a", "b"): np.array([[4, 1], [2, 3]]), ("a",): np.array([8, 2])})
    >>> fit["a", "b"].sum(axis=1) - fit["a",]
    array([0., 0.])
    """
    parts: dict[Names, Floats] = {}
    shares: dict[Names, float] = {}
    for names, array in noisy.items():
        for size in range(len(names) + 1):
            for keep in itertools.combinations(range(len(names)), size):
                own = tuple(names[axis] for axis in keep)
                part = _component(np.asarray(array, np.float64), keep).reshape([array.shape[axis] for axis in keep])
                parts[own] = parts.get(own, 0.0) + part
                shares[own] = shares.get(own, 0.0) + 1 / array.size
    fits = {own: part / shares[own] for own, part in parts.items()}
    if total is not None:
        fits[()] = np.array(float(total))
    return {names: _assembled(fits, names, array.shape) for names, array in noisy.items()}


def _assembled(fits: Mapping[Names, Floats], names: Names, shape: tuple[int, ...]) -> Floats:
    """Margin S as the sum of its interactions a_T/N_S."""
    out = np.zeros(shape)
    for size in range(len(names) + 1):
        for own in itertools.combinations(names, size):
            out += _spread(fits[own], own, names) / out.size
    return out
