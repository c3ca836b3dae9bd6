"""Database servers that are stored beside the checkpoints of a release, and started again."""

from __future__ import annotations

import json
import os
import tarfile
from abc import ABC, abstractmethod
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

from headrace.testing.embedded import PostgresServer
from headrace.testing.mongodb import MongoServer
from headrace.testing.server import Server
from headrace_demo.oracle.server import OracleServer

Change = tuple[str, int, str]
"""Operation (`c`, `u` or `d`), id, and name of the row after the change; of a delete it is ""."""

ROWS = 3000
"""Rows of the table when a snapshot begins; their names are those of `first_name`."""


INSERTED = 40
"""Rows that a block of changes inserts, in the end."""


def first_name(number: int) -> str:
    """The name of a row when the table is created."""
    return f"row {number} {'x' * 40}"


def changes_of(block: int) -> list[Change]:
    """The changes of one block, each in a transaction of its own; no two blocks share a row."""
    first = 1 + 400 * block
    updated = range(first, first + 40)
    deleted = range(first + 40, first + 60)
    inserted = range(ROWS + 100 * block + 1, ROWS + 100 * block + 1 + INSERTED)
    return [
        *(("u", number, f"updated {block}") for number in updated),
        *(("d", number, "") for number in deleted),
        *(("c", number, f"inserted {block}") for number in inserted),
    ]


def rows_after(changes: Iterable[Change]) -> dict[int, str]:
    """Names by id once `changes` have happened to the first rows."""
    rows = {number: first_name(number) for number in range(1, ROWS + 1)}
    for operation, number, name in changes:
        if operation == "d":
            del rows[number]
        else:
            rows[number] = name
    return rows


class StoredDatabase(ABC):
    """A server with the table `items` (id, name). `archive` is where its data is stored."""

    name: ClassVar[str]
    server: Server
    topics: ClassVar[str]
    """The topic name after the topic prefix."""
    rows_change: ClassVar[bool] = True
    """Whether the changes of a block change the rows that a snapshot reads."""
    replica_properties: ClassVar[dict[str, str]] = {}
    """Properties by which a replica has columns for the id and the name, with `_` for `.`."""

    def __init__(self, archive: Path) -> None:
        self.archive = archive

    @abstractmethod
    def create(self) -> None:
        """Start an empty server, and make the table with its first rows."""

    @abstractmethod
    def apply(self, block: int) -> None:
        """Commit the changes of a block."""

    @abstractmethod
    def properties(self, run: str) -> dict[str, str]:
        """The connector's, for the run of that name."""

    @abstractmethod
    def store(self) -> None:
        """Stop the server and write its data to `archive`."""

    @abstractmethod
    def restore(self) -> None:
        """Start a server with the data of `archive`, on ports of its own."""

    def id_and_name(self, row: dict[str, Any]) -> tuple[int, str]:
        """The id and the name of a row in an event."""
        return int(row["id"]), row["name"]

    def close(self) -> None:
        """Stop the server and remove what it kept."""
        self.server.close()


MAJOR_VERSION = 16
"""Major version of the PostgreSQL that wrote the stored data folders; no other one reads them."""


class StoredPostgres(StoredDatabase):
    """Each run has a slot of its own."""

    name = "postgresql"
    topics = "public.items"

    def __init__(self, archive: Path) -> None:
        super().__init__(archive)
        self.server: PostgresServer = PostgresServer(
            version=MAJOR_VERSION, settings={"min_wal_size": "32MB"}
        )

    def create(self) -> None:
        self.server.start()
        self.server.execute(
            "CREATE TABLE items (id int PRIMARY KEY, name text);"
            "INSERT INTO items SELECT i, 'row ' || i || ' ' || repeat('x', 40) "
            f"FROM generate_series(1, {ROWS}) i; ANALYZE"
        )

    def apply(self, block: int) -> None:
        with self.server.connect() as connection:
            for operation, number, name in changes_of(block):
                if operation == "d":
                    connection.execute("DELETE FROM items WHERE id = %s", (number,))
                else:
                    connection.execute(
                        "INSERT INTO items VALUES (%s, %s) "
                        "ON CONFLICT (id) DO UPDATE SET name = excluded.name",
                        (number, name),
                    )

    def properties(self, run: str) -> dict[str, str]:
        return {
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
            "database.hostname": self.server.host,
            "database.port": str(self.server.port),
            "database.user": self.server.user,
            "database.password": "x",
            "database.dbname": "postgres",
            "slot.name": run,
            "publication.name": run,
            "publication.autocreate.mode": "filtered",
            "table.include.list": "public.items",
        }

    def store(self) -> None:
        self.server.stop()
        (self.server.data / "postmaster.pid").unlink(missing_ok=True)
        pack(self.server.data, self.archive)

    def restore(self) -> None:
        unpack(self.archive, self.server.data)
        for folder in (self.server.data, *self.server.data.rglob("*")):
            folder.chmod(0o700)
        if os.geteuid() == 0:
            for path in (self.server.data, *self.server.data.rglob("*")):
                os.chown(path, *_NOBODY)
        self.server.start()


_NOBODY = (65534, 65534)
"""Whom `PostgresServer` runs as where root starts it."""


class _MovedMongoServer(MongoServer):
    """A replica set whose member has another address than when it was stored."""

    def _initiate(self, admin: Any) -> None:
        config = admin.command("replSetGetConfig")["config"]
        address = f"{self.host}:{self.port}"
        if config["members"][0]["host"] != address:
            config["members"][0]["host"] = address
            config["version"] += 1
            admin.command("replSetReconfig", config, force=True)


