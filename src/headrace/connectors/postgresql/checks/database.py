"""Checks that a database is ready for this connector: findings with remedies, no changes."""

from __future__ import annotations

from headrace.connectors.postgresql.catalog.managed import service_of_host
from headrace.connectors.postgresql.checks.publication import check_publication
from headrace.connectors.postgresql.checks.server import check_login, check_managed, check_server
from headrace.connectors.postgresql.checks.slot import check_replication_slot
from headrace.connectors.postgresql.checks.state import Checked
from headrace.connectors.postgresql.checks.tables import check_identities, check_rights
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import CHECK_LIMIT, connect
from headrace.connectors.postgresql.heartbeats import heartbeat_query
from headrace.connectors.postgresql.reading.dialect import SQL
from headrace.connectors.postgresql.reading.overrides import check_overrides
from headrace.errors import HeadraceError
from headrace.findings import Findings, Preconditions
from headrace.offsets.offset import OffsetObject
from headrace.signals.checks import check_channels

OLDEST = 120000  # pg_attribute.attgenerated


def check(config: PostgresConfig, stored: OffsetObject | None = None) -> Findings:
    """Check server, role, tables, slot and publication; never raises for what it finds. `stored` is
    the offset that a checkpoint holds.

    It only reads, so the role of the connector (LOGIN, REPLICATION, CONNECT, SELECT) suffices.
    """
    findings = Findings()
    resumes = stored is not None and "lsn_commit" in stored
    continues = resumes and "snapshot" not in (stored or {})
    try:
        _look(config, findings, continues=continues, resumes=resumes)
    except HeadraceError as error:
        remedy, service = error.remedy, service_of_host(config.database_hostname)
        if error.code == "postgresql.authentication":  # also the code for a missing role
            role = SQL.dialect.quoted(config.database_user)
            replication = " REPLICATION" if service is None else ""
            hint = f"A missing role: CREATE ROLE {role} LOGIN{replication} PASSWORD '…';"
            remedy = f"{remedy} {hint}"
            if service is not None:
                remedy = f"{remedy} {service.let_replicate(config.database_user)}"
        elif error.code == "postgresql.not_allowed" and service is not None:
            remedy = (
                f"Set database.sslmode=verify-full, and let {service.name}'s network rules "
                "admit this host."
            )
        findings.add(error.code, "error", error.message, remedy)
    return findings


def require(config: PostgresConfig, *, continues: bool, resumes: bool) -> None:
    """Run the checks of `check` before a start creates anything. `resumes`: the start is from a
    checkpoint; `continues`: its position is in the stream, not in a snapshot. Raises HeadraceError
    for the first error."""
    _look(config, Preconditions(), continues=continues, resumes=resumes)


def _look(config: PostgresConfig, findings: Findings, *, continues: bool, resumes: bool) -> None:
    """Add all findings. Raises HeadraceError if the server refuses the role or does not answer."""
    with connect(config, application="headrace check", limit=CHECK_LIMIT) as connection:
        version = connection.info.server_version
        name = f"PostgreSQL {version // 10000}.{version % 10000}"
        if version < OLDEST:
            findings.add(
                "postgresql.version", "error", f"{name} is too old", "Use version 12 or later."
            )
            return
        findings.add("postgresql.version", "ok", f"{name} answers")
        checked = Checked(config, connection, findings)
        _check_database(checked, continues=continues, resumes=resumes)


def _check_database(checked: Checked, *, continues: bool, resumes: bool) -> None:
    config, findings = checked.config, checked.findings
    goes_on = continues and checked.rule.streams and not checked.rule.at_every
    rows = [
        checked.find_tables,
        lambda: check_rights(checked, goes_on=goes_on),
        checked.check_types,
        checked.check_names,
        checked.check_signal_table,
        lambda: check_heartbeat(checked),
    ]
    if checked.rule.ever_reads:
        rows += [lambda: check_statements(checked, resumes=resumes), checked.check_snapshot]
    if checked.rule.streams:
        parts = [
            lambda: check_server(checked),
            lambda: check_login(checked),
            *rows,
            lambda: check_identities(checked),
            lambda: check_replication_slot(checked, continues=continues),
            lambda: check_publication(checked, goes_on=goes_on),
            lambda: check_channels(config, findings),
        ]
    else:
        checked.ok("rows_only", "Rows are read, the log is not")
        parts = rows
    if not checked.is_start:
        parts = [lambda: check_managed(checked), *parts]
    for part in parts:
        findings.guard(part)


def check_statements(checked: Checked, *, resumes: bool) -> None:
    """Check whether the statements of snapshot.select.statement.overrides can run. If the run
    `resumes`, the table of a statement that cannot run is left out."""
    try:
        check_overrides(checked.config)
    except HeadraceError as error:
        checked.findings.add_error(error, "warning" if resumes else "error")


def check_heartbeat(checked: Checked) -> None:
    """Check whether heartbeat.action.query can run, if heartbeats are sent."""
    query = heartbeat_query(checked.config)
    if query is not None and checked.config.heartbeat_interval_ms:
        checked.findings.add_all(query.examine())
