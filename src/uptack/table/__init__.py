"""Tables of rows: what is public about them, and the questions that releases may ask. Engines load when first used."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
