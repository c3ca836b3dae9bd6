"""Properties of snapshots: when existing rows are read, which rows, and by how many connections."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.config.configuration import Configuration
from headrace.config.filters import NameFilter
from headrace.config.finding import PropertyFinding
from headrace.config.kinds import (
    BOOLEAN,
    REGEX_LIST,
    TEXT,
    choice,
    integer,
    milliseconds,
    one_of,
    size,
)
from headrace.config.properties.modes import SnapshotMode, SnapshotResume
from headrace.config.property import Family, Group, Property, not_needed, refused

_JAVA = refused("headrace cannot load Java classes")
_ALWAYS_READ = not_needed("the tables' schemas are always read, and have no history")
_SPARK_READS = not_needed("Spark reads chunks of headrace.snapshot.chunk.bytes on every core")


class SnapshotConfig(Configuration):
    """Properties of initial, blocking and incremental snapshots of any connector."""

    headrace_snapshot_chunk_bytes = Property(
        "headrace.snapshot.chunk.bytes",
        size(1),
        "32MB",
        Group.HEADRACE,
        "Size of a snapshot chunk that one task reads, estimated from the size of the table.",
    )
    snapshot_resume = Property(
        "snapshot.resume",
        choice(SnapshotResume),
        "chunks",
        Group.HEADRACE,
        "After a restart during a snapshot: continue with the next `chunks`, or `restart` the "
        "snapshot, as Debezium does.",
    )
    headrace_incremental_snapshot_adaptive = Property(
        "headrace.incremental.snapshot.adaptive",
        BOOLEAN,
        "true",
        Group.HEADRACE,
        "Chunks of incremental snapshots grow from incremental.snapshot.chunk.size on while they "
        "are read fast, and shrink if rows are large. If incremental.snapshot.chunk.size is set, "
        "all chunks have that size.",
    )
    headrace_incremental_snapshot_threads = Property(
        "headrace.incremental.snapshot.threads",
        integer(1),
        "4",
        Group.HEADRACE,
        "How many chunks of an incremental snapshot are read at once, each on its own connection; "
        "1 as in Debezium.",
    )
    headrace_snapshot_threads = Property(
        "headrace.snapshot.threads",
        integer(0, 65536),
        "0",
        Group.HEADRACE,
        "How many chunks of an initial or blocking snapshot are read at once, each by a task with "
        "its own connection; 0 is the number of slices (headrace.slices). snapshot.max.threads "
        "limits it.",
    )
    snapshot_mode = Property(
        "snapshot.mode",
        choice(SnapshotMode),
        "initial",
        Group.SNAPSHOT,
        "When existing rows are read, and whether streaming follows.",
        refused_values=("custom", "recovery"),
        aliases={"never": "no_data", "schema_only": "no_data", "exported": "initial"},
    )
    snapshot_mode_custom_name = Property(
        "snapshot.mode.custom.name",
        TEXT,
        None,
        Group.SNAPSHOT,
        "Name of a custom snapshot mode.",
        status=_JAVA,
    )
    snapshot_mode_configuration_based_snapshot_data = Property(
        "snapshot.mode.configuration.based.snapshot.data",
        BOOLEAN,
        "false",
        Group.SNAPSHOT,
        "With snapshot.mode=configuration_based: reads existing rows at every start.",
    )
    snapshot_mode_configuration_based_snapshot_schema = Property(
        "snapshot.mode.configuration.based.snapshot.schema",
        BOOLEAN,
        "false",
        Group.SNAPSHOT,
        "With snapshot.mode=configuration_based: reads schemas.",
        status=_ALWAYS_READ,
    )
    snapshot_mode_configuration_based_start_stream = Property(
        "snapshot.mode.configuration.based.start.stream",
        BOOLEAN,
        "false",
        Group.SNAPSHOT,
        "With snapshot.mode=configuration_based: streams changes.",
    )
    snapshot_mode_configuration_based_snapshot_on_schema_error = Property(
        "snapshot.mode.configuration.based.snapshot.on.schema.error",
        BOOLEAN,
        "false",
        Group.SNAPSHOT,
        "With snapshot.mode=configuration_based: reads schemas again.",
        status=_ALWAYS_READ,
    )
    snapshot_mode_configuration_based_snapshot_on_data_error = Property(
        "snapshot.mode.configuration.based.snapshot.on.data.error",
        BOOLEAN,
        "false",
        Group.SNAPSHOT,
        "With snapshot.mode=configuration_based: a snapshot when the position is lost.",
    )
    snapshot_include_collection_list = Property(
        "snapshot.include.collection.list",
        REGEX_LIST,
        "",
        Group.SNAPSHOT,
        "Expressions for the captured tables whose rows the snapshot reads.",
    )
    snapshot_delay_ms = Property(
        "snapshot.delay.ms",
        milliseconds(),
        "0",
        Group.SNAPSHOT,
        "How long to wait before the snapshot.",
    )
    streaming_delay_ms = Property(
        "streaming.delay.ms",
        milliseconds(),
        "0",
        Group.SNAPSHOT,
        "How long to wait between the snapshot and streaming.",
    )
    snapshot_max_threads = Property(
        "snapshot.max.threads",
        integer(1),
        "1",
        Group.SNAPSHOT,
        "The most connections that read the snapshot at once, also if headrace.snapshot.threads "
        "is larger. If it is not set, headrace.snapshot.threads decides (Debezium: 1).",
    )
    snapshot_max_threads_multiplier = Property(
        "snapshot.max.threads.multiplier",
        integer(1),
        "1",
        Group.SNAPSHOT,
        "Chunks per thread.",
        status=_SPARK_READS,
    )
    snapshot_max_threads_multiplier_options = Family(
        "snapshot.max.threads.multiplier.TABLE",
        integer(1),
        Group.SNAPSHOT,
        "Chunks per thread for one table.",
        pattern=r"snapshot\.max\.threads\.multiplier\.(.+)",
        status=_SPARK_READS,
    )
    legacy_snapshot_max_threads = Property(
        "legacy.snapshot.max.threads",
        BOOLEAN,
        "false",
        Group.SNAPSHOT,
        "One thread per table.",
        status=_SPARK_READS,
    )
    snapshot_query_mode = Property(
        "snapshot.query.mode",
        one_of("select_all", "custom"),
        "select_all",
        Group.SNAPSHOT,
        "How rows are queried.",
        refused_values=("custom",),
    )
    incremental_snapshot_chunk_size = Property(
        "incremental.snapshot.chunk.size",
        integer(1),
        "1024",
        Group.SNAPSHOT,
        "Rows of a chunk of an incremental snapshot. If it is not set, only the first chunk of a "
        "table has this size, or fewer rows (headrace.incremental.snapshot.adaptive).",
    )
    incremental_snapshot_watermarking_strategy = Property(
        "incremental.snapshot.watermarking.strategy",
        one_of("insert_insert", "insert_delete"),
        "insert_insert",
        Group.SNAPSHOT,
        "The rows that are written to the signal table: two inserts for each chunk, or an insert "
        "and its deletion.",
    )

    read_only = Property(
        "read.only",
        BOOLEAN,
        "false",
        Group.REPLICATION,
        "Incremental snapshots without writing to the database.",
    )

    def snapshot_filter(self) -> NameFilter:
        """Return a filter of `schema.table`, for tables that `table_filter` has accepted."""
        return NameFilter(self.snapshot_include_collection_list)

    def check(self) -> Iterator[PropertyFinding]:
        yield from super().check()
        yield from self._check_mode()

    def _check_mode(self) -> Iterator[PropertyFinding]:
        prefix = "snapshot.mode.configuration.based"
        reads = self.snapshot_mode_configuration_based_snapshot_data
        streams = self.snapshot_mode_configuration_based_start_stream
        if str(self.snapshot_mode) == "configuration_based" and not reads and not streams:
            yield PropertyFinding(
                "config.nothing_to_do",
                "snapshot.mode",
                "snapshot.mode=configuration_based reads neither rows nor changes",
                f"Set {prefix}.snapshot.data=true, {prefix}.start.stream=true, or both.",
            )
