"""The Oracle connector's properties. Names and defaults are Debezium's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

from headrace.config.filters import NameFilter
from headrace.config.finding import PropertyFinding
from headrace.config.properties.compatibility import TableIdentityConfig
from headrace.config.properties.history import SchemaHistoryConfig
from headrace.config.properties.relational import RelationalConfig
from headrace.config.property import SUPPORTED, not_needed
from headrace.connectors.oracle.properties.buffer import BufferConfig
from headrace.connectors.oracle.properties.connection import OracleConnectionConfig
from headrace.connectors.oracle.properties.mining import MiningConfig
from headrace.connectors.oracle.properties.modes import MiningStrategy
from headrace.connectors.oracle.properties.snapshots import OracleSnapshotConfig
from headrace.connectors.oracle.properties.values import OracleValuesConfig
from headrace.connectors.oracle.sql import ROOT
from headrace.errors import HeadraceError
from headrace.relational.history.tables import parsed_id

_SIGNAL_TABLE_PARTS = (2, 3)
_SID = re.compile(r"(?://)?(?P<host>\[[^]]+\]|[^:/()]+):(?P<port>\d+):(?P<sid>[\w$#.]+)")
_NODE = re.compile(r"(?P<host>\[[^]]+\]|[^:/]+)(?::(?P<port>\d+))?(?:/(?P<sid>.+))?")


def _parts(name: str) -> tuple[str, ...]:
    """Return the parts of a name, separated by dots outside of double quotes; empty if it is
    invalid."""
    try:
        return parsed_id(name)
    except ValueError:
        return ()


class OracleConfig(
    OracleConnectionConfig,
    MiningConfig,
    BufferConfig,
    OracleSnapshotConfig,
    OracleValuesConfig,
    SchemaHistoryConfig,
    TableIdentityConfig,
    RelationalConfig,
):
    """The properties of Debezium's Oracle connector, version 3.x."""

    cloud_event_identity: ClassVar[tuple[tuple[str, str], ...]] = (
        ("name", "name"),
        ("scn", "scn"),
        ("commit_scn", "commit_scn"),
    )
    exclusive: ClassVar[tuple[tuple[str, str], ...]] = (
        *RelationalConfig.exclusive,
        ("log.mining.username.include.list", "log.mining.username.exclude.list"),
        ("log.mining.clientid.include.list", "log.mining.clientid.exclude.list"),
    )

    database_port = RelationalConfig.database_port.with_default("1528").with_meaning(
        "TCP port of the listener. The default is Debezium's; most servers use 1521."
    )
    database_user = RelationalConfig.database_user.with_meaning(
        "A common user (`c##…`) that may mine the redo and read the captured tables; "
        "`headrace check` says what it lacks."
    )
    database_dbname = RelationalConfig.database_dbname.with_meaning(
        "The database's service; if database.pdb.name is set, the service of the container "
        "database."
    )
    schema_history_internal_store_only_captured_tables_ddl = (
        SchemaHistoryConfig.schema_history_internal_store_only_captured_tables_ddl.with_status(
            SUPPORTED
        ).with_meaning(
            "Keeps captured tables only. Otherwise the other tables that the snapshot saw have "
            "records and events of their statements, too, for which the snapshot reads their "
            "structure."
        )
    )
    schema_history_internal_store_only_captured_databases_ddl = (
        SchemaHistoryConfig.schema_history_internal_store_only_captured_databases_ddl.with_status(
            SUPPORTED
        ).with_meaning("Keeps tables of captured schemas only (schema.include.list).")
    )
    schema_history_internal_skip_unparseable_ddl = (
        SchemaHistoryConfig.schema_history_internal_skip_unparseable_ddl.with_status(
            not_needed(
                "headrace reads the data dictionary, with a warning, after a statement that it "
                "cannot parse"
            )
        )
    )
    schema_history_internal_ddl_filter = (
        SchemaHistoryConfig.schema_history_internal_ddl_filter.with_status(
            not_needed(
                "statements that change captured tables are always applied, because later rows "
                "have the columns that they leave"
            )
        )
    )
    driver = RelationalConfig.driver.with_meaning(
        "Parameters of python-oracledb's connect, by their names; `driver.lib_dir` is the folder "
        "of Oracle Instant Client, with which it runs in thick mode."
    )
    signal_data_collection = RelationalConfig.signal_data_collection.with_meaning(
        "The signal table, `DATABASE.SCHEMA.TABLE` with the pluggable database's name first, or "
        "`SCHEMA.TABLE`."
    )
    snapshot_lock_timeout_ms = RelationalConfig.snapshot_lock_timeout_ms.with_status(
        not_needed("ROW SHARE waits only for statements that change the structure of a table")
    )

    def signal_table(self) -> str | None:
        """Return `SCHEMA.TABLE` of the signal table."""
        named = super().signal_table()
        return None if named is None else ".".join(_parts(named)[-2:])

    def snapshot_filter(self) -> NameFilter:
        """Return the filter like RelationalConfig.snapshot_filter; names may be prefixed by the
        database's, which Debezium requires."""
        return NameFilter(
            self.snapshot_include_collection_list,
            qualifier=f"{self.catalog_name}.",
            qualifies=self.headrace_compatibility != "none",
        )

    @property
    def container(self) -> str | None:
        """The pluggable database; None without one."""
        return self.catalog_name if self.database_pdb_name else None

    @property
    def root(self) -> str | None:
        """The container where the redo is read; None without one."""
        return ROOT if self.database_pdb_name else None

    def check(self) -> Iterator[PropertyFinding]:
        yield from super().check()
        if self.log_mining_strategy is MiningStrategy.DICTIONARY_FROM_FILE and not (
            self.log_mining_path_dictionary
        ):
            yield PropertyFinding(
                "config.missing",
                "log.mining.path.dictionary",
                "log.mining.strategy = dictionary_from_file, but log.mining.path.dictionary is "
                "missing",
                "Set log.mining.path.dictionary, or another log.mining.strategy.",
            )
        yield from self._check_signal_table()
        if self.lob_enabled:
            yield from self._check_lobs()
        yield from self._check_unbuffered()

    def _check_signal_table(self) -> Iterator[PropertyFinding]:
        named = super().signal_table()
        if named is None:
            return
        parts = _parts(named)
        if len(parts) not in _SIGNAL_TABLE_PARTS:
            problem = "it is not DATABASE.SCHEMA.TABLE"
        elif len(parts) == max(_SIGNAL_TABLE_PARTS) and parts[0] != self.catalog_name:
            problem = f"it is in another database than {self.catalog_name}"
        else:
            return
        yield PropertyFinding(
            "config.impossible_value",
            "signal.data.collection",
            f"signal.data.collection = {named}: {problem}",
            f"Name the table as {self.catalog_name}.SCHEMA.TABLE; write parts with dots in double "
            f"quotes.",
        )

    def _check_lobs(self) -> Iterator[PropertyFinding]:
        """Yield findings for properties that lob.enabled excludes, as in Debezium."""
        if self.log_mining_strategy is MiningStrategy.HYBRID:
            yield PropertyFinding(
                "config.impossible_value",
                "log.mining.strategy",
                "log.mining.strategy = hybrid cannot be combined with lob.enabled",
                "Set log.mining.strategy=online_catalog, or lob.enabled=false.",
            )
        if self.defers_starts:
            yield PropertyFinding(
                "config.impossible_value",
                "log.mining.buffer.deferred.transaction.start",
                "log.mining.buffer.deferred.transaction.start cannot be combined with lob.enabled",
                "Remove one of the two.",
            )

    def _check_unbuffered(self) -> Iterator[PropertyFinding]:
        if self.is_unbuffered and self.log_mining_strategy is MiningStrategy.HYBRID:
            yield PropertyFinding(
                "config.impossible_value",
                "log.mining.strategy",
                "log.mining.strategy = hybrid cannot be combined with LogMiner_Unbuffered",
                "Set log.mining.strategy=online_catalog, or database.connection.adapter=LogMiner.",
            )


