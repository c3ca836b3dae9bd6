"""Db2's own properties: defaults, what is refused, other spellings, and what they mean together."""

from __future__ import annotations

import pickle

import pytest

from headrace.config.finding import PropertyFinding
from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.connection import Isolation
from headrace.connectors.db2.properties.modes import Db2Platform
from headrace.connectors.db2.reading.snapshot_reader import isolation_of
from headrace.errors import HeadraceError

REQUIRED = {
    "topic.prefix": "p",
    "database.hostname": "h",
    "database.user": "u",
    "database.dbname": "d",
}


def parse(properties: dict[str, str] | None = None) -> Db2Config:
    return Db2Config.parse(REQUIRED | (properties or {}))


def refusal(properties: dict[str, str]) -> HeadraceError:
    with pytest.raises(HeadraceError) as raised:
        parse(properties)
    return raised.value


@pytest.mark.parametrize(
    ("name", "default"),
    [
        ("database.port", 50000),
        ("db2.platform", Db2Platform.LUW),
        ("cdc.control.schema", "ASNCDC"),
        ("cdc.change.tables.schema", "ASNCDC"),
        ("snapshot.mode", "initial"),
        ("snapshot.isolation.mode", "repeatable_read"),
        ("snapshot.locking.mode", "exclusive"),
        ("snapshot.fetch.size", 2000),
        ("streaming.query.timespan.seconds", 0),
        ("z.stop.lsn.ignore", False),
        ("query.fetch.size", 10000),
        ("poll.interval.ms", 500),
        ("database.query.timeout.ms", 600_000),
        ("include.schema.changes", True),
        ("skipped.operations", ("t",)),
        ("time.precision.mode", "adaptive"),
        ("decimal.handling.mode", "precise"),
        ("headrace.change.tables.gap", "fail"),
        ("headrace.change.tables.connections", 3),
    ],
)
def test_defaults_are_debeziums(name: str, default: object) -> None:
    assert getattr(parse(), name.replace(".", "_")) == default


def test_defaults_alone_are_not_warned_of() -> None:
    assert parse().warnings == ()


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("db2.platform", "ZOS", Db2Platform.ZOS),
        ("db2.platform", "zos", Db2Platform.ZOS),
        ("db2.platform", "Z", Db2Platform.ZOS),
        ("db2.platform", "luw", Db2Platform.LUW),
        ("streaming.query.timespan.seconds", "2", 2),
        ("streaming.query.timespan.seconds", "120", 120),
        ("query.fetch.size", "0", 0),
        ("snapshot.locking.mode", "NONE", "none"),
        ("snapshot.isolation.mode", "Exclusive", "exclusive"),
        ("cdc.control.schema", "Asn", "ASN"),
    ],
)
def test_a_text_becomes_a_typed_value(name: str, text: str, value: object) -> None:
    assert getattr(parse({name: text}), name.replace(".", "_")) == value


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("db2.platform", "AIX"),
        ("streaming.query.timespan.seconds", "1"),
        ("streaming.query.timespan.seconds", "-1"),
        ("streaming.query.timespan.seconds", "soon"),
        ("snapshot.isolation.mode", "serializable"),
        ("snapshot.locking.mode", "shared"),
        ("z.stop.lsn.ignore", "maybe"),
        ("query.fetch.size", "-1"),
        ("snapshot.fetch.size", "0"),
        ("poll.interval.ms", "0"),
        ("headrace.change.tables.connections", "0"),
        ("headrace.change.tables.gap", "ignore"),
    ],
)
def test_an_impossible_value_is_named(name: str, text: str) -> None:
    error = refusal({name: text})
    assert error.code == "config.invalid"
    assert name in error.message


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("snapshot.locking.mode", "custom"),
        ("snapshot.mode", "custom"),
        ("snapshot.query.mode", "custom"),
        ("schema.include.list", "INV"),
        ("schema.exclude.list", "INV"),
        ("binary.handling.mode", "hex"),
        ("include.schema.comments", "true"),
        ("heartbeat.action.query", "VALUES 1"),
        ("internal.log.position.check.enable", "false"),
        ("table.ignore.builtin", "false"),
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
        ("snapshot.lock.timeout.ms", "5000"),
        ("interval.handling.mode", "string"),
        ("incremental.snapshot.allow.schema.changes", "true"),
        ("max.batch.size", "10"),
        ("database.loginTimeout", "5"),
        ("snapshot.mode.configuration.based.snapshot.schema", "true"),
    ],
)
def test_what_is_not_needed_is_accepted_and_said(name: str, text: str) -> None:
    (warning,) = parse({name: text}).warnings
    assert (warning.code, warning.property) == ("config.not_needed", name)


