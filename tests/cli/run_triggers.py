"""`python -m tests.cli.run_triggers FOLDER`: a query per line of FOLDER/spellings, in one session.

Prints, as JSON lines, which trigger Spark has, and whether the query ended by itself.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from headrace.cli.messages import Messages
from headrace.cli.pipeline import Pipeline, open_session
from headrace.config.formats import Properties
from headrace.connectors.registry import parse_configuration

REQUIRED = {
    "connector.class": "postgresql",
    "topic.prefix": "p",
    "database.hostname": "h",
    "database.user": "u",
    "database.dbname": "d",
}


def main(folder_name: str) -> None:
    folder = Path(folder_name)
    session = open_session(
        "test", Messages(quiet=True), kernels={}, master="local[2]", idle_exit=None, debug=False
    )
    spark = session.spark
    for number, spelling in enumerate((folder / "spellings").read_text().splitlines()):
        properties = Properties(REQUIRED | ({"headrace.trigger": spelling} if spelling else {}))
        pipeline = Pipeline(properties, parse_configuration(properties))
        stream = spark.readStream.format("rate").load()
        query = pipeline.start(stream.writeStream.format("noop"), folder / f"checkpoint {number}")
        java: object = query._jsq  # Spark shows no query's trigger to Python
        trigger = java.streamingQuery().trigger().toString()  # type: ignore[attr-defined]
        ended = query.awaitTermination(120) if trigger.startswith("AvailableNow") else False
        query.stop()
        print(json.dumps({"spelling": spelling, "trigger": trigger, "ended": ended}))
    session.close()


if __name__ == "__main__":
    main(sys.argv[1])
