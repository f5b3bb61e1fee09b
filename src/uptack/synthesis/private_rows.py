"""Synthetic rows of a table, without bounds, bins or lists of categories."""

from __future__ import annotations

import math
import os
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from uptack import checks
from uptack.account import Account, Outcome
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.labels import label
from uptack.noise import Entropy
from uptack.privacy import SUBSTITUTE, Adjacency, concentrated_rho
from uptack.registry import release
from uptack.release import Advice, NoReply, Release
from uptack.synthesis import tuning
from uptack.synthesis.cells import is_ordered
from uptack.synthesis.fit import Margin, draw
from uptack.synthesis.measure import Shares, TwoWay, measure_columns, measure_pairs, round_price
from uptack.synthesis.noisy_counts import RhoBudget, short
from uptack.synthesis.synthetic_table import ColumnFit, PairFit, SyntheticTable, distance_bound
from uptack.table.ids import owners
from uptack.table.memory.table import MemoryTable
from uptack.table.names import column_name, comparable
from uptack.table.opening import open_table
from uptack.table.protocol import Column, Columns
from uptack.table.reads import EnteredData, Reads
from uptack.table.values.entrance import field, frame, frame_column
from uptack.table.values.kinds import Kind, canonical
from uptack.table.values.times import DAY, Form, ticks_beside

HOW = "noisy counts of cells"
MOST_ROWS, MOST_COLUMNS, MOST_LEVELS = 10**8, 500, 10_000
KINDS = Reads("columns", ("integer", "number", "boolean", "text", "time", "duration", "any", "other"), most=None)


@dataclass(frozen=True)
class TableData:
    """How a caller's table becomes one of people: `person` names columns of it, or is the id of each row."""

    people: tuple[str, ...] = ()

    def enter(self, data: Mapping[str, Any], person: Any = None, order: Any = None, by: Any = None) -> EnteredData:
        """All columns but those of ids."""
        table = data["table"]
        if isinstance(person, str) or (isinstance(person, list | tuple) and person and _are_names(person, table)):
            made = open_table(table, person=person)
        else:
            columns = table_columns(table)
            if not isinstance(columns.table, MemoryTable):
                raise InvalidArgument("person", "the name of a column of the table", checks.outline(person))
            whose = owners(person)
            whose.check("table", next(iter(columns.table.fields.values())).size)
            made = MemoryTable.of(columns.table.fields, whose)
        return EnteredData({"table": Columns(map(made.column, made.kinds))}, made, ())  # type: ignore[arg-type]


def _are_names(person: Any, table: Any) -> bool:
    """Whether a list names columns of a table."""
    named = dict.fromkeys(name for name, _ in frame(table) or ()) if not isinstance(table, Mapping) else table
    return all(isinstance(name, str) for name in person) and (
        isinstance(table, str | os.PathLike) or all(name in named for name in person)
    )


def table_columns(table: Any) -> Columns:
    """All columns of a table, wherever it is; of an array or a list, one that is named x."""
    if isinstance(table, Columns):
        return table
    if isinstance(table, Column):
        return Columns([table])
    single = isinstance(table, list | tuple) or (frame(table) is None and frame_column(table) is not None)
    source = MemoryTable.of({"x": field("table", table)}) if single else open_table(table)
    return Columns(map(source.column, source.kinds))


