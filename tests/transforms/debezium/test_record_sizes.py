"""Estimates of records' sizes, against one that looks at the values of single records."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.connect.evaluation.units import first_bytes, first_units, unit_lengths
from headrace.connect.evaluation.values import connect_values
from headrace.connect.java_numbers import unscaled_bytes
from headrace.connect.json_records import read_records
from headrace.connect.json_values import dump_value
from headrace.connect.records import Constant, Header, Node, Records, Shape
from headrace.connect.schema import DECIMAL, Field, Schema, Type
from headrace.transforms.debezium.record_sizes import RecordSizes
from tests.converters.node_trees import TREES, Sources, sources
from tests.examples import examples

TEXT = Schema(Type.STRING, optional=True)
RAW = Schema(Type.BYTES, optional=True)
NUMBER = Schema(Type.INT32, optional=True)
PRICE = Schema(Type.BYTES, optional=True, name=DECIMAL, parameters=(("scale", "2"),))


def java_size(schema: Schema, value: Any) -> int:
    """The size of a value by ApproximateStructSizeCalculator."""
    if schema.type not in (
        Type.STRING, Type.BYTES, Type.STRUCT, Type.ARRAY, Type.MAP, Type.ANY
    ):  # fmt: skip
        return 24
    if value is None:
        return 0
    match schema.type:
        case Type.STRING:
            return 56 + len(value.encode())
        case Type.BYTES:
            return 24 + len(unscaled_bytes(value) if isinstance(value, Decimal) else value)
        case Type.STRUCT:
            return 56 + sum(8 + java_size(f.schema, value.get(f.name)) for f in schema.fields)
        case Type.ARRAY:
            assert schema.values is not None
            return 64 + sum(8 + java_size(schema.values, item) for item in value)
        case Type.MAP:
            assert schema.keys is not None
            assert schema.values is not None
            sides = ((schema.keys, value), (schema.values, value.values()))
            return 88 + sum(8 + java_size(side, item) for side, items in sides for item in items)
    return 0


@settings(max_examples=examples(200), deadline=None)
@given(sources(), TREES, TREES, st.integers(0, 3))
def test_any_tree_over_any_rows_is_as_large_as_its_values(
    given_: Sources, key: Node, value: Node, headers: int
) -> None:
    table, columns = given_
    rows = np.arange(len(table))
    carried = (Header("h", Constant(TEXT, "x")),) * headers
    records = Records(Shape("é", key, value, carried), table, rows, rows, columns)
    expected = [
        8 + 2 + 100 * headers + java_size(key.schema, key_value) + java_size(value.schema, other)
        for key_value, other in zip(
            connect_values(records, key), connect_values(records, value), strict=True
        )
    ]
    assert RecordSizes().of(records).tolist() == expected


def _extended(
    inner: st.SearchStrategy[tuple[Schema, st.SearchStrategy[Any]]],
) -> st.SearchStrategy[tuple[Schema, st.SearchStrategy[Any]]]:
    def array(items: tuple[Schema, st.SearchStrategy[Any]]) -> Any:
        schema = Schema(Type.ARRAY, optional=True, values=items[0])
        return schema, st.none() | st.lists(items[1], max_size=3)

    def mapping(items: tuple[Schema, st.SearchStrategy[Any]]) -> Any:
        schema = Schema(Type.MAP, optional=True, keys=Schema(Type.STRING), values=items[0])
        return schema, st.none() | st.dictionaries(st.text(max_size=3), items[1], max_size=3)

    def struct(items: list[tuple[Schema, st.SearchStrategy[Any]]]) -> Any:
        named = tuple(Field(f"f{n}", schema) for n, (schema, _) in enumerate(items))
        values = {f"f{n}": each for n, (_, each) in enumerate(items)}
        schema = Schema(Type.STRUCT, optional=True, fields=named)
        return schema, st.none() | st.fixed_dictionaries(values)

    return st.one_of(inner.map(array), inner.map(mapping), st.lists(inner, max_size=4).map(struct))


def prices(digits: int) -> st.SearchStrategy[Any]:
    unscaled = st.integers(-(10**digits), 10**digits)
    exact = unscaled.map(lambda number: Decimal(Decimal(number).as_tuple()._replace(exponent=-2)))
    return st.none() | exact | st.sampled_from([Decimal("-0.01"), Decimal("1.28"), Decimal("0.00")])


def typed(digits: int) -> st.SearchStrategy[tuple[Schema, st.SearchStrategy[Any]]]:
    """Types with the strategies of their values."""
    leaves: list[tuple[Schema, st.SearchStrategy[Any]]] = [
        (TEXT, st.none() | st.text(max_size=8)),
        (RAW, st.none() | st.binary(max_size=8)),
        (NUMBER, st.none() | st.integers(-9, 9)),
        (PRICE, prices(digits)),
    ]
    return st.recursive(st.sampled_from(leaves), _extended, max_leaves=6)


@settings(max_examples=examples(150), deadline=None)
@given(st.data(), st.sampled_from([70, 200]))
def test_lists_maps_structs_and_decimals_of_any_size_count_with_their_parts(
    data: st.DataObject, digits: int
) -> None:
    """Decimals of more than 76 digits have no form in Arrow."""
    typed_value, payloads = data.draw(typed(digits))
    schema = Schema(Type.STRUCT, fields=(Field("held", typed_value), Field("more", TEXT)))
    rows = data.draw(st.lists(payloads, min_size=1, max_size=4))
    values = [{"held": row, "more": "m"} for row in rows]
    described = {"type": "struct", "optional": False, "fields": [
        typed_value._json_object("held"), TEXT._json_object("more")]}  # fmt: skip
    entries = [
        {"topic": "t", "key": None, "headers": [],
         "value": {"schema": described, "payload": dump_value(schema, value)}}
        for value in values
    ]  # fmt: skip
    (records,) = read_records(entries)
    sizes = RecordSizes().of(records).tolist()
    assert sizes == [8 + 1 + java_size(schema, value) for value in values]


TEXTS = st.lists(
    st.none() | st.text(st.sampled_from("aé€😀𐍈\0"), max_size=9), min_size=1, max_size=6
)


@given(TEXTS, st.data())
def test_texts_are_measured_and_cut_as_java_does_but_for_halves(
    texts: list[str | None], data: st.DataObject
) -> None:
    whole = pa.array(["before", *texts], pa.large_string())
    array = whole.slice(1)
    encoded = [b"" if text is None else text.encode("utf-16-le") for text in texts]
    assert unit_lengths(array).tolist() == [len(raw) // 2 for raw in encoded]
    units = data.draw(st.lists(st.integers(0, 20), min_size=len(texts), max_size=len(texts)))
    expected = [
        None if text is None else raw[: 2 * count].decode("utf-16-le", "ignore")
        for text, raw, count in zip(texts, encoded, units, strict=True)
    ]
    assert first_units(array, np.array(units)).to_pylist() == expected
    binary = array.cast(pa.large_binary())
    assert first_bytes(binary, np.array(units)).to_pylist() == [
        None if text is None else text.encode()[:count]
        for text, count in zip(texts, units, strict=True)
    ]
