"""Delta tables that are equal to the tables of the database whenever a run has ended."""

from pyspark.sql import SparkSession

import headrace

spark = (
    SparkSession.builder.config(map=headrace.spark.session.defaults())
    .config("spark.jars", ",".join(headrace.sink_jars("delta")))
    .getOrCreate()
)
query = headrace.replicate(
    spark,
    {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "topic.prefix": "shop",
        "database.hostname": "localhost",
        "database.dbname": "shop",
        "database.user": "cdc",
        "database.password": "${env:CDC_PASSWORD}",
        "table.include.list": "inventory.*",
        "slot.name": "lake",
    },
    {"type": "delta", "path": "lake-delta", "checkpoint": "state-delta", "trigger": "availableNow"},
)
query.awaitTermination()
spark.stop()