@release(reads=KINDS, data=("table",), people=TableData(), missing=None, examples=({"delta": 1e-6},), page="synthetic")
def synthetic(
    table: Any,
    *,
    epsilon: Rational,
    delta: Rational,
    rows: int | None = None,
    levels: Mapping[str, Any] | None = None,
    rows_per_person: int = 1,
    adjacency: Adjacency = SUBSTITUTE,
    entropy: Entropy | None = None,
) -> Release[SyntheticTable] | NoReply:
    """Synthetic rows that have about the one-way tables of the data and the two-way tables that matter, or ⊥.

    **Theorem.** The release is (ε, δ)-differentially private. Rows are read by counts of cells alone. Every number that
    leaves them is a draw of `IntegerNoise`, `FrequentKeys` or `ScoredChoice`, with the theorems and sensitivities of
    `uptack.synthesis.noisy_counts`. What is measured next follows from what was released. The draws add up to at most
    ρ, and the failures of lists of frequent keys to at most δ/10, whatever comes of them: so all of them together are
    δ/10-approximately ρ-zCDP (`Account.concentrated`), with the largest ρ that makes this (ε, δ)-private. Fits and rows
    are made of released numbers.

    1. Values of a column that are frequent, which nobody need list: categories, and numbers that repeat.
    2. For other numbers: how many decimals they have, buckets of leading bits that hold enough rows, and the buckets
       that do.
    3. One-way tables of cells: frequent values, parts of buckets, gaps, tails, missing values.
    4. Two-way tables, in rounds: the pair and the resolution that the rows so far would miss most, as in AIM.
    5. Rows, drawn column by column along the measured pairs.

    `table` is a frame, a dictionary of columns, an array, or whatever `uptack.open` takes. `rows` is how many rows are
    drawn, as many as the data have unless given: more of them say no more. `levels` lists public categories by column,
    which then cost nothing to find; other values become "(other)".

    With `person=` a person's rows weigh one in all, and people are protected with all their rows. Synthetic rows are
    not grouped into people.

    >>> import numpy as np
    >>> from uptack import SeededEntropy
    >>> age = np.random.default_rng(0).integers(20, 60, 20_000)
    >>> ward = {"age": age, "smokes": age % 4 == 0}
    >>> made = synthetic(ward, epsilon=1, delta=1e-6, entropy=SeededEntropy(1)).value
    >>> made, int(np.median(made.columns["age"])), round(float(made.columns["smokes"].mean()), 2)
    (SyntheticTable(20,000 rows of age, smokes), 40, 0.25)
    """
    checks.inside_unit("delta", delta, "Values that nobody listed need δ > 0, such as 1e-6.")
    account = Account.open(
        "synthetic table", epsilon, delta, adjacency=adjacency, rows_per_person=rows_per_person, entropy=entropy
    )
    columns = table_columns(table)
    plan = _plan(columns, account, levels)
    wanted = None if rows is None else checks.integer("rows", rows, least=1)
    if wanted is not None and wanted > MOST_ROWS:
        raise InvalidArgument("rows", f"at most {MOST_ROWS:,}", wanted)
    if account.adjacency.size_is_public and (least := plan.least_size(columns.table.size)):
        return account.close(Outcome.refusal(HOW, Advice(n=least, other="columns with public levels")))
    account.begin()
    value = _synthesize(columns, plan, account, wanted)
    return account.close(Outcome(value, HOW))


