from pathlib import Path

import pytest

from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.registry import examine
from headrace.errors import HeadraceError

REQUIRED = {
    "topic.prefix": "p",
    "database.hostname": "h",
    "database.user": "u",
    "database.dbname": "d",
}


def parse(**properties: str) -> PostgresConfig:
    return PostgresConfig.parse(
        {**REQUIRED, **{name.replace("_", "."): text for name, text in properties.items()}}
    )


def test_environment_files_and_folders_are_resolved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_TEST", "one")
    (tmp_path / "s.properties").write_text("pass.word = two")
    (tmp_path / "three").write_text("three\n")
    config = parse(
        database_password=f"${{env:HEADRACE_TEST}}-${{file:{tmp_path}/s.properties:pass.word}}",
        database_user=f"x${{dir:{tmp_path}:three}}",
    )
    assert config.database_password is not None
    assert config.database_password.reveal() == "one-two"
    assert config.database_user == "xthree"


@pytest.mark.parametrize(
    "reference",
    [
        "${env:HEADRACE_UNSET}",
        "${file:/nowhere/s.properties:k}",
        "${file:nothing}",
        "${dir:/nowhere:k}",
        "${dir:/etc:../passwd}",
    ],
)
def test_a_missing_one_names_the_property_and_the_reference(reference: str) -> None:
    with pytest.raises(HeadraceError) as raised:
        parse(database_password=reference)
    assert "database.password" in raised.value.message
    assert reference in raised.value.message


def test_a_missing_key_of_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "s.properties").write_text("other=hunter2")
    with pytest.raises(HeadraceError, match="the file has no key k") as raised:
        parse(database_password=f"${{file:{tmp_path}/s.properties:k}}")
    assert "hunter2" not in str(raised.value)


def test_an_unknown_provider_is_refused_without_showing_the_value() -> None:
    with pytest.raises(HeadraceError, match="env, file, dir") as raised:
        parse(database_password="hun${ter:2}")
    assert "ter:2" not in str(raised.value)


def test_a_resolved_value_is_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_TEST", "hunter2")
    with pytest.raises(HeadraceError) as raised:
        parse(database_port="${env:HEADRACE_TEST}", table_include_list="[${env:HEADRACE_TEST}")
    assert "hunter2" not in str(raised.value)
    assert "database.port = '${env:HEADRACE_TEST}'" in raised.value.message
    config = parse(database_user="${env:HEADRACE_TEST}", database_password="${env:HEADRACE_TEST}")
    assert "hunter2" not in repr(config)
    assert config.redacted()["database.password"] == "${env:HEADRACE_TEST}"


def test_a_placeholder_without_provider_is_warned_about() -> None:
    (warning,) = parse(database_password="${PASSWORD}").warnings
    assert warning.code == "config.plain_reference"
    assert "PASSWORD" not in warning.message


CANARY = "Zq7CANARYx"


def every_text(properties: dict[str, str]) -> str:
    config, problems = examine({"connector.class": "postgresql", **REQUIRED, **properties})
    return "\n".join(map(str, (*problems, *config.warnings, config, config.hidden)))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("transforms.a.condition", "value.op == '${env:HEADRACE_TEST}' &&"),
        ("transforms.a.condition", "${env:HEADRACE_TEST}.op == 'c'"),
        ("transforms.a.condition", "value.op == '${env:HEADRACE_TEST}"),
        ("transforms.a.language", "${env:HEADRACE_TEST}"),
        ("transforms.a.type", "${env:HEADRACE_TEST}"),
        ("transforms.a.predicate", "${env:HEADRACE_TEST}"),
        ("transforms.a.negate", "${env:HEADRACE_TEST}"),
        ("transforms", "a,${env:HEADRACE_TEST},${env:HEADRACE_TEST}"),
        ("predicates", "${env:HEADRACE_TEST},${env:HEADRACE_TEST}"),
        ("table.include.list", "${env:HEADRACE_TEST}("),
        ("snapshot.mode", "${env:HEADRACE_TEST}"),
        ("message.key.columns", "${env:HEADRACE_TEST}"),
        ("replica.identity.autoset.values", "x:${env:HEADRACE_TEST}"),
        ("signal.enabled.channels", "${env:HEADRACE_TEST}"),
        ("notification.enabled.channels", "${env:HEADRACE_TEST}"),
        ("notification.sink.topic.name", "${env:HEADRACE_TEST} ä"),
        ("signal.data.collection", "${env:HEADRACE_TEST}"),
        ("topic.naming.strategy", "${env:HEADRACE_TEST}"),
        ("topic.regex", "${env:HEADRACE_TEST}("),
        ("schema.name.adjustment.mode", "${env:HEADRACE_TEST}"),
        ("headrace.trigger", "${env:HEADRACE_TEST}"),
        ("value.converter", "${env:HEADRACE_TEST}"),
        ("value.converter.decimal.format", "${env:HEADRACE_TEST}"),
        ("key.converter.schemas.enable", "${env:HEADRACE_TEST}"),
        ("post.processors", "${env:HEADRACE_TEST}"),
        ("converters", "${env:HEADRACE_TEST}"),
        ("database.hostname", "${env:HEADRACE_TEST} ,"),
        ("time.precision.mode", "${env:HEADRACE_TEST}"),
        ("column.mask.with.5.chars", "${env:HEADRACE_TEST}("),
        ("snapshot.select.statement.overrides", "${env:HEADRACE_TEST}("),
        ("snapshot.select.statement.overrides", "${env:HEADRACE_TEST}.a"),
        ("errors.deadletterqueue.topic.name", "${env:HEADRACE_TEST} ä"),
        ("errors.tolerance", "${env:HEADRACE_TEST}"),
    ],
)
def test_what_a_reference_resolves_to_is_in_no_finding(
    name: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_TEST", CANARY)
    filter_of_a = {
        "transforms": "a",
        "transforms.a.type": "Filter",
        "transforms.a.language": "jsr223.groovy",
        "transforms.a.condition": "value.op == 'c'",
    }
    finding_texts = every_text({**filter_of_a, name: text})
    for start in range(len(CANARY) - 3):
        assert CANARY[start : start + 4].lower() not in finding_texts.lower(), finding_texts


def test_a_wrong_value_is_shown_as_it_was_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_TEST", CANARY)
    finding_texts = every_text(
        {
            "transforms": "a",
            "transforms.a.type": "Filter",
            "transforms.a.language": "jsr223.groovy",
            "transforms.a.condition": "value.op == '${env:HEADRACE_TEST}' &&",
        }
    )
    assert (
        "transforms.a.condition = \"value.op == '${env:HEADRACE_TEST}' &&\" is not accepted"
        in finding_texts
    )


def test_errors_of_running_steps_and_databases_show_no_value_of_a_reference(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HEADRACE_TEST", CANARY)
    monkeypatch.setenv("TABLES", "public.orders")
    config, _ = examine(
        {
            "connector.class": "postgresql",
            **REQUIRED,
            "table.include.list": "${env:TABLES}",
            "heartbeat.action.query": "INSERT INTO t VALUES ('${env:HEADRACE_TEST}')",
            "database.password": "${env:HEADRACE_TEST}",
        }
    )
    hidden = config.hidden.in_error
    assert hidden(f"no column {CANARY} in t") == "no column ${env:HEADRACE_TEST} in t"
    assert "Zq7CAN" not in hidden('syntax error at or near "Zq7CAN"')
    assert hidden("public.orders does not exist") == "public.orders does not exist"