def data_source(config: OracleConfig, node: str | None = None) -> str:
    """Return the data source name of python-oracledb: from database.url in the form of Java's
    driver, with a service, a SID, a descriptor or an alias, else from host, port and
    database.dbname. `node`: one of rac.nodes, `host[:port][/sid]`.

    Raises HeadraceError("oracle.url") for a node of another form.
    """
    if node is not None:
        parts = _NODE.fullmatch(node.strip())
        if parts is None:
            raise HeadraceError(
                "oracle.url",
                f"rac.nodes: {node} is not a host",
                "Write host, host:port or host:port/sid.",
            )
        port = parts["port"] or config.database_port
        if parts["sid"]:
            return _by_sid(parts["host"], port, parts["sid"])
        return f"{parts['host']}:{port}/{config.database_dbname}"
    if not config.database_url:
        return f"{config.database_hostname}:{config.database_port}/{config.database_dbname}"
    address = config.database_url
    if sid := _SID.fullmatch(address):
        return _by_sid(sid["host"], sid["port"], sid["sid"])
    return address.removeprefix("//")


def _by_sid(host: str, port: object, sid: str) -> str:
    address = f"(ADDRESS=(PROTOCOL=TCP)(HOST={host})(PORT={port}))"
    return f"(DESCRIPTION={address}(CONNECT_DATA=(SID={sid})))"
