"""What the reader of pgoutput needs to know of tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from headrace.connectors.postgresql.replication.pgoutput_messages import RelationMessage
from headrace.streaming.key_columns import KeyScratch


class RelationRegistry(Protocol):
    """The relation versions of a stream; no method waits for the catalogue but `answered`."""

    table: np.ndarray
    """int64, RELATION_WORDS per relation version."""
    key_texts: KeyScratch
    oids: np.ndarray
    """Open-addressed (oid, index) pairs; a power of two of them, oid -1 where empty."""

    def add(self, message: RelationMessage, xid: int) -> tuple[int, bool] | None:
        """Index of this version, and whether it replaces another of the same relation; None: the
        catalogue must be asked first. `xid` is the transaction's."""
        ...

    def ask(self, messages: Sequence[RelationMessage], xid: int) -> None:
        """Begin to ask the catalogue; `messages` are those that are known to follow."""
        ...

    def answered(self, seconds: float) -> bool:
        """Whether the catalogue has answered, after `seconds` at most. Raises HeadraceError."""
        ...

    def truncated(self, index: int) -> int | None:
        """Index of the version that truncate events use; None: not captured."""
        ...

    def messages(self, *, transactional: bool) -> int:
        """Index of the version that logical messages use."""
        ...

    def borders(self) -> tuple[int, int]:
        """Indexes for the records at the borders of transactions."""
        ...

    def of_origin(self, origin: str) -> np.ndarray:
        """Per relation version (int64) the one that rows replicated from `origin` use."""
        ...

    def version_of_origin(self, index: int, origin: str) -> int:
        """The same for one version."""
        ...

    def captures_message(self, prefix: str) -> bool:
        """Whether messages with this prefix are captured."""
        ...