class StoredMongo(StoredDatabase):
    """The oplog is stored with the data."""

    name = "mongodb"
    topics = "inv.items"
    replica_properties: ClassVar[dict[str, str]] = {
        "headrace_sink_target_schema_inv_items": "_id INT, name STRING"
    }
    server: MongoServer

    def create(self) -> None:
        self.server = MongoServer()
        self.server.start()
        with self.server.connect() as client:
            client.inv.items.insert_many(
                [{"_id": n, "name": first_name(n)} for n in range(1, ROWS + 1)]
            )

    def apply(self, block: int) -> None:
        with self.server.connect() as client:
            for operation, number, name in changes_of(block):
                if operation == "d":
                    client.inv.items.delete_one({"_id": number})
                else:
                    client.inv.items.replace_one(
                        {"_id": number}, {"_id": number, "name": name}, upsert=True
                    )

    def properties(self, run: str) -> dict[str, str]:
        return {
            "connector.class": "io.debezium.connector.mongodb.MongoDbConnector",
            "mongodb.connection.string": self.server.uri,
            "collection.include.list": "inv.items",
        }

    def id_and_name(self, row: dict[str, Any]) -> tuple[int, str]:
        return row["_id"], row.get("name", "")

    def store(self) -> None:
        self.server.stop()
        (self.server.data / "mongod.lock").unlink(missing_ok=True)
        pack(self.server.data, self.archive)

    def restore(self) -> None:
        self.server = _MovedMongoServer()
        unpack(self.archive, self.server.data)
        self.server.start()


class StoredOracle(StoredDatabase):
    """The stand-in keeps nothing between two lives: its rows and its redo are a script, with the
    same SCN and transaction ids whenever it runs. `archive` has the blocks that happened."""

    name = "oracle"
    topics = "INV.ITEMS"
    rows_change = False  # lines of redo are in the log alone
    server: OracleServer

    def create(self) -> None:
        self.server = OracleServer()
        self.server.start()
        self._blocks: list[int] = []
        rows = [[number, first_name(number)] for number in range(1, ROWS + 1)]
        columns = ['"ID" NUMBER(9,0) NOT NULL', '"NAME" VARCHAR2(100)']
        table = {"name": "INV.ITEMS", "columns": columns, "key": ["ID"], "rows": rows}
        self.server.load({"database": {"advances": False}, "tables": [table]})

    def apply(self, block: int) -> None:
        self._blocks.append(block)
        rows = rows_after(change for block in self._blocks[:-1] for change in changes_of(block))
        for place, (operation, number, name) in enumerate(changes_of(block)):
            scn = 1_100_000 + 100_000 * block + 100 * place
            xid = f"0a00{block:02x}00{place:08x}"
            before = rows.get(number)
            common = {"xid": xid, "table": "INV.ITEMS", "row_id": f"AAAR3sAAEAAA{number:06d}"}
            table, columns = '"INV"."ITEMS"', '"ID","NAME"'
            where = f""" where "ID" = '{number}' and "NAME" = '{before}';"""
            kind, sql = {
                "c": ("INSERT", f"insert into {table}({columns}) values ('{number}','{name}');"),
                "u": ("UPDATE", f"""update {table} set "NAME" = '{name}'{where}"""),
                "d": ("DELETE", f"delete from {table}{where}"),
            }[operation]
            self.server.apply(
                [
                    {"scn": scn},
                    {"redo": "START", "xid": xid, "scn": scn, "sql": "set transaction read write;"},
                    {"redo": kind, **common, "scn": scn + 1, "sql": sql},
                    {"redo": "COMMIT", "xid": xid, "scn": scn + 2, "sql": "commit;"},
                ]
            )

    def properties(self, run: str) -> dict[str, str]:
        return {
            "connector.class": "io.debezium.connector.oracle.OracleConnector",
            **self.server.properties(),
            "table.include.list": r"INV\.ITEMS",
            "log.mining.sleep.time.default.ms": "50",
            "log.mining.sleep.time.max.ms": "50",
            "poll.interval.ms": "50",
        }

    def id_and_name(self, row: dict[str, Any]) -> tuple[int, str]:
        return int(row["ID"]), row["NAME"]

    def store(self) -> None:
        self.archive.parent.mkdir(parents=True, exist_ok=True)
        self._script.write_text(json.dumps(self._blocks))

    def restore(self) -> None:
        self.create()
        for block in json.loads(self._script.read_text()):
            self.apply(block)

    @property
    def _script(self) -> Path:
        return self.archive.parent / "blocks.json"


def stored_databases() -> dict[str, type[StoredDatabase]]:
    """Databases by name; Db2 only with IBM's driver."""
    databases: list[type[StoredDatabase]] = [StoredPostgres, StoredMongo, StoredOracle]
    try:
        from tests.upgrades.db2 import StoredDb2
    except ModuleNotFoundError:
        pass
    else:
        databases.append(StoredDb2)
    return {database.name: database for database in databases}


def pack(folder: Path, archive: Path) -> None:
    """Write a folder's content to a `.tar.xz`, without owners and times."""

    def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        entry.mtime = 0
        return entry

    archive.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(archive, "w:xz", preset=9) as tar:
        tar.add(folder, ".", filter=plain)


def unpack(archive: Path, folder: Path) -> None:
    """Write what `pack` stored to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(archive, "r:xz") as tar:
        tar.extractall(folder, filter="data")
