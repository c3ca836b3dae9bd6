"""Numbers of the records that lie between the rows of the log.

Between two transactions, heartbeats, notifications and chunks have ordinals of one numbering: each
takes the next one, so that nothing sorts before earlier records. After a message of a
transaction come its own parts, then heartbeats, then what is inserted before the next message.
"""

from __future__ import annotations

_HEARTBEAT_PARTS = 1 << 31
_HEARTBEATS = 1 << 30
INSERT_PARTS = _HEARTBEAT_PARTS + _HEARTBEATS
"""First `part` of an insert after a message of a transaction."""


def ordinals_used(heartbeats: int, inserts: int) -> int:
    """Return the last ordinal between transactions that was assigned. Both counts only rise, and so
    does the ordinal, whichever count takes the next one."""
    return heartbeats + inserts


def heartbeat_part(heartbeats: int) -> int:
    """Return the `part` of a heartbeat after a message of a transaction."""
    return _HEARTBEAT_PARTS + heartbeats % _HEARTBEATS
