"""What a kernel machine is to be, checked before data are read, and how far one row moves it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.kernels.feature_blocks import KEPT
from uptack.kernels.kernel import Kernel
from uptack.kernels.machine_function import spectrum
from uptack.kernels.machine_minimisers import LOSSES, Penalty, rounding
from uptack.privacy import SUBSTITUTE, Adjacency
from uptack.release import Advice
from uptack.table.arguments import column_field, matrix_fields
from uptack.table.exact_sum import Floats
from uptack.table.ids import numbered
from uptack.table.memory.table import MemoryTable
from uptack.table.protocol import Column, Columns
from uptack.table.unit import ROW, Integers, PrivacyUnit
from uptack.table.values.kinds import NUMERIC

SLACK = Fraction(1, 100)
"""What the solver may add to the sensitivity."""

NOISE = Fraction(1, 5)
"""The standard deviation of the noise at a point, with the regularization that is chosen if none is given."""

LEAST = 2.0**-20
"""The least regularization, far above what would trouble Cholesky's method; and one over the largest."""

MOST_ENTRIES = KEPT
"""Numbers in the matrix of features of one row per person."""


def columns_of(x: Any, y: Any) -> Columns:
    """The columns of X, and last y: of a table as they are, of a caller's data as columns of one in memory."""
    if isinstance(x, Columns):
        return Columns([*x, y])
    must = "a table of numbers with at least one column"
    fields, response = matrix_fields("X", x, must), column_field("y", y, NUMERIC)
    if not fields:
        raise InvalidArgument("X", must, checks.outline(x))
    if next(iter(fields.values())).size != response.size:
        raise InvalidArgument("y", "as long as X", "another number of rows")
    table = MemoryTable.of({**{f"X[{label}]": one for label, one in fields.items()}, "y": response})
    return Columns(map(table.column, table.fields))


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """The complete rows of X and y, and whose each is where people are the unit, of so many people."""

    x: Floats
    y: Floats
    whose: Integers | None = None
    people: int = 0

    @property
    def n(self) -> int:
        """The number of rows, or of people."""
        return self.y.size if self.whose is None else self.people

    @property
    def p(self) -> int:
        """The number of columns of X."""
        return int(self.x.shape[1])

    def column(self, values: Floats) -> Column:
        """One number of each row as a column."""
        unit = ROW if self.whose is None else PrivacyUnit(("person",), "people")
        return MemoryTable({"x": column_field("x", values)}, unit, self.whose, self.people).column("x")


