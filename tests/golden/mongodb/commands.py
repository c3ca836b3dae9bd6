"""The language of MongoDB's workloads: database commands in Extended JSON.

A command goes to the database `golden`, or to that of its member `$db`. What stands between
`{"startTransaction": 1}` and `{"commitTransaction": 1}` or `{"abortTransaction": 1}` is one
transaction. Beside Extended JSON, `{"$repeat": [text, times]}` is a long text, and
`{"$document": hexadecimal}` a document by its BSON, for types that the driver cannot write.
"""

from __future__ import annotations

import json
from typing import Any

from bson.codec_options import DatetimeConversion
from bson.json_util import JSONOptions, object_pairs_hook
from bson.raw_bson import RawBSONDocument
from pymongo import MongoClient
from pymongo.client_session import ClientSession

from tests.golden.database import PREFIX

# Dates beyond the year 9999 are BSON too.
_OPTIONS = JSONOptions(tz_aware=True, datetime_conversion=DatetimeConversion.DATETIME_MS)


def parse(block: str) -> list[dict[str, Any]]:
    """The commands of a block, which may go over several lines; lines of `//` are comments."""
    text = "\n".join(line for line in block.splitlines() if not line.startswith("//"))
    decoder = json.JSONDecoder(object_pairs_hook=_value)
    commands, place = [], 0
    while text[place:].strip():
        place += len(text[place:]) - len(text[place:].lstrip())
        command, place = decoder.raw_decode(text, place)
        commands.append(command)
    return commands


def _value(pairs: list[tuple[str, Any]]) -> Any:
    match pairs:
        case [("$repeat", [str(text), int(times)])]:
            return text * times
        case [("$document", str(hexadecimal))]:
            return RawBSONDocument(bytes.fromhex(hexadecimal))
    return object_pairs_hook(pairs, _OPTIONS)


def execute(client: MongoClient[dict[str, Any]], block: str) -> None:
    """Run the commands of a block, one after the other. A write error is an error."""
    session: ClientSession | None = None
    for command in parse(block):
        match next(iter(command)):
            case "startTransaction":
                session = client.start_session()
                session.start_transaction()
            case "commitTransaction" | "abortTransaction" as end:
                assert session is not None
                if end == "commitTransaction":
                    session.commit_transaction()
                else:
                    session.abort_transaction()
                session.end_session()
                session = None
            case _:
                database = client[command.pop("$db", PREFIX)]
                result = database.command(command, session=session)
                assert "writeErrors" not in result, result["writeErrors"]
