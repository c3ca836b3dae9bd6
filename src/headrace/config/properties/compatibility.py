"""Which release's quirks are reproduced, what a table is, and how large a record may become."""

from __future__ import annotations

from headrace.config.configuration import Configuration
from headrace.config.kinds import choice, integer, one_of
from headrace.config.properties.modes import TableIdentity
from headrace.config.property import Group, Property


class CompatibilityConfig(Configuration):
    """What event formats, converters and transforms ask alike."""

    headrace_compatibility = Property(
        "headrace.compatibility",
        one_of("none", "debezium-3.6"),
        "none",
        Group.HEADRACE,
        "Whose quirks to reproduce where headrace would render better.",
    )


class RecordBoundsConfig(Configuration):
    """What readers of records, and transforms that take documents apart, ask alike."""

    headrace_record_max_cells = Property(
        "headrace.record.max.cells",
        integer(1),
        "1000000",
        Group.HEADRACE,
        "How many values a record may have once its arrays and documents are taken apart: an array "
        "of N documents that share no field has N times N. A record with more fails, and "
        "`errors.tolerance` says what becomes of it.",
    )


class TableIdentityConfig(Configuration):
    """What connectors ask that learn of dropped and renamed tables, and read their ids only where
    somebody needs them."""

    headrace_table_identity = Property(
        "headrace.table.identity",
        choice(TableIdentity),
        "name",
        Group.HEADRACE,
        "What tells a table or collection from others: its `name`, as in Debezium, or the `id` "
        "that the database gives it, by which one that was dropped and made again, renamed or "
        "exchanged is another one. Sinks of replicas set `id`, and stop such a table.",
    )
