"""Private functions: kernels, function releases with Gaussian-process noise, kernel machines.

All of them are loaded when they are first used. The estimators need scikit-learn (`pip install "uptack[sklearn]"`).
"""

from typing import TYPE_CHECKING, Any

from uptack.later import names

if TYPE_CHECKING:
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


_WRITTEN = {
    "curves": "Curve",
    "density": "DensityCurve FourierDensity",
    "gaussian_process": "release_function",
    "kernel": "Kernel",
    "machines": "kernel_machine",
    "norms": "Expansion KernelSum sobolev_norm",
    "process": "FunctionRelease",
    "regions": "KernelMachine plot_regions",
    "spectral": "FourierBasis SpectralRelease release_spectral",
    "stationary": "Exponential Gaussian Matern32 Matern52",
}
"""The modules, and which names are theirs."""
_named = names(__name__, {name: f"{__name__}.{module}" for module, some in _WRITTEN.items() for name in some.split()})


def __getattr__(name: str) -> Any:
    if name not in ("KernelRegressor", "KernelSVC"):
        return _named(name)
    try:
        from uptack.kernels import estimators
    except ImportError as error:
        raise ImportError(f'{name} needs scikit-learn: pip install "uptack[sklearn]"') from error
    return getattr(estimators, name)
