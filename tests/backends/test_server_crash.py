"""Servers under fire: nothing is charged twice, lost, or answered for free, whatever is killed when."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")


@pytest.mark.parametrize("place", [[], ["--postgres"]], ids=["sqlite", "postgres"])
@pytest.mark.xdist_group("server-crash")
def test_killed_servers_lose_nothing(place):
    if place:
        pytest.importorskip("pgserver")
    command = [sys.executable, "-m", "tests.server.crowd", "--kills", "3", "--analysts", "4", *place]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-2000:]
    assert '"answered"' in done.stdout
