"""Records the pipelines that Debezium's own classes make, into pipelines.json beside this file:
`python -m tests.connectors.mongodb.capture.pipelines.record`, a part of `make golden`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.documents.record import start_java

PIPELINES = Path(__file__).with_name("pipelines.json")
REQUIRED = {
    "topic.prefix": "p",
    "mongodb.connection.string": "mongodb://localhost:27017/?replicaSet=rs0",
}
USERS = '[{"$match": {"$and": [{"operationType": "insert"}, {"fullDocument.eventId": 1404}]}}]'
CASES: list[dict[str, str]] = [
    {},
    {"skipped.operations": "none"},
    {"skipped.operations": "c,t"},
    {"skipped.operations": "u"},
    {"skipped.operations": "c,d"},
    {"database.include.list": "db1, db2 ,db3"},
    {"database.exclude.list": "db1, db2"},
    {"collection.include.list": "dbit.*"},
    {"collection.include.list": " db1.col1 ,   db2.col2  "},
    {"collection.exclude.list": "db1.col1, db2.col2"},
    {"database.include.list": "db", "collection.exclude.list": r"db\.tmp_.*"},
    {"collection.include.list": "db.c", "signal.data.collection": "db.signals"},
    {
        "database.include.list": "db",
        "collection.include.list": "db.c,db.d",
        "signal.data.collection": "other.signals",
    },
    {"filters.match.mode": "literal"},
    {"filters.match.mode": "literal", "collection.include.list": "dbit.col1,dbit.col2.x"},
    {
        "filters.match.mode": "literal",
        "database.exclude.list": "a, b",
        "collection.include.list": "dbit.col1, dbit.col2",
        "signal.data.collection": "signal.col",
    },
    {"filters.match.mode": "literal", "collection.exclude.list": "dbit.col1"},
    {"cursor.pipeline": USERS},
    {"cursor.pipeline": USERS, "cursor.pipeline.order": "user_first"},
    {
        "cursor.pipeline": "[{$match: {'fullDocument.at': {$gt: ISODate('2024-05-01')}}}]",
        "cursor.pipeline.order": "user_only",
        "collection.include.list": "db.c",
    },
    {"cursor.oversize.handling.mode": "skip", "cursor.oversize.skip.threshold": "42"},
    {
        "cursor.oversize.handling.mode": "skip",
        "cursor.oversize.skip.threshold": "8000000",
        "cursor.pipeline": USERS,
        "cursor.pipeline.order": "user_only",
    },
    {
        "cursor.oversize.handling.mode": "split",
        "cursor.pipeline": USERS,
        "cursor.pipeline.order": "user_first",
    },
]


def record() -> list[dict[str, Any]]:
    """The cases, each with the stages that Debezium makes of it in relaxed Extended JSON."""
    jpype = start_java()
    package = "io.debezium.connector.mongodb."
    configuration = jpype.JClass("io.debezium.config.Configuration")
    connector = jpype.JClass(package + "MongoDbConnectorConfig")
    filters = jpype.JClass(package + "Filters")
    factory = jpype.JClass(package + "ChangeStreamPipelineFactory").class_
    constructor = factory.getDeclaredConstructors()[0]
    constructor.setAccessible(True)
    create = factory.getDeclaredMethod("create")
    create.setAccessible(True)
    writing = jpype.JClass("org.bson.json.JsonWriterSettings").builder()
    relaxed = writing.outputMode(jpype.JClass("org.bson.json.JsonMode").RELAXED).build()
    recorded = []
    for properties in CASES:
        entries = jpype.JClass("java.util.HashMap")()
        for name, text in {**REQUIRED, **properties}.items():
            entries.put(name, text)
        debezium_config = configuration.from_(entries)
        arguments = [connector(debezium_config), filters(debezium_config).getConfig()]
        pipeline = create.invoke(constructor.newInstance(*arguments))
        stages = [
            json.loads(str(stage.toBsonDocument().toJson(relaxed)))
            for stage in pipeline.getStages()
        ]
        recorded.append({"properties": properties, "stages": stages})
    return recorded


if __name__ == "__main__":
    lines = ",\n".join(json.dumps(case, sort_keys=True) for case in record())
    PIPELINES.write_text(f"[\n{lines}\n]\n")
