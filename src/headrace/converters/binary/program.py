"""Node trees compiled to programs of the binary forms: one compiler, a layout per format."""

from __future__ import annotations

from dataclasses import dataclass, replace

from headrace.connect.encoding import Encoding
from headrace.connect.records import (
    Cell,
    Choice,
    Column,
    Concat,
    Constant,
    Guarded,
    Instant,
    Node,
    OrderField,
    ProcessingTime,
    RowField,
    Struct,
    TransactionField,
)
from headrace.connect.rows import ORDER, offset_in_row
from headrace.connect.schema import Schema
from headrace.converters import instructions as code
from headrace.converters.binary.kernels.interpreter import (
    ABSENT,
    BINARY_WORDS,
    CLOSE,
    JUMP,
    NOT_ALLOWED,
)
from headrace.converters.binary.layout import Layout, compiled_encoding
from headrace.converters.binary.texts import PARTS
from headrace.converters.embedded import Embedded
from headrace.converters.instructions import ProgramForm
from headrace.converters.program import (
    CLOCKS,
    Assembler,
    MadeColumns,
    Program,
    Render,
    offset_of,
    offset_of_choice,
    offset_of_instant,
    offset_of_number,
)
from headrace.errors import HeadraceError


@dataclass(frozen=True)
class _Null:
    """The effect of a null: `back` bytes are removed, `text` replaces them (None: a null is an
    error), and with `jumps`, which collects the jumps, the program continues elsewhere."""

    text: bytes | None
    back: int = 0
    jumps: list[int] | None = None


