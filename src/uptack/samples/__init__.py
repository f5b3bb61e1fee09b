"""Bundled tables to try things on: two invented, one public."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyarrow import csv

from uptack.errors import InvalidArgument

__all__ = ["load", "path"]

NAMES = ("clinic", "health", "visits")


def load(name: str = "clinic") -> dict[str, NDArray[Any]]:
    """The columns of a table by their names.

    `clinic`: age, ward, wait_minutes, cost and readmitted (0 or 1) of 2400 patients, invented by
    `examples/make_sample.py`. Waits and costs are heavy tailed.

    `health`: visits to a doctor, terms of insurance and state of health in 20,190 person-years of the RAND Health
    Insurance Experiment (public domain), as `examples/make_health_sample.py` wrote them. A person has up to five rows,
    and there is no column that says whose they are: what is released protects person-years.

    `visits`: patient_id, age, ward, wait_minutes and cost of the visits of 3,000 patients, invented by
    `examples/make_visits_sample.py`. A patient has 1 to 60 rows, so that people are protected with
    `person="patient_id"`.

    >>> clinic = load("clinic")
    >>> len(clinic["age"]), clinic["wait_minutes"].dtype, clinic["cost"].dtype
    (2400, dtype('int64'), dtype('float64'))
    >>> bool(clinic["wait_minutes"].max() > 1000 * np.median(clinic["wait_minutes"]))
    True
    """
    table = csv.read_csv(path(name))
    return {column: np.array(table[column].to_pylist()) for column in table.column_names}


def path(name: str = "health") -> Path:
    """The file of a bundled table.

    >>> path("health").name
    'health.csv'
    """
    if not isinstance(name, str) or name not in NAMES:
        got = repr(name) if isinstance(name, str) else type(name).__name__
        raise InvalidArgument("name", "one of " + ", ".join(map(repr, NAMES)), got)
    return Path(str(resources.files(__name__).joinpath(f"{name}.csv")))
