"""What holds for every test: steady noise, and a place in one of the processes."""

import gc
import zlib

import numpy as np
import pytest

from uptack.noise import SystemEntropy

FORKING = (
    "docs/stability.md",
    "docs/statistics/stable-value.md",
    "docs/statistics/subsample-aggregate.md",
    "src/uptack/blocks/",
    "tests/attacks/test_blocks_",
    "tests/unit/test_aggregate.py",
    "tests/unit/test_random_dp.py",
)
"""Tests that fork run in one process, and first: a fork copies the page tables of all that its process has read."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Give them to one process of `pytest -n`, which starts with the largest groups."""
    for item in items:
        if item.nodeid.startswith(FORKING):
            item.add_marker(pytest.mark.xdist_group("forks"))


def pytest_collection_finish():
    """What was collected stays until the end: the garbage collector need not visit it again."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Without `entropy=`, a test gets the same noise in every run: none fails by bad luck in one run of a thousand.

    The seed is the test's name. Tests of the operating system's own bytes say so with `pytest.mark.system_entropy`;
    processes that a test starts have them too.
    """
    with pytest.MonkeyPatch.context() as patch:
        if item.get_closest_marker("system_entropy") is None:
            generator = np.random.default_rng(zlib.crc32(item.nodeid.encode()))
            patch.setattr(SystemEntropy, "bytes", lambda _, count: generator.bytes(count))
        return (yield)
