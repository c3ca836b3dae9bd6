"""Refusals of servers, with the messages of a running MongoDB."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from bson import Timestamp
from pymongo.errors import (
    AutoReconnect,
    ConfigurationError,
    NetworkTimeout,
    NotPrimaryError,
    OperationFailure,
    PyMongoError,
)

from headrace.connectors.mongodb.capture.pipeline import change_stream_pipeline
from headrace.connectors.mongodb.config import MongoConfig
from headrace.connectors.mongodb.connection import Client, connect, diagnose
from headrace.connectors.mongodb.errors import translate
from headrace.connectors.mongodb.servers import read_server
from headrace.errors import HeadraceError
from headrace.testing.mongodb import MongoServer
from tests.servers.mongodb import (
    MongoDatabase,
    create_with_images,
    kill_cursors,
    lose_history,
)
from tests.servers.mongodb_kinds import GuardedServer, IdleServer, LoneServer

SOON = {"mongodb.server.selection.timeout.ms": "1500"}


def configure(server: MongoServer, uri: str | None = None, **properties: str) -> MongoConfig:
    """`properties` use `_` for `.`."""
    named_properties = {name.replace("_", "."): text for name, text in properties.items()}
    required = {"topic.prefix": "p", "mongodb.connection.string": uri or server.uri}
    return MongoConfig.parse({**required, **SOON, **named_properties})


def answer(config: MongoConfig, use: Callable[[Client], object]) -> HeadraceError:
    """The error of `use`, in our words."""
    with connect(config) as client, pytest.raises((PyMongoError, HeadraceError)) as raised:
        use(client)
    if isinstance(raised.value, HeadraceError):
        return raised.value
    return diagnose(raised.value, config)


def started(server: MongoServer, mongodb: MongoServer) -> Iterator[Any]:
    """`server`, where `mongodb` could be started too."""
    assert mongodb.running
    with server:
        server.start()
        yield server


@pytest.fixture(scope="module")
def some_server(mongodb_servers: Callable[[str], MongoServer]) -> MongoServer:
    return mongodb_servers("plain")


@pytest.fixture(scope="module")
def guarded(some_server: MongoServer) -> Iterator[GuardedServer]:
    for server in started(GuardedServer(), some_server):
        server.add_user("nothing")
        server.add_user("shop", {"role": "read", "db": "shop"})
        yield server


def watch(client: Client) -> None:
    with client.watch():
        pass


@pytest.mark.mongodb
class TestServers:
    """Servers that cannot be captured from."""

    def test_a_lone_server_has_no_change_streams(self, some_server: MongoServer) -> None:
        for server in started(LoneServer(), some_server):
            without = configure(server, f"mongodb://127.0.0.1:{server.port}")
            for config, use in (
                (configure(server), watch),
                (without, watch),
                (without, lambda client, config=without: read_server(client, config)),
            ):
                error = answer(config, use)
                assert error.code == "mongodb.not_a_replica_set"
                assert "--replSet" in error.remedy
                assert not error.retriable

    def test_a_replica_set_has_to_be_initiated(self, some_server: MongoServer) -> None:
        for server in started(IdleServer(), some_server):
            assert answer(configure(server), watch).code == "mongodb.not_initiated"

    def test_a_replica_set_of_another_name_is_reported(self, some_server: MongoServer) -> None:
        uri = some_server.uri.replace("rs0", "rs1")
        error = answer(configure(some_server, uri), watch)
        assert error.code == "mongodb.other_replica_set"
        assert "is one of rs0" in error.message

    def test_the_connection_string_has_to_name_the_replica_set(
        self, some_server: MongoServer
    ) -> None:
        config = configure(some_server, f"mongodb://127.0.0.1:{some_server.port}")
        error = answer(config, lambda client: read_server(client, config))
        assert error.code == "mongodb.replica_set_name"
        assert "Add ?replicaSet=rs0" in error.remedy

    def test_a_server_says_its_version_and_set(self, some_server: MongoServer) -> None:
        config = configure(some_server)
        with connect(config) as client:
            facts = read_server(client, config)
        assert facts.replica_set == "rs0"
        assert facts.version >= (6, 0, 0)

    def test_nobody_at_an_address_is_tried_again(self) -> None:
        error = answer(
            MongoConfig.parse({
                "topic.prefix": "p", **SOON,
                "mongodb.connection.string": "mongodb://127.0.0.1:1/?replicaSet=rs0",
            }), watch)  # fmt: skip
        assert (error.code, error.retriable) == ("mongodb.unreachable", True)
        assert "127.0.0.1:1" in error.message
        assert "Topology" not in error.message


@pytest.mark.mongodb
class TestLogins:
    """Users and what they may do."""

    @pytest.mark.parametrize(
        "login",
        [
            {},
            {"mongodb_user": "root", "mongodb_password": "wrong password"},
            {"mongodb_user": "nobody", "mongodb_password": "wrong password"},
            {"mongodb_user": "root", "mongodb_password": GuardedServer.password,
             "mongodb_authsource": "shop"},
        ],
    )  # fmt: skip
    def test_a_wrong_login_is_no_reason_to_try_again(
        self, guarded: GuardedServer, login: dict[str, str]
    ) -> None:
        error = answer(configure(guarded, **login), watch)
        assert (error.code, error.retriable) == ("mongodb.authentication", False)
        assert ("mongodb.authsource" if login else "mongodb.user") in error.remedy
        assert "wrong password" not in str(error)

    def test_a_password_in_the_connection_string_comes_first(self, guarded: GuardedServer) -> None:
        uri = guarded.uri.replace("://", "://root:root+pass%40word@")
        config = configure(guarded, uri, mongodb_user="nobody", mongodb_password="wrong")
        with connect(config) as client:
            watch(client)
        config = configure(guarded, mongodb_user="root", mongodb_password=guarded.password)
        with connect(config) as client:
            watch(client)

    def test_a_missing_privilege_comes_with_the_command_that_grants_it(
        self, guarded: GuardedServer
    ) -> None:
        login = {"mongodb_user": "shop", "mongodb_password": "shop"}
        error = answer(configure(guarded, **login), watch)
        assert (error.code, error.retriable) == ("mongodb.no_privilege", False)
        assert 'grantRolesToUser("shop", ["readAnyDatabase"])' in error.remedy
        assert "lsid" not in error.message
        assert error.message.endswith("not authorized on admin to execute command aggregate")
        assert 'grantRolesToUser("shop", [{role: "read", db: "DATABASE"}])' in error.remedy
        uri = guarded.uri.replace("://", "://shop:shop@").replace("/?", "/admin?")
        error = answer(configure(guarded, uri, database_include_list="shop"), watch)
        assert 'capture.target=shop: db.getSiblingDB("admin").grantRoles' in error.remedy
        assert 'grantRolesToUser("shop", [{role: "read", db: "shop"}])' in error.remedy
        scope = {"capture_scope": "database", "capture_target": "other"}
        error = answer(configure(guarded, **login, **scope), lambda c: watch(c["other"]))  # type: ignore[arg-type]
        assert 'grantRolesToUser("shop", [{role: "read", db: "other"}])' in error.remedy

    def test_what_the_remedy_grants_is_enough(self, guarded: GuardedServer) -> None:
        guarded.add_user("reader", "readAnyDatabase")
        with connect(
            configure(guarded, mongodb_user="reader", mongodb_password="reader")
        ) as client:
            watch(client)
        with connect(configure(guarded, mongodb_user="shop", mongodb_password="shop")) as client:
            watch(client["shop"])  # type: ignore[arg-type]


def _first(client: Client, start: dict[str, Any]) -> object:
    with client["shop"].watch(**start) as stream:
        return stream.try_next()


@pytest.mark.mongodb
class TestStreams:
    """Errors that end a change stream."""

    def events(
        self, database: MongoDatabase, properties: dict[str, str], change: Callable[[], object],
        **options: Any,
    ) -> HeadraceError:  # fmt: skip
        config = configure(database.server, **properties)
        stages = change_stream_pipeline(config)

        def use(client: Client) -> None:
            with client[database.name].watch(stages, **options) as stream:
                change()
                for _ in itertools.repeat(None):
                    stream.next()

        return answer(config, use)

    @pytest.mark.parametrize(
        ("stages", "code"),
        [
            ('[{"$replaceWith": "$fullDocument"}]', "mongodb.pipeline_drops_id"),
            ('[{"$group": {"_id": 1}}]', "mongodb.bad_pipeline"),
            ('[{"$match": {"a": {"$foo": 1}}}]', "mongodb.bad_pipeline"),
            ('[{"$foo": {}}]', "mongodb.unknown_stage"),
        ],
    )
    def test_stages_that_a_stream_cannot_have(
        self, mongo_database: MongoDatabase, stages: str, code: str
    ) -> None:
        insert = lambda: mongo_database.collections["c"].insert_one({})  # noqa: E731
        error = self.events(mongo_database, {"cursor_pipeline": stages}, insert)
        assert (error.code, error.retriable) == (code, False)

    def test_split_events_need_a_newer_server(self, mongo_database: MongoDatabase) -> None:
        properties = {"cursor_oversize_handling_mode": "split"}
        error = self.events(mongo_database, properties, lambda: None)
        assert error.code == "mongodb.unknown_stage"
        assert "6.0.9" in error.remedy

    def test_an_expression_that_only_java_reads_is_reported(
        self, mongo_database: MongoDatabase
    ) -> None:
        properties = {"collection_include_list": r"db\.\p{Alpha}+"}
        error = self.events(mongo_database, properties, lambda: None)
        assert error.code == "mongodb.bad_expression"
        assert "filters.match.mode=literal" in error.remedy

    def test_an_event_of_more_than_16_megabytes(self, mongo_database: MongoDatabase) -> None:
        large = mongo_database.collections["large"]

        def change() -> None:
            large.insert_one({"_id": 1, "a": "x" * 10_000_000})
            large.update_one({"_id": 1}, {"$set": {"b": "y" * 6_000_000}})

        error = self.events(mongo_database, {}, change, full_document="updateLookup")
        assert error.code == "mongodb.event_too_large"
        assert "cursor.oversize.handling.mode" in error.remedy
        limit = {"cursor_oversize_handling_mode": "skip",
                 "cursor_oversize_skip_threshold": "8000000"}  # fmt: skip
        config = configure(mongo_database.server, **limit)
        with (
            connect(config) as client,
            client[mongo_database.name].watch(
                change_stream_pipeline(config), full_document="updateLookup"
            ) as stream,
        ):
            large.update_one({"_id": 1}, {"$set": {"b": "z"}})
            large.insert_one({"_id": 2})
            assert stream.next()["documentKey"] == {"_id": 2}

    @pytest.mark.parametrize("image", ["full_document", "full_document_before_change"])
    def test_an_image_that_is_not_kept(self, mongo_database: MongoDatabase, image: str) -> None:
        collection = mongo_database.collections["c"]
        collection.insert_one({"_id": 1})
        change = lambda: collection.update_one({"_id": 1}, {"$set": {"a": 1}})  # noqa: E731
        error = self.events(mongo_database, {}, change, **{image: "required"})
        assert error.code == "mongodb.no_image"
        assert "changeStreamPreAndPostImages" in error.remedy
        create_with_images(mongo_database.collections, "kept")

    @pytest.mark.parametrize("token", ["00", "not hexadecimal", ""])
    def test_an_invalid_token(self, mongo_database: MongoDatabase, token: str) -> None:
        resume = {"_data": token}
        error = self.events(mongo_database, {}, lambda: None, resume_after=resume)
        assert error.code == "mongodb.bad_resume_token", error

    def test_names_that_have_no_change_stream(self, mongo_database: MongoDatabase) -> None:
        mongo_database.collections.create_collection("view", viewOn="c", pipeline=[])
        config = configure(mongo_database.server)
        name = mongo_database.name
        for watched in (lambda c: c[name]["view"], lambda c: c["local"], lambda c: c["admin"]["x"]):
            error = answer(config, lambda client, watched=watched: watch(watched(client)))
            assert error.code == "mongodb.no_namespace"

    def test_a_killed_cursor_is_opened_again(self, mongo_database: MongoDatabase) -> None:
        config = configure(mongo_database.server)
        with connect(config) as client:
            command = {"aggregate": 1, "pipeline": [{"$changeStream": {}}], "cursor": {}}
            cursor = client[mongo_database.name].command(command)["cursor"]
            assert kill_cursors(mongo_database.server) >= 1
            more = {"getMore": cursor["id"], "collection": "$cmd.aggregate"}
            with pytest.raises(OperationFailure) as raised:
                client[mongo_database.name].command(more)
        error = translate(raised.value, config)
        assert (error.code, error.retriable) == ("mongodb.cursor_lost", True)

    def test_history_that_is_lost(self, mongodb_small_oplog: MongoServer) -> None:
        config = configure(mongodb_small_oplog)
        with connect(config) as client:
            with client["shop"].watch() as stream:
                client["shop"]["c"].insert_one({})
                first = stream.next()
            lose_history(mongodb_small_oplog)
            long_ago = Timestamp(first["clusterTime"].time - 100_000, 1)
            for start in ({"resume_after": first["_id"]}, {"start_after": first["_id"]},
                          {"start_at_operation_time": long_ago}):  # fmt: skip
                error = answer(config, lambda client, start=start: _first(client, start))
                assert (error.code, error.retriable) == ("mongodb.history_lost", False)
                assert "when_needed" in error.remedy


# What this server cannot be brought to say, as MongoDB's manual and sources word it.
@pytest.mark.parametrize(
    ("error", "code", "retriable"),
    [
        (OperationFailure("x", 260, {"errmsg": "Attempting to resume a change stream using "
                                     "'resumeAfter' is not allowed from an invalidate "
                                     "notification."}), "history_lost", False),
        (OperationFailure("x", 286, {"errmsg": "Resume of change stream was not possible, as the "
                                     "resume point may no longer be in the oplog."}),
         "history_lost", False),
        (OperationFailure("x", 280, {"errmsg": "cannot resume stream; the resume token was not "
                                     "found."}), "history_lost", False),
        (OperationFailure("x", 280, {"errmsg": "Encountered an event whose _id field, which "
                                     "contains the resume token, was modified by the pipeline."}),
         "pipeline_drops_id", False),
        (OperationFailure("x", 8000, {"errmsg": "bad auth : authentication failed"}),
         "authentication", False),
        (OperationFailure("x", 26, {"errmsg": "database shop not found"}), "no_namespace", False),
        (OperationFailure("x", 234, {"errmsg": "cluster topology change detected"}),
         "cursor_lost", True),
        (OperationFailure("x", 133, {"errmsg": "Could not find host matching read preference"}),
         "election", True),
        (OperationFailure("x", 11600, {"errmsg": "interrupted at shutdown"}),
         "connection_lost", True),
        (OperationFailure("x", 50, {"errmsg": "operation exceeded time limit"}), "timeout", True),
        (OperationFailure("x", 99999, {"errmsg": "?", "errorLabels":
                                       ["ResumableChangeStreamError"]}), "cursor_lost", True),
        (OperationFailure("x", 99999, {"errmsg": "?"}), "command_failed", False),
        (NotPrimaryError("not primary", {"errmsg": "not primary", "code": 10107}),
         "election", True),
        (AutoReconnect("connection closed"), "connection_lost", True),
        (NetworkTimeout("timed out"), "connection_lost", True),
        (AutoReconnect("SSL handshake failed: h:1: [SSL: CERTIFICATE_VERIFY_FAILED]"),
         "tls", False),
        (ConfigurationError("Server at h:1 reports wire version 7, but this version of PyMongo "
                            "requires at least 9 (MongoDB 4.4)."), "server_too_old", False),
        (ConfigurationError("Unknown option: x"), "connection_string", False),
        (ConfigurationError("Sessions are not supported by this MongoDB deployment"), "election",
         True),
    ],
)  # fmt: skip
def test_other_answers_have_their_codes(error: PyMongoError, code: str, retriable: bool) -> None:
    config = MongoConfig.parse({"topic.prefix": "p", "mongodb.connection.string": "mongodb://h1"})
    translated = translate(error, config, "Reading the change stream")
    assert (translated.code, translated.retriable) == (f"mongodb.{code}", retriable)
    assert translated.remedy


def test_passwords_do_not_appear_in_errors() -> None:
    string = "mongodb://u:hunter%402@h1/?replicaSet=rs0"
    properties = {"topic.prefix": "p", "mongodb.connection.string": string}
    config = MongoConfig.parse({**properties, "mongodb.password": "another one"})
    for text in (f"no server for {string}", "hunter@2 is wrong", "another one is wrong"):
        text_of_error = str(translate(AutoReconnect(text), config))
        assert "hunter" not in text_of_error
        assert "another one" not in text_of_error


def test_a_short_password_is_hidden_where_it_is_one_and_not_inside_of_words() -> None:
    required = {"topic.prefix": "p", "mongodb.connection.string": "mongodb://u:x@h1/"}
    error = AutoReconnect("the user u executes; login (u, x): 'x'")
    message = str(translate(error, MongoConfig.parse(required)))
    assert "executes; login (u, ********): '********'" in message
