"""Logistic regression by bounded sums: pure ε, no bounds on the data, for two declared classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from uptack import checks
from uptack.account import Account
from uptack.columns import canonical, field
from uptack.columns.owners import PeopleRows
from uptack.columns.table import Floats
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.multivariate.entrance import MISSING, Given, binary_columns, same_length, table_of
from uptack.noise import Entropy
from uptack.privacy import SUBSTITUTE, Adjacency
from uptack.registry import release
from uptack.registry.reads import DESIGN
from uptack.regression.fitting import Asked, fit
from uptack.regression.losses import Logistic
from uptack.release import NoReply, Release


@release(
    reads=DESIGN,
    people=True,
    data=("x", "y"),
    missing="ignore",
    examples=({}, {"fit_intercept": False}),
)
def logistic_regression(
    x: Any,
    y: Any,
    *,
    epsilon: Rational,
    classes: Any = (0, 1),
    fit_intercept: bool = True,
    binary: Any = None,
    missing: str = "error",
    rows_per_person: int = 1,
    adjacency: Adjacency = SUBSTITUTE,
    entropy: Entropy | None = None,
) -> Release[Floats] | NoReply:
    """Log-odds of the second of two classes, intercept first, with no bounds on the data: ε-differentially private.

    **Theorem.** Every step sums contributions of rows that are bounded by construction, or draws by inverse
    sensitivity, and is private for its part of ε whatever the rows: see `uptack.regression.newton`. The score
    y - 1/(1 + e^-η) is between -1 and 1, whatever η is. The parts add up to at most ε on every path.

    `classes` are the two values that y may have, and never read off the rows: 0 and 1, which False and True are too, or
    others that you declare. A row with any other value is a missing one.

    It is a maximum likelihood fit in which rows far out in x count less. If the model holds they estimate the same. A
    small ridge draws coefficients to 0 by less than a sampling error. `result.interval()` and `result.summary()` allow
    for sampling, if the model holds, for privacy noise and for the ridge.

    `fit_intercept`, `binary`, `missing`, `person` and ⊥ are as in `linear_regression`. ⊥ is also the answer where a
    line separates the classes or nearly does: then coefficients run away, and the last step is no polish.

    >>> from uptack.noise import SeededEntropy
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(20_000, 2)) * [1, 1000] + [0, 5000]
    >>> sick = rng.random(20_000) < 1 / (1 + np.exp(-x @ [1.0, -0.002] - 9))
    >>> found = logistic_regression(x, sick, epsilon=1, entropy=SeededEntropy(1))
    >>> bool(np.abs((found.value - [9, 1, -0.002]) * [0.1, 1, 1000]).max() < 0.2), found.privacy
    (True, Privacy(epsilon=1.0))
    """
    how, both = checks.choice("missing", missing, MISSING), two_classes(classes)
    account = Account.open(
        "logistic regression", epsilon, adjacency=adjacency, rows_per_person=rows_per_person, entropy=entropy
    )
    design = table_of("X", x)
    zeros = binary_columns(binary, design.columns)
    return fit(design, labels_of(y, both, design), Asked(Logistic(), zeros, bool(fit_intercept), how, account))


def two_classes(classes: Any) -> tuple[Any, Any]:
    """Two values that differ."""
    given = tuple(classes) if isinstance(classes, list | tuple | np.ndarray) else ()
    plain = all(isinstance(one, str | bool | int | float | np.generic) for one in given)
    both = {canonical(one) for one in given} if plain else set()
    if len(given) != 2 or len(both) != 2 or None in both:
        raise InvalidArgument("classes", "two values that differ, as in (0, 1)", checks.outline(classes))
    return given[0], given[1]


def labels_of(y: Any, classes: tuple[Any, Any], design: Given) -> Floats:
    """0 for rows of the first class, 1 for those of the second, NaN for others: each row by itself."""
    if isinstance(y, PeopleRows):
        first, second = (y.values == canonical(one) for one in classes)
    else:
        found = field("y", y, "one column of classes")
        first, second = (found.equal(one) for one in classes)
        same_length(first.size, design)
    return np.where(second, 1.0, np.where(first, 0.0, np.nan))
