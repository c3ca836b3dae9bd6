"""The page of commands names everything that is sent to MongoDB, and nothing else."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import bson
import pytest
from pymongo import MongoClient, monitoring
from pymongo.client_session import ClientSession
from pymongo.collection import Collection
from pymongo.database import Database
from pymongo.monitoring import (
    CommandFailedEvent,
    CommandListener,
    CommandStartedEvent,
    CommandSucceededEvent,
)

from headrace.connectors.mongodb.reading.sampled_schema import sampled_schema
from headrace.connectors.registry import check, parse_configuration, send_signal
from tests.connectors.mongodb.harness import PLAIN, Reader
from tests.connectors.mongodb.reading.test_incremental import ask, until_notified
from tests.servers.mongodb import MongoDatabase, create_with_images, kill_cursors

ROOT = Path(__file__).parents[4]
CONNECTOR = ROOT / "src/headrace/connectors/mongodb"
PAGE = (ROOT / "docs/reference/mongodb-commands.md").read_text()

CURSORS = ("getMore", "killCursors")
SENT_BY = {
    "aggregate_raw_batches": ("aggregate", *CURSORS),
    "find_raw_batches": ("find", *CURSORS),
    "find_one": ("find",),
    "count_documents": ("aggregate",),
    "estimated_document_count": ("count",),
    "insert_one": ("insert",),
    "delete_one": ("delete",),
    "list_collections": ("listCollections",),
    "list_collection_names": ("listCollections",),
    "list_database_names": ("listDatabases",),
    "start_session": ("endSessions",),  # when it, or its client, ends
}
"""Commands by the driver's methods that send them."""
SEND_NOTHING = {"client", "close", "get_collection", "advance_operation_time", "end_session"}
GENERAL = ("lsid", "txnNumber", "maxTimeMS")
OF_THE_DRIVER = ("$db", "$clusterTime", "$readPreference", "pipeline", "startTransaction")


def rows() -> dict[str, list[str]]:
    """Cells by the words of the first one that are code."""
    page_rows = {}
    for line in PAGE.partition("## What follows")[0].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("| `"):
            key = " ".join(re.findall(r"`([^`]+)`", cells[0]))
            assert key not in page_rows, key
            page_rows[key] = cells[1:]
    return page_rows


def calls() -> Iterator[tuple[Path, ast.Call, str]]:
    """Calls of the connector by a name that methods of the driver have."""
    owners = (MongoClient, Database, Collection, ClientSession)
    public = {name for owner in owners for name in dir(owner) if not name.startswith("_")}
    for path in sorted(CONNECTOR.rglob("*.py")):
        if path.name == "demo.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in public
            ):
                yield path, node, node.func.attr


def test_the_page_has_the_commands_that_the_sources_send_and_no_others() -> None:
    sent = {"aggregate", *CURSORS}  # the change stream's cursor puts them together
    unknown = set()
    for path, node, name in calls():
        if name == "command":
            first = node.args[0]
            if isinstance(first, ast.Constant):
                sent.add(first.value)
            else:
                assert path.name == "cursor.py", f"{path}:{node.lineno}"
        elif name in SENT_BY:
            sent.update(SENT_BY[name])
        elif name not in SEND_NOTHING:
            unknown.add(name)
    assert unknown == set(), "methods of the driver of which SENT_BY says nothing"
    table = PAGE.partition("What goes with commands")[0]
    named = {line.split("`")[1] for line in table.splitlines() if line.startswith("| `")}
    assert named == sent


def test_each_cell_of_the_page_has_its_source() -> None:
    listed = set(re.findall(r"^\| ([A-Z]) \|", PAGE.partition("## Sources")[2], re.MULTILINE))
    used = set()
    for key, cells in rows().items():
        assert len(cells) == 5, key
        for cell in cells:
            sources = re.findall(r"\(([A-Z](?: \d+)?(?:, [A-Z](?: \d+)?)*)\)", cell)
            assert sources or "not known" in cell, f"{key}: {cell}"
            used.update(source.split()[0] for each in sources for source in each.split(", "))
    assert used == listed


