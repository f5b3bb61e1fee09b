"""How long a draw of Carathéodory noise takes, beside the float recursion and a step of the thesis' random walk.

"point" is one uniform point of the moment body, in ball arithmetic at 192 bits; "noise" is a whole draw for a release:
two points, two Gamma variables, fresh entropy, and rounding that is exact. "floats" is the Levinson recursion in
NumPy, which no privacy proof covers; "walk" is one step of hit-and-run, of which a draw takes many and is never exactly
uniform. The growth is the slope of log time against log m from 200 to 1,000.

    python benchmarks/caratheodory.py --json out/caratheodory.json
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from common import best_seconds, machine, table, write_json
from flint import arb, ctx
from numpy.typing import NDArray
from scipy.linalg import cholesky, eigvalsh, solve_triangular, toeplitz

from uptack.densities.caratheodory import CaratheodoryNoise, MomentBody
from uptack.noise import SystemEntropy
from uptack.privacy import SUBSTITUTE

DEGREES = (50, 200, 1000)
MOST_GROWTH = 2.2
"""The growth exponent that the sampler is held to."""

Complex = NDArray[np.complex128]


def point(m: int) -> Callable[[], object]:
    """A uniform point of the body from uniform reals of 128 bits."""
    body, entropy = MomentBody(m), SystemEntropy()

    def draw() -> object:
        with ctx.workprec(192):
            drawn = (int.from_bytes(entropy.bytes(16), "little") for _ in range(body.uniforms))
            return body.point([(arb(d) + arb(0.5, 0.5)) / (1 << 128) for d in drawn])

    return draw


def noise(m: int) -> Callable[[], object]:
    """Noise for a release."""
    law, entropy = CaratheodoryNoise(m, Fraction(1), SUBSTITUTE), SystemEntropy()
    return lambda: law.draw(2 * m, entropy)


def recursion(a: Complex) -> Complex:
    """Moments from Verblunsky coefficients by Levinson's recursion in floats."""
    m = a.size
    predictor, moments, left = np.zeros(m + 1, complex), np.zeros(m + 1, complex), 1.0
    predictor[0] = moments[0] = 1
    for k in range(m):
        moments[k + 1] = a[k] * left - predictor[1 : k + 1] @ moments[k:0:-1]
        predictor[: k + 2] -= a[k] * predictor[k + 1 :: -1].conj()
        left *= 1 - abs(a[k]) ** 2
    return moments[1:]


def floats(m: int) -> Callable[[], Complex]:
    """The same point in floats."""
    rng, b = np.random.default_rng(0), 2 * (m - 1 - np.arange(m)) + 1

    def draw() -> Complex:
        return recursion(np.sqrt(1 - rng.random(m) ** (1 / b)) * np.exp(2j * np.pi * rng.random(m)))

    return draw


def walk(m: int) -> Callable[[], Complex]:
    """A step of hit-and-run from a point of the body."""
    rng, state = np.random.default_rng(0), {"z": np.zeros(m, complex)}

    def step() -> Complex:
        z, v = state["z"], rng.normal(size=m) + 1j * rng.normal(size=m)
        root = cholesky(toeplitz(np.r_[1, z.conj()]), lower=True)
        half = solve_triangular(root, toeplitz(np.r_[0, v.conj()]), lower=True)
        ends = eigvalsh(solve_triangular(root, half.conj().T, lower=True))
        low, high = -1 / ends[-1], -1 / ends[0]
        state["z"] = z + (low + (high - low) * rng.random()) * (1 - 1e-9) * v
        return state["z"]

    return step


WAYS: dict[str, Callable[[int], Callable[[], object]]] = {
    "point": point,
    "noise": noise,
    "floats": floats,
    "walk": walk,
}


def growth(rows: Sequence[dict[str, Any]], way: str) -> float:
    """The slope of log time against log m, over the last two degrees."""
    (m, before), (n, after) = ((row["m"], row[f"{way}, ms"]) for row in rows[-2:])
    return math.log(after / before) / math.log(n / m)


def caratheodory_times(degrees: Sequence[int] = DEGREES, rounds: int = 5) -> list[dict[str, Any]]:
    """Milliseconds a draw for each degree, the best of so many rounds, and last a row with the growth exponents."""
    rows: list[dict[str, Any]] = [
        {"m": m} | {f"{way}, ms": 1e3 * best_seconds(make(m), rounds) for way, make in WAYS.items()} for m in degrees
    ]
    return [*rows, {"m": "growth"} | {f"{way}, ms": growth(rows, way) for way in WAYS}]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = caratheodory_times(rounds=options.rounds)
    print(table(rows))
    print(f"\nheld to m^{MOST_GROWTH}: {'yes' if rows[-1]['noise, ms'] <= MOST_GROWTH else 'no'}")
    if options.json:
        write_json(options.json, rows, machine("uptack", "python-flint", "numpy", "scipy"))


if __name__ == "__main__":
    main()
