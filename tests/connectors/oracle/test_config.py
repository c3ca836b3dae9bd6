"""Oracle's own properties: defaults, what is refused, other spellings, and what they mean
together."""

from __future__ import annotations

import pytest

from headrace.connectors.oracle.config import OracleConfig
from headrace.connectors.oracle.properties.mining import plain_name
from headrace.connectors.oracle.properties.modes import (
    BoundaryMode,
    ConnectionAdapter,
    MiningStrategy,
    QueryFilterMode,
)
from headrace.errors import HeadraceError

REQUIRED = {
    "topic.prefix": "p",
    "database.hostname": "h",
    "database.user": "c##u",
    "database.dbname": "ORCLCDB",
}


def parse(properties: dict[str, str] | None = None) -> OracleConfig:
    return OracleConfig.parse(REQUIRED | (properties or {}))


def refusal(properties: dict[str, str]) -> HeadraceError:
    with pytest.raises(HeadraceError) as raised:
        parse(properties)
    return raised.value


@pytest.mark.parametrize(
    ("name", "default"),
    [
        ("database.port", 1528),
        ("database.connection.adapter", ConnectionAdapter.LOGMINER),
        ("rac.nodes", ()),
        ("log.mining.strategy", MiningStrategy.ONLINE_CATALOG),
        ("log.mining.path.dictionary", None),
        ("log.mining.query.filter.mode", QueryFilterMode.NONE),
        ("log.mining.log.count.min", 2),
        ("log.mining.session.max.ms", 0),
        ("log.mining.window.max.ms", 0),
        ("log.mining.restart.connection", False),
        ("log.mining.transaction.retention.ms", 0),
        ("log.mining.buffer.transaction.events.threshold", 0),
        ("log.mining.buffer.deferred.transaction.start", False),
        ("log.mining.archive.log.only.mode", False),
        ("log.mining.archive.log.only.scn.poll.interval.ms", 10_000),
        ("log.mining.max.scn.deviation.ms", 0),
        ("archive.log.hours", 0),
        ("archive.destination.name", ()),
        ("log.mining.flush.table.name", "LOG_MINING_FLUSH"),
        ("log.mining.read.only", False),
        ("log.mining.include.redo.sql", False),
        ("log.mining.schema_changes.username.exclude.list", ("SYS", "SYSTEM")),
        ("lob.enabled", False),
        ("interval.handling.mode", "numeric"),
        ("legacy.decimal.handling.strategy", False),
        ("unavailable.value.placeholder", "__debezium_unavailable_value"),
        ("snapshot.mode", "initial"),
        ("snapshot.locking.mode", "shared"),
        ("snapshot.fetch.size", 10_000),
        ("snapshot.database.errors.max.retries", 0),
        ("query.fetch.size", 10_000),
        ("poll.interval.ms", 500),
        ("database.query.timeout.ms", 600_000),
        ("include.schema.changes", True),
        ("skipped.operations", ("t",)),
        ("time.precision.mode", "adaptive"),
        ("decimal.handling.mode", "precise"),
        ("internal.log.mining.transaction.snapshot.boundary.mode", BoundaryMode.SKIP),
        ("internal.log.mining.redo.thread.scn.adjustment", 1),
        ("internal.log.mining.log.query.max.retries", 5),
        ("headrace.log.mining.buffer.max.bytes", 256 << 20),
        ("headrace.source.ssn", False),
    ],
)
def test_defaults_are_debeziums(name: str, default: object) -> None:
    assert getattr(parse(), name.replace(".", "_")) == default


