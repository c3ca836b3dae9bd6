from __future__ import annotations

import json
from typing import Any
from unittest import mock

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.connect.records import Records, group_by_shape
from headrace.connect.rows import RowTable, Sequences
from headrace.connectors.postgresql.source import PostgresSettings, PostgresSource
from headrace.converters import rows as slice_rows
from headrace.converters.json.values import JsonOptions
from headrace.debezium.column_rules import Hash
from headrace.errors import HeadraceError
from headrace.relational.events import RelationFacts
from headrace.streaming.facts import shape_of
from tests.connectors.postgresql.facts import column
from tests.connectors.postgresql.replication.pgoutput import (
    Index,
    begin,
    cell,
    commit,
    delete,
    image,
    insert,
    update,
)
from tests.converters.json_converter import json_converter
from tests.converters.plain_renderer import PlainRenderer
from tests.converters.plain_values import NOW
from tests.examples import examples

OPTIONS = JsonOptions()
SETTINGS = PostgresSettings("server", PostgresSource("shop"), run="a-run")
TYPES = {"int4": 23, "text": 25, "numeric": 1700, "timestamptz": 1184, "bool": 16, "float8": 701}
COLUMNS = ("int4", "text", "numeric", "timestamptz", "bool", "float8")


def facts(table: str) -> RelationFacts:
    return RelationFacts(
        "public",
        table,
        f"server.public.{table}",
        tuple(
            column(
                f'{name} "column"',
                name,
                TYPES[name],
                655366 if name == "numeric" else -1,
                nullable=number > 0,
            )
            for number, name in enumerate(COLUMNS)
        ),
        ('int4 "column"',),
    )  # fmt: skip


def convert(index: Index, shapes: dict[int, Any]) -> tuple[RowTable, list[dict[str, Any]]]:
    table = RowTable(index.real_rows(), index.transactions, (index.memory,))
    records = group_by_shape(table, shapes)
    rendered: list[dict[str, Any]] = []
    with mock.patch("headrace.converters.rows.time.time_ns", return_value=NOW):
        for batch in json_converter(OPTIONS, OPTIONS, OPTIONS).convert(records, Sequences(1)):
            # The batch's memory is used again: copy it.
            rendered += pa.RecordBatch.from_pylist(
                batch.to_pylist(), schema=batch.schema
            ).to_pylist()
    return table, rendered


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)
NUMERIC = st.one_of(
    st.decimals(-(10**8) + 1, 10**8 - 1, places=2).map(str), st.sampled_from(["NaN"])
)
TIMES = st.datetimes().map(lambda t: t.isoformat(" ") + "+00") | st.sampled_from(
    ["infinity", "0044-03-15 10:00:00+00 BC", "2026-01-01 00:00:00+00"]
)
DOUBLES = st.floats().map(
    lambda x: {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}.get(str(x), repr(x))
)


@st.composite
def images(draw: st.DrawFn, key: int) -> bytes:
    values: list[bytes | None] = [str(key).encode()]
    for strategy in (TEXT, NUMERIC, TIMES, st.sampled_from("tf"), DOUBLES):
        value = draw(st.none() | strategy)
        values.append(None if value is None else value.encode())
    return image(*(cell(value) for value in values))


@st.composite
def changes(draw: st.DrawFn) -> bytes:
    parts = [begin(1000, 5, draw(st.integers(0, 10**15)))]
    for lsn in range(draw(st.integers(1, 8))):
        relation = draw(st.integers(0, 1))
        row = draw(images(draw(st.integers(-9, 9))))
        match draw(st.sampled_from("iukod")):
            case "i":
                parts.append(insert(relation, row, lsn))
            case "u":
                parts.append(update(relation, row, lsn=lsn))
            case "k":
                old = image(cell(str(draw(st.integers(-9, 9))).encode()), *[cell(None)] * 5)
                parts.append(update(relation, row, old, b"K", lsn))
            case "o":
                toasted = draw(images(1))[:2] + cell(b"1") + b"u" * 5
                parts.append(update(relation, toasted, row, b"O", lsn))
            case "d":
                parts.append(delete(relation, row, b"O", lsn))
    return b"".join([*parts, commit(1000, 1010)])


@settings(max_examples=examples(150), deadline=None)
@given(changes())
def test_the_compiled_programs_give_what_the_nodes_say(raw: bytes) -> None:
    index = Index(raw, [6, 6])
    shapes = {n: shape_of(facts(f"t{n}"), SETTINGS) for n in (0, 1)}
    table, rendered = convert(index, shapes)
    assert len(rendered) == len(table.rows)
    plain = PlainRenderer(table, OPTIONS)
    for number, (row, record) in enumerate(zip(table.rows, rendered, strict=True)):
        shape = shapes[int(row["relation"])]
        assert shape.key is not None
        assert shape.value is not None
        assert record["topic"] == shape.topic
        assert record["key"] == plain.root(shape.key, number)
        assert record["value"] == (plain.root(shape.value, number) if row["operation"] else None)
        json.loads(record["key"])


