"""What a user of PySpark does wrong, in one session of a notebook; prints what is answered, as
JSON, a line each."""

import json
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession

import headrace


def text_of(call):
    try:
        call()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is shown
        return str(error)
    return "nothing"


def told(name, *answers):
    print(json.dumps([name, *answers], default=str), flush=True)


def main(folder, given):
    right = json.loads(given)
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = builder.config(map=headrace.spark.session.defaults()).getOrCreate()

    def stream():
        return spark.readStream.format("headrace")

    def started(reader, name):
        writer = reader.load().writeStream.format("noop")
        return writer.option("checkpointLocation", str(Path(folder) / name)).start()

    told("no options", text_of(stream().load))
    table = spark.read.format("headrace").options(**headrace.options(right))
    told("a table", text_of(lambda: table.load().collect()))
    wrong = stream().schema("topic string").options(**right, **{"snapshot.mode": "initail"})
    told("late", text_of(lambda: started(wrong, "late").awaitTermination()))

    refused = started(stream().options(**headrace.options(right, database_dbname="nosuch")), "no")
    told("refused", text_of(refused.awaitTermination), vars(headrace.error(refused)))

    retries = {"errors.max.retries": 2, "retriable.restart.connector.wait.ms": 2000}
    away = stream().options(**headrace.options({**right, **retries}, database_port=1))
    query = started(away, "away")
    while query.isActive and headrace.status(query).error is None:
        time.sleep(0.05)
    status = headrace.status(query)
    told("away", status.state, status.message, status.attempts, status.error.code)
    told("given up", text_of(query.awaitTermination), headrace.error(query).code)
    told("failed", headrace.status(query).state)

    query = started(stream().options(**headrace.options(right)), "right")
    while query.isActive and headrace.status(query).state != "streaming":
        time.sleep(0.05)
    told("streaming", headrace.status(query).state, headrace.error(query))
    query.stop()
    told("stopped", headrace.status(query).state, headrace.error(query))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
