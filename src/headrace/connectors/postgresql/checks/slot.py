"""Checks that the replication slot exists, or can be created."""

from __future__ import annotations

from headrace.connectors.postgresql.checks.state import Checked
from headrace.connectors.postgresql.connection import CHECK_LIMIT, translated
from headrace.connectors.postgresql.replication.slot import LOST, check_slot, find_slot
from headrace.errors import HeadraceError


def check_replication_slot(checked: Checked, *, continues: bool) -> None:
    """Check whether the slot exists and is free, or can be created; a stream that `continues` needs
    its former slot, whose position is checked elsewhere. Raises HeadraceError as `check_slot` does,
    unless the start repairs the slot."""
    name = checked.config.slot_name
    with translated(checked.config, "Looking at the slot", CHECK_LIMIT):
        state = find_slot(checked.connection, name)
    if state is None:
        limit = int(checked.catalog.setting("max_replication_slots") or 0)
        used = int(checked.rows("SELECT count(*) FROM pg_replication_slots")[0][0])
        if used >= limit:
            checked.foresee(
                "limit_reached",
                f"The slot {name} cannot be created: {used} of {limit} slots are in use",
                "Raise max_replication_slots, or drop unused slots."
                if checked.is_start or checked.managed is None
                else f"Raise max_replication_slots {checked.managed.service.settings_place}, or "
                "drop unused slots.",
            )
        elif not continues:
            checked.ok("slot", f"The slot {name} will be made at the start")
        return
    try:
        check_slot(state, checked.config)
    except HeadraceError as error:
        if error.code not in LOST or not checked.rule.repairs:
            raise
        new = "The start creates the slot again and takes a new snapshot."
        checked.findings.add(error.code, "warning", error.message, new)
        return
    if state.active_pid is not None:
        checked.warn(
            "slot_in_use",
            f"The slot {name} is active for PID {state.active_pid}",
            "Nothing, if that is this pipeline; otherwise choose another slot.name.",
        )
    elif state.wal_status in ("unreserved", "extended"):
        checked.warn(
            "slot_behind",
            f"The slot {name} lags far behind (wal_status={state.wal_status})",
            "Start the pipeline soon, or raise max_slot_wal_keep_size.",
        )
    else:
        checked.ok("slot", f"The slot {name} exists and is free")
