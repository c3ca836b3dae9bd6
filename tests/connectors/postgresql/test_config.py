import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.config.describe import describe_markdown, describe_rows
from headrace.config.finding import summarized
from headrace.config.kinds import MessageKeyColumns
from headrace.config.property import Support
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.registry import parse_configuration
from headrace.errors import HeadraceError

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "postgresql.md"
REQUIRED = {
    "topic.prefix": "p",
    "database.hostname": "h",
    "database.user": "u",
    "database.dbname": "d",
}


def parse(properties: dict[str, str] | None = None) -> PostgresConfig:
    return PostgresConfig.parse({**REQUIRED, **(properties or {})})


def refusal(properties: dict[str, str]) -> HeadraceError:
    with pytest.raises(HeadraceError) as raised:
        parse(properties)
    return raised.value


def test_defaults_are_debeziums_but_for_the_plug_in() -> None:
    config = parse()
    assert config.plugin_name == "pgoutput"
    assert config.slot_name == "debezium"
    assert config.publication_name == "dbz_publication"
    assert config.snapshot_mode == "initial"
    assert config.skipped_operations == ("t",)
    assert config.headrace_range_max_bytes == 64 << 20
    assert config.headrace_acknowledge_interval == 10_000
    assert config.value_converter_schemas_enable is True
    assert config.warnings == ()


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("database.port", " 5433 ", 5433),
        ("tombstones.on.delete", "FALSE", False),
        ("decimal.handling.mode", " String", "string"),
        ("skipped.operations", "none", ()),
        ("skipped.operations", "u, D", ("u", "d")),
        ("headrace.range.max.bytes", "1 GiB", 1 << 30),
        ("headrace.range.max.bytes", "8m", 8 << 20),
        ("headrace.acknowledge.interval", "500 ms", 500),
        ("headrace.acknowledge.interval", "2 min", 120_000),
        ("internal.create.slot.command.timeout", "5", 5000),
        ("database.initial.statements", "SET a=1; SELECT ';;'", ("SET a=1", "SELECT ';'")),
        ("message.key.columns", "s.t:a, b;", (MessageKeyColumns("s.t", ("a", "b")),)),
        ("value.converter", "org.apache.kafka.connect.json.JsonConverter", "json"),
        ("table.include.list", "", ()),
        ("errors.max.retries", "-1", -1),
    ],
)  # fmt: skip
def test_a_text_becomes_a_typed_value(name: str, text: str, value: object) -> None:
    assert getattr(parse({name: text}), name.replace(".", "_")) == value


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("database.port", "0"),
        ("database.port", "65536"),
        ("database.port", "abc"),
        ("tombstones.on.delete", "yes"),
        ("slot.name", "Slot"),
        ("topic.prefix", "a b"),
        ("database.hostname", "a,b"),
        ("snapshot.mode", "sometimes"),
        ("skipped.operations", "c,x"),
        ("table.include.list", "a["),
        ("message.key.columns", "s.t"),
        ("message.key.columns", "s.t:a["),
        ("headrace.range.max.bytes", "64 apples"),
        ("headrace.range.max.bytes", "0"),
        ("headrace.acknowledge.interval", "soon"),
        ("unavailable.value.placeholder", "hex:zz"),
        ("errors.max.retries", "-2"),
        ("headrace.slice.order", "random"),
    ],
)
def test_an_impossible_value_is_named(name: str, text: str) -> None:
    error = refusal({name: text})
    assert error.code == "config.invalid"
    assert name in error.message


def test_all_problems_are_reported_at_once() -> None:
    with pytest.raises(HeadraceError) as raised:
        PostgresConfig.parse(
            {"database.port": "x", "table.include.list": "(", "tabel.exclude.list": "t",
             "headrace.unknown.properties": "fail",
             "schema.include.list": "a", "schema.exclude.list": "b"}
        )  # fmt: skip
    for name in (*REQUIRED, "database.port", "table.include.list", "tabel.exclude.list"):
        assert name in raised.value.message
    assert "schema.include.list and schema.exclude.list are both set" in raised.value.message
    assert "did you mean table.exclude.list" in raised.value.message


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("snapshot.mode", "custom"),
        ("notification.enabled.channels", "jmx"),
        ("plugin.name", "decoderbufs"),
        ("value.converter", "io.confluent.connect.protobuf.ProtobufConverter"),
    ],
)
def test_what_is_not_there_yet_is_refused(name: str, text: str) -> None:
    error = refusal({name: text})
    assert error.code == "config.not_supported"
    assert name in error.message


