"""Private functions: kernels, function releases with Gaussian-process noise, kernel machines.

The estimators need scikit-learn (`pip install "uptack[sklearn]"`) and are loaded when they are first used.
"""

from typing import Any

from uptack.kernels.curves import Curve
from uptack.kernels.density import DensityCurve, FourierDensity
from uptack.kernels.gaussian_process import release_function
from uptack.kernels.kernel import Kernel
from uptack.kernels.machines import kernel_machine
from uptack.kernels.norms import Expansion, KernelSum, sobolev_norm
from uptack.kernels.process import FunctionRelease
from uptack.kernels.regions import KernelMachine, plot_regions
from uptack.kernels.spectral import FourierBasis, SpectralRelease, release_spectral
from uptack.kernels.stationary import Exponential, Gaussian, Matern32, Matern52

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
        from uptack.kernels import estimators
    except ImportError as error:
        raise ImportError(f'{name} needs scikit-learn: pip install "uptack[sklearn]"') from error
    return getattr(estimators, name)
