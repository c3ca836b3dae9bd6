"""MongoDB under the kills."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pymongo
from bson import json_util
from bson.int64 import Int64
from bson.timestamp import Timestamp
from pymongo.errors import PyMongoError

from headrace.testing.mongodb import MongoServer
from tests.chaos.databases.database import (
    ACCOUNTS,
    LEDGER_ROWS,
    START_BALANCE,
    Change,
    ChaosDatabase,
    Row,
    Transfer,
)
from tests.servers.mongodb import create_with_images, is_streamed

_BANK = "bank"
_COLLECTIONS = ("accounts", "ledger")
_OPERATIONS = {"insert": "c", "update": "u", "replace": "u", "delete": "d"}


class ChaosMongo(ChaosDatabase):
    """See ChaosDatabase. What happened is asked of a change stream of the driver's, which reads the
    oplog again."""

    name = "mongodb"
    errors = (PyMongoError, OSError)
    collection_member = "collection"
    unwrapping = "io.debezium.connector.mongodb.transforms.ExtractNewDocumentState"
    source_members = ("collection", "lsid", "txnNumber", "ts_ms", "ord")
    is_exclusive = False
    oplog_megabytes = 2048
    """Size of the oplog; it keeps all changes of a run to its end."""

    def __init__(self, server: MongoServer) -> None:
        self.server: MongoServer = server
        self._begun = self._time()
        self._entries = LEDGER_ROWS

    def properties(self) -> dict[str, str]:
        return {
            "connector.class": "io.debezium.connector.mongodb.MongoDbConnector",
            "mongodb.connection.string": self.server.uri,
            "collection.include.list": ",".join(f"{_BANK}.{name}" for name in _COLLECTIONS),
            "capture.mode": "change_streams_update_full_with_pre_image",
            "capture.mode.full.update.type": "post_image",
            # source.ts_ms is then of the clusterTime, as the history has it. In later formats it is
            # the wallTime, which is the next second's for one in 500 of the large transactions.
            "event.format.version": "2.5",
        }

    def create(self) -> None:
        with self.server.connect() as client:
            bank = client[_BANK]
            for name in _COLLECTIONS:
                create_with_images(bank, name)
            opened = {"balance": Int64(START_BALANCE), "note": "opened"}
            accounts = [{"_id": number, **opened} for number in range(1, ACCOUNTS + 1)]
            with client.start_session() as session, session.start_transaction():
                bank.accounts.insert_many(accounts, session=session)
            bank.ledger.insert_many(
                {"_id": i, "source": i % 100 + 1, "target": i % 99 + 1, "note": "old " * 20}
                for i in range(1, LEDGER_ROWS + 1)
            )

    @contextmanager
    def connect(self) -> Iterator[pymongo.MongoClient[Row]]:
        with self.server.connect(serverSelectionTimeoutMS=2000) as client:
            yield client

    def commit(self, connection: pymongo.MongoClient[Row], transfer: Transfer) -> None:
        bank = connection[_BANK]
        with connection.start_session() as session, session.start_transaction():
            for account, change, note in transfer.moves:
                update = {"$inc": {"balance": Int64(change)}, "$set": {"note": note}}
                bank.accounts.update_one({"_id": account}, update, session=session)
            numbers = range(self._entries + 1, self._entries + transfer.entries + 1)
            self._entries = numbers[-1]
            ends = {"source": transfer.source, "target": transfer.target}
            bank.ledger.insert_many(
                [{"_id": number, **ends, "amount": 1} for number in numbers], session=session
            )
            if transfer.victim is not None:
                bank.ledger.delete_one({"_id": transfer.victim}, session=session)

    def head(self) -> int:
        return _number(self._time())

    def stir(self) -> None:
        with self.server.connect() as client:
            client[_BANK].other.insert_one({})

    def place(self, offset: dict[str, object]) -> int:
        seconds, increment = (int(str(offset.get(name, 0))) for name in ("sec", "ord"))
        return seconds << 32 | increment

    def consistent(self, offset: dict[str, object]) -> int:
        return int(str(offset.get("consistent", 0))) >> 64

    def has_position(self, planned: int) -> bool:
        return planned >= 0

    @contextmanager
    def readers(self) -> Iterator[Callable[[], bool]]:
        yield lambda: is_streamed(self.server)

    def identifier(self, collection: str) -> str:
        return f"{_BANK}.{collection}"

    def create_signals(self) -> str:
        with self.server.connect() as client:
            client[_BANK].create_collection("signals")
        return f"{_BANK}.signals"

    def signal(self, identity: str, kind: str, data: Row) -> None:
        with self.server.connect() as client:
            client[_BANK].signals.insert_one({"_id": identity, "type": kind, "data": data})

    def change(self, value: Row) -> Change:
        source = value["source"]
        before, after = (
            None if value[name] is None else json_util.loads(value[name])
            for name in ("before", "after")
        )
        number = (after or before)["_id"]
        position = source["ts_ms"] // 1000 << 32 | source["ord"]
        return Change(
            source[self.collection_member],
            number,
            value["op"],
            before,
            after,
            (source["lsid"], source["txnNumber"]),
            (position, source["collection"], number),
            position,
            position,
        )

    def image(self, row: Row) -> object:
        return json_util.dumps(row)

    def history(self, first: int) -> Iterator[tuple[tuple[int, str, int], str]]:
        with self.server.connect() as client:
            last = client[_BANK].other.insert_one({}).inserted_id
            begun = self._begun
            with client[_BANK].watch(start_at_operation_time=begun, batch_size=1000) as stream:
                for event in stream:
                    name, key = event["ns"]["coll"], event["documentKey"]["_id"]
                    if key == last:
                        return
                    position = _number(event["clusterTime"])
                    if name in _COLLECTIONS and position >= first:
                        yield (position, name, key), _OPERATIONS[event["operationType"]]

    def rows(self, collection: str) -> dict[int, Row]:
        with self.server.connect() as client:
            return {document["_id"]: document for document in client[_BANK][collection].find()}

    def _time(self) -> Timestamp:
        with self.server.connect() as client:
            time: Timestamp = client.admin.command("ping")["operationTime"]
            return time


def _number(time: Timestamp) -> int:
    return int(time.time) << 32 | int(time.inc)
