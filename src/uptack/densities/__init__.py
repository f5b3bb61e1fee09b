"""Density curves: kernel estimates with Gaussian-process noise, Fourier series with exact Carathéodory noise.

They are loaded when they are first used: a report needs one of them.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
