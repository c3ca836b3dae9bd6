"""Secrets in files, which change while a process runs."""

from __future__ import annotations

import pickle
import shlex
from pathlib import Path

import pytest

from headrace.connectors.mongodb.config import MongoConfig
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.errors import HeadraceError
from tests.config.test_references import REQUIRED

FIRST, SECOND = "first-password", "second-password"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "password"
    path.write_text(FIRST)
    return path


def parse(file: Path) -> PostgresConfig:
    reference = f"${{dir:{file.parent}:{file.name}}}"
    return PostgresConfig.parse(REQUIRED | {"database.password": reference})


def revealed(config: PostgresConfig) -> str:
    assert config.database_password is not None
    return config.database_password.reveal()


def test_a_secret_in_a_file_is_read_at_each_use(file: Path) -> None:
    config = parse(file)
    assert revealed(config) == FIRST
    file.write_text(SECOND)
    assert revealed(config) == SECOND


def test_the_fingerprint_and_the_configuration_stay_the_same(file: Path) -> None:
    before = parse(file)
    file.write_text(SECOND)
    assert parse(file) == before
    assert parse(file).fingerprint() == before.fingerprint()


def test_a_configuration_crosses_to_another_process_with_the_reference_only(file: Path) -> None:
    config = parse(file)
    revealed(config)
    packed = pickle.dumps(config)
    assert FIRST.encode() not in packed
    file.write_text(SECOND)
    assert revealed(pickle.loads(packed)) == SECOND
    assert pickle.loads(packed) == config


def test_a_connection_string_crosses_with_the_reference_only(file: Path) -> None:
    uri = f"mongodb://app:${{dir:{file.parent}:{file.name}}}@h/?replicaSet=r"
    config = MongoConfig.parse({"topic.prefix": "p", "mongodb.connection.string": uri})
    packed = pickle.dumps(config)
    assert FIRST.encode() not in packed
    file.write_text(SECOND)
    string = pickle.loads(packed).mongodb_connection_string
    assert string.text.reveal() == f"mongodb://app:{SECOND}@h/?replicaSet=r"
    assert (string.hosts, string.user) == (("h",), "app")


def test_old_and_new_secrets_are_in_no_message(file: Path) -> None:
    config = parse(file)
    file.write_text(SECOND)
    revealed(config)
    said = config.hidden.in_error(f"refused {FIRST} and {SECOND}")
    assert FIRST not in said
    assert SECOND not in said
    assert FIRST not in repr(config)


def test_other_references_of_the_text_keep_their_values(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_TEST", "${dir:/nowhere:x}-")
    reference = f"${{env:HEADRACE_TEST}}${{dir:{file.parent}:{file.name}}}"
    config = PostgresConfig.parse(REQUIRED | {"database.password": reference})
    monkeypatch.delenv("HEADRACE_TEST")
    file.write_text(SECOND)
    assert revealed(config) == "${dir:/nowhere:x}-" + SECOND


def test_a_file_that_is_not_on_a_host_is_named_with_the_property(file: Path) -> None:
    config = parse(file)
    file.unlink()
    with pytest.raises(HeadraceError, match=r"config\.secret_unreadable") as raised:
        revealed(config)
    assert raised.value.message.startswith("database.password on the host ")
    assert f"${{dir:{file.parent}:{file.name}}}" in raised.value.message
    assert "executors" in raised.value.remedy


def by_command(*arguments: str, **more: str) -> PostgresConfig:
    given = {"headrace.credentials." + name.replace("_", "."): text for name, text in more.items()}
    command = {"headrace.credentials.command": shlex.join(arguments)}
    return PostgresConfig.parse(REQUIRED | command | given)


def test_a_command_runs_once_and_again_after_a_refused_login(tmp_path: Path) -> None:
    count, script = tmp_path / "count", 'echo >> "$0"; echo "token $(wc -l < "$0")"'
    config = by_command("sh", "-c", script, str(count))
    secret = config.database_password
    assert secret is not None
    assert [secret.reveal(), secret.reveal()] == ["token 1", "token 1"]
    assert secret.renewed("token 1") == "token 2"
    assert secret.renewed("token 1") == "token 2"  # another connection had it renewed
    packed = pickle.dumps(config)
    assert b"token " not in packed.replace(script.encode(), b"")
    assert config.hidden.in_error("token 1 and token 2") == "******** and ********"


def test_a_command_runs_again_after_its_lifetime(tmp_path: Path) -> None:
    script = 'echo >> "$0"; echo "token $(wc -l < "$0")"'
    secret = by_command("sh", "-c", script, str(tmp_path / "c"), lifetime_ms="1").database_password
    assert secret is not None
    assert len({secret.reveal() for _ in range(3)}) > 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("sh", "-c", "echo hidden-text; echo hidden-text >&2; exit 3"), "exit status 3"),
        (("sh", "-c", "echo hidden-text; sleep 60"), "took longer"),
        (("/nowhere/hidden-text",), "cannot be started"),
        (("sh", "-c", "echo hidden-text; echo hidden-text"), "no single line"),
        (("true", "hidden-text"), "no single line"),
    ],
)
def test_a_command_that_fails_is_named_and_its_text_is_not_shown(
    arguments: tuple[str, ...], said: str
) -> None:
    config = by_command(*arguments, timeout_ms="300")
    with pytest.raises(HeadraceError, match=r"config\.credentials_command") as raised:
        revealed(config)
    assert said in raised.value.message
    assert "headrace.credentials.command" in raised.value.message
    assert "hidden-text" not in str(raised.value) + repr(config)


def test_a_command_and_a_password_exclude_each_other() -> None:
    both = {"headrace.credentials.command": "true", "database.password": "p"}
    with pytest.raises(HeadraceError, match=r"are both set"):
        PostgresConfig.parse(REQUIRED | both)


def test_a_command_is_no_part_of_the_fingerprint() -> None:
    assert by_command("true").fingerprint() == PostgresConfig.parse(REQUIRED).fingerprint()
