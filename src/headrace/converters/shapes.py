"""The programs of shapes: keys, values and headers by their converters."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connect.records import Constant, Header, Node, On, Records, Shape
from headrace.connect.trees import path_to
from headrace.converters import instructions as code
from headrace.converters.converter import Converter
from headrace.converters.program import MadeColumns, Program, Render
from headrace.errors import HeadraceError

_ON = {On.EVERY: code.ON_EVERY, On.DELETE: code.ON_DELETE, On.CREATE: code.ON_CREATE}


@dataclass(frozen=True)
class Converters:
    """The converters of the three roles."""

    key: Converter
    value: Converter
    header: Converter


@dataclass(frozen=True, eq=False)
class CompiledHeader:
    """A header that is a constant (`text`, None: null) or has a program."""

    name: str
    on: On
    text: bytes | None = None
    program: Program | None = None

    @property
    def is_constant(self) -> bool:
        """Whether every record has the header, with one value."""
        return self.program is None and self.on is On.EVERY


def named(error: HeadraceError, topic: str, role: str, path: str = "") -> HeadraceError:
    """Return the error with the record's topic and the field that it concerns. Errors of a schema
    registry already name their subject, those of a text that is too large their record."""
    if error.code == "converters.text_too_large" or error.code.startswith("registry."):
        return error
    subject = f"the {role} of a record of {topic}" + (f", field {path}" if path else "")
    return HeadraceError(
        error.code, f"{subject}: {error.message}", error.remedy, retriable=error.retriable
    )


class CompiledShape:
    """The programs of one shape, and the arguments of `emit` for them."""

    def __init__(self, shape: Shape, converters: Converters, names: dict[str, int]) -> None:
        """`names` are header names by number; the shape's are added."""
        self.made: MadeColumns = {}
        self.key = self._program("key", shape.key, converters.key, shape)
        self.value = self._program("value", shape.value, converters.value, shape)
        # The headers of key changes come first, as in Debezium.
        in_order = sorted(shape.headers, key=lambda header: header.on is On.EVERY)
        self._in_order = in_order
        self.headers = tuple(self._header(shape, header, converters.header) for header in in_order)
        self.constants = tuple((h.name, h.text) for h in self.headers if h.is_constant)
        self.has_header_programs = any(
            h.program is not None and h.on is On.EVERY for h in self.headers
        )
        programs = [p for p in (self.key, self.value) if p is not None]
        of_headers = [h.program for h in self.headers if h.program is not None]
        self.columns = max((max(p.columns, p.source_columns) for p in programs + of_headers),
                           default=0)  # fmt: skip
        self.forms = frozenset(p.form for p in programs + of_headers)
        self.counted = any(p.counted for p in programs + of_headers)
        self.has_documents = any(p.has_documents for p in programs + of_headers)
        self.renders: Mapping[int, Render] = {
            at: render for p in programs + of_headers for at, render in p.cells.items()
        }
        self._shape = weakref.ref(shape)  # owners of programs keep them as long as their shapes
        self._texts = [
            np.frombuffer(h.text + bytes(PADDING), np.uint8).copy() if h.text is not None else None
            for h in self.headers
        ]
        self._table = self._header_table(names)
        self._words = self._shape_words(programs, of_headers)

    def _program(
        self, role: str, node: Node | None, converter: Converter, shape: Shape
    ) -> Program | None:
        if node is None:
            return None
        has_schema = shape.null_has_schema
        try:
            return converter.program(shape.topic, node, self.made, null_has_schema=has_schema)
        except HeadraceError as error:
            raise named(error, shape.topic, role) from None

    def _header(self, shape: Shape, header: Header, converter: Converter) -> CompiledHeader:
        node = header.node
        try:
            if isinstance(node, Constant):
                text = converter.constant(shape.topic, node.schema, node.value)
                return CompiledHeader(header.name, header.on, text)
            program = converter.program(shape.topic, node, self.made, null_has_schema=True)
        except HeadraceError as error:
            raise named(error, shape.topic, f"header {header.name}") from None
        return CompiledHeader(header.name, header.on, program=program)

    def _header_table(self, names: dict[str, int]) -> np.ndarray:
        table = np.zeros((max(len(self.headers), 1), code.HEADER_WORDS), np.int64)
        for words, header, text in zip(table, self.headers, self._texts, strict=False):
            words[code.NAME] = names.setdefault(header.name, len(names))
            words[code.ON] = _ON[header.on]
            words[code.TEXT_LENGTH] = -1 if header.text is None else len(header.text)
            words[code.TEXT] = 0 if text is None else address_of(text)
            words[code.PROGRAM_CONSTANT] = 0 if header.text is None else len(header.text)
            if header.program is not None:
                words[code.PROGRAM_CONSTANT] = header.program.largest
                words[code.PROGRAM_GROWTH] = header.program.growth
                words[code.PROGRAM] = header.program.address
                words[code.PROGRAM_FORM] = header.program.form
                words[code.PROGRAM_GUARD] = header.program.guard
        return table

    def _shape_words(self, programs: list[Program], of_headers: list[Program]) -> np.ndarray:
        words = np.zeros(code.SHAPE_WORDS, np.int64)
        words[code.SHAPE_COLUMNS] = max((p.columns for p in programs), default=0)
        words[code.SHAPE_SOURCE_COLUMNS] = max((p.source_columns for p in programs), default=0)
        if self.value is not None:
            words[code.VALUE_PROGRAM] = self.value.address
            words[code.VALUE_CONSTANT] = self.value.largest
            words[code.VALUE_GROWTH] = self.value.growth
            words[code.VALUE_GUARD] = self.value.guard
            words[code.VALUE_FORM] = self.value.form
        if self.key is not None:
            words[code.KEY_PROGRAM] = self.key.address
            words[code.KEY_CONSTANT] = self.key.largest
            words[code.KEY_GROWTH] = self.key.growth
            words[code.KEY_GUARD] = self.key.guard
            words[code.KEY_FORM] = self.key.form
        words[code.SHAPE_HEADERS] = address_of(self._table)
        words[code.SHAPE_HEADER_COUNT] = len(self.headers)
        words[code.HEADER_COLUMNS] = max((p.columns for p in of_headers), default=0)
        words[code.HEADER_SOURCE_COLUMNS] = max((p.source_columns for p in of_headers), default=0)
        return words

    def place_of(self, instruction: int) -> tuple[str, str]:
        """Return the role (key, value or header) of the node that an instruction shows, and the
        path of its field, empty if it has no field."""
        shape = self._shape()
        if shape is None:
            return "value", ""
        parts = [("key", shape.key, self.key), ("value", shape.value, self.value)]
        for role, tree, program in parts:
            if program is not None and instruction in program.cells:
                node = program.nodes.get(instruction)
                return role, (node and tree and path_to(tree, node)) or ""
        for header, compiled in zip(self._in_order, self.headers, strict=True):
            if compiled.program is not None and instruction in compiled.program.cells:
                return "header", header.name
        return "value", ""

    def words(self, records: Records) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the entry in `programs` of `emit` for Records of this shape, and memory that it
        points into. Raises HeadraceError if the Records lack a column that the shape shows."""
        if not self.made:
            return self._words, None
        tables = np.zeros(len(self.made), np.int64)
        for identity, number in self.made.items():
            cells = records.columns.get(identity)
            if cells is None or cells.table.shape != (len(records.table), 3):
                raise HeadraceError(
                    "converters.column_missing",
                    f"records of {records.shape.topic} lack the values of a column that their "
                    "shape shows, or have them for another number of rows",
                    "This is a defect of a transform; report it.",
                )
            assert cells.table.flags.c_contiguous
            assert cells.table.dtype == np.int64
            tables[number] = address_of(cells.table)
        words = self._words.copy()
        words[code.SHAPE_MADE], words[code.MADE_COUNT] = address_of(tables), len(tables)
        return words, tables

    def made_bytes(self, records: Records, row: int) -> int:
        """Bytes of the made cells of a row of the table."""
        tables = (records.columns[identity].table for identity in self.made)
        return sum(int(table[row, 2]) for table in tables if int(table[row, 0]) in _WITH_VALUE)


_WITH_VALUE = (ord("t"), ord("b"))
