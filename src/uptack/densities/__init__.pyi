"""The public names of `uptack.densities` and where they live."""

from .fourier import fourier_density as fourier_density
from .kernel_density import kde as kde