def test_defaults_alone_are_not_warned_of() -> None:
    assert parse().warnings == ()


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("database.connection.adapter", "logminer", ConnectionAdapter.LOGMINER),
        ("database.connection.adapter", "LOGMINER_UNBUFFERED", ConnectionAdapter.UNBUFFERED),
        ("log.mining.strategy", "Hybrid", MiningStrategy.HYBRID),
        ("log.mining.query.filter.mode", "IN", QueryFilterMode.IN),
        ("log.mining.log.count.min", "0", 0),
        ("rac.nodes", "n1, n2:1522/X", ("n1", "n2:1522/X")),
        ("archive.destination.name", "LOG_ARCHIVE_DEST_2,LOG_ARCHIVE_DEST_1",
         ("LOG_ARCHIVE_DEST_2", "LOG_ARCHIVE_DEST_1")),
        ("headrace.log.mining.buffer.max.bytes", "1MB", 1 << 20),
        ("log.mining.flush.table.name", "my_flush$1", "my_flush$1"),
        ("snapshot.locking.mode", "NONE", "none"),
    ],
)  # fmt: skip
def test_a_text_becomes_a_typed_value(name: str, text: str, value: object) -> None:
    assert getattr(parse({name: text}), name.replace(".", "_")) == value


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("database.history.kafka.topic", "schema.history.internal.kafka.topic"),
        ("database.out.server.name", "XStream"),
        ("database.tablename.case.insensitive", "ignore the case"),
    ],
)
def test_names_of_former_versions_are_not_taken_for_the_drivers(name: str, words: str) -> None:
    (warning,) = parse({name: "x"}).warnings
    assert warning.code == "config.not_needed"
    assert words in warning.message


def test_former_names_that_debezium_takes_are_taken() -> None:
    assert parse().writes_flush_table
    assert not parse({"internal.log.mining.read.only": "true"}).writes_flush_table
    assert parse({"log.mining.buffer.memory.legacy.transaction.start": "true"}).defers_starts
    properties = {"log.mining.readonly.hostname": "standby", "log.mining.continuous.mine": "true"}
    properties |= {
        "log.mining.include.internal.events": "true",
        "log.mining.log.count.growth.max": "3",
    }
    assert {warning.code for warning in parse(properties).warnings} == {"config.not_needed"}
    (hours,) = parse({"log.mining.archive.log.hours": "24"}).warnings
    assert hours.remedy == "Rename it to archive.log.hours."


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("database.connection.adapter", "GoldenGate"),
        ("log.mining.strategy", "offline"),
        ("log.mining.query.filter.mode", "some"),
        ("log.mining.log.count.min", "-1"),
        ("log.mining.window.max.ms", "soon"),
        ("log.mining.flush.table.name", 'X"; DROP TABLE T --'),
        ("log.mining.flush.table.name", "S.T"),
        ("archive.log.hours", "-1"),
        ("snapshot.fetch.size", "0"),
        ("snapshot.locking.mode", "exclusive"),
        ("interval.handling.mode", "words"),
        ("headrace.log.mining.buffer.max.bytes", "0"),
        ("poll.interval.ms", "0"),
    ],
)
def test_an_impossible_value_is_named(name: str, text: str) -> None:
    error = refusal({name: text})
    assert error.code == "config.invalid"
    assert name in error.message


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("database.connection.adapter", "XStream"),
        ("database.connection.adapter", "olr"),
        ("capture.mode", "physical_standby"),
        ("capture.mode", "downstream"),
        ("snapshot.mode", "custom"),
        ("snapshot.locking.mode", "custom"),
        ("snapshot.query.mode", "custom"),
        ("notification.enabled.channels", "jmx"),
    ],
)
def test_what_this_connector_has_not_is_refused(name: str, text: str) -> None:
    error = refusal({name: text})
    assert error.code == "config.not_supported"
    assert name in error.message


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("log.mining.batch.size.default", "5000"),
        ("log.mining.batch.size.min", "5000"),
        ("log.mining.batch.size.max", "5000"),
        ("log.mining.batch.size.increment", "5000"),
        ("log.mining.buffer.type", "ehcache"),
        ("log.mining.buffer.drop.on.stop", "true"),
        ("log.mining.buffer.infinispan.cache.global", "<x/>"),
        ("log.mining.buffer.deferred.transaction.retention.ms", "1"),
        ("secondary.hostname", "other"),
        ("internal.log.mining.use.cte.query", "true"),
        ("snapshot.lock.timeout.ms", "5000"),
        ("max.batch.size", "10"),
        ("database.oracle.jdbc.timezoneAsRegion", "false"),
    ],
)
def test_what_is_not_needed_is_accepted_and_said(name: str, text: str) -> None:
    (warning,) = parse({name: text}).warnings
    assert warning.code == "config.not_needed"
    assert warning.property == name


