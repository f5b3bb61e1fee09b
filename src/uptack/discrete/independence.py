"""The chi-square test of independence of two columns, with a p-value that accounts for the noise."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from uptack import checks
from uptack.account import Account, Outcome
from uptack.discrete.categories import Screen, SkewedLaplace, category_counts, cell_noise, each_count
from uptack.discrete.domains import public_groups
from uptack.discrete.histograms import Crosstab
from uptack.display import Ends, FigureTable, Record, TabularValue, line
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.grouping import per_group
from uptack.mechanisms.additive_noise import IntegerNoise
from uptack.noise import Entropy
from uptack.privacy import SUBSTITUTE, Adjacency, loss
from uptack.registry import release
from uptack.registry.options import Grouping
from uptack.release import Advice, NoReply, Release
from uptack.table.memory.table import MemoryTable
from uptack.table.names import check_keys, check_kind, distinct
from uptack.table.protocol import Column
from uptack.table.reads import COUNTED, GroupedData, Reads
from uptack.table.values.entrance import column_field
from uptack.table.values.kinds import canonical, in_order

HOW = "integer noise on the table of counts"
Floats = NDArray[np.float64]
Levels = tuple[Hashable, ...]

DRAWS = 4999
"""How often the null law is drawn: no p-value is below one in 5,000."""
MOST = 400
"""The most cells that a table may have: the null law takes memory for each."""
LIST_SHARE = Fraction(1, 8)
"""The part of ε that finds the levels of a column, where they are not public."""
DEPENDENT = "The p-value assumes that all rows are independent, including rows of one person."
LARGEST_TOTAL = 10**8
"""Up to so many rows tables are drawn with their margins; beyond, NumPy can't, and a multinomial law is the same."""


@dataclass(frozen=True, repr=False)
class IndependenceTest(TabularValue):
    """A noisy chi-square statistic, its p-value, Cramér's V, and the noisy table. It unpacks to the first two."""

    statistic: float
    pvalue: float
    cramers_v: float
    counts: Crosstab

    def __iter__(self) -> Iterator[float]:
        return iter((self.statistic, self.pvalue))

    def __repr__(self) -> str:
        size = " by ".join(str(len(self.counts.levels(side))) for side in (0, 1))
        figures = f"statistic={self.statistic:.4g}, pvalue={self.pvalue:.4g}, cramers_v={self.cramers_v:.3g}"
        return f"IndependenceTest({figures}, a table of {size})"

    def figures(self, ends: Ends = None) -> list[Record]:
        named = {"statistic": self.statistic, "p-value": self.pvalue, "Cramér's V": self.cramers_v}
        return [line({"figure": name}, value) for name, value in named.items()]

    def table(self) -> FigureTable:
        return FigureTable.of(self.figures(), "chi-square test of independence", repr(self.counts).splitlines())


@dataclass(frozen=True)
class CrossedReads(Reads):
    """Two columns of categories, whose public levels a schema may list."""

    def complete_options(self, names: Any, given: Any, kinds: Any, levels: Any, allowed: Any) -> dict[str, Any]:
        public = {name: levels[name] for name in names if name in levels}
        return {**given, "levels": public} if public and given.get("levels") is None else dict(given)


CROSSED = CrossedReads("sides", COUNTED, least=2, most=2)


def _by_group(f: Any, data: GroupedData, *, groups: Any = None, levels: Any = None, **options: Any) -> Any:
    """The test of each group. δ finds unknown groups or unknown levels, and not both."""
    unknown = None in _public_levels(data.arguments, levels)
    if unknown and groups is None and checks.delta("delta", options.get("delta", 0)):
        fix = "List the groups, or list the categories of both columns in levels=."
        raise InvalidArgument(
            "groups", "given if levels= is not: δ can find the groups or the levels, not both", "None", fix
        )
    return per_group(f, data, groups=groups, levels=levels, **options)


