"""The OpenAPI document, fuzzed: no failure of the server, no answer without a debit, nothing left of a refusal."""

import pytest
from hypothesis import HealthCheck, Phase, settings

schemathesis = pytest.importorskip("schemathesis")

FEW = ("median", "quantile", "histogram", "linear_regression", "superiority", "synthetic", "report", "kde")
"""Functions with options of every form. The others have endpoints from the same declaration."""


def fuzzed(document):
    """The paths that are fuzzed: everything but releases of functions that are like another one.

    Columns are those of the table, and ε is small, so that some requests are right.
    """
    for path, operations in document["paths"].items():
        *_, kind, name = path.split("/")
        for operation in operations.values():
            if kind in ("plans", "releases", "examples") and "requestBody" in operation:
                parts = operation["requestBody"]["content"]["application/json"]["schema"]["properties"]
                parts.get("columns", {})["items"] = {"enum": ["age", "ward", "wait_minutes", "cost"]}
                parts["where"] = {"type": "array", "items": {"enum": ["age > 30", {"ward": "Surgery"}, "x"]}}
                parts["options"]["properties"]["epsilon"] = {"enum": [1, "1/2", -1, "x"]}
        if kind not in ("plans", "releases", "examples") or name in FEW or name.startswith("{"):
            yield path, operations


@pytest.fixture
def fuzz(start, clinic):
    from uptack.server.config import DatasetConfig

    return start(DatasetConfig("clinic", clinic, 1000, "1/2"), requests_at_once=50)


@pytest.mark.parametrize("role", ["analyst", "curator"])
def test_no_request_makes_the_server_fail(fuzz, role):
    document = fuzz.http.get("/api/openapi.json").json()
    document["paths"] = {p: o for p, o in fuzzed(document) if role == "curator" or "datasets" in p or "releases" in p}
    schema = schemathesis.openapi.from_dict(document)
    http, store, ledger = fuzz.signed_in("ann", role), fuzz.service.store, fuzz.ledger
    tries = settings(
        max_examples=4 if role == "analyst" else 2, deadline=None, database=None, derandomize=True,
        phases=[Phase.generate], suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    seen = {"answered": 0, "refused": 0}
    for operation in schema.get_all_operations():
        fuzz_operation(operation.ok(), http, store, ledger, tries, seen)
    assert seen["refused"] > 0
    assert seen["answered"] > 0
    assert ledger.verify()


def fuzz_operation(operation, http, store, ledger, tries, seen):
    """Send a few requests for one operation."""
    from hypothesis import given

    @tries
    @given(case=operation.as_strategy())
    def once(case):
        path = case.formatted_path.replace("{dataset}", "clinic")
        if "/datasets/" in operation.path:
            path = operation.path.replace("{dataset}", "clinic")
        body = case.body if isinstance(case.body, dict | list | str | int | float | bool | type(None)) else None
        before = (len(ledger.history()), len(store.list_releases()))
        reply = http.request(case.method, path, params=case.query or None, json=body)
        after = (len(ledger.history()), len(store.list_releases()))
        assert reply.status_code < 500, (path, body, reply.text)
        if reply.status_code >= 400:
            seen["refused"] += 1
            assert after == before, (path, body, reply.text)
        elif reply.status_code == 200 and "/releases/" in path and reply.json().get("id") and case.method == "POST":
            seen["answered"] += 1
            assert after[0] > before[0], (path, body, reply.text)

    once()
