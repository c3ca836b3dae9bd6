"""Parts of a batch, and what an output holds."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa

from headrace.sinks.file import parts as files
from headrace.sinks.file.output import Output
from headrace.sinks.file.parts import FilePart

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


class Stop(BaseException):
    """The process is killed here."""


def write_part(folder: Path, batch: int, number: int, sequences, *, indexed=False) -> FilePart:
    text = [f"{sequence:08x}" for sequence in sequences]
    record_batch = pa.record_batch({
        "topic": pa.array(["t"] * len(text)), "key": pa.nulls(len(text), pa.string()),
        "value": pa.array([str(sequence) for sequence in sequences]),
        "headers": pa.nulls(len(text), HEADERS), "sequence": pa.array(text),
    })  # fmt: skip
    half = len(text) // 2
    batches = iter([record_batch.slice(0, half), record_batch.slice(half)])
    name = f"{batch}-{number}-0"
    return files.write_part(folder / "state" / "parts", name, batches, indexed=indexed)


def values(output: Output) -> list[int]:
    return [json.loads(line)["value"] for line in output.path.read_text().splitlines()]
