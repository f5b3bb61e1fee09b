"""What the reference must not take from `uptack/__init__.pyi`: there `report` is a function, and here it is a package.

`uptack.report` is both, a package that can be called. The reference shows what is inside.
"""

from __future__ import annotations

from typing import Any

import griffe


class CalledModules(griffe.Extension):
    """Leaves out attributes of the stub that have the name of a package."""

    def on_attribute_instance(self, *, attr: griffe.Attribute, **_: Any) -> None:
        """Called when an attribute has been read."""
        if attr.path == "uptack.report" and attr.parent is not None:
            del attr.parent.members[attr.name]
