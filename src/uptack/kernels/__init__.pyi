"""The public names of `uptack.kernels` and where they live."""

from .curves import Curve as Curve
from .curves import DensityCurve as DensityCurve
from .curves import FourierDensity as FourierDensity
from .function_release import FunctionRelease as FunctionRelease
from .function_release import release_function as release_function
from .kernel import Expansion as Expansion
from .kernel import ExponentialKernel as ExponentialKernel
from .kernel import GaussianKernel as GaussianKernel
from .kernel import Kernel as Kernel
from .kernel import KernelSum as KernelSum
from .kernel import Matern32 as Matern32
from .kernel import Matern52 as Matern52
from .kernel import sobolev_norm as sobolev_norm
from .kernel_estimators import KernelRegressor as KernelRegressor
from .kernel_estimators import KernelSVC as KernelSVC
from .machine_minimisers import KernelMachine as KernelMachine
from .machine_minimisers import plot_regions as plot_regions
from .machine_release import kernel_machine as kernel_machine
from .spectral_release import FourierBasis as FourierBasis
from .spectral_release import SpectralRelease as SpectralRelease
from .spectral_release import release_spectral as release_spectral
