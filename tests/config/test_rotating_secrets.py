"""Secrets in files, which change while a process runs."""

from __future__ import annotations

import os
import pickle
import shlex
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import psutil
import pytest

from headrace.config.credentials import command, rotating
from headrace.config.credentials.changing import have_changed, settings_now
from headrace.connectors.mongodb.config import MongoConfig
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.errors import HeadraceError
from headrace.kafka.settings import client_settings
from headrace.signals.kafka import CHANNEL
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
    message = config.hidden.in_error(f"refused {FIRST} and {SECOND}")
    assert FIRST not in message
    assert SECOND not in message
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


def test_the_error_for_a_missing_file_names_the_property_the_host_and_the_reference(
    file: Path,
) -> None:
    config = parse(file)
    file.unlink()
    with pytest.raises(HeadraceError, match=r"config\.secret_unreadable") as raised:
        revealed(config)
    assert raised.value.message.startswith("database.password on the host ")
    assert f"${{dir:{file.parent}:{file.name}}}" in raised.value.message
    assert "executors" in raised.value.remedy


CLIENTS = {
    "signal_consumer": "signal.consumer.sasl.password",
    "headrace_sink": "headrace.sink.kafka.producer.sasl.password",
    "producer_override": "producer.override.ssl.key.password",
    "value_converter_options": "value.converter.basic.auth.user.info",
    "key_converter_options": "key.converter.bearer.auth.token",
}


def parse_client_property(file: Path, attribute: str) -> PostgresConfig:
    reference = f"${{dir:{file.parent}:{file.name}}}"
    return PostgresConfig.parse(REQUIRED | {CLIENTS[attribute]: reference})


def setting(config: PostgresConfig, attribute: str) -> str:
    (text,) = getattr(config, attribute).values()
    assert isinstance(text, str)
    return text


@pytest.mark.parametrize("attribute", CLIENTS)
def test_secrets_of_clients_are_read_when_the_client_connects(file: Path, attribute: str) -> None:
    config = parse_client_property(file, attribute)
    assert setting(config, attribute).startswith(FIRST)
    before = settings_now({"s": setting(config, attribute)})
    file.write_text(SECOND)
    assert have_changed({"s": setting(config, attribute)}, before)
    now = settings_now({"s": setting(config, attribute)})
    assert (before, now) == ({"s": FIRST}, {"s": SECOND})
    assert not have_changed({"s": setting(config, attribute)}, now)
    assert parse_client_property(file, attribute) == config
    message = config.hidden.in_error(f"refused {FIRST} and {SECOND}")
    assert FIRST not in message
    assert SECOND not in message


@pytest.mark.parametrize("attribute", CLIENTS)
def test_secrets_of_clients_cross_to_another_process_as_references(
    file: Path, attribute: str
) -> None:
    config = parse_client_property(file, attribute)
    packed = pickle.dumps(config)
    assert FIRST.encode() not in packed
    file.write_text(SECOND)
    unpacked = pickle.loads(packed)
    assert unpacked == config
    assert setting(unpacked, attribute).startswith(SECOND)
    file.unlink()
    unpacked = pickle.loads(packed)  # does not read the file: this process may not need the secret
    with pytest.raises(HeadraceError, match=r"config\.secret_unreadable"):
        settings_now({"s": setting(unpacked, attribute)})


def test_other_settings_and_other_sinks_are_read_once(file: Path) -> None:
    reference = f"${{dir:{file.parent}:{file.name}}}"
    names = ("headrace.sink.catalog.s3.secret-access-key", "signal.consumer.sasl.username",
             "driver.sslpassword")  # fmt: skip
    config = PostgresConfig.parse(REQUIRED | dict.fromkeys(names, reference))
    file.write_text(SECOND)
    for text in (*config.headrace_sink.values(), *config.signal_consumer.values(),
                 *config.driver.values()):  # fmt: skip
        assert settings_now({"s": text}) == {"s": FIRST}


