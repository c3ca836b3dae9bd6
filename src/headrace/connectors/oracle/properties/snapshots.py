"""Properties of snapshots."""

from __future__ import annotations

from headrace.config.configuration import Configuration
from headrace.config.kinds import TEXT, choice, integer, one_of
from headrace.config.property import Group, Property
from headrace.connectors.oracle.properties.modes import BoundaryMode


class OracleSnapshotConfig(Configuration):
    """Properties of the locks, fetches and SCN of a snapshot."""

    snapshot_locking_mode = Property(
        "snapshot.locking.mode",
        one_of("shared", "none", "custom"),
        "shared",
        Group.SNAPSHOT,
        "Locks on tables while a snapshot reads their structure: `shared` is ROW SHARE.",
        refused_values=("custom",),
    )
    snapshot_fetch_size = Property(
        "snapshot.fetch.size",
        integer(1),
        "10000",
        Group.SNAPSHOT,
        "Rows that a snapshot's query fetches from the driver at once.",
    )
    snapshot_database_errors_max_retries = Property(
        "snapshot.database.errors.max.retries",
        integer(0),
        "0",
        Group.SNAPSHOT,
        "How often a table is read again after ORA-01466 (its definition changed).",
    )
    internal_log_mining_transaction_snapshot_boundary_mode = Property(
        "internal.log.mining.transaction.snapshot.boundary.mode",
        choice(BoundaryMode),
        "skip",
        Group.SNAPSHOT,
        "Whether transactions that are open when a snapshot is taken are found in V$TRANSACTION, "
        "so that their earlier changes become events.",
    )
    internal_snapshot_enhance_predicate_scn = Property(
        "internal.snapshot.enhance.predicate.scn",
        TEXT,
        None,
        Group.SNAPSHOT,
        "A placeholder in the statements of snapshot.select.statement.overrides, which headrace "
        "replaces by ` AS OF SCN n`.",
    )
