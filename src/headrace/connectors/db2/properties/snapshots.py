"""Isolation and locks of snapshots."""

from __future__ import annotations

from headrace.config.configuration import Configuration
from headrace.config.kinds import integer, one_of
from headrace.config.properties.relational import RelationalConfig
from headrace.config.property import Group, Property, not_needed

_NOT_READ = not_needed("existing rows are not read yet")


class Db2SnapshotConfig(Configuration):
    """How existing rows are read."""

    snapshot_isolation_mode = Property(
        "snapshot.isolation.mode",
        one_of("exclusive", "repeatable_read", "read_committed", "read_uncommitted"),
        "repeatable_read",
        Group.SNAPSHOT,
        "Isolation of the snapshot's queries: `repeatable_read` and `exclusive` are Db2's RS, "
        "`read_committed` is CS, `read_uncommitted` is UR.",
        status=_NOT_READ,
    )
    snapshot_locking_mode = Property(
        "snapshot.locking.mode",
        one_of("exclusive", "none", "custom"),
        "exclusive",
        Group.SNAPSHOT,
        "Locks of the snapshot under the isolation modes exclusive and repeatable_read.",
        refused_values=("custom",),
        status=_NOT_READ,
    )
    snapshot_lock_timeout_ms = RelationalConfig.snapshot_lock_timeout_ms.with_status(_NOT_READ)
    snapshot_fetch_size = Property(
        "snapshot.fetch.size",
        integer(1),
        "2000",
        Group.SNAPSHOT,
        "Rows that a snapshot's query takes from the driver at once.",
        status=_NOT_READ,
    )
