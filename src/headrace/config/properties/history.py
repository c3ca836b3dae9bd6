"""Properties of a schema history, for connectors whose log does not describe a row's columns."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from headrace.config.configuration import Configuration
from headrace.config.finding import PropertyFinding
from headrace.config.kinds import BOOLEAN, PATH, STATEMENTS, TEXT, choice, integer, milliseconds
from headrace.config.properties.modes import SnapshotMode
from headrace.config.properties.snapshots import SnapshotConfig
from headrace.config.property import SUPPORTED, Family, Group, PassThrough, Property, not_needed

_NO_DDL = not_needed("the log has no statements: headrace reads tables from the catalogue")
_IN_HISTORY = not_needed(
    "the captured tables are always written into the schema history when a stream begins"
)
_LIBRDKAFKA = not_needed("Kafka's client waits by itself")


class HistoryKind(StrEnum):
    """`schema.history.internal`: the storage of the schema history."""

    FILE = "file"
    KAFKA = "kafka"
    MEMORY = "memory"


_CLASSES = {
    "io.debezium.storage.kafka.history.kafkaschemahistory": "kafka",
    "io.debezium.storage.file.history.fileschemahistory": "file",
    "io.debezium.relational.history.memoryschemahistory": "memory",
}


class SchemaHistoryConfig(Configuration):
    """Properties of the schema history's storage, and of records for its changes."""

    snapshot_mode = SnapshotConfig.snapshot_mode.with_refused("custom").with_meaning(
        "When existing rows are read, and whether streaming follows. `recovery` is `no_data`, and "
        "writes a lost schema history again from the tables as they are: this is correct only if "
        "nobody altered them since the stored position."
    )
    snapshot_mode_configuration_based_snapshot_schema = (
        SnapshotConfig.snapshot_mode_configuration_based_snapshot_schema.with_status(_IN_HISTORY)
    )
    snapshot_mode_configuration_based_snapshot_on_schema_error = (
        SnapshotConfig.snapshot_mode_configuration_based_snapshot_on_schema_error.with_status(
            SUPPORTED
        ).with_meaning(
            "With snapshot.mode=configuration_based: writes a lost schema history again from the "
            "tables as they are."
        )
    )
    database_history_kafka_topic = Property(
        "database.history.kafka.topic",
        TEXT,
        None,
        Group.HISTORY,
        "The topic of the schema history, up to Debezium 1.9.",
        status=not_needed("schema.history.internal.kafka.topic names the topic"),
    )
    database_history_kafka_bootstrap_servers = Property(
        "database.history.kafka.bootstrap.servers",
        TEXT,
        None,
        Group.HISTORY,
        "The brokers of the schema history, up to Debezium 1.9.",
        status=not_needed("schema.history.internal.kafka.bootstrap.servers names the brokers"),
    )
    include_schema_changes = Property(
        "include.schema.changes",
        BOOLEAN,
        "true",
        Group.TOPICS,
        "Writes the structure of tables, and changes of it, as records to the topic that is named "
        "as topic.prefix.",
    )
    schema_history_internal = Property(
        "schema.history.internal",
        choice(HistoryKind, aliases=_CLASSES),
        None,
        Group.HISTORY,
        "Where the schema history is kept. By default in the Kafka topic or the file that one of "
        "the properties below names; otherwise in a file in headrace.checkpoint.dir (or "
        "--checkpoint); "
        "without these in memory, so that a restart begins with the tables' current structure.",
    )
    schema_history_internal_file_filename = Property(
        "schema.history.internal.file.filename",
        PATH,
        None,
        Group.HISTORY,
        "File of the schema history.",
    )
    schema_history_internal_kafka_topic = Property(
        "schema.history.internal.kafka.topic",
        TEXT,
        None,
        Group.HISTORY,
        "Topic of the schema history, with one partition; a topic that Debezium wrote is "
        "continued.",
    )
    schema_history_internal_kafka_bootstrap_servers = Property(
        "schema.history.internal.kafka.bootstrap.servers",
        TEXT,
        None,
        Group.HISTORY,
        "Brokers of the schema history's topic.",
    )
    schema_history_internal_kafka_recovery_poll_interval_ms = Property(
        "schema.history.internal.kafka.recovery.poll.interval.ms",
        milliseconds(),
        "100",
        Group.HISTORY,
        "Multiplied by schema.history.internal.kafka.recovery.attempts: how long to wait for the "
        "next message of the schema history's topic.",
    )
    schema_history_internal_kafka_recovery_attempts = Property(
        "schema.history.internal.kafka.recovery.attempts",
        integer(1),
        "100",
        Group.HISTORY,
        "Multiplied by schema.history.internal.kafka.recovery.poll.interval.ms: how long to wait "
        "for the next message of the schema history's topic.",
    )
    schema_history_internal_kafka_query_timeout_ms = Property(
        "schema.history.internal.kafka.query.timeout.ms",
        milliseconds(),
        "3000",
        Group.HISTORY,
        "Limit for a query about the schema history's topic.",
        status=_LIBRDKAFKA,
    )
    schema_history_internal_kafka_create_timeout_ms = Property(
        "schema.history.internal.kafka.create.timeout.ms",
        milliseconds(),
        "30000",
        Group.HISTORY,
        "Limit for creating the schema history's topic.",
        status=_LIBRDKAFKA,
    )
    schema_history_internal_consumer = PassThrough(
        "schema.history.internal.consumer.*",
        TEXT,
        Group.HISTORY,
        "Settings of the client that reads the schema history's topic.",
        case_matters=False,
        clients=r".+",
    )
    schema_history_internal_producer = PassThrough(
        "schema.history.internal.producer.*",
        TEXT,
        Group.HISTORY,
        "Settings of the client that writes the schema history's topic.",
        case_matters=False,
        clients=r".+",
    )
    schema_history_internal_store_only_captured_tables_ddl = Property(
        "schema.history.internal.store.only.captured.tables.ddl",
        BOOLEAN,
        "false",
        Group.HISTORY,
        "Keeps captured tables only.",
        status=not_needed("only captured tables are kept"),
    )
    schema_history_internal_store_only_captured_databases_ddl = Property(
        "schema.history.internal.store.only.captured.databases.ddl",
        BOOLEAN,
        "false",
        Group.HISTORY,
        "Keeps captured databases only.",
        status=not_needed("only captured tables are kept"),
    )
    schema_history_internal_skip_unparseable_ddl = Property(
        "schema.history.internal.skip.unparseable.ddl",
        BOOLEAN,
        "false",
        Group.HISTORY,
        "Ignores statements that cannot be parsed.",
        status=_NO_DDL,
    )
    schema_history_internal_ddl_filter = Property(
        "schema.history.internal.ddl.filter",
        STATEMENTS,
        "",
        Group.HISTORY,
        "Statements that the history leaves out.",
        status=_NO_DDL,
    )
    schema_history_internal_options = Family(
        "schema.history.internal.*",
        TEXT,
        Group.CONNECT,
        "Other options of Debezium's schema histories.",
        pattern=r"schema\.history\.internal\.(.*)",
        status=not_needed("headrace does not have these stores"),
        case_matters=False,
    )

    @property
    def rebuilds_history(self) -> bool:
        """Return whether a lost schema history is written again."""
        if self.snapshot_mode is SnapshotMode.CONFIGURATION_BASED:
            return self.snapshot_mode_configuration_based_snapshot_on_schema_error
        return self.snapshot_mode is SnapshotMode.RECOVERY

    def history_kind(self) -> HistoryKind:
        """Return the storage of the schema history."""
        chosen: HistoryKind | None = self.schema_history_internal
        if chosen is not None:
            return chosen
        if self.schema_history_internal_kafka_topic:
            return HistoryKind.KAFKA
        return HistoryKind.FILE if self.history_file() else HistoryKind.MEMORY

    def history_file(self) -> str | None:
        """Return the file of a history that is kept in a file; None: no folder for it is set."""
        named: str | None = self.schema_history_internal_file_filename
        folder = self.value_of("headrace_checkpoint_dir")
        if named or not folder:
            return named
        return f"{folder}/schema-history.jsonl"

    def check(self) -> Iterator[PropertyFinding]:
        yield from super().check()
        kind = self.history_kind()
        needed: tuple[str, ...] = ()
        if kind is HistoryKind.KAFKA:
            needed = (
                "schema.history.internal.kafka.topic",
                "schema.history.internal.kafka.bootstrap.servers",
            )
        elif kind is HistoryKind.FILE and not self.history_file():
            needed = ("schema.history.internal.file.filename",)
        for name in needed:
            if not self.is_set(name):
                yield PropertyFinding(
                    "config.missing",
                    name,
                    f"the schema history is kept in {kind}, but {name} is missing",
                    f"Set {name}, or choose another schema.history.internal.",
                )
