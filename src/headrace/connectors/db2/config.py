"""The Db2 connector's properties. Names and defaults are Debezium's."""

from __future__ import annotations

from typing import ClassVar

from headrace.config.properties.history import SchemaHistoryConfig
from headrace.config.properties.relational import RelationalConfig
from headrace.config.property import not_needed, refused
from headrace.connectors.db2.properties.change_tables import ChangeTablesConfig
from headrace.connectors.db2.properties.modes import Db2Platform
from headrace.connectors.db2.properties.snapshots import Db2SnapshotConfig

_BY_TABLE = refused("Db2's tables are chosen by table.include.list and table.exclude.list")


class Db2Config(ChangeTablesConfig, Db2SnapshotConfig, SchemaHistoryConfig, RelationalConfig):
    """The properties of Debezium's Db2 connector, version 3.x."""

    cloud_event_identity: ClassVar[tuple[tuple[str, str], ...]] = (
        ("name", "name"),
        ("change_lsn", "change_lsn"),
        ("commit_lsn", "commit_lsn"),
    )

    database_port = RelationalConfig.database_port.with_default("50000")
    database_user = RelationalConfig.database_user.with_meaning(
        "A user that may connect, and read the control tables, change tables and source tables; "
        "`headrace check` says what it lacks."
    )
    driver = RelationalConfig.driver.with_meaning(
        "Keywords of the CLI driver's connection string, by its names."
    )
    schema_include_list = RelationalConfig.schema_include_list.with_status(_BY_TABLE)
    schema_exclude_list = RelationalConfig.schema_exclude_list.with_status(_BY_TABLE)
    binary_handling_mode = RelationalConfig.binary_handling_mode.with_status(
        refused("Debezium's Db2 connector gives bytes as bytes")
    )
    include_schema_comments = RelationalConfig.include_schema_comments.with_status(
        refused("the driver has no comments of columns")
    )
    interval_handling_mode = RelationalConfig.interval_handling_mode.with_status(
        not_needed("Db2 has no columns of intervals")
    )
    heartbeat_action_query = RelationalConfig.heartbeat_action_query.with_status(
        refused("Debezium's Db2 connector has none")
    )

    @property
    def applies_stops(self) -> bool:
        """Whether a registration ends where the next one of its table begins."""
        return not (self.z_stop_lsn_ignore and self.db2_platform == Db2Platform.ZOS)
