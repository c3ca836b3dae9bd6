"""Confluent's AvroConverter: the wire format, and schemas in a registry."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pyarrow as pa

from headrace.config.properties.modes import SubjectStrategy
from headrace.connect.records import Node
from headrace.connect.schema import Field, Schema, Type
from headrace.converters.avro.schemas import AvroOptions, avro_text, full_name, symbols_of
from headrace.converters.avro.values import branch_of, encode, null_of, plain_bytes
from headrace.converters.binary.layout import Layout
from headrace.converters.binary.program import compile_binary
from headrace.converters.binary.texts import RAW_BYTES
from headrace.converters.instructions import ProgramForm
from headrace.converters.program import MadeColumns, Program
from headrace.errors import HeadraceError
from headrace.kafka.registry import Registry
from headrace.kafka.schema_ids import SchemaIds, schema_key

_MAGIC = b"\0"


def subject_of(strategy: SubjectStrategy, topic: str, schema: Schema, *, is_key: bool) -> str:
    """The subject of a schema; raises HeadraceError `avro.no_record_name`."""
    role = "key" if is_key else "value"
    if strategy is SubjectStrategy.TOPIC:
        return f"{topic}-{role}"
    name = full_name(schema)
    if name is None:
        raise HeadraceError(
            "avro.no_record_name",
            f"a {role} of topic {topic} is a {schema.type.value}, which has no record name for "
            f"{strategy.value}",
            "Use TopicNameStrategy.",
        )
    return name if strategy is SubjectStrategy.RECORD else f"{topic}-{name}"


@dataclass(frozen=True)
class AvroSettings:
    """Options of the converter and its serializer, by Confluent's names."""

    schemas: AvroOptions
    strategy: SubjectStrategy = SubjectStrategy.TOPIC
    auto_register: bool = True
    use_latest: bool = False
    schema_id: int | None = None
    normalize: bool = False


class AvroLayout:
    """Avro's binary encoding: the values of a struct follow each other without separators."""

    form = ProgramForm.AVRO
    omits_nulls = False

    def __init__(self, options: AvroOptions) -> None:
        self._options = options

    def constant(self, schema: Schema, value: object) -> bytes | None:
        return encode(schema, value, self._options)

    def null(self, schema: Schema) -> bytes | None:
        return null_of(schema, self._options)

    def branch(self, schema: Schema) -> int:
        branch = branch_of(schema)
        return branch[0] if branch else -1

    def is_compiled(self, schema: Schema) -> bool:
        return symbols_of(schema, self._options) is None

    def form_of(self, schema: Schema) -> ProgramForm:  # noqa: ARG002
        return ProgramForm.AVRO

    def opening(self, schema: Schema) -> bytes:  # noqa: ARG002
        return b""

    def name(self, field: Field, *, first: bool) -> bytes:  # noqa: ARG002
        return b""

    def closing(self, schema: Schema) -> bytes:  # noqa: ARG002
        return b""


class AvroConverter:
    """Keys, values or headers in Avro (see `headrace.converters.converter`)."""

    column = pa.binary()

    def __init__(
        self,
        settings: AvroSettings,
        registry: Registry,
        *,
        is_key: bool,
        ids: SchemaIds | None = None,
    ) -> None:
        """`ids` is the worker process's cache of schema ids; None: this converter keeps its own."""
        self._settings = settings
        self._registry = registry
        self._is_key = is_key
        self._ids = SchemaIds() if ids is None else ids
        self._layout = AvroLayout(settings.schemas)

    @property
    def registry_url(self) -> str:
        """The URL of the registry, without a password."""
        return self._registry.url

    def program(
        self,
        topic: str,
        node: Node,
        made_columns: MadeColumns,
        *,
        null_has_schema: bool,  # noqa: ARG002
    ) -> Program:
        schema = node.schema
        layout: Layout = RAW_BYTES if _is_raw(schema) else self._layout
        return compile_binary(node, layout, made_columns, self.head(topic, schema))

    def constant(self, topic: str, schema: Schema, value: object) -> bytes | None:
        if value is None:
            return None
        head = self.head(topic, schema)
        if _is_raw(schema):
            return head + plain_bytes(schema, value)
        return head + encode(schema, value, self._settings.schemas)

    def head(self, topic: str, schema: Schema) -> bytes:
        """Return the bytes before a value of this schema: a zero and the schema's id in the
        registry, which is asked if the process does not know the id."""
        settings = self._settings
        text = avro_text(schema, settings.schemas)
        subject = subject_of(settings.strategy, topic, schema, is_key=self._is_key)
        key = schema_key(self.registry_url, repr(settings), subject, text)
        number = self._ids.of(key, lambda: self._asked(subject, text))
        return _MAGIC + number.to_bytes(4, "big")

    def _asked(self, subject: str, text: str) -> int:
        """Return the id of a schema from the registry, which may register it."""
        settings = self._settings
        if settings.auto_register:
            return self._registry.register(subject, text, normalize=settings.normalize)
        if settings.schema_id is not None:
            self._compare(subject, text, self._registry.by_id(settings.schema_id))
            return settings.schema_id
        if settings.use_latest:
            number, latest = self._registry.latest(subject)
            self._compare(subject, text, latest)
            return number
        return self._registry.lookup(subject, text, normalize=settings.normalize)

    def _compare(self, subject: str, ours: str, theirs: str) -> None:
        """Raises HeadraceError `avro.other_schema` if the registry's schema has other fields."""
        if canonical(ours) != canonical(theirs):
            raise HeadraceError(
                "avro.other_schema",
                f"the schema that the registry has for {subject} has other fields than the records",
                "Register a schema with the same fields in the same order (documentation, defaults "
                "and connect.* properties may differ), or set auto.register.schemas=true.",
            )


def _is_raw(schema: Schema) -> bool:
    """Whether Confluent's serializer writes the bytes of a whole value as they are."""
    return schema.type is Type.BYTES and not schema.optional


def canonical(text: str) -> object:
    """Return a schema in Avro's Parsing Canonical Form, as data: only the parts that affect its
    encoding. Schemas with equal forms write the same bytes for the same values."""
    return _canonical(json.loads(text), None)


def _canonical(schema: object, space: str | None) -> object:
    if isinstance(schema, list):
        return [_canonical(branch, space) for branch in schema]
    if isinstance(schema, str):
        return _qualified(schema, space) if schema not in _PRIMITIVES else schema
    assert isinstance(schema, dict)
    kind = schema["type"]
    if kind in ("array", "map"):
        inner = schema["items" if kind == "array" else "values"]
        return [kind, _canonical(inner, space)]
    if kind not in ("record", "enum", "fixed", "error"):
        return _canonical(kind, space)
    name = str(schema["name"])
    namespace = schema.get("namespace", space)
    if "." in name:
        namespace = name.rpartition(".")[0]
    full = _qualified(name, namespace)
    if kind == "record":
        fields = [(f["name"], _canonical(f["type"], namespace)) for f in schema["fields"]]
        return (kind, full, fields)
    return (kind, full, schema.get("symbols"), schema.get("size"))


_PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")


def _qualified(name: str, space: object) -> str:
    return name if "." in name or not space else f"{space}.{name}"
