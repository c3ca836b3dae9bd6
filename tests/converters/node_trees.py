"""Random node trees of every kind, over random rows and random columns that transforms made."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from headrace.connect.encoding import Encoding
from headrace.connect.images import BINARY, NO_CELL, NULL, TEXT, UNAVAILABLE, image_of
from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connect.records import (
    Cell,
    Cells,
    Choice,
    Column,
    ColumnIdentity,
    Concat,
    Constant,
    Guarded,
    Image,
    Instant,
    Node,
    OrderField,
    ProcessingTime,
    Records,
    RowField,
    Shape,
    Struct,
    TextPart,
    TransactionField,
    group_by_shape,
    struct_of,
)
from headrace.connect.rows import (
    ADDRESSES,
    MARKERS,
    ORDER,
    ROW,
    TRANSACTION,
    TRANSACTION_NUMBERS,
    RowTable,
)
from headrace.connect.rows import NULL as NO_NUMBER
from headrace.connect.schema import Field, Schema, Type
from headrace.connect.trees import as_struct, entry, fields, select
from headrace.connectors.postgresql.source import PostgresSource, lsn_pair
from headrace.debezium.decimals import decimal_schema
from headrace.debezium.event_format import CURRENT
from headrace.debezium.source_info import snapshot_marker, snapshot_schema

STRING = Schema(Type.STRING, optional=True)
NUMBER = Schema(Type.INT64, optional=True)
_POINT = Schema(
    Type.STRUCT, name="a.Point", optional=True, fields=(Field("x", STRING), Field("y", NUMBER))
)
_LABELS = Schema(Type.MAP, optional=True, keys=Schema(Type.STRING), values=NUMBER)


def reversed_text(raw: bytes) -> str:
    """A conversion that no compiled encoder has."""
    return raw.decode()[::-1]


def _little_endian(raw: bytes) -> int:
    return int.from_bytes(raw, "little", signed=True)


def _number_bytes(value: int) -> bytes:
    return value.to_bytes(8, "little", signed=True)


@dataclass(frozen=True)
class Kind:
    """The content of a column of the random images, or of a made column. `stored` draws the bytes
    of a value at random; `null` and `unavailable` may replace a value."""

    schema: Schema
    encoding: Encoding
    parameter: int
    decode: Callable[[bytes], object]
    null: object
    unavailable: object
    stored: Callable[[Random], bytes]
    cell: int = TEXT


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)
_CHARACTERS = 'abc 019"\\/\b\t\n\x01\x1f\x7f<&é߿\u2028€\ufeff\uffff😀\U0010ffff'
_MOST = 10**18


def _text(random: Random) -> str:
    """Few characters or many, of all lengths in UTF-8 and with all escapes of JSON."""
    return "".join(random.choices(_CHARACTERS, k=random.choice([0, 1, 2, random.randrange(40)])))


def _encoded(random: Random) -> bytes:
    return _text(random).encode()


def _integer(random: Random) -> int:
    """An integer of any number of digits, or a limit of a type."""
    edge = random.choice([0, 1, 127, 128, 255, 2**31, 2**32 - 1, 10**9, _MOST])
    number = random.choice([edge, random.randrange(10 ** random.randint(1, 18))])
    return random.choice([-1, 1]) * number


def _decimal(random: Random) -> bytes:
    return str(
        Decimal(random.randint(-(10**11), 10**11) // 10 ** random.randrange(11)).scaleb(-2)
    ).encode()


def _point(random: Random) -> bytes:
    x, y = _text(random), _integer(random)
    point = {"x": random.choice([None, x]), "y": random.choice([None, y])}
    return json.dumps(point).encode()


def _labels(random: Random) -> bytes:
    names = random.sample(["k", "l", "m n"], random.randrange(4))
    return json.dumps({name: random.choice([None, _integer(random)]) for name in names}).encode()


_MADE_UP, _UNAVAILABLE = "made up", "__unavailable__"
KINDS: tuple[Kind, ...] = (
    Kind(NUMBER, Encoding.RAW, 0, int, 0, -1, lambda random: str(_integer(random)).encode()),
    Kind(STRING, Encoding.STRING, 0, bytes.decode, _MADE_UP, _UNAVAILABLE, _encoded),
    Kind(Schema(Type.BOOLEAN, optional=True), Encoding.BOOLEAN, 0, lambda t: t == b"t", False, None,
         lambda random: random.choice([b"t", b"f"])),
    Kind(STRING, Encoding.PYTHON, 0, reversed_text, _MADE_UP, _UNAVAILABLE, _encoded),
    Kind(decimal_schema(2, None).as_optional(), Encoding.DECIMAL, 2, lambda t: Decimal(t.decode()),
         Decimal("0.00"), None, _decimal),
    Kind(Schema(Type.STRING, optional=True, default="by default"), Encoding.STRING, 0, bytes.decode,
         None, None, _encoded),
    Kind(NUMBER, Encoding.INT64_LE, 0, _little_endian, 7, None,
         lambda random: _number_bytes(_integer(random)), BINARY),
    Kind(Schema(Type.BYTES, optional=True), Encoding.BYTES, 0, bytes, b"made up", b"unavailable",
         lambda random: random.randbytes(random.randrange(21)), BINARY),
    Kind(_POINT, Encoding.PYTHON, 0, json.loads, {"x": _MADE_UP, "y": 3}, {"x": _UNAVAILABLE},
         _point),
    Kind(_LABELS, Encoding.PYTHON, 0, json.loads, {"k": 5}, None, _labels),
)  # fmt: skip
_STRUCTS = [number for number, kind in enumerate(KINDS) if kind.schema.type is Type.STRUCT]
_MAPS = [number for number, kind in enumerate(KINDS) if kind.schema.type is Type.MAP]
IDENTITIES: tuple[ColumnIdentity, ...] = tuple(ColumnIdentity() for _ in KINDS)
"""The columns that transforms made: one of each kind."""
IMAGES = st.sampled_from(list(Image))


def text_cell(column: int, image: Image = Image.NEW, schema: Schema = STRING) -> Cell:
    return Cell(schema, image, column, Encoding.STRING, 0, bytes.decode)


@st.composite
def cells(draw: st.DrawFn, numbers: Sequence[int] = range(len(KINDS))) -> Cell | Column:
    """A cell of an image, or one of a made column."""
    number = draw(st.sampled_from(numbers))
    kind = KINDS[number]
    null = draw(st.sampled_from([None, kind.null]))
    if draw(st.booleans()):
        return Column(
            kind.schema, IDENTITIES[number], kind.encoding, kind.parameter, kind.decode, null
        )
    unavailable = draw(st.sampled_from([None, kind.unavailable]))
    return Cell(
        kind.schema, draw(IMAGES), number, kind.encoding, kind.parameter, kind.decode, null,
        unavailable,
    )  # fmt: skip


def choices() -> st.SearchStrategy[Choice]:
    texts = st.dictionaries(
        st.sampled_from([0, 1, 6, ord("c"), ord("u"), 255]), st.one_of(st.none(), TEXTS)
    )
    return st.builds(
        lambda name, choice_cases, otherwise: Choice(
            STRING, name, tuple(choice_cases.items()), otherwise
        ),
        st.sampled_from(["operation", "marker"]),
        texts,
        st.one_of(st.none(), TEXTS),
    )


def guards(nodes: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    """Nodes that are null where an image is absent or a cell is null."""
    return st.builds(Guarded, nodes, st.none() | IMAGES, st.none() | cells())


_SCALARS = [n for n in range(len(KINDS)) if n not in (*_STRUCTS, *_MAPS)]
_IN_TEXTS = [n for n in _SCALARS if KINDS[n].encoding is not Encoding.DECIMAL]
"""Columns that a TextPart may show: numbers, texts and bytes, but no decimals."""
_OF_TRANSACTION = st.sampled_from(list(TRANSACTION.names or ())[:TRANSACTION_NUMBERS]).map(
    lambda name: TransactionField(NUMBER, name)
)
_OF_ROW = st.sampled_from(["position", "position_high", "place", "ordinal", "part", "size"]).map(
    lambda name: RowField(NUMBER, name)
)
_OPERATION = st.just(RowField(STRING, "operation", character=True))


def concats() -> st.SearchStrategy[Concat]:
    nodes = st.one_of(
        cells(_IN_TEXTS),
        st.sampled_from(["place", "ordinal"]).map(lambda name: RowField(NUMBER, name)),
        _OPERATION,
        st.sampled_from(["xid", "last_commit"]).map(lambda n: TransactionField(NUMBER, n)),
        st.just(OrderField(NUMBER, "total")),
        st.just(ProcessingTime(NUMBER, "ms")),
        choices(),
        st.one_of(st.none(), TEXTS).map(lambda text: Constant(STRING, text)),
    )
    parts = st.builds(TextPart, nodes | guards(nodes), TEXTS, TEXTS, st.one_of(st.none(), TEXTS))
    return st.lists(parts, max_size=4).map(lambda nodes: Concat(STRING, tuple(nodes)))


def _lifted(node: Node, path: str) -> Node:
    lifted = select(node, path)
    assert lifted is not None
    return lifted


def _opened(node: Node) -> Node:
    struct = as_struct(node)
    assert struct is not None
    return struct


_INSTANTS = st.builds(Instant, st.just(STRING), _OF_ROW | _OF_TRANSACTION)
LEAVES: st.SearchStrategy[Node] = st.one_of(
    cells(),
    cells(),
    _OF_ROW,
    _OPERATION,
    _OF_TRANSACTION,
    st.sampled_from(list(ORDER.names or ())).map(lambda name: OrderField(NUMBER, name)),
    choices(),
    st.just(snapshot_marker(snapshot_schema(CURRENT))),
    st.just(PostgresSource("").transaction_id()),
    st.just(lsn_pair(STRING)),
    concats(),
    st.sampled_from(["ms", "us", "ns"]).map(lambda unit: ProcessingTime(NUMBER, unit)),
    _INSTANTS,
    st.one_of(st.none(), TEXTS).map(lambda text: Constant(STRING, text)),
    # What a cell holds, taken apart.
    cells(_STRUCTS).map(_opened),
    st.builds(_lifted, cells(_STRUCTS), st.sampled_from("xy")),
    st.builds(entry, cells(_MAPS), st.sampled_from(["k", "nowhere"])),
)


def struct(
    image: Image | None, members: Sequence[Node], presence: Cell | Column | None = None
) -> Struct:
    mandatory_struct = struct_of(
        "a.Name", {f'member "{n}"': node for n, node in enumerate(members)}
    )
    return Struct(mandatory_struct.schema.as_optional(), mandatory_struct.members, image, presence)


@st.composite
def _structs(draw: st.DrawFn, children: st.SearchStrategy[Node]) -> Node:
    """A struct of the children, some of their own members lifted into it and some shown twice."""
    members = draw(st.lists(children, max_size=5))
    for node in list(members):
        if isinstance(node, Struct | Guarded) and draw(st.booleans()):
            inner = node.node if isinstance(node, Guarded) else node
            names = list(fields(inner))
            if names:
                members.append(_lifted(node, draw(st.sampled_from(names))))
    if members and draw(st.booleans()):
        members.append(draw(st.sampled_from(members)))
    image = draw(st.sampled_from([None, *Image]))
    return struct(image, members, draw(st.none() | cells()))


TREES: st.SearchStrategy[Node] = st.recursive(
    LEAVES,
    lambda children: _structs(children) | _structs(children) | guards(children),
    max_leaves=25,
)


_RANDOMS = st.integers(0, 2**64 - 1).map(Random)


class Memory:
    """Images one after the other, as a segment holds them."""

    def __init__(self) -> None:
        self._images: list[bytes] = []
        self._rows: list[dict[str, object]] = []

    def place(self, raw: bytes | None) -> int:
        """The number of an image, from 1; 0 for None."""
        if raw is None:
            return 0
        self._images.append(raw)
        return len(self._images)

    def row(self, **fields: object) -> None:
        """A row; its ADDRESSES are numbers of images."""
        self._rows.append(fields)

    def table(self, transactions: np.ndarray | None = None) -> RowTable:
        buffer = np.frombuffer(b"".join(self._images) + bytes(PADDING), np.uint8).copy()
        starts = np.cumsum([0] + [len(raw) for raw in self._images])
        rows = np.zeros(len(self._rows), ROW)
        orders = np.zeros(len(self._rows), ORDER)
        for number, row in enumerate(self._rows):
            orders[number] = (number * 7, number)
            for name, value in row.items():
                if name in ADDRESSES and value:
                    at = int(value) - 1  # type: ignore[call-overload]
                    rows[number]["size"] += len(self._images[at])
                    value = address_of(buffer) + int(starts[at])
                rows[number][name] = value
        if transactions is None:
            transactions = np.zeros(1, TRANSACTION)
        for transaction in transactions:
            at = int(transaction["image"]) - 1
            if at >= 0:
                transaction["size"] = len(self._images[at])
                transaction["image"] = address_of(buffer) + int(starts[at])
        return RowTable(rows, transactions, (buffer,), orders)


def _milliseconds(random: Random) -> int:
    """Milliseconds within the years of four digits, at their ends, and beyond."""
    edge = random.choice([-1, 0, 253_402_300_799_999, 253_402_300_800_000, 2**63 - 1])
    return random.choice([edge, random.randrange(10**13), random.randrange(2**63)])


def _raw_image(random: Random) -> bytes:
    """Cells of all kinds; some images end before their last columns."""
    image: list[tuple[int, bytes]] = []
    for kind in KINDS[: random.choice([len(KINDS), random.randrange(len(KINDS))])]:
        cell = random.choice([kind.cell] * 3 + [NULL, UNAVAILABLE])
        image.append((cell, kind.stored(random) if cell == kind.cell else b""))
    return image_of(image)


def _table(random: Random) -> RowTable:
    memory = Memory()
    for number in range(random.randint(1, 6)):
        memory.row(
            **{name: memory.place(random.choice([None, _raw_image(random)])) for name in ADDRESSES},
            position=random.randrange(2 ** random.randint(0, 63)),
            position_high=random.randrange(2 ** random.randint(0, 63)),
            place=_milliseconds(random),
            ordinal=number,
            part=random.randint(0, 2),
            transaction=random.randint(0, 1),
            relation=random.randint(0, 1),
            operation=ord(random.choice("cud\0")),
            marker=random.randint(0, len(MARKERS)),
            flags=random.randint(0, 3),
        )
    transactions = np.zeros(2, TRANSACTION)
    for name in TRANSACTION.names or ():
        known = random.randrange(2 ** random.randint(0, 62))
        transactions[name] = [known, random.choice([NO_NUMBER, 0, -1])]
    transactions["image"] = [memory.place(_raw_image(random)), 0]
    transactions["size"] = 0
    return memory.table(transactions)


def tables() -> st.SearchStrategy[RowTable]:
    """Rows with random images. They are drawn as one number: to draw each cell by itself took nine
    tenths of the tests' time."""
    return _RANDOMS.map(_table)


