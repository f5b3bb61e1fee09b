"""Draws a second of each sampler, beside OpenDP, diffprivlib and NumPy in the same run.

Each peer is called the way its users call it and in its fastest form: OpenDP takes and gives vectors through its
Python interface, diffprivlib knows single draws only. OpenDP draws exactly as uptack does; diffprivlib computes in
floats; NumPy neither draws exactly nor from a secure source, and stands for the limit of what an array can do.

    python benchmarks/noise.py --json out/noise.json
"""

from __future__ import annotations

import argparse
import importlib
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import opendp.prelude as dp
from common import machine, rate, table, with_ratios, write_json

import uptack
from uptack.noise import Bernoulli, BernoulliExp, IntegerGaussian, IntegerLaplace, IntegerLaw, UniformInteger

TARGET = 20
"""Integer Laplace vectors are to be at least so many times as fast as OpenDP's."""
SCALES = (1, 10, 1000, 2**20)
VECTOR, PEER_VECTOR, BATCH = 10**6, 10**5, 100
HEADINGS = {
    "OpenDP": "ours / OpenDP",
    "diffprivlib": "ours / diffprivlib",
    "NumPy": "ours / NumPy (not exact, not private: the limit)",
}

dp.enable_features("contrib")
rng = np.random.default_rng()


def _diffprivlib_mechanisms() -> Any:
    """diffprivlib's mechanisms without the rest of it: its models fail to import beside a new scikit-learn."""
    spec = find_spec("diffprivlib")
    assert spec is not None
    package = ModuleType("diffprivlib")
    package.__path__ = list(spec.submodule_search_locations or ())
    sys.modules["diffprivlib"] = package
    return importlib.import_module("diffprivlib.mechanisms")


mechanisms = _diffprivlib_mechanisms()


@dataclass(frozen=True)
class Case:
    """One law and its samplers: functions of a size (None for a single draw), or of nothing for single draws only."""

    name: str
    ours: Callable[[int | None], object]
    numpy: Callable[[int | None], object]
    opendp: Callable[[], object] | None = None
    opendp_vector: Callable[[], object] | None = None
    diffprivlib: Callable[[], object] | None = None
    size: int = VECTOR


def _sampler(law: IntegerLaw) -> Callable[[int | None], object]:
    return lambda size: law.sample() if size is None else law.sample(size)


def _opendp(make: Callable[..., Any], kind: type, vector_metric: Any, metric: Any, scale: float) -> dict[str, Any]:
    """A measurement of OpenDP on one zero, and on a vector of them in the form that it copies fastest."""
    atoms = dp.atom_domain(T=kind, nan=False) if kind is float else dp.atom_domain(T=kind)
    one, many = make(atoms, metric, float(scale)), make(dp.vector_domain(atoms), vector_metric, float(scale))
    zero, zeros = kind(0), np.zeros(PEER_VECTOR, np.int32 if kind is int else np.float64)
    return {"opendp": lambda: one(zero), "opendp_vector": lambda: many(zeros)}