def test_a_login_configuration_of_java_gives_the_password_that_it_has_now(file: Path) -> None:
    def jaas(password: str) -> str:
        module = "org.apache.kafka.common.security.scram.ScramLoginModule"
        return f'{module} required username="app" password="{password}";'

    file.write_text(jaas(FIRST))
    reference = f"${{dir:{file.parent}:{file.name}}}"
    config = PostgresConfig.parse(REQUIRED | {"signal.consumer.sasl.jaas.config": reference})
    settings = client_settings(CHANNEL, config.signal_consumer, "h:1")
    used = settings_now(settings)
    assert (used["sasl.username"], used["sasl.password"]) == ("app", FIRST)
    file.write_text(jaas(SECOND))
    assert have_changed(settings, used)
    assert settings_now(settings)["sasl.password"] == SECOND
    packed = pickle.dumps(settings)
    assert FIRST.encode() not in packed
    assert SECOND.encode() not in packed
    assert pickle.loads(packed) == settings
    assert SECOND not in config.hidden.in_error(f"refused {SECOND}")


def test_threads_that_read_new_secrets_do_not_disturb_each_other(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, numbers = parse(file), count()
    monkeypatch.setattr(rotating, "look_up_each", lambda _parts: (f"password-{next(numbers)}", ()))
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as threads:
            assert len({*threads.map(lambda _: revealed(config), range(5000))}) == 5000
    finally:
        sys.setswitchinterval(interval)
    last = config.hidden.in_error(f"refused password-{next(numbers) - 1}")
    assert last == "refused ********"


def by_command(*arguments: str, **more: str) -> PostgresConfig:
    properties = {
        "headrace.credentials." + name.replace("_", "."): text for name, text in more.items()
    }
    program = {"headrace.credentials.command": shlex.join(arguments)}
    return PostgresConfig.parse(REQUIRED | program | properties)


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


def test_a_command_that_takes_long_does_not_delay_other_secrets(tmp_path: Path) -> None:
    begun, over = tmp_path / "begun", tmp_path / "over"
    script = 'touch "$0"; until [ -e "$1" ]; do sleep 0.01; done; echo slow-token'
    slow = by_command("sh", "-c", script, str(begun), str(over), timeout_ms="300000")
    with ThreadPoolExecutor(2) as threads:
        waiting = threads.submit(revealed, slow)
        while not begun.exists():
            time.sleep(0.01)
        other = threads.submit(revealed, by_command("echo", str(tmp_path)))
        try:
            assert other.result(timeout=60) == str(tmp_path)
            assert not waiting.done()
        finally:
            over.touch()
        assert waiting.result() == "slow-token"


def test_threads_that_need_the_same_secret_run_its_command_once(tmp_path: Path) -> None:
    script = 'echo >> "$0"; echo "token $(wc -l < "$0")"'
    config = by_command("sh", "-c", script, str(tmp_path / "count"))
    with ThreadPoolExecutor(4) as threads:
        assert {*threads.map(lambda _: revealed(config), range(8))} == {"token 1"}


def test_a_command_runs_again_after_its_lifetime(tmp_path: Path) -> None:
    script = 'echo >> "$0"; echo "token $(wc -l < "$0")"'
    secret = by_command("sh", "-c", script, str(tmp_path / "c"), lifetime_ms="1").database_password
    assert secret is not None
    assert len({secret.reveal() for _ in range(3)}) > 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("sh", "-c", "echo hidden-text; echo hidden-text >&2; exit 3"), "exit status 3"),
        (("sh", "-c", "echo hidden-text; sleep 60"), "took longer"),
        (("/nowhere/hidden-text",), "cannot be started"),
        (("sh", "-c", "echo hidden-text; echo hidden-text"), "no single line"),
        (("true", "hidden-text"), "no single line"),
    ],
)
def test_a_command_that_fails_is_named_and_its_text_is_not_shown(
    arguments: tuple[str, ...], message: str
) -> None:
    config = by_command(*arguments, timeout_ms="300")
    with pytest.raises(HeadraceError, match=r"config\.credentials_command") as raised:
        revealed(config)
    assert message in raised.value.message
    assert "headrace.credentials.command" in raised.value.message
    assert "hidden-text" not in str(raised.value) + repr(config)


