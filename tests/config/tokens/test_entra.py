"""Tokens of Microsoft Entra ID: headrace.credentials.provider=entra-id."""

from __future__ import annotations

import logging
import pickle
import sys
import time
from collections.abc import Iterator

import pytest

from headrace.config.secret import Secret
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.errors import HeadraceError
from tests.config.test_references import REQUIRED
from tests.config.tokens.conftest import Clock
from tests.config.tokens.identities import Cloud
from tests.servers.certificates import Certificate

TENANT = "11111111-2222-3333-4444-555555555555"
MANAGED = "/msi/token"


def configured(**more: str) -> PostgresConfig:
    """`more` uses `_` for `.`."""
    properties = {"headrace.credentials.provider": "entra-id", "database.sslmode": "verify-full"}
    return PostgresConfig.parse(
        REQUIRED | properties | {name.replace("_", "."): text for name, text in more.items()}
    )


def secret() -> Secret:
    password = configured().database_password
    assert password is not None
    return password


@pytest.fixture
def managed(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> Cloud:
    """The process has a managed identity, as in App Service or Container Apps."""
    pytest.importorskip("azure.identity")
    monkeypatch.setenv("IDENTITY_ENDPOINT", f"{cloud.url}{MANAGED}")
    monkeypatch.setenv("IDENTITY_HEADER", "header-of-the-identity")
    return cloud


def test_a_managed_identity_gives_a_token_for_the_database(managed: Cloud) -> None:
    assert secret().reveal().startswith("entra-token-")
    assert managed.asked(MANAGED) == 1


def test_a_machine_of_azure_gives_a_token(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("azure.identity")
    monkeypatch.setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", cloud.url)
    assert secret().reveal().startswith("entra-token-")
    assert cloud.asked("/metadata/identity/oauth2/token")


@pytest.fixture
def authority(certificate: Certificate, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cloud]:
    """The process has the secret of a client of Entra ID."""
    pytest.importorskip("azure.identity")
    with Cloud(certificate.file, certificate.key) as opened:
        monkeypatch.setenv("AZURE_AUTHORITY_HOST", opened.url)
        monkeypatch.setenv("AZURE_TENANT_ID", TENANT)
        monkeypatch.setenv("AZURE_CLIENT_ID", "client-of-the-tests")
        monkeypatch.setenv("AZURE_CLIENT_SECRET", "secret-of-the-client")
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate.file))
        yield opened


def test_the_secret_of_a_client_gives_a_token(
    authority: Cloud, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    token = secret().reveal()
    assert token.startswith("entra-token-")
    assert token not in caplog.text
    assert authority.asked(f"/{TENANT}/oauth2/v2.0/token") == 1
    assert "secret-of-the-client" not in caplog.text


def test_a_process_asks_once_until_shortly_before_the_end(managed: Cloud, clock: Clock) -> None:
    first = secret().reveal()
    clock.advance(54 * 60)
    assert secret().reveal() == first
    clock.advance(2 * 60)  # the token is valid for four minutes yet
    assert secret().reveal() != first
    assert managed.asked(MANAGED) == 2


def test_a_short_token_is_used_for_two_thirds_of_its_life(managed: Cloud, clock: Clock) -> None:
    managed.seconds = 60
    first = secret().reveal()
    clock.advance(35)
    assert secret().reveal() == first
    clock.advance(10)
    assert secret().reveal() != first


def test_a_token_that_was_refused_is_another_one_then(managed: Cloud) -> None:
    token_secret = secret()
    used = token_secret.reveal()
    assert token_secret.renewed(used) != used
    assert managed.asked(MANAGED) == 2


def test_a_token_is_in_no_log_no_message_and_no_pickle(
    managed: Cloud, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    config = configured()
    assert config.database_password is not None
    token = config.database_password.reveal()
    for text in (caplog.text, repr(config), str(config.redacted())):
        assert token not in text
        assert "header-of-the-identity" not in text
    assert token.encode() not in pickle.dumps(config)
    assert token not in config.hidden.in_error(f"FATAL: {token} is wrong")


def test_a_process_without_an_identity_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("azure.identity")
    # Nobody answers for machines here, and no tool of Azure is installed.
    monkeypatch.setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", "http://127.0.0.1:1")
    monkeypatch.setenv("PATH", "")
    began = time.monotonic()
    with pytest.raises(HeadraceError) as raised:
        secret().reveal()
    assert raised.value.code == "config.credentials_provider"
    assert time.monotonic() - began < 300
    assert not raised.value.retriable


def test_a_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "azure.identity", None)
    token_secret = secret()  # the configuration is read without it
    with pytest.raises(HeadraceError) as raised:
        token_secret.reveal()
    assert raised.value.code == "config.credentials_package"
    assert raised.value.remedy == "pip install 'headrace[azure]'"
