"""The time at which the next window begins: pauses once the newest redo was read, and waits for
logs."""

from __future__ import annotations

import logging
from time import monotonic

from headrace.connect.deadline import Deadline
from headrace.connectors.oracle.config import OracleConfig
from headrace.connectors.oracle.streaming.windows.redo import InconsistentLogsError
from headrace.errors import HeadraceError

log = logging.getLogger(__name__)

_ATTEMPTS = 5
"""The most consecutive windows that a log switch may end."""
SWITCHED = ("oracle.log_switched", "oracle.missing_log")
"""Errors that a log switch causes while logs are collected and mined."""
_SHORTEST_WAIT, _LONGEST_WAIT, _ARCHIVING_WAIT = 1.0, 60.0, 2.0


class Pacing:
    """The pause after a window that read the newest redo is log.mining.sleep.time.default.ms at
    first; each window without changes makes the next pause longer, up to
    log.mining.sleep.time.max.ms. There is no pause after a window that stayed below the newest
    redo. One thread uses it."""

    def __init__(self, config: OracleConfig) -> None:
        self._config = config
        longest = config.log_mining_sleep_time_max_ms
        first = max(config.log_mining_sleep_time_default_ms, config.log_mining_sleep_time_min_ms)
        self._first, self._longest = min(first, longest), longest
        self.pause_ms = self._first
        """The length of the next pause."""
        self._until = Deadline(0, lambda: monotonic())
        self._switches, self._waits = 0, 0
        """The consecutive failures of mining, and waits for logs."""
        self._is_archiving = False

    def remaining(self) -> float:
        """Return the seconds until the next window."""
        return self._until.remaining()

    @property
    def is_over(self) -> bool:
        """Whether the next window may begin."""
        return self._until.is_over

    @property
    def may_end_early(self) -> bool:
        """Whether the pause only limits the load of the database."""
        return not (self._switches or self._waits or self._is_archiving)

    def read(self, *, newest: bool, changes: bool) -> None:
        """Set the pause after a window that was read: up to the newest redo or not, with changes or
        without."""
        self._switches, self._waits, self._is_archiving = 0, 0, False
        if changes or not newest:
            self.pause_ms = self._first
        self._until.restart(self.pause_ms / 1000 if newest else 0)
        if newest and not changes:
            step = self._config.log_mining_sleep_time_increment_ms
            self.pause_ms = min(self.pause_ms + step, self._longest)

    def nothing_new(self) -> None:
        """Set the pause if there is no redo after what was read."""
        config = self._config
        wait = config.poll_interval_ms
        if config.log_mining_archive_log_only_mode:
            wait = config.log_mining_archive_log_only_scn_poll_interval_ms
        self._until.restart(wait / 1000)

    def read_in_part(self) -> None:
        """Note that rows of a window were read before a log switch ended it: the next attempt
        begins after them."""
        self._switches = 0

    def switched(self) -> bool:
        """Set the pause after a log was switched while it was mined; returns whether to try
        again."""
        self._switches += 1
        self._until.restart(_SHORTEST_WAIT)
        return self._switches <= _ATTEMPTS

    def wait_for_logs(self, why: InconsistentLogsError, scn: int) -> None:
        """Wait, because the logs after an SCN do not fit together; there is no limit for logs that
        are being archived. Raises HeadraceError("oracle.logs_inconsistent") if others do not fit
        for too long."""
        most = self._config.internal_log_mining_log_query_max_retries
        self._is_archiving = why.is_archiving
        if why.is_archiving:
            wait = _ARCHIVING_WAIT
        elif self._waits >= most:
            raise logs_inconsistent(why, scn)
        else:
            wait = min(_SHORTEST_WAIT * 2**self._waits, _LONGEST_WAIT)
            self._waits += 1
        log.info("Waiting %d s for redo logs: %s", wait, why)
        self._until.restart(wait)


def logs_inconsistent(why: InconsistentLogsError, scn: int) -> HeadraceError:
    """Return the error of logs after an SCN that have not fitted together for a while."""
    return HeadraceError(
        "oracle.logs_inconsistent",
        f"The redo logs after SCN {scn} are inconsistent: {why}",
        "Check that the archiver runs (ARCHIVE LOG LIST) and that no archived log was removed "
        "(V$ARCHIVED_LOG); archive.log.hours must cover the oldest log that headrace reads.",
        retriable=True,
    )