def is_alive(process: int) -> bool:
    """Whether it runs: one that nobody waits for has ended as well."""
    try:
        return psutil.Process(process).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def ends(process: int) -> bool:
    latest = time.monotonic() + 60
    while is_alive(process) and time.monotonic() < latest:
        time.sleep(0.01)
    return not is_alive(process)


def test_of_a_command_that_prints_much_no_more_than_the_limit_is_read() -> None:
    script = "head -c 70000 /dev/zero; sleep 600"
    config = by_command("sh", "-c", script, timeout_ms="30000")
    with pytest.raises(HeadraceError, match="printed no single line"):
        revealed(config)


WITH_CHILD = 'trap "" TERM; sleep 600 & echo $! > "$0.new"; mv "$0.new" "$0"; '


def test_a_command_that_takes_too_long_is_killed_with_its_children(tmp_path: Path) -> None:
    file = tmp_path / "child"
    config = by_command("sh", "-c", WITH_CHILD + "wait", str(file), timeout_ms="3000")
    with pytest.raises(HeadraceError, match="took longer"):
        revealed(config)
    assert ends(int(file.read_text()))


def test_an_interrupted_command_is_killed_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "child"

    def interrupt(*_: object) -> None:
        while not file.exists():
            time.sleep(0.01)
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "_read", interrupt)
    with pytest.raises(KeyboardInterrupt):
        revealed(by_command("sh", "-c", WITH_CHILD + "wait", str(file)))
    assert ends(int(file.read_text()))


def test_a_command_may_leave_a_process_that_keeps_its_output_open(tmp_path: Path) -> None:
    file = tmp_path / "child"
    config = by_command("sh", "-c", WITH_CHILD + "echo token", str(file), timeout_ms="30000")
    try:
        assert revealed(config) == "token"
        assert is_alive(int(file.read_text()))
    finally:
        os.kill(int(file.read_text()), signal.SIGKILL)


def test_a_command_may_close_its_output_before_it_ends(tmp_path: Path) -> None:
    script = 'echo token; exec >&-; until [ -e "$0" ]; do sleep 0.01; done'
    over = tmp_path / "over"
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(revealed, by_command("sh", "-c", script, str(over)))
        over.touch()
        assert waiting.result() == "token"


@pytest.mark.parametrize("timeout", ["0", "0 s"])
def test_a_command_has_a_millisecond_at_least(timeout: str) -> None:
    with pytest.raises(HeadraceError, match=r"credentials\.timeout\.ms.*1 ms or more"):
        by_command("true", timeout_ms=timeout)
    assert by_command("true", timeout_ms="1").headrace_credentials_timeout_ms == 1


def test_a_command_and_a_password_exclude_each_other() -> None:
    both = {"headrace.credentials.command": "true", "database.password": "p"}
    with pytest.raises(HeadraceError, match=r"are both set"):
        PostgresConfig.parse(REQUIRED | both)


def test_a_command_is_no_part_of_the_fingerprint() -> None:
    assert by_command("true").fingerprint() == PostgresConfig.parse(REQUIRED).fingerprint()


def test_a_secret_that_changes_equals_no_plain_text(file: Path) -> None:
    config = parse_client_property(file, "signal_consumer")
    text, again = setting(config, "signal_consumer"), setting(config, "signal_consumer")
    assert text == again
    assert hash(text) == hash(again)
    plain = str.__str__(text)
    assert plain.startswith(FIRST)
    assert text != plain
    assert plain not in {text}
