"""Chains of transforms, and converters, that hostile records pass."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from tests.fuzz.hostile.records import sound

Properties = dict[str, str]
_REGISTRY = {"value.converter.schema.registry.url": "REGISTRY"}
OUTPUTS: dict[str, Properties] = {
    "json with schemas": {"value.converter": "json"},
    "json": {"value.converter": "json", "value.converter.schemas.enable": "false"},
    "json numbers": {
        "value.converter": "json", "value.converter.schemas.enable": "false",
        "value.converter.decimal.format": "NUMERIC",
        "value.converter.replace.null.with.default": "false",
    },
    "avro": {"value.converter": "avro", **_REGISTRY},
    "avro enhanced": {
        "value.converter": "avro", **_REGISTRY,
        "value.converter.enhanced.avro.schema.support": "true",
        "value.converter.connect.meta.data": "false",
    },
    "string": {"value.converter": "string"},
    "bytes": {
        "value.converter": "io.debezium.converters.ByteArrayConverter",
        "value.converter.delegate.converter.type": "org.apache.kafka.connect.json.JsonConverter",
    },
    "cloudevents": {"value.converter": "cloudevents"},
}  # fmt: skip
"""Converters of values, by a name that begins with what they make."""

_WITH_SCHEMAS = {
    "headrace.input.key.converter": "json",
    "headrace.input.value.converter": "json",
    "headrace.input.header.converter": "json",
}
_WITHOUT_SCHEMAS = _WITH_SCHEMAS | {
    f"headrace.input.{role}.converter.schemas.enable": "false"
    for role in ("key", "value", "header")
}
_AVRO = {
    "headrace.input.key.converter": "string",
    "headrace.input.value.converter": "avro",
    "headrace.input.value.converter.schema.registry.url": "REGISTRY",
    "headrace.input.header.converter": "json",
    "headrace.input.header.converter.schemas.enable": "false",
}
_INPUTS = {
    "rows": _WITH_SCHEMAS, "documents": _WITH_SCHEMAS, "plain": _WITHOUT_SCHEMAS,
    "plain_documents": _WITHOUT_SCHEMAS, "avro": _AVRO,
}  # fmt: skip

_FILTERS = {"Filter", "SchemaChangeEventFilter", "EventRouter", "MongoEventRouter"}
_UNWRAPPERS = {"ExtractNewRecordState", "ExtractNewDocumentState"}
_ROWS = ("before", "after", "updateDescription", "patch")


@dataclass(frozen=True)
class Chain:
    """Transforms, and the form of what they get."""

    name: str
    form: str
    properties: Properties = field(repr=False)
    kinds: frozenset[str] = frozenset()

    def leaves_out(self, value: bytes | None) -> bool:
        """Whether a transform may leave a record with this value out: a filter, an outbox router,
        and of those that unwrap events tombstones and events without a row (truncations)."""
        if self.kinds & _FILTERS:
            return True
        if not self.kinds & _UNWRAPPERS:
            return False
        try:
            event = json.loads(value or b"null")
        except (ValueError, RecursionError):
            return False
        if isinstance(event, dict) and self.form not in ("plain", "plain_documents"):
            event = event.get("payload")
        return not isinstance(event, dict) or not any(map(event.get, _ROWS))

    def sound(self, number: int) -> tuple[bytes, bytes]:
        """The key and the value of a record that it takes."""
        if self.form not in ("plain", "plain_documents"):
            return sound(number)
        value = {"before": None, "after": {"id": number, "a": "x"}, "op": "c"}
        return b'{"id":1}', json.dumps(value).encode()


def _chain(form: str, *steps: Properties) -> Chain:
    """A chain of these steps."""
    properties = dict(_INPUTS[form])
    if steps:
        properties["transforms"] = ",".join(f"t{number}" for number in range(len(steps)))
    for number, step in enumerate(steps):
        properties |= {f"transforms.t{number}.{n}": value for n, value in step.items()}
    name = " > ".join([form, *(step["type"] for step in steps)])
    kinds = frozenset(step["type"] for step in steps)
    return Chain(name + " " + json.dumps(steps), form, properties, kinds)


def _step(kind: str, **options: str) -> Properties:
    return {"type": kind} | {n.replace("__", "."): value for n, value in options.items()}


UNWRAP = _step("ExtractNewRecordState")
REWRITE = {
    "type": "ExtractNewRecordState", "delete.tombstone.handling.mode": "rewrite",
    "add.fields": "op,source.ts_ms,ts_ms", "add.headers": "op,source.db",
}  # fmt: skip
_DOCUMENT = "ExtractNewDocumentState"
_TARGET = (
    "_id STRING, a DECIMAL(10,2), b DOUBLE, name STRING, v TIMESTAMP, "
    "x ARRAY<DOUBLE>, y STRUCT<a: INT>, value MAP<STRING, INT>"
)
_DOCUMENT_STEPS = (
    {"type": _DOCUMENT},
    {"type": _DOCUMENT, "flatten.struct": "true", "array.encoding": "document", "add.fields": "op"},
    {
        "type": _DOCUMENT,
        "field.name.adjustment.mode": "avro",
        "delete.tombstone.handling.mode": "rewrite",
    },
    {"type": _DOCUMENT, "target.schema": _TARGET, "target.schema.conflict": "rest"},
    {"type": _DOCUMENT, "target.schema": _TARGET, "target.schema.conflict": "null"},
    {"type": "MongoEventRouter", "collection.expand.json.payload": "true"},
)
_ROW_STEPS: tuple[tuple[Properties, ...], ...] = (
    (),
    (UNWRAP,),
    (REWRITE,),
    (UNWRAP, _step("Flatten$Value", delimiter="_")),
    (UNWRAP, {"type": "Cast$Value", "spec": "id:string,a:int32,b:float64,v:boolean,value:string"}),
    (UNWRAP, {"type": "Cast$Value", "spec": "a:string,b:string,v:string,name:int8,x:float32"}),
    (UNWRAP, {"type": "TimestampConverter$Value", "field": "v", "target.type": "string",
              "format": "yyyy-MM-dd HH:mm:ss.SSS"}),
    (UNWRAP, {"type": "TimestampConverter$Value", "field": "a", "target.type": "Timestamp",
              "format": "yyyy-MM-dd"},
     {"type": "TimestampConverter$Value", "field": "id", "target.type": "unix"}),
    ({"type": "TimezoneConverter", "converted.timezone": "Europe/Warsaw"}, UNWRAP),
    ({"type": "TimezoneConverter", "converted.timezone": "+08:00"},),
    ({"type": "ExtractChangedRecordState", "header.changed.name": "changed",
      "header.unchanged.name": "unchanged"}, UNWRAP),
    ({"type": "PartitionRouting", "partition.payload.fields": "change.id,change.a",
      "partition.topic.num": "8"},),
    ({"type": "PartitionRouting", "partition.payload.fields": "change.v,change.value",
      "partition.topic.num": "8", "partition.hash.function": "murmur"}, UNWRAP),
    ({"type": "ByLogicalTableRouter", "topic.regex": "(.*)", "topic.replacement": "all"},),
    ({"type": "EnforceRecordSize", "max.bytes": "2000", "min.field.size": "20"}, UNWRAP),
    ({"type": "EventRouter", "table.expand.json.payload": "true",
      "table.fields.additional.placement": "type:header,name:envelope"},),
    ({"type": "EventRouter"},),
    ({"type": "Filter", "language": "groovy",
      "condition": "value.op != 'x' && (value.after == null || value.after.id > -5)"},),
    ({"type": "ContentBasedRouter", "language": "groovy",
      "topic.expression": "value.after.name + '-' + value.op"}, UNWRAP),
    ({"type": "HeaderToValue", "headers": "trace,id", "fields": "trace,after.trace",
      "operation": "move"},),
    (UNWRAP, {"type": "ReplaceField$Value", "exclude": "b", "renames": "a:z,v:w"},
     {"type": "InsertField$Value", "topic.field": "topic", "timestamp.field": "ts",
      "static.field": "s", "static.value": "x"}),
    (UNWRAP, {"type": "MaskField$Value", "fields": "a,v,value"},
     {"type": "HoistField$Value", "field": "row"}),
    (UNWRAP, {"type": "ValueToKey", "fields": "id"}, {"type": "ExtractField$Key", "field": "id"}),
    (UNWRAP, {"type": "HeaderFrom$Value", "fields": "a,v", "headers": "ha,hv", "operation": "copy"},
     {"type": "DropHeaders", "headers": "ha"},
     {"type": "InsertHeader", "header": "h", "value.literal": "1"}),
    ({"type": "ExtractField$Value", "field": "after"},
     {"type": "SetSchemaMetadata$Value", "schema.name": "n", "schema.version": "3"}),
    ({"type": "SchemaChangeEventFilter", "schema.change.event.exclude.list": "DROP"},
     {"type": "RegexRouter", "regex": "(.*)", "replacement": "$1-x"}),
    (_step("VectorToJsonConverter"),),
    (UNWRAP, _step("VectorToJsonConverter"), _step("Flatten$Value")),
    (_step("SwapGeometryCoordinates", srids="0,1,5,4326,-1"),),
    (UNWRAP, _step("SwapGeometryCoordinates", srids="0,1,5,20000")),
    (_step("ExtractSchemaToNewRecord"),),
    (UNWRAP, _step("ExtractSchemaToNewRecord")),
    (UNWRAP, {"type": "TimestampRouter", "topic.format": "${topic}-${timestamp}",
              "timestamp.format": "yyyyMMdd"}),
)  # fmt: skip

CHAINS: tuple[Chain, ...] = (
    *(_chain("rows", *steps) for steps in _ROW_STEPS),
    *(_chain("documents", step) for step in _DOCUMENT_STEPS),
    *(_chain("documents", step, _step("Flatten$Value")) for step in _DOCUMENT_STEPS[:2]),
    _chain("documents"),
    *(_chain("plain_documents", step) for step in _DOCUMENT_STEPS[:1]),
    *(_chain("plain", *steps) for steps in _ROW_STEPS[:7]),
    _chain("avro"),
    _chain("avro", _step("Flatten$Value")),
    _chain("avro", {"type": "Cast$Value", "spec": "f0:string,f1:string"}),
)
