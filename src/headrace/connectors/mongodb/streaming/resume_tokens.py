"""The resume tokens in offsets: read once per range, from the spool."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from headrace.connect.images import cells
from headrace.connectors.mongodb.events import SESSION
from headrace.connectors.mongodb.position import MongoOffset, MongoPosition
from headrace.documents.dialects import Dialect
from headrace.documents.extended_json import value_to_extended_json
from headrace.streaming.streaming import EndMarks


class ResumeTokens(EndMarks[MongoPosition]):
    """See headrace.streaming.streaming.EndMarks."""

    def shown(
        self, start: MongoOffset, end: MongoOffset, memory: Callable[[int], memoryview]
    ) -> MongoOffset:
        """Return `end` with its token, and with the session of its event's transaction."""
        unread = end.position.unread
        if end is start or unread is None:
            return end
        session = None
        if unread.session:
            value = cells(memory(unread.session))[SESSION]
            assert value is not None
            session = value_to_extended_json(value, Dialect.STRICT)
        token = bytes(memory(unread.token)[: unread.token_size])
        return replace(
            end, position=replace(end.position, token=token, session=session, unread=None)
        )

    def write(self, transactions: np.ndarray, end: MongoPosition) -> None:
        """See EndMarks; records show nothing of it."""
