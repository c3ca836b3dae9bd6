"""Options of the transforms that extract rows and documents from their envelopes."""

from __future__ import annotations

from headrace.config.configuration import Configuration
from headrace.config.kinds import COMMA_LIST, EXACT_TEXT, choice
from headrace.config.property import Group, Property
from headrace.transforms.unwrapping.deletes import MODE, DeleteMode

_NAMES = (
    "`[struct.]field[:name]` each. The struct is `source`, `transaction` or another one of the "
    "envelope. Without a struct, `op`, `ts_ms`, `ts_us` and `ts_ns` are read from the envelope, "
    "`id`, `total_order` and `data_collection_order` from `transaction`, and other names from "
    "`source`. The name of a struct becomes a part of the field's name: `source.ts_ms` becomes "
    "`__source_ts_ms`."
)
ADDED_FIELDS = f"Fields of the envelope that the record gets, {_NAMES}"
ADDED_HEADERS = (
    f"Fields of the envelope that become headers, {_NAMES} A field that the envelope lacks "
    "gets no header. With `rewrite-with-tombstone` and `op` a tombstone has the header twice, as "
    "in Debezium: that of its delete and its own."
)


class UnwrappingOptions(Configuration):
    """Options of both transforms."""

    delete_tombstone_handling_mode = Property(
        MODE,
        choice(DeleteMode),
        "tombstone",
        Group.CONVERTERS,
        "The result of deletes and of the tombstones after them. `drop`: both are left out. "
        "`tombstone`: the delete becomes a null value with the row's schema, which JSON shows as "
        "the text `null`, as in Kafka Connect, and Kafka does not take for a tombstone; the "
        "tombstone is left out. `delete-to-tombstone`: likewise, without a schema, a tombstone for "
        "Kafka. `rewrite`: the row before the delete with `__deleted`. `rewrite-with-tombstone`: "
        "likewise, and the tombstone stays.",
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
