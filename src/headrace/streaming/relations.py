"""The versions of a stream's collections, and their table for kernels."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from headrace.connect.kernels.memory import address_of
from headrace.errors import HeadraceError
from headrace.streaming.changes.kernels import row_kernel
from headrace.streaming.changes.kernels.key_kernel import MAX_COLUMNS
from headrace.streaming.changes.key_columns import KeyColumns, KeyRendering, KeyScratch
from headrace.streaming.changes.unchanged import compared_columns
from headrace.streaming.facts import BorderFacts, EventSettings, Facts

_FIRST_VERSIONS = 64


class RelationVersions:
    """Relation versions in the order in which they were seen; rows refer to them by number.

    `facts` and `collections` (the names in transaction metadata) grow and never change otherwise.
    `table` (int64, RELATION_WORDS per version) grows by replacement: a kernel gets its current
    address with every call. One thread adds; others may read `facts` and `collections`.
    """

    def __init__(
        self,
        rendering: KeyRendering,
        compared: EventSettings | None = None,
        first: Iterable[Facts] = (),
    ) -> None:
        """`rendering` is that of keys. `compared`: updates are dropped if events under these
        settings show no change. `first`: versions that the log does not contain."""
        self.facts: list[Facts] = []
        self.collections: list[str] = []
        self.table = np.zeros((_FIRST_VERSIONS, row_kernel.RELATION_WORDS), np.int64)
        self.key_texts = KeyScratch()
        self._rendering = rendering
        self._compared = compared
        self._special: dict[Facts, int] = {}
        self._kept: list[object] = []  # `table` holds their addresses
        for facts in first:
            self.append(facts)

    def append(self, facts: Facts, *, captured: bool = True) -> int:
        """Add a version; return its number. Rows of a version that is not `captured` are left
        out. Raises HeadraceError("streaming.too_many_columns")."""
        if captured and len(facts.cell_names) > MAX_COLUMNS:
            raise HeadraceError(
                "streaming.too_many_columns",
                f"{facts.collection} has {len(facts.cell_names)} columns, and records of more than "
                f"{MAX_COLUMNS} columns cannot be read",
                "Leave columns out by column.exclude.list, or the table by table.exclude.list.",
            )
        index = len(self.facts)
        if index == len(self.table):
            larger = np.zeros((2 * index, row_kernel.RELATION_WORDS), np.int64)
            larger[:index] = self.table
            self.table = larger
        keys = None
        compared = np.zeros((0, 3), np.int64)
        if captured and facts.holds_changes:
            keys = KeyColumns(facts, self._rendering)
            self.key_texts.know(keys)
            if self._compared is not None:
                compared = compared_columns(facts, self._compared)
        self._kept += [keys, compared]
        self.table[index] = (
            int(captured),
            len(facts.cell_names),
            self._rendering.topic_hash(facts.topic),
            0 if keys is None else address_of(keys.table),
            0 if keys is None else len(keys),
            address_of(compared),
            len(compared),
            int(self._compared is not None),
        )
        self.facts.append(facts)
        self.collections.append(facts.collection)
        return index

    def version_of(self, facts: Facts) -> int:
        """Return the number of the version of records without a collection; it is added at the
        first call."""
        if facts not in self._special:
            self._special[facts] = self.append(facts)
        return self._special[facts]

    def borders(self, topic: str) -> tuple[int, int]:
        """Return the versions of the records at the beginning and the end of transactions."""
        return self.version_of(BorderFacts(topic, True)), self.version_of(BorderFacts(topic, False))

    def is_captured(self, index: int) -> bool:
        """Return whether rows of this version make records."""
        return bool(self.table[index][row_kernel.CAPTURED])
