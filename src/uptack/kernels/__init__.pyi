"""The public names of `uptack.kernels` and where they live."""

from .curves import Curve as Curve
from .density import DensityCurve as DensityCurve
from .density import FourierDensity as FourierDensity
from .estimators import KernelRegressor as KernelRegressor
from .estimators import KernelSVC as KernelSVC
from .gaussian_process import release_function as release_function
from .kernel import Kernel as Kernel
from .machines import kernel_machine as kernel_machine
from .norms import Expansion as Expansion
from .norms import KernelSum as KernelSum
from .norms import sobolev_norm as sobolev_norm
from .process import FunctionRelease as FunctionRelease
from .regions import KernelMachine as KernelMachine
from .regions import plot_regions as plot_regions
from .spectral import FourierBasis as FourierBasis
from .spectral import SpectralRelease as SpectralRelease
from .spectral import release_spectral as release_spectral
from .stationary import Exponential as Exponential
from .stationary import Gaussian as Gaussian
from .stationary import Matern32 as Matern32
from .stationary import Matern52 as Matern52
