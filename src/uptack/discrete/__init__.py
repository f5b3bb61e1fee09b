"""Counts, histograms and tables, and the best that any mechanism for counts can do.

They are loaded when they are first used: groups of other statistics need some of them.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
