"""Tables of rows: what is public of them, and the only questions that releases ask, wherever their rows are kept.

They are loaded when they are first used: an engine is not needed for arrays.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
