"""Properties of a schema history, for connectors whose log describes a row's columns."""

from __future__ import annotations

from headrace.config.configuration import Configuration
from headrace.config.kinds import TEXT
from headrace.config.property import Family, Group, not_needed


class WithoutHistoryConfig(Configuration):
    """Properties of a schema history, which are accepted without effect."""

    schema_history_internal = Family(
        "schema.history.internal*",
        TEXT,
        Group.CONNECT,
        "The schema history of connectors that read DDL.",
        pattern=r"schema\.history\.internal(.*)",
        status=not_needed("this connector needs no schema history"),
        case_matters=False,
    )
