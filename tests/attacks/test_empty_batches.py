"""Scans whose batches are empty."""

import pytest

from uptack.table.engine import connection


@pytest.mark.parametrize("sizes", [[0, 0], [0, 0, 3], [2, 0, 0, 9, 0, 0], [0], []])
def test_batches_without_rows_are_no_error(sizes):
    """Two of them alone were one: whether all rows lack a value decided that."""
    pa = pytest.importorskip("pyarrow")
    batches = [pa.RecordBatch.from_pydict({"v": pa.array([1.0] * size, pa.float64())}) for size in sizes]
    assert sum(batch.num_rows for batch in connection._larger(iter(batches), 4)) == sum(sizes)
