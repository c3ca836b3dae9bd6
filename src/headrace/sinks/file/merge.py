"""Merges parts whose sequences overlap into lines in total order.

Each part has an index file: the end of every line (int64), then the sequence of every line; all
sequences have the same length.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,call-arg"

from __future__ import annotations

import mmap
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from headrace.connect.kernels.functions import entry
from headrace.connect.kernels.memory import address_of, copy16, load8, store8
from headrace.sinks.file.parts import FilePart
from headrace.sinks.file.tail import Tail

_CHUNK = 16 << 20


@entry
def _gather(starts, lengths, order, first, last, out):
    """Copy lines order[first:last] one after the other; return the end of the output."""
    for i in range(first, last):
        line = order[i]
        source, length = starts[line], lengths[line]
        blocks = length & ~15
        for offset in range(0, blocks, 16):
            copy16(out + offset, source + offset)
        for offset in range(blocks, length):
            store8(out + offset, load8(source + offset))
        out += length
    return out


def merge(output: Tail, parts: Sequence[FilePart], folder: Path) -> None:
    """Append the lines of all parts to the output in total order."""
    part_starts, part_lengths, sequences = [], [], []
    mapped = []
    for part in parts:
        index = np.fromfile(folder / f"{part.name}.index", np.uint8)
        width = (index.size - 8 * part.rows) // part.rows
        ends = index[: 8 * part.rows].view(np.int64)
        with (folder / part.name).open("rb") as file:
            content = np.frombuffer(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ), np.uint8)
        mapped.append(content)
        line_starts = np.concatenate([np.zeros(1, np.int64), ends[:-1]])
        part_starts.append(line_starts + address_of(content))
        part_lengths.append(ends - line_starts)
        sequences.append(index[8 * part.rows :].view(f"S{width}"))
    order = np.argsort(np.concatenate(sequences), kind="stable")
    starts, lengths = np.concatenate(part_starts), np.concatenate(part_lengths)
    ends = np.cumsum(lengths[order])
    first = 0
    while first < order.size:
        written_bytes = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, written_bytes + _CHUNK, side="right")))
        buffer = np.empty(int(ends[last - 1]) - written_bytes, np.uint8)
        _gather(
            address_of(starts), address_of(lengths), address_of(order), first, last,
            address_of(buffer),
        )  # fmt: skip
        output.write(buffer.data)
        first = last
