"""Node trees compiled to programs that write JSON as Kafka Connect's JsonConverter does."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from headrace.connect.encoding import Encoding
from headrace.connect.json_values import quote
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
    TextPart,
    TransactionField,
)
from headrace.connect.rows import ORDER
from headrace.connect.schema import Schema, Type
from headrace.converters import instructions as code
from headrace.converters.embedded import Embedded
from headrace.converters.instructions import ProgramForm
from headrace.converters.json.transaction_parts import transaction_parts
from headrace.converters.json.values import JsonOptions, render, render_cell
from headrace.converters.program import (
    CLOCKS,
    Assembler,
    MadeColumns,
    Program,
    offset_of,
    offset_of_choice,
    offset_of_instant,
    offset_of_number,
)


class _Compiler:
    def __init__(self, options: JsonOptions, made_columns: MadeColumns) -> None:
        self.options = options
        self.out = Assembler(ProgramForm.JSON, code.WORDS, made_columns)

    def constant(self, schema: Schema, value: object) -> bytes:
        return render(schema, value, self.options).encode()

    def absent(self, schema: Schema, value: object) -> bytes:
        # A required column without a made-up value is never null on the wire.
        has_default = schema.default is not None and self.options.replace_null_with_default
        if value is None and not schema.optional and not has_default:
            return b"null"
        return self.constant(schema, value)

    def node(self, node: Node | Embedded) -> None:
        out = self.out
        match node:
            case Embedded():
                out.pending += node.lead
                self.node(node.node)
                out.pending += node.tail
            case Struct():
                self.guard(node, b"null", self.members)
            case Guarded():
                self.guard(
                    node, self.absent(node.schema, None), lambda guarded: self.node(guarded.node)
                )
            case Cell():
                if out.guarded(node.image):
                    self.cell(node)
                    return
                # Null where the row lacks the image.
                null = self.absent(node.schema, None)
                opening = out.add(code.STRUCT, int(node.image), null=null)
                self.cell(node)
                out.jumps.append((opening, code.B, out.next))
            case Column():
                self.cell(node)
            case RowField():
                operation = code.ROW_CHARACTER if node.character else code.ROW_INT
                out.add(operation, offset_of(node))
            case TransactionField():
                null = self.absent(node.schema, None)
                out.add(code.TRANSACTION_INT, offset_of_number(node), null=null)
            case OrderField():
                fields = ORDER.fields
                assert fields is not None
                out.counted = True
                out.add(code.ORDER_INT, int(fields[node.name][1]))
            case Choice():
                self.choice(node)
            case Concat():
                self.concat(node)
            case ProcessingTime():
                out.add(code.CLOCK, CLOCKS[node.unit])
            case Instant():
                of_row = isinstance(node.node, RowField)
                offset = offset_of_instant(node)
                null = self.absent(node.schema, None)
                out.add(code.INSTANT, offset, 0 if of_row else 1, null=null)
            case Constant():
                out.pending += self.constant(node.schema, node.value)

    def cell(self, node: Cell | Column) -> None:
        encoding = node.encoding
        if encoding is Encoding.DECIMAL and self.options.decimal_numeric:
            encoding = Encoding.PYTHON
        null = self.absent(node.schema, node.null)
        unavailable = null
        parameter = (node.parameter << 8) | int(encoding)
        if isinstance(node, Column):
            operation, a, b = code.COLUMN, 0, self.out.number_of(node)
        else:
            operation, a, b = code.CELL, int(node.image), node.column
            if node.unavailable is not None:
                unavailable = self.constant(node.schema, node.unavailable)
        at = self.out.add(operation, a, b, parameter, null, unavailable)
        self.out.shows(at, node, encoding, partial(render_cell, node, options=self.options))

    def choice(self, node: Choice) -> None:
        texts = dict(node.texts)
        last = max(texts, default=-1) + 1
        choices = [texts.get(value, node.otherwise) for value in range(last)] + [node.otherwise]
        at = self.out.add(code.CHOICE, offset_of_choice(node), c=last)
        self.out.choice(
            at,
            [
                self.absent(node.schema, None) if text is None else self.constant(node.schema, text)
                for text in choices
            ],
        )

    def concat(self, node: Concat) -> None:
        """Write a Concat: numbers are printed directly; other nodes are rendered as JSON, and the
        kernel removes the quotes."""
        out = self.out
        null = self.absent(node.schema, None)
        required = [n for n, part in enumerate(node.parts) if part.null is None]
        if any(n > 0 or not _is_number(node.parts[n]) for n in required):
            out.add(code.TEXT_MARK)
        out.pending += b'"'
        to_end: list[tuple[int, int]] = []
        for number, part in enumerate(node.parts):
            before, after = _in_quotes(part.before), _in_quotes(part.after)
            out.pending += before
            # If the part is null: the text to write, and the number of bytes to remove before it.
            null_text, back = null, code.TO_MARK
            if part.null is not None:
                null_text, back = _in_quotes(part.null), len(before)
            elif number == 0 and _is_number(part):
                back = len(before) + 1
            match part.node:
                case RowField(character=False):
                    self.node(part.node)
                    out.pending += after
                    continue
                case TransactionField():
                    offset = offset_of_number(part.node)
                    at = out.add(code.TRANSACTION_INT, offset, back, 0, null_text, after)
                    if part.null is None:
                        to_end.append((at, code.C))
                    continue
                case _:
                    out.add(code.PART_BEGIN)
                    self.node(part.node)
                    at = out.add(code.PART_END, back, null=null_text)
            out.pending += after
            if part.null is None:
                to_end.append((at, code.B))
            else:
                out.add(code.NOTHING)
                out.jumps.append((at, code.B, out.next))
        out.pending += b'"'
        if to_end:
            out.add(code.NOTHING)
            out.jumps += [(at, word, out.next) for at, word in to_end]

    def members(self, node: Struct) -> None:
        lead = b"{"
        for field, member in zip(node.schema.fields, node.members, strict=True):
            self.out.pending += lead + quote(field.name).encode() + b":"
            lead = b","
            self.node(member)
        self.out.pending += b"}" if node.members else b"{}"

    def guard(self, node: Any, null: bytes, inside: Callable[[Any], None]) -> None:
        """Write the output of `inside` for a node, or `null` in rows that lack its image or
        presence."""
        out = self.out
        around = out.guards
        jumps: list[tuple[int, int]] = []
        presence = node.presence
        for image in (node.image, presence.image if isinstance(presence, Cell) else None):
            if image is not None and not out.guarded(image):
                jumps.append((out.add(code.STRUCT, int(image), null=null), code.B))
                out.guards = (*out.guards, image)
        if presence is not None:
            jumps.append((out.presence(presence, null), code.C))
        inside(node)
        out.guards = around
        if jumps:
            out.add(code.NOTHING)
            out.jumps += [(at, word, out.next) for at, word in jumps]

    def root(self, node: Node, lead: bytes, tail: bytes, *, null_has_schema: bool) -> None:
        """Write the whole program; if `node` is null, the row fails the guard or the result is
        NO_VALUE."""
        out = self.out
        out.pending = lead
        if isinstance(node, Struct) and node.presence is None and not null_has_schema:
            if node.image is not None:
                out.guard = code.GUARDS[node.image]
                out.guards = (node.image,)
            self.members(node)
            out.pending += tail
            out.add(code.END)
            return
        self.node(node)
        out.pending += tail
        if null_has_schema:
            out.add(code.END)
        else:
            out.add(code.END_UNLESS_NULL, len(lead), len(lead) + len(b"null") + len(tail))


def _is_number(part: TextPart) -> bool:
    """Whether the part's node prints only digits, or is null."""
    return isinstance(part.node, TransactionField) or (
        isinstance(part.node, RowField) and not part.node.character
    )


def _in_quotes(text: str) -> bytes:
    """A text as a JSON string, without its quotes."""
    return quote(text).encode()[1:-1]


def compile_json(
    node: Node, options: JsonOptions, made_columns: MadeColumns, *, null_has_schema: bool = False
) -> Program:
    """Return the program that renders `node` like JsonConverter, with the schema around it if
    `options.schemas_enable`. If the node is null, the program writes no text, unless
    `null_has_schema`."""
    compiler = _Compiler(options, made_columns)
    lead = tail = b""
    if options.schemas_enable:
        lead, tail = b'{"schema":' + node.schema.json.encode() + b',"payload":', b"}"
    has_schema = null_has_schema and node.schema.type is not Type.ANY
    compiler.root(node, lead, tail, null_has_schema=has_schema)
    compiler.out.keep(transaction_parts(compiler.out.instructions, compiler.out.jumps))
    return compiler.out.finish()
