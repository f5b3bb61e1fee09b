"""Kernel machines as private releases: the minimiser of `uptack.kernels.machine_minimisers`, with Gaussian noise."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from uptack import checks
from uptack.account import Outcome
from uptack.exact import Rational
from uptack.kernels.feature_blocks import Features
from uptack.kernels.kernel import Floats, Kernel
from uptack.kernels.machine_design import MOST_ENTRIES, Design, MachineTerms, TrainingRows, columns_of
from uptack.kernels.machine_function import KernelMachine, MachineNoise, spectrum
from uptack.kernels.machine_minimisers import Objective, Penalty, minimiser
from uptack.kernels.stationary_kernels import GaussianKernel
from uptack.mechanisms.additive_noise import GridMechanism, calibrated_gaussian
from uptack.noise import Entropy
from uptack.privacy import SUBSTITUTE, Adjacency, gaussian_noise_multiplier, loss
from uptack.registry import release
from uptack.release import Advice, NoReply, Release
from uptack.statistics.column_options import Question, public_size, read_question
from uptack.statistics.joint_quantiles import quantiles
from uptack.statistics.quantiles import statistic as quantile_statistic
from uptack.table.protocol import Columns
from uptack.table.reads import DESIGN

QUARTILES = (Fraction(1, 4), Fraction(3, 4))
SHARE = Fraction(1, 5)
"""The part of ε that goes into the quartiles of y where its scale is not given, and as much into those of X."""
WHOLE = 1 << 40
"""What a person with one row weighs, in the units of weights."""
HOW = "Gaussian noise"


@release(
    reads=DESIGN,
    people=True,
    data=("x", "y"),
    missing="ignore",
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
    coefficients, and by composition a private count under ADD_REMOVE and private quartiles where they are called for.
    What the machine answers is post-processing.

    - `loss`: "hinge" or "logistic" for labels y = ±1; "huber" or "insensitive" for numbers, or `Huber(cutoff)` and
      `Insensitive(width)`, in units of the scale.
    - `kernel`: by default `GaussianKernel(bandwidth)` in every column. `bandwidth=None` takes one for each column from
      its private quartiles, for a fifth of ε: spread·sqrt(d/2), scikit-learn's default.
    - `regularization`: λ. By default the one that makes the noise at a point a fifth of the margin, or of the scale.
    - `centre`, `scale`: y is fitted as (y - centre)/scale. By default from private quartiles of y, for a fifth of ε.
    - `frequencies`: the number of public features; more come closer to the kernel and take time, but no privacy.

    - `missing`: "error" (default), or "ignore": a row that lacks a value, or has no label of ±1, is left out. How many
      are left is secret then, and a tenth of ε goes into a noisy number of them.

    With `person=` a person adds the mean loss of her rows, and N is the number of people: the machine is that of a
    random row of a random person, and one person moves it as one row does (Theorem 4). Quartiles are those of people.

    ⊥ where the noise would be above the margin or scale, or above half of any value the machine can have, and where the
    quartiles are refused; it says which n would do.

    >>> from uptack.noise import SeededEntropy
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(2000, 2)); y = np.where((x**2).sum(axis=1) < 1.4, 1, -1)
    >>> made = kernel_machine(x, y, epsilon=1, delta=1e-6, entropy=SeededEntropy(1))
    >>> np.sign(made.value.at([[0, 0], [1.5, 1.5]]))
    array([ 1., -1.])
    >>> made.privacy
    Privacy(epsilon=1.0, delta=1e-06)
    """
    design = Design(loss, kernel, bandwidth, regularization, frequencies, centre, scale)
    checks.inside_unit("delta", delta, "Gaussian noise needs δ > 0, such as 1e-6.")
    how = checks.choice("missing", missing, ("error", "ignore"))
    promised = {"delta": delta, "adjacency": adjacency, "rows_per_person": rows_per_person, "entropy": entropy}
    question = read_question(
        "kernel machine", epsilon, {**promised, **({"missing": "drop"} if how == "ignore" else {})}
    )
    columns = columns_of(x, y)
    design.check(columns, how)
    return question.account.close(_found(design, columns, how, question))


