"""Every example of Debezium's manual for ad hoc and incremental snapshots does what it says.

The statements and messages are those of the manual (PostgreSQL connector, Sending signals), without
the numbers that refer to its tables.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import headrace
from tests.connectors.postgresql.harness import Reader, properties_with, wait_for
from tests.servers.kafka import KafkaServer
from tests.servers.postgresql import Database

pytestmark = pytest.mark.postgres

ALL = {
    "schema1.table1": [1, 2, 3, 4],
    "schema1.table2": [1, 2],
    "schema2.table2": [1, 2],
    "schema1.products": [1, 2, 3, 4, 5, 6],
    "public.MyFirstTable": [1, 2, 3],
    "public.MySecondTable": [1, 2],
    "public.My.Table": [1, 2],
}


def rows_of(*names: str, **only: list[int]) -> dict[str, list[int]]:
    return {name: ALL[name] for name in names} | {
        name.replace("__", "."): ids for name, ids in only.items()
    }


@pytest.fixture
def tables(database: Database) -> Iterator[Database]:
    database.execute(
        "CREATE SCHEMA schema1; CREATE SCHEMA schema2; CREATE SCHEMA myschema;"
        "CREATE TABLE schema1.table1 (id int PRIMARY KEY, color text, column1 int, column2 int);"
        "CREATE TABLE schema1.table2 (id int PRIMARY KEY, column2 int);"
        "CREATE TABLE schema2.table2 (id int PRIMARY KEY);"
        "CREATE TABLE schema1.products"
        " (id int PRIMARY KEY, color text, quantity int, brand text, sku int);"
        'CREATE TABLE "MyFirstTable" (id int PRIMARY KEY, color text, brand text);'
        'CREATE TABLE "MySecondTable" (id int PRIMARY KEY);'
        'CREATE TABLE "My.Table" (id int PRIMARY KEY);'
        "CREATE TABLE myschema.debezium_signal"
        " (id VARCHAR(42) PRIMARY KEY, type VARCHAR(32) NOT NULL, data VARCHAR(2048) NULL);"
        "INSERT INTO schema1.table1 VALUES"
        " (1, 'blue', 0, 1), (2, 'red', 0, 2), (3, 'blue', 1, 3), (4, 'red', 1, 4);"
        "INSERT INTO schema1.table2 VALUES (1, 0), (2, 5);"
        "INSERT INTO schema2.table2 VALUES (1), (2);"
        "INSERT INTO schema1.products SELECT i, CASE i % 2 WHEN 1 THEN 'blue' ELSE 'red' END,"
        " 5 * i, CASE WHEN i <= 3 THEN 'MyBrand' ELSE 'other' END, 10 - i"
        " FROM generate_series(1, 6) i;"
        "INSERT INTO \"MyFirstTable\" VALUES (1, 'blue', 'MyBrand'), (2, 'blue', 'other'),"
        " (3, 'red', 'MyBrand');"
        'INSERT INTO "MySecondTable" VALUES (1), (2); INSERT INTO "My.Table" VALUES (1), (2);'
        "CREATE TABLE public.last (id int PRIMARY KEY)"
    )
    yield database
    database.execute("DROP SCHEMA schema1, schema2, myschema CASCADE")


properties = properties_with(
    {
        "topic.prefix": "test_connector",
        "schema.include.list": "public,schema1,schema2",
        "snapshot.mode": "no_data",
        "signal.data.collection": "myschema.debezium_signal",
    }
)


@pytest.fixture
def opened() -> Iterator[Callable[[dict[str, str]], Reader]]:
    readers: list[Reader] = []

    def open_reader(reader_properties: dict[str, str]) -> Reader:
        readers.append(Reader(reader_properties, offsets=[{"v": 1, "server": "test_connector"}]))
        readers[-1].step()
        return readers[-1]

    yield open_reader
    for reader in readers:
        reader.stop()


@pytest.fixture
def reader(tables: Database, opened: Callable[[dict[str, str]], Reader]) -> Reader:
    return opened(properties(tables))


def read(reader: Reader) -> dict[str, list[int]]:
    ids_by_table: dict[str, list[int]] = {}
    for event in reader.events():
        if event.get("op") == "r":
            name = f"{event['source']['schema']}.{event['source']['table']}"
            ids_by_table.setdefault(name, []).append(event["after"]["id"])
    return {name: sorted(ids) for name, ids in ids_by_table.items()}


def until_passed(reader: Reader, database: Database) -> None:
    """Waits until all signals are processed: a change after them came, and no table waits."""
    database.execute("INSERT INTO public.last SELECT count(*) FROM public.last")

    def done() -> bool:
        reader.step(0.1)
        signals = reader.offsets[-1].get("signals", {})
        waits = "tables" in signals or "blocking" in signals or "snapshot" in reader.offsets[-1]
        return not waits and any(e.get("op") == "c" for e in reader.events())

    wait_for(done)


INSERT = "INSERT INTO myschema.debezium_signal (id, type, data) "
EXAMPLES = [
    (
        "two tables, one with a condition",
        INSERT
        + """values ('ad-hoc-1',
    'execute-snapshot',
    E'{"data-collections": ["schema1.table1", "schema1.table2"],
    "type":"incremental",
    "additional-conditions":[{"data-collection": "schema1.table1" ,"filter":"color=\\'blue\\'"}]}');