def features(command: Mapping[str, Any]) -> Iterator[str]:
    """The parts of a command that the page has to describe: its name, options, stages and
    namespace."""
    name = next(iter(command))
    yield name
    if command["$db"] == "local":
        yield f"{name} local.{command[name]}"
    if command["$db"] == "admin" and name == "listCollections":
        yield f"{name} admin"
    for option, value in command.items():
        if option == "readConcern":
            yield from (f"readConcern {member}" for member in value)
        elif option in GENERAL and (name, option) != ("getMore", "maxTimeMS"):
            yield option
        elif option != name and option not in OF_THE_DRIVER:
            yield f"{name} {option}"
    for stage in command.get("pipeline", ()):
        ((kind, members),) = stage.items()
        yield f"{name} {kind}"
        if kind == "$changeStream":
            for member, value in members.items():
                more = f" {value}" if member == "fullDocument" else ""
                yield f"{name} {kind} {member}{more}"


class Listener(CommandListener):  # type: ignore[misc]
    """Notes the features of commands of clients that are made while it is the last listener."""

    def __init__(self) -> None:
        self.heard: set[str] = set()
        self.is_on = True

    def started(self, event: CommandStartedEvent) -> None:
        if self.is_on:
            # As it is sent: a document in BSON's own form among others.
            self.heard.update(features(bson.decode(bson.encode(event.command))))

    def succeeded(self, event: CommandSucceededEvent) -> None:
        """Does nothing."""

    def failed(self, event: CommandFailedEvent) -> None:
        """Does nothing."""


@pytest.fixture
def listener() -> Iterator[Listener]:
    listener = Listener()
    monitoring.register(listener)  # for ever: there is no way back
    yield listener
    listener.is_on = False


MODES = {
    "literal": {
        "capture_mode": "change_streams_update_full_with_pre_image",
        "capture_mode_full_update_type": "post_image",
        "filters_match_mode": "literal",
    },
    "regex": {
        "capture_start_op_time": "1",
        "cursor_oversize_handling_mode": "skip",
        "cursor_oversize_skip_threshold": "1000000",
        "read_only": "true",
    },
}


def follow(database: MongoDatabase, listener: Listener, **more: str) -> None:
    """One run with all that it has: a snapshot, signals, an incremental snapshot, changes, lost
    cursors, a restart."""
    notified = {
        "signal_data_collection": f"{database.name}.signals",
        "notification_enabled_channels": "sink",
        "notification_sink_topic_name": "notifications",
        "incremental_snapshot_chunk_size": "7",
        "snapshot_mode": "initial",
        "headrace_oplog_watch_interval": "50",
    }
    run = Reader(PLAIN | database.properties(**(notified | more)))
    run.step_until(lambda: len(run.records) >= 20)
    ask(database, "orders")
    until_notified(run, "TABLE_SCAN_COMPLETED")
    listener.is_on = False
    kill_cursors(database.server)
    listener.is_on = True
    database.collections["orders"].update_one({"_id": 1}, {"$set": {"n": 2}})
    run.step_until(lambda: any('"op":"u"' in str(each["value"]) for each in run.records))
    run.restart()
    database.collections["orders"].delete_one({"_id": 1})
    run.step_until(lambda: any('"op":"d"' in str(each["value"]) for each in run.records))
    run.stop()


@pytest.mark.mongodb
@pytest.mark.parametrize("mode", MODES)
def test_everything_that_is_sent_is_on_the_page(
    mongo_database: MongoDatabase, listener: Listener, mode: str
) -> None:
    database, more = mongo_database, MODES[mode]
    create_with_images(database.collections, "orders")
    database.collections.create_collection("signals")
    database.collections["orders"].insert_many([{"_id": i, "n": 1} for i in range(20)])
    name = f"{database.name}.orders"
    filtered = {
        "snapshot.collection.filter.overrides": name,
        f"snapshot.collection.filter.overrides.{name}": json.dumps({"n": 1}),
    }
    properties = database.properties(**more) | filtered
    with_signals = {"signal.data.collection": f"{database.name}.signals"}
    assert not [
        finding for finding in check(parse_configuration(properties)) if finding.level == "error"
    ]
    sampled_schema(parse_configuration({**properties, "collection.include.list": name}))  # type: ignore[arg-type]
    send_signal(parse_configuration(properties | with_signals), "log", json.dumps({"message": "m"}))
    follow(database, listener, **more)
    assert {"find", "getMore", "aggregate $changeStream startAfter"} <= listener.heard
    assert listener.heard - rows().keys() == set()
