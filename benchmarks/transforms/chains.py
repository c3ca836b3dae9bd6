"""The chains and converters that are measured: every transform, every converter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headrace.connectors.postgresql.config import PostgresConfig
from headrace.converters.avro.schemas import AvroOptions
from headrace.converters.binary.converters import BytesConverter, SimpleConverter, StringConverter
from headrace.converters.cloudevents import CloudEventsConverter
from headrace.converters.configured import cloudevents_settings
from headrace.converters.converter import Converter
from headrace.converters.json.converter import JsonConverter
from headrace.converters.json.values import JsonOptions
from headrace.converters.rows import SliceConverter
from tests.converters.registry_double import numbered_avro

_KAFKA_CONVERTERS = "org.apache.kafka.connect"
Step = Mapping[str, str]
"""A transform's options; `type` is its short name, `predicate` that of a predicate below."""
JavaConverter = Mapping[str, object]

PREDICATES: Mapping[str, Step] = {
    "topic": {"type": "TopicNameMatches", "pattern": "bench.*"},
    "header": {"type": "HasHeaderKey", "name": "__op"},
    "tombstone": {"type": "RecordIsTombstone"},
}


@dataclass(frozen=True)
class Case:
    """A chain, or converters, over records of `benchmarks.transforms.inputs`. `aim` is how many
    times as fast as Java it should be; None: of what depends on a form of records that Java has
    not."""

    name: str
    records: str
    steps: tuple[Step, ...] = ()
    converters: str = ""
    aim: float | None = 10


def properties(steps: tuple[Step, ...]) -> dict[str, str]:
    """The properties of a chain."""
    named = [(f"transforms.t{number}", step) for number, step in enumerate(steps)]
    named += [(f"predicates.{name}", predicate) for name, predicate in PREDICATES.items()]
    step_options = {
        f"{name}.{option}": text for name, each in named for option, text in each.items()
    }
    names = ",".join(f"t{number}" for number in range(len(steps)))
    return {**step_options, "transforms": names, "predicates": ",".join(PREDICATES)}


_UNWRAP = {"type": "ExtractNewRecordState"}
_DOCUMENTS = {"type": "ExtractNewDocumentState"}
_GROOVY = {"language": "jsr223.groovy"}


def _debezium() -> tuple[Case, ...]:
    rewrite = {"delete.tombstone.handling.mode": "rewrite", "add.fields": "op,source.ts_ms"}
    names = {"header.changed.name": "changed", "header.unchanged.name": "unchanged"}
    task = "__debezium.context.taskId"
    tables = {"topic.regex": "(.*)orders.*", "topic.replacement": "$1all"}
    chains: tuple[tuple[str, str, tuple[Step, ...]], ...] = (
        ("ExtractNewRecordState", "events", (_UNWRAP,)),
        ("ExtractNewRecordState, rewrite and two fields", "events", (_UNWRAP | rewrite,)),
        ("ExtractNewRecordState, three headers", "events",
         (_UNWRAP | {"add.headers": "op,source.ts_ms,table"},)),
        ("ExtractNewRecordState, route by a column", "events",
         (_UNWRAP | {"route.by.field": "doc"},)),
        ("ByLogicalTableRouter", "events", ({"type": "ByLogicalTableRouter", **tables},)),
        ("ToLogicalTopicRouter", "events", ({"type": "ToLogicalTopicRouter", **tables},)),
        ("ExtractChangedRecordState", "updates", ({"type": "ExtractChangedRecordState", **names},)),
        ("HeaderToValue", "events with headers",
         ({"type": "HeaderToValue", "headers": task, "fields": "task", "operation": "move"},)),
        ("TimezoneConverter", "events",
         ({"type": "TimezoneConverter", "converted.timezone": "America/Toronto"},)),
        ("PartitionRouting", "events",
         ({"type": "PartitionRouting", "partition.payload.fields": "change.name",
           "partition.topic.num": "100"},)),
        # Debezium's fails on Decimals, which the other events have.
        ("EnforceRecordSize", "outbox events",
         ({"type": "EnforceRecordSize", "max.bytes": "600", "min.field.size": "20"},)),
        ("SchemaChangeEventFilter", "events",
         ({"type": "SchemaChangeEventFilter", "schema.change.event.exclude.list": "ALTER"},)),
        ("EventRouter", "outbox events", ({"type": "EventRouter"},)),
        ("EventRouter, payload expanded", "outbox events",
         ({"type": "EventRouter", "table.expand.json.payload": "true"},)),
        ("Filter, Groovy over a number", "events",
         ({"type": "Filter", **_GROOVY, "condition": "value.after.customer > 500"},)),
        ("Filter, Groovy over texts", "events",
         ({"type": "Filter", **_GROOVY,
           "condition": "value.op == 'c' && value.after.flag && value.after.name != 'name 7'"},)),
        ("ContentBasedRouter, Groovy", "events",
         ({"type": "ContentBasedRouter", **_GROOVY,
           "topic.expression": "value.after.customer > 500 ? 'large' : null"},)),
        ("MongoEventRouter", "outbox documents", ({"type": "MongoEventRouter"},)),
    )  # fmt: skip
    cases = [Case(name, records, steps) for name, records, steps in chains]
    forms = ("documents", "documents of twenty structures", "documents as texts")
    documents = [Case(f"ExtractNewDocumentState, {f}", f, (_DOCUMENTS,), aim=8) for f in forms]
    return (*cases, *documents)


