"""A server on a small table, in this process."""

import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from uptack.registry import declared
from uptack.samples import load
from uptack.server.app import create_app
from uptack.server.config import DatasetConfig, ServerConfig
from uptack.server.service import Service

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # Starlette would rather have another HTTP library
    from starlette.testclient import TestClient


@pytest.fixture(scope="session")
def clinic(tmp_path_factory):
    """A Parquet file of 2,400 rows."""
    table = load("clinic")
    columns = {name: np.asarray(table[name]) for name in table}
    path = tmp_path_factory.mktemp("served") / "clinic.parquet"
    pq.write_table(pa.table(columns), path)
    return str(path)


FEW = {
    "count", "ecdf", "fourier_density", "histogram", "iqr", "kde", "linear_regression", "mann_whitney", "mean",
    "median", "proportion", "quantile", "superiority", "synthetic",
}  # fmt: skip
"""Functions of every shape. All have endpoints from the same declaration, and three for each take long to make."""


@pytest.fixture
def every_statistic():
    """Servers of this test have endpoints for all functions."""


class Server:
    """A service, its application, and a way to sign in."""

    def __init__(self, config):
        self.service = Service(config)
        self.app = create_app(self.service)
        self.http = TestClient(self.app, raise_server_exceptions=False, base_url="http://localhost")

    def token(self, name="ann", role="analyst", **options):
        return self.service.store.issue(name, role, **options)

    def signed_in(self, name="ann", role="analyst", **options):
        client = TestClient(self.app, raise_server_exceptions=False, base_url="http://localhost")
        client.headers["Authorization"] = f"Bearer {self.token(name, role, **options)}"
        return client

    @property
    def ledger(self):
        return next(iter(self.service.datasets.values())).ledger


@pytest.fixture
def start(request, tmp_path, clinic, monkeypatch):
    """Start servers, with few functions. What is left running at the end is closed."""
    made = []
    monkeypatch.setattr("uptack.server.api.PATIENCE", 600.0)  # a busy machine may take longer than a person waits
    if "every_statistic" not in request.fixturenames:
        few = {name: one for name, one in declared().items() if name in FEW}
        monkeypatch.setattr(Service, "statistics", lambda service: few)

    def starting(*datasets, store=None, **options):
        chosen = datasets or (DatasetConfig("clinic", clinic, 3, "1/1000000"),)
        place = str(tmp_path / "store.db") if store is None else store
        options = {"requests_per_second": 1e6, "slots": False, **options}
        made.append(Server(ServerConfig(tuple(chosen), place, **options)))
        return made[-1]

    yield starting
    for server in made:
        server.service.close()


@pytest.fixture
def server(start):
    return start()