@settings(max_examples=50, deadline=None)
@given(changes())
def test_sequences_are_distinct_and_sort_in_the_order_of_the_log(raw: bytes) -> None:
    index = Index(raw, [6, 6])
    shapes = {n: shape_of(facts(f"t{n}"), SETTINGS) for n in (0, 1)}
    _table, rendered = convert(index, shapes)
    sequences = [record["sequence"] for record in rendered]
    assert sequences == sorted(set(sequences))
    assert {len(s) for s in sequences} == {57}


def test_both_halves_of_a_key_change_carry_each_others_key() -> None:
    new = image(cell(b"2"), *[cell(None)] * 5)
    old = image(cell(b"1"), *[cell(None)] * 5)
    raw = begin(10) + update(0, new, old, b"K") + commit(10, 20)
    _table, rendered = convert(Index(raw, [6]), {0: shape_of(facts("t"), SETTINGS)})
    headers = [[(h["key"], h["value"]) for h in record["headers"]] for record in rendered]
    assert headers[0][0] == ("__debezium.newkey", b'{"int4 \\"column\\"":2}')
    assert headers[1][0] == ("__debezium.newkey", b'{"int4 \\"column\\"":2}')
    assert headers[2][0] == ("__debezium.oldkey", b'{"int4 \\"column\\"":1}')
    assert [key for key, _ in headers[0][1:]] == [
        "__debezium.context.connectorLogicalName",
        "__debezium.context.taskId",
        "__debezium.context.connectorName",
        "__debezium.context.runId",
    ]


def test_a_row_larger_than_a_batch_is_rendered_whole() -> None:
    large = b"x" * (3 << 20)
    new = image(cell(b"1"), cell(large), *[cell(None)] * 4)
    raw = begin(10) + insert(0, new) + commit(10, 20)
    _table, rendered = convert(Index(raw, [6]), {0: shape_of(facts("t"), SETTINGS)})
    assert json.loads(rendered[0]["value"])["after"]['text "column"'] == large.decode()


def test_schemas_stand_around_key_and_value_when_asked_for() -> None:
    raw = begin(10) + insert(0, image(cell(b"1"), *[cell(None)] * 5)) + commit(10, 20)
    index = Index(raw, [6])
    shape = shape_of(facts("t"), SETTINGS)
    table = RowTable(index.real_rows(), index.transactions, (index.memory,))
    options = JsonOptions(schemas_enable=True)
    converter = json_converter(options, options, OPTIONS)
    (batch,) = converter.convert(group_by_shape(table, {0: shape}), Sequences(1))
    record = batch.to_pylist()[0]
    assert json.loads(record["key"])["schema"]["name"] == "server.public.t.Key"
    assert json.loads(record["value"])["payload"]["op"] == "c"
    assert shape.value is not None
    assert shape.value.schema.json in record["value"]


def hashed(columns: int) -> tuple[RelationFacts, Hash]:
    """A table with a key and `columns` texts that are hashed."""
    rule = Hash("sha512", "salt")
    texts = (column(f"c{n}", "text", 25, rule=rule) for n in range(columns))
    key = column("id", "int4", 23, nullable=False)
    return RelationFacts("public", "h", "server.public.h", (key, *texts), ("id",)), rule


