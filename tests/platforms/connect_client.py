"""A client of Spark Connect that does what the guide says is possible, one step a line of its
standard input, and prints what it saw as JSON."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col

import headrace

url, properties, place = sys.argv[1:]
folder = Path(place)
spark = SparkSession.builder.remote(url).getOrCreate()
configuration = json.loads(properties)
options = headrace.options(configuration)


def events() -> DataFrame:
    return spark.readStream.format("headrace").options(**options).load()


def started(**trigger: Any) -> Any:
    writer = events().writeStream.format("parquet").option("path", str(folder / "events"))
    return (
        writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(**trigger).start()
    )


def delivered() -> DataFrame:
    return spark.read.schema(events().schema).parquet(str(folder / "events"))


def load() -> Any:
    return events().columns


def available_now() -> Any:
    query = started(availableNow=True)
    query.awaitTermination()
    return {"rows": delivered().count(), "error": str(headrace.error(query))}


def stream() -> Any:
    """The query goes on after this step."""
    global query
    query = started(processingTime="0 seconds")
    return _status_of(lambda status: status.state == "streaming")


def lose() -> Any:
    return _status_of(lambda status: status.error is not None)


def find() -> Any:
    return _status_of(lambda status: status.state == "streaming" and status.error is None)


def await_rows() -> Any:
    while delivered().count() < 6:
        time.sleep(0.2)
    measured = headrace.metrics(query)
    while measured is None or not measured.streaming.get("TotalNumberOfEventsSeen"):
        time.sleep(0.2)
        measured = headrace.metrics(query)
    return {"seen": measured.streaming["TotalNumberOfEventsSeen"], "source": dict(measured.source)}


def stop() -> Any:
    query.stop()
    return headrace.status(query).state


def tables() -> Any:
    changes = headrace.table(delivered(), "public.t", options)
    rows = headrace.fold(changes).orderBy("id").collect()
    return [[row["id"], row["v"], row["__deleted"]] for row in rows]


def apply() -> Any:
    properties = {
        "transforms": "route",
        "transforms.route.type": "RegexRouter",
        "transforms.route.regex": "(.*)[.]public[.](.*)",
        "transforms.route.replacement": "$2",
    }
    properties |= {name: text for name, text in configuration.items() if ".converter" in name}
    routed = headrace.transforms.apply(delivered(), properties)
    return sorted({row.topic for row in routed.select(col("topic")).collect()})


def fail() -> Any:
    failed = started(processingTime="0 seconds")
    while failed.exception() is None:
        time.sleep(0.1)
    error = headrace.error(failed)
    status = headrace.status(failed)
    return {"code": error and error.code, "remedy": error and error.remedy, "state": status.state}


def _status_of(condition: Any) -> Any:
    status = headrace.status(query)
    while not condition(status):
        assert status.state != "failed", status
        time.sleep(0.1)
        status = headrace.status(query)
    code = status.error and status.error.code
    return {"state": status.state, "message": status.message, "error": code}


query: Any = None
for line in sys.stdin:
    print(json.dumps(globals()[line.strip()]()), flush=True)
