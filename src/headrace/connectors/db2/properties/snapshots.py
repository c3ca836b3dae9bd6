"""Isolation and locks of snapshots."""

from __future__ import annotations

from headrace.config.configuration import Configuration
from headrace.config.kinds import integer, one_of
from headrace.config.properties.relational import RelationalConfig
from headrace.config.property import Group, Property, not_needed

_NO_LOCKS = not_needed("a snapshot holds no locks; driver.LOCKTIMEOUT (60 s) applies to reads")


class Db2SnapshotConfig(Configuration):
    """Properties of the isolation, locks and fetch size of snapshots."""

    snapshot_isolation_mode = Property(
        "snapshot.isolation.mode",
        one_of("exclusive", "repeatable_read", "read_committed", "read_uncommitted"),
        "repeatable_read",
        Group.SNAPSHOT,
        "Isolation of the snapshot's queries: `repeatable_read` and `exclusive` are Db2's RS, "
        "`read_committed` is CS, `read_uncommitted` is UR. If it is not set, the isolation is CS "
        "if the stream follows the snapshot (it keeps no locks on rows that were read), otherwise "
        "RS.",
    )
    snapshot_locking_mode = Property(
        "snapshot.locking.mode",
        one_of("exclusive", "none", "custom"),
        "exclusive",
        Group.SNAPSHOT,
        "`exclusive` runs Debezium's lock statement for each captured table before the snapshot, "
        "in the isolation modes exclusive and repeatable_read. The statement holds no lock after "
        "it has run.",
        refused_values=("custom",),
    )
    snapshot_lock_timeout_ms = RelationalConfig.snapshot_lock_timeout_ms.with_status(_NO_LOCKS)
    snapshot_fetch_size = Property(
        "snapshot.fetch.size",
        integer(1),
        "2000",
        Group.SNAPSHOT,
        "Rows that a snapshot's query fetches from the driver at once.",
    )
