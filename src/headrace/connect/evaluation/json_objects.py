"""Texts of JSON objects in cells: kernels that find members, and that add members.

The texts are written by `headrace.connect.json_values.json_text`.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from headrace.connect.encoding import Encoding
from headrace.connect.evaluation import gathering
from headrace.connect.evaluation.gathering import KIND, LENGTH
from headrace.connect.images import CELL_BYTES, NULL, TEXT, has_value
from headrace.connect.json_values import quote
from headrace.connect.kernels.functions import entry
from headrace.connect.kernels.json_scan import (
    CLOSE_OBJECT,
    COMMA,
    OPEN_OBJECT,
    are_equal,
    skip_string,
    skip_value,
)
from headrace.connect.kernels.memory import (
    PADDING,
    address_of,
    copy,
    load8,
    load64,
    store8,
    store64,
)
from headrace.connect.records import Cell, Cells, Column, Node, Records

_NULL_BYTES = 4
_LETTER_N = ord("n")


@entry
def find_members(cells, count, names, name_count, out):
    """Store the values of members by name (address and length of the name, each), a table of cells
    for each name; null if the object has no such member, or the cell is not an object."""
    for i in range(count):
        for n in range(name_count):
            store64(out + CELL_BYTES * (n * count + i), NULL)
        cell = cells + CELL_BYTES * i
        if not has_value(load64(cell)):
            continue
        place = load64(cell + 8)
        end = place + load64(cell + 16)
        if place >= end or load8(place) != OPEN_OBJECT:
            continue
        place += 1
        while place < end and load8(place) != CLOSE_OBJECT:
            if load8(place) == COMMA:
                place += 1
            name = place + 1
            stop = skip_string(name, end)
            if stop < 0:
                break
            value = stop + 1
            place = skip_value(value, end)
            if place <= value:
                break
            length = stop - 1 - name
            for n in range(name_count):
                entry = names + 16 * n
                if load64(entry + 8) == length and are_equal(load64(entry), name, length):
                    target = out + CELL_BYTES * (n * count + i)
                    if load8(value) == _LETTER_N:
                        continue
                    store64(target, TEXT)
                    store64(target + 8, value)
                    store64(target + 16, place - value)
    return np.int64(0)


@entry
def add_members(cells, count, names, name_count, added, out, objects):
    """Write objects with more members at their end, one after the other at `out`; `names` are texts
    `"name":`, `added` the tables of their cells, `objects` gets the cells of the objects."""
    for i in range(count):
        cell = cells + CELL_BYTES * i
        target = objects + CELL_BYTES * i
        store64(target, NULL)
        if not has_value(load64(cell)):
            continue
        length = load64(cell + 16)
        begin = out
        out = copy(load64(cell + 8), length - 1, out)
        is_first = length == 2
        for n in range(name_count):
            if not is_first:
                store8(out, COMMA)
                out += 1
            is_first = False
            entry = names + 16 * n
            out = copy(load64(entry), load64(entry + 8), out)
            value = added + CELL_BYTES * (n * count + i)
            if has_value(load64(value)):
                out = copy(load64(value + 8), load64(value + 16), out)
            else:
                store64(out, 0x6C6C756E)  # null
                out += _NULL_BYTES
        store8(out, CLOSE_OBJECT)
        out += 1
        store64(target, TEXT)
        store64(target + 8, begin)
        store64(target + 16, out - begin)
    return np.int64(out)


def cells_at(records: Records, node: Cell | Column) -> np.ndarray:
    """Return the cells of a node: int64 (kind, address, length), one per record."""
    if isinstance(node, Column):
        return np.ascontiguousarray(gathering.column_cells(records, node))
    return np.ascontiguousarray(gathering.gather(records, [node])[node])


def is_json(node: Node) -> bool:
    """Return whether a node's cells are texts of JSON."""
    return isinstance(node, Cell | Column) and node.encoding is Encoding.JSON


def _texts(texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return addresses and lengths of texts, and their memory."""
    raw = [text.encode() for text in texts]
    memory = np.frombuffer(b"".join(raw) + bytes(PADDING), np.uint8).copy()
    lengths = np.array([len(encoded) for encoded in raw], np.int64)
    starts = np.cumsum(lengths) - lengths + address_of(memory)
    return np.ascontiguousarray(np.stack([starts, lengths], axis=1)), memory


def members(cells: np.ndarray, names: Sequence[str]) -> list[np.ndarray]:
    """Return the cells of members, an array like `cells` for each name."""
    out = np.zeros((len(names), len(cells), 3), np.int64)
    table, memory = _texts([quote(name)[1:-1] for name in names])
    cells = np.ascontiguousarray(cells)
    find_members(address_of(cells), len(cells), address_of(table), len(names), address_of(out))
    del memory
    return list(out)


def with_members(
    cells: np.ndarray, names: Sequence[str], added: Sequence[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the cells of objects with more members, and their memory; `added` are the cells of
    each."""
    table, memory = _texts([f"{quote(name)}:" for name in names])
    tables = np.zeros((len(added), len(cells), 3), np.int64)
    for number, values in enumerate(added):
        tables[number] = values
    cells = np.ascontiguousarray(cells)
    present = gathering.has_values(cells)
    room = int(cells[present, LENGTH].sum())
    for values in added:
        room += int(values[gathering.has_values(values), LENGTH].sum())
    room += len(cells) * (int(table[:, 1].sum()) + (_NULL_BYTES + 1) * len(names) + 1)
    out, objects = np.empty(room + PADDING, np.uint8), np.zeros((len(cells), 3), np.int64)
    add_members(
        address_of(cells), len(cells), address_of(table), len(names), address_of(tables),
        address_of(out), address_of(objects),
    )  # fmt: skip
    del memory
    return objects, out


def loaded(cells: np.ndarray) -> list[object]:
    """Return the values of cells, in Python; distinct ones are parsed once."""
    encoded = gathering.as_binary(cells, gathering.has_values(cells)).dictionary_encode()
    values = [json.loads(raw) for raw in encoded.dictionary.to_pylist()]
    return [None if at is None else values[at] for at in encoded.indices.to_pylist()]


def in_table(records: Records, cells: np.ndarray, memory: tuple[object, ...]) -> Cells:
    """Return cells of records as those of a column of their table. Memory that they point into,
    except `memory`, must live as long as the records."""
    table = np.zeros((len(records.table), 3), np.int64)
    table[:, KIND] = NULL
    table[records.rows] = cells
    return Cells(table, memory)
