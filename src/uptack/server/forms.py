"""The form of a release function, derived from its declaration: its fields, and the request that people typed.

A text is read as the command line reads it (`uptack.wire.text_values`). What comes out is the body of a request as the
API takes it (`uptack.wire.requests`), so pages can ask for nothing that a program can't.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.registry import Declaration, Option
from uptack.registry.declaration import CLAUSE
from uptack.registry.options import PEOPLE
from uptack.server.service import REPORT, report_options
from uptack.session import Session
from uptack.table.conditions import MOST_CONDITIONS
from uptack.wire.requests import plain, wire_options, write_request
from uptack.wire.text_values import READERS, condition, typed_request

Typed = Mapping[str, Sequence[str]]
"""The fields of a form, as they were sent."""

START, SYNTHETIC = "Start here", "synthetic"
WORDS = {
    "report": ("report", "A private report of all columns: medians, quartiles, counts."),
    "synthetic": ("synthetic rows", "Made-up rows with about the same one-way and two-way tables as the data."),
    "median": ("median", "The value in the middle, for all rows or for each group."),
    "quantile": ("quantiles", "One quantile or several, such as quartiles or deciles, for one ε."),
    "mean": ("mean", "The arithmetic mean, with a confidence interval."),
    "proportion": ("proportion", "The share of rows with a given value, with a confidence interval."),
    "completeness": ("completeness", "The share of rows that have a value."),
    "sum": ("sum", "The total of a column, with a confidence interval."),
    "std": ("standard deviation", "The standard deviation, with a confidence interval."),
    "variance": ("variance", "The variance, with a confidence interval."),
    "iqr": ("interquartile range", "The distance between the lower and the upper quartile."),
    "ecdf": ("distribution function", "The share of rows up to each value, with a confidence band."),
    "trimmed_mean": ("trimmed mean", "The mean without a share of the smallest and the largest values."),
    "winsorized_mean": ("Winsorized mean", "The mean after a share of the values at each end is pulled in."),
    "mad": ("median absolute deviation", "The median distance from the median."),
    "interquantile_range": ("interquantile range", "The distance between two quantiles."),
    "quantile_interval": ("quantile interval", "A confidence interval for a quantile of the population."),
    "midhinge": ("midhinge", "The mean of the lower and the upper quartile."),
    "trimean": ("trimean", "Tukey's trimean: half the median plus a quarter of each quartile."),
    "histogram": ("histogram", "The number of rows in each category, or in each bin of a numeric column."),
    "count": ("count", "The number of rows, or of rows in which a column is true."),
    "chi_square": ("chi-square test", "Whether two categorical columns are independent, with Cramér's V."),
    "mean_difference": ("difference of means", "The mean of one group minus that of another, with Welch's interval."),
    "median_difference": ("difference of medians", "The median of one group minus that of another."),
    "quantile_difference": ("difference of quantiles", "A quantile of one group minus that of another."),
    "hodges_lehmann": ("Hodges–Lehmann shift", "The median of all differences between rows of two groups."),
    "superiority": ("probability of superiority", "How often a row of one group exceeds a row of another."),
    "rank_biserial": ("rank-biserial correlation", "The probability of superiority on a scale from −1 to 1."),
    "mann_whitney": ("Mann–Whitney test", "Whether two groups have the same distribution."),
    "kruskal_wallis": ("Kruskal–Wallis test", "Whether several groups have the same distribution."),
    "signed_rank": ("Wilcoxon signed-rank test", "Whether a column, or a difference of two, is symmetric about 0."),
    "kendall_tau": ("Kendall's τ", "The rank correlation of two columns."),
    "correlation": ("correlation", "The correlation of two columns, estimated from ranks."),
    "correlation_matrix": ("correlation matrix", "The correlations of several columns, for one ε."),
    "linear_regression": ("linear regression", "Least-squares coefficients with standard errors."),
    "logistic_regression": ("logistic regression", "Log-odds of the second of two classes, with standard errors."),
    "poisson_regression": ("Poisson regression", "Coefficients of a log rate, with standard errors."),
    "quantile_regression": ("quantile regression", "Coefficients of a conditional quantile."),
    "scatter": ("centre and scatter matrix", "A robust centre and covariance of several columns."),
    "hampel_regression": ("robust regression", "Coefficients that outliers in y and in x hardly change."),
    "shortcut_regression": ("regression by blocks", "The median of the fits in random blocks of rows."),
    "kernel_machine": ("kernel machine", "A support vector machine, or logistic or robust regression with a kernel."),
    "kde": ("kernel density", "A Gaussian kernel density of one column."),
    "fourier_density": ("Fourier density", "The density of one to three columns as a Fourier series."),
}
"""What the pages call each release function, and one plain sentence about it, in the order of the pages.

