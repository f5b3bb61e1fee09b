"""`uptack report`: one private profile of a whole table, under one budget.

The module can be called: `uptack.report(table, epsilon=2)` is `uptack.report.report(table, epsilon=2)`.
"""

import sys
from types import ModuleType

from uptack.report.budget import Division, divide
from uptack.report.column import ColumnProfile, Figure, Part
from uptack.report.output import Output, to_json, write
from uptack.report.page import to_html
from uptack.report.profile import Profile, plan, profile, report
from uptack.report.section import Section, SectionAnswer, SectionTable, register
from uptack.report.text import to_markdown, to_text

__all__ = [
    "ColumnProfile",
    "Division",
    "Figure",
    "Output",
    "Part",
    "Profile",
    "Section",
    "SectionAnswer",
    "SectionTable",
    "divide",
    "plan",
    "profile",
    "register",
    "report",
    "to_html",
    "to_json",
    "to_markdown",
    "to_text",
    "write",
]


class _CallableModule(ModuleType):
    """A module that has the name of its main function: `uptack.report` is the one, and is called as the other."""

    __call__ = staticmethod(report)


sys.modules[__name__].__class__ = _CallableModule
