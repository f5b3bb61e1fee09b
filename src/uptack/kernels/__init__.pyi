"""The public names of `uptack.kernels` and where they live."""

from .density_curves import DensityCurve as DensityCurve
from .density_curves import FourierDensity as FourierDensity
from .function_curves import Curve as Curve
from .function_release import FunctionRelease as FunctionRelease
from .gaussian_process import release_function as release_function
from .kernel import Kernel as Kernel
from .kernel_estimators import KernelRegressor as KernelRegressor
from .kernel_estimators import KernelSVC as KernelSVC
from .kernel_norms import Expansion as Expansion
from .kernel_norms import KernelSum as KernelSum
from .kernel_norms import sobolev_norm as sobolev_norm
from .machine_function import KernelMachine as KernelMachine
from .machine_function import plot_regions as plot_regions
from .machine_release import kernel_machine as kernel_machine
from .spectral_release import FourierBasis as FourierBasis
from .spectral_release import SpectralRelease as SpectralRelease
from .spectral_release import release_spectral as release_spectral
from .stationary_kernels import ExponentialKernel as ExponentialKernel
from .stationary_kernels import GaussianKernel as GaussianKernel
from .stationary_kernels import Matern32 as Matern32
from .stationary_kernels import Matern52 as Matern52
