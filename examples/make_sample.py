"""Makes the bundled table `clinic`: a year of one clinic, invented, the same at every run.

Waiting times and costs have the heavy tails and the few absurd entries of real records, so that a mean is a poor
summary of them and bounds are hard to name. No row is about a real person.

    python examples/make_sample.py
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import NamedTuple

import numpy as np

SEED, ROWS, STUCK_CLOCKS = 20240229, 2400, 9
TARGET = Path(__file__).parents[1] / "src" / "uptack" / "samples" / "clinic.csv"


class Ward(NamedTuple):
    """What sets the patients of one ward apart."""

    name: str
    share: float
    ages: tuple[int, int]
    median_wait: float
    least_cost: float
    readmitted: float


WARDS = (
    Ward("Emergency", 0.33, (16, 95), 74, 240, 0.14),
    Ward("Surgery", 0.23, (18, 90), 38, 1900, 0.11),
    Ward("Cardiology", 0.17, (35, 95), 31, 1400, 0.22),
    Ward("Maternity", 0.13, (18, 45), 18, 1100, 0.05),
    Ward("Paediatrics", 0.09, (0, 17), 26, 420, 0.09),
    Ward("Oncology", 0.05, (25, 90), 22, 2600, 0.31),
)


def main() -> None:
    rng = np.random.default_rng(SEED)
    drawn = [WARDS[i] for i in rng.choice(len(WARDS), ROWS, p=[ward.share for ward in WARDS])]
    low, high = np.array([ward.ages for ward in drawn]).T
    age = np.rint(low + (high - low) * rng.beta(1.7, 1.6, ROWS)).astype(int)
    wait = np.rint(np.array([ward.median_wait for ward in drawn]) * rng.lognormal(0, 0.8, ROWS)).astype(int)
    wait[rng.choice(ROWS, STUCK_CLOCKS, replace=False)] = rng.integers(9_000, 90_000, STUCK_CLOCKS)
    cost = np.round(np.array([ward.least_cost for ward in drawn]) * (1 + rng.pareto(1.6, ROWS)), 2)
    readmitted = (rng.random(ROWS) < [ward.readmitted for ward in drawn]).astype(int)
    with TARGET.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["age", "ward", "wait_minutes", "cost", "readmitted"])
        for row in zip(age, drawn, wait, cost, readmitted, strict=True):
            writer.writerow([row[0], row[1].name, row[2], f"{row[3]:.2f}", row[4]])
    print(f"{ROWS} rows in {TARGET.name}")


if __name__ == "__main__":
    main()
