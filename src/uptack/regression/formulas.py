"""Formulas such as "price ~ log(carat) + C(cut) + x:y": how a table becomes X and y, row by row.

`formulaic` reads the algebra of a formula, and that is all it does. Rows are looked at here, each by itself: a factor
is a column, a few functions of columns (`FUNCTIONS`), or the categories of one. Transformations that learn from all
rows (center, scale, poly, splines) are refused by name. So what a row becomes depends on no other row, and whatever
holds for the rows of X and y holds for those of the table. A result that is no finite number is a missing value.

*Categories* have declared levels: `levels={"cut": ["Fair", "Good"]}`, or the type of the column lists them (an Enum of
polars). They are never read off rows; those of a Categorical of pandas may have been, so they do not count as declared.
A row with another value is a missing one. As usual a category has one column per level but the first, or for all of
them where the rest of the formula leaves room for it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from itertools import combinations
from typing import Any

import numpy as np

from uptack import checks
from uptack.columns import NUMERIC, canonical, containers, field
from uptack.columns.fields import Field
from uptack.columns.owners import PeopleRows
from uptack.columns.table import Floats
from uptack.errors import InvalidArgument
from uptack.later import Later

formulaic = Later("formulaic")

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "log": np.log, "log1p": np.log1p, "log2": np.log2, "log10": np.log10, "exp": np.exp, "expm1": np.expm1,
    "sqrt": np.sqrt, "abs": np.abs, "I": np.positive,
}  # fmt: skip
OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply, ast.Div: np.divide, ast.Pow: np.power,
    ast.USub: np.negative, ast.UAdd: np.positive,
}  # fmt: skip
CATEGORY = "C"
SHAPE = "a formula such as 'price ~ log(carat) + C(cut) + x:y'"
ALLOWED = f"Row by row there are {', '.join(FUNCTIONS)}, + - * / **, and C() for categories."
MOST_LEVELS = 1000


@dataclass(frozen=True)
class Factor:
    """A column, a function of columns, or the categories of a column."""

    text: str
    column: str = ""
    category: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it reads."""
        return (self.column,) if self.column else tuple(_names(_tree(self.text)))

    def numbers(self, table: Mapping[str, Field]) -> Floats:
        """Its value in every row."""
        if self.column:
            return _known(table, self.column).floats()
        with np.errstate(all="ignore"):
            return np.asarray(np.broadcast_to(_value(_tree(self.text), table), _size(table)), np.float64)


