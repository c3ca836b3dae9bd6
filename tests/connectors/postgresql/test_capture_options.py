"""Options of what is captured: skipped updates, replica identities, guardrail, failures."""

from __future__ import annotations

import json
import logging

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connectors.postgresql.replica_identity_rules import (
    IdentityRule,
    parse_identity_rules,
)
from headrace.errors import HeadraceError
from headrace.streaming.changes.kernels import row_kernel
from tests.compiled import callable_part
from tests.connectors.postgresql.harness import Reader
from tests.servers.postgresql import Database

_without_zeros = callable_part(row_kernel._without_zeros)


def streamed(database: Database, *statements: str, **more: str) -> list[tuple[str, str]]:
    """Operation and key of each record, tombstones included."""
    properties = {name.replace("__", "."): value for name, value in more.items()}
    reader = Reader(database.properties() | {"snapshot.mode": "no_data"} | properties)
    try:
        reader.step()
        for statement in statements:
            database.execute(statement)
        reader.drain()
    finally:
        reader.stop()
    records = sorted(reader.records, key=lambda record: record["sequence"])
    return [
        (json.loads(record["value"])["op"] if record["value"] else "", record["key"])
        for record in records
    ]


@pytest.mark.postgres
def test_an_update_of_a_key_that_is_not_shown_is_never_skipped(database: Database) -> None:
    database.execute("CREATE TABLE k (id int PRIMARY KEY, v int)")
    database.execute("ALTER TABLE k REPLICA IDENTITY FULL; INSERT INTO k VALUES (1, 1)")
    streamed_events = streamed(
        database,
        "UPDATE k SET v = 1",
        "UPDATE k SET id = 2",
        skip__messages__without__change="true",
        column__exclude__list=r"public\.k\.id",
    )
    assert streamed_events == [("d", '{"id":1}'), ("", '{"id":1}'), ("c", '{"id":2}')]


@pytest.mark.postgres
def test_an_update_of_the_hidden_end_of_bytes_is_skipped(database: Database) -> None:
    database.execute("CREATE TABLE b (id int PRIMARY KEY, v bytea)")
    database.execute(r"ALTER TABLE b REPLICA IDENTITY FULL; INSERT INTO b VALUES (1, '\x010203')")
    streamed_events = streamed(
        database,
        r"UPDATE b SET v = '\x0102ff'",
        r"UPDATE b SET v = '\x01'",
        r"UPDATE b SET v = NULL",
        skip__messages__without__change="true",
        **{"column.truncate.to.2.chars": r"public\.b\.v"},
    )
    assert streamed_events == [("u", '{"id":1}')] * 2


NUMBERS = st.decimals(allow_nan=False, allow_infinity=False, places=4) | st.integers()


@given(NUMBERS, st.integers(0, 3))
def test_numbers_are_compared_without_zeros_at_the_end_of_the_fraction(
    number: object, zeros: int
) -> None:
    def length(text: str) -> int:
        raw = np.frombuffer(text.encode() + bytes(PADDING), np.uint8)
        return int(_without_zeros(address_of(raw), len(text)))

    text = f"{number:f}" if not isinstance(number, int) else str(number)
    if "." not in text:
        assert length(text) == len(text)
    longer = text + "0" * zeros if "." in text else text
    trimmed = text.rstrip("0").rstrip(".") if "." in text else text
    assert length(longer) == len(trimmed)


def test_identity_rules_are_read() -> None:
    assert parse_identity_rules(r"s\.a(?:b|c):full, s\.[d,e]:INDEX my index,x.y:Nothing") == (
        IdentityRule(r"s\.a(?:b|c)", "FULL"),
        IdentityRule(r"s\.[d,e]", "INDEX", "my index"),
        IdentityRule("x.y", "NOTHING"),
    )
    for text in ("s.t", "s.t:", ":FULL", "s.t:INDEX", "s.(t:FULL", "s.t:FULLY"):
        with pytest.raises(ValueError, match=r"\S"):
            parse_identity_rules(text)


def identities(database: Database) -> dict[str, str]:
    rows = database.execute(
        "SELECT relname::text, relreplident::text FROM pg_class"
        " WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
    )
    return {str(name): str(identity) for name, identity in rows}


