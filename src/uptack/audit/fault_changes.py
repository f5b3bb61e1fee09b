"""Ways to go wrong: what planted faults do to a function, a property or a result."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from uptack.blocks.partition import equal_blocks
from uptack.densities.density_boxes import DensityBox
from uptack.discrete.count_noise import SkewedLaplace
from uptack.errors import InvalidArgument
from uptack.multivariate.bounded import LENGTH
from uptack.multivariate.pairs import equal
from uptack.noise import Entropy, IntegerLaplace
from uptack.privacy import Adjacency


def told(**changes: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The same function, with some of its named arguments changed on the way in."""

    def change(original: Any) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            for name, how in changes.items():
                if name in options:
                    options[name] = how(options[name])
            return original(*arguments, **options)

        return call

    return change


def given(place: int, how: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The same for an argument by its place."""

    def change(original: Any) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            changed = (*arguments[:place], how(arguments[place]), *arguments[place + 1 :])
            return original(*changed, **options)

        return call

    return change


def times(factor: Fraction) -> Callable[[Any], Any]:
    """A property of so many times the size."""
    return lambda original: property(lambda self: original.fget(self) * factor)


def always(value: Any) -> Callable[[Any], Any]:
    """A property, or a function, that says the same whatever it is asked."""
    return lambda original: property(lambda self: value) if isinstance(original, property) else lambda *_, **__: value


def after(how: Callable[..., Any]) -> Callable[[Any], Any]:
    """What a function returns, changed: `how(result, *arguments)`."""
    return lambda original: lambda *a, **k: how(original(*a, **k), *a)


def before(look: Callable[..., Any]) -> Callable[[Any], Any]:
    """A look at the arguments on the way in, with whatever comes of it."""

    def change(original: Any) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            look(*arguments)
            return original(*arguments, **options)

        return call

    return change


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


def true_count(original: Any) -> Any:
    """The secret number of rows as it is."""
    return lambda n, law, entropy: n


def count_of_one_row(original: Any) -> Any:
    """Its noise for people with one row, whatever they have: here half of what two rows need."""
    return lambda n, law, entropy: original(n, IntegerLaplace(law.scale / 2), entropy)


def the_first(original: Any) -> Any:
    """The least of the candidates with the best score, in place of a draw."""
    return lambda boxes, *_: [low for low, _ in boxes.ends(0)]


def the_value(original: Any) -> Any:
    """A value without its noise."""
    return lambda value, *_: value


def anew(windows: Any, key: int) -> Any:
    """The digits of a cell's rows, drawn again for every window that asks for them."""
    return np.sort(windows._drawn(np.full(windows._counted[key][1], key)))


def chosen_anew(n: int, blocks: int, entropy: Entropy) -> Any:
    """Blocks that all n rows are dealt to evenly, so that one row more deals all of them anew."""
    members, found = equal_blocks(n, blocks, entropy), np.empty(n, np.int64)
    found[members[members >= 0]] = np.nonzero(members >= 0)[0]
    return found


def paired_anew(n: int, slots: int, most: int, entropy: Entropy) -> Any:
    """Pairs of all n rows, so that one row more deals all of them anew."""
    places = equal(n, most, entropy)
    return np.arange(places.shape[1]), places


def in_two_pairs(places: Any, *_: Any) -> Any:
    """Each pair, and all of their first rows once more with those of the next pair."""
    return np.hstack([places, [places[0], np.roll(places[0], 1)]])


def shares_of_a_bin(made: Any, *_: Any) -> Any:
    """A bin of a tree whose targets are shares of its rows, which are secret."""
    return replace(made, targets=tuple(2 * (t * made.rows // made.total) for t in made.targets), total=2 * made.rows)


def cut_by_ranks(found: Any, made: Any, steps: int, q: Fraction, rows: Any, start: int, *_: Any) -> Any:
    """Knots of a tree, after which the next bins start at the ranks that were aimed at, not at the knots."""
    return [(v, start + base) for (v, _), base in zip(found, made.bases, strict=True)]


def counted_by_value(rows: Any, candidate: int) -> int:
    """How many rows lie up to a candidate, all rows that are tied with it among them, whatever their digits."""
    key = rows._cells.key_of(candidate)
    rows._count({key})
    return int(min(sum(rows._counted[key]), rows._present))


def loud_look(original: Any) -> Any:
    """A test with noise of a scale that grows with ε."""

    def look(proposal: Any, entropy: Any) -> int:
        noise = IntegerLaplace(max(Fraction(proposal.test.epsilon) / 100, Fraction(1, 100)))
        return noise.cutoff(proposal.test.delta) - noise.sample(entropy=entropy)

    return look


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


def unbounded(columns: Any, radius: float = 0.0) -> Any:
    """Rows as integers, as long as they are."""
    return np.rint(np.clip(columns * (LENGTH / (radius or 1.0)), -(2.0**20), 2.0**20))


def direct(original: Any) -> Any:
    """Each margin with all of ε."""
    return lambda self, *rest: original(replace(self, epsilon=self.epsilon * len(self.chosen)), *rest)


def both_rising(
    epsilon: Fraction, relation: Adjacency, rising: Fraction = Fraction(1, 2), most: int = 1
) -> SkewedLaplace:
    """Both sides of skewed noise with the larger share of ε."""
    scale = 1 / (epsilon / (relation.rows_per_person * most) * max(rising, 1 - rising))
    return SkewedLaplace(scale, scale)


# -------------------------------------------------------------------------------------------------------------- people


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


def in_every_group(original: Any) -> Any:
    """A person counts in each of her groups."""

    def every(places: Any, codes: Any) -> Any:
        pairs = np.unique(np.column_stack([codes, places]), axis=0)
        return pairs[:, 0], pairs[:, 1]

    return every
