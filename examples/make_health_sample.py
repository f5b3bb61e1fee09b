"""Makes the bundled table `health` from the RAND Health Insurance Experiment, as statsmodels ships it (public domain).

20,190 person-years: visits to a doctor, the terms of the insurance and the state of health. Logarithms are turned
back into what they are of, and dummy variables into words, so that the table looks like one that a curator has.

    pip install statsmodels
    python examples/make_health_sample.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from statsmodels.datasets import randhie

TARGET = Path(__file__).parents[1] / "src" / "uptack" / "samples" / "health.csv"


def main() -> None:
    raw = randhie.load_pandas().data
    rated = np.select([raw.hlthg == 1, raw.hlthf == 1, raw.hlthp == 1], ["good", "fair", "poor"], "excellent")
    table = {
        "visits": raw.mdvis,
        "coinsurance": np.rint(np.exp(raw.lncoins) - 1).astype(int),
        "deductible": np.where(raw.idp == 1, "individual", "family"),
        "incentive": np.round(np.exp(raw.lpi), 2),
        "chronic_diseases": raw.disea.round(2),
        "limited": np.where(raw.physlm > 0.5, "true", "false"),
        "health": rated,
    }
    rows = zip(*table.values(), strict=True)
    TARGET.write_text("\n".join([",".join(table), *(",".join(map(str, row)) for row in rows), ""]), "utf-8")
    print(f"{len(raw):,} rows in {TARGET.name}")


if __name__ == "__main__":
    main()