@release(
    reads=CROSSED,
    by=_by_group,
    data=("a", "b"),
    missing=None,
    plan=each_count,
    examples=({"levels": ((0, 1), (0, 1))},),
    page="chi_square",
)
def chi_square(
    a: Any,
    b: Any,
    *,
    epsilon: Rational,
    levels: Mapping[str, Any] | Sequence[Any] | None = None,
    delta: Rational = 0,
    rows_per_person: int = 1,
    adjacency: Adjacency = SUBSTITUTE,
    entropy: Entropy | None = None,
    **_: Unpack[Grouping],
) -> Release[IndependenceTest] | NoReply:
    """The chi-square test of independence of two categorical columns, with Cramér's V, the size of their association.

    `levels` are the public categories of both columns: a pair of lists, or a mapping of the columns' names to lists.
    Truth values need none. Rows with another value, or without one, are left out. If the levels of a column are not
    given, those with enough rows are found for an eighth of ε, with δ (`uptack.discrete.categories`).

    **Theorem.** (ε, δ)-differentially private, and ε if all levels are public: the table is a histogram of pairs
    (`uptack.discrete.histograms.histogram`), with integer Laplace noise of scale b = 2g/ε or g/ε, g the rows of a
    person. The lists of levels are paid for before. The rest is post-processing of the noisy table Y.

    **The test.** With E_ij = Y_i·Y_j/Y the statistic is Σ (Y_ij - E_ij)²/(E_ij + v), v = 2b² the variance of the noise:
    without noise it is Pearson's, and no cell of few rows is weighed by more than its noise allows. Given its margins,
    a table of independent columns has a hypergeometric law, whatever the populations are. The p-value is
    (1 + k)/(1 + 4999), where k of 4999 such tables with the margins of Y, and with fresh noise, have a statistic at
    least as large. It is approximate in one respect: the margins are noisy themselves, by about b·√(2·levels), and
    there is ⊥ unless each is at least twice that. `value.cramers_v` is √(max(X² - m, 0)/(n·(min(r, c) - 1))), X² =
    Σ (Y - E)²/max(E, 1) and m its mean over the same draws, which noise and sampling alone account for.

    The test assumes independent rows. So there is no `person=`: rows of one person need not be independent. With
    `rows_per_person` the release is private for people with several rows; the notes then say what the p-value assumes.

    >>> from uptack import SeededEntropy
    >>> rng = np.random.default_rng(1)
    >>> smokes = rng.random(4000) < 0.3
    >>> ill = rng.random(4000) < np.where(smokes, 0.3, 0.2)
    >>> result = chi_square(smokes, ill, epsilon=1, entropy=SeededEntropy(1)).value
    >>> result.pvalue < 0.001, round(result.cramers_v, 1)
    (True, 0.1)
    >>> result.counts[True, False]
    8...
    """
    account = Account.open(
        "chi-square test", epsilon, delta, adjacency=adjacency, rows_per_person=rows_per_person, entropy=entropy
    )
    columns = _columns(a, b)
    public = _public_levels(columns, levels)
    unknown = public.count(None)
    if unknown and account.delta == 0:
        fix = "List the categories of both columns, or pass delta=1e-6 to find those with enough rows."
        raise InvalidArgument("levels", "listed if δ is 0", "those of one column" if unknown == 1 else "none", fix)
    left = account.epsilon * (1 - LIST_SHARE * unknown)
    law = cell_noise(left, account.adjacency)
    least = math.ceil(16 * float(law.up))
    if account.adjacency.size_is_public and columns[0].table.size < least:
        return account.close(Outcome.refusal(HOW, Advice(n=least)))
    sides = list[Levels]()
    for column, listed in zip(columns, public, strict=True):
        if listed is None:  # the categories with enough rows, without missing values
            part = account.allot(account.epsilon * LIST_SHARE, account.delta / unknown)
            screen = Screen.of(part.epsilon, part.delta, account.adjacency)
            categories = part.draw(screen, category_counts(column))[0]
            listed = tuple(sorted((one for one in categories if one is not None), key=in_order))
        sides.append(listed)
    if min(map(len, sides)) < 2 or math.prod(map(len, sides)) > MOST:
        why = f"{len(sides[0])} and {len(sides[1])} categories were found with enough {account.adjacency.unit}"
        return account.close(Outcome.refusal(HOW, Advice(other="lists of categories in levels=", why=why)))
    counts = columns[0].table.counts(columns)
    seen = {tuple(map(canonical, key)): int(n) for key, n in zip(counts.keys, counts.units, strict=True)}
    exact = np.array([[seen.get((row, column), 0) for column in sides[1]] for row in sides[0]], np.int64)
    noisy = account.draw(IntegerNoise(loss.Pure(left), law), exact)
    return account.close(_test(noisy, law, sides, account))


def _columns(a: Any, b: Any) -> tuple[Column, Column]:
    """Both columns of one table."""
    if isinstance(a, Column):
        return a, b
    must = "a one-dimensional column of categories"
    fields = {name: column_field(name, x, None, must) for name, x in (("a", a), ("b", b))}
    if fields["a"].size != fields["b"].size:
        raise InvalidArgument("b", f"as long as a, {fields['a'].size} rows", f"{fields['b'].size} rows")
    table = MemoryTable.of(fields)
    return table.column("a"), table.column("b")


