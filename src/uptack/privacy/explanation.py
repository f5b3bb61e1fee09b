"""Whose privacy a guarantee is about, in words for people who read a report."""

from __future__ import annotations

import math

from uptack.labels import label
from uptack.privacy.adjacency import Adjacency
from uptack.privacy.guarantee import Privacy

MODEST, WEAK = 1.0, 3.0
"""From the first ε on a promise is no longer "nearly the same"; above the second it is weak, and says so."""


def whose(relation: Adjacency, noun: str = "row") -> str:
    """The unit of privacy, in one sentence. `noun` is what one row of the table is.

    >>> from uptack.privacy import SUBSTITUTE
    >>> print(whose(SUBSTITUTE, "person-year"))
    Each person-year is protected: a person who is in several of them is protected in each, not in all together.
    >>> print(whose(SUBSTITUTE.by_person("patient_id")))
    Each person is protected, with all rows that have the same patient_id: how many rows anybody has is secret, the
    number of people is public.
    """
    if relation.person:
        ids = " and ".join(map(label, relation.person))
        size = "the number of people is public" if relation.size_is_public else "and so is the number of people"
        return (
            f"Each person is protected, with all rows that have the same {ids}: how many rows anybody has is secret, "
            f"{size}."
        )
    if relation.rows_per_person > 1:
        most = relation.rows_per_person
        return f"Each person with at most {most:,} rows is protected: nobody has checked that nobody has more."
    return f"Each {noun} is protected: a person who is in several of them is protected in each, not in all together."


def promise(privacy: Privacy) -> str:
    """What a guarantee promises, in one sentence that stays honest where ε is large.

    >>> print(promise(Privacy(0.5)))
    What anybody concludes from this would be nearly as likely had any one row been different: at most 1.65 times as
    likely, or 1.65 times less likely (ε = 0.5).
    >>> print(promise(Privacy(7, 1e-6)))
    What anybody concludes from this would be at most 1100 times as likely, or 1100 times less likely, had any one row
    been different (ε = 7), give or take a chance of δ = 1e-6: a weak promise, since a test for what a row holds, by
    somebody who knows all the others and with 5% of false alarms, may succeed with a chance of up to 100%.
    """
    times, relation = short(factor(privacy.epsilon)), privacy.adjacency
    likely = f"at most {times} times as likely, or {times} times less likely"
    one = "all rows of any one person" if relation.person else "any one row" if one_row(relation) else "one's own rows"
    other = f"had {one} been {'different' if relation.size_is_public else 'left out'}"
    said = f"(ε = {short(privacy.epsilon)})"
    said += f", give or take a chance of δ = {short(privacy.delta)}" if privacy.delta else ""
    if privacy.epsilon <= MODEST:
        return f"What anybody concludes from this would be nearly as likely {other}: {likely} {said}."
    text = f"What anybody concludes from this would be {likely}, {other} {said}"
    if privacy.epsilon <= WEAK:
        return f"{text}."
    caught = math.ceil(100 * privacy.power(0.05))
    return (
        f"{text}: a weak promise, since a test for what a row holds, by somebody who knows all the others and with 5% "
        f"of false alarms, may succeed with a chance of up to {caught}%."
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

    >>> short(0.285714), short(1e-6), short(0), short(1096.6), short(1.5e12)
    ('0.286', '1e-6', '0', '1100', '1.5e12')
    """
    if value == 0 or math.isinf(value):
        return "0" if value == 0 else "∞"
    unit = 10.0 ** (math.floor(math.log10(float(value))) - 2)
    text = f"{math.ceil(float(value) / unit * (1 - 1e-12)) * unit:.3g}"
    return (
        f"{float(text):.0f}"
        if 1000 <= value < 1e6
        else text.replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")
    )
