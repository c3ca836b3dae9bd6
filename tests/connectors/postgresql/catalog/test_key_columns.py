"""Every key type in every mode: equal rendered keys are one key for the index and for chunks."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.connect.kernels.memory import PADDING
from headrace.connect.records import group_by_shape
from headrace.connect.rows import RowTable, Sequences
from headrace.connectors.postgresql.source import PostgresSettings, PostgresSource
from headrace.connectors.postgresql.types.options import PostgresTypeOptions as TypeOptions
from headrace.connectors.postgresql.types.resolve import PostgresType
from headrace.connectors.postgresql.types.type_facts import TypeFacts
from headrace.converters.json.values import JsonOptions
from headrace.errors import HeadraceError
from headrace.relational.events import ColumnFacts, RelationFacts
from headrace.streaming.changes.kernels import row_kernel
from headrace.streaming.changes.key_columns import KeyColumns, KeyRendering
from headrace.streaming.changes.key_hashes import key_hashes
from headrace.streaming.facts import shape_of
from tests.connectors.postgresql.facts import KEYS
from tests.connectors.postgresql.replication.pgoutput import (
    Index,
    begin,
    cell,
    image,
    insert,
    update,
)
from tests.converters.json_converter import json_converter

DECIMALS = [TypeOptions(decimal_handling_mode=mode) for mode in ("precise", "double", "string")]
TIMES = [
    TypeOptions(time_precision_mode=mode)
    for mode in (
        "adaptive",
        "adaptive_time_microseconds",
        "connect",
        "microseconds",
        "nanoseconds",
        "isostring",
        "structured",
    )
]
BINARIES = [
    TypeOptions(binary_handling_mode=mode, include_unknown_datatypes=True)
    for mode in ("bytes", "base64", "base64-url-safe", "hex")
]
INTERVALS = [TypeOptions(interval_handling_mode=mode) for mode in ("numeric", "string")]
MAPS = [TypeOptions(hstore_handling_mode=mode) for mode in ("json", "map")]
MONEY = [
    TypeOptions(decimal_handling_mode=mode, money_fraction_digits=digits)
    for mode in ("precise", "double", "string")
    for digits in (0, 2, 3)
]
ONE = [TypeOptions()]

NUMBERS = (
    "1", "1.0", "1.00", "10", "100", "0", "0.0", "-0", "-1", "-1.0", "0.1", "0.10", "1.5",
    "NaN", "Infinity", "-Infinity", "0.1234567890123456789", "0.12345678901234567891",
    "1" + "0" * 30, "1." + "0" * 1100, "9007199254740993", "9007199254740992", "1e3",
)  # fmt: skip
CLOCKS = (
    "00:00:00", "24:00:00", "00:00:00.0001", "00:00:00.0002", "00:00:00.1", "00:00:00.10",
    "23:59:59.999999", "10:11:12",
)  # fmt: skip
DAYS = ("2020-01-01", "0044-03-15 BC", "infinity", "-infinity", "20000-01-01", "1970-01-01")
INSTANTS = (
    "2020-01-01 00:00:00", "2020-01-01 00:00:00.0001", "2020-01-01 00:00:00.0002",
    "2020-01-01 00:00:00.100", "2020-01-01 00:00:00.1", "0044-03-15 01:02:03 BC", "infinity",
    "-infinity", "294276-01-01 00:00:00", "1970-01-01 00:00:00", "2262-04-12 00:00:00",
)  # fmt: skip

NUMERIC = TypeFacts(1700, "numeric")
INT4 = TypeFacts(23, "int4")


@dataclass(frozen=True)
class Kind:
    """A type in its modes, with texts of its values."""

    type: TypeFacts
    texts: tuple[str, ...]
    modes: list[TypeOptions]
    typmod: int = -1
    default: str | None = None


def of(name: str, *texts: str, modes: list[TypeOptions] = ONE, **more: object) -> Kind:
    schema = str(more.pop("schema", "pg_catalog"))
    return Kind(TypeFacts(1, name, schema), texts, modes, **more)  # type: ignore[arg-type]


KINDS = [
    of("int8", "0", "1", "-1", "9223372036854775807", default="0"),
    of("int4", "0", "1", "5", default="5"),
    of("oid", "0", "4294967295"),
    of("bool", "t", "f", default="false"),
    of("text", "", "a", "a ", "null", '"', "é😀", "__debezium_unavailable_value", default="'a'"),
    of("bpchar", "a  ", "b  ", typmod=7),
    of("uuid", "b68a35a7-17ad-35b3-af2a-ae46edb4545a", "00000000-0000-0000-0000-000000000000"),
    of("inet", "10.0.0.1", "10.0.0.0/8"),
    of("citext", "a", "A", schema="public"),
    of("float8", "0", "-0", "1", "1e+20", "NaN", "Infinity", "5e-324", "9.999999999999999e+22"),
    of("float4", "0", "-0", "0.1", "1e+10", "NaN", "1.6777216e+07", "3.4028235e+38"),
    of("numeric", *NUMBERS, modes=DECIMALS),
    of("numeric", *NUMBERS, modes=DECIMALS, default="1.0"),
    of("numeric", "1.00", "1.50", "-0.01", "NaN", modes=DECIMALS, typmod=(10 << 16 | 2) + 4),
    of("numeric", "100", "0", "12300", modes=DECIMALS, typmod=(5 << 16 | 0x7FE) + 4),
    of("money", "$1.00", "$1.50", "-$1.00", "$1,234.56", "$0.00", modes=MONEY),
    of("interval", "1 day", "24:00:00", "1 mon", "30 days 10:30:00", "infinity", "-00:00:00.5",
       "00:00:00", "1 year", "12 mons", modes=INTERVALS + TIMES),
    of("bit", "0", "1", typmod=1),
    of("bit", "000", "001", "100", typmod=3),
    of("varbit", "", "0", "00", "1", "01", "001"),
    of("bytea", r"\x", r"\x00", r"\xff", r"\x" + "ab" * 4000, modes=BINARIES),
    of("date", *DAYS, modes=TIMES, default="'1970-01-01'::date"),
    *[of("time", *CLOCKS, modes=TIMES, typmod=digits) for digits in (-1, 3, 6)],
    *[of("timestamp", *INSTANTS, modes=TIMES, typmod=digits) for digits in (-1, 3, 6)],
    of("timestamptz", *(f"{t[:-3]}+00 BC" if "BC" in t else t if "inf" in t else f"{t}+00"
                        for t in INSTANTS), modes=TIMES),
    of("timetz", "10:00:00+00", "11:00:00+01", "09:00:00-01", "24:00:00+00", "00:00:00+00",
       "10:00:00.5+00", "24:00:00+01", "23:00:00+00", modes=TIMES),
    of("pg_lsn", "0/1", "0/2", modes=[*ONE, *BINARIES]),
    of("hstore", '"a"=>"1", "b"=>NULL', '"b"=>NULL, "a"=>"1"', "", schema="public", modes=MAPS),
    of("vector", "[1,2]", "[1,3]", schema="public"),
    of("geometry", "0101000000000000000000F03F0000000000000040",
       "0101000000000000000000f03f0000000000000040", schema="public"),
    Kind(TypeFacts(2, "_int4", element=INT4), ("{1,2}", "[0:1]={1,2}", "{{1},{2}}", "{NULL}"), ONE),
    Kind(TypeFacts(2, "_numeric", element=NUMERIC), ("{1}", "{1.0}", "{NaN}", "{}"), DECIMALS),
    Kind(TypeFacts(3, "mood", "public", "e", labels=("ok", "sad")), ("ok", "sad"), ONE),
    Kind(TypeFacts(4, "price", "public", "d", base=NUMERIC), ("1", "1.0", "2"), DECIMALS),
]  # fmt: skip
CASES = [(kind, mode) for kind in KINDS for mode in kind.modes]
IDS = [f"{kind.type.name}-{kind.typmod}-{number}" for number, (kind, _) in enumerate(CASES)]
SETTINGS = {mode: PostgresSettings("s", PostgresSource("d"), types=mode) for _, mode in CASES}

NOTHING = ("null", "unavailable")  # no texts
Value = bytes | str
Row = tuple[Value, ...]
Keys = list[str | None]


def shown(value: Value) -> bytes:
    if isinstance(value, bytes):
        return cell(value)
    return cell(None, unavailable=value == "unavailable")


def relation(*columns: tuple[Kind, bool]) -> RelationFacts:
    facts = [
        ColumnFacts(f"k{number}", PostgresType(kind.type, kind.typmod), nullable, kind.default)
        for number, (kind, nullable) in enumerate(columns)
    ]
    return RelationFacts("public", "t", "s.public.t", tuple(facts), tuple(c.name for c in facts))


OPTIONS = [JsonOptions(), JsonOptions(replace_null_with_default=False, decimal_numeric=True)]
CONVERTERS = {options: json_converter(options, JsonOptions(), JsonOptions()) for options in OPTIONS}


def keys_of(facts: RelationFacts, options: JsonOptions, mode: TypeOptions, index: Index) -> Keys:
    """The rendered key of each row; raises where one has none."""
    assert index.status == row_kernel.MORE
    table = RowTable(index.real_rows(), index.transactions, (index.memory,))
    records = group_by_shape(table, {0: shape_of(facts, SETTINGS[mode])})
    batches = CONVERTERS[options].convert(records, Sequences(1))
    return [key for batch in batches for key in batch["key"].to_pylist()]


def renderable(
    facts: RelationFacts, options: JsonOptions, mode: TypeOptions, rows: Iterable[Row]
) -> list[Row]:
    """The rows whose key has a rendering: events show no others."""
    renderable_rows = []
    for row in rows:
        raw = begin(9) + insert(0, image(*map(shown, row)))
        with contextlib.suppress(HeadraceError):
            keys_of(facts, options, mode, Index(raw, [len(row)]))
            renderable_rows.append(row)
    return renderable_rows


def check(
    facts: RelationFacts, options: JsonOptions, mode: TypeOptions, rows: Sequence[Row]
) -> None:
    """Every row as an insert, in a chunk, and every update of one to another."""
    rendering = KeyRendering(replace(SETTINGS[mode], converting="skip"), options)
    keys = KeyColumns(facts, rendering)
    width = [len(facts.columns)]
    images = [image(*map(shown, row)) for row in rows]
    inserts = Index(begin(9) + b"".join(insert(0, i) for i in images), width, keys=keys)
    by_key: dict[str | None, set[int]] = {}
    rendered = keys_of(facts, options, mode, inserts)
    for key, hashed in zip(rendered, inserts.rows["hash"].tolist(), strict=True):
        by_key.setdefault(key, set()).add(hashed)
    assert all(len(hashes) == 1 for hashes in by_key.values())
    assert len(set.union(*by_key.values())) == len(by_key)

    offsets = np.cumsum([0, *map(len, images)]).astype(np.int64)
    memory = np.frombuffer(b"".join(images) + bytes(PADDING), np.uint8)
    of_chunk = key_hashes(memory, offsets, facts, rendering).tolist()
    assert len(set(zip(rendered, of_chunk, strict=True))) == len(by_key) == len(set(of_chunk))

    # An old image never lacks a value.
    pairs = [(i, j) for i, j in product(range(len(rows)), repeat=2) if "unavailable" not in rows[i]]
    raw = begin(9) + b"".join(update(0, images[j], images[i], b"O") for i, j in pairs)
    updates = Index(raw, width, keys=keys)
    shown_keys = keys_of(facts, options, mode, updates)
    at = 0
    for number, (i, _) in enumerate(pairs, 1):
        part = updates.rows[updates.rows["ordinal"] == number]
        texts = shown_keys[at : at + len(part)]
        at += len(part)
        operations = [chr(operation) for operation in part["operation"]]
        assert operations == (["u"] if texts[-1] == rendered[i] else ["d", "\0", "c"])
        assert texts[:-1] == [rendered[i]] * (len(part) - 1)
        for key, hashed in zip(texts, part["hash"].tolist(), strict=True):
            # An unavailable value is the old one, which makes keys that no insert has.
            assert by_key.setdefault(key, {hashed}) == {hashed}


@pytest.mark.parametrize(("kind", "mode"), CASES, ids=IDS)
def test_two_keys_are_one_exactly_when_they_render_the_same(kind: Kind, mode: TypeOptions) -> None:
    values: list[Row] = [(v,) for v in (*(text.encode() for text in kind.texts), *NOTHING)]
    for nullable, options in product((False, True), OPTIONS):
        facts = relation((kind, nullable))
        check(facts, options, mode, renderable(facts, options, mode, values))


@settings(max_examples=60)
@given(st.data())
def test_keys_of_several_columns_are_one_exactly_when_they_render_the_same(
    data: st.DataObject,
) -> None:
    options = data.draw(st.sampled_from(OPTIONS))
    mode = data.draw(st.sampled_from([mode for _, mode in CASES]))
    columns = data.draw(
        st.lists(st.tuples(st.sampled_from(KINDS), st.booleans()), min_size=2, max_size=4)
    )
    facts = relation(*columns)
    row = st.tuples(
        *(
            st.sampled_from([*(text.encode() for text in kind.texts), *NOTHING])
            for kind, _ in columns
        )
    )
    rows = renderable(facts, options, mode, data.draw(st.lists(row, min_size=1, max_size=6)))
    if rows:
        check(facts, options, mode, rows)


@settings(max_examples=60)
@given(
    st.lists(
        st.from_regex(r"-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,20})?", fullmatch=True),
        min_size=1,
        max_size=8,
    ),
    st.sampled_from(DECIMALS),
)
def test_numbers_are_one_key_exactly_when_they_render_the_same(
    texts: list[str], mode: TypeOptions
) -> None:
    texts += [text + ("0" if "." in text else ".0") for text in texts]
    facts = relation((of("numeric", modes=DECIMALS), False))
    check(facts, OPTIONS[0], mode, [(text.encode(),) for text in texts])


def test_two_tables_with_one_topic_share_the_hashes_of_equal_keys() -> None:
    hashes = set()
    for kind in (of("int4"), of("int8"), of("oid")):
        keys = KeyColumns(
            relation((kind, False)),
            KEYS,
        )
        hashes |= set(Index(begin(9) + insert(0, image(cell(b"7"))), [1], keys=keys).rows["hash"])
    assert len(hashes) == 1
