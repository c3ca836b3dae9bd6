"""The enumerations of the Oracle connector. Values are Debezium's texts."""

from __future__ import annotations

from enum import StrEnum


class ConnectionAdapter(StrEnum):
    """The values of `database.connection.adapter`: how the redo is read."""

    LOGMINER = "LogMiner"
    """LogMiner returns changes of all transactions as they happen; headrace holds them until their
    commit."""
    UNBUFFERED = "LogMiner_Unbuffered"
    """LogMiner itself holds transactions, and returns committed ones."""
    XSTREAM = "XStream"
    OPENLOGREPLICATOR = "OLR"


class MiningStrategy(StrEnum):
    """The values of `log.mining.strategy`: where LogMiner takes the names of tables and columns
    from."""

    ONLINE_CATALOG = "online_catalog"
    HYBRID = "hybrid"
    REDO_LOG_CATALOG = "redo_log_catalog"
    DICTIONARY_FROM_FILE = "dictionary_from_file"


class QueryFilterMode(StrEnum):
    """The values of `log.mining.query.filter.mode`: how much of the table filters the database
    applies."""

    NONE = "none"
    IN = "in"
    REGEX = "regex"


class BufferType(StrEnum):
    """The values of `log.mining.buffer.type`: the store of open transactions."""

    MEMORY = "memory"
    INFINISPAN_EMBEDDED = "infinispan_embedded"
    INFINISPAN_REMOTE = "infinispan_remote"
    EHCACHE = "ehcache"


class CaptureMode(StrEnum):
    """The values of `capture.mode`: the database whose redo is read."""

    PRIMARY = "primary"
    PHYSICAL_STANDBY = "physical_standby"
    DOWNSTREAM = "downstream"


class BoundaryMode(StrEnum):
    """The values of `internal.log.mining.transaction.snapshot.boundary.mode`: how transactions that
    are open when a snapshot is taken are found."""

    SKIP = "skip"
    """Open transactions are not looked for: their changes before the snapshot are in no event."""
    TRANSACTION_VIEW_ONLY = "transaction_view_only"
    ALL = "all"
