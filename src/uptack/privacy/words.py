"""Whose privacy a guarantee is about, in words for people who read a report."""

from __future__ import annotations

from uptack.labels import label
from uptack.privacy.adjacency import Adjacency


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
