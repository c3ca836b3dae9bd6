"""Rows of redo for tests, with statements that only these tests understand."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from headrace.connect.images import make_image
from headrace.connect.kernels.memory import PADDING
from headrace.connectors.oracle.streaming import redo_rows
from headrace.errors import HeadraceError

EPOCH = dt.datetime.fromisoformat("2026-01-02 03:04:05")
CODES = {"c": redo_rows.INSERT, "u": redo_rows.UPDATE, "d": redo_rows.DELETE}


@dataclass(frozen=True)
class Parsed:
    """See headrace.connectors.oracle.streaming.row_words.Images."""

    images: np.ndarray
    offsets: np.ndarray
    operations: np.ndarray
    errors: Mapping[int, HeadraceError] = field(default_factory=dict)


def parse(texts: pa.Array, models: np.ndarray) -> Parsed:
    """Of statements that `change` made."""
    assert len(models) == len(texts)
    images, operations, errors = [], [], {}
    for row, text in enumerate(texts.to_pylist()):
        if not text.startswith("{"):
            errors[row] = HeadraceError("oracle.redo_not_understood", f"{text!r} is none", "-")
            images.append(b"")
            operations.append(ord("c"))
            continue
        change_of = json.loads(text)
        images.append(
            b"".join(make_image(one) for one in (change_of["old"], change_of["new"]) if one)
        )
        operations.append(ord(change_of["op"]))
    offsets = np.cumsum([0, *map(len, images)]).astype(np.int64)
    joined = np.frombuffer(b"".join(images) + bytes(PADDING), np.uint8)
    return Parsed(joined, offsets, np.array(operations, np.uint8), errors)


def statement(op: str, old: Sequence[str | None] | None, new: Sequence[str | None] | None) -> str:
    """What `parse` understands."""
    return json.dumps({"op": op, "old": old, "new": new})


def row(code: int, scn: int, xid: str, **more: Any) -> dict[str, Any]:
    """A row of V$LOGMNR_CONTENTS."""
    return {
        "SCN": scn,
        "OPERATION_CODE": code,
        "XID": bytes.fromhex(xid),
        "TIMESTAMP": EPOCH + dt.timedelta(seconds=scn // 10),
        "CSF": 0,
        "ROLLBACK": 0,
        "STATUS": 0,
        "THREAD#": 1,
        "SSN": 7,
        "RS_ID": f" 0x{scn:06x}.00000001.0010 ",
        "USERNAME": "APP",
        **more,
    }


def start(scn: int, xid: str, **more: Any) -> dict[str, Any]:
    """The beginning of a transaction."""
    return row(redo_rows.START, scn, xid, **more)


def commit(scn: int, xid: str, **more: Any) -> dict[str, Any]:
    """Its commit."""
    return row(redo_rows.COMMIT, scn, xid, **more)


def rollback(scn: int, xid: str, **more: Any) -> dict[str, Any]:
    """Its rollback."""
    return row(redo_rows.ROLLED_BACK, scn, xid, **more)


def change(
    op: str,
    scn: int,
    xid: str,
    old: Sequence[str | None] | None = None,
    new: Sequence[str | None] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """A change of S.T."""
    return row(
        CODES[op],
        scn,
        xid,
        **{
            "SEG_OWNER": "S",
            "TABLE_NAME": "T",
            "ROW_ID": "AAAR3sAAEAAAACXAAA",
            "SQL_REDO": statement(op, old, new),
            **more,
        },
    )


def undo(op: str, scn: int, xid: str, row_id: str = "AAAR3sAAEAAAACXAAA") -> dict[str, Any]:
    """The rollback of one change."""
    return row(
        CODES[op], scn, xid, SEG_OWNER="S", TABLE_NAME="T", ROW_ID=row_id, ROLLBACK=1, SQL_REDO="x"
    )


def batch(rows: Sequence[Mapping[str, Any]]) -> pa.RecordBatch:
    """Rows as the connector's columns."""
    names = [one.name for one in redo_rows.REDO]
    return redo_rows.redo_batch(names, [[one.get(name) for name in names] for one in rows])