def _kafka() -> tuple[Case, ...]:
    of_values: dict[str, Step] = {
        "InsertField$Value": {"static.field": "s", "static.value": "v"},
        "ReplaceField$Value": {"exclude": "doc", "renames": "name:n"},
        "MaskField$Value": {"fields": "name,customer"},
        "Cast$Value": {"spec": "customer:string,id:int32"},
        "TimestampConverter$Value": {"field": "local", "target.type": "unix",
                                     "unix.precision": "microseconds"},
        "Flatten$Value": {},
        "ExtractField$Value": {"field": "name"},
        "HoistField$Value": {"field": "row"},
        "SetSchemaMetadata$Value": {"schema.name": "shop.Order", "schema.version": "2"},
        "HeaderFrom$Value": {"fields": "ref", "headers": "ref", "operation": "move"},
        "InsertField$Key": {"static.field": "s", "static.value": "v"},
        "ReplaceField$Key": {"renames": "id:n"},
        "MaskField$Key": {"fields": "id"},
        "Cast$Key": {"spec": "id:string"},
        "TimestampConverter$Key": {"field": "id", "target.type": "Timestamp"},
        "Flatten$Key": {},
        "ExtractField$Key": {"field": "id"},
        "HoistField$Key": {"field": "row"},
        "SetSchemaMetadata$Key": {"schema.name": "shop.Key", "schema.version": "2"},
        "HeaderFrom$Key": {"fields": "id", "headers": "id", "operation": "copy"},
        "ValueToKey": {"fields": "customer,ref"},
        "RegexRouter": {"regex": "(.*)", "replacement": "$1-x", "predicate": "topic"},
        "DropHeaders": {"headers": "__op"},
        "InsertHeader": {"header": "origin", "value.literal": "shop"},
    }  # fmt: skip
    cases = [
        Case(name, "rows", ({"type": name, **options},)) for name, options in of_values.items()
    ]
    mask = {"type": "MaskField$Value", "fields": "name,note", "replacement": "***"}
    text = {"type": "TimestampConverter$Value", "field": "local", "target.type": "string",
            "unix.precision": "microseconds", "format": "yyyy-MM-dd HH:mm:ss"}  # fmt: skip
    cases += [
        Case("TimestampRouter", "rows with times", ({"type": "TimestampRouter"},)),
        Case("Flatten$Value, events", "events", ({"type": "Flatten$Value"},)),
        Case("MaskField$Value, a replacement", "rows", (mask,)),
        Case("TimestampConverter$Value, texts", "rows", (text,)),
        Case("KafkaFilter, HasHeaderKey", "rows",
             ({"type": "KafkaFilter", "predicate": "header", "negate": "true"},)),
        Case("KafkaFilter, RecordIsTombstone", "rows",
             ({"type": "KafkaFilter", "predicate": "tombstone"},)),
        Case("unwrap, route, cast", "events",
             (_UNWRAP, {"type": "RegexRouter", "regex": "(.*)", "replacement": "$1-x"},
              {"type": "Cast$Value", "spec": "customer:string"})),
    ]  # fmt: skip
    return tuple(cases)


