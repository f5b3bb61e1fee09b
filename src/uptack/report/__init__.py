"""`uptack report`: one private profile of a whole table, under one budget.

The module can be called: `uptack.report(table, epsilon=2)` is `uptack.report.report(table, epsilon=2)`.
"""

import sys
from types import ModuleType

from uptack.report.budget import Division, Part, divide
from uptack.report.call import report
from uptack.report.cards import Figure
from uptack.report.output import Output, write
from uptack.report.page import to_html
from uptack.report.profile import ColumnProfile, Profile, plan, profile
from uptack.report.text import to_markdown, to_text
from uptack.report.writing import to_json

__all__ = [
    "ColumnProfile",
    "Division",
    "Figure",
    "Output",
    "Part",
    "Profile",
    "divide",
    "plan",
    "profile",
    "report",
    "to_html",
    "to_json",
    "to_markdown",
    "to_text",
    "write",
]


class _Called(ModuleType):
    """A module that has the name of its main function: `uptack.report` is the one, and is called as the other."""

    __call__ = staticmethod(report)


sys.modules[__name__].__class__ = _Called
