"""A query whose metrics are read from the driver; prints them as JSON."""

import json
import sys
import time
from dataclasses import asdict

import headrace
from headrace.cli.messages import Messages
from headrace.cli.pipeline import open_session


def main(properties, checkpoint, wanted):
    session = open_session(
        "test", Messages(quiet=True), kernels={}, master="local[2]", idle_exit=None, debug=False
    )
    spark = session.spark
    headrace.register(spark)
    frame = spark.readStream.format("headrace").options(**headrace.options(json.loads(properties)))
    writer = frame.load().writeStream.format("noop").option("checkpointLocation", checkpoint)
    query = writer.start()
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline and query.exception() is None:
        found = headrace.metrics(query)
        if found and found.streaming["TotalNumberOfEventsSeen"] >= int(wanted):
            print("metrics", json.dumps(asdict(found)))
            break
        if found and found.snapshot["SnapshotCompleted"]:
            print("snapshot", flush=True)
        time.sleep(0.2)
    query.stop()
    session.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
