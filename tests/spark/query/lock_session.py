"""A query whose tasks look rows up in a table that another session locks; prints what
`headrace.status` says of it, as JSON, a line each."""

import json
import sys
import threading
import time
from pathlib import Path

import psycopg
from pyspark.sql import SparkSession

import headrace

SECONDS = 120


def told(name, *answers):
    print(json.dumps([name, *answers], default=str), flush=True)


def await_status(query, condition):
    """The first status for which `condition` holds, or the last one."""
    latest = time.monotonic() + SECONDS
    while True:
        status = headrace.status(query)
        if condition(status) or time.monotonic() > latest or not query.isActive:
            return status
        time.sleep(0.05)


def main(folder, given, dsn):
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = builder.config(map=headrace.spark.session.defaults()).getOrCreate()
    options = headrace.options(json.loads(given))
    reader = spark.readStream.format("headrace").options(**options).load()
    writer = reader.writeStream.format("noop")
    query = writer.option("checkpointLocation", str(Path(folder) / "state")).start()
    told("streaming", await_status(query, lambda s: s.state == "streaming").state)

    with psycopg.connect(dsn) as writes, psycopg.connect(dsn, application_name="billing") as locks:
        writes.execute("UPDATE t SET n = n + 1")
        # It waits for the row's transaction, and has the table when the change can be read.
        lock = "LOCK TABLE t IN ACCESS EXCLUSIVE MODE"
        waiting = threading.Thread(target=lambda: locks.execute(lock))
        waiting.start()
        asks = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pid = %s"
        while writes.execute(asks, (locks.info.backend_pid,)).fetchone() == (0,):
            time.sleep(0.01)
        writes.commit()
        waiting.join()
        told("pid", locks.info.backend_pid)
        status = await_status(query, lambda s: s.waits is not None)
        told("waits", status.state, status.waits, status.message, status.error)
        locks.rollback()
    status = await_status(query, lambda s: s.waits is None)
    told("goes on", status.state, status.waits, status.error)
    query.processAllAvailable()
    told("rows", sum(progress["numInputRows"] for progress in query.recentProgress))
    query.stop()
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