A function that is not listed, such as one of an institution, has its own name and the first line of its docstring.
"""

MAIN = ("columns", "interval", "by", "groups", "delta", "title", "keys", "edges", "every", "equals", "above", "formula")
"""Options that are shown at once. Others are folded, unless they are required."""
FORMS = {
    "numbers": "Separated by commas.",
    "edges": "Separated by commas.",
    "keys": "One per line.",
    "levels": "One column per line.",
    "range": "Such as 0:120.",
    "step": "Such as 0.5, or day.",
}
"""How an option of each form is written, where that does not go without saying."""
HINTS = {
    "by": "One answer per group. All groups together cost ε once.",
    "groups": "List the groups if they are public knowledge. Otherwise only groups with many rows are shown, "
    "and δ is needed to find them.",
    "keys": "List the categories if they are public knowledge. Otherwise only those with many rows are shown, "
    "and δ is needed to find them.",
    "edges": "Edges of bins, from low to high, for numbers or times.",
    "levels": "The categories of a text column, such as ward=Surgery,Heart. Otherwise only those with many rows "
    "are used, and δ is needed to find them.",
    "classes": "The two classes of the response: the odds are those of the second.",
    "plausible": "A guess of where values lie. It need not be right.",
    "interval": "A confidence interval that covers sampling error and privacy noise.",
    "missing": "",
    "equals": "The value to count, or several.",
    "above": "Count the values above this number.",
    "delta": "Roughly the probability that the guarantee fails, such as 1e-6. Needed to find groups or "
    "categories, and by a few methods.",
    "where": "Only rows that meet all conditions, one per line, such as age>=18, ward=Surgery or age=18..65.",
}
"""Help for options in the words of a form, where the command line's own would mislead."""
COMPARED = "The groups to compare, the first one first. They must be public knowledge."
"""The same for groups that a function compares, and does not look for."""
LABELS = {
    "missing": "missing values",
    "interval": "interval for the population",
    "by": "group by",
    "delta": "δ",
    "p": "levels",
}
YES_NO = (("yes", "yes"), ("no", "no"))
CHOICES = {
    "interval": (("", "no"), *((str(level), f"{100 * level:g}%, for two thirds of ε") for level in (0.9, 0.95, 0.99))),
    "missing": (("", "drop"), ("low", "count as low"), ("high", "count as high")),
}
"""Options with usual values, from which a form lets people choose."""


@dataclass(frozen=True)
class FormField:
    """One field of a form. `kind` is text, number, select, columns, check or lines."""

    name: str
    label: str
    kind: str
    help: str = ""
    choices: tuple[tuple[str, str], ...] = ()
    value: str = ""
    chosen: tuple[str, ...] = ()
    required: bool = False


