"""A frame of Spark as an ibis table."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from uptack.data import engines
from uptack.errors import UptackError


def registered(frame: Any) -> Any:
    """The frame under a name of its own in its session, as ibis needs it."""
    try:
        con = engines.ibis().pyspark.connect(frame.sparkSession)
    except ImportError as missing:
        raise UptackError('frames of Spark need ibis: pip install "uptack[spark]"') from missing
    view = f"uptack_{uuid4().hex}"
    frame.createOrReplaceTempView(view)
    return con.table(view)
