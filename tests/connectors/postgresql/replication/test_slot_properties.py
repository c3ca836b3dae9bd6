"""Effects of the properties of slot, position and publication, on the whole connector."""

from __future__ import annotations

import pytest

from headrace.connectors.postgresql.position import format_lsn
from headrace.connectors.registry import parse_configuration
from headrace.errors import HeadraceError
from tests.connectors.harness import PATIENCE_SECONDS
from tests.connectors.postgresql.harness import Reader, wait_for
from tests.servers.postgresql import Database, await_free_slot

TABLE = "CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t VALUES (1, 'a'), (2, 'b')"


def reader_of(database: Database, **more: str) -> Reader:
    changes = {name.replace("__", "."): value for name, value in more.items()}
    defaults = {"headrace.slices": "1", "headrace.acknowledge.interval": "0 s"}
    return Reader(database.properties() | defaults | changes)


def operations(reader: Reader) -> str:
    return "".join(event["op"] for event in reader.events())


def await_reply(database: Database) -> None:
    """Wait until the server has heard of whatever is acknowledged now."""
    ((begun,),) = database.execute("SELECT clock_timestamp()")
    later = "SELECT 1 FROM pg_stat_replication WHERE reply_time > %s"
    wait_for(lambda: database.execute(later, (begun,)))


def slot(database: Database, column: str = "(confirmed_flush_lsn - '0/0')::bigint") -> list:
    query = f"SELECT {column} FROM pg_replication_slots WHERE slot_name = %s"
    return [row[0] for row in database.execute(query, (database.name,))]


@pytest.mark.postgres
@pytest.mark.parametrize("postgres", [16, 18], indirect=True)
def test_a_failover_slot_is_made_where_the_server_can(database: Database) -> None:
    database.execute(TABLE)
    reader = reader_of(database, slot__failover="true").drain()
    database.execute("INSERT INTO t VALUES (3, 'c')")
    reader.drain().stop()
    assert operations(reader) == "rrc"
    if database.server.version >= 17:
        assert slot(database, "failover") == [True]
    else:
        assert len(slot(database)) == 1


@pytest.mark.postgres
def test_parameters_of_the_stream_reach_the_server(database: Database) -> None:
    database.execute(TABLE)
    reader = reader_of(database, slot__stream__params="origin=none").drain()
    database.execute(f"SELECT pg_replication_origin_create('{database.name}')")
    with database.connect() as other:
        other.execute(f"SELECT pg_replication_origin_session_setup('{database.name}')")
        other.execute("INSERT INTO t VALUES (3, 'from elsewhere')")
    database.execute("INSERT INTO t VALUES (4, 'from here')")
    reader.drain().stop()
    database.execute(f"SELECT pg_replication_origin_drop('{database.name}')")
    assert [e["after"]["id"] for e in reader.events()] == [1, 2, 4]


@pytest.mark.postgres
def test_a_parameter_that_the_server_does_not_know_is_named(database: Database) -> None:
    database.execute(TABLE)
    reader = reader_of(database, slot__stream__params="nonsense=1", errors__max__retries="0")
    with pytest.raises(HeadraceError, match="nonsense"):
        reader.drain()
    reader.stop()


@pytest.mark.parametrize("text", ["proto_version=2", "streaming=on", "a b=c", "x'=1", "origin"])
def test_parameters_that_would_change_the_format_are_refused(text: str) -> None:
    properties = {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "topic.prefix": "headrace",
        "database.hostname": "h",
        "database.user": "u",
        "database.dbname": "d",
    }
    with pytest.raises(HeadraceError, match=r"slot\.stream\.params"):
        parse_configuration(properties | {"slot.stream.params": text})


@pytest.mark.postgres
def test_the_slot_goes_at_an_orderly_stop_only(database: Database) -> None:
    database.execute(TABLE)
    more = {"slot__drop__on__stop": "true", "snapshot__mode": "when_needed"}
    reader = reader_of(database, **more).drain()
    database.execute("INSERT INTO t VALUES (3, 'c')")
    reader.drain().stop()
    assert slot(database) == []
    # Looking is no use of the slot.
    reader.open().validate(reader.offsets[-1])
    reader.stop()
    reader.drain()
    assert operations(reader) == "rrc" + "rrr"
    database.execute(f"DROP PUBLICATION {database.name}")
    database.execute("INSERT INTO t VALUES (4, 'd')")
    with pytest.raises(HeadraceError):
        reader.drain()
    reader.stop()
    assert len(slot(database)) == 1


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("setting", "moves"),
    [
        ({"lsn.flush.mode": "connector"}, True),
        ({"lsn.flush.mode": "connector_and_driver"}, True),
        ({"lsn.flush.mode": "manual"}, False),
        ({"flush.lsn.source": "false"}, False),
        ({"flush.lsn.source": "false", "lsn.flush.mode": "connector"}, True),
    ],
)
def test_the_slot_moves_as_lsn_flush_mode_says(
    database: Database, setting: dict[str, str], moves: bool
) -> None:
    database.execute(TABLE)
    reader = reader_of(database, status__update__interval__ms="100", **setting).drain()
    (before,) = slot(database)
    database.execute("INSERT INTO t VALUES (3, 'c')")
    reader.drain()
    await_reply(database)
    assert (slot(database) > [before]) is moves
    reader.restart()
    database.execute("INSERT INTO t VALUES (4, 'd')")
    reader.drain()
    await_reply(database)
    reader.stop()
    assert operations(reader) == "rrcc"
    assert (slot(database) > [before]) is moves


