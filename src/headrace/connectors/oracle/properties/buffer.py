"""Properties of the buffer that holds open transactions until their commit."""

from __future__ import annotations

from headrace.config.configuration import Configuration
from headrace.config.kinds import BOOLEAN, LONG_MAX, TEXT, choice, integer, milliseconds, size
from headrace.config.property import Family, Group, Property, not_needed
from headrace.connectors.oracle.properties.modes import BufferType

_OWN_BUFFER = not_needed("open transactions are in memory, and above a limit in files")


class BufferConfig(Configuration):
    """Properties of the buffer of open transactions."""

    log_mining_buffer_type = Property(
        "log.mining.buffer.type",
        choice(BufferType, aliases={"infinispan": "infinispan_embedded"}),
        "memory",
        Group.REPLICATION,
        "Where Debezium keeps the changes of transactions until their commit.",
        status=_OWN_BUFFER,
    )
    headrace_log_mining_buffer_max_bytes = Property(
        "headrace.log.mining.buffer.max.bytes",
        size(1),
        "256MB",
        Group.HEADRACE,
        "Memory for changes of open transactions; further changes go to files of this process.",
    )
    log_mining_transaction_retention_ms = Property(
        "log.mining.transaction.retention.ms",
        milliseconds(),
        "0",
        Group.REPLICATION,
        "Transactions that are open for longer than this are given up: their changes are lost, "
        "with a warning. 0 is no limit.",
    )
    log_mining_buffer_transaction_events_threshold = Property(
        "log.mining.buffer.transaction.events.threshold",
        integer(0, LONG_MAX),
        "0",
        Group.REPLICATION,
        "Transactions with more changes than this are given up: their changes are lost, with a "
        "warning. 0 is no limit.",
    )
    log_mining_buffer_deferred_transaction_start = Property(
        "log.mining.buffer.deferred.transaction.start",
        BOOLEAN,
        "false",
        Group.REPLICATION,
        "If true, sessions do not begin at the start of a transaction that has no captured change "
        "yet, so they need no old logs for it.",
    )
    log_mining_buffer_memory_legacy_transaction_start = Property(
        "log.mining.buffer.memory.legacy.transaction.start",
        BOOLEAN,
        "false",
        Group.REPLICATION,
        "The former name of log.mining.buffer.deferred.transaction.start.",
    )
    log_mining_buffer_deferred_transaction_retention_ms = Property(
        "log.mining.buffer.deferred.transaction.retention.ms",
        milliseconds(),
        "86400000",
        Group.REPLICATION,
        "How long Debezium keeps the start of a transaction that has no captured change yet.",
        status=not_needed("a transaction without changes takes 144 bytes until it ends"),
    )
    log_mining_buffer_drop_on_stop = Property(
        "log.mining.buffer.drop.on.stop",
        BOOLEAN,
        "false",
        Group.REPLICATION,
        "Debezium drops the open transactions when the connector stops.",
        status=not_needed("the buffer is gone when the process ends"),
    )
    log_mining_buffer_track_rs_id = Property(
        "log.mining.buffer.track.rs_id",
        BOOLEAN,
        "true",
        Group.REPLICATION,
        "Events contain the place of their redo (`source.rs_id`).",
    )
    log_mining_buffer_track_client_id = Property(
        "log.mining.buffer.track.client_id",
        BOOLEAN,
        "true",
        Group.REPLICATION,
        "The redo's client identifiers are read.",
    )
    log_mining_buffer_track_username = Property(
        "log.mining.buffer.track.username",
        BOOLEAN,
        "true",
        Group.REPLICATION,
        "Events contain the user of their transaction (`source.user_name`).",
    )
    log_mining_buffer_track_commit_timestamp = Property(
        "log.mining.buffer.track.commit_timestamp",
        BOOLEAN,
        "true",
        Group.REPLICATION,
        "Events say when their transaction was committed (`source.commit_ts_ms`).",
        status=not_needed("Debezium writes the time in any case"),
    )
    log_mining_buffer_track_start_timestamp = Property(
        "log.mining.buffer.track.start_timestamp",
        BOOLEAN,
        "true",
        Group.REPLICATION,
        "Events say when their transaction began (`source.start_ts_ms`).",
        status=not_needed("Debezium writes the time in any case"),
    )

    @property
    def defers_starts(self) -> bool:
        """Whether transactions without changes do not require old logs."""
        return (
            self.log_mining_buffer_deferred_transaction_start
            or self.log_mining_buffer_memory_legacy_transaction_start
        )

    log_mining_buffer_options = Family(
        "log.mining.buffer.*",
        TEXT,
        Group.REPLICATION,
        "Settings of Infinispan and Ehcache.",
        pattern=r"log\.mining\.buffer\.((?:infinispan|ehcache)\..*)",
        status=_OWN_BUFFER,
        case_matters=False,
    )
    internal_object_id_cache_size = Property(
        "internal.object.id.cache.size",
        integer(0),
        "256",
        Group.REPLICATION,
        "Size of Debezium's cache of tables by object number.",
        status=not_needed("all captured tables are kept"),
    )
