"""InsertField: adds the topic, partition or time of a record, or a fixed text, as a field."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

from headrace.config.finding import PropertyFinding
from headrace.config.kinds import TRIMMED_TEXT, ValueKind
from headrace.config.property import Group, Property, refused
from headrace.connect.evaluation.columns import column_of, with_values
from headrace.connect.evaluation.values import connect_values, nulls
from headrace.connect.records import (
    NO_PARTITION,
    Column,
    Constant,
    Node,
    Records,
    Shape,
    Struct,
)
from headrace.connect.schema import Schema, Type
from headrace.connect.trees import as_struct, fields, with_defaults, with_schema
from headrace.errors import HeadraceError
from headrace.transforms.example import Example
from headrace.transforms.kafka.nulls import NullsOptions
from headrace.transforms.kafka.schemas import rebuilt
from headrace.transforms.parts import PartTransform, RecordPart
from headrace.transforms.transform import Declaration, Ordering, PerShape

_TIMESTAMP = Schema(Type.INT64, name="org.apache.kafka.connect.data.Timestamp", version=1)


class InsertedField(NamedTuple):
    """The name of a field, and whether it may be null."""

    name: str
    optional: bool


def _parse_field(text: str) -> InsertedField:
    if text in ("?", "!"):
        raise ValueError("a field needs a name")
    if text.endswith("?"):
        return InsertedField(text[:-1], optional=True)
    if text.endswith("!"):
        return InsertedField(text[:-1], optional=False)
    return InsertedField(text, optional=True)


FIELD: ValueKind[InsertedField] = ValueKind(
    "the name of a field, with ! after it when it is required", _parse_field
)


class InsertFieldOptions(NullsOptions):
    """Options of InsertField."""

    topic_field = Property("topic.field", FIELD, None, Group.CONVERTERS, "The field for the topic.")
    partition_field = Property(
        "partition.field",
        FIELD,
        None,
        Group.CONVERTERS,
        "The field for the partition, if there is one.",
    )
    offset_field = Property(
        "offset.field",
        FIELD,
        None,
        Group.CONVERTERS,
        "The field for the offset, which records of a source do not have.",
        status=refused("records of a source have no offset yet"),
    )
    timestamp_field = Property(
        "timestamp.field", FIELD, None, Group.CONVERTERS, "The field for the record's own time."
    )
    static_field = Property(
        "static.field", FIELD, None, Group.CONVERTERS, "The field for the text of static.value."
    )
    static_value = Property(
        "static.value", TRIMMED_TEXT, None, Group.CONVERTERS, "The value of static.field."
    )

    def check(self) -> Iterator[PropertyFinding]:
        """See Configuration."""
        yield from super().check()
        chosen = (self.topic_field, self.partition_field, self.timestamp_field, self.static_field)
        if not any(chosen):
            yield PropertyFinding(
                "config.missing",
                "static.field",
                "InsertField inserts nothing: no field is named",
                "Set topic.field, partition.field, timestamp.field or static.field.",
            )
        if self.static_field is not None and self.static_value is None:
            yield PropertyFinding(
                "config.missing",
                "static.value",
                "static.field is set and static.value is not",
                "Set static.value.",
            )


class _Inserted(NamedTuple):
    """A shape with the inserted fields, and the column of partitions."""

    shape: Shape
    partitions: Column | None


class InsertField:
    """See OF_VALUE."""

    def __init__(self, options: InsertFieldOptions, part: RecordPart) -> None:
        self._options = options
        self._part = PartTransform(part, "InsertField")
        self._made = PerShape(self._inserted)

    @property
    def ordering(self) -> Ordering:
        """A partition or time in the key turns one key into several."""
        options = self._options
        varies = options.partition_field or options.timestamp_field
        return Ordering.NONE if self._part.part is RecordPart.KEY and varies else Ordering.KEEPS_KEY

    def apply(self, records: Records) -> Iterable[Records]:
        """See Transform."""
        return self._part.apply(records, self._structs, self._maps)

    def _structs(self, records: Records, _struct: Struct) -> Iterator[Records]:
        shape, column = self._made(records.shape)
        if column is not None:
            partitions = _partitions(records)
            _require(self._options.partition_field, "partition", None in partitions)
            records = with_values(records, column, partitions)
        if self._options.timestamp_field is not None:
            missing = nulls(records, records.shape.timestamp).any()
            _require(self._options.timestamp_field, "timestamp", bool(missing))
        yield records.with_shape(shape)

    def _inserted(self, shape: Shape) -> _Inserted:
        options = self._options
        struct = as_struct(self._part.part.node(shape))
        assert struct is not None
        members = list(fields(struct).items())
        if options.replace_null_with_default:
            members = [(name, with_defaults(node)) for name, node in members]
        partitions = None
        for field, node in (
            (options.topic_field, Constant(Schema(Type.STRING), shape.topic)),
            (options.partition_field, Constant(Schema(Type.INT32), None)),
            (options.timestamp_field, shape.timestamp or Constant(_TIMESTAMP, None)),
            (options.static_field, Constant(Schema(Type.STRING), options.static_value)),
        ):
            if field is None:
                continue
            source: Node = node
            if field is options.partition_field:
                source = partitions = column_of(Schema(Type.INT32, optional=field.optional))
            schema = _TIMESTAMP if field is options.timestamp_field else node.schema
            members.append((field.name, with_schema(source, schema.as_optional(field.optional))))
        struct = rebuilt(struct, members)
        return _Inserted(self._part.part.in_shape(shape, struct), partitions)

    def _maps(self, records: Records, maps: list[Mapping[str, object]]) -> list[object]:
        options = self._options
        times: list[object] = [None] * len(records)
        if records.shape.timestamp is not None:
            times = connect_values(records, records.shape.timestamp)
        results: list[object] = []
        for entries, partition, time in zip(maps, _partitions(records), times, strict=True):
            inserted = dict(entries)
            if options.topic_field is not None:
                inserted[options.topic_field.name] = records.shape.topic
            if options.partition_field is not None and partition is not None:
                inserted[options.partition_field.name] = partition
            if options.timestamp_field is not None and time is not None:
                inserted[options.timestamp_field.name] = time
            if options.static_field is not None:
                inserted[options.static_field.name] = options.static_value
            results.append(inserted)
        return results


def _require(field: InsertedField | None, part: str, is_missing: bool) -> None:
    if field is not None and not field.optional and is_missing:
        raise HeadraceError(
            "transforms.nothing_to_insert",
            f"a record has no {part}, and the field {field.name} is required",
            f"Write {part}.field={field.name}, without the exclamation mark.",
        )


def _partitions(records: Records) -> list[int | None]:
    if records.partition is None:
        return [None] * len(records)
    return [None if number == NO_PARTITION else number for number in records.partition.tolist()]


_MEANING = "Puts the topic, the partition, the record's time or a fixed text into a field."
OF_KEY = Declaration(
    "InsertField$Key", _MEANING, InsertFieldOptions, partial(InsertField, part=RecordPart.KEY)
)
OF_VALUE = Declaration(
    "InsertField$Value", _MEANING, InsertFieldOptions, partial(InsertField, part=RecordPart.VALUE),
    example=Example(
        {"id": 1},
        {"topic.field": "topic", "timestamp.field": "at", "static.field": "of",
         "static.value": "shop"},
        timestamp=1700000000123,
    ),
)  # fmt: skip
