"""Options of ExtractNewDocumentState."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum

from headrace.config.kinds import BOOLEAN, COMMA_LIST, EXACT_TEXT, TEXT, ValueKind, choice, one_of
from headrace.config.properties.compatibility import RecordBoundsConfig
from headrace.config.property import Group, Property
from headrace.debezium.naming.names import NameAdjustmentMode
from headrace.documents.target_schema.ddl import declared
from headrace.documents.target_schema.policies import ConflictPolicy
from headrace.errors import HeadraceError
from headrace.transforms.documents.struct_form import ArrayEncoding
from headrace.transforms.transform import FormerOption
from headrace.transforms.unwrapping.deletes import (
    MODE,
    DeleteMode,
    former_options,
    is_debezium_compatible,
)
from headrace.transforms.unwrapping.options import ADDED_FIELDS, ADDED_HEADERS, UnwrappingOptions

_NULL = "A field that the event lacks is null."
_RS = (
    "`updateDescription.updatedFields` and `updateDescription.removedFields` are what an update "
    "changed. `rs` needs `event.format.version=2.5`: later events do not name the replica set, so "
    "the field is null."
)
ADJUSTMENT = "field.name.adjustment.mode"


class UnsetHandling(StrEnum):
    """Handling of fields that an update removed."""

    NULL = "null"
    """The fields are null."""
    OMIT = "omit"
    """The fields are missing in the record."""


SAMPLED = "sampled"
"""Value of target.schema: the connector derives the schema from documents of its collection."""


def _parse_schema(text: str) -> str:
    """Validate a schema's text. Raises ValueError."""
    if text.lower() == SAMPLED:
        return SAMPLED
    try:
        declared(text)
    except HeadraceError as error:
        raise ValueError(error.message) from None
    return text


SCHEMA: ValueKind[str] = ValueKind(
    "columns as Spark's DDL declares them, the JSON of a StructType, or `sampled`", _parse_schema
)


class UnknownFieldHandling(StrEnum):
    """Handling of fields that the target schema does not have."""

    AUTO = "auto"
    """DROP for a declared schema, FAIL for a sampled one."""
    DROP = "drop"
    """The fields are left out."""
    FAIL = "fail"
    """The record fails."""


class ExtractNewDocumentStateOptions(UnwrappingOptions, RecordBoundsConfig):
    """Options of ExtractNewDocumentState."""

    delete_tombstone_handling_mode = Property(
        MODE,
        choice(DeleteMode),
        "tombstone",
        Group.CONVERTERS,
        "The result of deletes and of the tombstones after them. `drop`: both are left out. "
        "`tombstone` and `delete-to-tombstone`: the delete becomes a null value without a schema, "
        "a tombstone for Kafka; the tombstone is left out. `rewrite`: the document before the "
        "delete, where the event has it, with `__deleted=true` (and `__deleted=false` in all other "
        "records); the tombstone is left out. `rewrite-with-tombstone`: likewise, and the "
        "tombstone stays.",
    )
    add_fields = Property(
        "add.fields", COMMA_LIST, "", Group.CONVERTERS, f"{ADDED_FIELDS} {_NULL} {_RS}"
    )
    add_headers = Property(
        "add.headers", COMMA_LIST, "", Group.CONVERTERS, f"{ADDED_HEADERS} {_RS}"
    )
    array_encoding = Property(
        "array.encoding",
        choice(ArrayEncoding),
        "array",
        Group.CONVERTERS,
        "The form of arrays. `array`: an array whose elements have one type. `document`: a struct "
        "with the fields _0, _1, …",
    )
    flatten_struct = Property(
        "flatten.struct",
        BOOLEAN,
        "false",
        Group.CONVERTERS,
        "Whether fields of inner documents become fields of the record.",
    )
    flatten_struct_delimiter = Property(
        "flatten.struct.delimiter",
        EXACT_TEXT,
        "_",
        Group.CONVERTERS,
        "The separator between the names of a path of a flattened field.",
    )
    delete_tombstone_handling_mode_rewrite_with_id = Property(
        f"{MODE}.rewrite-with-id",
        BOOLEAN,
        "false",
        Group.CONVERTERS,
        "Whether a rewritten record without `_id` gets it from the key.",
    )
    field_name_adjustment_mode = Property(
        ADJUSTMENT,
        choice(NameAdjustmentMode),
        "none",
        Group.CONVERTERS,
        "Adjusts names to Avro: other characters become `_`, or `_uXXXX` (avro_unicode).",
    )
    unset_handling = Property(
        "unset.handling",
        choice(UnsetHandling),
        "null",
        Group.CONVERTERS,
        "The result of fields that an update removed: null, or left out (omit) as in Debezium 3.6.",
    )
    target_schema = Property(
        "target.schema",
        SCHEMA,
        None,
        Group.CONVERTERS,
        "The schema that all records get: columns as Spark's DDL declares them (`_id STRING, total "
        "DECIMAL(10,2)`), the JSON of a StructType, or `sampled`: derived from documents of the "
        "connector's collection when headrace.options runs. Without it, each record has the schema "
        "of its document.",
    )
    target_schema_conflict = Property(
        "target.schema.conflict",
        choice(ConflictPolicy),
        "fail",
        Group.CONVERTERS,
        "The effect of a value that its field of target.schema cannot hold exactly: the record "
        "fails, the value is null, or it is null and the value is in the field `__rest` (rest), "
        "with the "
        "fields that target.schema lacks.",
    )
    target_schema_unknown = Property(
        "target.schema.unknown",
        choice(UnknownFieldHandling),
        "auto",
        Group.CONVERTERS,
        "The effect of fields that target.schema lacks, unless they are in `__rest`: they are "
        "left out (drop), or the record fails (fail); auto drops them where the schema is "
        "declared, and fails where it was sampled.",
    )
    route_by_field = Property(
        "route.by.field",
        TEXT,
        "",
        Group.CONVERTERS,
        "No effect, as in Debezium; use a router such as ByLogicalTableRouter.",
    )
    headrace_compatibility = Property(
        "headrace.compatibility",
        one_of("none", "debezium-3.6"),
        "none",
        Group.CONVERTERS,
        "The release of Debezium whose behaviour is reproduced where headrace intentionally "
        "differs; by default the connector's `headrace.compatibility`.",
    )


def former_document_options(options: Mapping[str, str]) -> Iterator[FormerOption]:
    """Yield replacements for options of Debezium before 2.5 that are given."""
    yield from former_options(options)
    if "sanitize.field.names" in options:
        adjusts = options["sanitize.field.names"].strip().lower() == "true"
        adjusts = adjusts and not is_debezium_compatible(options)
        current = {ADJUSTMENT: "avro"} if adjusts else {}
        yield FormerOption("sanitize.field.names", ADJUSTMENT, current)
