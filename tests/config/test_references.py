from pathlib import Path

import pytest

from headrace.connectors.postgresql.config import PostgresConfig
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
