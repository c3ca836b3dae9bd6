"""The program of a user of a cluster: everything that is there, into files of Parquet."""

import sys

from pyspark.sql import SparkSession

import headrace

configuration, output, checkpoint = sys.argv[1:]
spark = SparkSession.builder.config(map=headrace.spark.session.defaults()).getOrCreate()
events = spark.readStream.format("headrace").options(**headrace.options(configuration)).load()
query = (
    events.writeStream.format("parquet")
    .option("path", output)
    .option("checkpointLocation", checkpoint)
    .trigger(availableNow=True)
    .start()
)
query.awaitTermination()
spark.stop()
