"""The stand-in's driver, but that rows of V$LOGMNR_CONTENTS come from the workload that the
environment names: what is measured is not how fast the stand-in is."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from oracledb import DataFrame

from benchmarks.oracle.workload import Workload
from headrace_demo.oracle import driver
from headrace_demo.oracle.driver import DatabaseError, Error  # noqa: F401 - PEP 249

apilevel, threadsafety, paramstyle = driver.apilevel, driver.threadsafety, driver.paramstyle
WORKLOAD = "HEADRACE_BENCH_REDO"
"""The variable that names the workload's file."""


class _Connection(driver.OracleConnection):
    def fetch_df_batches(
        self,
        statement: str,
        parameters: Mapping[str, Any] | None = None,
        size: int = 100,
        *,
        requested_schema: pa.Schema | None = None,
        **more: Any,
    ) -> Iterator[DataFrame]:
        if "V$LOGMNR_CONTENTS" not in statement or requested_schema is None:
            yield from super().fetch_df_batches(
                statement, parameters, size, requested_schema=requested_schema, **more
            )
            return
        binds = parameters or {}
        work = Workload.read(Path(os.environ[WORKLOAD]))
        for batch in work.batches(int(binds["low"]), int(binds["high"]), size):
            yield driver.frame_of(batch.select(requested_schema.names))


def connect(*, user: str, password: str, dsn: str, **_: Any) -> driver.OracleConnection:
    """As python-oracledb's."""
    return _Connection(user, password, dsn)
