"""A query on a PostgreSQL source with a sink that sleeps after each micro-batch. It prints the
number of records of each micro-batch and the size of the largest value."""

import json
import select
import sys
import time

import headrace
from headrace.spark.session import build_session


def main(properties, checkpoint, seconds):
    from pyspark.sql import functions as f

    # As much memory as Spark gives a session that asks for none.
    spark = build_session("test", master="local[2,4]", settings={"spark.driver.memory": "1g"})
    headrace.register(spark)
    options = headrace.options(json.loads(properties), headrace_checkpoint_dir=checkpoint)
    frame = spark.readStream.format("headrace").options(**options)

    def write_slowly(batch, _number):
        figures = batch.select(f.count("*"), f.max(f.octet_length("value"))).first()
        print("batch", *(value or 0 for value in figures), flush=True)
        time.sleep(float(seconds))

    writer = frame.load().writeStream.option("checkpointLocation", checkpoint)
    query = writer.foreachBatch(write_slowly).start()
    while query.isActive and not select.select([sys.stdin], [], [], 0.5)[0]:
        pass
    query.stop()
    if query.exception() is not None:
        print("failed", str(query.exception())[:3000], flush=True)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
