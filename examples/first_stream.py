"""A first stream: it prints the changes that `application.properties` captures.

Each run prints what came since the run before; without the trigger it prints changes until Ctrl-C.
"""

from pyspark.sql import SparkSession

import headrace

spark = SparkSession.builder.config(map=headrace.spark.session.defaults()).getOrCreate()
events = (
    spark.readStream.format("headrace").options(**headrace.options("application.properties")).load()
)
changes = events.where("value IS NOT NULL").selectExpr(  # a tombstone follows each delete
    "topic",
    "key",
    "get_json_object(value, '$.op') AS op",
    "get_json_object(value, '$.after') AS row",
)
query = (
    changes.writeStream.format("console")
    .option("truncate", False)
    .option("checkpointLocation", "first-stream")
    .trigger(availableNow=True)
    .start()
)
query.awaitTermination()
