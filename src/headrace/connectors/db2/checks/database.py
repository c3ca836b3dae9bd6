"""Checks that a database is ready for this connector: findings with remedies, no changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from headrace.connectors.db2.catalog.registrations import Registration, registrations
from headrace.connectors.db2.checks.change_tables import check_change_tables
from headrace.connectors.db2.checks.pruning import check_pruning
from headrace.connectors.db2.checks.replication import (
    STALE_SECONDS,
    capture_error,
    captured_of,
    not_begun,
    read_control,
    registration_errors,
)
from headrace.connectors.db2.checks.rights import check_rights
from headrace.connectors.db2.checks.server import check_clock, check_current_commit
from headrace.connectors.db2.checks.state import Checked
from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.connection import CHECK_LIMIT, connect, translated_error
from headrace.connectors.db2.errors import DriverError, place
from headrace.connectors.db2.sql import newest_lsn
from headrace.findings import Findings, Preconditions
from headrace.offsets.offset import OffsetObject
from headrace.relational.checks import names_tables
from headrace.relational.history.checks import check_history
from headrace.signals.checks import check_channels


def check(config: Db2Config, stored: OffsetObject | None = None) -> Findings:
    """Check login, SQL replication, tables, change tables and rights; does not raise errors for its
    findings. `stored` is the offset of the checkpoint. It only reads, so the rights of the
    connector suffice."""
    findings = Findings()
    findings.guard(lambda: _look(config, findings, stored, (check_clock, check_current_commit)))
    return findings


def require(config: Db2Config, stored: OffsetObject | None) -> None:
    """Check what a start requires, before it creates anything, like `check`. Raises the first
    error, a HeadraceError."""
    _look(config, Preconditions(), stored)


def _look(
    config: Db2Config,
    findings: Findings,
    stored: OffsetObject | None,
    advice: Sequence[Callable[[Checked], None]] = (),
) -> None:
    """Run the checks of a start. `advice` are checks in addition to them."""
    with connect(config, limit=CHECK_LIMIT) as connection:
        findings.add("db2.server", "ok", f"Db2 at {place(config)} answers")
        checked = Checked(config, connection, findings, stored)
        for part in advice:
            _guard(checked, partial(part, checked))
        if not any(finding.level == "error" for finding in findings):
            _check_database(checked)


def _check_database(checked: Checked) -> None:
    config, findings = checked.config, checked.findings
    registered: list[Registration] = []
    parts = [
        checked.find_tables,
        lambda: check_rights(checked, registered),
        checked.check_types,
        checked.check_names,
        checked.check_signal_table,
    ]
    if checked.rule.ever_reads:
        parts.append(checked.check_snapshot)
    if checked.rule.streams:
        if not _find_registrations(checked, registered):
            return
        parts = [
            lambda: _check_capture(checked),
            *parts,
            lambda: _check_registrations(checked, registered),
            lambda: check_change_tables(checked, registered),
            lambda: check_pruning(checked, registered),
            lambda: check_history(config, findings),
            lambda: check_channels(config, findings),
        ]
    else:
        checked.ok("rows_only", "Rows are read, changes are not")
    for part in parts:
        _guard(checked, part)


def _guard(checked: Checked, part: Callable[[], None]) -> None:
    """Run a part of the checks; an error of the driver becomes a finding."""

    def run() -> None:
        try:
            part()
        except DriverError as error:
            raise translated_error(
                error, checked.config, "Checking the database", CHECK_LIMIT
            ) from None

    checked.findings.guard(run)


def _find_registrations(checked: Checked, registered: list[Registration]) -> bool:
    """Fill `registered`; False if there is no SQL replication."""
    before = len(checked.findings)

    def read() -> None:
        read_control(checked.connection, checked.config, newest_lsn(checked.config))
        registered.extend(registrations(checked.connection, checked.config))

    _guard(checked, read)
    if len(checked.findings) > before:
        return False
    schema = checked.config.cdc_control_schema
    checked.ok("control_tables", f"SQL replication's control tables are in {schema}")
    return True


def _check_capture(checked: Checked) -> None:
    error = capture_error(checked.connection, checked.config)
    if error is None:
        checked.ok("capture", f"Capture's synchpoint moved in the last {STALE_SECONDS} s")
    else:
        checked.findings.add_foreseen(error)


def _check_registrations(checked: Checked, registered: list[Registration]) -> None:
    errors = registration_errors(checked.config, checked.tables, registered)
    is_certain = not captured_of(checked.capture, registered)
    for error in errors:
        if is_certain:
            checked.findings.add_error(error)
        elif names_tables(checked.config):
            checked.findings.add_foreseen(error)
        else:
            checked.findings.add_error(error, "warning")
    waiting = not_begun(checked.config, checked.tables, registered)
    if waiting is not None:
        checked.findings.add_error(waiting, "warning")
    if checked.tables and not errors:
        checked.ok("registered", "Every captured table is registered")
