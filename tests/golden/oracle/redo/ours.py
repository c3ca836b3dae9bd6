"""Results of our parsers, types and converters for the recorded statements."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from headrace.connect.images import CellKind, image_of
from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connect.records import Records, Struct
from headrace.connect.rows import ROW, RowTable, Sequences, no_transactions
from headrace.connectors.oracle.capture import Capture, settings_of
from headrace.connectors.oracle.config import OracleConfig
from headrace.connectors.oracle.redo.lob_statements import (
    NamedValue,
    parse_extended_begin,
    parse_lob_write,
    parse_locator,
)
from headrace.connectors.oracle.redo.statements import RedoStatements
from headrace.connectors.oracle.redo.tables import RedoTable
from headrace.connectors.oracle.types.charsets import codec_of
from headrace.connectors.oracle.types.source_type import OracleType
from headrace.converters.configured import slice_converter
from headrace.errors import HeadraceError
from headrace.relational.table import Column, Table
from headrace_demo.oracle.definitions import Table as Definition
from tests.golden.oracle.redo.cases import CONNECTION, Case
from tests.golden.workload import PLAIN

OPERATIONS = {"c": "INSERT", "u": "UPDATE", "d": "DELETE"}
_OF_STREAMS = ("lob.enabled", "log.mining.strategy")
"""Properties that ours asks when it reads the redo, not when it parses a statement."""
Answer = dict[str, Any]


def described(definition: Definition) -> Table:
    """A table as the catalogue describes it."""
    columns = tuple(
        Column(
            column.name,
            OracleType.of(column.type, column.length, column.precision, column.scale),
            not column.nullable,
            None if column.is_virtual else column.default,
            column.comment,
            column.is_virtual,
        )
        for column in definition.columns
        if not column.is_hidden
    )
    return Table(definition.schema, definition.name, columns, tuple(definition.key))


@dataclass(frozen=True)
class OurReading:
    """The statements of a case, read by what reads the redo of its table."""

    case: Case

    @cached_property
    def table(self) -> Table:
        return described(Definition.read(self.case.tables[0], 0))

    @cached_property
    def config(self) -> OracleConfig:
        return OracleConfig.parse(
            {
                **CONNECTION,
                "connector.class": "oracle",
                "database.hostname": "nowhere",
                "headrace.compatibility": "debezium-3.6",
                **PLAIN,
                **{
                    name: value
                    for name, value in self.case.properties.items()
                    if name not in _OF_STREAMS
                },
            }
        )

    @cached_property
    def redo_table(self) -> RedoTable:
        charset = codec_of(self.case.database.get("charset", "AL32UTF8"))
        relaxed = self.config.internal_log_mining_sql_relaxed_quote_detection
        return RedoTable.of(self.table, charset=charset, relaxed=relaxed)

    @cached_property
    def _records(self) -> Any:
        capture = Capture(self.config)
        facts = capture.relation(self.table, self.table)
        return facts.shape(settings_of(self.config, capture))

    def schema(self) -> Any:
        """The schema of rows."""
        value = self._records.value
        assert isinstance(value, Struct)
        schema = next(field.schema for field in value.schema.fields if field.name == "after")
        return json.loads(schema.json)

    def read(self, statements: Sequence[str]) -> list[Answer]:
        """The result of each statement: as tests/golden/oracle/StatementRecorder.java writes it,
        but for the words of errors."""
        answers: list[Answer] = [{} for _ in statements]
        changes = [
            place
            for place, statement in enumerate(statements)
            if not statement.lstrip().lower().startswith(("declare", "buf_"))
        ]
        for place in set(range(len(statements))) - set(changes):
            try:
                answers[place] = self._apart(statements[place])
            except HeadraceError as error:
                answers[place] = {"error": error.code}
        redo = RedoStatements()
        number = redo.add(self.redo_table)
        texts = pa.array([statements[place] for place in changes], pa.string())
        images = redo.parse(texts, np.full(len(changes), number, np.int32))
        for row, place in enumerate(changes):
            if row in images.errors:
                answers[place] = {"error": images.errors[row].code}
                continue
            part = images.images[images.offsets[row] : images.offsets[row + 1]].tobytes()
            answers[place] = self._change(chr(images.operations[row]), part)
        return answers

    def _apart(self, statement: str) -> Answer:
        if statement.lstrip().startswith("buf_"):
            write = parse_lob_write(statement, self.redo_table)
            return {"offset": write.offset, "data": write.part}
        answer: Answer = {}
        named: NamedValue
        if "Stmt :=" in statement:
            named = parse_extended_begin(statement, self.redo_table)
        else:
            named = parse_locator(statement, self.redo_table)
            answer["binary"] = named.is_binary
        answer["column"] = self.table.columns[named.column].name
        return answer | self._shown("u", named.image, named.image)

    def _change(self, operation: str, images: bytes) -> Answer:
        end = len(image_of(_cells(images)))
        first, second = images[:end], images[end:]
        old, new = (b"", first) if operation == "c" else (first, second)
        return {"operation": OPERATIONS[operation], **self._shown(operation, old, new)}

    def _shown(self, operation: str, old: bytes, new: bytes) -> Answer:
        """Key, before and after as JSON."""
        memory = np.frombuffer(old + new + bytes(PADDING), np.uint8)
        rows = np.zeros(1, ROW)
        rows["operation"] = ord(operation)
        rows["size"] = len(old) + len(new)
        rows["old"] = address_of(memory) if old else 0
        rows["new"] = address_of(memory) + len(old) if new else 0
        table = RowTable(rows, no_transactions(), (memory,))
        place = np.zeros(1, np.int64)
        records = Records(self._records, table, place, place)
        try:
            (batch,) = slice_converter(self.config).convert([records], Sequences(1))
        except HeadraceError as error:
            return {"error": error.code}
        (row,) = batch.to_pylist()
        return {"key": row["key"], **_images(row["value"])}


def _cells(images: bytes) -> list[tuple[int, bytes]]:
    """The cells of the first of several images."""
    cells: list[tuple[int, bytes]] = []
    place = 2
    for _ in range(int.from_bytes(images[:2], "big")):
        kind = images[place]
        place += 1
        value = b""
        if kind not in (CellKind.NULL, CellKind.UNAVAILABLE):
            length = int.from_bytes(images[place : place + 4], "big")
            value = images[place + 4 : place + 4 + length]
            place += 4 + length
        cells.append((kind, value))
    return cells


def _images(event: str) -> Answer:
    """The texts of `before` and `after`, None for null."""
    decoder, answer, place = json.JSONDecoder(), {}, 0
    for name in ("before", "after"):
        place += len(f',"{name}":')
        value, end = decoder.raw_decode(event, place)
        answer[name] = None if value is None else event[place:end]
        place = end
    return answer
