"""Whose privacy a guarantee is about, in words for people who read a report."""

from __future__ import annotations

import math

from uptack.labels import label
from uptack.privacy.guarantee import Adjacency, Privacy

WEAK = 3.0
"""Above this ε the protection is weak, and the sentence says so."""


def whose(relation: Adjacency, noun: str = "row") -> str:
    """The unit of privacy, in one sentence. `noun` is what one row of the table is.

    >>> from uptack.privacy import SUBSTITUTE
    >>> print(whose(SUBSTITUTE, "person-year"))
    Each person-year is protected. People with several rows are less protected than ε suggests.
    >>> print(whose(SUBSTITUTE, "person"))
    Each row is one person, who is protected.
    >>> print(whose(SUBSTITUTE.by_person("patient_id")))
    Each person is protected with all their rows (those with the same patient_id). The number of people is public, the
    number of rows of a person is secret.
    """
    if relation.person:
        ids = " and ".join(map(label, relation.person))
        rows = "the number of rows of a person is secret"
        size = f"is public, {rows}" if relation.size_is_public else f"is secret, and {rows} too"
        return f"Each person is protected with all their rows (those with the same {ids}). The number of people {size}."
    if relation.rows_per_person > 1:
        most = relation.rows_per_person
        return f"Each person with at most {most:,} rows is protected. That nobody has more rows is taken for granted."
    if noun in PEOPLE:
        return f"Each row is one {noun}, who is protected."
    return f"Each {noun} is protected. People with several rows are less protected than ε suggests."


PEOPLE = ("person", "patient", "respondent", "participant", "customer", "employee", "student", "child", "member")
"""What a row can be called where it is all that a table holds of somebody."""


def promise(privacy: Privacy) -> str:
    """What a guarantee promises, in one sentence that stays honest where ε is large.

    >>> print(promise(Privacy(0.5)))
    Changing one row changes the probability of any result by at most a factor of 1.65 (ε = 0.5).
    >>> print(promise(Privacy(7, 1e-6)))
    Changing one row changes the probability of any result by at most a factor of 1100 (ε = 7, δ = 1e-6). This is weak
    protection: an attacker who knows every other row, and accepts 5% false alarms, may detect a value with probability
    up to 100%.
    """
    if privacy.epsilon == 0 and not privacy.delta:
        return "Nothing was released from the data, so nothing was spent (ε = 0)."
    relation, times = privacy.adjacency, short(factor(privacy.epsilon))
    whom = "all rows of one person" if relation.person else "one row" if one_row(relation) else "one person's rows"
    change = "Changing" if relation.size_is_public else "Adding or removing"
    delta = f", δ = {short(privacy.delta)}" if privacy.delta else ""
    said = f"(ε = {short(privacy.epsilon)}{delta})"
    text = f"{change} {whom} changes the probability of any result by at most a factor of {times} {said}."
    if privacy.epsilon <= WEAK:
        return text
    caught = math.ceil(100 * privacy.power(0.05))
    return (
        f"{text} This is weak protection: an attacker who knows every other row, and accepts 5% false alarms, may "
        f"detect a value with probability up to {caught}%."
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
