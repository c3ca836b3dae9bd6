"""How values are read, and snapshots and LogMiner's odd texts."""

from __future__ import annotations

from headrace.config.configuration import Configuration
from headrace.config.kinds import BOOLEAN, TEXT, choice, integer, one_of
from headrace.config.property import Group, Property, not_needed
from headrace.connectors.oracle.properties.modes import BoundaryMode


class OracleValuesConfig(Configuration):
    """Large objects, numbers, snapshots."""

    lob_enabled = Property(
        "lob.enabled",
        BOOLEAN,
        "false",
        Group.VALUES,
        "Captures the values of CLOB, NCLOB, BLOB, XMLTYPE and extended strings.",
    )
    legacy_decimal_handling_strategy = Property(
        "legacy.decimal.handling.strategy",
        BOOLEAN,
        "false",
        Group.VALUES,
        "Columns NUMBER(p, 0) are integers in decimal.handling.mode double and string, too.",
    )
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
        "Rows that a snapshot's query takes from the driver at once.",
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
        "Whether transactions that are open when a snapshot is taken are found in V$TRANSACTION, so"
        " that their earlier changes become events.",
    )
    internal_snapshot_enhance_predicate_scn = Property(
        "internal.snapshot.enhance.predicate.scn",
        TEXT,
        None,
        Group.SNAPSHOT,
        "What ` AS OF SCN n` takes the place of in snapshot.select.statement.overrides.",
    )
    internal_log_mining_sql_relaxed_quote_detection = Property(
        "internal.log.mining.sql.relaxed.quote.detection",
        BOOLEAN,
        "false",
        Group.REPLICATION,
        "LogMiner does not double the quotes in extended strings: where a text ends is told by what"
        " follows.",
    )
    internal_log_mining_use_cte_query = Property(
        "internal.log.mining.use.cte.query",
        BOOLEAN,
        "false",
        Group.REPLICATION,
        "Has LogMiner's rows filtered by transactions first.",
        status=not_needed("transactions are put together here"),
    )
    internal_log_mining_redo_thread_scn_adjustment = Property(
        "internal.log.mining.redo.thread.scn.adjustment",
        integer(0),
        "1",
        Group.REPLICATION,
        "SCNs that a window ends before the last redo of the slowest thread.",
    )
    internal_log_mining_log_query_max_retries = Property(
        "internal.log.mining.log.query.max.retries",
        integer(0),
        "5",
        Group.REPLICATION,
        "How often logs are looked for again that do not fit together, with pauses of 1 to 60 "
        "seconds.",
    )