@pytest.mark.parametrize(
    ("properties", "named"),
    [
        ({"topic.naming.strategy": "SchemaRegexTopicNamingStrategy"}, "topic.regex"),
        (
            {
                "topic.naming.strategy": "io.debezium.schema.DefaultRegexTopicNamingStrategy",
                "topic.regex": "(.*)_[0-9]",
            },
            "topic.replacement",
        ),
        (
            {
                "topic.naming.strategy": "DefaultRegexTopicNamingStrategy",
                "topic.regex": "(.*)_[0-9]",
                "topic.replacement": "$2",
            },
            "$2",
        ),
        ({"topic.key.field.regex": "(.*)"}, "topic.key.field.replacement"),
        ({"topic.naming.strategy": "com.example.MyStrategy"}, "topic.naming.strategy"),
    ],
)
def test_a_topic_routing_that_cannot_work_is_refused(
    properties: dict[str, str], named: str
) -> None:
    assert named in refusal(properties).message


def test_every_property_accepts_its_default_written_out() -> None:
    written = {
        name: declaration.default_text
        for name, declaration in PostgresConfig.properties().items()
        if declaration.default_text
    }
    del written["lsn.flush.timeout.ms"], written["signal.file"]
    parse(written)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("tabel.include.list", "table.include.list"),
        ("table.whitelist", "table.include.list"),
        ("database.server.name", "topic.prefix"),
        ("database.pasword", "database.password"),
        ("slot_name", "slot.name"),
        ("headrace.rangemax.bytes", "headrace.range.max.bytes"),
        ("column.mask.with.chars", "column.mask.with.LENGTH.chars"),
    ],
)
def test_an_unknown_property_gets_a_suggestion_and_its_value_is_not_shown(
    name: str, meant: str
) -> None:
    error = refusal({name: "hunter2", "headrace.unknown.properties": "fail"})
    assert f"did you mean {meant}?" in error.message
    assert "hunter2" not in str(error)


@pytest.mark.parametrize(
    "name", ["tabel.include.list", "table.whitelist", "slot_name", "tables.include"]
)
def test_what_is_all_but_the_name_of_a_property_is_an_error(name: str) -> None:
    assert "did you mean" in refusal({name: "x"}).message
    (warning,) = parse({name: "x", "headrace.unknown.properties": "warn"}).warnings
    assert "did you mean" in warning.message


def test_unknown_properties_are_warnings() -> None:
    config = parse({"no.such.thing": "hunter2"})
    (warning,) = config.warnings
    assert warning.code == "config.unknown_property"
    assert "hunter2" not in str(warning)


@pytest.mark.parametrize(
    ("former", "mode"), [("never", "no_data"), ("Exported", "initial"), ("schema_only", "no_data")]
)
def test_former_snapshot_modes_are_read_with_a_warning(former: str, mode: str) -> None:
    config = parse({"snapshot.mode": former})
    assert config.snapshot_mode == mode
    assert [warning.code for warning in config.warnings] == ["config.former_value"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("max.batch.size", "10"),
        ("database.autosave", "conservative"),
        ("database.socketTimeout", "30"),
        ("snapshot.fetch.size", "4"),
    ],
)
def test_what_is_not_needed_is_accepted_and_said(name: str, text: str) -> None:
    (warning,) = parse({name: text}).warnings
    assert (warning.code, warning.property) == ("config.not_needed", name)


def test_settings_of_the_process_are_ignored_and_said_in_one_line() -> None:
    settings = {
        "tasks.max": "1",
        "offset.storage.file.filename": "x",
        "offset.flush.interval.ms": "0",
        "schema.history.internal.kafka.topic": "x",
        "consumer.override.group.id": "g",
    }
    config = parse({**settings, "max.batch.size": "10"})
    first, second = summarized(config.warnings)
    assert first.property == "max.batch.size"
    assert second.code == "config.ignored"
    assert all(name in second.message for name in settings)
    for name, text in settings.items():
        (warning,) = summarized(parse({name: text}).warnings)
        assert (warning.code, warning.property) == ("config.ignored", name)
        assert warning.message.startswith(f"{name} belongs ")


