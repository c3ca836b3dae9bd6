"""Properties: reproduced behaviour of a release, tables' identity, the size of records."""

from __future__ import annotations

from headrace.config.configuration import Configuration
from headrace.config.kinds import choice, integer, one_of
from headrace.config.properties.modes import TableIdentity
from headrace.config.property import Group, Property


class CompatibilityConfig(Configuration):
    """Properties shared by event formats, converters and transforms."""

    headrace_compatibility = Property(
        "headrace.compatibility",
        one_of("none", "debezium-3.6"),
        "none",
        Group.HEADRACE,
        "Whether Debezium's behaviour is reproduced where headrace intentionally differs.",
    )


class RecordBoundsConfig(Configuration):
    """Properties shared by readers of records, and transforms that flatten documents."""

    headrace_record_max_cells = Property(
        "headrace.record.max.cells",
        integer(1),
        "1000000",
        Group.HEADRACE,
        "How many values a record may have in its arrays and documents. Each document of an array "
        "has the fields of all of them, so N documents that share no field have N times N values. "
        "A record with more values fails, and `errors.tolerance` applies.",
    )


class TableIdentityConfig(Configuration):
    """Properties of connectors that can detect dropped and renamed tables and columns, and read
    what that takes only if it is needed."""

    headrace_table_identity = Property(
        "headrace.table.identity",
        choice(TableIdentity),
        "name",
        Group.HEADRACE,
        "How a table or collection is identified: by its `name`, as in Debezium, or by the "
        "database's `id`, so that a table that was dropped and created again, renamed or "
        "exchanged counts as another one. Sinks of replicas set `id`, and stop a table whose id "
        "changed. With `id`, connectors whose catalogue does not say which value older rows have "
        "in a new column also search the rows.",
    )
