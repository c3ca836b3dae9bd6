"""Numbers of records between the log's rows.

Between two transactions, heartbeats, notifications and chunks have ordinals of one numbering: each
takes the next one, so that nothing sorts before earlier records. After a message of a
transaction come its own parts, then heartbeats, then what is inserted before the next message.
"""

from __future__ import annotations

_HEARTBEAT_PARTS = 1 << 31
_HEARTBEATS = 1 << 30
INSERT_PARTS = _HEARTBEAT_PARTS + _HEARTBEATS
"""First `part` of what is inserted after a message of a transaction."""


def ordinals_used(heartbeats: int, inserts: int) -> int:
    """The last ordinal between transactions that was given away. Both counts only rise, so the
    ordinal does, whichever of them takes the next one."""
    return heartbeats + inserts


def heartbeat_part(heartbeats: int) -> int:
    """`part` of a heartbeat after a message of a transaction."""
    return _HEARTBEAT_PARTS + heartbeats % _HEARTBEATS
