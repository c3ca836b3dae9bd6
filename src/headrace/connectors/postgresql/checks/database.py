"""Whether a database is ready for this connector: findings with remedies, nothing is changed."""

from __future__ import annotations

import psycopg

from headrace.connectors.postgresql.checks.publication import check_publication
from headrace.connectors.postgresql.checks.server import check_login, check_server
from headrace.connectors.postgresql.checks.slot import check_replication_slot
from headrace.connectors.postgresql.checks.state import Checked
from headrace.connectors.postgresql.checks.tables import check_identities, check_rights
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import CHECK_LIMIT, connect
from headrace.connectors.postgresql.heartbeats import heartbeat_query
from headrace.connectors.postgresql.reading.dialect import SQL
from headrace.connectors.postgresql.reading.overrides import check_overrides
from headrace.errors import HeadraceError
from headrace.findings import Findings
from headrace.offsets.offset import OffsetObject
from headrace.signals.checks import check_channels

OLDEST = 120000  # pg_attribute.attgenerated


def check(config: PostgresConfig, stored: OffsetObject | None = None) -> Findings:
    """Looks at server, role, tables, slot and publication; never raises for what it finds. `stored`
    is the offset that a checkpoint holds.

    It only reads, so the role of the connector (LOGIN, REPLICATION, CONNECT, SELECT) suffices.
    """
    findings = Findings()
    try:
        connection = connect(config, application="headrace check", limit=CHECK_LIMIT)
    except HeadraceError as error:
        hint = ""
        if error.code == "postgresql.authentication":  # of a missing role, too, for the client
            role = SQL.dialect.quoted(config.database_user)
            hint = f" A missing role: CREATE ROLE {role} LOGIN REPLICATION PASSWORD '…';"
        findings.add(error.code, "error", error.message, error.remedy + hint)
        return findings
    with connection:
        continues = stored is not None and "lsn_commit" in stored and "snapshot" not in stored
        _check_database(config, connection, findings, continues=continues)
    return findings


def _check_database(
    config: PostgresConfig,
    connection: psycopg.Connection,
    findings: Findings,
    *,
    continues: bool,
) -> None:
    version = connection.info.server_version
    name = f"PostgreSQL {version // 10000}.{version % 10000}"
    if version < OLDEST:
        findings.add(
            "postgresql.version", "error", f"{name} is too old", "Use version 12 or later."
        )
        return
    findings.add("postgresql.version", "ok", f"{name} answers")
    try:
        checked = Checked(config, connection, findings)
    except HeadraceError as error:
        findings.add_error(error)
        return
    rows = [
        checked.find_tables,
        lambda: check_rights(checked),
        checked.check_types,
        checked.check_names,
    ]
    if checked.rule.ever_reads:
        rows += [lambda: check_overrides(config), checked.check_snapshot]
    if checked.rule.streams:
        parts = [
            lambda: check_server(checked),
            lambda: check_login(checked),
            *rows,
            lambda: check_identities(checked),
            checked.check_signal_table,
            lambda: check_heartbeat(checked),
            lambda: check_replication_slot(checked, continues=continues),
            lambda: check_publication(checked, continues=continues),
            lambda: check_channels(config, findings),
        ]
    else:
        checked.ok("rows_only", "Rows are read, the log is not")
        parts = rows
    for part in parts:
        findings.guard(part)


def check_heartbeat(checked: Checked) -> None:
    """Whether heartbeat.action.query can run, where heartbeats are sent."""
    query = heartbeat_query(checked.config)
    if query is not None and checked.config.heartbeat_interval_ms:
        checked.findings.extend(query.examine())
