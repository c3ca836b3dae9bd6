"""Slices of the streamed log, which are sent to tasks."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from headrace.connect.records import Records, Shape, group_by_shape
from headrace.connect.rows import RowTable, Sequences
from headrace.spool.extract import Inline, InMemory
from headrace.streaming.facts import EventSettings, Facts, PackedFacts, shape_of, unpack

Lookup = Callable[[RowTable, Mapping[int, Facts]], RowTable]
"""A function that reads cells of rows from the database again, in a task: the same rows, some with
other images. Picklable."""


@dataclass(frozen=True)
class LogSlice:
    """Rows [first, last) of a plan. `relations` are those of these rows; `lookup`, if it is not
    None, reads rows again. `size` is the bytes of the rows' images."""

    rows: InMemory | Inline
    first: int
    last: int
    sequences: Sequences
    relations: Mapping[int, PackedFacts]
    settings: EventSettings
    lookup: Lookup | None = None
    size: int = 0

    @property
    def log_bytes(self) -> int | None:
        """See the contract."""
        if self.lookup is not None:
            return None
        return len(self.rows.images) if isinstance(self.rows, Inline) else self.size

    def shapes(self) -> Iterator[Shape]:
        """See the contract."""
        return (shape_of(packed, self.settings) for packed in self.relations.values())

    def read(self) -> Iterator[list[Records]]:
        """Yield one piece: the Records of the whole slice."""
        if isinstance(self.rows, Inline):
            table = self.rows.load()
        else:
            table = self.rows.load(self.first, self.last)
        if len(table) == 0:
            return
        if self.lookup is not None:
            facts = {index: unpack(packed) for index, packed in self.relations.items()}
            table = self.lookup(table, facts)
        shapes = {
            index: shape_of(packed, self.settings) for index, packed in self.relations.items()
        }
        yield group_by_shape(table, shapes)


class FactsPacker:
    """Packs the facts of a stream's relation versions, each once."""

    def __init__(self, versions: Sequence[Facts]) -> None:
        """`versions` grows and never changes otherwise."""
        self._versions = versions
        self._packed: dict[int, tuple[Facts, PackedFacts]] = {}
        self._seen = 0

    def __call__(self, facts: Facts) -> PackedFacts:
        for version in self._versions[self._seen :]:
            self._packed[id(version)] = (version, b"")
        self._seen = len(self._versions)
        entry = self._packed.get(id(facts))
        if entry is None:
            return pickle.dumps(facts)
        if not entry[1]:
            entry = self._packed[id(facts)] = (facts, pickle.dumps(facts))
        return entry[1]


def relations_in(
    rows: np.ndarray, relations: Mapping[int, Facts], pack: Callable[..., PackedFacts]
) -> dict[int, PackedFacts]:
    """Return the packed facts of those of the `relations` that `rows` refer to: all refer to one of
    them."""
    if len(relations) == 1 and len(rows):
        return {index: pack(facts) for index, facts in relations.items()}
    return {index: pack(relations[index]) for index in present_relations(rows)}


def present_relations(rows: np.ndarray) -> list[int]:
    """Return the relation versions that `rows` refer to, in order."""
    versions = rows["relation"]
    if len(versions) == 0:
        return []
    if np.all(versions == versions[0]):
        return [int(versions[0])]
    return [int(version) for version in np.flatnonzero(np.bincount(versions))]
