"""Parts: each belongs to the task that wrote it, and a task that fails leaves nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest

from headrace.errors import HeadraceError
from headrace.sinks.file import parts as files
from headrace.sinks.parts import task_part_name

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


def batch(*values: str) -> pa.RecordBatch:
    return pa.record_batch({
        "topic": pa.array(["t"] * len(values)), "key": pa.nulls(len(values), pa.string()),
        "value": pa.array([f'"{value}"' for value in values]),
        "headers": pa.nulls(len(values), HEADERS),
        "sequence": pa.array([f"{number:04x}" for number in range(len(values))]),
    })  # fmt: skip


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_task_left_over_from_a_killed_driver_does_not_write_into_the_new_part(
    tmp_path: Path,
) -> None:
    def left_over() -> Iterator[pa.RecordBatch]:
        yield batch("old", "old", "old")
        again = files.write_part(tmp_path, "1-0-0", iter([batch("new")]), indexed=True)
        content[:] = [(tmp_path / "1-0-0").read_bytes(), again.length]
        yield batch("old", "old", "old")

    content: list[object] = []
    files.write_part(tmp_path, "1-0-0", left_over(), indexed=True)
    new, length = content
    assert isinstance(new, bytes)
    assert (new.count(b'"new"'), len(new)) == (1, length)
    assert b'"old"' not in (tmp_path / "1-0-0").read_bytes()


def test_two_attempts_never_have_the_same_name(monkeypatch: pytest.MonkeyPatch) -> None:
    import pyspark

    context = SimpleNamespace(
        getLocalProperty=lambda _: "7", partitionId=lambda: 3, taskAttemptId=lambda: 11
    )
    monkeypatch.setattr(pyspark.TaskContext, "get", lambda: context)
    first, second = task_part_name(), task_part_name()
    assert first != second
    assert first.startswith("7-3-11-")


@pytest.mark.parametrize("failing", ["read", "write", "index", "close"])
def test_a_task_that_fails_leaves_neither_a_part_nor_its_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        yield batch("a", "b")
        if failing == "read":
            raise OSError("the source is gone")

    original, calls = files.write_all, [0]

    def write_all(file: int, content: memoryview) -> None:
        calls[0] += 1
        original(file, content[: len(content) // 2])
        if (failing, calls[0]) in (("write", 1), ("index", 2)):
            raise OSError("no space left")
        original(file, content[len(content) // 2 :])

    def close(file: int) -> None:
        os_close(file)
        if failing == "close":
            raise OSError("no space left")

    os_close = os.close
    monkeypatch.setattr(files, "write_all", write_all)
    monkeypatch.setattr(os, "close", close)
    with pytest.raises((OSError, HeadraceError), match=r"gone|no space") as caught:
        files.write_part(tmp_path, "1-0-0", batches(), indexed=True)
    assert isinstance(caught.value, HeadraceError) is (failing != "read")
    monkeypatch.undo()
    assert names(tmp_path) == []
