"""Makes the bundled panel `visits`: a year of one clinic, several rows per patient, invented, the same at every run.

Each of 3,000 patients has 1 to 60 visits, most of them a few. Who comes often is older, is seen faster and costs less
per visit. So a statistic of rows speaks of the few who come all the time, and one of people does not. Waiting times and
costs have heavy tails. No row is about a real person.

    python examples/make_visits_sample.py
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

SEED, PEOPLE, MOST, STUCK_CLOCKS = 20250601, 3000, 60, 12
TARGET = Path(__file__).parents[1] / "src" / "uptack" / "samples" / "visits.csv"
WARDS = {"Emergency": 0.35, "Surgery": 0.2, "Cardiology": 0.2, "Dialysis": 0.1, "Maternity": 0.15}


def main() -> None:
    rng = np.random.default_rng(SEED)
    visits = np.minimum(rng.zipf(1.7, PEOPLE), MOST)
    often = np.log(visits) / np.log(MOST)
    ages = np.rint(np.clip(rng.normal(45 + 20 * often, 15), 0, 99)).astype(int)
    usual = rng.choice(len(WARDS), PEOPLE, p=list(WARDS.values()))
    numbers = rng.permutation(PEOPLE) + 1
    person = rng.permutation(np.repeat(np.arange(PEOPLE), visits))  # in the order in which they came
    rows = person.size
    ward = np.where(rng.random(rows) < 0.8, usual[person], rng.integers(len(WARDS), size=rows))
    wait = np.rint(70 * np.exp(-1.2 * often[person]) * rng.lognormal(0, 0.7, rows)).astype(int)
    wait[rng.choice(rows, STUCK_CLOCKS, replace=False)] = rng.integers(9_000, 90_000, STUCK_CLOCKS)
    cost = np.round(600 * np.exp(-0.9 * often[person]) * (1 + rng.pareto(1.7, rows)), 2)
    names = list(WARDS)
    with TARGET.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["patient_id", "age", "ward", "wait_minutes", "cost"])
        for i, who in enumerate(person):
            writer.writerow([f"P{numbers[who]:04d}", ages[who], names[ward[i]], wait[i], f"{cost[i]:.2f}"])
    print(f"{rows} rows of {PEOPLE} people in {TARGET.name}")


if __name__ == "__main__":
    main()
