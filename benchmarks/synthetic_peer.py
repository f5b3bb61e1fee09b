"""MST or AIM of dpmm on one table: run by `benchmarks/synthetic.py --peers` in an environment that has dpmm.

dpmm pins old versions of NumPy and pandas, so it has an environment of its own (`pip install dpmm`). It is given what
it asks for: true bounds of numbers, true lists of categories. Numbers with at most `--categories` different values are
categories, with a true list of them; others go to its PrivTree bins, with a tenth of ε, as its default has it.

    python benchmarks/synthetic_peer.py rows.csv out.csv --method mst --epsilon 1 --seed 0
"""

from __future__ import annotations

import argparse
import json
import resource
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

BINS = 0.1
"""The share of ε for bins: dpmm's default is 0.1 beside ε = 1."""
SIZE = 80
"""The size of AIM's model in MB that its authors recommend for comparisons."""


def prepared(frame: pd.DataFrame, most: int) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Columns as dpmm takes them, and their true domain."""
    made, domain = frame.copy(), {}
    for name in frame:
        there = frame[name].dropna()
        numeric = pd.api.types.is_numeric_dtype(frame[name].dtype) and frame[name].dtype != bool
        if numeric and there.nunique() > most:
            domain[name] = {"lower": float(there.min()), "upper": float(there.max())}
            made[name] = frame[name].astype(float)
        else:
            text = frame[name].map(str, na_action="ignore")
            made[name] = text.astype("category")
            domain[name] = {"categories": sorted(text.dropna().unique())}
    return made, domain


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])  # type: ignore[union-attr]
    parser.add_argument("table", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--method", choices=["mst", "aim"], required=True)
    parser.add_argument("--epsilon", type=float, required=True)
    parser.add_argument("--delta", type=float, default=1e-6)
    parser.add_argument("--categories", type=int, default=100)
    parser.add_argument("--iterations", type=int, help="steps of each fit; dpmm's own number unless given")
    parser.add_argument("--minutes", type=float, default=30, help="of processor time, at most")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CPU, (round(60 * given.minutes), resource.RLIM_INFINITY))
    warnings.simplefilter("ignore")
    from dpmm.pipelines.aim import AIMPipeline
    from dpmm.pipelines.mst import MSTPipeline

    frame = pd.read_csv(given.table, low_memory=False)
    made, domain = prepared(frame, given.categories)
    binned = any("lower" in one for one in domain.values())
    share = BINS * given.epsilon if binned else 0.0
    start = time.perf_counter()
    pipeline = {"mst": MSTPipeline, "aim": AIMPipeline}[given.method](
        epsilon=given.epsilon - share,
        delta=given.delta,
        proc_epsilon=share or 0.1 * given.epsilon,
        n_jobs=1,
        gen_kwargs={} if given.iterations is None else {"n_iters": given.iterations},
        **({"max_model_size": SIZE} if given.method == "aim" else {}),
    )
    pipeline.fit(made, domain=domain, random_state=given.seed)
    rows = pipeline.generate(n_records=len(frame), random_state=given.seed)
    seconds = time.perf_counter() - start
    for name in frame:  # back to the types that the table has
        numeric = pd.api.types.is_numeric_dtype(frame[name].dtype) and frame[name].dtype != bool
        rows[name] = pd.to_numeric(rows[name].astype(object), errors="coerce") if numeric else rows[name].astype(object)
        if numeric and np.issubdtype(frame[name].dtype, np.integer):
            rows[name] = rows[name].round()
    rows[list(frame)].to_csv(given.output, index=False)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps({"seconds": round(seconds, 1), "cpu": round(time.process_time(), 1), "megabytes": memory}))


if __name__ == "__main__":
    main()
