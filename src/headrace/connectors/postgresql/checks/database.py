"""Whether a database is ready for this connector: findings with remedies, nothing is changed."""

from __future__ import annotations

import psycopg

from headrace.connectors.postgresql.capture import Capture
from headrace.connectors.postgresql.checks.publication import check_publication
from headrace.connectors.postgresql.checks.server import check_channels, check_login, check_server
from headrace.connectors.postgresql.checks.slot import check_replication_slot
from headrace.connectors.postgresql.checks.state import Checked
from headrace.connectors.postgresql.checks.tables import check_identities, check_rights
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import CHECK_LIMIT, connect
from headrace.connectors.postgresql.reading.overrides import check_overrides
from headrace.connectors.postgresql.source import CONNECTOR
from headrace.errors import HeadraceError
from headrace.findings import Findings
from headrace.relational.checks import TableChecks

OLDEST = 120000  # pg_attribute.attgenerated


def check(config: PostgresConfig) -> Findings:
    """Looks at server, role, tables, slot and publication; never raises for what it finds.

    It only reads, so the role of the connector (LOGIN, REPLICATION, CONNECT, SELECT) suffices.
    """
    findings = Findings()
    try:
        connection = connect(config, application="headrace check", limit=CHECK_LIMIT)
    except HeadraceError as error:
        findings.add_error(error)
        return findings
    with connection:
        _check_database(config, connection, findings)
    return findings


def _check_database(
    config: PostgresConfig, connection: psycopg.Connection, findings: Findings
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
        capture = Capture(config)
    except HeadraceError as error:
        findings.add_error(error)
        return
    checked = Checked(config, connection, findings, capture)
    tables = TableChecks(CONNECTOR, config.database_dbname, config, capture, findings)
    rows = [
        lambda: _find_tables(checked, tables),
        lambda: check_rights(checked),
        lambda: _check_types(checked, tables),
        lambda: tables.check_names(checked.tables),
    ]
    if checked.rule.at_first:
        rows.append(lambda: _check_snapshot(checked, tables))
    if checked.rule.streams:
        parts = [
            lambda: check_server(checked),
            lambda: check_login(checked),
            *rows,
            lambda: check_identities(checked),
            lambda: check_replication_slot(checked),
            lambda: check_publication(checked),
            lambda: check_channels(checked),
        ]
    else:
        findings.add("postgresql.rows_only", "ok", "Rows are read, the log is not")
        parts = rows
    for part in parts:
        findings.guard(part)


def _find_tables(checked: Checked, tables: TableChecks) -> None:
    everything = checked.catalog.tables()
    checked.tables = [table for table in everything if checked.capture.takes(table.name)]
    checked.tables.sort(key=lambda table: checked.capture.order(table.name))
    tables.check_captured(checked.tables, [table.name for table in everything])


def _check_types(checked: Checked, tables: TableChecks) -> None:
    reading = checked.catalog.read([table.id for table in checked.tables])
    checked.tables = [reading.describe(table.id) or table for table in checked.tables]
    tables.check_types(checked.tables, checked.capture.types)


def _check_snapshot(checked: Checked, tables: TableChecks) -> None:
    check_overrides(checked.config)
    tables.check_snapshot(checked.tables)