@dataclass(frozen=True)
class Formula:
    """A response, and products of factors. `intercept` says whether there is one."""

    response: Factor
    terms: tuple[tuple[Factor, ...], ...]
    intercept: bool

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that it reads, those of the response first."""
        factors = (self.response, *(factor for term in self.terms for factor in term))
        return tuple(dict.fromkeys(name for factor in factors for name in factor.columns))


def read(text: object) -> Formula:
    """A formula. Looks at no data.

    >>> read("log(price) ~ carat*depth - 1").columns
    ('price', 'carat', 'depth')
    """
    formula = _parsed(text)
    (response,) = formula.lhs
    terms = [tuple(_factor(part) for part in term.factors) for term in formula.rhs]
    products = tuple(term for term in terms if [factor.text for factor in term] != ["1"])
    (target,) = (_factor(part) for part in response.factors)
    if not products or target.category:
        raise InvalidArgument("formula", SHAPE, checks.describe(text))
    return Formula(target, products, len(products) < len(terms))


def _parsed(text: object) -> Any:
    """What formulaic makes of it: one response, and terms."""
    try:
        found: Any = formulaic.Formula(text) if isinstance(text, str) else None
        sound = len(list(found.lhs)) == 1 == len(next(iter(found.lhs)).factors) and all(t.factors for t in found.rhs)
    except ImportError:
        raise ImportError('formulas need formulaic: pip install "uptack[formula]"') from None
    except Exception:
        sound = False
    if not sound:
        raise InvalidArgument("formula", SHAPE, checks.describe(text))
    return found


def _factor(part: Any) -> Factor:
    if part.eval_method.value == "lookup":
        return Factor(part.expr, part.expr)
    tree = _tree(part.expr)
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id == CATEGORY:
        if len(tree.args) == 1 and isinstance(tree.args[0], ast.Name) and not tree.keywords:
            return Factor(part.expr, tree.args[0].id, category=True)
        raise InvalidArgument("formula", "with C() of one column", part.expr)
    _check(tree, part.expr)
    return Factor(part.expr)


def _tree(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _check(tree: ast.AST, text: str) -> None:
    """Refuses whatever is not computed row by row, by its name."""
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
        what = _function(tree) if isinstance(tree, ast.Call) else ""
        raise InvalidArgument("formula", "made of functions of single rows", repr(what or text), ALLOWED)
    for part in parts:
        _check(part, text)


def _function(tree: ast.Call) -> str:
    """log, or np.log."""
    name = ast.unparse(tree.func)
    return name.removeprefix("np.")


def _names(tree: ast.AST) -> Iterator[str]:
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    inner = {id(sub) for node in ast.walk(tree) if id(node) in called for sub in ast.walk(node)}
    return (node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in inner)


def _value(tree: ast.AST, table: Mapping[str, Field]) -> Any:
    if isinstance(tree, ast.Constant):
        return float(tree.value)  # type: ignore[arg-type]
    if isinstance(tree, ast.Name):
        return _known(table, tree.id).floats()
    if isinstance(tree, ast.Call):
        return FUNCTIONS[_function(tree)](_value(tree.args[0], table))
    if isinstance(tree, ast.BinOp):
        return OPERATORS[type(tree.op)](_value(tree.left, table), _value(tree.right, table))
    assert isinstance(tree, ast.UnaryOp)
    return OPERATORS[type(tree.op)](_value(tree.operand, table))


# ---------------------------------------------------------------------------------------------------------- categories

Margin = tuple[tuple[Factor, ...], dict[Factor, bool]]
"""A product of numbers, and of categories with all their levels (True) or all but the first."""


def margins(formula: Formula, categories: frozenset[str]) -> list[Margin]:
    """Which columns each term needs beside those of the terms before: none twice, so that none follows from others.

    A category is a constant and its levels but the first. So a product of categories is a sum over sets of them. Sets
    that are there already are left out; two that differ by one category make it one with all its levels.
    """
    seen: set[tuple[frozenset[Factor], frozenset[Factor]]] = set()
    if formula.intercept:
        seen.add((frozenset(), frozenset()))
    found: list[Margin] = []
    for term in formula.terms:
        several = tuple(f for f in term if f.category or f.column in categories)
        plain = tuple(f for f in term if f not in several)
        sets = [frozenset(s) for k in range(len(several) + 1) for s in combinations(several, k)]
        new = [s for s in sets if (frozenset(plain), s) not in seen]
        seen.update((frozenset(plain), s) for s in sets)
        found += [(plain, {f: one[f] for f in several if f in one}) for one in _merged(new)]
    return found


def _merged(sets: Iterable[frozenset[Factor]]) -> list[dict[Factor, bool]]:
    left = [dict.fromkeys(one, False) for one in sets]
    while (pair := _apart_by_one(left)) is not None:
        short, long, factor = pair
        left = [one for one in left if one is not long and one is not short] + [{**short, factor: True}]
    return left


def _apart_by_one(sets: Sequence[dict[Factor, bool]]) -> tuple[dict[Factor, bool], dict[Factor, bool], Factor] | None:
    pairs = ((a, b, f) for a in sets for b in sets for f in b if f not in a and {**a, f: False} == b)
    return next(pairs, None)


def levels_of(column: str, given: Any) -> tuple[Any, ...]:
    """The declared levels of a column."""
    fix = f"Pass levels={{{column!r}: [...]}}. They are not read off the rows."
    if given is None:
        raise InvalidArgument("levels", f"given for the categories of {column!r}", "none", fix)
    found = list(given) if isinstance(given, list | tuple | np.ndarray) else []
    distinct = {canonical(level) for level in found}
    if not 2 <= len(found) == len(distinct) <= MOST_LEVELS or None in distinct:
        raise InvalidArgument("levels", f"2 to {MOST_LEVELS} values that differ", checks.outline(given))
    return tuple(found)


# --------------------------------------------------------------------------------------------------------------- design


@dataclass(frozen=True)
class Named:
    """Columns of a table by name: of a session's source, or of a frame. `levels` are those that types declare. With
    `owners`, rows are people's.
    """

    fields: Mapping[str, Field]
    levels: Mapping[str, Any] = dataclass_field(default_factory=dict)
    owners: PeopleRows | None = None


@dataclass(frozen=True)
class Columns:
    """What is public of X: the names of its columns, those that are 0 or 1, and whether there is an intercept."""

    names: tuple[str, ...]
    binary: tuple[int, ...]
    intercept: bool


def designed(text: object, data: Any, levels: Any) -> tuple[Any, Any, Columns]:
    """X and y, and what is public of X."""
    formula, table = read(text), data if isinstance(data, Named) else _named(data)
    if not isinstance(levels, Mapping | None):
        raise InvalidArgument("levels", "levels by column, as in {'cut': ['Fair', 'Good']}", checks.outline(levels))
    declared = {**table.levels, **(levels or {})}
    fields = {name: _known(table.fields, name) for name in formula.columns}
    several = frozenset(name for name, one in fields.items() if name in declared or one.kind == "text")
    listed = {name: levels_of(name, declared.get(name)) for name in _categories(formula, several)}
    made = [part for margin in margins(formula, several) for part in _columns(margin, fields, listed)]
    x = np.column_stack([values for _, values, _ in made])
    binary = tuple(place for place, (_, _, flag) in enumerate(made) if flag)
    y: Any = (
        formula.response.numbers(fields) if not _labels(formula, fields) else fields[formula.response.column].rows()
    )
    public = Columns(tuple(name for name, _, _ in made), binary, formula.intercept)
    if table.owners is not None:
        return replace(table.owners, values=x), replace(table.owners, values=y), public
    return x, y, public


def _labels(formula: Formula, fields: Mapping[str, Field]) -> bool:
    """Whether the response is a column of texts, as it is."""
    return bool(formula.response.column) and fields[formula.response.column].kind == "text"


def _categories(formula: Formula, several: frozenset[str]) -> tuple[str, ...]:
    factors = (factor for term in formula.terms for factor in term)
    return tuple(dict.fromkeys(f.column for f in factors if f.category or (f.column and f.column in several)))


def _columns(
    margin: Margin, fields: Mapping[str, Field], levels: Mapping[str, tuple[Any, ...]]
) -> list[tuple[str, Floats, bool]]:
    """Names, values, and whether they are 0 or 1: one column per combination of levels."""
    plain, several = margin
    found: list[tuple[list[str], Floats, bool]] = [([], np.ones(_size(fields)), True)]
    for factor in plain:
        values, flag = factor.numbers(fields), bool(factor.column) and fields[factor.column].kind == "boolean"
        with np.errstate(all="ignore"):
            found = [([*names, factor.text], one * values, both and flag) for names, one, both in found]
    for factor, full in several.items():
        chosen = levels[factor.column]
        dummies = _dummies(fields[factor.column], chosen)
        found = [
            ([*names, f"{factor.column}[{level}]"], one * dummy, both)
            for names, one, both in found
            for level, dummy in list(zip(chosen, dummies, strict=True))[0 if full else 1 :]
        ]
    return [(":".join(names), values, flag) for names, values, flag in found]


def _dummies(data: Field, levels: tuple[Any, ...]) -> list[Floats]:
    """1 for rows of the level, 0 for those of another one, NaN for those of none."""
    equal = [data.equal(level) for level in levels]
    none = ~np.any(equal, axis=0)
    return [np.where(none, np.nan, one.astype(np.float64)) for one in equal]


def _named(data: Any) -> Named:
    """The columns of a frame, or of a mapping of columns."""
    columns = list(data.items()) if isinstance(data, Mapping) else containers.frame(data)
    if columns is None:
        raise InvalidArgument("X", "a frame, or columns by name, where there is a formula", checks.outline(data))
    fields = {str(name): field(f"X[{name!r}]", part) for name, part in columns}
    if len({one.size for one in fields.values()}) > 1:
        raise InvalidArgument("X", "columns of equal length", "columns of several lengths")
    enums = {str(name): tuple(part.dtype.categories) for name, part in columns if _is_enum(part)}
    return Named(fields, enums)


def of_source(source: Any, names: Sequence[str]) -> Named:
    """The columns of a session's table. Texts are read where the table is in memory, and rows are the unit."""
    numbers = [name for name in names if source.columns[name] in NUMERIC]
    if hasattr(source, "points"):
        rows = source.points(names)
        return Named(dict(zip(names, map(containers.of_numpy, rows.values.T), strict=True)), owners=rows)
    read = dict(zip(numbers, map(containers.of_numpy, source.matrix(numbers).T), strict=True)) if numbers else {}
    return Named({name: read[name] if name in read else _text(source, name) for name in names})


