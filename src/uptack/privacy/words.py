"""Whose privacy a guarantee is about, in words for people who read a report."""

from __future__ import annotations

import math

from uptack.labels import label
from uptack.privacy.adjacency import Adjacency
from uptack.privacy.guarantee import Privacy

MODEST, WEAK = 1.0, 3.0
"""From the first ε on a promise is no longer "nearly the same"; above the second it is weak, and says so."""


def whose(relation: Adjacency, noun: str = "row") -> str:
    """The unit of privacy, in words. `noun` is what one row of the table is.

    >>> from uptack.privacy import SUBSTITUTE
    >>> print(whose(SUBSTITUTE, "person-year"))
    Each person-year is protected. A person who is in several of them is protected in each, not in all together.
    >>> print(whose(SUBSTITUTE.by_person("patient_id")))
    Each person is protected, with all rows that have the same patient_id. How many rows anybody has is secret; the
    number of people is public.
    """
    if relation.person:
        ids = " and ".join(map(label, relation.person))
        size = "the number of people is public" if relation.size_is_public else "so is the number of people"
        return (
            f"Each person is protected, with all rows that have the same {ids}. "
            f"How many rows anybody has is secret; {size}."
        )
    if relation.rows_per_person > 1:
        most = relation.rows_per_person
        return f"Each person with at most {most:,} rows is protected. Nobody has checked that nobody has more."
    return f"Each {noun} is protected. A person who is in several of them is protected in each, not in all together."


def promise(privacy: Privacy) -> str:
    """What a guarantee promises, in one or two sentences that stay honest where ε is large.

    >>> print(promise(Privacy(0.5)))
    What anybody concludes from this would be nearly as likely had any one row been another: at most 1.65 times as
    likely, or 1.65 times less (ε = 0.5).
    >>> print(promise(Privacy(7, 1e-6)))
    What anybody concludes from this is at most 1100 times as likely, or 1100 times less, as had any one row been
    another (ε = 7, δ = 1e-06). That is a weak promise: a guess about a row that is wrong 5% of the time, by somebody
    who knows all the others, may be right up to 100% of the time.
    """
    times, said = short(factor(privacy.epsilon)), f"ε = {short(privacy.epsilon)}"
    said += f", δ = {short(privacy.delta)}" if privacy.delta else ""
    relation = privacy.adjacency
    whole = (
        "all rows of any one person" if relation.person else "any one row" if one_row(relation) else "one's own rows"
    )
    other = f"had {whole} been another" if relation.size_is_public else f"without {whole}"
    if privacy.epsilon <= MODEST:
        return (
            f"What anybody concludes from this would be nearly as likely {other}: at most {times} times as likely, "
            f"or {times} times less ({said})."
        )
    less = f"at most {times} times as likely, or {times} times less"
    text = f"What anybody concludes from this is {less}, as {other} ({said})."
    if privacy.epsilon <= WEAK:
        return text
    caught = math.ceil(100 * privacy.power(0.05))
    return (
        f"{text} That is a weak promise: a guess about a row that is wrong 5% of the time, by somebody who knows all "
        f"the others, may be right up to {caught}% of the time."
    )


def one_row(relation: Adjacency) -> bool:
    """Whether the unit of privacy is a single row."""
    return relation.rows_per_person == 1 and not relation.person


def factor(epsilon: float) -> float:
    """e^ε, infinite where no float is as large.

    >>> factor(0.0), factor(1e6)
    (1.0, inf)
    """
    return math.exp(epsilon) if epsilon < 709 else math.inf


def short(value: float) -> str:
    """A privacy parameter, rounded up in its third digit.

    >>> short(0.285714), short(1e-6), short(0), short(1096.6)
    ('0.286', '1e-06', '0', '1100')
    """
    if value == 0 or math.isinf(value):
        return "0" if value == 0 else "∞"
    unit = 10.0 ** (math.floor(math.log10(float(value))) - 2)
    text = f"{math.ceil(float(value) / unit * (1 - 1e-12)) * unit:.3g}"
    return f"{float(text):.0f}" if 1000 <= value < 1e6 else text
