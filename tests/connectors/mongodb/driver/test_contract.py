"""The parts of PyMongo that the MongoDB connector uses, compared with its classes, without a
server."""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path
from typing import Any

from bson.binary import UuidRepresentation
from bson.codec_options import CodecOptions, DatetimeConversion
from bson.json_util import JSONMode, JSONOptions
from bson.raw_bson import RawBSONDocument
from bson.timestamp import Timestamp
from pymongo import MongoClient
from pymongo.client_session import ClientSession
from pymongo.collection import Collection
from pymongo.common import BaseObject
from pymongo.database import Database
from pymongo.errors import OperationFailure

from headrace.connectors.mongodb import connection
from tests.contract.driver_calls import Driver, Member, Use, faults, sources, uses

FOLDER = Path(inspect.getfile(connection)).parent
FILES = [path for path in sources(FOLDER) if path.name != "demo.py"]
"""The demo names its collections as attributes."""
_MODULES = (
    "bson", "bson.binary", "bson.codec_options", "bson.decimal128", "bson.errors",
    "bson.json_util", "bson.raw_bson", "bson.regex", "bson.timestamp", "pymongo",
    "pymongo.client_session", "pymongo.driver_info", "pymongo.errors", "pymongo.read_concern",
    "pymongo.uri_parser",
)  # fmt: skip
_CLIENT, _SESSION = "pymongo.MongoClient", "pymongo.client_session.ClientSession"


def _places() -> type:
    """A client and what is in it. A database is an item of a client, and a collection one of a
    database, which the walk takes for more of the client; any name is an attribute of each, so
    that only what their classes define counts."""
    attributes: dict[str, Any] = dict.fromkeys(("admin", "local"))
    for owner in (BaseObject, Collection, Database, MongoClient):
        attributes |= {
            name: attribute for name, attribute in vars(owner).items() if name[:2] != "__"
        }
    return type("Places", (), attributes)


TABLE = Driver(
    classes={
        **{name: import_module(name) for name in _MODULES},
        "bson.binary.UuidRepresentation": UuidRepresentation,
        "bson.codec_options.CodecOptions": CodecOptions,
        "bson.codec_options.DatetimeConversion": DatetimeConversion,
        "bson.json_util.JSONMode": JSONMode,
        "bson.json_util.JSONOptions": JSONOptions,
        "bson.raw_bson.RawBSONDocument": RawBSONDocument,
        "bson.timestamp.Timestamp": Timestamp,
        "pymongo.errors.OperationFailure": OperationFailure("refused"),
        # What has a code of its own is looked for by `getattr`.
        "pymongo.errors.PyMongoError": OperationFailure("refused"),
        _CLIENT: _places(),
        _SESSION: ClientSession,
    },
    members={
        "bson.binary.UuidRepresentation.STANDARD": Member(),
        "bson.codec_options.DatetimeConversion.DATETIME_MS": Member(),
        "bson.decode": Member(),
        "bson.encode": Member(),
        "bson.errors.BSONError": Member(),
        "bson.errors.InvalidBSON": Member(),
        "bson.json_util.CANONICAL_JSON_OPTIONS": Member(),
        "bson.json_util.JSONMode.RELAXED": Member(),
        "bson.json_util.dumps": Member(),
        "bson.json_util.loads": Member(),
        "bson.raw_bson.RawBSONDocument.raw": Member(),
        "bson.regex.Regex": Member(),
        "bson.timestamp.Timestamp.inc": Member(),
        "bson.timestamp.Timestamp.time": Member(),
        "pymongo.ASCENDING": Member(),
        "pymongo.DESCENDING": Member(),
        "pymongo.MongoClient.admin": Member(gives=_CLIENT),
        "pymongo.MongoClient.aggregate_raw_batches": Member(),
        "pymongo.MongoClient.close": Member(),
        "pymongo.MongoClient.command": Member(),
        "pymongo.MongoClient.count_documents": Member(),
        "pymongo.MongoClient.estimated_document_count": Member(),
        "pymongo.MongoClient.find_one": Member(),
        "pymongo.MongoClient.find_raw_batches": Member(),
        "pymongo.MongoClient.get_collection": Member(gives=_CLIENT),
        "pymongo.MongoClient.list_collections": Member(),
        "pymongo.MongoClient.list_database_names": Member(),
        "pymongo.MongoClient.local": Member(gives=_CLIENT),
        "pymongo.MongoClient.options": Member(),
        "pymongo.MongoClient.read_concern": Member(),
        "pymongo.MongoClient.read_preference": Member(),
        "pymongo.MongoClient.start_session": Member(gives=_SESSION),
        "pymongo.MongoClient.topology_description": Member(),
        "pymongo.client_session.ClientSession.advance_operation_time": Member(),
        "pymongo.client_session.ClientSession.end_session": Member(),
        "pymongo.client_session.ClientSession.has_ended": Member(),
        "pymongo.client_session.ClientSession.operation_time": Member(),
        "pymongo.driver_info.DriverInfo": Member(),
        "pymongo.errors.ConfigurationError": Member(),
        "pymongo.errors.ConnectionFailure": Member(),
        "pymongo.errors.CursorNotFound": Member(),
        "pymongo.errors.InvalidURI": Member(),
        "pymongo.errors.NotPrimaryError": Member(),
        "pymongo.errors.OperationFailure.code": Member(),
        "pymongo.errors.PyMongoError.code": Member(),
        "pymongo.errors.PyMongoError.details": Member(),
        "pymongo.errors.PyMongoError.has_error_label": Member(),
        "pymongo.errors.PyMongoError.timeout": Member(),
        "pymongo.errors.ServerSelectionTimeoutError": Member(),
        "pymongo.read_concern.ReadConcern": Member(),
        "pymongo.timeout": Member(),
        "pymongo.uri_parser.parse_uri": Member(),
    },
    named={path.name: {"client": _CLIENT, "session": _SESSION} for path in FILES},
)
_OF_OTHERS = {("bson.timestamp.Timestamp", "close"), ("bson.timestamp.Timestamp", "read")}
"""Attributes that the walk takes for those of a time of operations, because a method has the name
of one that gives such a time."""


def _is_of_the_driver(use: Use) -> bool:
    return (use.owner, use.name) not in _OF_OTHERS


def test_everything_that_the_connector_uses_of_the_driver_is_there_and_takes_its_arguments() -> (
    None
):
    driver_uses = filter(_is_of_the_driver, uses(TABLE, FILES))
    assert faults(TABLE, driver_uses) == []
