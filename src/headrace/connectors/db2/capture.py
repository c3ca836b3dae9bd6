"""The captured tables and columns of a Db2 database, by the configuration."""

from __future__ import annotations

from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.events import Db2Settings, Db2Source
from headrace.connectors.naming import name_adjustment, topic_names
from headrace.connectors.record_options import event_settings
from headrace.relational.capture import TableCapture
from headrace.relational.events import RelationFacts
from headrace.relational.types.options import TypeOptions
from headrace.streaming.changes.key_columns import KeyRendering

_SYSTEM_TABLES = ("ibmsnap_", "ibmqrep_")
_SYSTEM_SCHEMAS = ("ASNCDC", "SYSTOOLS", "SYSIBM", "SYSCAT", "SYSSTAT", "SYSPROC", "SYSFUN")


class Capture(TableCapture):
    """The filters, key rules and names of a configuration, and how its values are rendered."""

    def __init__(self, config: Db2Config) -> None:
        super().__init__(config, topic_names(config), name_adjustment(config))
        self._own_schemas = {config.cdc_control_schema, config.cdc_change_tables_schema}
        self.types = TypeOptions.shared(config)
        keys = Db2Settings("", Db2Source(""), types=self.types, converting="skip")
        self.key_rendering = KeyRendering.of(keys, config)

    def selected(self, facts: RelationFacts) -> frozenset[str]:
        """Return the columns of a table whose changes are queried: see `needed_columns`; of the
        signal table all, because signals are read from it."""
        if facts.name == self.signal_table:
            return frozenset(facts.cell_names)
        return needed_columns(facts)

    def is_system(self, schema: str, table: str) -> bool:
        """Whether a table belongs to SQL replication or to Db2 itself."""
        return (
            schema in self._own_schemas
            or schema.startswith(_SYSTEM_SCHEMAS)
            or table.lower().startswith(_SYSTEM_TABLES)
        )


def needed_columns(facts: RelationFacts) -> frozenset[str]:
    """Return the columns of a table that events show, and those of its key."""
    names, lookup = facts.cell_names, facts.lookup
    keys = () if lookup is None else (names[place] for place in lookup.key)
    captured = (column.name for column in facts.columns if column.captured)
    return frozenset((*captured, *facts.key, *keys))


def settings_of(config: Db2Config, capture: Capture) -> Db2Settings:
    """Return the settings that all events of a run share."""
    converting = str(config.event_converting_failure_handling_mode)
    source = Db2Source(config.database_dbname)
    return event_settings(Db2Settings, config, source, types=capture.types, converting=converting)