""",
        rows_of("schema1.table2", schema1__table1=[1, 3]),
    ),
    (
        "names of tables",
        INSERT
        + """VALUES ('d139b9b7-7777-4547-917d-e1775ea61d41', 'execute-snapshot',
    '{"data-collections": ["public.MyFirstTable", "public.MySecondTable"]}')""",
        rows_of("public.MyFirstTable", "public.MySecondTable"),
    ),
    (
        "a name with a dot",
        INSERT
        + """VALUES ('1', 'execute-snapshot', '{"data-collections": ["public.\\"My.Table\\""]}')""",
        rows_of("public.My.Table"),
    ),
    (
        "a condition, of a column that is not there",
        INSERT
        + """VALUES('ad-hoc-1', 'execute-snapshot', '{"data-collections": ["schema1.products"],"""
        + """"type":"incremental", "additional-conditions":[{"data-collection": """
        + """"schema1.products", "filter": "color=blue"}]}');""",
        {},
    ),
    (
        "two conditions, of a column that is not there",
        INSERT
        + """VALUES('ad-hoc-1', 'execute-snapshot', '{"data-collections": ["schema1.products"],"""
        + """"type":"incremental", "additional-conditions":[{"data-collection": """
        + """"schema1.products", "filter": "color=blue AND quantity>10"}]}');""",
        {},
    ),
    (
        "two conditions",
        INSERT
        + """VALUES('ad-hoc-1', 'execute-snapshot', '{"data-collections": ["schema1.products"],"""
        + """"type":"incremental", "additional-conditions":[{"data-collection": """
        + """"schema1.products", "filter": "color=''blue'' AND quantity>10"}]}');""",
        rows_of(schema1__products=[3, 5]),
    ),
    (
        "the single condition of earlier versions, of a column that is not there",
        INSERT
        + """VALUES('ad-hoc-1', 'execute-snapshot', '{"data-collections": ["schema1.products"],"""
        + """"type":"incremental", "additional-condition":"color=blue"}');""",
        {},
    ),
    (
        "the single condition of earlier versions",
        INSERT
        + """VALUES('ad-hoc-1', 'execute-snapshot', '{"data-collections": ["schema1.products"],"""
        + """"type":"incremental", "additional-condition":"color=''blue'' AND quantity>10"}');""",
        rows_of(schema1__products=[3, 5]),
    ),
    (
        "a surrogate key",
        INSERT
        + """VALUES('ad-hoc-1', 'execute-snapshot', '{"data-collections": ["schema1.products"],"""
        + """"type":"incremental", "surrogate-key": "sku"}');""",
        rows_of("schema1.products"),
    ),
    (
        "an empty list",
        INSERT + """VALUES('ad-hoc-1', 'execute-snapshot', '{"data-collections": []}');""",
        {},
    ),
    (
        "a blocking snapshot with statements",
        INSERT
        + """VALUES ('1', 'execute-snapshot', '{"type": "blocking", "data-collections":
    ["schema1.table1", "schema1.table2"], "additional-conditions": [
    {"data-collection": "schema1.table1",
     "filter": "SELECT * FROM schema1.table1 WHERE column1 = 0 ORDER BY column2 DESC"},
    {"data-collection": "schema1.table2",
     "filter": "SELECT * FROM schema1.table2 WHERE column2 > 0"}]}')""",
        rows_of(schema1__table1=[1, 2], schema1__table2=[2]),
    ),
    (
        "a blocking snapshot with statements of SQL Server",
        INSERT
        + """VALUES ('1', 'execute-snapshot', '{"type": "blocking", "data-collections":
    ["schema1.table1", "schema1.table2"], "additional-conditions": [
    {"data-collection": "schema1.table1",
     "filter": "SELECT * FROM [schema1].[table1] WHERE column1 = 0 ORDER BY column2 DESC"},
    {"data-collection": "schema1.table2",
     "filter": "SELECT * FROM [schema1].[table2] WHERE column2 > 0"}]}')""",
        {},
    ),
    (
        "a blocking snapshot with the single condition",
        INSERT
        + """VALUES ('1', 'execute-snapshot', '{"type": "blocking",
    "data-collections": ["schema1.products"], "additional-condition": "color=''blue''"}')""",
        rows_of(schema1__products=[1, 3, 5]),
    ),
]


