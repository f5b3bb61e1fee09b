"""What a formula says, and the value of a factor in every row.

`formulaic` reads the algebra of a formula, and that is all it does. Rows are looked at here, each by itself: a factor
is a column, a few functions of columns (`FUNCTIONS`), or the categories of one. Transformations that learn from all
rows (center, scale, poly, splines) are refused by name. So what a row becomes depends on no other row, and whatever
holds for the rows of X and y holds for those of the table. A result that is no finite number is a missing value.

*Names* of columns may be any texts. Python and formulaic take some for others: Python those with equal compatible
forms, such as the micro sign and the Greek letter, and formulaic a column 1 for the intercept, or a name in backticks
for a part of another one. So they are written as words that both leave as they are.
"""

from __future__ import annotations

import ast
import difflib
import keyword
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.regression.formulas import elementary
from uptack.table.exact_sum import Floats
from uptack.table.values.kinds import number

MARK = "__named__"
NAMES = re.compile(r"`([^`]*)`|(?:[\w.]|[^\x00-\x7f\s])+")
"""Names in backticks, and words."""
MARKED = re.compile(rf"\b{MARK}\w*")
"""The words that stand for names."""


def escape_names(text: str) -> str:
    """A text in which names in backticks, and those that are not ASCII, are words of hexadecimal digits.

    >>> escape_names("log(`a b`) + x")
    'log(__named__612062) + x'
    """
    return NAMES.sub(_word, text)


def _word(found: re.Match[str]) -> str:
    name, quoted = found[1] or found[0], bool(found[1])
    if quoted or MARK in name or (name.isidentifier() and not name.isascii()):
        return MARK + name.encode("utf-8", "surrogatepass").hex()
    return name


def unescape_name(name: str) -> str:
    """The name that a word stands for."""
    digits = name.removeprefix(MARK)
    return bytes.fromhex(digits).decode("utf-8", "surrogatepass") if digits != name else name


def readable(text: str) -> str:
    """A text with all names as they are written: in backticks where they are no words of Python's.

    >>> readable(escape_names("log(`a b`) + `x`"))
    'log(`a b`) + x'
    """
    return MARKED.sub(_quoted, text)


def _quoted(found: re.Match[str]) -> str:
    name = unescape_name(found[0])
    return name if name.isidentifier() and not keyword.iskeyword(name) else f"`{name}`"


SHAPE = "a formula such as 'price ~ log(carat) + C(cut) + x:y'"
CURVES = "It depends on all rows. Write powers out, as in x + I(x**2), or add columns to the data."
SHIFTS = "It depends on all rows. Use public numbers, as in I((x - 40)/10), or x itself: no fit depends on its units."
FIRST = "Declare levels with levels={...}. The first one is the reference level."
INSTEAD = {
    **dict.fromkeys(("poly", "bs", "cr", "cs", "cc", "te", "ns", "spline"), CURVES),
    **dict.fromkeys(("center", "scale", "standardize", "Center", "Standardize"), SHIFTS),
    "Q": "Put names with spaces or symbols in backticks, as in `my col`.",
    "log": "It takes one argument. For other bases use log2 or log10.",
    "offset": "In a linear fit, subtract it from the response, as in I(y - x) ~ z.",
    **dict.fromkeys(("hashed", "Treatment", "Sum", "contr.treatment", "contr.sum"), FIRST),
}
"""What to write in place of functions that formulaic, patsy or R have."""


def refuse_shape(text: object, formula: Any, said: str = "") -> InvalidArgument:
    """A formula that has not one response and some predictors. `said` is what formulaic says of its syntax."""
    fix = "Add a predictor. For a response alone use mean, median or proportion."
    sides = getattr(formula, "lhs", None)
    if formula is None:
        dot = isinstance(text, str) and text.replace(" ", "").endswith(("~.", "+."))
        fix = "Name all columns instead of the dot." if dot else ""
    elif sides is None:
        fix = "Put the response before ~."
    elif len(list(sides)) != 1 or len(next(iter(sides)).factors) != 1:
        fix = "There must be one response: a column, or a function of columns in I()."
    elif not all(hasattr(term, "factors") for term in formula.rhs):
        fix = "'|' is not supported: join all predictors with +."
    return InvalidArgument("formula", SHAPE, checks.describe(text), f"{said} {fix}".strip())


