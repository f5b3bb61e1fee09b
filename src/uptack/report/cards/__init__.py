"""Cards: what is asked and published about one column, for each kind of column."""

from uptack.report.cards.category_card import CATEGORIES, OTHERS, TRUTH_VALUES
from uptack.report.cards.number_card import INTEGERS, NUMBERS
from uptack.report.cards.time_card import DURATIONS, TIMES
from uptack.report.column import Card

CARDS = (INTEGERS, NUMBERS, TIMES, DURATIONS, TRUTH_VALUES, CATEGORIES)

FIGURES = sorted({(one.name, one.rank): one for card in CARDS for one in card.figures}.values(), key=lambda f: f.rank)
"""All figures, in the order of their worth. Where the budget can't carry all, the last ones are left out first."""


def card_of(kind: str) -> Card:
    """The card of a kind of column."""
    return next((card for card in CARDS if kind in card.kinds), OTHERS)
