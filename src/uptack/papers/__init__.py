"""The algorithms of the papers, from the parts that the library is made of.

R_S, R_H and the others have the papers' names and arguments. They follow the printed text to the letter but for the
constants that are wrong in print. Their neighbours are tables with one row replaced (SUBSTITUTE), the number of rows n
is public, and all noise is drawn exactly.

`shortcut_regression` and `hampel_regression` are the estimators of R_S and R_H for use: by inverse sensitivity and
K-norm noise, for people and for either adjacency. Their scikit-learn estimators need
`pip install "uptack[sklearn]"` and are loaded when they are first used.
"""

from typing import Any

from uptack.papers.dwork_lei_estimates import R_H, R_S, TM, M, S, Scale
from uptack.papers.dwork_roth_stability import A_dist, A_samp
from uptack.papers.hampel import hampel_regression
from uptack.papers.shortcut import shortcut_regression

__all__ = [
    "R_H",
    "R_S",
    "TM",
    "A_dist",
    "A_samp",
    "HampelRegression",
    "M",
    "S",
    "Scale",
    "ShortcutRegression",
    "hampel_regression",
    "shortcut_regression",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from uptack.papers import regression_estimators
    except ImportError as error:
        raise ImportError(f'{name} needs scikit-learn: pip install "uptack[sklearn]"') from error
    return getattr(regression_estimators, name)
