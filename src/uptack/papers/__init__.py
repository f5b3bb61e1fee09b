"""The algorithms of the papers, from the parts that the library is made of.

R_S, R_H and the others have the papers' names and arguments. They follow the printed text to the letter but for the
constants that are wrong in print. Their neighbours are tables with one row replaced (SUBSTITUTE), the number of rows n
is public, and all noise is drawn exactly.

`shortcut_regression` and `hampel_regression` are the estimators of R_S and R_H for use: by inverse sensitivity and
K-norm noise, for people and for either adjacency. Their scikit-learn estimators need
`pip install "uptack[sklearn]"`. All of them are loaded when they are first used.
"""

from typing import Any

import lazy_loader as lazy

_listed, __dir__, __all__ = lazy.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    try:
        return _listed(name)
    except ImportError as error:
        raise ImportError(f'{name} needs scikit-learn: pip install "uptack[sklearn]"') from error