CHAINS: tuple[Case, ...] = (*_debezium(), *_kafka())

_JSON = f"{_KAFKA_CONVERTERS}.json.JsonConverter"
_AVRO = "io.confluent.connect.avro.AvroConverter"
_EVENTS = "io.debezium.converters.CloudEventsConverter"


@dataclass(frozen=True)
class Converters:
    """The three converters of a lane: ours, and Java's. That of headers is None where records have
    none."""

    ours: tuple[Converter, Converter, Converter]
    key: JavaConverter
    value: JavaConverter
    header: JavaConverter | None = None

    def slice_converter(self) -> SliceConverter:
        """Ours over Records."""
        return SliceConverter(*self.ours)


def _java(name: str, **options: str) -> JavaConverter:
    return {
        "class": name,
        "options": {key.replace("_", "."): text for key, text in options.items()},
    }


def _json(*, schemas: bool) -> JsonConverter:
    return JsonConverter(JsonOptions(schemas_enable=schemas))


def converters(name: str) -> Converters:
    """The converters of this name."""
    json_alone = _java(_JSON, schemas_enable="false")
    match name:
        case "JSON":
            ours = (_json(schemas=False),) * 3
            return Converters(ours, json_alone, json_alone)
        case "JSON with schemas":
            java = _java(_JSON, schemas_enable="true")
            return Converters((_json(schemas=True),) * 3, java, java)
        case "Avro":
            java = _java(_AVRO, schema_registry_url="mock://bench")
            key, value = (numbered_avro(AvroOptions())[0] for _ in range(2))
            return Converters((key, value, _json(schemas=False)), java, java)
        case "CloudEvents in JSON":
            of_json = {"json.schemas.enable": "false"}
            settings, data = cloudevents_settings(PostgresConfig.cloud_event_identity, of_json)
            events = CloudEventsConverter(settings, data, None)
            java = _java(_EVENTS, json_schemas_enable="false")
            return Converters(
                (_json(schemas=False), events, _json(schemas=False)), json_alone, java
            )
        case "CloudEvents in Avro":
            in_avro = {"serializer.type": "avro", "data.serializer.type": "avro"}
            settings, data = cloudevents_settings(PostgresConfig.cloud_event_identity, in_avro)
            events = CloudEventsConverter(settings, data, numbered_avro(AvroOptions())[0])
            options = {**in_avro, "avro.schema.registry.url": "http://nowhere"}
            java = {"class": _EVENTS, "options": options}
            return Converters(
                (_json(schemas=False), events, _json(schemas=False)), json_alone, java
            )
        case "String":
            java = _java(f"{_KAFKA_CONVERTERS}.storage.StringConverter")
            return Converters((StringConverter(),) * 3, java, java)
        case "ByteArray":
            java = _java(f"{_KAFKA_CONVERTERS}.converters.ByteArrayConverter")
            return Converters((BytesConverter(None),) * 3, java, java)
        case "Simple headers":
            text = _java(f"{_KAFKA_CONVERTERS}.storage.StringConverter")
            header = _java(f"{_KAFKA_CONVERTERS}.storage.SimpleHeaderConverter")
            return Converters((StringConverter(), StringConverter(), SimpleConverter()),
                              text, text, header)  # fmt: skip
    raise KeyError(name)


CONVERSIONS: tuple[Case, ...] = (
    Case("JSON", "events", converters="JSON", aim=8),
    Case("JSON, rows", "rows", converters="JSON", aim=8),
    Case("JSON, documents", "documents", converters="JSON", aim=8),
    Case("JSON with schemas", "events", converters="JSON with schemas", aim=8),
    Case("Avro", "events", converters="Avro", aim=5),
    Case("Avro, rows", "rows", converters="Avro", aim=5),
    Case("CloudEvents in JSON", "events", converters="CloudEvents in JSON", aim=8),
    Case("CloudEvents in Avro", "events", converters="CloudEvents in Avro", aim=5),
    Case("String", "rows", converters="String", aim=None),
    Case("ByteArray", "bytes", converters="ByteArray", aim=None),
    Case("Simple headers", "rows", converters="Simple headers", aim=None),
)