def _found(design: Design, columns: Columns, missing: str, question: Question) -> Outcome[KernelMachine]:
    """The quartiles that were called for, then the coefficients with noise."""
    data = design.rows(columns, missing) if question.size_is_secret else None
    rows, question = public_size(columns.table.size if data is None else data.n, question)
    if rows * 2 * design.frequencies > MOST_ENTRIES:  # of the public number of rows: the other may be secret
        return question.refuse(HOW, Advice(other=f"at most {MOST_ENTRIES // (2 * rows)} frequencies"))
    rows, share = max(rows, 1), 1 - SHARE * design.measures_y - SHARE * design.measures_x
    last = question.worth(question.epsilon * share, question.delta)
    multiplier = gaussian_noise_multiplier(last.epsilon, last.delta)
    terms = MachineTerms.of(design, rows, question.adjacency, multiplier)
    if advice := terms.refuse(design, rows, multiplier):
        return question.refuse(HOW, advice)
    question.account.begin()
    data = data or design.rows(columns, missing)
    machine = _measured(design, data, rows, question)
    if isinstance(machine, Outcome):
        return machine
    w = _coefficients(machine, data, design.penalty, rows, terms)
    return _released(replace(machine, coefficients=w), terms.sensitivity, last)


def own_machine(x: Any, y: Any, **design: Any) -> KernelMachine:
    """The curator's own machine, without noise: **not private**. The arguments are those of `kernel_machine`.

    What is not given is not measured: a bandwidth of 1, y as it is, and λ = 1/2n.
    """
    wanted = Design(**design)
    columns = columns_of(x, y)
    wanted.check(columns, "error")
    data = wanted.rows(columns, "error")
    terms = MachineTerms.of(wanted, data.n)
    omega = spectrum(wanted.kernel or GaussianKernel(float(wanted.bandwidth or 1), data.p), wanted.frequencies)
    machine = KernelMachine(omega, np.empty(0), *wanted.place(), noise=0.0)
    return replace(machine, coefficients=_coefficients(machine, data, wanted.penalty, data.n, terms))


def _measured(design: Design, data: TrainingRows, rows: int, question: Question) -> KernelMachine | Outcome[Any]:
    """The machine but for its coefficients, with centre, scale and widths from quartiles where they were called for."""
    place, widths = design.place(), np.ones(data.p)
    kernel = design.kernel or GaussianKernel(float(design.bandwidth or 1), data.p)
    columns = [(SHARE, data.y)] if design.measures_y else []
    columns += [(SHARE / data.p, column) for column in data.x.T] if design.measures_x else []
    found: list[tuple[float, float]] = []
    for part, values in columns:
        own = question.worth(question.epsilon * part)
        made = quantiles(data.column(values), rows, QUARTILES, own, quantile_statistic)
        if made.value is None:
            way = "a public centre and scale" if values is data.y else "a public bandwidth"
            return Outcome.refusal("quartiles", Advice(n=made.advice.n if made.advice else None, other=way))
        found.append(_place(*made.value.tolist()))
    if design.measures_y:
        place = found.pop(0)
    if design.measures_x:
        widths = np.array([spread for _, spread in found]) * math.sqrt(data.p / 2)
    return KernelMachine(spectrum(kernel, design.frequencies) / widths, np.empty(0), *place, noise=0.0)


def _place(low: float, high: float) -> tuple[float, float]:
    """Centre and scale from quartiles, the scale that of a normal law; 1 where it is no positive number."""
    spread = (high - low) / 1.349
    return low / 2 + high / 2, spread if 0 < spread < math.inf else 1.0


def _coefficients(
    machine: KernelMachine, data: TrainingRows, penalty: Penalty, rows: int, terms: MachineTerms
) -> Floats:
    with np.errstate(over="ignore"):
        y = (data.y - machine.centre) / machine.scale
    phi = Features(data.x, machine.frequencies)
    objective = Objective.of(phi, y, penalty, rows, terms.regularization, _weights(data), data.n)
    return minimiser(objective, terms.tolerance)


def _weights(data: TrainingRows) -> Floats | None:
    """⌊2^40/m⌋/2^40 for each of the m rows of a person: floats without rounding, of one at most together."""
    if data.whose is None:
        return None
    counts = np.bincount(data.whose, minlength=data.people)
    return (WHOLE // np.maximum(counts, 1) / WHOLE)[data.whose]


def _released(machine: KernelMachine, sensitivity: Fraction, question: Question) -> Outcome[KernelMachine]:
    """The machine with noise on its coefficients."""
    exact, promised = np.nan_to_num(machine.coefficients), (question.epsilon, question.delta)
    multiplier, grid, law = calibrated_gaussian(sensitivity, *promised, exact.size)
    noise = GridMechanism(loss.Gaussian(*promised, multiplier), law, grid)
    spread = math.sqrt(Fraction(law.variance)) * float(Fraction(grid.step)) * machine.scale
    value = replace(machine, coefficients=question.account.draw(noise, exact), noise=spread)
    return Outcome(value, HOW, MachineNoise())