@pytest.mark.parametrize(
    ("statement", "rows"), [example[1:] for example in EXAMPLES], ids=[e[0] for e in EXAMPLES]
)
def test_an_example_of_a_signal_table(
    reader: Reader,
    tables: Database,
    caplog: pytest.LogCaptureFixture,
    statement: str,
    rows: dict[str, list[int]],
) -> None:
    tables.execute(statement)
    until_passed(reader, tables)
    assert read(reader) == rows
    if not rows:
        assert "is not read" in caplog.text or "is ignored" in caplog.text
    assert "nobody reads" not in caplog.text


STARTS = (
    INSERT
    + """VALUES ('0', 'execute-snapshot', '{"data-collections": ["schema1.table1",
    "schema1.table2", "schema2.table2", "public.MyFirstTable"]}')"""
)
OPEN = {"schema1.table1": [1]}  # its window is open when the signal comes
STOPS = [
    (
        """values ('ad-hoc-1', 'stop-snapshot',
    '{"data-collections": ["schema1.table1", "schema2.table2"], "type":"incremental"}');""",
        OPEN | rows_of("schema1.table2", "public.MyFirstTable"),
    ),
    (
        """values ('ad-hoc-1', 'stop-snapshot',
    '{"data-collections": ["schema1.table1", "schema1.table2"]}');""",
        OPEN | rows_of("schema2.table2", "public.MyFirstTable"),
    ),
    (
        """VALUES ('d139b9b7-7777-4547-917d-e1775ea61d41', 'stop-snapshot',
    '{"type":"INCREMENTAL", "data-collections": ["public.MyFirstTable"]}')""",
        rows_of("schema1.table1", "schema1.table2", "schema2.table2"),
    ),
    ("VALUES ('1', 'stop-snapshot', '{\"type\":\"incremental\"}')", OPEN),
    ("VALUES ('1', 'stop-snapshot', '{}')", OPEN),
    ("VALUES ('1', 'stop-snapshot', NULL)", OPEN),
]


@pytest.mark.parametrize(("stop", "rows"), STOPS)
def test_an_example_that_stops_an_incremental_snapshot(
    tables: Database,
    opened: Callable[[dict[str, str]], Reader],
    stop: str,
    rows: dict[str, list[int]],
) -> None:
    reader = opened(properties(tables, incremental__snapshot__chunk__size="1"))
    tables.execute(f"BEGIN; {STARTS}; {INSERT} {stop.rstrip(';')}; COMMIT")
    until_passed(reader, tables)
    assert read(reader) == rows