@pytest.mark.parametrize(
    ("properties", "named"),
    [
        ({"lob.enabled": "true", "log.mining.strategy": "hybrid"}, "log.mining.strategy"),
        (
            {"lob.enabled": "true", "log.mining.buffer.deferred.transaction.start": "true"},
            "log.mining.buffer.deferred.transaction.start",
        ),
        (
            {
                "database.connection.adapter": "LogMiner_Unbuffered",
                "log.mining.strategy": "hybrid",
            },
            "LogMiner_Unbuffered",
        ),
        ({"log.mining.strategy": "dictionary_from_file"}, "log.mining.path.dictionary"),
        ({"database.hostname": ""}, "database.url"),
        (
            {"log.mining.username.include.list": "A", "log.mining.username.exclude.list": "B"},
            "log.mining.username.include.list",
        ),
        (
            {"log.mining.clientid.include.list": "A", "log.mining.clientid.exclude.list": "B"},
            "log.mining.clientid.include.list",
        ),
        ({"table.include.list": "A.B", "table.exclude.list": "A.C"}, "table.include.list"),
        ({"signal.data.collection": "A.S", "skipped.operations": "t,c"}, "skipped.operations"),
    ],
)
def test_properties_that_do_not_go_together_are_refused(
    properties: dict[str, str], named: str
) -> None:
    assert named in refusal(properties).message


@pytest.mark.parametrize(
    ("mode", "name", "text", "is_taken"),
    [
        ("in", "table.include.list", r"INV.T,INV\.U_1,inv.a$b#c", True),
        ("in", "table.include.list", r"INV.T,INV.*", False),
        ("in", "table.exclude.list", r"INV\.(T|U)", False),
        ("in", "schema.include.list", "INV", True),
        ("in", "schema.exclude.list", "INV.+", False),
        ("regex", "table.include.list", r"INV\.(T|U)_\d+,OTHER\..*", True),
        ("regex", "table.include.list", r"(?i)inv\.t", False),
        ("regex", "table.include.list", r"INV\.T(?!X)", False),
        ("regex", "table.exclude.list", r"INV\.T\b.*", False),
        ("regex", "table.exclude.list", "INV." + "X" * 600, False),
        ("none", "table.include.list", r"(?i)inv\.t(?!x)", True),
    ],
)
def test_lists_have_what_the_database_can_filter_by(
    mode: str, name: str, text: str, is_taken: bool
) -> None:
    properties = {name: text, "log.mining.query.filter.mode": mode}
    if is_taken:
        assert parse(properties).warnings == ()
    else:
        message = refusal(properties).message
        assert "log.mining.query.filter.mode" in message
        assert name in message


@pytest.mark.parametrize(
    ("entry", "name"),
    [(r"INV\.T\$1", "INV.T$1"), ("INV.T", "INV.T"), (r"INV\.T\d", None), ("INV.T|INV.U", None)],
)
def test_a_plain_entry_is_a_name(entry: str, name: str | None) -> None:
    assert plain_name(entry) == name


@pytest.mark.parametrize(
    ("pdb", "shown"), [("orclpdb1", "ORCLPDB1"), ('"Mixed"', "Mixed"), (None, "ORCLCDB")]
)
def test_a_pluggable_database_is_named_as_sql_reads_names(pdb: str | None, shown: str) -> None:
    assert parse({} if pdb is None else {"database.pdb.name": pdb}).catalog_name == shown


def test_every_property_accepts_its_default_written_out() -> None:
    written = {
        name: declaration.default_text
        for name, declaration in OracleConfig.properties().items()
        if declaration.default_text and name != "signal.file"
    }
    assert parse(written).query_fetch_size == 10_000


