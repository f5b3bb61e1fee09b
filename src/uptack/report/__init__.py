"""`uptack report`: one private profile of a whole table, under one budget."""

from uptack.report.budget import Part, divide
from uptack.report.profile import ColumnProfile, Figure, Profile, plan, profile
from uptack.report.writing import to_html, to_json, to_markdown, write

__all__ = [
    "ColumnProfile",
    "Figure",
    "Part",
    "Profile",
    "divide",
    "plan",
    "profile",
    "to_html",
    "to_json",
    "to_markdown",
    "write",
]