def test_examples_that_pause_and_resume_an_incremental_snapshot(
    tables: Database, opened: Callable[[dict[str, str]], Reader]
) -> None:
    reader = opened(properties(tables, incremental__snapshot__chunk__size="1"))
    tables.execute(f"BEGIN; {STARTS}; {INSERT} VALUES ('d139b9b7', 'pause-snapshot', NULL); COMMIT")
    wait_for(lambda: (reader.step(0.1), read(reader) == OPEN)[1])
    reader.drain()
    assert read(reader) == OPEN
    tables.execute(f"{INSERT} VALUES ('d139b9b8', 'resume-snapshot', NULL)")
    until_passed(reader, tables)
    started = ("schema1.table1", "schema1.table2", "schema2.table2", "public.MyFirstTable")
    assert read(reader) == rows_of(*started)


def test_an_example_of_a_message_in_the_log(
    reader: Reader, tables: Database, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO", logger="headrace.signals"):
        tables.execute(
            INSERT + "VALUES ('924e3ff8-2245-43ca-ba77-2af9af02fa07', 'log',"
            ' \'{"message": "Signal message at offset {}"}\')'
        )
        until_passed(reader, tables)
    assert "Signal message at offset 0/" in caplog.text


MESSAGES = [
    (
        '{"type":"execute-snapshot","data": {"data-collections": '
        '["schema1.table1", "schema1.table2"], "type": "INCREMENTAL"}}',
        rows_of("schema1.table1", "schema1.table2"),
    ),
    (
        '{"type":"execute-snapshot","data": {"data-collections": ["schema1.products"], '
        '"type": "INCREMENTAL", "additional-conditions": [{"data-collection": "schema1.products" '
        ',"filter":"color=\'blue\'"}]}}',
        rows_of(schema1__products=[1, 3, 5]),
    ),
    (
        '{"type":"execute-snapshot","data": {"data-collections": ["schema1.products"], '
        '"type": "INCREMENTAL", "additional-conditions": [{"data-collection": "schema1.products" '
        ",\"filter\":\"color='blue' AND brand='MyBrand'\"}]}}",
        rows_of(schema1__products=[1, 3]),
    ),
    (
        '{"type":"execute-snapshot","data": {"data-collections": ["public.MyFirstTable"], '
        '"type": "INCREMENTAL", "additional-conditions":[{"data-collection": '
        '"public.MyFirstTable", "filter":"color=\'blue\' AND brand=\'MyBrand\'"}]}}',
        rows_of(public__MyFirstTable=[1]),
    ),
    (  # up to 2.5
        '{"type":"execute-snapshot","data": {"data-collections": ["schema1.products"], '
        '"type": "INCREMENTAL", "additional-condition":"color=\'blue\'"}}',
        rows_of(schema1__products=[1, 3, 5]),
    ),
    (
        '{"type":"execute-snapshot","data": {"data-collections": ["schema1.products"], '
        '"type": "INCREMENTAL", "additional-condition":"color=\'blue\' AND brand=\'MyBrand\'"}}',
        rows_of(schema1__products=[1, 3]),
    ),
    ('{"type":"execute-snapshot","data": {"type": "blocking"}', {}),
    ('{"type":"execute-snapshot","data": {"type": "blocking"}}', {}),
    (
        '{"type":"execute-snapshot","data": {"type": "blocking", '
        '"data-collections": ["schema1.table1"]}}',
        rows_of("schema1.table1"),
    ),
    (
        '{"type":"stop-snapshot","data": {"data-collections": '
        '["schema1.table1", "schema1.table2"], "type": "INCREMENTAL"}}',
        {},
    ),
]


@pytest.mark.parametrize("read_only", ["false", "true"])
def test_every_example_of_a_kafka_message(
    tables: Database,
    kafka: KafkaServer,
    opened: Callable[[dict[str, str]], Reader],
    caplog: pytest.LogCaptureFixture,
    read_only: str,
) -> None:
    topic = f"manual-{uuid.uuid4().hex[:8]}"
    kafka.create_topic(topic)
    reader = opened(
        properties(
            tables,
            read__only=read_only,
            signal__enabled__channels="source,kafka",
            signal__kafka__topic=topic,
            signal__kafka__bootstrap__servers=kafka.address,
            signal__poll__interval__ms="100",
        )
    )
    for number, (message, rows) in enumerate(MESSAGES, 1):
        kafka.send(topic, ("test_connector", message))
        wait_for(lambda: applied(reader, topic) == number)  # noqa: B023
        until_passed(reader, tables)
        assert read(reader) == rows, message
        reader.records.clear()
    assert "nobody reads" not in caplog.text
    written = tables.execute("SELECT count(*) FROM myschema.debezium_signal")[0][0]
    assert (written == 0) == (read_only == "true")


def applied(reader: Reader, topic: str) -> int:
    """The number of messages of the topic that are applied according to the offset."""
    reader.step(0.1)
    places = reader.offsets[-1].get("signals", {}).get("kafka", [])
    return sum(place[2] for place in places if place[0] == topic)


def test_the_single_condition_comes_by_the_file_and_from_here_too(
    tables: Database, opened: Callable[[dict[str, str]], Reader], tmp_path: Path
) -> None:
    file = tmp_path / "signals.jsonl"
    signal_properties = properties(
        tables,
        signal__enabled__channels="source,file",
        signal__file=str(file),
        signal__poll__interval__ms="0",
    )
    reader = opened(signal_properties)
    data: dict[str, Any] = {
        "data-collections": ["schema1.products", "schema1.table1"],
        "additional-condition": "color='blue'",
        "additional-conditions": [{"data-collection": "schema1.table1", "filter": "id = 2"}],
    }
    expected = rows_of(schema1__products=[1, 3, 5], schema1__table1=[2])
    file.write_text(json.dumps({"type": "execute-snapshot", "data": data}) + "\n")
    wait_for(lambda: (reader.step(), read(reader) == expected)[1])
    until_passed(reader, tables)
    reader.records.clear()
    headrace.signal(signal_properties, "execute-snapshot", data)
    wait_for(lambda: (reader.step(), read(reader) == expected)[1])


def test_a_member_that_nobody_reads_is_named(
    reader: Reader, tables: Database, caplog: pytest.LogCaptureFixture
) -> None:
    tables.execute(
        INSERT
        + """VALUES ('typing', 'execute-snapshot', '{"data-collections": ["schema2.table2"],
    "additional-conditon": "id = 1", "additional-conditions": [
    {"data-collection": "schema2.table2", "filter": "id = 1", "filters": "id = 2"}]}');"""
        + INSERT
        + "VALUES ('stopping', 'stop-snapshot', '{\"data_collections\": []}')"
    )
    until_passed(reader, tables)
    assert "signal typing has an unknown member: additional-conditon" in caplog.text
    assert "unknown member: additional-conditions[0].filters" in caplog.text
    assert "signal stopping has an unknown member: data_collections" in caplog.text


@pytest.mark.parametrize(
    "condition",
    ["id = 1; DROP TABLE schema2.table2", "pg_sleep(600) IS NULL", "id IN (SELECT 1)", "nothing=1"],
)
def test_the_single_condition_is_checked_as_the_filters_of_the_list_are(
    reader: Reader, tables: Database, caplog: pytest.LogCaptureFixture, condition: str
) -> None:
    data = {"data-collections": ["schema2.table2"], "additional-condition": condition}
    text = json.dumps(data).replace("'", "''")
    tables.execute(f"{INSERT} VALUES ('1', 'execute-snapshot', '{text}')")
    until_passed(reader, tables)
    assert "schema2.table2 is not read" in caplog.text
    assert read(reader) == {}
