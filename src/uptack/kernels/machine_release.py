"""Kernel machines as private releases: the minimiser of `uptack.kernels.machine_minimisers`, with Gaussian noise.

A design is checked before data are read; its terms say how far one row moves the minimiser.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from uptack import checks
from uptack.account import Outcome
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.kernels import machine_minimisers as machines
from uptack.kernels.kernel import Floats, GaussianKernel, Kernel
from uptack.kernels.machine_minimisers import KernelMachine, Penalty
from uptack.mechanisms.additive_noise import calibrated_gaussian
from uptack.multivariate.entrance import read_design
from uptack.noise import Entropy
from uptack.privacy import SUBSTITUTE, Adjacency, gaussian_noise_multiplier
from uptack.registry import release
from uptack.release import Advice, NoReply, Release
from uptack.statistics.column_options import Question, public_size, read_question
from uptack.statistics.quantiles import quantiles
from uptack.table.ids import renumber
from uptack.table.memory.table import MemoryTable
from uptack.table.protocol import Column, Columns
from uptack.table.reads import DESIGN
from uptack.table.unit import ROW, Integers, PrivacyUnit
from uptack.table.values.entrance import column_field

QUARTILES = (Fraction(1, 4), Fraction(3, 4))
SHARE = Fraction(1, 5)
"""The part of ε that goes into the quartiles of y where its scale is not given, and as much into those of X."""
WHOLE = 1 << 40
"""What a person with one row weighs, in the units of weights."""
HOW = "Gaussian noise"
SLACK = Fraction(1, 100)
"""What the solver may add to the sensitivity."""
NOISE = Fraction(1, 5)
"""The standard deviation of the noise at a point, with the regularization that is chosen if none is given."""
LEAST = 2.0**-20
"""The least regularization, far above what would trouble Cholesky's method; and one over the largest."""


# ----------------------------------------------------------------------------------------------- data, design and terms


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """The complete rows of X and y, and whose each is where people are the unit, of so many people."""

    x: Floats
    y: Floats
    whose: Integers | None = None
    people: int = 0

    @property
    def n(self) -> int:
        return self.y.size if self.whose is None else self.people

    @property
    def p(self) -> int:
        return int(self.x.shape[1])

    def column(self, values: Floats) -> Column:
        """One number of each row as a column."""
        unit = ROW if self.whose is None else PrivacyUnit(("person",), "people")
        return MemoryTable({"x": column_field("x", values)}, unit, self.whose, self.people).column("x")