T = TypeVar("T")

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "log": elementary.log, "log1p": elementary.log1p, "log2": elementary.log2, "log10": elementary.log10,
    "exp": elementary.exp, "expm1": elementary.expm1, "sqrt": np.sqrt, "abs": np.abs, "I": np.positive,
}  # fmt: skip
OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply, ast.Div: np.divide,
    ast.Pow: elementary.power, ast.USub: np.negative, ast.UAdd: np.positive,
}  # fmt: skip
CATEGORY = "C"
ALLOWED = f"Supported: {', '.join(FUNCTIONS)}, + - * / **, and C() for categories."

MOST = 1 << 12
"""Terms that a formula may have before equal ones are found, and columns that declared levels may make of them."""
HIGHEST = 16
"""Powers of terms."""
WORK = 1 << 16
"""Tuples of terms that all powers are worked out from, by formulaic, at most."""
DEEPEST = 100
"""How deep an expression of columns may be nested, and how many columns a term may be a product of."""
LONGEST = 1 << 17
"""Characters of a formula."""
FEWER = (
    "Name the terms that you need, as in a + b + a:b, or use a low power, as in (a + b)**2; I(x**9) is a power of x."
)


@dataclass(frozen=True)
class FormulaFactor:
    """A column, a function of columns, or the categories of a column."""

    text: str
    column: str = ""
    category: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it reads."""
        return (self.column,) if self.column else tuple(_names(_tree(self.text)))

    def numbers(self, table: Mapping[str, Floats], rows: int) -> Floats:
        """Its value in every one of so many rows."""
        if self.column:
            return lookup(table, self.column)
        with np.errstate(all="ignore"):
            return np.asarray(np.broadcast_to(_value(_tree(self.text), table), rows), np.float64)


@dataclass(frozen=True)
class Formula:
    """A response, and products of factors. `intercept` says whether there is one."""

    response: FormulaFactor
    terms: tuple[tuple[FormulaFactor, ...], ...]
    intercept: bool

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that it reads, those of the response first."""
        return tuple(dict.fromkeys(name for factor in (self.response, *self.factors) for name in factor.columns))

    @property
    def factors(self) -> tuple[FormulaFactor, ...]:
        """The factors of all terms."""
        return tuple(dict.fromkeys(factor for term in self.terms for factor in term))

    @property
    def categories(self) -> tuple[str, ...]:
        """The columns that it makes categories of by C()."""
        return tuple(dict.fromkeys(factor.column for factor in self.factors if factor.category))

    @staticmethod
    def of(response: str, predictors: Sequence[str]) -> Formula:
        """One column on others, whatever their names are, but for none at all."""
        names = (response, *predictors)
        if len(set(names)) < len(names) or "" in names:
            must = "different columns that have names, where some are categories"
            raise InvalidArgument("columns", must, ", ".join(map(repr, names)))
        return Formula(
            FormulaFactor(response, response), tuple((FormulaFactor(name, name),) for name in predictors), True
        )


def read(text: object) -> Formula:
    """A formula, or what was read of one. Looks at no data.

    >>> read("log(price) ~ carat*depth - 1").columns
    ('price', 'carat', 'depth')
    """
    if isinstance(text, Formula):
        return text
    formula = _parse(text)
    (response,) = formula.lhs
    terms = [tuple(_factor(part) for part in term.factors) for term in formula.rhs]
    products = tuple(term for term in terms if term != (FormulaFactor("1"),))
    (target,) = (_factor(part) for part in response.factors)
    if target.category:
        fix = "For two classes use logistic_regression with the column itself and classes=('no', 'yes')."
        raise InvalidArgument("formula", "a formula with a numeric response", f"C({target.column})", fix)
    if not products:
        raise refuse_shape(text, formula)
    if (target,) in products:
        raise InvalidArgument("formula", "a formula whose predictors do not include the response", repr(target.text))
    whole = Formula(target, products, len(products) < len(terms))
    if not whole.columns:
        raise InvalidArgument("formula", "of columns", checks.describe(text))
    return whole