@pytest.mark.postgres
def test_replica_identities_are_set_at_start(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("full", "indexed", "twice", "other"):
        database.execute(
            f'CREATE TABLE "{name}" (id int PRIMARY KEY, v int NOT NULL);'
            f'CREATE UNIQUE INDEX "{name} i" ON "{name}" (v)'
        )
    rules = "public.full:FULL,public.indexed:INDEX indexed i,public.tw.*:FULL,.*twice:NOTHING"
    with caplog.at_level(logging.WARNING):
        streamed_events = streamed(
            database,
            'INSERT INTO "full" VALUES (1, 1)',
            'UPDATE "full" SET v = 2',
            **{"replica.identity.autoset.values": rules},
        )
    assert identities(database) == {"full": "f", "indexed": "i", "twice": "d", "other": "d"}
    assert [operation for operation, _ in streamed_events] == ["c", "u"]
    assert "names public.twice more than once" in caplog.text


@pytest.mark.postgres
def test_an_identity_that_cannot_be_set_is_a_warning_with_a_remedy(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    database.execute("CREATE TABLE t (id int PRIMARY KEY)")
    with caplog.at_level(logging.WARNING):
        streamed(database, **{"replica.identity.autoset.values": "public.t:INDEX no_such"})
    assert 'ALTER TABLE "public"."t" REPLICA IDENTITY USING INDEX "no_such";' in caplog.text


@pytest.fixture
def three_tables(database: Database) -> Database:
    for number in range(3):
        database.execute(f"CREATE TABLE t{number} (id int PRIMARY KEY)")
    return database


@pytest.mark.postgres
def test_more_tables_than_the_guardrail_allows_are_an_error_or_a_warning(
    three_tables: Database, caplog: pytest.LogCaptureFixture
) -> None:
    options = {"guardrail.collections.max": "2", "guardrail.collections.limit.action": "fail"}
    with pytest.raises(HeadraceError, match="3 tables are captured") as raised:
        streamed(three_tables, **options)
    assert raised.value.code == "postgresql.too_many_tables"
    with caplog.at_level(logging.WARNING):
        streamed(three_tables, **{"guardrail.collections.max": "2"})
    assert "3 tables are captured" in caplog.text


@pytest.mark.postgres
def test_columns_that_would_get_one_field_name_are_refused_at_the_start(
    database: Database,
) -> None:
    database.execute('CREATE TABLE t (id int PRIMARY KEY, "a-b" int, a_b int)')
    with pytest.raises(HeadraceError, match="a-b and a_b of public") as raised:
        streamed(database, **{"field.name.adjustment.mode": "avro"})
    assert raised.value.code == "debezium.field_name_twice"
    assert streamed(database, **{"field.name.adjustment.mode": "avro_unicode"}) == []


@pytest.mark.postgres
def test_columns_that_differ_by_case_only_end_the_stream_unless_both_are_to_be_taken(
    database: Database,
) -> None:
    database.execute("CREATE TABLE t (id int PRIMARY KEY, note text)")
    twins = ('ALTER TABLE t ADD "NOTE" text', "INSERT INTO t VALUES (1, 'a', 'A')")
    with pytest.raises(HeadraceError, match="the columns note and NOTE") as raised:
        streamed(database, *twins)
    assert raised.value.code == "debezium.case_twins"
    properties = {"headrace.case.twins": "take", "snapshot.mode": "initial"}
    reader = Reader(database.properties() | properties | {"slot.name": f"{database.name}_taken"})
    reader.drain()
    database.execute("""UPDATE t SET "NOTE" = 'B'""")
    reader.drain().stop()
    rows = [json.loads(record["value"])["after"] for record in reader.in_order()]
    assert rows == [
        {"id": 1, "note": "a", "NOTE": "A"},
        {"id": 1, "note": "a", "NOTE": "B"},
    ]


@pytest.mark.postgres
def test_a_value_that_cannot_be_converted_stops_the_stream_when_asked_to(
    database: Database,
) -> None:
    database.execute("CREATE TABLE n (id int PRIMARY KEY, v numeric(9,2))")
    mode = {"event.converting.failure.handling.mode": "fail"}
    insert = "INSERT INTO n VALUES (1, 1), (2, 'NaN'), (3, 3)"
    with pytest.raises(HeadraceError, match="cannot hold") as raised:
        streamed(database, insert, **mode)
    assert raised.value.code == "relational.value_not_representable"


@pytest.mark.postgres
def test_records_that_cannot_be_processed_are_left_out_with_a_warning_when_asked_to(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    database.execute("CREATE TABLE n (id int PRIMARY KEY, v numeric(9,2) NOT NULL)")
    with caplog.at_level(logging.WARNING):
        streamed_events = streamed(
            database,
            "INSERT INTO n VALUES (1, 1), (2, 'NaN'), (3, 3), (4, 'NaN')",
            **{"event.processing.failure.handling.mode": "warn"},
        )
    assert streamed_events == [("c", '{"id":1}'), ("c", '{"id":3}')]
    assert caplog.text.count("A record of headrace.public.n is left out") == 2
