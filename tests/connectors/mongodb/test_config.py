"""The MongoDB connector's configuration: what is read, what is refused, what stays secret."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.config.describe import describe_rows
from headrace.config.property import Support
from headrace.connectors.mongodb.config import MongoConfig
from headrace.connectors.mongodb.properties.fields import FieldRule
from headrace.connectors.naming import topic_names
from headrace.connectors.registry import parse_configuration
from headrace.errors import HeadraceError

STRING = "mongodb://h1:27017,h2:27018/?replicaSet=rs0"
REQUIRED = {"topic.prefix": "p", "mongodb.connection.string": STRING}


def parse(properties: dict[str, str] | None = None) -> MongoConfig:
    return MongoConfig.parse({**REQUIRED, **(properties or {})})


def refusal(properties: dict[str, str]) -> HeadraceError:
    with pytest.raises(HeadraceError) as raised:
        parse(properties)
    return raised.value


def test_defaults_are_debeziums() -> None:
    config = parse()
    assert config.capture_mode == "change_streams_update_full"
    assert config.capture_mode_full_update_type == "lookup"
    assert config.capture_scope == "deployment"
    assert config.filters_match_mode == "regex"
    assert config.cursor_oversize_handling_mode == "fail"
    assert config.json_serialization_mode == "legacy"
    assert config.mongodb_authsource == "admin"
    assert config.mongodb_server_selection_timeout_ms == 30_000
    assert config.snapshot_mode == "initial"
    assert config.skipped_operations == ("t",)
    assert config.capture_start_op_time == -1
    assert config.target() == (None, None)
    assert config.warnings == ()


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("capture.mode", " CHANGE_STREAMS ", "change_streams"),
        ("capture.start.op.time", "7301226543210987521", 7301226543210987521),
        ("cursor.max.await.time.ms", "500", 500),
        ("mongodb.ssl.enabled", "TRUE", True),
        ("key.json.format", "SEED_V1", "seed_v1"),
        ("field.exclude.list", "db.c.a, *.c.a.b", (
            FieldRule("db", "c", ("a",)), FieldRule("*", "c", ("a", "b")))),
        ("field.renames", "db.c.a.b:z", (FieldRule("db", "c", ("a", "b"), "z"),)),
        ("snapshot.mode", "never", "no_data"),
    ],
)  # fmt: skip
def test_a_text_becomes_a_typed_value(name: str, text: str, value: object) -> None:
    assert getattr(parse({name: text}), name.replace(".", "_")) == value


# Debezium's own validation refuses the first fourteen; others it takes, and fails later or never.
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("mongodb.connection.string", "localhost:27017"),
        ("field.exclude.list", "a.b"),
        ("field.exclude.list", "a.b.c,d"),
        ("field.exclude.list", ".b.c"),
        ("field.exclude.list", "a.b.c:d"),
        ("field.exclude.list", ",a.b.c"),
        ("field.exclude.list", "a.b.c,,a.b.d"),
        ("field.renames", ",a.b.c:d"),
        ("field.renames", "a.b.c"),
        ("field.renames", "a.b:c"),
        ("field.renames", "a.b.c:d:e"),
        ("capture.mode", "everything"),
        ("topic.prefix", "a b"),
        ("mongodb.ssl.enabled", "yes"),
        ("mongodb.connection.string", "mongodb://h:99999"),
        ("mongodb.connection.string", "mongodb://h1,,h2"),
        ("mongodb.connection.string", "mongodb://u:p@ss@h"),
        ("mongodb.connection.string", "mongodb://h/?replicaSet"),
        ("mongodb.connection.string", "mongodb+srv://h1,h2"),
        ("mongodb.connection.string", "mongodb+srv://h:27017"),
        ("mongodb.connection.mode", "replica_set"),
        ("mongodb.connection.string.shard.params", "readConcern=majority"),
        ("mongodb.authentication.class", "org.example.Provider"),
        ("mongodb.ssl.truststore.type", "JKS"),
        ("capture.scope", "collection"),
        ("capture.scope", "table"),
        ("cursor.oversize.handling.mode", "skip"),
        ("cursor.oversize.handling.mode", "cut"),
        ("cursor.pipeline", "[{"),
        ("cursor.pipeline", "{}"),
        ("cursor.pipeline", "[1]"),
        ("cursor.pipeline", '[{"$match": {}, "$set": {}}]'),
        ("filters.match.mode", "glob"),
        ("capture.start.op.time", "-5"),
        ("signal.data.collection", "signals"),
        ("database.include.list", "a["),
        ("post.processors", "again"),
    ],
)  # fmt: skip
def test_a_value_that_cannot_work_is_named(name: str, text: str) -> None:
    error = refusal({name: text})
    assert error.code in ("config.invalid", "config.not_supported")
    assert name in error.message or name in error.remedy


def test_collection_names_keep_their_dots() -> None:
    config = parse({"capture.scope": "collection", "capture.target": "shop.orders.2024"})
    assert config.target() == ("shop", "orders.2024")
    assert parse({"capture.scope": "database", "capture.target": "shop"}).target() == ("shop", None)
    error = refusal({"capture.scope": "collection", "capture.target": "shop"})
    assert "database.collection" in error.message


def test_lists_exclude_each_other() -> None:
    both = {f"{kind}.{way}.list": "a.b" for kind in ("database", "collection")
            for way in ("include", "exclude")}  # fmt: skip
    message = refusal(both).message
    assert "database.include.list and database.exclude.list are both set" in message
    assert "collection.include.list and collection.exclude.list are both set" in message


@pytest.mark.parametrize(
    ("mode", "text", "names"),
    [
        ("regex", r"a\.b{1,2}, c\,d", (r"a\.b{1,2}", "c,d")),
        ("literal", r"a.b, c.d\,e ,", ("a.b", "c.d,e")),
        ("literal", "a.b[", ("a.b[",)),
    ],
)
def test_lists_are_expressions_or_names(mode: str, text: str, names: tuple[str, ...]) -> None:
    config = parse({"filters.match.mode": mode, "collection.include.list": text})
    assert config.names_in("collection.include.list") == names


def test_a_literal_collection_needs_its_database() -> None:
    error = refusal({"filters.match.mode": "literal", "collection.exclude.list": "orders"})
    assert "'orders' is not of the form database.collection" in error.message


@pytest.mark.parametrize(
    ("string", "accepted"),
    [
        ("mongodb://h/?replicaSet=rs0", True),
        ("mongodb://h/?REPLICASET=rs0", True),
        ("mongodb+srv://h/", True),  # DNS may name it
        ("mongodb://h/", False),
        ("mongodb://h/?replicaSet=", False),
    ],
)
def test_the_older_event_format_needs_the_name_of_the_replica_set(
    string: str, accepted: bool
) -> None:
    older = {"mongodb.connection.string": string, "event.format.version": "2.5"}
    if accepted:
        parse(older)
    else:
        assert "needs replicaSet=" in refusal(older).message


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("mongodb.members.auto.discover", "false"),
        ("connect.max.attempts", "3"),
        ("connect.backoff.initial.delay.ms", "1000"),
        ("source.struct.version", "v2"),
        ("mongodb.poll.interval.ms", "5"),
        ("max.queue.size", "10"),
        ("field.name.adjustment.mode", "avro"),
    ],
)
def test_what_is_gone_or_not_needed_is_accepted_and_said(name: str, text: str) -> None:
    (warning,) = parse({name: text}).warnings
    assert (warning.code, warning.property) == ("config.not_needed", name)


@pytest.mark.parametrize(
    ("hosts", "string"),
    [
        ("rs0/h1:27017,h2", "mongodb://h1:27017,h2/?replicaSet=rs0"),
        ("h1:27017", "mongodb://h1:27017/"),
        ("a/h1;b/h2", "mongodb://MONGOS:PORT/"),
    ],
)
def test_former_properties_come_with_those_that_took_their_place(hosts: str, string: str) -> None:
    with pytest.raises(HeadraceError) as raised:
        MongoConfig.parse({"mongodb.hosts": hosts, "mongodb.name": "shop", "x.y": "z"})
    prefix, connection = sorted(raised.value.parts, key=lambda part: part.remedy, reverse=True)
    assert prefix.message.startswith("mongodb.name = 'shop' is of former versions of Debezium")
    assert prefix.remedy == "Write topic.prefix=shop in its place."
    assert connection.message.startswith(f"mongodb.hosts = '{hosts}' ")
    assert connection.remedy == f"Write mongodb.connection.string={string} in its place."


def test_a_missing_property_is_explained_in_one_sentence() -> None:
    with pytest.raises(HeadraceError) as raised:
        MongoConfig.parse({"topic.prefix": "p"})
    assert raised.value.remedy.startswith("Set mongodb.connection.string: Hosts and options")
    assert "below" not in raised.value.remedy


PROPERTIES_OF_DEBEZIUM = """
name connector.class tasks.max topic.prefix mongodb.connection.string mongodb.user mongodb.password
mongodb.authsource mongodb.authentication.class mongodb.ssl.enabled
mongodb.ssl.invalid.hostname.allowed mongodb.ssl.keystore mongodb.ssl.keystore.password
mongodb.ssl.keystore.type mongodb.ssl.truststore mongodb.ssl.truststore.password
mongodb.ssl.truststore.type mongodb.connect.timeout.ms mongodb.server.selection.timeout.ms
mongodb.socket.timeout.ms mongodb.heartbeat.frequency.ms mongodb.poll.interval.ms
connection.validation.timeout.ms database.include.list database.exclude.list
collection.include.list collection.exclude.list filters.match.mode field.exclude.list field.renames
skipped.operations capture.mode capture.mode.full.update.type capture.scope capture.target
capture.start.op.time json.serialization.mode cursor.pipeline cursor.pipeline.order
cursor.oversize.handling.mode cursor.oversize.skip.threshold cursor.max.await.time.ms max.batch.size
max.queue.size max.queue.size.in.bytes poll.interval.ms snapshot.mode
snapshot.mode.configuration.based.snapshot.data snapshot.mode.configuration.based.snapshot.schema
snapshot.mode.configuration.based.start.stream
snapshot.mode.configuration.based.snapshot.on.schema.error
snapshot.mode.configuration.based.snapshot.on.data.error snapshot.mode.custom.name
snapshot.query.mode snapshot.include.collection.list snapshot.collection.filter.overrides
snapshot.max.threads snapshot.fetch.size
snapshot.delay.ms streaming.delay.ms incremental.snapshot.chunk.size
incremental.snapshot.watermarking.strategy tombstones.on.delete schema.name.adjustment.mode
field.name.adjustment.mode topic.naming.strategy topic.delimiter topic.heartbeat.prefix
topic.heartbeat.name topic.transaction topic.cache.size heartbeat.interval.ms
provide.transaction.metadata extended.headers.enabled signal.data.collection
signal.enabled.channels signal.poll.interval.ms notification.enabled.channels
notification.sink.topic.name event.processing.failure.handling.mode errors.max.retries
retriable.restart.connector.wait.ms guardrail.collections.max guardrail.collections.limit.action
internal.mongodb.allow.offset.invalidation custom.metric.tags executor.shutdown.timeout.ms
statistics.metrics.enabled mongodb.connection.mode mongodb.connection.string.shard.params
"""


@pytest.mark.parametrize("name", PROPERTIES_OF_DEBEZIUM.split())
def test_every_property_of_debezium_is_known(name: str) -> None:
    """Its value and whether it is supported are not tested here."""
    try:
        words = [str(warning) for warning in parse({name: "1"}).warnings]
    except HeadraceError as error:
        words = [str(error)]
    assert not [text for text in words if "is not a property of this connector" in text]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("mongodb.connectionstring", "mongodb.connection.string"),
        ("mongodb.username", "mongodb.user"),
        ("collection.whitelist", "collection.include.list"),
        ("database.blacklist", "database.exclude.list"),
        ("field.blacklist", "field.exclude.list"),
        ("capture.mod", "capture.mode"),
        ("mongodb.ssl.key.store", "mongodb.ssl.keystore"),
    ],
)
def test_an_unknown_property_gets_a_suggestion(name: str, meant: str) -> None:
    error = refusal({name: "hunter2", "headrace.unknown.properties": "fail"})
    assert f"did you mean {meant}?" in error.message
    assert "hunter2" not in str(error)


def test_filters_of_snapshots_keep_the_case_of_their_collections() -> None:
    config = parse({
        "snapshot.collection.filter.overrides": "shop.Orders",
        "snapshot.collection.filter.overrides.shop.Orders": '{"total": {"$gt": 5}}',
    })  # fmt: skip
    assert config.snapshot_filters() == {"shop.Orders": '{"total": {"$gt": 5}}'}


@pytest.mark.parametrize("text", ["{", "[]", "region = 'EU'"])
def test_a_filter_that_is_no_document_is_refused(text: str) -> None:
    name = "snapshot.collection.filter.overrides"
    error = refusal({name: "shop.orders", f"{name}.shop.orders": text})
    assert f"{name}.shop.orders: expected a filter" in error.message


@pytest.mark.parametrize(
    ("strategy", "topic"),
    [
        (None, "p.my_db.a.__c"),
        ("io.debezium.schema.DefaultTopicNamingStrategy", "p.my_db.a.__c"),
        ("SchemaTopicNamingStrategy", "p.my_db.a.__c"),
        ("DefaultUnicodeTopicNamingStrategy", "p.my_u0020db.a._u00fc_u005fc"),
    ],
)
def test_topics_name_database_and_collection(strategy: str | None, topic: str) -> None:
    config = parse({} if strategy is None else {"topic.naming.strategy": strategy})
    assert topic_names(config).data("my db", "a.ü_c") == topic


@pytest.mark.parametrize(
    ("name", "concerned"),
    [("db.c.a", True), ("DB.c.a", True), ("*.c.a", True), ("d*.*.a", True), ("d.c.a", False)],
)
def test_field_rules_concern_collections_by_name(name: str, concerned: bool) -> None:
    (rule,) = parse({"field.exclude.list": name}).field_exclude_list
    assert rule.concerns("db", "c") is concerned


# Letters beyond ASCII, so that no secret is by chance a part of a property's own name.
@given(st.text(min_size=8, alphabet=st.characters(min_codepoint=0x100, categories=["L"])))
def test_no_secret_is_ever_printed(secret: str) -> None:
    string = f"mongodb://user:{secret}@h1:27017/?replicaSet=rs0"
    properties = {"mongodb.connection.string": string, "mongodb.password": secret,
                  "mongodb.ssl.keystore.password": secret}  # fmt: skip
    config = parse(properties)
    copy = pickle.loads(pickle.dumps(config))
    assert copy == config
    assert copy.mongodb_connection_string.text.reveal() == string
    assert config.mongodb_connection_string.place == "h1:27017"
    for text in (
        repr(config),
        str(config.redacted()),
        repr(config.mongodb_connection_string),
        str(config.warnings),
        str(refusal({**properties, "capture.mode": "x"})),
        str(refusal({**properties, "mongodb.connection.string": string + "&" + secret})),
        config.fingerprint(),
    ):
        assert secret not in text


@pytest.mark.parametrize(
    "name", ["mongodb", "MongoDB", "io.debezium.connector.mongodb.MongoDbConnector"]
)
def test_the_connector_is_found_by_each_of_its_names(name: str) -> None:
    config = parse_configuration({**REQUIRED, "connector.class": name})
    assert isinstance(config, MongoConfig)


def test_every_refusal_and_every_ignored_property_gives_its_reason() -> None:
    for row in describe_rows(MongoConfig):
        assert row.meaning.endswith((".", "…"))
        assert row.status not in (Support.NOT_NEEDED, Support.REFUSED), row.name


@pytest.mark.parametrize(
    ("name", "properties"),
    [
        ("cursor.pipeline", {"cursor.pipeline": '[{"$match": {"a": {"$numberDecimal": "x"}}}]'}),
        (
            "snapshot.collection.filter.overrides.a.b",
            {
                "snapshot.collection.filter.overrides": "a.b",
                "snapshot.collection.filter.overrides.a.b": '{"a": {"$date": []}}',
            },
        ),
        ("capture.target", {"capture.scope": "database", "capture.target": "$bad"}),
        ("capture.target", {"capture.scope": "database", "capture.target": "a.b"}),
        ("capture.target", {"capture.scope": "database", "capture.target": "x" * 64}),
        ("capture.target", {"capture.scope": "collection", "capture.target": "a.b$c"}),
        ("capture.target", {"capture.scope": "collection", "capture.target": "a.b."}),
        ("signal.data.collection", {"signal.data.collection": "$bad.signals"}),
    ],
)
def test_what_the_driver_cannot_send_is_refused_at_once(
    name: str, properties: dict[str, str]
) -> None:
    assert name in refusal(properties).message


def test_a_date_far_away_is_taken_in_pipelines_and_filters() -> None:
    date = '{"$date": {"$numberLong": "253402300800000"}}'
    parse({
        "cursor.pipeline": f'[{{"$match": {{"fullDocument.at": {{"$lt": {date}}}}}}}]',
        "snapshot.collection.filter.overrides": "a.b",
        "snapshot.collection.filter.overrides.a.b": f'{{"at": {{"$lt": {date}}}}}',
    })  # fmt: skip


def test_a_new_name_of_a_field_may_have_dots() -> None:
    (rule,) = parse({"field.renames": "db.c.name:a.b"}).field_renames
    assert (rule.path, rule.name) == (("name",), "a.b")


def test_commas_at_the_end_of_a_list_of_fields_name_no_field() -> None:
    assert len(parse({"field.exclude.list": "db.c.a, db.c.b,,"}).field_exclude_list) == 2
    message = refusal({"field.exclude.list": "db.c.a,,db.c.b"}).message
    assert "entry 2 of 3 is empty" in message
