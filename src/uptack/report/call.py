"""A report in one call: `uptack.report(table, epsilon=2)`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from uptack.exact import Rational
from uptack.report.profile import Profile, profile
from uptack.session import Session
from uptack.session import open as open_session

DELTA = Fraction(1, 10**6)
"""What a report takes for δ unless it is told: the command line too."""


def report(
    data: Any,
    *,
    epsilon: Rational,
    delta: Rational = DELTA,
    title: str = "table",
    columns: Sequence[str] | None = None,
    shares: Mapping[str, Rational] | None = None,
    target: str | None = None,
    correlations: bool = False,
    plausible: Mapping[str, tuple[Any, Any]] | None = None,
    progress: bool | None = None,
    **opening: Any,
) -> Profile:
    """A private profile of a whole table: (ε, δ)-differentially private in all, and no bounds are asked for.

    **Theorem.** That of `uptack.report.profile`, which makes it: all losses are fixed before the first release, and
    composed as such.

    `data` is whatever `uptack.open` takes, with its options in `opening` (`ledger`, `person`, `missing`, `adjacency`,
    `types` and so on), or a session. The other options are those of `uptack report`:

    - `columns`: only these; `shares`: a column's weight in the budget, such as `{"age": 2}`.
    - `target`: also regress this column on all other numbers, for a third of ε.
    - `correlations`: also those of all columns of numbers, by ranks, for a sixth of ε.
    - `plausible`: guesses of where values lie, such as `{"age": (0, 120)}`. They need not be right.
    - `progress`: whether a line shows how far it is; None shows it where standard error is a terminal.

    The result has `to_html()`, `save("page.html")`, `to_markdown()`, `to_pandas()`, `to_polars()`, `to_dict()`, and is
    a page in a notebook.

    >>> import numpy as np
    >>> from uptack import SeededEntropy
    >>> made = report({"age": np.arange(20, 80).repeat(100)}, epsilon=1, entropy=SeededEntropy(1))
    >>> made.columns[0]["median"].value, made.spent.epsilon <= 1
    (49, True)
    """
    session = data if isinstance(data, Session) and not opening else open_session(data, **opening)
    choices: dict[str, Any] = {"columns": columns, "shares": shares, "plausible": plausible}
    choices |= {"target": target, "correlations": correlations}
    return profile(session, epsilon, delta, title=title, progress=progress, **choices)
