"""A streaming table of changes, and a materialized view that counts them."""

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import get_json_object

import headrace

spark = SparkSession.active()


@dp.table
def changes() -> DataFrame:
    return spark.readStream.format("headrace").options(**headrace.options("shop.json")).load()


@dp.materialized_view
def operations() -> DataFrame:
    op = get_json_object("value", "$.op").alias("op")
    return spark.read.table("changes").groupBy(op).count()
