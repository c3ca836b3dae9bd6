"""The orders of a MongoDB as files of Parquet with columns, a row for each change."""

from pyspark.sql import SparkSession

import headrace

COLUMNS = """
    _id INT, customer STRING, total DECIMAL(10,2), placed TIMESTAMP,
    lines ARRAY<STRUCT<sku: STRING, count: INT>>
"""
PROPERTIES = {
    "connector.class": "io.debezium.connector.mongodb.MongoDbConnector",
    "topic.prefix": "shop",
    "mongodb.connection.string": "mongodb://localhost:27017/?replicaSet=rs0",
    "collection.include.list": "shop.orders",
    "key.converter": "row",
    "value.converter": "row",
    "transforms": "unwrap",
    "transforms.unwrap.type": "io.debezium.connector.mongodb.transforms.ExtractNewDocumentState",
    "transforms.unwrap.delete.tombstone.handling.mode": "rewrite",
    "transforms.unwrap.delete.tombstone.handling.mode.rewrite-with-id": "true",
    "transforms.unwrap.add.fields": "op",
    "transforms.unwrap.target.schema": COLUMNS,
    "transforms.unwrap.target.schema.conflict": "rest",
}
spark = SparkSession.builder.config(map=headrace.spark.session.defaults()).getOrCreate()
events = spark.readStream.format("headrace").options(**headrace.options(PROPERTIES)).load()
query = (
    events.select("value.*", "sequence")
    .writeStream.format("parquet")
    .option("path", "orders")
    .option("checkpointLocation", "orders-state")
    .trigger(availableNow=True)
    .start()
)
query.awaitTermination()
