"""Private kernel machines beside scikit-learn's SVC without privacy and diffprivlib's naive Bayes classifier.

The figure is the share of wrong predictions on new rows, and its ratio to that of SVC with the same kernel. diffprivlib
gets the bounds that it asks for from the curator's own data, which is a favour: they are not private.

    python benchmarks/svm.py --json out/svm.json
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from common import machine, table, with_ratios, without_package, write_json
from numpy.typing import NDArray
from sklearn.datasets import make_circles, make_classification, make_moons
from sklearn.svm import SVC

from uptack.kernels.kernel_estimators import KernelSVC

Data = tuple[NDArray[Any], NDArray[Any]]
DELTA = 1e-6
NEW = 5_000
SETS: dict[str, tuple[float, Callable[[int], Data]]] = {  # bandwidth, rows
    "moons": (0.5, lambda n: make_moons(n, noise=0.25, random_state=0)),
    "circles": (0.5, lambda n: make_circles(n, noise=0.15, factor=0.5, random_state=0)),
    "10 columns": (3.0, lambda n: make_classification(n, 10, n_informative=5, n_redundant=0, random_state=0)),
}


def rivals(epsilon: float, bandwidth: float) -> dict[str, Callable[[Data], Any]]:
    """Each a function that fits."""
    bayes = without_package("diffprivlib.models.naive_bayes").GaussianNB
    plain = SVC(gamma=1 / (2 * bandwidth**2))
    return {
        "SVC": lambda d: plain.fit(*d),
        "uptack": lambda d: KernelSVC(epsilon, DELTA, bandwidth=bandwidth).fit(*d),
        "uptack, logistic": lambda d: KernelSVC(epsilon, DELTA, bandwidth=bandwidth, loss="logistic").fit(*d),
        "diffprivlib": lambda d: bayes(epsilon=epsilon, bounds=(d[0].min(axis=0), d[0].max(axis=0))).fit(*d),
    }


def measured(runs: int) -> Iterator[dict[str, Any]]:
    for name, (bandwidth, make) in SETS.items():
        for n in (1_000, 10_000):
            x, y = make(n + NEW)
            for epsilon in (0.5, 1.0, 4.0):
                row: dict[str, Any] = {"data": name, "n": n, "ε": epsilon}
                for rival, fit in rivals(epsilon, bandwidth).items():
                    wrong, start = [], time.perf_counter()
                    for _ in range(1 if rival == "SVC" else runs):
                        with warnings.catch_warnings():
                            warnings.simplefilter("ignore")
                            wrong.append(1 - fit((x[:n], y[:n])).score(x[n:], y[n:]))
                    row[rival] = float(np.mean(wrong))
                    if rival == "uptack":
                        seconds = (time.perf_counter() - start) / runs
                yield with_ratios(row, "uptack", {"SVC": "over SVC", "diffprivlib": "over diffprivlib"}) | {
                    "seconds": seconds
                }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, default=Path("out/svm.json"))
    parser.add_argument("--runs", type=int, default=10)
    options = parser.parse_args()
    found = list(measured(options.runs))
    print(f"Share of wrong predictions on new rows, δ = {DELTA}, and that of uptack over the others'.\n")
    print(table(found))
    write_json(options.json, found, machine("uptack", "diffprivlib", "numpy", "scikit-learn") | {"delta": DELTA})
    print(f"\nNumbers: {options.json}")


if __name__ == "__main__":
    main()
