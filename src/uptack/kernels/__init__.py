"""Private functions: kernels, function releases with Gaussian-process noise, kernel machines.

All of them are loaded when they are first used. The estimators need scikit-learn (`pip install "uptack[sklearn]"`).
"""

from typing import Any

import lazy_loader as lazy

_listed, __dir__, __all__ = lazy.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    try:
        return _listed(name)
    except ImportError as error:
        raise ImportError(f'{name} needs scikit-learn: pip install "uptack[sklearn]"') from error
