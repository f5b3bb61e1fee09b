"""Options as a command line writes them, also in messages that name them as Python does."""

from __future__ import annotations

import ast
import re

from uptack.errors import InvalidArgument
from uptack.labels import shell_word
from uptack.registry.options import KNOWN, Option

SEVERAL = ("numbers", "keys", "edges", "words", "levels")
"""Forms of options that may be repeated."""

SINGLE = {"classes": "class", "equals": "equals"}
"""The singular of an option, if it is not the plural without its s."""

OF_SESSION = {
    name: f"--{name.replace('_', '-')}" for name in ("adjacency", "rows_per_person", "person", "missing", "noun")
} | {"types": "--type", "output": "--output"}
"""Options of the session, which all commands have, and the file that a report is written to."""

GIVEN = re.compile(r"""(?<![\w.-])(\w+)=(\([^()]*\)|\[[^][]*\]|'[^']*'|-?\d[\w.+-]*(?<![.])|(?!\.\.|[\w'"([{]))""")
"""An option with a value that can be written down, or with none, as in `epsilon=1` and `person=`."""

VALUE = r"(?:\{[^{}]*\}|\([^()]*\)|'[^']*')?"
BOTH = re.compile(rf"\b\w+={VALUE}(?: or \w+={VALUE})* \((--[^()]*)\)")
"""An option in Python, or one of several, and in parentheses the same on a command line."""


def flag_of(option: Option) -> str:
    """The option of a command: `--group` for groups, which may be repeated."""
    single = option.form in SEVERAL and option.form != "levels"  # of which one word has several
    return f"--{SINGLE.get(option.name, option.name.removesuffix('s')) if single else option.name.replace('_', '-')}"


PLACED = ("p", "low", "high")
FLAGS = {name: flag_of(one) for name, one in KNOWN.items() if one.form != "object" and name not in PLACED} | OF_SESSION
"""Options by their names in Python, but for those that are arguments of their commands."""


def in_options(error: Exception) -> str:
    """The message of an error, with options as a command line writes them.

    >>> in_options(InvalidArgument("groups", "listed if δ is 0", "nothing", "Or pass delta=1e-6."))
    '--group must be listed if δ is 0. Or pass --delta 1e-6.'
    >>> in_options(InvalidArgument("at_most", "left out without person=", 3, "Such as groups=('a', 'b c')."))
    "--at-most must be left out without --person, such as --group a --group 'b c'."
    >>> in_options(ValueError("Pass classes=('no', 'yes') (--class no --class yes)."))
    'Pass --class no --class yes.'
    >>> in_options(ValueError("Pass unnamed='last' (--unnamed last), header= or na= (--header or --na)."))
    'Pass --unnamed last, --header or --na.'
    >>> in_options(ValueError("It is declared with types= (--type), or in the schema."))
    'It is declared with --type, or in the schema.'
    >>> in_options(ValueError("colour=1, uptack.open(..., noun=...) and --type age=integer"))
    'colour=1, uptack.open(..., noun=...) and --type age=integer'
    """
    text = re.sub(r"^x must be ", "the column must be ", str(error))
    if isinstance(error, InvalidArgument) and error.name in FLAGS and text.startswith(f"{error.name} must be "):
        text = FLAGS[error.name] + text.removeprefix(error.name)
    return in_flags(text)


def in_flags(text: str) -> str:
    """A sentence, with options as a command line writes them.

    >>> in_flags("1 was chosen privately; set it with groups_per_person=.")
    '1 was chosen privately; set it with --groups-per-person.'
    """
    return GIVEN.sub(_command_line, BOTH.sub(r"\1", text))


def _command_line(option: re.Match[str]) -> str:
    name, value = option.groups()
    if name not in FLAGS or not value:
        return FLAGS.get(name, option[0])
    try:
        read = ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return option[0]
    words = [value] if isinstance(read, int | float) else read if isinstance(read, list | tuple) else [read]
    return " ".join(f"{FLAGS[name]} {shell_word(str(word))}" for word in words)
