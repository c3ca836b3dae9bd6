"""Spark's JDBC source as a contender: `python -m benchmarks.postgresql.jdbc URL TABLE ROWS JAR`.

Reads the table in four partitions and writes the rows as JSON to the noop sink.
"""

from __future__ import annotations

import sys
import time

from pyspark.sql import functions as f

from headrace.spark.session import build_session


def main() -> None:
    """Run once."""
    url, table, rows, jar = sys.argv[1:5]
    spark = build_session("benchmark", settings={"spark.jars": jar})
    print("ready", flush=True)
    sys.stdin.readline()
    print("start", int(time.time() * 1000), flush=True)
    frame = spark.read.jdbc(
        url, table, column="id", lowerBound=1, upperBound=int(rows), numPartitions=4,
        properties={"driver": "org.postgresql.Driver", "fetchsize": "10000"},
    )  # fmt: skip
    document = f.to_json(f.struct(*frame.columns)).alias("value")
    frame.select(document).write.format("noop").mode("overwrite").save()
    print("done", int(time.time() * 1000), rows, 0, flush=True)
    sys.stdin.readline()
    spark.stop()


if __name__ == "__main__":
    main()
