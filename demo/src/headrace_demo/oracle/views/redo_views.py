"""Rows of the V$ views on redo: logs, their archived copies, destinations and threads.

Oracle Database Reference: V$LOG, V$LOGFILE, V$ARCHIVED_LOG, V$ARCHIVE_DEST_STATUS, V$THREAD.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from headrace_demo.oracle.script import LogFile, State, time_of
from headrace_demo.oracle.views.peculiarities import Peculiarities

GROUPS = 3
"""The number of online logs of a thread."""
_DESTINATION = "LOG_ARCHIVE_DEST_"
_NO_END = 18446744073709551615
"""NEXT_CHANGE# of a log that is being written."""
_FIRST_LIFE = (1, "2024-01-01 00:00:00")
"""RESETLOGS_CHANGE# and RESETLOGS_TIME of a database that was never restored."""
_AVAILABLE, _DELETED, _EXPIRED = "A", "D", "X"
Row = tuple[Any, ...]


class Copy(NamedTuple):
    """A row of V$ARCHIVED_LOG; `is_there`: its file can be opened."""

    name: str | None
    destination: int
    status: str
    is_there: bool


def copies(log: LogFile, peculiarities: Peculiarities) -> Iterator[Copy]:
    """The archived copies of a log, as V$ARCHIVED_LOG shows them."""
    drawn = peculiarities.of("copies", log.thread, log.sequence)
    is_restored = drawn.random() < peculiarities.restored
    is_nameless = drawn.random() < peculiarities.nameless
    is_lost = drawn.random() < peculiarities.lost_copies
    archived_copy = Copy(log.archived_name, 1, _AVAILABLE, not log.is_removed)
    gone = Copy(None, 1, _DELETED, is_there=False)
    if is_nameless:
        yield Copy(None, 1, drawn.choice((_DELETED, _EXPIRED)), is_there=False)
    if log.is_deleted:
        yield gone
        return
    if is_restored:
        yield gone
        yield archived_copy._replace(
            name=archived_copy.name and archived_copy.name.replace("archive", "restored"),
            destination=0,
        )
    else:
        yield archived_copy
    if peculiarities.second_destination == "LOCAL":
        name = log.archived_name.replace("archive", "archive_2")
        yield Copy(name, 2, _AVAILABLE, not is_lost and archived_copy.is_there)
    elif peculiarities.second_destination:
        yield Copy("STANDBY", 2, _AVAILABLE, is_there=False)


def destinations(peculiarities: Peculiarities, status: str) -> Iterator[Row]:
    """Rows of V$ARCHIVE_DEST_STATUS; `status` is that of the first destination."""
    kinds = ["LOCAL", *filter(None, [peculiarities.second_destination])]
    for number, kind in enumerate(kinds, 1):
        yield number, f"{_DESTINATION}{number}", status if number == 1 else "VALID", kind
    for number in range(len(kinds) + 1, len(kinds) + 1 + peculiarities.idle_destinations):
        yield number, f"{_DESTINATION}{number}", "INACTIVE", "LOCAL"


def online(state: State, peculiarities: Peculiarities, *, archives: bool) -> tuple[list[Row], ...]:
    """Rows of V$LOG and V$LOGFILE. `archives`: whether switched logs are archived."""
    groups: list[Row] = []
    members: list[Row] = []
    for log in state.logs:
        if not is_online(state, log):
            continue
        is_archived = archives and log.is_archived
        status = "CURRENT" if log.is_current else "INACTIVE" if is_archived else "ACTIVE"
        # While a log is archived, V$LOG may show it as archived before V$ARCHIVED_LOG shows the
        # copy.
        is_shown = is_archived or (archives and log.is_nearly_archived)
        end = _NO_END if log.is_current else log.next
        groups.append(
            (log.group, log.thread, log.sequence, state.log_bytes,
             "NO" if log.is_current or not is_shown else "YES", status, log.first, str(end))
        )  # fmt: skip
        members.append((log.group, log.online_name, None))
        if peculiarities.has_invalid_members:
            members.append((log.group, f"/a{log.online_name}", "INVALID"))
    unused = (1, 0, state.log_bytes, "YES", "UNUSED", 0, "0")
    for number in range(90, 90 + peculiarities.unused_groups):
        groups.append((number, *unused))
        members.append((number, f"/opt/oracle/oradata/ORCLCDB/redo{number}.log", None))
    return groups, members


def is_online(state: State, log: LogFile) -> bool:
    """Whether a log is still in its group."""
    return log.sequence > state.current_log(log.thread).sequence - GROUPS


def archived(state: State, peculiarities: Peculiarities, resetlogs: Sequence[Any]) -> Iterator[Row]:
    """Rows of V$ARCHIVED_LOG; `resetlogs` is the beginning of the database's current
    incarnation."""
    for log in state.logs:
        if log.is_current or not log.is_archived:
            continue
        dictionary = "YES" if log.has_dictionary else "NO"
        life = resetlogs if log.first >= resetlogs[0] else _FIRST_LIFE
        for copy in copies(log, peculiarities):
            yield (
                copy.name, copy.destination, log.thread, log.sequence, *life, log.first,
                str(time_of(log.first)), log.next, state.log_bytes // 512, 512, "YES", copy.status,
                dictionary, dictionary,
            )  # fmt: skip


def thread(
    state: State, log: LogFile, peculiarities: Peculiarities, otherwise: Mapping[str, Any]
) -> Row:
    """The row of V$THREAD of a current log's thread, with the values of `otherwise` replaced."""
    is_open = log.thread not in state.closed_threads
    first = next(candidate for candidate in state.logs if candidate.thread == log.thread)
    last = state.scn if is_open else log.first
    row = {
        "THREAD#": log.thread,
        "STATUS": "OPEN" if is_open else "CLOSED",
        "ENABLED": "PUBLIC",
        "SEQUENCE#": log.sequence,
        "CHECKPOINT_CHANGE#": log.first,
        "ENABLE_CHANGE#": first.first,
        "DISABLE_CHANGE#": 0,
        "LAST_REDO_SEQUENCE#": log.sequence,
        "LAST_REDO_CHANGE#": last if peculiarities.knows_last_redo else None,
        "LAST_REDO_TIME": str(time_of(state.scn)),
    }
    return tuple({**row, **otherwise}.values())
