"""Parses many texts of Extended JSON to BSON values."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field

import numpy as np

from headrace.connect.kernels.memory import PADDING, address_of
from headrace.documents.parsing.kernels.document_kernel import (
    MANY_NAMES,
    MARGIN,
    NAME_BYTES,
    NO_ROOM,
    PLAIN,
    parse_texts,
)
from headrace.documents.parsing.plain import bson_of

_ADDRESS, _LENGTH = 1, 2
"""Columns of cells (kind, address, length)."""
_NAMES = 1024
"""Initial size of the table of names."""
_GROWTH, _MAX_GROWTH = 2, 16
"""Bytes of BSON per byte of text: the usual limit, and the absolute one."""


@dataclass(frozen=True)
class ParsedTexts:
    """BSON values: int64 of (kind, address, length), a type byte and its value each. `memory` owns
    the bytes that the cells point to."""

    cells: np.ndarray
    memory: tuple[object, ...] = field(repr=False)


def parsed(texts: np.ndarray) -> ParsedTexts:
    """Return the values of texts, which are cells (kind, address, length) of UTF-8 with PADDING.

    Raises HeadraceError `documents.text_not_understood` for a text that is not Extended JSON.
    """
    by_kernel, left = parsed_by_kernel(texts)
    if not len(left):
        return by_kernel
    return ParsedTexts(
        by_kernel.cells, (*by_kernel.memory, _put_plain(texts, left, by_kernel.cells))
    )


def parsed_by_kernel(texts: np.ndarray) -> tuple[ParsedTexts, np.ndarray]:
    """Return the values of texts as in `parsed`, and the numbers (int64) of the texts that are left
    to Python, because they are rare or invalid: these have no value."""
    texts = np.ascontiguousarray(texts, np.int64)
    values = np.zeros(texts.shape, np.int64)
    lengths = texts[:, _LENGTH]
    names = np.zeros(_NAMES * NAME_BYTES, np.uint8)
    memory: list[np.ndarray] = []
    begin, growth, out, out_end = 0, _GROWTH, 0, 0
    while begin < len(texts):
        if out == 0:
            room = int(lengths[begin:].sum())
            if growth == _MAX_GROWTH:
                room = max(room * _GROWTH, int(lengths[begin]) * growth)
            else:
                room *= growth
            memory.append(np.empty(room + 2 * MARGIN, np.uint8))
            out = address_of(memory[-1])
            out_end = out + len(memory[-1]) - PADDING
        answer = int(
            parse_texts(
                address_of(texts[begin:]), len(texts) - begin, address_of(values[begin:]), out,
                out_end, address_of(names), len(names) // NAME_BYTES - 1, begin + 1,
            )
        )  # fmt: skip
        if answer >= 0:
            break
        fault, texts_done = answer >> 32, answer & 0xFFFFFFFF
        begin += texts_done
        if fault == MANY_NAMES:
            names = np.zeros(4 * len(names), np.uint8)
            if texts_done:
                sized = values[begin - texts_done : begin, _LENGTH]
                out += int(sized[sized > 0].sum())
            continue
        assert fault == NO_ROOM
        growth = _GROWTH if texts_done else _MAX_GROWTH
        out = 0
    left = np.flatnonzero(values[:, _LENGTH] == PLAIN)
    return ParsedTexts(values, tuple(memory)), left


def _put_plain(texts: np.ndarray, left: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Put the values of the texts with the numbers `left` into `values`; returns their memory."""
    documents = []
    for address, length in texts[left, _ADDRESS:].tolist():
        documents.append(bson_of(ctypes.string_at(address, length).decode(errors="replace")))
    memory = np.frombuffer(b"".join(documents) + bytes(PADDING), np.uint8)
    lengths = np.array([len(raw) for raw in documents], np.int64)
    values[left, _ADDRESS] = address_of(memory) + np.cumsum(lengths) - lengths
    values[left, _LENGTH] = lengths
    return memory
