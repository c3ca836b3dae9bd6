"""`headrace check`: what it says of deployments that are ready, and of those that are not."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from bson.datetime_ms import DatetimeMS

from headrace.cli import main
from headrace.connectors.registry import check, parse_configuration, send_signal
from headrace.errors import HeadraceError
from headrace.testing.mongodb import MongoServer
from tests.servers.mongodb import MongoDatabase, create_with_images
from tests.servers.mongodb_kinds import GuardedServer, IdleServer, LoneServer

pytestmark = pytest.mark.mongodb


def findings(database: MongoDatabase, **more: str) -> dict[str, tuple[str, str, str]]:
    """Level, message and remedy by code; of several findings of one code the last."""
    reported = check(parse_configuration(database.properties(**more)))
    assert all(finding.remedy for finding in reported if finding.level != "ok")
    return {finding.code: (finding.level, finding.message, finding.remedy) for finding in reported}


def levels(database: MongoDatabase, **more: str) -> dict[str, str]:
    return {code: level for code, (level, _, _) in findings(database, **more).items()}


def test_a_ready_deployment_has_no_errors_and_nothing_is_made(
    mongo_database: MongoDatabase,
) -> None:
    mongo_database.collections["orders"].insert_one({})
    level_by_code = levels(mongo_database)
    assert set(level_by_code.values()) == {"ok"}
    expected = {"version", "collections", "find", "change_stream", "oplog"}
    assert set(level_by_code) == {f"mongodb.{code}" for code in expected}
    assert mongo_database.collections.list_collection_names() == ["orders"]


def test_the_collections_are_named(mongo_database: MongoDatabase) -> None:
    name = mongo_database.name
    for collection in ("a", "b", "c.d"):
        mongo_database.collections[collection].insert_one({})
    mongo_database.collections.create_collection("view", viewOn="a", pipeline=[])
    _, message, _ = findings(mongo_database, collection_exclude_list=r".*\.b")[
        "mongodb.collections"
    ]
    assert message == f"2 of 3 collections are captured: {name}.a, {name}.c.d"


def test_what_matches_nothing_is_a_warning(mongo_database: MongoDatabase) -> None:
    findings_by_code = findings(mongo_database, collection_include_list="shop.nothing")
    assert findings_by_code["mongodb.no_collections"][0] == "warning"
    assert "shop.nothing matches no collection" in findings_by_code["mongodb.unmatched_entry"][1]
    assert "mongodb.change_stream" in findings_by_code


@pytest.mark.parametrize(
    ("entry", "meant"),
    [("{}[.]*", "{}[.].*"), ("{}", "{}[.].*"), (r"{}\.cust", r"{}\.cust.*")],
)
def test_an_expression_that_ends_too_soon_is_named_with_one_that_does_not(
    mongo_database: MongoDatabase, entry: str, meant: str
) -> None:
    mongo_database.collections["customers"].insert_one({})
    entry, meant = entry.format(mongo_database.name), meant.format(mongo_database.name)
    findings_by_code = findings(mongo_database, collection_include_list=entry)
    _, message, remedy = findings_by_code["mongodb.unmatched_entry"]
    assert f"it has to match the whole name; did you mean {meant}?" in message
    assert remedy == f"Write {meant}."
    findings_by_code = findings(mongo_database, collection_include_list=meant)
    assert "mongodb.unmatched_entry" not in findings_by_code


def test_a_limit_of_collections_is_kept(mongo_database: MongoDatabase) -> None:
    for collection in ("a", "b"):
        mongo_database.collections[collection].insert_one({})
    more = {"guardrail_collections_max": "1"}
    assert levels(mongo_database, **more)["mongodb.too_many_collections"] == "warning"
    more["guardrail_collections_limit_action"] = "fail"
    assert levels(mongo_database, **more)["mongodb.too_many_collections"] == "error"


def test_collections_with_one_topic_are_reported(mongo_database: MongoDatabase) -> None:
    name = mongo_database.name
    for collection in ("a b", "a_b"):
        mongo_database.collections[collection].insert_one({})
    _, message, _ = findings(mongo_database)["mongodb.shared_name"]
    assert message == f"{name}.a b and {name}.a_b get one topic, headrace.{name}.a_b"


@pytest.mark.parametrize(
    ("mode", "update", "option"),
    [
        ("change_streams_with_pre_image", "lookup", "capture.mode"),
        ("change_streams_update_full_with_pre_image", "lookup", "capture.mode"),
        ("change_streams_update_full", "post_image", "capture.mode.full.update.type"),
        ("change_streams_update_full", "lookup", None),
        ("change_streams", "post_image", None),
    ],
)
def test_collections_that_keep_no_images_come_with_the_command_that_enables_them(
    mongo_database: MongoDatabase, mode: str, update: str, option: str | None
) -> None:
    create_with_images(mongo_database.collections, "with")
    more = {"capture_mode": mode, "capture_mode_full_update_type": update}
    assert "mongodb.no_images" not in findings(mongo_database, **more)
    mongo_database.collections["without"].insert_one({})
    findings_by_code = findings(mongo_database, **more)
    if option is None:
        assert "mongodb.no_images" not in findings_by_code
        return
    level, message, remedy = findings_by_code["mongodb.no_images"]
    assert level == "warning"
    assert option in message
    start = f'db.getSiblingDB("{mongo_database.name}").runCommand('
    assert remedy.startswith(start)
    # The command is JavaScript; as JSON it is the driver's.
    command = remedy.removeprefix(start).removesuffix(")")
    for word in ("collMod", "changeStreamPreAndPostImages", "enabled"):
        command = command.replace(f"{word}:", f'"{word}":')
    mongo_database.collections.command(json.loads(command))
    assert "mongodb.no_images" not in findings(mongo_database, **more)


def test_the_stream_is_opened_as_it_will_be(mongo_database: MongoDatabase) -> None:
    split = findings(mongo_database, cursor_oversize_handling_mode="split")["mongodb.unknown_stage"]
    assert split[0] == "error"
    expression = {"collection_include_list": r"shop\.\p{Alpha}+"}
    assert levels(mongo_database, **expression)["mongodb.bad_expression"] == "error"
    scope = {"capture_scope": "collection", "capture_target": f"{mongo_database.name}.orders.x"}
    assert levels(mongo_database, **scope)["mongodb.no_target"] == "warning"
    mongo_database.collections["orders.x"].insert_one({})
    _, message, _ = findings(mongo_database, **scope)["mongodb.change_stream"]
    assert message.startswith(f"The change stream of {mongo_database.name}.orders.x ")


def test_a_snapshot_alone_needs_no_stream(mongo_database: MongoDatabase) -> None:
    level_by_code = levels(mongo_database, snapshot_mode="initial_only")
    assert "mongodb.documents_only" in level_by_code
    assert "mongodb.change_stream" not in level_by_code


def test_filters_of_snapshots_are_tried(mongo_database: MongoDatabase) -> None:
    name = f"{mongo_database.name}.orders"
    mongo_database.collections["orders"].insert_one({})
    filter_properties = {
        "snapshot.collection.filter.overrides": name,
        f"snapshot.collection.filter.overrides.{name}": "{total: {$foo: 1}}",
    }
    properties = mongo_database.properties() | filter_properties
    codes = {
        finding.code
        for finding in check(parse_configuration(properties))
        if finding.level == "error"
    }
    assert codes == {"mongodb.filter"}
    del filter_properties[f"snapshot.collection.filter.overrides.{name}"]
    reported = check(parse_configuration(mongo_database.properties() | filter_properties))
    (warning,) = (finding for finding in reported if finding.level == "warning")
    assert name in warning.message


def test_the_signal_collection_is_looked_for(mongo_database: MongoDatabase) -> None:
    name = f"{mongo_database.name}.signals"
    more = {"signal_data_collection": name}
    level, _, remedy = findings(mongo_database, **more)["mongodb.signal_collection"]
    assert level == "warning"
    assert remedy == f'db.getSiblingDB("{mongo_database.name}").createCollection("signals")'
    mongo_database.collections.create_collection("signals")
    assert levels(mongo_database, **more)["mongodb.signal_collection"] == "ok"
    scope = {"capture_scope": "collection", "capture_target": f"{mongo_database.name}.orders"}
    assert levels(mongo_database, **more, **scope)["mongodb.signal_scope"] == "error"


def test_a_signal_is_written_as_debezium_reads_it(mongo_database: MongoDatabase) -> None:
    name = f"{mongo_database.name}.signals"
    config = parse_configuration(mongo_database.properties(signal_data_collection=name))
    mongo_database.collections.create_collection("signals")
    mongo_database.collections.create_collection("orders")
    orders = f"{mongo_database.name}.orders"
    identity = send_signal(config, "execute-snapshot", {"data-collections": [orders]})
    (document,) = mongo_database.collections["signals"].find()
    assert list(document) == ["_id", "type", "data"]
    assert document["_id"] == identity
    assert document["type"] == "execute-snapshot"
    assert document["data"]["data-collections"] == [orders]


def test_a_signal_makes_no_collection(mongo_database: MongoDatabase) -> None:
    name = f"{mongo_database.name}.missing"
    config = parse_configuration(mongo_database.properties(signal_data_collection=name))
    with pytest.raises(HeadraceError) as raised:
        send_signal(config, "log", {"message": "m"})
    assert raised.value.code == "mongodb.signal_collection"
    command = f'db.getSiblingDB("{mongo_database.name}").createCollection("missing")'
    assert command in raised.value.remedy
    assert mongo_database.collections.list_collection_names() == []


def test_an_oplog_that_forgets_soon_is_a_warning(
    mongodb_small_oplog: MongoServer,
) -> None:
    database = MongoDatabase.create(mongodb_small_oplog)
    block = [{"text": "x" * 1000} for _ in range(1000)]
    for _ in range(3):
        database.collections["c"].insert_many([dict(document) for document in block])
    level, message, remedy = findings(database, headrace_oplog_window_min="1000 d")[
        "mongodb.oplog_short"
    ]
    assert level == "warning"
    assert "headrace.oplog.window.min is 1000 days" in message
    assert "replSetResizeOplog" in remedy
    database.drop()


@pytest.fixture(scope="module")
def guarded(mongodb_servers: Callable[[str], MongoServer]) -> Iterator[GuardedServer]:
    assert mongodb_servers("plain").running
    with GuardedServer() as server:
        server.start()
        with server.connect_to_member() as client:
            client["shop"]["orders"].insert_one({})
            client["shop"].create_collection("signals")
        server.add_user("everything", "readAnyDatabase")
        server.add_user("oplog", "readAnyDatabase", {"role": "read", "db": "local"})
        server.add_user("shop", {"role": "read", "db": "shop"})
        server.add_user("nothing")
        yield server


def findings_of_user(
    server: GuardedServer, user: str, **more: str
) -> dict[str, tuple[str, str, str]]:
    login = {"mongodb.user": user, "mongodb.password": user}
    properties = {
        "connector.class": "mongodb",
        "topic.prefix": "p",
        "mongodb.connection.string": server.uri,
        "database.include.list": "shop",
    }
    more = {name.replace("_", "."): text for name, text in more.items()}
    reported = check(parse_configuration({**properties, **login, **more}))
    return {finding.code: (finding.level, finding.message, finding.remedy) for finding in reported}


def test_the_guides_user_suffices(guarded: GuardedServer) -> None:
    assert {level for level, _, _ in findings_of_user(guarded, "oplog").values()} == {"ok"}


def test_missing_privileges_are_named_with_the_command_that_gives_them(
    guarded: GuardedServer,
) -> None:
    level, _, remedy = findings_of_user(guarded, "everything")["mongodb.oplog_unread"]
    assert level == "warning"
    assert 'grantRolesToUser("everything", [{role: "read", db: "local"}])' in remedy
    level, _, remedy = findings_of_user(guarded, "shop")["mongodb.no_privilege"]
    assert level == "error"
    assert 'grantRolesToUser("shop", ["readAnyDatabase"])' in remedy
    scope = {"capture_scope": "database", "capture_target": "shop"}
    assert findings_of_user(guarded, "shop", **scope)["mongodb.change_stream"][0] == "ok"
    findings_by_code = findings_of_user(guarded, "nothing")
    assert findings_by_code["mongodb.no_collections"][0] == "warning"
    assert findings_by_code["mongodb.no_privilege"][0] == "error"


def test_a_listing_that_rights_make_shorter_names_the_right(guarded: GuardedServer) -> None:
    findings_by_code = findings_of_user(guarded, "nothing")
    for code in ("mongodb.no_collections", "mongodb.unmatched_entry"):
        _, message, remedy = findings_by_code[code]
        assert "may not read every database" in message
        assert 'grantRolesToUser("nothing", ["readAnyDatabase"])' in remedy
        assert '{role: "read", db: "shop"}' in remedy
    scope = {"capture_scope": "database", "capture_target": "shop"}
    _, message, _ = findings_of_user(guarded, "nothing", **scope)["mongodb.no_collections"]
    assert "may not read all of shop" in message
    findings_by_code = findings_of_user(guarded, "oplog", collection_include_list="shop.missing")
    for code in ("mongodb.no_collections", "mongodb.unmatched_entry"):
        assert code in findings_by_code, findings_by_code
        assert "right" not in findings_by_code[code][1]
        assert "grant" not in findings_by_code[code][2]


def test_a_signal_collection_that_may_not_be_written_is_a_warning(guarded: GuardedServer) -> None:
    signals = {"signal_data_collection": "shop.signals"}
    level, _, remedy = findings_of_user(guarded, "oplog", **signals)["mongodb.signal_privilege"]
    assert level == "warning"
    assert 'grantRolesToUser("oplog", [{role: "readWrite", db: "shop"}])' in remedy
    findings_by_code = findings_of_user(guarded, "oplog", **signals, read_only="true")
    assert findings_by_code["mongodb.signal_collection"][0] == "ok"
    with guarded.connect_to_member() as client:
        role = {"role": "readWrite", "db": "shop"}
        client.admin.command("grantRolesToUser", "oplog", roles=[role])
    assert findings_of_user(guarded, "oplog", **signals)["mongodb.signal_collection"][0] == "ok"


def test_a_wrong_login_is_the_only_finding(guarded: GuardedServer) -> None:
    (finding,) = findings_of_user(guarded, "nobody").items()
    assert finding[0] == "mongodb.authentication"


def test_a_missing_login_is_named_once(guarded: GuardedServer) -> None:
    properties = {
        "connector.class": "mongodb",
        "topic.prefix": "p",
        "mongodb.connection.string": guarded.uri,
    }
    (error,) = (
        finding for finding in check(parse_configuration(properties)) if finding.level != "ok"
    )
    assert (error.code, error.level) == ("mongodb.authentication", "error")
    assert error.message.endswith("asks for a login, and no user is configured")
    assert error.remedy == "Set mongodb.user and mongodb.password."


@pytest.mark.parametrize(
    ("kind", "code"),
    [(LoneServer, "mongodb.not_a_replica_set"), (IdleServer, "mongodb.not_initiated")],
)
def test_a_server_without_replica_set_is_named_within_the_selection_timeout(
    mongodb_servers: Callable[[str], MongoServer], kind: type[MongoServer], code: str
) -> None:
    assert mongodb_servers("plain").running
    with kind() as server:
        server.start()
        properties = {
            "connector.class": "mongodb",
            "topic.prefix": "p",
            "mongodb.connection.string": server.uri,
            "mongodb.server.selection.timeout.ms": "1000",
        }
        began = time.monotonic()
        (finding,) = check(parse_configuration(properties))
        assert (finding.code, finding.level) == (code, "error")
        assert time.monotonic() - began < 20


def test_the_command_line_prints_findings_and_remedies(
    mongo_database: MongoDatabase, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mongo_database.collections["orders"].insert_one({})
    file = tmp_path / "shop.json"
    file.write_text(json.dumps(mongo_database.properties()))
    assert main(["check", str(file)]) == 0
    assert "[mongodb.change_stream]" in capsys.readouterr().out
    file.write_text(json.dumps(mongo_database.properties(cursor_oversize_handling_mode="split")))
    assert main(["check", str(file)]) == 1
    printed = capsys.readouterr().out
    assert "error" in printed
    assert "needs MongoDB 6.0.9" in printed


def test_a_server_that_does_not_exist_is_reported_in_time() -> None:
    properties = {
        "connector.class": "mongodb",
        "topic.prefix": "p",
        "mongodb.connection.string": "mongodb://127.0.0.1:1/?replicaSet=rs0",
        "connection.validation.timeout.ms": "500",
    }
    (finding,) = check(parse_configuration(properties))
    assert (finding.code, finding.level) == ("mongodb.unreachable", "error")
    more = {"signal.data.collection": "a.b", "mongodb.server.selection.timeout.ms": "500"}
    config = parse_configuration({**properties, **more})
    with pytest.raises(HeadraceError) as raised:
        send_signal(config, "log", {"message": "m"})
    assert raised.value.code == "mongodb.unreachable"


def test_views_are_read_as_the_snapshot_reads_them(mongo_database: MongoDatabase) -> None:
    shop, name = mongo_database.collections, mongo_database.name
    shop["rows"].insert_one({"_id": 1, "text": "no number"})
    shop.create_collection("good", viewOn="rows", pipeline=[])
    assert "mongodb.find" in levels(mongo_database)
    shop.create_collection(
        "broken", viewOn="rows", pipeline=[{"$group": {"_id": {"$toInt": "$text"}}}]
    )
    assert f"Reading {name}.broken" in findings(mongo_database)["mongodb.command_failed"][1]
    left_out = rf"{name}\.(?!broken).*"
    assert "mongodb.find" in levels(mongo_database, collection_include_list=left_out)
    assert "mongodb.find" in levels(mongo_database, snapshot_include_collection_list=left_out)


def test_a_view_without_ids_is_reported(mongo_database: MongoDatabase) -> None:
    mongo_database.collections["rows"].insert_one({"_id": 1, "text": "x"})
    mongo_database.collections.create_collection(
        "bare", viewOn="rows", pipeline=[{"$project": {"_id": 0}}]
    )
    level, message, _ = findings(mongo_database)["mongodb.no_id"]
    assert (level, f"{mongo_database.name}.bare" in message) == ("error", True)


def test_an_id_may_be_a_date_that_python_has_not(mongo_database: MongoDatabase) -> None:
    far = DatetimeMS(253402300800000 * 10)
    mongo_database.collections["rows"].insert_one({"_id": far})
    assert levels(mongo_database)["mongodb.find"] == "ok"