def test_cells_that_python_renders_are_rendered_in_every_row_of_a_long_slice() -> None:
    table, rule = hashed(2)
    count = 9_000
    rows = []
    for n in range(count):
        sparse = cell(b"x%d" % n) if n % 100 == 0 else cell(None)
        rows.append(insert(0, image(cell(b"%d" % n), cell(b"%d" % (n // 2)), sparse)))
    raw = begin(10) + b"".join(rows) + commit(10, 20)
    _table, rendered = convert(Index(raw, [3]), {0: shape_of(table, SETTINGS)})
    assert len(rendered) == count
    for n, record in enumerate(rendered):
        after = json.loads(record["value"])["after"]
        sparse_digest = rule.digest(f"x{n}") if n % 100 == 0 else None
        assert after == {"id": n, "c0": rule.digest(str(n // 2)), "c1": sparse_digest}


def test_texts_that_grow_when_python_renders_them_have_room() -> None:
    columns, count = 1600, 80  # more than a batch holds
    table, rule = hashed(columns)
    rows = [
        update(
            0,
            image(cell(b"1"), *[cell(b"%d" % (n % 3))] * columns),
            image(cell(b"1"), *[cell(b"%d" % (n % 2))] * columns),
            b"O",
        )
        for n in range(count)
    ]
    raw = begin(10) + b"".join(rows) + commit(10, 20)
    _table, rendered = convert(Index(raw, [columns + 1]), {0: shape_of(table, SETTINGS)})
    assert len(rendered) == count
    for n, record in enumerate(rendered):
        value = json.loads(record["value"])
        assert set(list(value["before"].values())[1:]) == {rule.digest(str(n % 2))}
        assert set(list(value["after"].values())[1:]) == {rule.digest(str(n % 3))}


def test_a_record_that_python_cannot_render_is_reported_and_left_out() -> None:
    table = RelationFacts(
        "public",
        "n",
        "server.public.n",
        (
            column("id", "int4", 23, nullable=False),
            column("v", "numeric", 1700, 655366, nullable=False),
        ),
        ("id",),
    )
    shape = shape_of(table, SETTINGS)
    rows = [
        insert(0, image(cell(b"%d" % n), cell(b"NaN" if n % 3 == 1 else b"1.00")))
        for n in range(1000)
    ]
    index = Index(begin(10) + b"".join(rows) + commit(10, 20), [2])
    records = RowTable(index.real_rows(), index.transactions, (index.memory,))
    errors: list[str] = []

    def failed(record: Records, role: str, error: HeadraceError) -> None:
        errors.append(f"{record.shape.topic} {role} {error.code} {error.message}")

    converter = json_converter(OPTIONS, OPTIONS, OPTIONS)
    keys = [
        json.loads(record["key"])["id"]
        for batch in converter.convert(group_by_shape(records, {0: shape}), Sequences(1), failed)
        for record in batch.to_pylist()
    ]
    assert keys == [n for n in range(1000) if n % 3 != 1]
    place = "the value of a record of server.public.n, field after.v: "
    code = "server.public.n value relational.value_not_representable"
    assert len(errors) == 333
    assert all(each.startswith(f"{code} {place}") for each in errors)
    strict = json_converter(OPTIONS, OPTIONS, OPTIONS)
    with pytest.raises(HeadraceError, match="cannot hold"):
        list(strict.convert(group_by_shape(records, {0: shape}), Sequences(1)))


@pytest.mark.parametrize("schemas", [False, True])
def test_a_record_larger_than_arrow_can_hold_is_an_error_that_names_table_and_lsn(
    monkeypatch: pytest.MonkeyPatch, *, schemas: bool
) -> None:
    # A record larger than a batch's buffers; the limit itself would take gigabytes.
    monkeypatch.setattr(slice_rows, "LARGEST_TEXT", 36_000_000)
    large, larger = b"\x01" * 5_990_000, b"\x01" * 6_010_000
    rows = [
        insert(0, image(cell(b"%d" % n), cell(text), *[cell(None)] * 4), lsn=0x16B374D8 + n)
        for n, text in enumerate((b"a", large, larger, b"b"))
    ]
    index = Index(begin(10) + b"".join(rows) + commit(10, 20), [6])
    shape = shape_of(facts("t"), SETTINGS)
    table = RowTable(index.real_rows(), index.transactions, (index.memory,))
    options = JsonOptions(schemas_enable=schemas)
    with pytest.raises(HeadraceError) as raised:
        list(
            json_converter(options, options, OPTIONS).convert(
                group_by_shape(table, {0: shape}), Sequences(1)
            )
        )
    assert raised.value.code == "converters.text_too_large"
    assert "server.public.t at the place 380859610 of the log " in raised.value.message
    errors: list[HeadraceError] = []
    lenient = json_converter(options, options, OPTIONS)
    keys = [
        json.loads(key).get("payload", json.loads(key))
        for batch in lenient.convert(
            group_by_shape(table, {0: shape}), Sequences(1), lambda *of: errors.append(of[2])
        )
        for key in batch.column("key").to_pylist()
    ]
    assert [key['int4 "column"'] for key in keys] == [0, 1, 3]
    assert [error.code for error in errors] == ["converters.text_too_large"]


def test_rows_after_a_large_one_do_not_share_its_buffer() -> None:
    """A batch's memory is bounded by a batch's buffers, or is one record."""
    texts = [b"\x01" * 20_000_000, *[b"\x01" * 2_000_000] * 8]
    rows = [
        insert(0, image(cell(b"%d" % n), cell(text), *[cell(None)] * 4))
        for n, text in enumerate(texts)
    ]
    index = Index(begin(10) + b"".join(rows) + commit(10, 20), [6])
    table = RowTable(index.real_rows(), index.transactions, (index.memory,))
    records = group_by_shape(table, {0: shape_of(facts("t"), SETTINGS)})
    sizes = [
        [len(value) for value in batch.column("value").to_pylist()]
        for batch in json_converter(OPTIONS, OPTIONS, OPTIONS).convert(records, Sequences(1))
    ]
    assert sum(len(batch) for batch in sizes) == len(texts)
    assert all(len(batch) == 1 or sum(batch) <= slice_rows.MAX_BYTES for batch in sizes)