def _coin(name: str, law: IntegerLaw, p: float) -> Case:
    """Randomized response on a fixed truth is a coin, in both peers."""
    response = dp.m.make_randomized_response_bool(1 - p)
    bits = dp.m.make_randomized_response_bitvec(dp.bitvector_domain(max_weight=1), dp.discrete_distance(), f=2 * p)
    zeros = bytes(PEER_VECTOR // 8)
    binary = mechanisms.Binary(epsilon=math.log(1 / p - 1), value0="0", value1="1")
    return Case(
        name,
        _sampler(law),
        lambda size: rng.random(size) < p,
        opendp=lambda: response(False),
        opendp_vector=lambda: bits(zeros),
        diffprivlib=lambda: binary.randomise("0"),
    )


def _integer_laplace(scale: int) -> Case:
    p = -math.expm1(-1 / scale)
    geometric = mechanisms.Geometric(epsilon=1 / scale)
    return Case(
        f"integer Laplace, scale {scale}",
        _sampler(IntegerLaplace(scale)),
        lambda size: rng.geometric(p, size) - rng.geometric(p, size),
        diffprivlib=lambda: geometric.randomise(0),
        **_opendp(dp.m.make_laplace, int, dp.l1_distance(T=int), dp.absolute_distance(T=int), scale),
    )


def _integer_gaussian(sigma: int) -> Case:
    discrete = mechanisms.GaussianDiscrete(epsilon=1, delta=0.1)
    discrete._scale = float(sigma)  # it offers no other way to name σ
    return Case(
        f"integer Gaussian, σ = {sigma}",
        _sampler(IntegerGaussian(sigma**2)),
        lambda size: np.rint(rng.normal(0, sigma, size)),
        diffprivlib=(lambda: discrete.randomise(0)) if sigma <= 1000 else None,  # it flips about σ coins a draw
        **_opendp(dp.m.make_gaussian, int, dp.l2_distance(T=float), dp.absolute_distance(T=float), sigma),
    )


def _float_laplace() -> Case:
    """The whole mechanism, from a float vector to a release with its price."""
    mechanism = mechanisms.Laplace(epsilon=1, sensitivity=1)
    zeros = np.zeros(PEER_VECTOR)
    return Case(
        "float Laplace, scale 1",
        lambda size: uptack.mechanisms.laplace(0.0 if size is None else zeros, sensitivity=1, epsilon=1),
        lambda size: rng.laplace(0, 1, size),
        diffprivlib=lambda: mechanism.randomise(0.0),
        size=PEER_VECTOR,
        **_opendp(dp.m.make_laplace, float, dp.l1_distance(T=float), dp.absolute_distance(T=float), 1),
    )


def cases() -> Iterator[Case]:
    uniform = UniformInteger(0, 99)
    yield Case("uniform integer in [0, 99]", _sampler(uniform), lambda size: rng.integers(0, 100, size))
    yield _coin("Bernoulli(1/3)", Bernoulli("1/3"), 1 / 3)
    yield _coin("Bernoulli(1/e)", BernoulliExp(1), math.exp(-1))
    yield from map(_integer_laplace, SCALES)
    yield from map(_integer_gaussian, SCALES)
    yield _float_laplace()


def _one_by_one(draw: Callable[[], object] | None, seconds: float) -> float | None:
    """The rate of single draws, in batches so that the clock is not part of it."""
    if draw is None:
        return None

    def batch() -> None:
        for _ in range(BATCH):
            draw()

    return rate(batch, BATCH, seconds)


def measure(case: Case, seconds: float) -> Iterator[dict[str, Any]]:
    """A row for vectors and one for single draws; a peer without vectors is drawn from again and again."""
    single = _one_by_one(case.diffprivlib, seconds)
    opendp_vector = case.opendp_vector
    yield {
        "law": case.name,
        "draws": "vector",
        "uptack": rate(lambda: case.ours(case.size), case.size, seconds),
        "OpenDP": None if opendp_vector is None else rate(opendp_vector, PEER_VECTOR, seconds),
        "diffprivlib": single,
        "NumPy": rate(lambda: case.numpy(case.size), case.size, seconds),
    }
    yield {
        "law": case.name,
        "draws": "single",
        "uptack": _one_by_one(lambda: case.ours(None), seconds),
        "OpenDP": _one_by_one(case.opendp, seconds),
        "diffprivlib": single,
        "NumPy": _one_by_one(lambda: case.numpy(None), seconds),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Draws a second, beside OpenDP, diffprivlib and NumPy.")
    parser.add_argument("--json", type=Path, help="where to write the numbers")
    parser.add_argument("--seconds", type=float, default=0.5, help="least time for each of three rounds")
    options = parser.parse_args()
    measured = (row for case in cases() for row in measure(case, options.seconds))
    rows = sorted((with_ratios(row, "uptack", HEADINGS) for row in measured), key=lambda row: row["draws"] == "single")
    print(f"Draws a second, single ones and vectors (of {VECTOR:,} or {PEER_VECTOR:,}).\n\n{table(rows)}")
    least = min(
        row[HEADINGS["OpenDP"]] for row in rows if row["law"].startswith("integer Laplace") and row["draws"] == "vector"
    )
    print(f"\nInteger Laplace vectors: at least {least} OpenDP's rate (target: {TARGET}×).")
    if options.json:
        write_json(options.json, rows, machine("uptack", "opendp", "diffprivlib", "numpy"))
        print(f"Numbers: {options.json}")


if __name__ == "__main__":
    main()
