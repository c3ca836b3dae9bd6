"""A lost schema history: tables had been recorded before the stream's position."""

from __future__ import annotations

import logging
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

from headrace.config.properties.history import SchemaHistoryConfig
from headrace.errors import HeadraceError

log = logging.getLogger(__name__)

P_contra = TypeVar("P_contra", contravariant=True)


class TableRecorder(Protocol[P_contra]):
    """Writes the captured tables in their current state into the schema history."""

    def record_tables(self, position: P_contra) -> None:
        """Record the tables for a position. Raises HeadraceError."""
        ...


def restore_history(
    connector: str,
    config: SchemaHistoryConfig,
    position: P_contra,
    recorder: AbstractContextManager[TableRecorder[P_contra]],
) -> None:
    """Write a lost history again if snapshot.mode allows it. Raises
    HeadraceError("CONNECTOR.history_lost") if it does not."""
    if not config.rebuilds_history:
        raise HeadraceError(
            f"{connector}.history_lost",
            f"The checkpoint's position is {position}, but the schema history has no table that "
            "was recorded up to there: the history is lost, or belongs to another stream",
            "Restore the history that schema.history.internal.* names; or start with "
            "snapshot.mode=recovery, which writes it again if nobody altered the tables since "
            "then, with snapshot.mode=when_needed, which reads the tables again, or with a new "
            "checkpoint.",
        )
    log.warning("The schema history is lost: it is written again from the tables as they are")
    with recorder as source:
        source.record_tables(position)
