"""A bank on MongoDB, whose updates come with the document that there is when they are read."""

from __future__ import annotations

import random
from typing import Any

import pymongo
from bson import json_util

from tests.chaos.databases.database import Row, Transfer
from tests.chaos.databases.mongodb import ChaosMongo
from tests.chaos.replicas.banks.bank import FIRST_CARDS, TABLES, Bank, Step, picture


class MongoBank(ChaosMongo, Bank):
    """See Bank. An `_id` cannot change: the card is deleted and inserted. Nothing is truncated."""

    namespace = "bank"

    def properties(self) -> dict[str, str]:
        """The configuration with the default capture.mode."""
        properties = super().properties()
        for name in ("capture.mode", "capture.mode.full.update.type", "event.format.version"):
            del properties[name]
        collections = ",".join(f"{self.namespace}.{table}" for table in TABLES)
        return properties | {"collection.include.list": collections}

    def create(self) -> None:
        super().create()
        chance = random.Random(1)
        with self.server.connect() as client:
            cards = client[self.namespace].cards
            cards.insert_many(
                {"_id": f"c{n}", "holder": f"holder {n}", "picture": picture(chance)}
                for n in range(FIRST_CARDS)
            )
            client[self.namespace].visits.insert_one({"_id": "first", "at": [1, {"branch": "N"}]})

    def commit(self, connection: pymongo.MongoClient[Row], transfer: Transfer) -> None:
        super().commit(connection, transfer)
        with connection.start_session() as session, session.start_transaction():
            for step, chance in self.steps(transfer):
                self._take(connection[self.namespace], session, step, chance)

    def _take(self, bank: Any, session: Any, step: Step, chance: random.Random) -> None:
        key, word = f"c{chance.getrandbits(40)}", chance.choice(("Ana", "Bea", "Zoë", None))
        if step is Step.ISSUE:
            issued = {"_id": key, "holder": word, "picture": picture(chance)}
            bank.cards.insert_one(issued, session=session)
            return
        if step in (Step.VISIT, Step.CLEAR):
            bank.visits.insert_one({"_id": key, "at": [chance.random(), word]}, session=session)
            return
        cards = list(bank.cards.aggregate([{"$sample": {"size": 1}}], session=session))
        for card in cards:
            selected, renamed = {"_id": card["_id"]}, {"holder": word}
            if step is Step.RENAME:
                bank.cards.update_one(selected, {"$set": renamed}, session=session)
            elif step is Step.REDRAW:
                bank.cards.update_one(
                    selected, {"$set": {"picture": picture(chance)}}, session=session
                )
            else:
                bank.cards.delete_one(selected, session=session)
            if step in (Step.MOVE, Step.RENAME_AND_MOVE):
                changed = renamed if step is Step.RENAME_AND_MOVE else {}
                bank.cards.insert_one(card | changed | {"_id": key}, session=session)

    def expected(self, table: str) -> list[Row]:
        with self.server.connect() as client:
            return list(client[self.namespace][table].find())

    def commit_last(self) -> None:
        # A change stream does not say that a transaction has ended.
        with self.server.connect() as client:
            client[self.namespace].visits.insert_one({"_id": "last", "at": []})

    def shown(self, row: Row) -> Row:
        document: Row = json_util.loads(row["document"])
        assert json_util.loads(row["_id"]) == document["_id"]
        return document
