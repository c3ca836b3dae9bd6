"""Logins with tokens of AWS IAM, through a proxy that asks for them as RDS does."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from headrace.config.credentials import kept
from headrace.connectors.postgresql.checks.database import check
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import connect
from headrace.connectors.registry import parse_configuration
from headrace.errors import HeadraceError
from headrace.testing.embedded import PostgresServer
from tests.config.tokens.signatures import read
from tests.connectors.postgresql.driver.token_door import TokenDoor
from tests.servers.certificates import Certificate
from tests.servers.postgresql import Database

pytestmark = pytest.mark.postgres

SECRET_ACCESS_KEY = "the-secret-of-the-key"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return Certificate.make(tmp_path_factory.mktemp("certificate"))


@pytest.fixture
def door(
    postgres: PostgresServer, certificate: Certificate, monkeypatch: pytest.MonkeyPatch
) -> Iterator[TokenDoor]:
    """A proxy that admits tokens that are valid and signed for it."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDOFTHETESTS")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_ACCESS_KEY)
    monkeypatch.delenv("AWS_SESSION_TOKEN", raising=False)
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    kept._kept.clear()

    def admits(token: str) -> bool:
        claims = read(token, SECRET_ACCESS_KEY)
        is_ours = (claims.host, claims.port, claims.user) == ("localhost", opened.port, "cdc")
        return claims.is_signed and is_ours and claims.begins <= datetime.now(UTC) < claims.ends

    with TokenDoor(postgres, certificate, admits) as opened:
        yield opened


@pytest.fixture
def shop(database: Database) -> Iterator[Database]:
    """A database with a table that the role cdc may read and replicate."""
    database.execute("CREATE ROLE cdc LOGIN REPLICATION")
    database.execute("CREATE TABLE t (id int PRIMARY KEY); GRANT SELECT ON t TO cdc")
    database.execute(f'CREATE PUBLICATION "{database.name}" FOR TABLE t')
    yield database
    database.execute("DROP OWNED BY cdc; DROP ROLE cdc")


def configured(
    database: Database, door: TokenDoor, certificate: Certificate, **more: str
) -> PostgresConfig:
    """Return a configuration; names in `more` have `_` in place of `.`."""
    properties = database.properties(
        database_hostname="localhost",
        database_port=str(door.port),
        database_user="cdc",
        database_sslmode="verify-full",
        database_sslrootcert=str(certificate.file),
        publication_autocreate_mode="disabled",
        headrace_credentials_provider="aws-rds-iam",
        headrace_credentials_region="eu-west-1",
        **more,
    )
    del properties["database.password"]
    config = parse_configuration(properties)
    assert isinstance(config, PostgresConfig)
    return config


def test_all_connections_of_a_process_log_in_with_the_same_token(
    shop: Database, door: TokenDoor, certificate: Certificate, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    findings = check(configured(shop, door, certificate))
    assert [finding.code for finding in findings if finding.level == "error"] == []
    assert "postgresql.replication" in {finding.code for finding in findings}
    assert len(door.tokens) > 1  # queries, and replication
    assert len(set(door.tokens)) == 1
    assert door.tokens[0].rpartition("=")[2] not in caplog.text


def test_a_refused_token_is_replaced_once(
    shop: Database, door: TokenDoor, certificate: Certificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    door.refusals = 1
    config = configured(shop, door, certificate)
    assert config.database_password is not None
    used = config.database_password.reveal()
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDOFTHENEXTKEY")  # rotated meanwhile
    with connect(config) as connection:
        assert connection.execute("SELECT current_user").fetchone() == ("cdc",)
    assert door.tokens[0] == used
    assert "AKIDOFTHENEXTKEY" in door.tokens[1]
    assert len(door.tokens) == 2


def test_tokens_that_stay_refused_are_an_error_that_shows_none(
    shop: Database, door: TokenDoor, certificate: Certificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = configured(shop, door, certificate)
    assert config.database_password is not None
    config.database_password.reveal()
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "the secret of another key")
    door.refusals = 1
    with pytest.raises(HeadraceError, match=r"postgresql\.authentication\]") as raised:
        connect(config)
    assert len(door.tokens) == 2  # the first is always refused, the second because of its signature
    for token in door.tokens:
        assert token.rpartition("=")[2] not in str(raised.value)
    assert not raised.value.retriable


def test_if_rds_takes_no_tokens_for_replication_the_error_names_the_role_and_the_parameter(
    shop: Database, door: TokenDoor, certificate: Certificate
) -> None:
    door.keeps_replication_out = True
    shop.execute("CREATE ROLE rds_superuser")
    try:
        findings = check(configured(shop, door, certificate))
    finally:
        shop.execute("DROP ROLE rds_superuser")
    (error,) = [finding for finding in findings if finding.level == "error"]
    assert error.code == "postgresql.authentication"
    assert 'GRANT rds_replication TO "cdc";' in error.remedy
    assert "rds.iam_auth_for_replication = 1" in error.remedy


def test_a_token_is_sent_to_no_server_that_is_not_verified(
    shop: Database,
    door: TokenDoor,
    certificate: Certificate,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    other = Certificate.make(tmp_path_factory.mktemp("other"))
    with pytest.raises(HeadraceError, match=r"postgresql\.tls\]"):
        connect(configured(shop, door, other))
    assert door.tokens == []
