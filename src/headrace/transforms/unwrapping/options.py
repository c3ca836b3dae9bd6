"""Options of the transforms that extract rows and documents from their envelopes."""

from __future__ import annotations

from headrace.config.configuration import Configuration
from headrace.config.kinds import COMMA_LIST, EXACT_TEXT, choice
from headrace.config.property import Group, Property
from headrace.transforms.unwrapping.deletes import MODE, DeleteMode

_NAMES = (
    "a list of `[struct.]field[:name]`. `struct` is `source`, `transaction` or another struct of "
    "the envelope. Without `struct`, `op`, `ts_ms`, `ts_us` and `ts_ns` are fields of the "
    "envelope, `id`, `total_order` and `data_collection_order` are fields of `transaction`, and "
    "any other name is a field of `source`. The new name is the prefix and `name`; without `name` "
    "it is the prefix and `field`, or `struct_field` if `struct` is given: `source.ts_ms` becomes "
    "`__source_ts_ms`."
)
ADDED_FIELDS = f"Fields of the envelope that the record gets, {_NAMES}"
ADDED_HEADERS = (
    f"Fields of the envelope that become headers, {_NAMES} A field that the envelope lacks makes "
    "no header. With `rewrite-with-tombstone` and `op` a tombstone has the header twice, as in "
    "Debezium: once for its delete and once for itself."
)


class UnwrappingOptions(Configuration):
    """Options that ExtractNewRecordState and ExtractNewDocumentState share."""

    delete_tombstone_handling_mode = Property(
        MODE,
        choice(DeleteMode),
        "tombstone",
        Group.CONVERTERS,
        "The result of deletes and of the tombstones after them. `drop`: both are left out. "
        "`tombstone`: the delete becomes a null value with the row's schema, and the tombstone is "
        "left out; JSON writes the value as the text `null`, as in Kafka Connect, so that Kafka "
        "does not treat it as a tombstone. `delete-to-tombstone`: the delete becomes a null value "
        "without a schema, which is a tombstone for Kafka, and the tombstone after it is left out. "
        "`rewrite`: the delete becomes the row before it with `__deleted`, and the tombstone is "
        "left out. `rewrite-with-tombstone`: the same as `rewrite`, but the tombstone stays.",
    )
    add_fields = Property(
        "add.fields",
        COMMA_LIST,
        "",
        Group.CONVERTERS,
        ADDED_FIELDS,
    )
    add_fields_prefix = Property(
        "add.fields.prefix",
        EXACT_TEXT,
        "__",
        Group.CONVERTERS,
        "The prefix of the names of added fields.",
    )
    add_headers = Property(
        "add.headers",
        COMMA_LIST,
        "",
        Group.CONVERTERS,
        ADDED_HEADERS,
    )
    add_headers_prefix = Property(
        "add.headers.prefix",
        EXACT_TEXT,
        "__",
        Group.CONVERTERS,
        "The prefix of the names of headers.",
    )
