"""Checks that a database is ready for this connector: findings with remedies, no changes."""

from __future__ import annotations

from collections.abc import Callable

from headrace.connectors.oracle import sql
from headrace.connectors.oracle.checks.arrow_fetch import check_arrow_fetch
from headrace.connectors.oracle.checks.mining import check_mining
from headrace.connectors.oracle.checks.names import check_long_names
from headrace.connectors.oracle.checks.nodes import check_nodes
from headrace.connectors.oracle.checks.redo_logs import check_redo, check_tables_logging
from headrace.connectors.oracle.checks.rights import (
    check_flush_table,
    check_mining_rights,
    check_table_rights,
)
from headrace.connectors.oracle.checks.server import described
from headrace.connectors.oracle.checks.state import Checked
from headrace.connectors.oracle.config import OracleConfig
from headrace.connectors.oracle.connection import (
    CHECK_LIMIT,
    Connection,
    connect,
    translated_error,
)
from headrace.connectors.oracle.errors import DriverError, place
from headrace.connectors.oracle.heartbeats import heartbeat_query
from headrace.connectors.oracle.types import charsets
from headrace.findings import Findings, Preconditions
from headrace.offsets.offset import OffsetObject
from headrace.relational.history.checks import check_history
from headrace.signals.checks import check_channels

_CHARACTER_SETS = {
    "NLS_CHARACTERSET": "character set",
    "NLS_NCHAR_CHARACTERSET": "national character set",
}


def check(config: OracleConfig, stored: OffsetObject | None = None) -> Findings:
    """Check login, redo, rights and tables, and mine one SCN; does not raise errors for its
    findings. `stored` is the offset of the checkpoint. It only reads, so the rights of the
    connector suffice."""
    findings = Findings()
    findings.guard(lambda: _look(config, findings, stored, mines=True))
    return findings


def require(config: OracleConfig, stored: OffsetObject | None) -> None:
    """Check what a start requires, before it creates anything, like `check` but without LogMiner,
    which takes seconds and is started soon. Raises the first error, a HeadraceError."""
    _look(config, Preconditions(), stored, mines=False)


def _look(
    config: OracleConfig, findings: Findings, stored: OffsetObject | None, *, mines: bool
) -> None:
    with connect(config, limit=CHECK_LIMIT) as connection:
        findings.add("oracle.server", "ok", f"{_server(config, connection)} answers")
        _check_database(Checked(config, connection, findings, stored), mines=mines)


def _server(config: OracleConfig, connection: Connection) -> str:
    try:
        return f"{described(connection)} at {place(config)}"
    except DriverError as error:
        raise translated_error(error, config, limit=CHECK_LIMIT) from None


def _check_database(checked: Checked, *, mines: bool) -> None:
    config = checked.config
    if not _can_enter(checked):
        return
    parts: list[Callable[[Checked], None]] = [
        Checked.find_tables,
        check_table_rights,
        Checked.check_types,
        Checked.check_names,
        Checked.check_signal_table,
        _check_heartbeat,
    ]
    if checked.rule.ever_reads:
        parts.append(Checked.check_snapshot)
    if checked.rule.streams:
        parts = [
            check_mining_rights,
            check_redo,
            _unless_refused(check_arrow_fetch),
            *([_unless_refused(check_mining)] if mines else []),
            *parts,
            check_tables_logging,
            check_long_names,
            check_flush_table,
            check_nodes,
            lambda checked: check_history(config, checked.findings),
            _check_character_sets,
            lambda checked: check_channels(config, checked.findings),
        ]
    else:
        checked.ok("rows_only", "Rows are read, changes are not")
    for part in parts:
        _guard(checked, part)


def _unless_refused(part: Callable[[Checked], None]) -> Callable[[Checked], None]:
    """Return a part that runs only if no earlier finding is an error: it tries what those parts
    check, and would add nothing."""

    def run(checked: Checked) -> None:
        if not any(finding.level == "error" for finding in checked.findings):
            part(checked)

    return run


def _guard(checked: Checked, part: Callable[[Checked], None]) -> None:
    """Run a part of the checks; an error of the driver becomes a finding."""

    def run() -> None:
        try:
            part(checked)
        except DriverError as error:
            raise translated_error(
                error, checked.config, "Checking the database", CHECK_LIMIT
            ) from None

    checked.findings.guard(run)


def _can_enter(checked: Checked) -> bool:
    """Whether the root, where the redo is read, and the tables' database can be entered; if not, a
    finding has the reason."""
    before = len(checked.findings)
    _guard(checked, _enter_containers)
    return len(checked.findings) == before


def _enter_containers(checked: Checked) -> None:
    if checked.rule.streams:
        checked.in_root()
    checked.in_database()


def _check_heartbeat(checked: Checked) -> None:
    """Check that heartbeat.action.query can run, if heartbeats are sent."""
    query = heartbeat_query(checked.config)
    if query is not None and checked.config.heartbeat_interval_ms:
        checked.findings.add_all(query.examine())


def _check_character_sets(checked: Checked) -> None:
    """Check that texts that the redo has as bytes can be read."""
    sets: dict[str, str] = dict(checked.in_database().rows(sql.CHARACTER_SETS()))
    for parameter, kind in _CHARACTER_SETS.items():
        character_set = sets[parameter]
        if not charsets.is_known(character_set):
            checked.warn(
                "character_set",
                f"The {kind} is {character_set}, which is not known here: texts that the redo has "
                "as bytes cannot be read",
                "Leave such columns out (column.exclude.list), or report the character set.",
            )
