"""Options of what takes rows and documents out of their envelopes."""

from __future__ import annotations

from headrace.config.configuration import Configuration
from headrace.config.kinds import COMMA_LIST, EXACT_TEXT, choice
from headrace.config.property import Group, Property
from headrace.transforms.unwrapping.deletes import MODE, DeleteMode


class UnwrappingOptions(Configuration):
    """Options that both have."""

    delete_tombstone_handling_mode = Property(
        MODE,
        choice(DeleteMode),
        "tombstone",
        Group.CONVERTERS,
        "What becomes of deletes and of the tombstones behind them. `drop`: both are left out. "
        "`tombstone`: the delete becomes a null value, of rows with their schema, which JSON shows "
        "as the text `null`, as in Kafka Connect, and Kafka does not take for a tombstone; the "
        "tombstone is left out. `delete-to-tombstone`: likewise, without a schema, a tombstone for "
        "Kafka. `rewrite`: the row before the delete with `__deleted`. `rewrite-with-tombstone`: "
        "likewise, and the tombstone stays.",
    )
    add_fields = Property(
        "add.fields",
        COMMA_LIST,
        "",
        Group.CONVERTERS,
        "Fields of the envelope that the record gets, `[struct.]field[:name]` each.",
    )
    add_fields_prefix = Property(
        "add.fields.prefix",
        EXACT_TEXT,
        "__",
        Group.CONVERTERS,
        "Goes before the names of added fields.",
    )
    add_headers = Property(
        "add.headers",
        COMMA_LIST,
        "",
        Group.CONVERTERS,
        "Fields of the envelope that become headers, `[struct.]field[:name]` each.",
    )
    add_headers_prefix = Property(
        "add.headers.prefix",
        EXACT_TEXT,
        "__",
        Group.CONVERTERS,
        "Goes before the names of headers.",
    )
