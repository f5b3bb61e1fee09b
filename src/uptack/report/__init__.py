"""`uptack report`: one private profile of a whole table, under one budget."""

from uptack.report.budget import Division, Part, divide
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
    "to_html",
    "to_json",
    "to_markdown",
    "to_text",
    "write",
]