def of_nothing(source: Any, names: Sequence[str]) -> Named:
    """The same without rows being read."""
    n = source.rows
    zeros, gone = containers.of_numpy(np.broadcast_to(0.0, n)), np.broadcast_to(np.array(None, object), n)
    text = Field("text", n, lambda: (gone, None))
    fields = {name: zeros if source.columns[name] in NUMERIC else _text(source, name) and text for name in names}
    people = PeopleRows(np.zeros(n), np.arange(n), n) if hasattr(source, "points") else None
    return Named(fields, owners=people)


def _text(source: Any, name: str) -> Field:
    """A column of texts, where it can be read."""
    if hasattr(source, "points") or not hasattr(source, "field"):
        fix = "Make it numbers of 0 and 1 where the table is, or open a table in memory."
        raise InvalidArgument("formula", "of numeric columns in this session", repr(name), fix)
    found: Field = source.field(name)
    return found


def _is_enum(column: Any) -> bool:
    """Whether a column's type lists its values: an Enum of polars does."""
    return containers.package(column) == "polars" and str(getattr(column, "dtype", "")).startswith("Enum")


def _known(fields: Mapping[str, Field], name: str) -> Field:
    if name not in fields:
        raise InvalidArgument("formula", f"of columns that there are, {', '.join(map(repr, fields))}", repr(name))
    return fields[name]


def _size(fields: Mapping[str, Field]) -> int:
    return next(iter(fields.values())).size


def entered(arguments: tuple[Any, ...], given: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """A call with a formula as one with X and y. `formula` is then what is public of X."""
    x = arguments[0] if arguments else given.get("x")
    if given.get("formula") is None or isinstance(given["formula"], Columns):
        if given.get("levels") is not None:
            raise InvalidArgument("levels", "left out where there is no formula", "some")
        return arguments, given
    if given.get("y") is not None or (len(arguments) > 1 and arguments[1] is not None):
        raise InvalidArgument("y", "left out where there is a formula", "some", "The formula names it.")
    if given.get("binary") is not None:
        raise InvalidArgument("binary", "left out where there is a formula", "some", "Dummies are declared by it.")
    design, response, public = designed(given["formula"], x, given.get("levels"))
    rest = {name: value for name, value in given.items() if name not in ("x", "y", "levels")}
    return (design, response), {**rest, "formula": public}
