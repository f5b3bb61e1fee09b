"""Density curves: kernel estimates with Gaussian-process noise, Fourier series with exact Carathéodory noise."""

from uptack.densities.fourier import fourier_density
from uptack.densities.kde import kde

__all__ = ["fourier_density", "kde"]