def _parse(text: object) -> Any:
    """What formulaic makes of it: one response, and terms. A formula whose terms are too many is not worked out."""
    formula: Any = None
    said = ""
    try:
        if isinstance(text, str) and len(text) > LONGEST:
            raise InvalidArgument("formula", f"of at most {LONGEST:,} characters", f"{len(text):,}")
        from formulaic import Formula as Parsed

        formula = Parsed(_lower_powers(escape_names(text))) if isinstance(text, str) else None
        sides = list(formula.lhs)
        sound = len(sides) == 1 == len(sides[0].factors) and all(term.factors for term in formula.rhs)
    except InvalidArgument:
        raise
    except ImportError:
        raise ImportError('formulas need formulaic: pip install "uptack[formula]"') from None
    except Exception as error:  # of the text alone: no row is known here
        syntax = type(error).__name__ == "FormulaSyntaxError"
        sound, said = False, readable(str(error).partition("\n")[0]) if syntax else ""
    if not sound:
        raise refuse_shape(text, formula, said)
    return formula


def _lower_powers(text: str) -> str:
    """The formula with no higher powers than it needs. One with too many terms is refused."""
    from formulaic.parser import DefaultFormulaParser

    tree = DefaultFormulaParser().get_ast(text)
    terms, powers = count_terms(tree)
    if not terms <= MOST:
        must = f"of at most {MOST:,} terms of {DEEPEST} columns, with few powers, whole numbers up to {HIGHEST}"
        raise InvalidArgument("formula", must, checks.describe(text), FEWER)
    placed = [pair for pair in powers if pair[0].source == text]
    for written, power in sorted(placed, key=lambda pair: -pair[0].source_start):
        text = text[: written.source_start] + str(power) + text[written.source_end + 1 :]
    return text


def count_terms(tree: Any) -> tuple[float, list[tuple[Any, int]]]:
    """How many terms a formula has at most, from its syntax alone, and how high each of its powers need be.

    With a and b terms on either side a + b, a - b and a/b have up to a + b, a:b has a·b, a*b has a + b + a·b, and a**k
    has one for each set of up to k of a. So a**k is a**a for k above a, which takes formulaic less time. It is infinite
    where that is still too long. It grows with what it is made of, so a part that is too large is in no small whole.
    Sums may be long, so there is no recursion.
    """
    order, waiting = [], [tree]
    while waiting:
        order.append(node := waiting.pop())
        waiting += getattr(node, "args", ())
    size: tuple[float, float]
    sizes: dict[int, tuple[float, float]] = {}  # how many terms, and how many columns one is a product of
    powers: list[tuple[Any, int]] = []
    work: float = 0
    for node in reversed(order):  # parts come before what is made of them
        parts = [sizes[id(part)] for part in getattr(node, "args", ())]
        counts, widths = [terms for terms, _ in parts], [width for _, width in parts]
        both, product = max(sum(counts), 1), math.prod(counts)
        symbol = node.operator.symbol if hasattr(node, "operator") else ""
        if symbol in ("**", "^"):
            power = str(node.args[1])
            if not power.isdecimal() or int(power) > HIGHEST or counts[0] > MOST:
                return math.inf, []
            terms = int(counts[0])
            needed = min(int(power), terms)
            powers.append((node.args[1], needed))
            work += counts[0] ** needed
            size = sum(math.comb(terms, k) for k in range(1, int(power) + 1)), widths[0] * needed
        elif symbol in (":", "*"):
            size = product + both * (symbol == "*"), sum(widths)
        elif symbol in ("/", "%in%"):  # in a/b a term is a product of all terms of a and one of b
            size = both, sum(terms * width for terms, width in parts)
        else:
            size = both, max(widths, default=1)
        sizes[id(node)] = size
    small = work <= WORK and all(width <= DEEPEST for _, width in sizes.values())
    return sizes[id(tree)][0] if small else math.inf, powers


