"""Logins of schema registries that change while a query runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from headrace.config.properties.connector import ConnectorConfig
from headrace.errors import HeadraceError
from headrace.kafka import registry as client
from headrace.kafka.registry import Registry, registry_settings
from tests.servers.registry import RegistryServer
from tests.servers.registry_door import Door, basic

FIRST, SECOND, THIRD = "the-first-secret", "the-second-secret", "the-third-secret"


@pytest.fixture
def door(registry_server: RegistryServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Door]:
    monkeypatch.setattr(client, "_FIRST_WAIT_MS", 10)
    with Door(registry_server.url) as opened:
        yield opened


LOGINS: dict[str, tuple[str, Callable[[str], str], dict[str, str]]] = {
    "user info": (
        "basic.auth.user.info",
        lambda word: f"user:{word}",
        {"basic.auth.credentials.source": "USER_INFO"},
    ),
    "token": (
        "bearer.auth.token",
        lambda word: word,
        {
            "bearer.auth.credentials.source": "STATIC_TOKEN",
            "bearer.auth.logical.cluster": "c",
            "bearer.auth.identity.pool.id": "p",
        },
    ),
}


@pytest.mark.parametrize("kind", LOGINS)
def test_a_login_that_is_refused_is_tried_once_more_with_the_secret_of_the_file(
    door: Door, tmp_path: Path, kind: str
) -> None:
    option, written, more = LOGINS[kind]
    file = tmp_path / "login"

    def ask_for(word: str) -> None:
        door.authorization = basic("user", word) if kind == "user info" else f"Bearer {word}"

    file.write_text(written(FIRST))
    properties = {
        "value.converter": "avro",
        "value.converter.schema.registry.url": door.url,
        f"value.converter.{option}": f"${{dir:{tmp_path}:login}}",
        **{f"value.converter.{name}": text for name, text in more.items()},
    }
    config = ConnectorConfig.parse({"topic.prefix": "p", **properties})
    registry = Registry(registry_settings(config.converter_options("value")))
    ask_for(FIRST)
    schemas = iter(f'{{"type":"fixed","name":"F{size}","size":{size}}}' for size in range(1, 9))

    def register() -> int:
        return registry.register(f"rotated {kind}", next(schemas), normalize=False)

    assert register() > 0
    file.write_text(written(SECOND))
    ask_for(SECOND)
    assert register() > 0
    before = door.requests
    ask_for(THIRD)
    with pytest.raises(HeadraceError, match=r"registry\.not_allowed") as raised:
        register()
    assert door.requests == before + 1
    for word in (FIRST, SECOND, THIRD):
        assert word not in str(raised.value)
    file.write_text(written(THIRD))
    assert register() > 0
