"""Wrong code that planted faults put in the place of right code, where it takes more than a line."""

from __future__ import annotations

import logging
import sys
import warnings
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from uptack.blocks.partition import equal_blocks
from uptack.densities.fourier import DensityBox
from uptack.discrete.count_noise import SkewedLaplace
from uptack.errors import InvalidArgument
from uptack.noise import Entropy
from uptack.privacy import Adjacency, Privacy


def _largest(data: Any) -> float:
    return float(np.max(np.nan_to_num(np.asarray(getattr(data, "values", data), np.float64)), initial=0.0))


def warn(x: Any, *_: Any) -> None:
    """A warning that a large row sets off."""
    if _largest(x) > 1e300:
        warnings.warn("overflow encountered", RuntimeWarning, stacklevel=2)


def fail(x: Any, *_: Any) -> None:
    """An error that shows a row."""
    if _largest(x) > 1e300:
        raise InvalidArgument("x", "smaller", _largest(x))


def divide(x: Any, *_: Any) -> None:
    """An error of Python's own, for a large row."""
    if _largest(x) > 1e300:
        raise ZeroDivisionError


def fail_behind(x: Any, *_: Any) -> None:
    """An error whose text is harmless, with another one behind it."""
    try:
        fail(x)
    except InvalidArgument:
        raise InvalidArgument("x", "other", "this") from None


def log(x: Any, *_: Any) -> None:
    """A line in the log that shows a row."""
    logging.getLogger("uptack").debug("the largest row is %s", _largest(x))


def show(x: Any, *_: Any) -> None:
    """A line of output for a large row."""
    if _largest(x) > 1e300:
        sys.stderr.write("a large row\n")


def narrow(release: Any, x: Any, *_: Any) -> Any:
    """Another type for a large row."""
    return replace(release, value=np.float32(release.value)) if release and _largest(x) > 1e300 else release


def note(release: Any, x: Any, *_: Any) -> Any:
    """A note that shows a row."""
    return replace(release, notes=(f"{_largest(x):.3g}",)) if release else release


def anew(windows: Any, key: int) -> Any:
    """The digits of a cell's rows, drawn again for every window that asks for them."""
    return np.sort(windows._drawn(np.full(windows._counted[key][1], key)))


def chosen_anew(n: int, blocks: int, entropy: Entropy) -> Any:
    """Blocks that all n rows are dealt to evenly, so that one row more deals all of them anew."""
    members, found = equal_blocks(n, blocks, entropy), np.empty(n, np.int64)
    found[members[members >= 0]] = np.nonzero(members >= 0)[0]
    return found


def shares_of_a_bin(made: Any, *_: Any) -> Any:
    """A bin of a tree whose targets are shares of its rows, which are secret."""
    return replace(made, targets=tuple(2 * (t * made.rows // made.total) for t in made.targets), total=2 * made.rows)


def counted_by_value(rows: Any, candidate: int) -> int:
    """How many rows lie up to a candidate, all rows that are tied with it among them, whatever their digits."""
    key = rows._cells.key_of(candidate)
    rows._count({key})
    return int(min(sum(rows._counted[key]), rows._present))


def bare_box(columns: Any, *_: Any) -> DensityBox:
    """A box read off the data."""
    ends = [(float(line.min()), float(line.max()) + 1) for line in columns.rows().in_memory().lines]
    return DensityBox(*(tuple(side) for side in zip(*ends, strict=True)))


def bare_width(columns: Any, *_: Any) -> Any:
    """A bandwidth read off the data."""
    return (float(np.std(columns.rows().in_memory().lines[0])) / 5,), np.array([[0.0, 1.0]])


def largest_shown(original: Any) -> Any:
    """Fits of all blocks with the largest response of all rows in them."""
    return lambda x, y, *rest, **options: original(x, y, *rest, **options) + np.abs(y).max()


def scaled_by_all(original: Any) -> Any:
    """Rows scaled by the largest of all."""
    return lambda x, y: original(x, y / np.abs(y).max())


def both_rising(
    epsilon: Fraction, relation: Adjacency, rising: Fraction = Fraction(1, 2), most: int = 1
) -> SkewedLaplace:
    """Both sides of skewed noise with the larger share of ε."""
    scale = 1 / (epsilon / (relation.rows_per_person * most) * max(rising, 1 - rising))
    return SkewedLaplace(scale, scale)


def rows_are_dealt(original: Any) -> Any:
    """Blocks of rows in place of people: those of one person are in several."""

    def scattered(blocks: Any, codes: Any) -> Any:
        rows = np.concatenate(original(blocks, codes))
        return [rows[i :: len(blocks)] for i in range(len(blocks))]

    return scattered


def rows_change_slots(original: Any) -> Any:
    """Rows have the slots of others: those of one person are in several blocks."""

    def deal(rows: Any, *how: Any) -> Any:
        for slots, lines in original(rows, *how):
            yield np.concatenate([slots[i::7] for i in range(7)]), lines

    return deal


def all_units_each(unit: Any, m: Any, least: Any = None) -> Any:
    """Every row has all units of its person."""
    return m * 0 + unit.most


def without_a_cap(rows: Any, most: int) -> int:
    """All rows of everybody."""
    return int(rows.sum())


def all_for_one_row(plan: Any, groups: int) -> Privacy:
    """All of ε for each row of a person."""
    return Privacy(plan.answers.exact_epsilon, plan.answers.exact_delta, plan.adjacency.one_added)


def cut_by_ranks(found: Any, made: Any, steps: int, chain: Any, rows: Any, start: int, *_: Any) -> Any:
    """Knots of a tree, after which the next bins start at the ranks that were aimed at, not at the knots."""
    return [(v, start + base) for (v, _), base in zip(found, made.bases, strict=True)]
