"""What is said of formulas that are refused: which part, and what to write instead. All of it is about the text."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterable
from typing import Any

from uptack import checks
from uptack.errors import InvalidArgument

SHAPE = "a formula such as 'price ~ log(carat) + C(cut) + x:y'"
CURVES = "It learns from all rows. Write powers out, as in x + I(x**2), or make columns of your own."
SHIFTS = "It learns from all rows. Take public numbers, as in I((x - 40)/10), or x as it is: no fit hangs on its units."
FIRST = "Levels are declared with levels={...}, and the first of them is the one that others are compared with."
INSTEAD = {
    **dict.fromkeys(("poly", "bs", "cr", "cs", "cc", "te", "ns", "spline"), CURVES),
    **dict.fromkeys(("center", "scale", "standardize", "Center", "Standardize"), SHIFTS),
    "Q": "A name that is no word is written in backticks, as in `my col`.",
    "log": "It has one argument; log2 and log10 have other bases.",
    "offset": "In a linear fit, subtract it from the response, as in I(y - x) ~ z.",
    **dict.fromkeys(("hashed", "Treatment", "Sum", "contr.treatment", "contr.sum"), FIRST),
}
"""What to write in place of functions that formulaic, patsy or R have."""


def of_call(name: str, allowed: str) -> InvalidArgument:
    """A function that is not one of single rows, by its name."""
    return InvalidArgument("formula", "made of functions of single rows", repr(name), INSTEAD.get(name, allowed))


def of_part(tree: ast.AST, text: str, allowed: str) -> InvalidArgument:
    """A part of an expression that is none of the operators that there are."""
    fix = allowed
    if isinstance(tree, ast.Compare | ast.BoolOp) or (isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not)):
        fix = "Make a column of truth values of it first, and name that one."
    elif isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.BitXor):
        fix = "A power is written **, as in I(x**2)."
    return InvalidArgument("formula", "made of functions of single rows", repr(text), fix)


def of_category(text: str) -> InvalidArgument:
    """C() of something else than a column."""
    return InvalidArgument("formula", "with C() of one column", text, FIRST)


def of_shape(text: object, found: Any, said: str = "") -> InvalidArgument:
    """A formula that has not one response and some predictors. `said` is what formulaic says of its syntax."""
    return InvalidArgument("formula", SHAPE, checks.describe(text), f"{said} {_reason(text, found)}".strip())


def syntax(error: Exception) -> str:
    """What formulaic says of the syntax of a text, without the text."""
    return str(error).partition("\n")[0] if type(error).__name__ == "FormulaSyntaxError" else ""


def _reason(text: object, found: Any) -> str:
    """What is missing, or too much."""
    if found is None:
        dot = isinstance(text, str) and text.replace(" ", "").endswith(("~.", "+."))
        return "Name all columns in place of the dot." if dot else ""
    sides = getattr(found, "lhs", None)
    if sides is None:
        return "There is no response: it stands before ~."
    if len(list(sides)) != 1 or len(next(iter(sides)).factors) != 1:
        return "There must be one response: a column, or a function of columns in I()."
    if not all(hasattr(term, "factors") for term in found.rhs):
        return "There is no | here: all predictors are in one sum."
    return "There is no predictor. Of a response alone there are mean, median and proportion."


def of_response(name: str) -> InvalidArgument:
    """C() of the response."""
    fix = "Two classes are a response by the name alone in logistic_regression, with classes=('no', 'yes')."
    return InvalidArgument("formula", "with a response of numbers", f"C({name})", fix)


def of_column(name: str, columns: Iterable[str]) -> InvalidArgument:
    """A column that there is not."""
    names = list(columns)
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    fix = f"Did you mean {' or '.join(map(repr, near))}?" if near else f"There are {', '.join(map(repr, names))}."
    return InvalidArgument("formula", "of columns that there are", repr(name), fix)
