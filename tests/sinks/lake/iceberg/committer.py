"""A process that commits batch after batch to an Iceberg table until somebody kills it."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from typing import Any

from headrace.sinks.iceberg.format import FORMAT
from headrace.spark.jvm.gateway import DriverJvm
from headrace.spark.session import build_session
from tests.sinks.lake.iceberg.replica import KeptTable
from tests.sinks.lake.iceberg.rows import EVERY_TYPE, NAME, row
from tests.sinks.lake.jars import iceberg_jars


def batches(first: int) -> Iterator[tuple[list[dict[str, Any]], list[int]]]:
    """The rows and the deleted keys of batches from the number `first` on."""
    for batch in itertools.count(first):
        keys = range(batch, batch + 4)
        yield [row(key % 9, small=batch) for key in keys], [(batch + 6) % 9]


def main(warehouse: str) -> None:
    """Say the JVM's process, then commit."""
    jvm = DriverJvm(lambda line: print(line, file=sys.stderr))
    jars = ",".join(map(str, iceberg_jars()))
    session = build_session("committer", master="local[1]", settings={"spark.jars": jars}, jvm=jvm)
    lake = FORMAT.open(session, {"warehouse": warehouse})
    kept_table = KeptTable(lake.create(NAME, EVERY_TYPE, {}))
    assert jvm._process is not None
    print(jvm._process.pid, flush=True)
    for rows, deleted in batches(1):
        kept_table.apply(rows, deleted)
        print(kept_table.batch, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