# Sections 1.5 and 2.1 of the reference: Debezium's properties, by their names.
_NAMES = """
name connector.class tasks.max topic.prefix database.hostname database.port database.user
database.password database.dbname database.query.timeout.ms table.include.list table.exclude.list
column.include.list column.exclude.list schema.include.list schema.exclude.list message.key.columns
tombstones.on.delete skipped.operations provide.transaction.metadata time.precision.mode
decimal.handling.mode binary.handling.mode schema.name.adjustment.mode field.name.adjustment.mode
include.schema.changes include.schema.comments snapshot.mode
snapshot.mode.configuration.based.snapshot.data snapshot.mode.configuration.based.snapshot.schema
snapshot.mode.configuration.based.start.stream
snapshot.mode.configuration.based.snapshot.on.schema.error
snapshot.mode.configuration.based.snapshot.on.data.error snapshot.include.collection.list
snapshot.select.statement.overrides snapshot.fetch.size snapshot.max.threads snapshot.delay.ms
streaming.delay.ms snapshot.lock.timeout.ms snapshot.query.mode max.batch.size max.queue.size
max.queue.size.in.bytes poll.interval.ms query.fetch.size heartbeat.interval.ms
topic.heartbeat.prefix heartbeat.action.query event.processing.failure.handling.mode
event.converting.failure.handling.mode errors.max.retries signal.data.collection
signal.enabled.channels incremental.snapshot.chunk.size incremental.snapshot.watermarking.strategy
notification.enabled.channels unavailable.value.placeholder column.propagate.source.type
datatype.propagate.source.type converters custom.metric.tags topic.naming.strategy topic.cache.size
extended.headers.enabled statistics.metrics.enabled guardrail.collections.max
guardrail.collections.limit.action poll.dispatch.interval.ms custom.sanitize.pattern
schema.history.internal schema.history.internal.file.filename schema.history.internal.kafka.topic
schema.history.internal.kafka.bootstrap.servers
schema.history.internal.store.only.captured.tables.ddl skip.messages.without.change
topic.transaction topic.delimiter event.format.version database.pdb.name database.url
database.connection.adapter rac.nodes log.mining.strategy log.mining.path.dictionary
log.mining.query.filter.mode log.mining.log.count.min log.mining.batch.size.default
log.mining.batch.size.min log.mining.batch.size.max log.mining.batch.size.increment
log.mining.sleep.time.default.ms log.mining.sleep.time.min.ms log.mining.sleep.time.max.ms
log.mining.sleep.time.increment.ms log.mining.session.max.ms log.mining.window.max.ms
log.mining.restart.connection log.mining.transaction.retention.ms log.mining.buffer.type
log.mining.buffer.transaction.events.threshold log.mining.buffer.drop.on.stop
log.mining.buffer.track.rs_id log.mining.buffer.track.client_id log.mining.buffer.track.username
log.mining.buffer.track.commit_timestamp log.mining.buffer.track.start_timestamp
log.mining.buffer.deferred.transaction.start log.mining.buffer.deferred.transaction.retention.ms
log.mining.archive.log.only.mode log.mining.archive.log.only.scn.poll.interval.ms archive.log.hours
archive.destination.name log.mining.username.include.list log.mining.username.exclude.list
log.mining.clientid.include.list log.mining.clientid.exclude.list
log.mining.schema_changes.username.exclude.list log.mining.flush.table.name log.mining.read.only
log.mining.include.redo.sql lob.enabled interval.handling.mode legacy.decimal.handling.strategy
snapshot.locking.mode snapshot.database.errors.max.retries capture.mode secondary.hostname
secondary.port secondary.dbname secondary.url internal.log.mining.transaction.snapshot.boundary.mode
internal.log.mining.sql.relaxed.quote.detection internal.log.mining.use.cte.query
internal.log.mining.redo.thread.scn.adjustment internal.log.mining.log.query.max.retries
internal.object.id.cache.size log.mining.max.scn.deviation.ms connection.validation.timeout.ms
retriable.restart.connector.wait.ms
"""
NAMES = _NAMES.split()


@pytest.mark.parametrize("name", NAMES)
def test_every_property_of_debeziums_connector_is_known(name: str) -> None:
    declared = OracleConfig.properties()
    if name in declared:
        return
    outcome = {warning.code for warning in OracleConfig.parse(REQUIRED | {name: "1"}).warnings}
    assert outcome == {"config.not_needed"}
