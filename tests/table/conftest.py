"""Servers for tables that are elsewhere, one of each for the whole run."""

from tests.backends.conftest import postgres, postgres_uri, spark

__all__ = ["postgres", "postgres_uri", "spark"]