@dataclass(frozen=True)
class Design:
    """The options of a machine, checked before data are read. None stands for what is estimated privately."""

    loss: str | Penalty = "hinge"
    kernel: Kernel | None = None
    bandwidth: Rational | None = 1.0
    regularization: Rational | None = None
    frequencies: int = 256
    centre: Rational | None = None
    scale: Rational | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.loss, Penalty):
            checks.choice("loss", self.loss, tuple(machines.LOSSES))
        if self.kernel is not None:
            machines.spectrum(checks.instance("kernel", self.kernel, Kernel, "a kernel of uptack.kernels"), 1)
        if self.bandwidth is not None:
            checks.positive("bandwidth", self.bandwidth, "With None it comes from private quartiles.")
        if self.regularization is not None:
            ridge = checks.positive("regularization", self.regularization)
            if not LEAST <= ridge <= 1 / LEAST:
                raise InvalidArgument("regularization", "between 2^-20 and 2^20", float(ridge))
        checks.integer("frequencies", self.frequencies, least=1)
        if 2 * self.frequencies > machines.MOST_ENTRIES:
            raise InvalidArgument("frequencies", f"at most {machines.MOST_ENTRIES // 2}", self.frequencies)
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
        return self.loss if isinstance(self.loss, Penalty) else machines.LOSSES[self.loss]

    @property
    def measures_y(self) -> bool:
        return self.scale is None and not self.penalty.labels

    @property
    def measures_x(self) -> bool:
        return self.kernel is None and self.bandwidth is None

    def columns(self, x: Any, y: Any, missing: str) -> Columns:
        """The columns of X, as many as the kernel takes, and last y; no row may lack a value, unless it is left out."""
        predictors, response = read_design(x, y)
        columns, p = Columns([*predictors, response]), len(predictors)
        if self.kernel is not None and self.kernel.dimension != p:
            fix = "Kernels of single columns are combined by *."
            raise InvalidArgument("kernel", f"one of {p} coordinates", f"one of {self.kernel.dimension}", fix)
        if missing == "error" and not all(column.finite() for column in columns):
            fix = "Pass missing='drop' to leave each such row out of its fit."
            raise InvalidArgument("X and y", "free of NaN and infinities", "some", fix)
        return columns

    def rows(self, columns: Columns, missing: str) -> TrainingRows:
        """The rows to be fitted. Rows without a value, or without a label if labels are needed, are left out."""
        complete = columns.rows("drop").in_memory()
        x, y = np.ascontiguousarray(complete.lines[:-1].T), complete.lines[-1]
        labelled = np.abs(y) == 1 if self.penalty.labels else np.ones(y.size, bool)
        if missing == "error" and not labelled.all():
            raise InvalidArgument("y", "-1 or +1 in every row", "others", "KernelSVC takes any two classes.")
        whose, people = (None, 0) if complete.codes is None else renumber(complete.codes[labelled])
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
        """g·M/(λN), or half of that if rows are added and removed, and t/λ.

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
        coarse = 4 * machines.rounding(penalty, 2 * rows, rows, 2 * design.frequencies, ridge, longest)
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


# ---------------------------------------------------------------------------------------------------------- the release


@release(
    reads=DESIGN,
    people=True,
    data=("x", "y"),
    missing="drop",
    examples=({"delta": 1e-6}, {"delta": 1e-6, "loss": "huber"}),
    page="kernel_machines",
)
def kernel_machine(
    x: Any,
    y: Any,
    *,
    epsilon: Rational,
    delta: Rational,
    loss: str | Penalty = "hinge",
    kernel: Kernel | None = None,
    bandwidth: Rational | None = 1.0,
    regularization: Rational | None = None,
    frequencies: int = 256,
    centre: Rational | None = None,
    scale: Rational | None = None,
    missing: str = "error",
    rows_per_person: int = 1,
    adjacency: Adjacency = SUBSTITUTE,
    entropy: Entropy | None = None,
) -> Release[KernelMachine] | NoReply:
    """A support vector machine, logistic or robust regression in a space of functions, with no bounds on X or y.

    **Theorem.** (ε, δ)-differentially private: Gaussian noise for the sensitivity of Theorems 1 and 3 on the
    coefficients, and by composition a private count under ADD_REMOVE and private quartiles if the options need them.
    Predictions are post-processing.

    - `loss`: "hinge" or "logistic" for labels y = ±1; "huber" or "insensitive" for numbers, or `Huber(cutoff)` and
      `Insensitive(width)`, in units of the scale.
    - `kernel`: by default `GaussianKernel(bandwidth)` in every column. `bandwidth=None` takes one for each column from
      its private quartiles, for a fifth of ε: spread·sqrt(d/2), scikit-learn's default.
    - `regularization`: λ. By default the one that makes the noise at a point a fifth of the margin, or of the scale.
    - `centre`, `scale`: y is fitted as (y - centre)/scale. By default from private quartiles of y, for a fifth of ε.
    - `frequencies`: the number of public features; more come closer to the kernel and take time, but no privacy.

    - `missing`: "error" (default), or "drop": a row that lacks a value, or has no label of ±1, is left out. How many
      are left is secret then, and a tenth of ε goes into a noisy number of them.

    With `person=` a person adds the mean loss of her rows, and N is the number of people: the machine is that of a
    random row of a random person, and one person moves it as one row does (Theorem 4). Quartiles are those of people.

    ⊥ where the noise would be above the margin or scale, or above half of any value the machine can have, and where the
    quartiles are refused; it says which n would do.

    >>> from uptack.noise import SeededEntropy
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(2000, 2)); y = np.where((x**2).sum(axis=1) < 1.4, 1, -1)
    >>> result = kernel_machine(x, y, epsilon=1, delta=1e-6, entropy=SeededEntropy(1))
    >>> np.sign(result.value.at([[0, 0], [1.5, 1.5]]))
    array([ 1., -1.])
    >>> result.privacy
    Privacy(epsilon=1.0, delta=1e-06)
    """
    design = Design(loss, kernel, bandwidth, regularization, frequencies, centre, scale)
    checks.inside_unit("delta", delta, "Gaussian noise needs δ > 0, such as 1e-6.")
    checks.choice("missing", missing, ("error", "drop"))
    promised = {"delta": delta, "adjacency": adjacency, "rows_per_person": rows_per_person, "entropy": entropy}
    question = read_question("kernel machine", epsilon, {**promised, "missing": missing})
    return question.close(_fit(design, design.columns(x, y, missing), missing, question))


def _fit(design: Design, columns: Columns, missing: str, question: Question) -> Outcome[KernelMachine]:
    """The quartiles that the design needs, then the coefficients with noise."""
    data = design.rows(columns, missing) if question.size_is_secret else None
    rows, question = public_size(columns.table.size if data is None else data.n, question)
    if rows * 2 * design.frequencies > machines.MOST_ENTRIES:  # of the public number of rows: the other may be secret
        return question.refuse(HOW, Advice(other=f"at most {machines.MOST_ENTRIES // (2 * rows)} frequencies"))
    rows, share = max(rows, 1), 1 - SHARE * design.measures_y - SHARE * design.measures_x
    last = question.allot(question.epsilon * share, question.delta)
    multiplier = gaussian_noise_multiplier(last.epsilon, last.delta)
    terms = MachineTerms.of(design, rows, question.adjacency, multiplier)
    if advice := terms.refuse(design, rows, multiplier):
        return question.refuse(HOW, advice)
    question.begin()
    data = data or design.rows(columns, missing)
    machine = _measure_scales(design, data, rows, question)
    if isinstance(machine, Outcome):
        return machine
    w = _coefficients(machine, data, design.penalty, rows, terms)
    return _add_noise(replace(machine, coefficients=w), terms.sensitivity, last)


def own_machine(x: Any, y: Any, **design: Any) -> KernelMachine:
    """The curator's own machine, without noise: **not private**. The arguments are those of `kernel_machine`.

    Nothing is estimated: the defaults are a bandwidth of 1, y as it is, and λ = 1/2n.
    """
    wanted = Design(**design)
    data = wanted.rows(wanted.columns(x, y, "error"), "error")
    terms = MachineTerms.of(wanted, data.n)
    omega = machines.spectrum(wanted.kernel or GaussianKernel(float(wanted.bandwidth or 1), data.p), wanted.frequencies)
    machine = KernelMachine(omega, np.empty(0), *wanted.place(), noise=0.0)
    return replace(machine, coefficients=_coefficients(machine, data, wanted.penalty, data.n, terms))


def _measure_scales(design: Design, data: TrainingRows, rows: int, question: Question) -> KernelMachine | Outcome[Any]:
    """The machine without coefficients, with centre, scale and widths from quartiles if the design needs them."""
    place, widths = design.place(), np.ones(data.p)
    kernel = design.kernel or GaussianKernel(float(design.bandwidth or 1), data.p)
    columns = [(SHARE, data.y)] if design.measures_y else []
    columns += [(SHARE / data.p, column) for column in data.x.T] if design.measures_x else []
    places: list[tuple[float, float]] = []
    for part, values in columns:
        own = question.allot(question.epsilon * part)
        ends = quantiles(data.column(values), rows, QUARTILES, own)
        if ends.value is None:
            way = "a public centre and scale" if values is data.y else "a public bandwidth"
            return Outcome.refusal("quartiles", Advice(n=ends.advice.n if ends.advice else None, other=way))
        low, high = ends.value.tolist()
        spread = (high - low) / 1.349  # that of a normal law
        places.append((low / 2 + high / 2, spread if 0 < spread < math.inf else 1.0))
    if design.measures_y:
        place = places.pop(0)
    if design.measures_x:
        widths = np.array([spread for _, spread in places]) * math.sqrt(data.p / 2)
    return KernelMachine(machines.spectrum(kernel, design.frequencies) / widths, np.empty(0), *place, noise=0.0)


def _coefficients(
    machine: KernelMachine, data: TrainingRows, penalty: Penalty, rows: int, terms: MachineTerms
) -> Floats:
    with np.errstate(over="ignore"):
        y = (data.y - machine.centre) / machine.scale
    phi = machines.Features(data.x, machine.frequencies)
    objective = machines.Objective(phi, y, penalty, rows, terms.regularization, _weights(data), data.n)
    return machines.minimiser(objective, terms.tolerance)


def _weights(data: TrainingRows) -> Floats | None:
    """⌊2^40/m⌋/2^40 for each of the m rows of a person: exact floats, at most 1 together."""
    if data.whose is None:
        return None
    counts = np.bincount(data.whose, minlength=data.people)
    return (WHOLE // np.maximum(counts, 1) / WHOLE)[data.whose]


def _add_noise(machine: KernelMachine, sensitivity: Fraction, question: Question) -> Outcome[KernelMachine]:
    exact = np.nan_to_num(machine.coefficients)
    noise = calibrated_gaussian(sensitivity, question.epsilon, question.delta, exact.size)
    spread = noise.standard_deviation * machine.scale
    value = replace(machine, coefficients=question.draw(noise, exact), noise=spread)
    return Outcome(value, HOW, machines.MachineNoise())