@pytest.mark.postgres
@pytest.mark.parametrize("strategy", ["no_validation", "trust_offset"])
def test_a_slot_beyond_the_offset_is_an_error(database: Database, strategy: str) -> None:
    database.execute(TABLE)
    reader = reader_of(database, offset__mismatch__strategy=strategy).drain().restart()
    database.execute("INSERT INTO t VALUES (3, 'c')")
    database.advance_slot()
    with pytest.raises(HeadraceError, match="slot_moved"):
        reader.drain()
    reader.stop()


@pytest.mark.postgres
@pytest.mark.parametrize("strategy", ["trust_slot", "trust_greater_lsn"])
@pytest.mark.parametrize("planned", [False, True])
def test_a_slot_beyond_the_offset_is_followed_when_it_is_trusted(
    database: Database, strategy: str, planned: bool, caplog: pytest.LogCaptureFixture
) -> None:
    database.execute(TABLE)
    reader = reader_of(database, offset__mismatch__strategy=strategy).drain()
    database.execute("INSERT INTO t VALUES (3, 'left out')")
    end = reader.plan(PATIENCE_SECONDS)
    assert end != reader.offsets[-1]
    reader.restart()
    # As far as the range, and not as far as the log, to which the server adds records of its own.
    database.advance_slot(format_lsn(end["lsn_commit"]))
    if planned:
        # What the slot does not hold any more is not there.
        reader.records += reader.read(end)
        reader.offsets.append(end)
    reader.drain()
    database.execute("INSERT INTO t VALUES (4, 'd')")
    reader.drain().stop()
    assert [e["after"]["id"] for e in reader.events()] == [1, 2, 4]
    assert reader.offsets[-1]["epoch"] == (1 if planned else 2)
    assert "the changes in between are lost" in caplog.text


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("setting", "moved"),
    [
        ({"offset.mismatch.strategy": "no_validation"}, False),
        ({"offset.mismatch.strategy": "trust_slot"}, False),
        ({"offset.mismatch.strategy": "trust_offset"}, True),
        ({"offset.mismatch.strategy": "trust_greater_lsn"}, True),
        ({"internal.slot.seek.to.known.offset.on.start": "true"}, True),
    ],
)
def test_a_slot_that_lags_behind_the_offset_is_moved_when_the_offset_is_trusted(
    database: Database, setting: dict[str, str], moved: bool
) -> None:
    database.execute(TABLE)
    reader = reader_of(database, **setting, **{"lsn.flush.mode": "manual"}).drain()
    (before,) = slot(database)
    database.execute("INSERT INTO t VALUES (3, 'c')")
    reader.drain().restart()
    await_free_slot(database.server, database.name)
    database.execute("INSERT INTO t VALUES (4, 'd')")
    reader.drain().stop()
    assert operations(reader) == "rrcc"
    assert (slot(database) > [before]) is moved


@pytest.mark.postgres
def test_a_filtered_publication_follows_the_skipped_operations(database: Database) -> None:
    database.execute(TABLE)
    more = {"publication__autocreate__mode": "filtered"}
    query = "SELECT pubinsert, pubupdate, pubdelete, pubtruncate FROM pg_publication"
    reader_of(database, **more).drain().stop()
    assert database.execute(query) == [(True, True, True, True)]
    reader = reader_of(database, skipped__operations="u,t", **more)
    reader.step()
    reader.stop()
    assert database.execute(query) == [(True, False, True, False)]


@pytest.mark.postgres
@pytest.mark.parametrize("mode", ["initial", "when_needed"])
def test_a_slot_created_again_while_streaming_is_noticed(database: Database, mode: str) -> None:
    database.execute(TABLE)
    more = {"snapshot__mode": mode, "retriable__restart__connector__wait__ms": "1500"}
    reader = reader_of(database, **more).drain()
    database.execute("INSERT INTO t VALUES (3, 'c')")
    reader.drain()
    (pid,) = slot(database, "active_pid")
    database.execute("SELECT pg_terminate_backend(%s)", (pid,))
    database.drop_slot()
    database.execute("INSERT INTO t VALUES (4, 'in the gap')")
    make = "SELECT pg_create_logical_replication_slot(%s, 'pgoutput')"
    database.execute(make, (database.name,))
    if mode == "when_needed":
        reader.drain().stop()
        assert operations(reader) == "rrc" + "rrrr"
        return
    with pytest.raises(HeadraceError, match="slot_moved"):
        reader.drain()
    reader.stop()
