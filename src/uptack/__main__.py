"""`python -m uptack` is the command `uptack`."""

from uptack.cli import run

run()
