"""Checks of the server's settings: its clock, and the locks for which readers wait."""

from __future__ import annotations

from headrace.connectors.db2 import sql
from headrace.connectors.db2.checks.state import Checked
from headrace.connectors.db2.clock import distance_s
from headrace.connectors.db2.errors import DriverError
from headrace.connectors.db2.properties.modes import Db2Platform


def check_clock(checked: Checked) -> None:
    """Check that the time of every commit is known. Raises DriverError."""
    ((_, distance),) = checked.connection.rows(sql.CURRENT_TIME)
    seconds, zone = distance_s(distance), checked.config.headrace_capture_time_zone
    minutes = abs(seconds) // 60
    utc_offset = f"UTC{'-' if seconds < 0 else '+'}{minutes // 60:02}:{minutes % 60:02}"
    if zone is not None:
        named = f"times of commits are of the time zone {zone} (headrace.capture.time.zone)"
        checked.ok("time_zone", f"The server's clock shows {utc_offset}; {named}")
    elif seconds:
        checked.warn(
            "time_zone",
            f"The server's clock shows {utc_offset}, as long as no daylight saving time begins or "
            "ends: commits from before such a change that are read after it get times that are an "
            "hour off",
            "Set headrace.capture.time.zone to its time zone, such as Europe/Berlin, or to "
            f"{utc_offset[3:]} where its clock is never changed.",
        )
    else:
        checked.ok("time_zone", "The server's clock shows UTC")


def check_current_commit(checked: Checked) -> None:
    """Check that readers do not wait for writers. Adds no finding on z/OS, or if the user may not
    read the setting. Raises DriverError."""
    if checked.config.db2_platform == Db2Platform.ZOS:
        return
    try:
        rows = checked.connection.rows(sql.CURRENT_COMMIT)
    except DriverError as error:
        if error.is_unreachable:
            raise
        return
    setting = rows[0][0] if rows else None
    if setting not in ("DISABLED", "AVAILABLE"):
        if setting is not None:
            checked.ok("cur_commit", f"Readers do not wait for writers (CUR_COMMIT {setting})")
        return
    checked.warn(
        "cur_commit",
        f"Readers wait for writers (CUR_COMMIT {setting}): the connector waits until Capture "
        "commits, and a snapshot until applications do, 60 seconds each time unless "
        "driver.LOCKTIMEOUT says otherwise",
        f"db2 update db cfg for {checked.config.database_dbname} using CUR_COMMIT ON"
        + (", or set driver.ConcurrentAccessResolution=1." if setting == "AVAILABLE" else "."),
    )
