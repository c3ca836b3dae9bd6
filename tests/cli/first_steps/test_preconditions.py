"""What `headrace check` finds and what `headrace run` refuses, or warns of, have the same codes."""

from __future__ import annotations

import argparse
import json
import logging
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from headrace.cli import check
from headrace.cli.messages import Messages
from headrace.cli.pipeline import read_pipeline
from headrace.errors import HeadraceError
from tests.connectors.harness import ConnectorReader
from tests.servers.db2 import SCHEMA as DB2_SCHEMA
from tests.servers.db2 import Db2Database
from tests.servers.mongodb import MongoDatabase
from tests.servers.oracle import SCHEMA, OracleDatabase
from tests.servers.postgresql import Database

_CODE = re.compile(r"\[([a-z_0-9]+(?:\.[a-z_0-9]+)+)(?:, retriable)?\]")
RESELECT = {
    "post.processors": "again",
    "again.type": "io.debezium.processors.reselect.ReselectColumnsPostProcessor",
}


class Preconditions:
    """A configuration, asked through both verbs."""

    def __init__(
        self,
        folder: Path,
        caplog: pytest.LogCaptureFixture,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        self._folder, self._caplog, self._capsys = folder, caplog, capsys

    def store(self, offset: Mapping[str, object]) -> None:
        """As Spark keeps the offset of its first micro-batch."""
        for name, text in (
            ("offsets", f'v1\n{{"batchWatermarkMs":0}}\n{json.dumps(offset)}\n'),
            ("commits", 'v1\n{"nextBatchWatermarkMs":0}\n'),
        ):
            (self._folder / "checkpoint" / name).mkdir(parents=True, exist_ok=True)
            (self._folder / "checkpoint" / name / "0").write_text(text)

    def codes(
        self, properties: Mapping[str, str], level: str = "error"
    ) -> tuple[set[str], set[str]]:
        """What `check` finds of this level, and what `run` raises or logs of it."""
        file = self._folder / "file.properties"
        given = {**properties, "headrace.checkpoint.dir": str(self._folder)}
        escaped = {name: text.replace("\\", "\\\\") for name, text in given.items()}
        file.write_text("".join(f"{name}={text}\n" for name, text in escaped.items()))
        check.run(argparse.Namespace(file=[str(file)], json=True, fix_sql=False, state=None))
        findings = json.loads(self._capsys.readouterr().out)
        found = {each["code"] for each in findings if each["level"] == level}
        self._caplog.clear()
        raised = set()
        with self._caplog.at_level(logging.WARNING, "headrace"):
            try:
                read_pipeline([str(file)], {}, Messages()).validate(self._folder / "checkpoint")
            except HeadraceError as error:
                raised = {error.code}
        if level == "error":
            return found, raised
        return found, {code for record in self._caplog.messages for code in _CODE.findall(record)}


@pytest.fixture
def asked(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> Preconditions:
    return Preconditions(tmp_path, caplog, capsys)


def compare(asked: Preconditions, sound: Mapping[str, str], cases: Mapping[str, object]) -> None:
    """Each of `cases` (a code and what gives it) is found by both, and nothing where all is well;
    a code that ends in ? is a warning."""
    assert asked.codes(sound) == (set(), set())
    for name, changes in cases.items():
        code, is_warning = name.removesuffix("?"), name.endswith("?")
        assert isinstance(changes, dict)
        level = "warning" if is_warning else "error"
        found, raised = asked.codes({**sound, **changes}, level)
        assert code in found, name
        assert code in raised, name


@pytest.mark.postgres
def test_postgresql(database: Database, asked: Preconditions) -> None:
    database.execute("CREATE TABLE t (id int PRIMARY KEY, note text)")
    database.execute(f"CREATE PUBLICATION {database.name} FOR TABLE t")
    sound = database.properties(
        table_include_list="public.*",
        publication_autocreate_mode="disabled",
        heartbeat_interval_ms="1000",
        heartbeat_action_query="INSERT INTO t VALUES (1, 'a'); DELETE FROM t",
    )
    avro = {"value.converter": "avro", "value.converter.schema.registry.url": "http://127.0.0.1:9"}
    compare(
        asked,
        sound,
        {
            "postgresql.signal_table": {"signal.data.collection": "public.nothing"},
            "postgresql.heartbeat_table": {"heartbeat.action.query": "UPDATE nothing SET id = 1"},
            "postgresql.heartbeat_query?": {"heartbeat.action.query": "UPDAT t SET id = 1"},
            "postgresql.reselect_columns?": {
                **RESELECT,
                "again.reselect.columns.include.list": r"public\.t:nte",
            },
            "postgresql.no_tables": {"table.include.list": "public.nothing"},
            "postgresql.publication_missing": {"publication.name": "nothing"},
            "registry.unreachable": avro,
        },
    )
    # Prepared, and not run.
    assert database.execute("SELECT count(*)::int FROM t") == [(0,)]
    # A slot that the checkpoint expects.
    reader = ConnectorReader(sound, False, False)
    while (
        not reader.offsets
        or "snapshot" in reader.offsets[-1]
        or "lsn_commit" not in reader.offsets[-1]
    ):
        reader.step()
    asked.store(reader.offsets[-1])
    compare(asked, sound, {})
    database.execute("CREATE TABLE late (id int PRIMARY KEY)")
    found, _ = asked.codes(sound, "warning")
    assert "postgresql.not_published" in found
    assert asked.codes(sound) == (set(), set())
    database.execute("DROP TABLE late")
    reader.stop()
    database.drop_slot(database.name)
    assert asked.codes(sound) == ({"postgresql.slot_missing"},) * 2


@pytest.mark.oracle
def test_oracle(oracle_database: OracleDatabase, asked: Preconditions) -> None:
    oracle_database.create_table("THINGS", "ID NUMBER(9,0) NOT NULL", "NOTE CLOB", key=["ID"])
    insert = f"INSERT INTO {SCHEMA}.%s (ID, NOTE) VALUES (7, 'a')"
    sound = oracle_database.properties(
        heartbeat_interval_ms="1000", heartbeat_action_query=insert % "THINGS"
    )
    compare(
        asked,
        sound,
        {
            "oracle.heartbeat_table": {"heartbeat.action.query": insert % "NOTHING"},
            "oracle.heartbeat_query?": {"heartbeat.action.query": "UPDATE nothing"},
            "oracle.reselect_columns?": {
                **RESELECT,
                "again.reselect.columns.include.list": rf"{SCHEMA}\.THINGS:NTE",
            },
            "oracle.signal_table": {"signal.data.collection": f"ORCLPDB1.{SCHEMA}.NOTHING"},
        },
    )
    assert oracle_database.server.rows(f"{SCHEMA}.THINGS") == []


@pytest.mark.db2
def test_db2(db2_database: Db2Database, asked: Preconditions) -> None:
    db2_database.execute(f"CREATE TABLE {DB2_SCHEMA}.T (ID INTEGER NOT NULL PRIMARY KEY, N CLOB)")
    db2_database.capture.add_table(DB2_SCHEMA, "T")
    db2_database.capture.await_captured()
    compare(
        asked,
        db2_database.properties(),
        {
            "db2.signal_table": {"signal.data.collection": f"{DB2_SCHEMA}.NOTHING"},
            "db2.reselect_columns?": {
                **RESELECT,
                "again.reselect.columns.include.list": rf"{DB2_SCHEMA}\.T:NOTHING",
            },
        },
    )


@pytest.mark.mongodb
def test_mongodb(mongo_database: MongoDatabase, asked: Preconditions) -> None:
    mongo_database.collections["t"].insert_one({"_id": 1})
    sound = mongo_database.properties()
    outside = {"signal.data.collection": "elsewhere.signals", "capture.scope": "database",
               "capture.target": mongo_database.name}  # fmt: skip
    compare(asked, sound, {"mongodb.signal_scope": outside})
