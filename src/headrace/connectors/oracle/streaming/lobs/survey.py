"""A survey of a transaction with large values before its changes are made: which frames were rolled
back, and which rows are simple. A simple row has one change and its values, one after the other: it
does not wait for later changes, and is made when its turn comes."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from headrace.connectors.oracle.streaming.lobs import frames
from headrace.connectors.oracle.streaming.lobs.changes import (
    CREATE,
    DELETE,
    HEAD,
    TRUNCATE,
    UPDATE,
    LobTable,
    identity,
    read_change,
    read_named,
)
from headrace.connectors.oracle.streaming.lobs.rollbacks import rolled_back, row_of

Held = Callable[[], Iterable[tuple[bytes, bool]]]
"""Reads the frames of a transaction, in their order, and whether the buffer cancelled them."""
_BASES = (CREATE, UPDATE, DELETE)


@dataclass(frozen=True)
class Survey:
    """`undone` are the numbers of frames that were rolled back. `simple` has for each frame, by its
    number, how many frames a simple row has that begins with it; -1: it belongs to the simple row
    before; 0: neither. No row is simple if the row of a value cannot be read: it may be any of
    them."""

    undone: frozenset[int]
    simple: np.ndarray


@dataclass
class _Rows:
    """Frames that describe rows: their numbers, hashes of the rows, kinds, and whether the frame
    changes its row's key; hashes of the rows that had another key."""

    numbers: array[int]
    hashes: array[int]
    kinds: array[int]
    moves: array[int]
    former: array[int]


def surveyed(held_frames: Held, tables: Mapping[int, LobTable]) -> Survey:
    """Read the frames of a transaction once or twice, and return their survey; `tables` are by
    relation version."""
    rows = _Rows(array("q"), array("q"), array("B"), array("B"), array("q"))
    undone_rows: set[bytes] = set()
    named: int | None = None
    is_named = True
    count = 0
    for number, (frame, is_cancelled) in enumerate(held_frames()):
        count = number + 1
        _, kind, relation, *_ = HEAD.unpack_from(frame)
        table = tables.get(relation)
        if table is None or not table.apart or kind == TRUNCATE:
            continue
        if is_cancelled or kind == frames.UNDOES:
            undone_rows.add(row_of(frame))
            continue
        if kind == frames.UNNAMED:
            named, is_named = None, False
            continue
        if kind in (frames.WRITES, frames.ERASES):
            if named is None:
                continue
            row, moves = named, False
        elif kind == frames.NAMES:
            change, _, _ = read_named(frame)
            row, moves = hash(identity(relation, table, change.new)), False
            named = row
        else:
            change = read_change(frame)
            old, new = change.old or change.new, change.new or change.old
            assert old is not None
            assert new is not None
            row = hash(identity(relation, table, new))
            moves = any(old[place] != new[place] for place in (*table.identity, *table.key))
            if moves:
                rows.former.append(hash(identity(relation, table, old)))
        rows.numbers.append(number)
        rows.hashes.append(row)
        rows.kinds.append(kind)
        rows.moves.append(moves)
    undone = rolled_back(held_frames(), tables, undone_rows) if undone_rows else frozenset()
    return Survey(undone, _simple(rows, undone, count) if is_named else np.zeros(count, np.int32))


def _simple(rows: _Rows, undone: frozenset[int], count: int) -> np.ndarray:
    simple = np.zeros(count, np.int32)
    numbers = np.frombuffer(rows.numbers, np.int64) if rows.numbers else np.zeros(0, np.int64)
    if not len(numbers):
        return simple
    hashes = np.frombuffer(rows.hashes, np.int64)
    kinds = np.frombuffer(rows.kinds, np.uint8)
    moves = np.frombuffer(rows.moves, np.uint8)
    order = np.lexsort((numbers, hashes))
    numbers, hashes, kinds, moves = numbers[order], hashes[order], kinds[order], moves[order]
    firsts = np.flatnonzero(np.append(True, hashes[1:] != hashes[:-1]))
    sizes = np.diff(np.append(firsts, len(hashes)))
    is_base = np.isin(kinds, _BASES)
    bases = np.add.reduceat(is_base.astype(np.int64), firsts)
    together = numbers[firsts + sizes - 1] - numbers[firsts] + 1 == sizes
    sound = together & (bases <= 1) & ((bases == 0) | is_base[firsts])
    sound &= ~(np.add.reduceat(moves.astype(np.int64), firsts) > 0)
    sound &= (kinds[firsts] != DELETE) | (sizes == 1)
    if rows.former:
        sound &= ~np.isin(hashes[firsts], np.frombuffer(rows.former, np.int64))
    if undone:
        is_undone = np.isin(numbers, np.fromiter(undone, np.int64, len(undone)))
        sound &= ~(np.add.reduceat(is_undone.astype(np.int64), firsts) > 0)
    members = np.repeat(sound, sizes)
    simple[numbers[members]] = -1
    simple[numbers[firsts[sound]]] = sizes[sound]
    return simple
