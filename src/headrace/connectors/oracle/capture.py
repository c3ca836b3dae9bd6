"""The captured tables and columns of an Oracle database, by the configuration."""

from __future__ import annotations

import re

from headrace.connectors.naming import name_adjustment, topic_names
from headrace.connectors.oracle.config import OracleConfig
from headrace.connectors.oracle.events import OracleFacts, OracleSettings, OracleSource
from headrace.connectors.oracle.properties.connection import stored_name
from headrace.connectors.oracle.types.options import OracleTypeOptions
from headrace.connectors.record_options import event_settings
from headrace.relational.capture import TableCapture
from headrace.relational.table import Table
from headrace.streaming.changes.key_columns import KeyRendering

SYSTEM_SCHEMAS = (
    "APPQOSSYS", "AUDSYS", "CTXSYS", "DVSYS", "DBSFWUSER", "DBSNMP", "GGSHAREDCAP",
    "GSMADMIN_INTERNAL", "LBACSYS", "MDSYS", "OJVMSYS", "OLAPSYS", "ORDDATA", "ORDSYS", "OUTLN",
    "SYS", "SYSTEM", "VECSYS", "WMSYS", "XDB",
)  # fmt: skip
"""Schemas that are never captured, as Debezium has them."""
SYSTEM_USERS = frozenset({"SYS", "SYSTEM"})
"""Users whose changes are not captured, unless log.mining.username.include.list names them."""

_COMPRESSION = re.compile(r"CMP[34]\$\d+")
"""Tables of the compression advisor."""
RECYCLED = "BIN$"
"""The prefix of the names of dropped tables, which are in the recycle bin."""
_VIEW_LOG = "MLOG$_"
"""The prefix of the names of logs of materialized views, whose redo is not read either."""


class Capture(TableCapture):
    """The filters, key rules and names of a configuration, and how its values are rendered."""

    def __init__(self, config: OracleConfig) -> None:
        super().__init__(config, topic_names(config), name_adjustment(config))
        self.database = config.catalog_name
        self._flush_table = (
            stored_name(config.database_user),
            config.log_mining_flush_table_name.upper(),
        )
        self._leaves_out = config.headrace_compatibility == "none"
        self._mentions = (
            not config.schema_history_internal_store_only_captured_tables_ddl,
            not config.schema_history_internal_store_only_captured_databases_ddl,
        )
        self.reads_comments = (
            config.include_schema_comments and config.headrace_compatibility == "none"
        )
        """Whether tables have the comments of the data dictionary: Debezium has only those that are
        made while it reads the redo."""
        self.types = OracleTypeOptions.of(config)
        keys = OracleSettings("", OracleSource(""), types=self.types, converting="skip")
        self.key_rendering = KeyRendering.of(keys, config)

    def is_system(self, schema: str, table: str) -> bool:
        """Whether a table belongs to Oracle itself, or is the connector's flush table."""
        return (
            schema in SYSTEM_SCHEMAS
            or (schema, table) == self._flush_table
            or _COMPRESSION.fullmatch(table) is not None
            or (self._leaves_out and table.startswith((RECYCLED, _VIEW_LOG)))
        )

    def takes_schema(self, schema: str) -> bool:
        """Whether tables of a schema may be captured, by the schema's name."""
        return schema not in SYSTEM_SCHEMAS and self._schemas.accepts(schema)

    def mentions(self, schema: str) -> bool:
        """Whether the schema history has tables of a schema that are not captured, as
        schema.history.internal.store.only.captured.… says."""
        others, schemas = self._mentions
        return others and (schemas or self._schemas.accepts(schema))

    def relation(self, table: Table, present: Table | None) -> OracleFacts:
        """See TableCapture: collections are named with their database."""
        facts = super().relation(table, present)
        return OracleFacts(
            **{name: getattr(facts, name) for name in facts.__dataclass_fields__},
            database=self.database,
        )


def settings_of(config: OracleConfig, capture: Capture) -> OracleSettings:
    """Return the settings that all events of a run share."""
    converting = str(config.event_converting_failure_handling_mode)
    source = OracleSource(capture.database, config.headrace_source_ssn)
    return event_settings(
        OracleSettings, config, source, types=capture.types, converting=converting
    )