def cells_of(values: Sequence[bytes | int | None], kind: int = TEXT) -> Cells:
    """A made column: texts or binary values, nulls (None), and cells of other kinds (a number)."""
    memory = np.frombuffer(
        b"".join(value for value in values if isinstance(value, bytes)) + bytes(PADDING), np.uint8
    ).copy()
    table = np.zeros((len(values), 3), np.int64)
    place = address_of(memory)
    for number, value in enumerate(values):
        if isinstance(value, bytes):
            table[number] = (kind, place, len(value))
            place += len(value)
        else:
            table[number, 0] = NULL if value is None else value
    return Cells(table, (memory,))


class Sources(NamedTuple):
    """The input of random trees: rows, and made columns over them."""

    table: RowTable
    columns: Mapping[ColumnIdentity, Cells]

    def records(self, shapes: Mapping[int, Shape]) -> list[Records]:
        """All rows, by the shape of their relation."""
        return [
            Records(r.shape, r.table, r.rows, r.place, self.columns)
            for r in group_by_shape(self.table, dict(shapes))
        ]


def _sources(random: Random) -> Sources:
    table = _table(random)
    columns = {}
    for identity, kind in zip(IDENTITIES, KINDS, strict=True):
        values = [
            random.choice([None, NO_CELL, UNAVAILABLE])
            if random.random() < 0.4
            else kind.stored(random)
            for _ in range(len(table))
        ]
        columns[identity] = cells_of(values, kind.cell)
    return Sources(table, columns)


def sources() -> st.SearchStrategy[Sources]:
    """Rows, and a made column of each kind over them; see `tables`."""
    return _RANDOMS.map(_sources)
