"""Logistic regression by bounded sums: pure ε, no bounds on the data, for two declared classes."""

from __future__ import annotations

from typing import Any

from uptack.account import Account
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.noise import Entropy
from uptack.privacy import SUBSTITUTE, Adjacency
from uptack.registry import release
from uptack.regression.formulas import DesignColumns, entered
from uptack.regression.formulas.formula_reads import FORMULA_DESIGN
from uptack.regression.formulas.response_classes import labels_of, two_classes
from uptack.regression.logistic_loss import LogisticLoss
from uptack.regression.regression_calls import regress
from uptack.release import NoReply, Release
from uptack.table.exact_sum import Floats


def labelled(arguments: tuple[Any, ...], given: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """A call with 0 and 1 in place of the classes, of a formula or of y itself."""
    classes = two_classes(given.get("classes", (0, 1)))
    by_formula = given.get("formula") is not None and not isinstance(given["formula"], DesignColumns)
    (x, *others), rest = entered(arguments if arguments else (given.get("x"),), given, classes)
    rest = {k: v for k, v in rest.items() if k not in ("x", "y")} | {"classes": (0, 1)}
    if by_formula:
        return (x, *others), rest
    y = others[0] if others else given.get("y")
    return (x, labels_of(y, classes), *others[1:]), rest


def _lacking() -> InvalidArgument:
    """What the curator is told where rows must not lack a value or a class, and some do."""
    fix = "Declare the classes that there are, as in classes=('no', 'yes'), or pass missing='drop'."
    return InvalidArgument("X and y", "free of NaN and infinities, and y of values that are no class", "some", fix)


@release(
    reads=FORMULA_DESIGN,
    people=True,
    data=("x", "y"),
    missing="ignore",
    enter=labelled,
    examples=({}, {"fit_intercept": False}),
)
def logistic_regression(
    x: Any,
    y: Any = None,
    *,
    epsilon: Rational,
    delta: Rational = 0,
    classes: Any = (0, 1),
    fit_intercept: bool = True,
    binary: Any = None,
    formula: Any = None,
    levels: Any = None,
    missing: str = "error",
    rows_per_person: int = 1,
    adjacency: Adjacency = SUBSTITUTE,
    entropy: Entropy | None = None,
) -> Release[Floats] | NoReply:
    """Log-odds of the second of two classes, intercept first, with no bounds on the data: ε-differentially private.

    **Target.** The maximum likelihood estimate of the rows, without gross errors in x
    (`uptack.linear_regression`): also where log-odds are not linear in x.

    **Theorem.** Every step sums contributions of rows that are bounded by construction, or draws by inverse
    sensitivity, and is private for its part of ε whatever the rows: see `uptack.regression.solver`. The parts add up to
    at most ε on every path.

    `classes` are the two values that y may have, and never read off the rows: 0 and 1, which False and True are too, or
    others that you declare. A row with any other value is a missing one.

    `fit_intercept`, `binary`, `formula`, `delta`, `missing`, `person`, `result.interval()` and ⊥ are as in
    `linear_regression`. ⊥ is also the answer where a line separates the classes or nearly does: then coefficients run
    away, and the last step is a long one.

    >>> import numpy as np
    >>> from uptack.noise import SeededEntropy
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(20_000, 2)) * [1, 1000] + [0, 5000]
    >>> sick = rng.random(20_000) < 1 / (1 + np.exp(-x @ [1.0, -0.002] - 9))
    >>> found = logistic_regression(x, sick, epsilon=1, entropy=SeededEntropy(1))
    >>> bool(np.abs((found.value - [9, 1, -0.002]) * [0.1, 1, 1000]).max() < 0.2), found.privacy
    (True, Privacy(epsilon=1.0))
    """
    account = Account.open(
        "logistic regression", epsilon, delta, adjacency=adjacency, rows_per_person=rows_per_person, entropy=entropy
    )
    told = {"fit_intercept": fit_intercept, "binary": binary, "missing": missing, "formula": formula, "levels": levels}
    try:
        return regress(LogisticLoss(), x, y, account, told)
    except InvalidArgument as error:
        if error.name != "X and y":
            raise
    raise _lacking()
