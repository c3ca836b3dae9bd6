"""The enumerations of the Oracle connector. Values are Debezium's texts."""

from __future__ import annotations

from enum import StrEnum


class ConnectionAdapter(StrEnum):
    """`database.connection.adapter`: what reads the redo."""

    LOGMINER = "LogMiner"
    """Changes of all transactions as they happen, which are held until their commit."""
    UNBUFFERED = "LogMiner_Unbuffered"
    """LogMiner holds transactions itself, and gives committed ones."""
    XSTREAM = "XStream"
    OPENLOGREPLICATOR = "OLR"


class MiningStrategy(StrEnum):
    """`log.mining.strategy`: where LogMiner takes the names of tables and columns from."""

    ONLINE_CATALOG = "online_catalog"
    HYBRID = "hybrid"
    REDO_LOG_CATALOG = "redo_log_catalog"
    DICTIONARY_FROM_FILE = "dictionary_from_file"


class QueryFilterMode(StrEnum):
    """`log.mining.query.filter.mode`: how much of the table filters the database applies."""

    NONE = "none"
    IN = "in"
    REGEX = "regex"


class BufferType(StrEnum):
    """`log.mining.buffer.type`: what holds open transactions."""

    MEMORY = "memory"
    INFINISPAN_EMBEDDED = "infinispan_embedded"
    INFINISPAN_REMOTE = "infinispan_remote"
    EHCACHE = "ehcache"


class CaptureMode(StrEnum):
    """`capture.mode`: which database the redo is read of."""

    PRIMARY = "primary"
    PHYSICAL_STANDBY = "physical_standby"
    DOWNSTREAM = "downstream"


class BoundaryMode(StrEnum):
    """`internal.log.mining.transaction.snapshot.boundary.mode`: how transactions that are open when
    a snapshot is taken are found."""

    SKIP = "skip"
    """They are not looked for: what they changed before the snapshot is in no event."""
    TRANSACTION_VIEW_ONLY = "transaction_view_only"
    ALL = "all"