def _factor(part: Any) -> FormulaFactor:
    if part.eval_method.value == "lookup":
        return FormulaFactor(name := unescape_name(part.expr), name)
    text = readable(part.expr)
    try:
        tree = _tree(text)
    except SyntaxError:
        tree = None
    if tree is None:
        raise InvalidArgument("formula", "made of valid expressions", repr(text))
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id == CATEGORY:
        if len(tree.args) == 1 and isinstance(tree.args[0], ast.Name) and not tree.keywords:
            return FormulaFactor(text, unescape_name(tree.args[0].id), category=True)
        raise InvalidArgument("formula", "a formula with one column in each C()", text, FIRST)
    _check(tree, text)
    return FormulaFactor(text)


def _tree(text: str) -> ast.expr:
    """An expression."""
    return ast.parse(escape_names(text), mode="eval").body


def _check(tree: ast.AST, text: str, depth: int = 0) -> None:
    """Refuses whatever is not computed row by row, by its name."""
    if depth > DEEPEST:
        raise InvalidArgument("formula", f"nested at most {DEEPEST} levels deep", "more")
    if isinstance(tree, ast.Name) or (isinstance(tree, ast.Constant) and isinstance(tree.value, int | float)):
        return
    parts: Sequence[ast.AST] = ()
    if isinstance(tree, ast.Call) and _function(tree) in FUNCTIONS and len(tree.args) == 1 and not tree.keywords:
        parts = tree.args
    elif isinstance(tree, ast.BinOp) and type(tree.op) in OPERATORS:
        parts = tree.left, tree.right
    elif isinstance(tree, ast.UnaryOp) and type(tree.op) in OPERATORS:
        parts = (tree.operand,)
    if not parts:
        raise _refuse_part(tree, text)
    for part in parts:
        _check(part, text, depth + 1)


def _refuse_part(tree: ast.AST, text: str) -> InvalidArgument:
    """A part of an expression that is no function or operator of single rows."""
    got, fix = text, ALLOWED
    if isinstance(tree, ast.Call):
        got = readable(_function(tree))
        fix = INSTEAD.get(got, ALLOWED)
    elif isinstance(tree, ast.Compare | ast.BoolOp) or (isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not)):
        fix = "Add a column of truth values to the data, and name it here."
    elif isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.BitXor):
        fix = "Write powers with **, as in I(x**2)."
    return InvalidArgument("formula", "made of functions that use one row at a time", repr(got), fix)


def _function(tree: ast.Call) -> str:
    """log, np.log or numpy.log."""
    return ast.unparse(tree.func).removeprefix("np.").removeprefix("numpy.")


def _names(tree: ast.AST) -> Iterator[str]:
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    inner = {id(sub) for node in ast.walk(tree) if id(node) in called for sub in ast.walk(node)}
    return (unescape_name(node.id) for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in inner)


def _value(tree: ast.AST, table: Mapping[str, Floats]) -> Any:
    if isinstance(tree, ast.Constant):
        return number(tree.value)
    if isinstance(tree, ast.Name):
        return lookup(table, unescape_name(tree.id))
    if isinstance(tree, ast.Call):
        return FUNCTIONS[_function(tree)](_value(tree.args[0], table))
    if isinstance(tree, ast.BinOp):
        return OPERATORS[type(tree.op)](_value(tree.left, table), _value(tree.right, table))
    assert isinstance(tree, ast.UnaryOp)
    return OPERATORS[type(tree.op)](_value(tree.operand, table))


def lookup(columns: Mapping[str, T], name: str) -> T:
    """The entry of a column, by its name."""
    if name not in columns:
        near = difflib.get_close_matches(name, names := list(columns), n=3, cutoff=0.5)
        did_you_mean = f"Did you mean {' or '.join(map(repr, near))}?"
        fix = did_you_mean if near else f"The columns are {', '.join(map(repr, names))}."
        raise InvalidArgument("formula", "made of columns of the table", repr(name), fix)
    return columns[name]
