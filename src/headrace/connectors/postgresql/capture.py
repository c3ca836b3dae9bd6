"""The filters, names and settings of the events that are captured from a PostgreSQL database."""

from __future__ import annotations

from headrace.config.filters import NameFilter
from headrace.connectors.naming import name_adjustment, topic_names
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.source import PostgresSettings, PostgresSource
from headrace.connectors.postgresql.types.options import PostgresTypeOptions
from headrace.connectors.record_options import event_settings
from headrace.relational.capture import TableCapture
from headrace.streaming.changes.key_columns import KeyRendering

_SYSTEM_SCHEMAS = ("pg_catalog", "information_schema")


class Capture(TableCapture):
    """The filters, key rules and names of a configuration, and the rendering of its values."""

    def __init__(self, config: PostgresConfig) -> None:
        super().__init__(config, topic_names(config), name_adjustment(config))
        self._messages = NameFilter(
            config.message_prefix_include_list, config.message_prefix_exclude_list
        )
        self.types = PostgresTypeOptions.of(config)
        keys = PostgresSettings("", PostgresSource(""), types=self.types, converting="skip")
        self.key_rendering = KeyRendering.of(keys, config)

    def is_system(self, schema: str, table: str) -> bool:
        """Whether a table is in one of PostgreSQL's schemas or of temporary tables, or is
        PostGIS's."""
        return (
            schema in _SYSTEM_SCHEMAS or schema.startswith("pg_temp") or table == "spatial_ref_sys"
        )

    def takes_message(self, prefix: str) -> bool:
        """Whether logical messages with this prefix are captured."""
        return self._messages.accepts(prefix)


def settings_of(config: PostgresConfig, capture: Capture) -> PostgresSettings:
    """Return the settings that all events of a run share."""
    source = PostgresSource(config.database_dbname, config.xmin_fetch_interval_ms > 0)
    converting = str(config.event_converting_failure_handling_mode)
    return event_settings(
        PostgresSettings, config, source, types=capture.types, converting=converting
    )
