"""Every small table of people, and every neighbour of it: all rows of one person replaced, or a person added."""

import itertools

import numpy as np

MOST_ROWS = 3


def bags(values, most=MOST_ROWS):
    """All rows that one person may have, one or more, up to their order."""
    return [bag for m in range(1, most + 1) for bag in itertools.combinations_with_replacement(values, m)]


def substituted(people, values, most=MOST_ROWS):
    """All tables in which one person has other rows."""
    for i, own in enumerate(people):
        for bag in bags(values, most):
            if bag != own:
                yield (*people[:i], bag, *people[i + 1 :])


def added(people, values, most=MOST_ROWS):
    """All tables with one person more. Her number is the last."""
    for bag in bags(values, most):
        yield (*people, bag)


def tables(number, values, most=MOST_ROWS):
    """All tables of so many people, up to their order."""
    return itertools.combinations_with_replacement(bags(values, most), number)


def rows(people):
    """The rows of a table, and whose each is."""
    values = np.array([value for own in people for value in own])
    codes = np.repeat(np.arange(len(people)), [len(own) for own in people])
    return values, codes.astype(np.int64)
