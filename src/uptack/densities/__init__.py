"""Density curves: kernel estimates with Gaussian-process noise, Fourier series with exact Carathéodory noise.

They are loaded when they are first used: a report needs one of them.
"""

from typing import TYPE_CHECKING

from uptack.later import names

if TYPE_CHECKING:
    from uptack.densities.fourier import fourier_density
    from uptack.densities.kernel_density import kde

__all__ = ["fourier_density", "kde"]
__getattr__ = names(__name__, {"fourier_density": "uptack.densities.fourier", "kde": "uptack.densities.kernel_density"})
