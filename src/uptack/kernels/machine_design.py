"""What a kernel machine is to be, checked before data are read, and how far one row moves it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from uptack import checks
from uptack.columns.owners import numbered
from uptack.columns.table import Table, table
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.kernels.feature_blocks import KEPT
from uptack.kernels.kernel import Kernel
from uptack.kernels.machine_function import spectrum
from uptack.kernels.machine_minimisers import LOSSES, Penalty, rounding
from uptack.privacy import SUBSTITUTE, Adjacency
from uptack.release import Advice

SLACK = Fraction(1, 100)
"""What the solver may add to the sensitivity."""

NOISE = Fraction(1, 5)
"""The standard deviation of the noise at a point, with the regularization that is chosen if none is given."""

LEAST = 2.0**-20
"""The least regularization, far above what would trouble Cholesky's method; and one over the largest."""

MOST_ENTRIES = KEPT
"""Numbers in the matrix of features of one row per person."""


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

    def table(self, x: Any, y: Any, missing: str = "error") -> Table:
        """The data, as they are."""
        data = table(x, y, fit_intercept=False, missing=missing)
        if self.kernel is not None and self.kernel.dimension != data.p:
            fix = "Kernels of single columns are combined by *."
            raise InvalidArgument("kernel", f"one of {data.p} coordinates", f"one of {self.kernel.dimension}", fix)
        return data

    def ready(self, data: Table, missing: str = "error") -> Table:
        """The rows to be fitted, with labels where there must be labels. A row without all of it is left out."""
        labelled = np.abs(data.y) == 1 if self.penalty.labels else data.complete
        if missing == "error":
            if not labelled.all():
                raise InvalidArgument("y", "-1 or +1 in every row", "others", "KernelSVC takes any two classes.")
            return data
        rows = np.flatnonzero(data.complete & labelled)
        whose, people = (None, 0) if data.whose is None else numbered(data.whose[rows])
        return Table(data.x[rows], data.y[rows], data.complete[rows], whose, people)

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
