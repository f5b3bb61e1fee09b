"""Private functions: kernels, Gaussian-process noise, density estimates, kernel machines.

The estimators need scikit-learn (`pip install "uptack[sklearn]"`) and are loaded when they are first used.
"""

from typing import Any

from uptack.functions.curves import Curve
from uptack.functions.density import DensityCurve, FourierDensity
from uptack.functions.fourier import fourier_density
from uptack.functions.gaussian_process import release_function
from uptack.functions.kde import kde
from uptack.functions.kernels import Exponential, Gaussian, Kernel, Matern32, Matern52
from uptack.functions.machines import kernel_machine
from uptack.functions.norms import Expansion, KernelSum, sobolev_norm
from uptack.functions.process import FunctionRelease
from uptack.functions.regions import KernelMachine, plot_regions
from uptack.functions.spectral import FourierBasis, SpectralRelease, release_spectral

__all__ = [
    "Curve",
    "DensityCurve",
    "Expansion",
    "Exponential",
    "FourierBasis",
    "FourierDensity",
    "FunctionRelease",
    "Gaussian",
    "Kernel",
    "KernelMachine",
    "KernelRegressor",
    "KernelSVC",
    "KernelSum",
    "Matern32",
    "Matern52",
    "SpectralRelease",
    "fourier_density",
    "kde",
    "kernel_machine",
    "plot_regions",
    "release_function",
    "release_spectral",
    "sobolev_norm",
]


def __getattr__(name: str) -> Any:
    if name not in ("KernelRegressor", "KernelSVC"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from uptack.functions import estimators
    except ImportError as error:
        raise ImportError(f'{name} needs scikit-learn: pip install "uptack[sklearn]"') from error
    return getattr(estimators, name)
