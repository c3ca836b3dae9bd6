"""The databases that tests read through Spark."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import psycopg
import pytest

from headrace.testing.embedded import PostgresServer
from tests.servers.mongodb import MongoDatabase, is_streamed

SECRET = "secret-word"
ONE_DATABASE = pytest.mark.parametrize(
    "source",
    [
        pytest.param("postgresql", marks=pytest.mark.postgres),
        pytest.param("mongodb", marks=[pytest.mark.mongodb, pytest.mark.chaos]),
    ],
    indirect=True,
)
"""Tests that do not depend on the database: `make test` runs them with one."""


class Source(ABC):
    """A database with one collection of numbered rows, each with a text `v`."""

    name: ClassVar[str]
    topic: str
    """The collection's topic."""
    wrong: ClassVar[dict[str, str]]
    """Properties under which nothing can be read."""

    metrics: ClassVar[set[str]]
    """Names that its connector adds to Debezium's metrics of streams."""
    watch: ClassVar[str]
    """The property that says how often it looks at what the database keeps."""

    @abstractmethod
    def properties(self) -> dict[str, str]:
        """The connector's, with topics that begin with "s"."""

    @abstractmethod
    def insert(self, first: int, last: int, text: str) -> None:
        """Rows `first` to `last`, in one transaction."""

    @abstractmethod
    def delete(self, number: int) -> None:
        """One row."""

    @abstractmethod
    def is_read(self) -> bool:
        """Whether somebody reads the log."""

    @abstractmethod
    def signals(self) -> str:
        """Makes a signal collection; its name, as signal.data.collection takes it."""

    @abstractmethod
    def sent(self) -> list[tuple[str, str]]:
        """Id and type of each signal."""


class PostgresSource(Source):
    name = "postgresql"
    topic = "s.public.t"
    wrong: ClassVar[dict[str, str]] = {"database.dbname": "nosuch"}
    metrics: ClassVar[set[str]] = set()
    watch = "headrace.slot.watch.interval"

    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        server.execute("CREATE TABLE t (id int PRIMARY KEY, v text)")

    def properties(self) -> dict[str, str]:
        parts = psycopg.conninfo.conninfo_to_dict(self._server.dsn())
        return {
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
            "topic.prefix": "s",
            "database.hostname": str(parts["host"]),
            "database.port": str(parts["port"]),
            "database.user": str(parts["user"]),
            "database.password": SECRET,
            "database.dbname": "postgres",
            "slot.name": "commands",
        }

    def insert(self, first: int, last: int, text: str) -> None:
        statement = "INSERT INTO t SELECT i, %s FROM generate_series(%s::int, %s::int) i"
        self._server.execute(statement, (text, first, last))

    def delete(self, number: int) -> None:
        self._server.execute("DELETE FROM t WHERE id = %s", (number,))

    def is_read(self) -> bool:
        return bool(self._server.execute("SELECT 1 FROM pg_replication_slots WHERE active"))

    def signals(self) -> str:
        self._server.execute("CREATE TABLE signals (id text PRIMARY KEY, type text, data text)")
        return "public.signals"

    def sent(self) -> list[tuple[str, str]]:
        return [
            (signal, kind) for signal, kind in self._server.execute("SELECT id, type FROM signals")
        ]


class MongoSource(Source):
    name = "mongodb"
    wrong: ClassVar[dict[str, str]] = {"mongodb.user": "nobody", "mongodb.password": SECRET}
    metrics: ClassVar[set[str]] = {
        "NumberOfDisconnects", "NumberOfPrimaryElections", "LastSourceEventPollTime",
        "LastEmptyPollTime", "NumberOfEmptyPolls",
    }  # fmt: skip
    watch = "headrace.oplog.watch.interval"

    def __init__(self, database: MongoDatabase) -> None:
        self._database = database
        self.topic = f"s.{database.name}.t"

    def properties(self) -> dict[str, str]:
        return {
            "connector.class": "io.debezium.connector.mongodb.MongoDbConnector",
            "topic.prefix": "s",
            "mongodb.connection.string": self._database.server.uri,
            "collection.include.list": f"{self._database.name}.t",
        }

    def insert(self, first: int, last: int, text: str) -> None:
        documents = [{"_id": number, "v": text} for number in range(first, last + 1)]
        with self._database.client.start_session() as session, session.start_transaction():
            self._database.collections.t.insert_many(documents, session=session)

    def delete(self, number: int) -> None:
        self._database.collections.t.delete_one({"_id": number})

    def is_read(self) -> bool:
        return is_streamed(self._database.server)

    def signals(self) -> str:
        self._database.collections.create_collection("signals")
        return f"{self._database.name}.signals"

    def sent(self) -> list[tuple[str, str]]:
        return [
            (signal["_id"], signal["type"]) for signal in self._database.collections.signals.find()
        ]