@dataclass(frozen=True)
class MeasurementPlan:
    """What is public: ρ and the failure, public levels by column, and how many columns there are of each kind."""

    rho: Fraction
    failure: Fraction
    levels: Mapping[str, list[Hashable]]
    columns: int
    ordered: int
    budget: RhoBudget
    """A budget that spends nothing, for what can be known beforehand."""

    def single(self, size: float) -> Fraction:
        """The share of ρ for single columns of a table of about so many rows: all of it, if no pair could be seen."""
        pairs = self.columns * (self.columns - 1) // 2
        if not pairs or round_price(size, pairs, self.budget) > Fraction(tuning.LEAST_PAIRS) * self.rho:
            return Fraction(1)
        noise = self.budget.sigma(self.rho / self.columns)
        share = tuning.SINGLE * math.sqrt(noise / max(size, 1.0))
        return Fraction(min(max(share, tuning.LEAST_SINGLE), 1 - tuning.LEAST_PAIRS))

    def shares(self, size: float, left: Fraction) -> Shares:
        """What each column gets for each step, of what is left of ρ."""
        unlisted = self.columns - len(self.levels)
        among = {"values": unlisted, "level": self.ordered, "buckets": self.ordered, "cells": self.columns}
        part = self.single(size) * left / sum(tuning.SHARES.values())
        parts = {name: short(tuning.SHARES[name] * part / max(many, 1)) for name, many in among.items()}
        return Shares(**parts, failure=self.failure / max(unlisted + self.ordered, 1))

    def least_size(self, size: int) -> int | None:
        """How many rows are needed, where so many are too few for a value to be frequent; else None."""
        if self.levels:
            return None
        shares = self.shares(size, self.rho)
        needed = -(-self.budget.cutoff(shares.values, shares.failure) // self.budget.step)
        return 2 * needed if size < needed else None


def _plan(columns: Columns, account: Account, levels: object) -> MeasurementPlan:
    kinds, forms = ({column.name: getattr(column, what) for column in columns} for what in ("kind", "form"))
    if not kinds:
        raise InvalidArgument("table", "one with at least one column", "none")
    if len(kinds) < len(columns):
        names = [column.name for column in columns]
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidArgument("columns", "different ones", f"{label(twice)} twice")
    checks.few("table", len(kinds), MOST_COLUMNS, "columns", "Choose the columns that belong together.")
    listed: dict[str, list[Hashable]] = {n: [False, True] for n, kind in kinds.items() if kind == "boolean"}
    given: Mapping[str, Any] = {} if levels is None else checks.instance(
        "levels", levels, Mapping, "a mapping of columns to public categories", "Such as {'ward': ['a', 'b']}."
    )  # fmt: skip
    for name, values in given.items():
        kind = kinds[column_name(name, kinds)]
        checks.few(f"levels[{name!r}]", values, MOST_LEVELS, "categories")
        if isinstance(values, str) or not hasattr(values, "__len__") or not (few := list(values)):
            raise InvalidArgument(f"levels[{name!r}]", "a list of categories", checks.outline(values))
        checked = [_level(name, kind, value, forms[name]) for value in few]
        if None in checked or len({canonical(value) for value in checked}) < len(checked):
            raise InvalidArgument(f"levels[{name!r}]", "different categories, none of them missing", "others")
        listed[name] = checked
    failure = tuning.FAILURE * account.delta
    rho = short(concentrated_rho(account.epsilon, (account.delta - failure) / (1 - failure)))
    ordered = sum(is_ordered(kind) and name not in listed for name, kind in kinds.items())
    budget = RhoBudget(account, rho, columns.table.unit)
    plan = MeasurementPlan(rho, failure, listed, len(kinds), ordered, budget)
    single = min(tuning.SHARES.values()) * Fraction(tuning.LEAST_SINGLE) / sum(tuning.SHARES.values())
    pairs = Fraction(tuning.LEAST_PAIRS) * (1 - tuning.PICK) / Fraction(tuning.ROUNDS)
    smallest = min(single, pairs, tuning.SIZE) / 2
    if rho * smallest / len(kinds) <= max(budget.least_rho(), Fraction(1, 10**12)):
        fix = "The noise would be larger than any table."
        raise InvalidArgument("epsilon", f"larger for {len(kinds)} columns", float(account.epsilon), fix)
    return plan


def _level(name: str, kind: Kind, value: Any, form: Form | None) -> Hashable:
    """A public category as rows of the column show it; of times and durations the float nearest to its ticks."""
    if form is None:
        plain: Hashable = comparable(name, kind, value, "levels")
        return plain
    ticks = ticks_beside(f"levels[{name!r}]", value, form)
    return int(float(ticks // DAY * DAY if form.word == "date" else ticks))


def _synthesize(columns: Columns, plan: MeasurementPlan, account: Account, rows: int | None) -> SyntheticTable:
    """Measure, fit, and draw rows."""
    table = columns.table
    budget = RhoBudget(account.concentrated(plan.rho, plan.failure), plan.rho, table.unit)
    if account.adjacency.size_is_public and not table.filtered:
        total = float(max(table.size, 1))
    else:
        units = np.array([table.trues(None) * table.unit.step])
        total = max(float(budget.counts(units, short(tuning.SIZE * plan.rho))[0]), 1.0)
    shares = plan.shares(total, budget.left)
    margins = measure_columns(columns, plan.levels, total, budget, shares)
    alone = plan.single(total) == 1
    fit = TwoWay({}, [], []) if alone else measure_pairs(columns, margins, total, budget)
    rng = np.random.Generator(np.random.Philox(account.toss(lambda entropy: entropy.below(1 << 63))))
    return _synthetic_table(columns, margins, fit, total, min(rows or round(total), MOST_ROWS), rng)


def _synthetic_table(
    columns: Columns, margins: list[Margin], fit: TwoWay, total: float, rows: int, rng: np.random.Generator
) -> SyntheticTable:
    """Rows with the fitted tables, and how far their tables may be from the true ones. Sees released numbers only."""
    groups = draw([margin.margin for margin in margins], fit.tree, fit.tables, rows, rng)
    held, missing, singles, scale = {}, {}, [], total / max(rows, 1)
    for column, margin, group in zip(columns, margins, groups, strict=True):
        cells = margin.spread(group, rng)
        held[margin.name], missing[margin.name] = margin.cells.values(cells, rng)
        counts = np.bincount(cells, minlength=margin.cells.size) * scale
        distance = distance_bound(counts, margin.noisy, margin.sigma, total)
        status = "⊥" if margin.empty else "measured"
        order, labels = [*margin.cells.order().tolist(), margin.cells.size - 1], margin.cells.labels(column.form)
        pictures = (tuple(side[i] for i in order) for side in (margin.noisy.tolist(), counts.tolist(), labels))
        singles.append(ColumnFit(margin.name, margin.sigma, distance, status, *pictures))
    pairs = []
    for one in fit.measured:
        (a, b), shape = one.pair, one.noisy.shape
        counts = np.bincount(one.f[groups[a]] * shape[1] + one.g[groups[b]], minlength=math.prod(shape)) * scale
        distance = distance_bound(counts, one.noisy.ravel(), one.sigma, total)
        pairs.append(PairFit((margins[a].name, margins[b].name), (shape[0], shape[1]), one.sigma, distance))
    kinds = {column.name: column.kind for column in columns}
    forms = {column.name: column.form for column in columns if column.form is not None}
    return SyntheticTable(held, missing, kinds, forms, tuple(singles), tuple(pairs), total, rows)
