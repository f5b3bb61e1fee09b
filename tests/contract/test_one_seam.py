"""Every draw of a release is the account's: nothing else in the package asks a source of randomness for one."""

import ast
import itertools
import sys
from pathlib import Path

import pytest

import uptack
from uptack.account import Account
from uptack.audit.catalogue import catalogue
from uptack.audit.edge_scenarios import edge_scenarios
from uptack.errors import UptackError
from uptack.noise import SeededEntropy

SEAM = {Account.draw.__code__, Account.toss.__code__}


class Watched(SeededEntropy):
    """Randomness that notes whoever asks for it outside of the account. (The rim would swallow an error.)"""

    def __init__(self):
        super().__init__(1)
        self.outside = []

    def bytes(self, count):
        frame = sys._getframe(1)
        stack = []
        while frame is not None and frame.f_code not in SEAM:
            stack.append(f"{frame.f_code.co_filename}:{frame.f_lineno}")
            frame = frame.f_back
        if frame is None:
            self.outside.append(stack[:6])
        return super().bytes(count)


SLOW = {"distribution, blocks", "blocks of records", "blocks of texts", "blocks of objects", "blocks in turn"}
SCENARIOS = [one for one in edge_scenarios() if one.name not in SLOW] + list(catalogue().values())[::31]


def drawn_outside(scenario):
    entropy = Watched()
    for rows, _ in itertools.islice(scenario.pairs().values(), 1):
        try:
            scenario.result(rows, entropy)
        except (UptackError, TypeError):
            continue  # refused
    return entropy.outside


@pytest.mark.parametrize("part", range(8))
def test_all_randomness_of_a_release_is_asked_for_by_its_account(part):
    for scenario in SCENARIOS[part::8]:
        assert drawn_outside(scenario) == [], scenario.name


def test_a_draw_beside_the_account_is_noticed():
    entropy = Watched()
    entropy.integers(7, 3)
    assert entropy.outside
    account = Account.open("toss", 1, entropy=(inside := Watched()))
    account.toss(lambda source: source.integers(7, 3))
    assert not inside.outside


# --------------------------------------------------------------------------------------------------- as it is written

ROOT = Path(uptack.__file__).parent
MODULES = [path for path in sorted(ROOT.rglob("*.py")) if path.name != "account.py" and "audit" not in path.parts]
OPENED = ("open", "elsewhere")
"""Methods of `Account` that are given a source."""


def misused(tree):
    """Lines on which `x.entropy` is anything but passed on as `entropy`, or asked whether it is private."""
    parents = {child: parent for parent in ast.walk(tree) for child in ast.iter_child_nodes(parent)}
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Attribute) and node.attr == "entropy" and isinstance(node.ctx, ast.Load)):
            continue
        parent = parents[node]
        passed = isinstance(parent, ast.keyword) and parent.arg == "entropy"
        named = isinstance(parent, ast.Dict) and "entropy" in {getattr(key, "value", None) for key in parent.keys}
        opened = isinstance(parent, ast.Call) and getattr(parent.func, "attr", "") in OPENED
        asked = isinstance(parent, ast.Attribute) and parent.attr == "private"
        if not (passed or named or opened or asked or isinstance(parent, ast.ImportFrom)):
            yield node.lineno


def test_a_source_is_only_passed_on():
    found = {str(path.relative_to(ROOT)): list(misused(ast.parse(path.read_text()))) for path in MODULES}
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_a_source_that_is_asked_is_noticed():
    assert list(misused(ast.parse("account.entropy.below(3)"))) == [1]
    assert list(misused(ast.parse("draw(account.entropy)"))) == [1]
    assert list(misused(ast.parse("f(entropy=account.entropy)\nx = account.entropy.private"))) == []
