"""A schema history that is gone, though the stream's position says that tables were told of."""

from __future__ import annotations

import logging
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

from headrace.config.properties.history import SchemaHistoryConfig
from headrace.errors import HeadraceError

log = logging.getLogger(__name__)

P_contra = TypeVar("P_contra", contravariant=True)


class TableRecorder(Protocol[P_contra]):
    """Writes the captured tables, as they are now, into the schema history."""

    def record_tables(self, position: P_contra) -> None:
        """As they would be told of at a position. Raises HeadraceError."""
        ...


def mend_history(
    connector: str,
    config: SchemaHistoryConfig,
    position: P_contra,
    recorder: AbstractContextManager[TableRecorder[P_contra]],
) -> None:
    """Write a lost history anew, where snapshot.mode says so. Raises
    HeadraceError("CONNECTOR.history_lost") where it does not."""
    if not config.rebuilds_history:
        raise HeadraceError(
            f"{connector}.history_lost",
            f"The checkpoint's position is {position}, and the schema history knows no table that "
            "was recorded up to there: it is lost, or another one",
            "Restore the history that schema.history.internal.* names; or start with "
            "snapshot.mode=recovery, which writes it anew if nobody altered the tables since then, "
            "with snapshot.mode=when_needed, which reads the tables anew, or with a new "
            "checkpoint.",
        )
    log.warning("The schema history is lost: it is written anew, of the tables as they are")
    with recorder as source:
        source.record_tables(position)