def test_several_errors_come_each_with_its_remedy() -> None:
    with pytest.raises(HeadraceError) as raised:
        PostgresConfig.parse(
            {
                "database.server.name": "p",
                "slot.name": "A b",
                **{name: text for name, text in REQUIRED.items() if name != "topic.prefix"},
            }
        )
    first, second = raised.value.parts
    assert "slot.name" in first.message
    assert "slot.name" in first.remedy
    # That topic.prefix is missing is the same error.
    assert second.message.endswith("did you mean topic.prefix?")
    assert second.remedy == "Rename it to topic.prefix."
    assert HeadraceError.find_in(str(raised.value)) is not None
    again = pickle.loads(pickle.dumps(raised.value))
    assert [str(part) for part in again.parts] == [str(first), str(second)]


def test_pass_through_settings_are_mappings_without_their_prefix() -> None:
    config = parse({"driver.gssencmode": "disable", "headrace.sink.type": "delta",
                    "headrace.sink.mergeSchema": "true"})  # fmt: skip
    assert config.driver == {"gssencmode": "disable"}
    assert config.headrace_sink == {"mergeSchema": "true"}
    assert config.headrace_sink_type == "delta"


# Letters beyond ASCII, so that no secret is by chance a part of a property's own name.
@given(st.text(min_size=8, alphabet=st.characters(min_codepoint=0x100, categories=["L"])))
def test_no_secret_is_ever_printed(secret: str) -> None:
    properties = {"database.password": secret, "driver.sslpassword": secret,
                  "headrace.sink.kafka.sasl.jaas.config": secret}  # fmt: skip
    config = parse(properties)
    copy = pickle.loads(pickle.dumps(config))
    assert copy == config
    assert copy.database_password.reveal() == secret
    for text in (
        repr(config),
        str(config),
        str(config.redacted()),
        f"{config.database_password}",
        repr(config.database_password),
        str(config.warnings),
        str(refusal({**properties, "database.port": "x", "database.user.password": secret})),
    ):
        assert secret not in text


def test_a_salt_is_hidden_in_names() -> None:
    name = "column.mask.hash.v2.SHA-256.with.salt.CzQMA0cB5K"
    assert "CzQMA0cB5K" not in str(refusal({name: "s.t.(c"}))
    unknown = {name.replace("column", "colum"): "s.t.c", "headrace.unknown.properties": "fail"}
    assert "CzQMA0cB5K" not in str(refusal(unknown))


def test_the_fingerprint_depends_on_settings_only() -> None:
    config = parse({"database.password": "a", "tombstones.on.delete": "false"})
    same = {"database.password": "b", "tombstones.on.delete": "FALSE", "max.batch.size": "5",
            "slot.name": "debezium"}  # fmt: skip
    assert config.fingerprint() == parse(same).fingerprint()
    assert config.fingerprint() != parse().fingerprint()


def test_a_configuration_cannot_be_changed() -> None:
    config = parse()
    with pytest.raises(AttributeError):
        config.database_port = 1  # type: ignore[misc]
    with pytest.raises(AttributeError):
        config.warnings = ()


def test_is_set_distinguishes_written_from_default() -> None:
    config = parse({"skipped.operations": "t"})
    assert config.is_set("skipped.operations")
    assert not config.is_set("slot.name")


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("", "config.missing"),
        ("${env:HEADRACE_UNSET}", "config.unresolved_reference"),
        ("io.debezium.connector.mysql.MySqlConnector", "connectors.not_available"),
        ("io.debezium.connector.Nothing", "connectors.unknown"),
        ("nothing", "connectors.unknown"),
    ],
)
def test_a_connector_class_that_is_not_there_is_named(name: str, code: str) -> None:
    with pytest.raises(HeadraceError) as raised:
        parse_configuration({**REQUIRED, "connector.class": name})
    assert raised.value.code == code
    assert "connector.class" in raised.value.message


@pytest.mark.parametrize(
    "name", ["postgresql", "Postgres", "io.debezium.connector.postgresql.PostgresConnector"]
)
def test_the_connector_is_found_by_each_of_its_names(name: str) -> None:
    config = parse_configuration({**REQUIRED, "connector.class": name})
    assert isinstance(config, PostgresConfig)
    assert config.connector_class == "postgresql"


def test_the_committed_reference_page_is_current() -> None:
    expected = describe_markdown(PostgresConfig, title="Properties: postgresql")
    assert PAGE.read_text(encoding="utf-8") == expected, "run: headrace describe --markdown"


def test_every_refusal_and_every_ignored_property_gives_its_reason() -> None:
    for row in describe_rows(PostgresConfig):
        assert row.meaning.endswith((".", "…"))
        if row.status in (Support.NOT_NEEDED, Support.REFUSED):
            raise AssertionError(f"{row.name} has no reason")