def test_the_former_name_of_a_snapshot_mode_is_read_with_a_warning() -> None:
    config = parse({"snapshot.mode": "schema_only"})
    assert config.snapshot_mode == "no_data"
    assert [warning.code for warning in config.warnings] == ["config.former_value"]


def test_a_set_that_holds_back_pruning_is_not_the_connectors() -> None:
    name = "update.capture.table.prune.ind"
    (warning,) = parse({name: "true"}).warnings
    assert isinstance(warning, PropertyFinding)
    assert (warning.code, warning.property) == ("config.unknown_property", name)


def test_every_property_accepts_its_default_written_out() -> None:
    written = {
        name: declaration.default_text
        for name, declaration in Db2Config.properties().items()
        if declaration.default_text and name != "signal.file"
    }
    assert parse(written).query_fetch_size == 10_000


@pytest.mark.parametrize(
    ("mode", "isolation"),
    [
        ("read_uncommitted", Isolation.UR),
        ("read_committed", Isolation.CS),
        ("repeatable_read", Isolation.RS),
        ("exclusive", Isolation.RS),
    ],
)
def test_isolation_modes_are_db2s_isolations(mode: str, isolation: Isolation) -> None:
    assert isolation_of(parse({"snapshot.isolation.mode": mode})) is isolation


@pytest.mark.parametrize(
    ("snapshot_mode", "isolation"),
    [
        ("initial", Isolation.CS),
        ("always", Isolation.CS),
        ("when_needed", Isolation.CS),
        ("initial_only", Isolation.RS),
    ],
)
def test_rows_are_not_kept_locked_by_default_where_the_stream_follows(
    snapshot_mode: str, isolation: Isolation
) -> None:
    config = parse({"snapshot.mode": snapshot_mode})
    assert isolation_of(pickle.loads(pickle.dumps(config))) is isolation
    chosen = parse({"snapshot.mode": snapshot_mode, "snapshot.isolation.mode": "repeatable_read"})
    assert isolation_of(pickle.loads(pickle.dumps(chosen))) is Isolation.RS


@pytest.mark.parametrize(
    ("platform", "ignores", "ends"),
    [("LUW", "false", True), ("LUW", "true", True), ("ZOS", "false", True), ("ZOS", "true", False)],
)
def test_only_on_zos_a_registration_may_outlast_its_stop(
    platform: str, ignores: str, ends: bool
) -> None:
    config = parse({"db2.platform": platform, "z.stop.lsn.ignore": ignores})
    assert config.applies_stops is ends


BASED = {
    "snapshot.mode": "configuration_based",
    "snapshot.mode.configuration.based.start.stream": "true",
}
ON_ERROR = {"snapshot.mode.configuration.based.snapshot.on.schema.error": "true"}


@pytest.mark.parametrize(
    ("properties", "rebuilds"),
    [
        ({}, False),
        ({"snapshot.mode": "recovery"}, True),
        (BASED, False),
        (BASED | ON_ERROR, True),
        (ON_ERROR, False),
    ],
)
def test_a_lost_history_is_written_again_only_if_it_is_configured(
    properties: dict[str, str], rebuilds: bool
) -> None:
    assert parse(properties).rebuilds_history is rebuilds