@dataclass(frozen=True)
class FormQuestion:
    """What can be asked of a data set: a release function, or a report (without a declaration)."""

    name: str
    summary: str
    section: str
    options: tuple[Option, ...]
    declaration: Declaration | None = None

    @staticmethod
    def of(declaration: Declaration) -> FormQuestion:
        section = START if declaration.name == SYNTHETIC else declaration.section
        first = re.split(CLAUSE, declaration.summary)[0].rstrip(".") + "."
        summary = WORDS[declaration.name][1] if declaration.name in WORDS else first
        return FormQuestion(declaration.name, summary, section, wire_options(declaration), declaration)

    @property
    def title(self) -> str:
        text = WORDS[self.name][0] if self.name in WORDS else self.name.replace("_", " ")
        return text[:1].upper() + text[1:]

    def columns(self, session: Session, typed: Typed) -> list[FormField]:
        """The fields that name columns: a list for each that has a role, and boxes where there may be any number."""
        ids = session.source.unit.ids
        every = {name: kind for name, kind in session.source.kinds.items() if name not in ids}
        chosen = tuple(typed.get("column", ()))
        if self.declaration is None:  # the columns of a report are an option
            return []
        reads, needs = self.declaration.reads, "formula" not in self.declaration.allowed

        def fitting(kinds: Sequence[str]) -> tuple[tuple[str, str], ...]:
            return tuple((name, name) for name, kind in every.items() if kind in kinds)

        if reads.most is not None:
            made = []
            for i in range(reads.most):
                kinds = reads.last if reads.last and i == reads.most - 1 else reads.kinds
                value, optional = chosen[i] if i < len(chosen) else "", i >= reads.least
                choices = (("", "none" if i else "all rows"), *fitting(kinds)) if optional else fitting(kinds)
                text = "column" if i == 0 else "column of groups" if reads.last else f"column {i + 1}"
                made.append(FormField("column", text, "select", "", choices, value, required=not optional))
            return made
        if reads.least > 1 and len(self.declaration.data) > 1:
            help_ = "" if needs else "Not needed with a formula."
            response = ("", "none") if not needs else None
            choices = ((response,) if response else ()) + fitting(reads.kinds)
            rest = "If none is chosen: all other numeric columns."
            return [
                FormField("column", "response", "select", help_, choices, chosen[0] if chosen else "", required=needs),
                FormField("column", "predictors", "columns", rest, fitting(reads.kinds), chosen=chosen[1:]),
            ]
        help_ = "If none is chosen: all but ids and row numbers." if self.name == SYNTHETIC else ""
        return [FormField("column", "columns", "columns", help_, fitting(reads.kinds), chosen=chosen)]

    def fields(self, session: Session, typed: Typed, *, more: bool) -> list[FormField]:
        """The fields of options: those that are shown at once, or the others (`more`)."""
        useless = ("epsilon",) if session.source.unit.ids else ("epsilon", *PEOPLE, "groups_per_person")
        own = [one for one in self.options if one.name not in useless and (one.name in MAIN or one.required) != more]
        own.sort(key=lambda one: MAIN.index(one.name) if one.name in MAIN else -1)
        return [self._field(one, session, typed) for one in own]

    def _field(self, option: Option, session: Session, typed: Typed) -> FormField:
        name, given = option.name, tuple(text for text in typed.get(option.name, ()) if text)
        text, value = LABELS.get(name, name.replace("_", " ")), "\n".join(given)
        hint = COMPARED if name == "groups" and option.required else HINTS.get(name, option.help)
        help_ = f"{hint} {FORMS.get(option.form, '')}".strip()
        names = tuple((one, one) for one in session.source.kinds if one not in session.source.unit.ids)
        usual, several = CHOICES.get(name), option.form == "words"
        if option.form in ("choice", "object") or usual is not None:
            choices = usual or (YES_NO if option.form == "object" else tuple((one, one) for one in option.choices))
            choices = choices if usual is not None else (("", "default"), *choices)
            return FormField(name, text, "select", help_, choices, value)
        if several or name in ("order", "target"):
            choices = names if several else (("", "none"), *names)
            return FormField(name, text, "columns" if several else "select", help_, choices, value, given)
        if option.form == "flag":
            return FormField(name, text, "check", help_, chosen=given)
        kind = {"keys": "lines", "levels": "lines", "number": "number", "integer": "number"}.get(option.form, "text")
        return FormField(name, text, kind, help_, value=value, required=option.required)

    def read(self, session: Session, typed: Typed) -> dict[str, Any]:
        """The body of the request that was typed. Whatever is wrong with a text raises `InvalidArgument`."""
        options: dict[str, Any] = {}
        for option in self.options:
            if texts := [text.strip() for text in typed.get(option.name, ()) if text.strip()]:
                options[option.name] = _value(option, texts)
        stated = _lines(typed.get("where", ()))
        checks.few("where", len(stated), MOST_CONDITIONS, "conditions")
        conditions = [condition(session, text) for text in stated]
        if self.declaration is None:
            return {"where": plain(conditions), "options": plain(options)}
        columns = [name for name in typed.get("column", ()) if name]
        return write_request(typed_request(session, self.declaration, columns, options), conditions)


def in_words(line: str) -> str:
    """The line of a request, with the name that the pages give its function.

    >>> in_words("linear_regression of cost ~ age, ε = 1.0"), in_words("our_own of cost, ε = 1.0")
    ('linear regression of cost ~ age, ε = 1.0', 'our_own of cost, ε = 1.0')
    """
    name, of, rest = line.partition(" of ")
    return f"{WORDS[name][0]}{of}{rest}" if of and name in WORDS else line


def questions(statistics: Mapping[str, Declaration]) -> dict[str, FormQuestion]:
    """All that can be asked, by name, in the order of the pages."""
    made = {REPORT: FormQuestion(REPORT, WORDS[REPORT][1], START, report_options())}
    made |= {name: FormQuestion.of(one) for name, one in statistics.items()}
    return {name: made[name] for name in (*WORDS, *made) if name in made}


def _lines(texts: Sequence[str]) -> list[str]:
    return [line.strip() for text in texts for line in text.splitlines() if line.strip()]


SWITCHES = ("fit_intercept", "public_labels")
"""Options that Python may leave to the function, and a form to "default"."""


def _value(option: Option, texts: Sequence[str]) -> Any:
    """The value of an option, as `typed_request` takes it."""
    if option.form == "flag":
        return True
    if option.form == "words":
        return texts[0] if len(texts) == 1 else list(texts)
    if option.form in ("keys", "levels"):
        return _lines(texts)
    if option.name in SWITCHES:
        return texts[0] == "yes"
    read, must, _ = READERS.get(option.name if option.form == "object" else option.form, (str, "a text", ""))
    several = option.form in ("numbers", "edges")
    try:
        made = [read(text) for text in (re.split(r"[,;\s]+", texts[0]) if several else texts[:1]) if text]
    except (ValueError, ArithmeticError):
        made = []
    if not made:
        must = f"{must}, or several separated by commas" if several else must
        raise InvalidArgument(LABELS.get(option.name, option.name), must, repr(texts[0][:60]))
    return made if several and not (option.positional and len(made) == 1) else made[0]
