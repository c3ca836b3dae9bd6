"""Starts streams at once in a session of a user, one for each slot that is named after the
connector's properties (JSON), and prints the name of each that has delivered the change that is
made when all were started.

Lines: `started`, then a name a line, then `all`; the error of a query instead, where one ends.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import headrace

properties, folder, *names = sys.argv[1:]
builder = SparkSession.builder.master("local[2]").config(map=headrace.spark.session.defaults())
spark = builder.config("spark.ui.enabled", "false").getOrCreate()
spark.sparkContext.setLogLevel("OFF")
headrace.register(spark)
delivered: set[str] = set()


def streams(name: str) -> DataFrame:
    query_properties = {"slot.name": name, "topic.prefix": name}
    options = headrace.options({**json.loads(properties), **query_properties})
    return spark.readStream.format("headrace").options(**options).load()


def deliver(name: str, batch: DataFrame) -> None:
    if any('"late"' in row.value for row in batch.select("value").collect()):
        delivered.add(name)
        print(name, flush=True)


loaded = {name: streams(name) for name in names}
queries = {
    name: stream.writeStream.foreachBatch(lambda batch, _, name=name: deliver(name, batch))
    .option("checkpointLocation", str(Path(folder, name)))
    .start()
    for name, stream in loaded.items()
}
print("started", flush=True)
while len(delivered) < len(names):
    for name, query in queries.items():
        if query.awaitTermination(0.05) or query.exception() is not None:  # type: ignore[arg-type]
            sys.exit(f"{name} ended: {headrace.error(query)}")
print("all", flush=True)
for query in queries.values():
    query.stop()
