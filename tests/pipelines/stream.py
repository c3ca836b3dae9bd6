"""A stream into Parquet files, a run at a time."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import headrace

JSON = {
    f"{role}.converter.schemas.enable": "false" for role in ("key", "value", "header")
}  # of all that are JSON


class Stream:
    """The stream of `spark.readStream` with these properties; each `run` continues where the last
    one ended."""

    def __init__(self, spark: SparkSession, folder: Path, properties: Mapping[str, str]) -> None:
        self._spark, self._folder = spark, folder
        headrace.register(spark)
        checkpoint_properties = {"headrace.checkpoint.dir": str(folder / "checkpoint")}
        self.options = headrace.options(JSON | checkpoint_properties | dict(properties))

    def frame(self) -> DataFrame:
        return self._spark.readStream.format("headrace").options(**self.options).load()

    def run(self) -> list[dict[str, Any]]:
        """All that is there now goes to the files; what they hold, in total order."""
        writer = self.frame().writeStream.format("parquet").trigger(availableNow=True)
        writer = writer.option("checkpointLocation", str(self._folder / "checkpoint"))
        query = writer.start(str(self._folder / "out"))
        assert query.awaitTermination(600), query.status
        rows = self.written().orderBy("sequence").collect()
        return [row.asDict(recursive=True) for row in rows]

    def written(self) -> DataFrame:
        return self._spark.read.parquet(str(self._folder / "out"))
