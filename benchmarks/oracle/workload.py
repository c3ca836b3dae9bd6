"""Scripted redo: rows of V$LOGMNR_CONTENTS as a driver fetches them, over and over as many as are
asked for."""

from __future__ import annotations

import datetime as dt
import json
import random
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from headrace.connectors.oracle.streaming.redo_rows import (
    COMMIT,
    DELETE,
    INSERT,
    REDO,
    START,
    UPDATE,
)

SCHEMA, TABLE = "BENCH", "ORDERS"
COLUMNS = (
    "ID NUMBER(9,0) NOT NULL",
    "CUSTOMER NUMBER(9,0) NOT NULL",
    "NAME VARCHAR2(60)",
    "STATUS VARCHAR2(10)",
    "AMOUNT NUMBER(12,2)",
    "QUANTITY NUMBER(5,0)",
    "RATE NUMBER(9,4)",
    "NOTE VARCHAR2(200)",
    "ORDERED TIMESTAMP(6)",
    "SHIPPED DATE",
)
DEFINITION = {"name": f"{SCHEMA}.{TABLE}", "columns": list(COLUMNS), "key": ["ID"]}
FIRST_SCN = 1_000_100
_NAMES = [column.split()[0] for column in COLUMNS]
_CHANGES = 98
"""Of a transaction of 100 rows."""
_TIME = dt.datetime(2024, 1, 1)  # noqa: DTZ001 - the database's clock


@dataclass(frozen=True)
class Workload:
    """`blocks` times the rows of `file` (an Arrow file); `whole`: as one transaction."""

    file: str
    rows: int
    blocks: int
    whole: bool = False

    @property
    def changes(self) -> int:
        """Inserts, updates and deletes."""
        return self.rows * self.blocks if self.whole else self.rows * self.blocks // 100 * _CHANGES

    @property
    def last_scn(self) -> int:
        """After the last row; each row has its own."""
        return FIRST_SCN + self.rows * self.blocks + 2

    def write(self, path: Path) -> None:
        """For the driver of `driver.py`."""
        path.write_text(json.dumps(asdict(self)))

    @staticmethod
    def read(path: Path) -> Workload:
        """The reverse of `write`."""
        return Workload(**json.loads(path.read_text()))

    def batches(self, low: int, high: int, size: int) -> Iterator[pa.RecordBatch]:
        """Rows of larger SCNs than `low`, up to `high`, `size` at a time; columns as in REDO."""
        with pa.memory_map(self.file) as file:
            block = pa.ipc.open_file(file).get_batch(0)
            if self.whole and low < FIRST_SCN <= high:
                yield _marker(block, START, FIRST_SCN)
            first = max(low - FIRST_SCN, 0)
            end = min(high - FIRST_SCN, self.rows * self.blocks)
            while first < end:
                at = first % self.rows
                count = min(size, self.rows - at, end - first)
                scns = np.arange(FIRST_SCN + 1 + first, FIRST_SCN + 1 + first + count)
                column = pa.Array.from_buffers(pa.int64(), count, [None, pa.py_buffer(scns)])
                yield block.slice(at, count).set_column(0, REDO.field(0), column)
                first += count
            if self.whole and low < self.last_scn <= high:
                yield _marker(block, COMMIT, self.last_scn)


def make(path: Path, rows: int, blocks: int, *, whole: bool = False) -> Workload:
    """Writes `rows` rows: six inserts, three updates and a delete of ten, in transactions of 100
    rows with their beginnings and ends, or (`whole`) as parts of one."""
    chance = random.Random(7)
    codes, texts, xids = [], [], []
    for number in range(rows):
        place = number % 100
        if not whole and place in (0, 99):
            codes.append(START if place == 0 else COMMIT)
            texts.append("set transaction read write;" if place == 0 else "commit;")
        else:
            code, text = _change(number, chance)
            codes.append(code)
            texts.append(text)
        transaction = 1 if whole else number // 100 + 1
        xids.append(bytes((10, 0, transaction & 31, 0)) + transaction.to_bytes(4, "little"))
    is_change = np.isin(codes, (INSERT, UPDATE, DELETE))
    plain = {
        "SCN": np.zeros(rows, np.int64),
        "OPERATION_CODE": np.array(codes, np.int64),
        "TIMESTAMP": np.full(rows, np.datetime64(_TIME, "us")),
        "XID": xids,
        "TABLE_NAME": [TABLE if each else None for each in is_change],
        "SEG_OWNER": [SCHEMA if each else None for each in is_change],
        "ROW_ID": [f"AAASgjAAM{number:09d}" for number in range(rows)],
        "RS_ID": [f" 0x000123.{number:08x}.0010 " for number in range(rows)],
        "USERNAME": ["APP"] * rows,
        "SQL_REDO": texts,
        "THREAD#": np.ones(rows, np.int64),
        **{name: np.zeros(rows, np.int64) for name in ("CSF", "ROLLBACK", "STATUS", "SSN")},
    }
    arrays = [
        pa.array(plain[field.name], field.type)
        if field.name in plain
        else pa.nulls(rows, field.type)
        for field in REDO
    ]
    batch = pa.RecordBatch.from_arrays(arrays, schema=REDO)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, REDO) as writer:
        writer.write_batch(batch)
    return Workload(str(path), rows, blocks, whole)


def statements(work: Workload) -> pa.Array:
    """The statements of the changes of one block."""
    with pa.memory_map(work.file) as file:
        block = pa.ipc.open_file(file).get_batch(0)
        return block.filter(block.column("TABLE_NAME").is_valid()).column("SQL_REDO")


def _marker(block: pa.RecordBatch, code: int, scn: int) -> pa.RecordBatch:
    row = block.slice(0, 1).to_pylist()[0]
    row |= {"SCN": scn, "OPERATION_CODE": code, "SQL_REDO": "commit;", "TABLE_NAME": None}
    return pa.RecordBatch.from_pylist([row | {"SEG_OWNER": None}], REDO)


def _change(number: int, chance: random.Random) -> tuple[int, str]:
    literals = dict(zip(_NAMES, _literals(number, chance), strict=True))
    table = f'"{SCHEMA}"."{TABLE}"'
    kind = number % 10
    if kind < 6:
        names = ",".join(f'"{name}"' for name in _NAMES)
        return INSERT, f"insert into {table}({names}) values ({','.join(literals.values())});"
    where = " and ".join(f'"{name}" = {value}' for name, value in literals.items())
    if kind < 9:
        assignments = f"\"STATUS\" = 'shipped', \"AMOUNT\" = '{chance.randint(1, 99999) / 100}'"
        return UPDATE, f"update {table} set {assignments} where {where};"
    return DELETE, f"delete from {table} where {where};"


def _literals(number: int, chance: random.Random) -> list[str]:
    ordered = _TIME + dt.timedelta(microseconds=number * 1_234_567)
    note = "A note of an ordinary length, with it''s quote and some words of the customer"
    return [
        f"'{number}'",
        f"'{number % 5000}'",
        f"'Customer with a name of its own {number % 977}'",
        "'new'",
        f"'{chance.randint(1, 9_999_999) / 100}'",
        f"'{number % 97}'",
        f"'{chance.randint(1, 99_999) / 10_000}'",
        f"'{note}'",
        f"TO_TIMESTAMP('{ordered:%Y-%m-%d %H:%M:%S.%f}')",
        f"TO_DATE('{ordered:%Y-%m-%d %H:%M:%S}', 'YYYY-MM-DD HH24:MI:SS')",
    ]