class _Compiler:
    def __init__(self, layout: Layout, made_columns: MadeColumns) -> None:
        self.layout = layout
        self.out = Assembler(layout.form, BINARY_WORDS, made_columns)

    def add(
        self,
        operation: int,
        schema: Schema,
        null: _Null,
        a: int = 0,
        b: int = 0,
        c: int = 0,
        unavailable: bytes | None = None,
    ) -> int:
        rest = (null.back, 0, self.layout.form_of(schema), self.layout.branch(schema))
        at = self.out.add(operation, a, b, c, null.text or b"", unavailable or b"", rest)
        words = self.out.instructions[at]
        if null.text is None:
            words[code.NULL_LENGTH // 8] = NOT_ALLOWED
            self.out.fails(at, _not_allowed(schema))
        if unavailable is None:
            words[code.UNAVAILABLE_LENGTH // 8] = -1
        if null.jumps is not None:
            null.jumps.append(at)
        return at

    def land(self, jumps: list[int]) -> None:
        """Let the jumps land at the next instruction."""
        if not jumps:
            return
        if self.out.pending:
            self.out.add(code.NOTHING, rest=_NO_REST)
        self.out.jumps += [(at, JUMP, self.out.next) for at in jumps]

    def node(self, node: Node | Embedded, schema: Schema, null: _Null) -> None:
        """Compile a node. `schema` is that of the value's place, which may be optional although the
        node's own is not."""
        out = self.out
        match node:
            case Embedded():
                out.add(code.BLOCK_MARK, rest=_NO_REST)
                out.pending += node.lead
                self.node(node.node, node.node.schema, _Null(None))
                self.add(code.BLOCK_END, schema, _Null(b""))
            case Struct() | Guarded():
                self.guarded(node, schema, null)
            case Cell():
                if out.guarded(node.image):
                    self.cell(node, schema, null)
                    return
                missing = _Null(null.text, null.back, [] if null.jumps is None else null.jumps)
                self.add(code.STRUCT, schema, missing, int(node.image))
                self.cell(node, schema, null)
                if null.jumps is None:
                    assert missing.jumps is not None
                    self.land(missing.jumps)
            case Column():
                self.cell(node, schema, null)
            case RowField():
                operation = code.ROW_CHARACTER if node.character else code.ROW_INT
                self.add(operation, schema, null, offset_of(node))
            case TransactionField():
                self.add(code.TRANSACTION_INT, schema, null, offset_of_number(node))
            case OrderField():
                fields = ORDER.fields
                assert fields is not None
                out.counted = True
                self.add(code.ORDER_INT, schema, null, int(fields[node.name][1]))
            case Choice():
                texts = dict(node.texts)
                last = max(texts, default=-1) + 1
                chosen = [texts.get(value, node.otherwise) for value in range(last)]
                at = self.add(code.CHOICE, schema, null, offset_of_choice(node), c=last)
                out.choice(at, [self.choice(schema, text) for text in (*chosen, node.otherwise)])
            case Concat():
                self.concat(node, schema, null)
            case ProcessingTime():
                self.add(code.CLOCK, schema, null, CLOCKS[node.unit])
            case Instant():
                at_row = isinstance(node.node, RowField)
                offset = offset_of_instant(node)
                self.add(code.INSTANT, schema, null, offset, 0 if at_row else 1)
            case Constant():
                self.constant(schema, node.value, null)

    def choice(self, schema: Schema, text: str | None) -> bytes | None:
        return None if text is None else self.layout.constant(schema, text)

    def constant(self, schema: Schema, value: object, null: _Null) -> None:
        text = None if value is None else self.layout.constant(schema, value)
        if text is not None:
            self.out.pending += text
            return
        # A CHOICE that is null for every byte.
        at = self.add(code.CHOICE, schema, null, offset_in_row("operation"))
        self.out.choice(at, [None])

    def cell(self, node: Cell | Column, schema: Schema, null: _Null) -> None:
        layout = self.layout
        encoding = Encoding.PYTHON
        if layout.is_compiled(schema):
            encoding = compiled_encoding(node.encoding, schema)
        made_up = None if node.null is None else layout.constant(schema, node.null)
        parameter = (node.parameter << 8) | int(encoding)
        unavailable = None
        if isinstance(node, Column):
            operation, a, b = code.COLUMN, 0, self.out.number_of(node)
        else:
            operation, a, b = code.CELL, int(node.image), node.column
            if node.unavailable is not None:
                unavailable = layout.constant(schema, node.unavailable)
        jumps: list[int] = []
        if made_up is not None and encoding is Encoding.PYTHON:
            # A value that Python finds to be null is not replaced.
            at = self.add(code.PRESENCE, schema, _Null(made_up, 0, jumps), a, b)
            if isinstance(node, Column):
                self.out.instructions[at][code.A // 8] = code.MADE
            self.out.decides(at, replace(node, null=None, encoding=Encoding.RAW))
            made_up = None
        else:
            null = null if made_up is None else _Null(made_up)
        at = self.add(operation, schema, null, a, b, parameter, unavailable)
        render = _render(layout, node, schema, may_be_null=made_up is None)
        self.out.shows(at, node, encoding, render)
        self.land(jumps)

    def guarded(self, node: Struct | Guarded, schema: Schema, null: _Null) -> None:
        out = self.out
        around = out.guards
        local: list[int] = []
        missing = _Null(null.text, null.back, local if null.jumps is None else null.jumps)
        if node.image is not None and not out.guarded(node.image):
            self.add(code.STRUCT, schema, missing, int(node.image))
            out.guards = (*out.guards, node.image)
        if isinstance(node.presence, Column):
            number = out.number_of(node.presence)
            out.decides(self.add(code.PRESENCE, schema, missing, code.MADE, number), node.presence)
        elif node.presence is not None:
            out.reads(node.presence)
            image, column = int(node.presence.image), node.presence.column
            at = self.add(code.PRESENCE, schema, missing, image, column)
            out.decides(at, node.presence)
        if isinstance(node, Guarded):
            self.node(node.node, schema, null)
        else:
            self.members(node, schema)
        out.guards = around
        self.land(local)

    def members(self, node: Struct, schema: Schema) -> None:
        out, layout = self.out, self.layout
        branch = layout.branch(schema)
        if branch >= 0:
            out.pending += bytes([branch])
        out.pending += layout.opening(schema)
        for number, (field, member) in enumerate(zip(schema.fields, node.members, strict=True)):
            name = layout.name(field, first=number == 0)
            out.pending += name
            if not layout.omits_nulls:
                self.node(member, field.schema, _Null(layout.null(field.schema)))
                continue
            jumps: list[int] = []
            default = layout.null(field.schema)
            null = _Null(b"", len(name), jumps) if default is None else _Null(default)
            self.node(member, field.schema, null)
            out.pending += b","
            self.land(jumps)
        closing = layout.closing(schema)
        if layout.omits_nulls:
            out.add(CLOSE, closing[0], rest=_NO_REST)
        else:
            out.pending += closing

    def concat(self, node: Concat, schema: Schema, null: _Null) -> None:
        out, layout = self.out, self.layout
        out.add(code.TEXT_MARK, rest=_NO_REST)
        to_null: list[int] = []
        self.layout = PARTS
        for part in node.parts:
            before = part.before.encode()
            out.pending += before
            default = PARTS.null(part.node.schema)
            to_next: list[int] = []
            if default is not None and not isinstance(part.node, TransactionField):
                missing = _Null(default)
            elif part.null is None:
                missing = _Null(b"", 0, to_null)
            else:
                missing = _Null(part.null.encode(), len(before), to_next)
            self.node(part.node, part.node.schema, missing)
            out.pending += part.after.encode()
            self.land(to_next)
        self.layout = layout
        end = self.add(code.TEXT_END, schema, _Null(b""))
        if to_null:
            out.jumps += [(at, JUMP, out.next) for at in to_null]
            self.add(code.TEXT_NULL, schema, null)
            out.jumps.append((end, code.C, out.next))

    def root(self, node: Node, lead: bytes) -> None:
        """Compile the whole program; if `node` is null, the row fails the guard or the result is
        NO_VALUE."""
        out = self.out
        out.pending = lead
        absent: list[int] = []
        if isinstance(node, Struct) and node.image is not None:
            out.guard = code.GUARDS[node.image]
            out.guards = (node.image,)
        self.node(node, node.schema, _Null(b"", 0, absent))
        out.add(code.END, rest=_NO_REST)
        if absent:
            out.jumps += [(at, JUMP, out.next) for at in absent]
            out.add(ABSENT, rest=_NO_REST)


_NO_REST = (0, 0, int(ProgramForm.TEXT), -1)


def _render(layout: Layout, node: Cell | Column, schema: Schema, *, may_be_null: bool) -> Render:
    def render(raw: bytes) -> bytes | None:
        value = node.decode(raw)
        text = None if value is None else layout.constant(schema, value)
        if text is None and not may_be_null:
            text = layout.null(schema)
            if text is None:
                _not_allowed(schema)(raw)
        return text

    return render


def _not_allowed(schema: Schema) -> Render:
    def render(_raw: bytes) -> bytes:
        raise HeadraceError(
            "converters.null_not_allowed",
            f"a required value of type {schema.type.value}"
            + (f" ({schema.name})" if schema.name else "")
            + " is null",
            "Make the column nullable, or exclude it with column.exclude.list.",
        )

    return render


def compile_binary(
    node: Node, layout: Layout, made_columns: MadeColumns, lead: bytes = b""
) -> Program:
    """Return the program that renders `node` in the format of `layout`, after `lead`. If the node
    is null, the program writes nothing."""
    compiler = _Compiler(layout, made_columns)
    compiler.root(node, lead)
    return compiler.out.finish()