@dataclass(frozen=True)
class Design:
    """What a machine is to be, checked before data are read. None stands for what is to be found out."""

    loss: str | Penalty = "hinge"
    kernel: Kernel | None = None
    bandwidth: Rational | None = 1.0
    regularization: Rational | None = None
    frequencies: int = 256
    centre: Rational | None = None
    scale: Rational | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.loss, Penalty):
            checks.choice("loss", self.loss, tuple(LOSSES))
        if self.kernel is not None:
            spectrum(checks.instance("kernel", self.kernel, Kernel, "a kernel of uptack.kernels"), 1)
        if self.bandwidth is not None:
            checks.positive("bandwidth", self.bandwidth, "With None it comes from private quartiles.")
        if self.regularization is not None:
            ridge = checks.positive("regularization", self.regularization)
            if not LEAST <= ridge <= 1 / LEAST:
                raise InvalidArgument("regularization", "between 2^-20 and 2^20", float(ridge))
        checks.integer("frequencies", self.frequencies, least=1)
        if 2 * self.frequencies > MOST_ENTRIES:
            raise InvalidArgument("frequencies", f"at most {MOST_ENTRIES // 2}", self.frequencies)
        if (self.centre is None) != (self.scale is None):
            raise InvalidArgument("centre and scale", "given both or neither", "one of them")
        if self.centre is not None:
            checks.rational("centre", self.centre)
        if self.scale is not None:
            checks.positive("scale", self.scale, "Without centre and scale both come from private quartiles.")
            if not 1e-300 < float(self.scale) < 1e300:
                raise InvalidArgument("scale", "between 1e-300 and 1e300", checks.describe(self.scale))

    @property
    def penalty(self) -> Penalty:
        """The loss itself."""
        return self.loss if isinstance(self.loss, Penalty) else LOSSES[self.loss]

    @property
    def measures_y(self) -> bool:
        """Whether the place of y is to be found out."""
        return self.scale is None and not self.penalty.labels

    @property
    def measures_x(self) -> bool:
        """Whether the bandwidths are to be found out."""
        return self.kernel is None and self.bandwidth is None

    def check(self, columns: Columns, missing: str) -> None:
        """Whether X and y can be fitted: as many columns as the kernel takes, and no row that lacks a value."""
        p = len(columns) - 1
        if self.kernel is not None and self.kernel.dimension != p:
            fix = "Kernels of single columns are combined by *."
            raise InvalidArgument("kernel", f"one of {p} coordinates", f"one of {self.kernel.dimension}", fix)
        if missing == "error" and not all(column.finite() for column in columns):
            fix = "Pass missing='ignore' to leave each such row out of its fit."
            raise InvalidArgument("X and y", "free of NaN and infinities", "some", fix)

    def rows(self, columns: Columns, missing: str) -> TrainingRows:
        """The rows to be fitted, with labels where there must be labels. A row without all of it is left out."""
        held = columns.rows("drop").in_memory()
        x, y = np.ascontiguousarray(held.lines[:-1].T), held.lines[-1]
        labelled = np.abs(y) == 1 if self.penalty.labels else np.ones(y.size, bool)
        if missing == "error" and not labelled.all():
            raise InvalidArgument("y", "-1 or +1 in every row", "others", "KernelSVC takes any two classes.")
        whose, people = (None, 0) if held.codes is None else numbered(held.codes[labelled])
        return TrainingRows(x[labelled], y[labelled], whose, people)

    def place(self) -> tuple[float, float]:
        """The public centre and scale of y: 0 and 1 where there are none."""
        return (0.0, 1.0) if self.scale is None or self.penalty.labels else (float(self.centre or 0), float(self.scale))


@dataclass(frozen=True)
class MachineTerms:
    """λ, the tolerance of the solver, and the sensitivity of what it finds: all public."""

    regularization: float
    tolerance: float
    sensitivity: Fraction

    @staticmethod
    def of(design: Design, rows: int, adjacency: Adjacency = SUBSTITUTE, multiplier: Rational = 0) -> MachineTerms:
        """g·M/(λN), or half of that where rows come and go, and t/λ.

        If λ is not given it is what makes the noise NOISE, but not below 1/2N, scikit-learn's C = 1. t is what adds
        SLACK, but no less than four times the rounding of a gradient where n ≤ 2N, so that floats reach it. (A private
        count N that is below n/2 by chance is small, and then so is the rounding beside what adds SLACK.)
        """
        penalty, steepest = design.penalty, Fraction(design.penalty.lipschitz)
        moved = steepest * adjacency.rows_per_person / (1 if adjacency.size_is_public else 2)
        chosen = max(Fraction(multiplier) * moved / NOISE, Fraction(1, 2)) / rows
        ridge = float(design.regularization or min(max(chosen, Fraction(LEAST)), 1 / Fraction(LEAST)))
        base = moved / (Fraction(ridge) * rows)
        longest = penalty.lipschitz / ridge
        if penalty.labels:  # λ‖f̂‖² ≤ P(0) ≤ n/N
            longest = min(longest, math.sqrt(2 / ridge))
        coarse = 4 * rounding(penalty, 2 * rows, rows, 2 * design.frequencies, ridge, longest)
        tolerance = max(float(SLACK * base) * ridge, coarse)
        return MachineTerms(ridge, tolerance, base + Fraction(tolerance) / Fraction(ridge))

    def refuse(self, design: Design, rows: int, multiplier: Fraction) -> Advice | None:
        """Why there is no reply: noise above 1, or above half of the largest value M/2λ that f̂ can have."""
        noise, most = multiplier * self.sensitivity, Fraction(design.penalty.lipschitz / (4 * self.regularization))
        limit = min(Fraction(1), most)
        if noise <= limit:
            return None
        needed = rows * noise / limit if design.regularization else rows * noise / most
        return Advice(n=math.ceil(needed), other="" if design.regularization is None else "a larger regularization")
