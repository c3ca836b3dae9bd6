"""What is done when the slot does not hold the log from a stored position on."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import connect
from headrace.connectors.postgresql.position import PostgresOffset
from headrace.connectors.postgresql.replication.slot import LOST, find_slot
from headrace.connectors.postgresql.starting.beginning import Beginning
from headrace.connectors.postgresql.starting.stored_position import StoredPosition
from headrace.connectors.source import Lost
from headrace.errors import HeadraceError


@dataclass(frozen=True)
class LostSlot:
    """See headrace.connectors.source.LostLog."""

    config: PostgresConfig
    position: StoredPosition
    beginning: Beginning

    def tells(self, error: HeadraceError) -> bool:
        """See LostLog."""
        return error.code in LOST

    def follow(self, after: PostgresOffset) -> PostgresOffset:
        """To the slot's position."""
        return self.position.jump(after)

    def make_room(self, lost: Lost) -> None:
        """A slot that is there is used again, unless it is lost."""
        if lost.error.code == "postgresql.slot_lost":
            self.beginning.drop_slot()

    def keep(self, lost: Lost) -> None:
        """Behind the range that is left out the slot may fit again, and nobody would know of the
        gap: it is dropped."""
        if lost.error.code != "postgresql.slot_moved":
            return
        self.beginning.drop_slot()
        with connect(self.config) as connection:
            if find_slot(connection, self.config.slot_name) is not None:
                raise lost.error