def _public_levels(columns: Sequence[Column], levels: Any) -> list[Levels | None]:
    """The public levels of both columns; None where they are unknown."""
    if isinstance(levels, Mapping):
        check_keys("levels", levels, [column.name for column in columns])
    public = [_column_levels(column, place, levels) for place, column in enumerate(columns)]
    sizes = [len(one) for one in public if one is not None]
    if len(sizes) == 2 and math.prod(sizes) > MOST:
        got = f"{sizes[0]} times {sizes[1]}, {math.prod(sizes):,} cells"
        raise InvalidArgument("levels", f"lists that make a table of at most {MOST} cells", got, "Leave some out.")
    return public


def _column_levels(column: Column, place: int, levels: Any) -> Levels | None:
    """The public levels of a column, as its rows hold them; None where they are unknown."""
    must = "a pair of lists of categories, or a mapping of the columns' names to such lists"
    if levels is None or isinstance(levels, Mapping):
        given = (levels or {}).get(column.name)
    elif isinstance(levels, list | tuple) and len(levels) == 2:
        given = levels[place]
    else:
        raise InvalidArgument("levels", must, checks.describe(levels))
    if given is None:
        return (False, True) if column.kind == "boolean" else None
    public = public_groups(given, "levels")
    check_kind("levels", public, column.name, column.table.value_kind(column.name))
    listed = distinct("levels", public, [column.kind], "distinct values of the column's type")
    if None in listed or not 2 <= len(listed) <= MOST // 2:
        raise InvalidArgument("levels", f"from 2 to {MOST // 2} categories other than None", checks.describe(given))
    return listed


def _test(noisy: Any, law: SkewedLaplace, sides: Sequence[Levels], account: Account) -> Outcome[IndependenceTest]:
    """The test of a noisy table: post-processing."""
    scale = float(law.up)
    rows, columns = noisy.sum(axis=1), noisy.sum(axis=0)
    each = 2 * scale * np.sqrt(2 * np.array(noisy.shape[::-1]))  # what the noise of a margin may be
    if (rows < each[0]).any() or (columns < each[1]).any():
        least = math.ceil(2 * max(len(rows) * each[0], len(columns) * each[1]))
        why = "a category is too small for the noise"
        return Outcome.refusal(HOW, Advice(n=least, other="fewer categories", why=why))
    rng = np.random.Generator(np.random.Philox(account.toss(lambda entropy: entropy.below(1 << 63))))
    rate = -math.expm1(-1 / scale)
    tables = null_tables(rows, columns, rng)
    tables += rng.geometric(rate, tables.shape) - rng.geometric(rate, tables.shape)
    statistics, squares = _statistics(tables.astype(np.float64), 2 * scale**2)
    statistic, square = (float(part[0]) for part in _statistics(noisy[None].astype(np.float64), 2 * scale**2))
    beyond = int(np.count_nonzero(statistics >= statistic * (1 - 1e-12)))
    n, fewer = max(int(noisy.sum()), 1), min(noisy.shape) - 1
    effect = math.sqrt(min(max(square - float(squares.mean()), 0.0) / (n * fewer), 1.0))
    table = Crosstab(tuple(itertools.product(*sides)), noisy.ravel())
    notes = (DEPENDENT,) if account.rows > 1 else ()
    return Outcome(IndependenceTest(statistic, (1 + beyond) / (1 + DRAWS), effect, table), HOW, notes=notes)


def _statistics(tables: Floats, variance: float) -> tuple[Floats, Floats]:
    """Σ (Y - E)²/(E + v) and Σ (Y - E)²/max(E, 1) of each table."""
    rows, columns = (np.maximum(tables.sum(axis=axis, keepdims=True), 0.0) for axis in (2, 1))
    expected = rows * columns / np.maximum(tables.sum(axis=(1, 2), keepdims=True), 1.0)
    squares = (tables - expected) ** 2
    plain: Floats = (squares / np.maximum(expected, 1.0)).sum(axis=(1, 2))
    return (squares / (expected + variance)).sum(axis=(1, 2)), plain


def null_tables(rows: NDArray[Any], columns: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int64]:
    """Tables of independent columns with such margins: so many draws, cell by cell, each given those before it."""
    total, shape = int(rows.sum()), (DRAWS, len(rows), len(columns))
    if total > LARGEST_TOTAL:
        shares = np.outer(rows / total, columns / total).ravel()
        return rng.multinomial(total, shares / shares.sum(), DRAWS).reshape(shape)
    out = np.zeros(shape, np.int64)
    free = np.tile(columns.astype(np.int64), (DRAWS, 1))  # what is left of each column
    for i, margin in enumerate(rows.tolist()):
        wanted, later = np.full(DRAWS, margin, np.int64), free.sum(axis=1)
        for j in range(len(columns)):
            later = later - free[:, j]
            out[:, i, j] = rng.hypergeometric(free[:, j], later, wanted)
            wanted = wanted - out[:, i, j]
        free -= out[:, i]
    return out
